// SPDX-License-Identifier: MIT
// extremum_vote.h: candidates for extrema in shared memory, and the rewrite that lets them vote.
// See extremum_shared.c.
#ifndef VYRE_EXTREMUM_VOTE_H
#define VYRE_EXTREMUM_VOTE_H

#include "autodiff/rewrite/extremum.h"
#include "ir/build/rewrite.h"

// One atomic_min or atomic_max.
typedef struct vy_candidate {
    uint32_t atomic;  // of the primal
    uint32_t outer;   // outermost divergent construct around it, or 0: none
    uint32_t loop;    // outermost loop around it from `outer` inwards, or 0: none
    uint32_t leader;  // site of this loop whose arrays it shares; its own number: none
    uint32_t spanned; // axes, as bits, on which the arrays have all elements; 0: one candidate
    bool in_place;    // the atomic stays in the loop; else it follows the loop
    bool wide;        // the arrays are workspaces
    uint32_t point;   // instruction ahead of which the votes are cast
    uint32_t next;    // next site of the same point, + 1
    uint32_t number;  // among those of one array and point, from 0
    vy_buffer reached, candidate, *places; // local arrays that take it out of `outer`
    vy_value is_here, value, *index;       // where the votes are cast
} vy_candidate;
VY_VEC_TYPE(vy_candidate_vec, vy_candidate);

typedef struct vy_voting {
    vy_rewrite w;
    const uint8_t *active;
    uint32_t *group;   // by access: see autodiff/facts/element_groups.c
    uint8_t *sites_at; // by instruction: its workgroup finds the winner
    uint8_t *own;      // by instruction: in its phase its invocation owns the element
    bool any_own;
    vy_candidate_vec sites;
    uint32_t opened;    // sites whose `outer` has begun
    uint32_t *point;    // by instruction: what ends its phase, or its region
    uint32_t *used;     // by instruction: how many uses it has
    uint32_t *of;       // by instruction: site + 1
    uint32_t *first_at; // by instruction: first of the sites whose votes are cast ahead of it, + 1
    uint32_t *counts;   // by buffer: sites of the current point
    vy_buffer *winner;  // by buffer
} vy_voting;

static inline const vy_inst *vy_candidate_inst(const vy_voting *e, const vy_candidate *s)
{
    return &e->w.p->insts.data[s->atomic];
}

static inline const vy_buf *vy_candidate_buf(const vy_voting *e, const vy_candidate *s)
{
    return &e->w.p->buffers.data[vy_candidate_inst(e, s)->aux];
}

static inline uint32_t vy_candidate_rank(const vy_voting *e, const vy_candidate *s)
{
    return vy_candidate_buf(e, s)->rank;
}

static inline bool vy_candidate_leads(const vy_voting *e, const vy_candidate *s)
{
    return &e->sites.data[s->leader] == s;
}

// extremum_sites.c: fills group, sites_at, own, any_own.  False: memory, or the module's diag.
bool vy_candidate_sites(vy_voting *e, const uint32_t *differs);
// Is operand k of the atomic the workgroup's place along an axis of the launch?  That axis, + 1.
uint32_t vy_candidate_group(const vy_voting *e, const vy_candidate *s, uint32_t k);
// Is the index on axis k computed inside the divergent construct, so that it has to leave it?
bool vy_candidate_inside(const vy_voting *e, const vy_candidate *s, uint32_t k);

// extremum_loops.c: decides what the candidates of divergent loops have in common: fills leader,
// spanned, in_place, wide.  False: memory.
bool vy_candidate_loops(vy_voting *e);

// extremum_candidate.c: what takes candidates out of the divergent construct around them.
void vy_candidate_declare(vy_voting *e);
void vy_candidate_reset(vy_voting *e, vy_candidate *s);    // ahead of the construct
void vy_candidate_replace(vy_voting *e, vy_candidate *s);  // in place of the atomic
void vy_candidate_take_out(vy_voting *e, vy_candidate *s); // where the votes are cast
// Calls f for the candidate, or in loops over its elements for each: is_here, value and index hold.
typedef void vy_candidate_do(vy_voting *e, vy_candidate *s);
void vy_candidate_each(vy_voting *e, vy_candidate *s, vy_candidate_do *f);

// extremum_vote.c: makes the program with votes.
void vy_voting_rewrite(vy_voting *e);

#endif
