// SPDX-License-Identifier: MIT
// facts.h: facts about a program to be differentiated, computed before anything is built.
//
// Tables by instruction, leaf and buffer, which the analyses of autodiff/facts/ fill; constant from
// then on.  The analyses need a program and the request (which buffers are `of` and `wrt`, which
// scalars leaf_wrt), but no differentiation in progress.
#ifndef VYRE_GRAD_FACTS_CORE_H
#define VYRE_GRAD_FACTS_CORE_H

#include "ir/facts/memory.h"

enum { VARIED = 1, USEFUL = 2, ACTIVE = VARIED | USEFUL };

typedef struct buffer_facts {
    uint8_t activity; // VARIED, USEFUL
    bool of, wrt;
    bool kept;           // wrt: its gradient is added to the contents of the caller's buffer
    bool behind;         // the same of an inout, in a host program: added behind the reverse sweep
    uint32_t start;      // the buffer that it begins as a copy of (`@init(NAME)`), or 0
    uint32_t heir;       // active buffer that begins as a copy of it: their adjoint is one; or 0
    uint32_t last_write; // last instruction of the primal that writes it, or 0
    uint32_t first_write;
    bool loaded;     // by an instruction whose value may matter
    bool read;       // by a load other than that of an additive store, see store_adds.c
    bool early;      // every load comes before every write
    uint32_t sites;  // loads that have an adjoint
    uint32_t home;   // local arrays: innermost loop or checkpoint around every clear; others 0
    uint32_t clears; // local arrays: instructions that clear it
    // Of a host program (rotation.c): the load, of all of a slice, that is the last of each value
    // in its slice; the store after whose reverse nothing reads the adjoint.  Or 0.
    uint32_t last_load, spent;
    uint32_t next;  // local arrays: the next one with this home, see `locals`
    bool exclusive; // each element is loaded by at most one invocation, see race_free_owner.c
    bool shadowed;  // its elements have masks, see shadow.c
    uint32_t cover; // unshadowed while this load is unconditionally used (full_reads.c); or 0
    bool extremum;  // atomic_min or atomic_max changes elements of it, see extremum.c
    bool events;    // … and the changes of an invocation are numbered
} buffer_facts;

typedef struct grad_facts {
    const vy_program *p;
    vy_structure s;
    // ---- by instruction id
    uint8_t *activity; // VARIED, USEFUL
    uint32_t *home;    // innermost LOOP or WHILE around it
    uint32_t *scope;   // innermost LOOP, WHILE or CHECKPOINT around it: the unit of replays
    uint32_t *locals;  // the first local array whose home it is; 0: none
    uint8_t *needed;   // the reverse sweep may need the value outside its own arm
    uint8_t *maskable; // every use of the value is conditional, see masks.c; of a store: it may
                       // have no effect
    uint8_t *busy;     // openers: something inside has an adjoint
    uint8_t *adds;     // by load and store: the store adds to the load's element, see store_adds.c
    uint8_t *own;      // by load: no other invocation touches the element in its phase, see
                       // phase_owner.c
    uint32_t *own_in;  // … only in the arm of this store does it have a derivative; or 0.  NULL
                       // where nothing is phased, as `summed`
    uint8_t *summed;   // by load: all invocations of the workgroup load this element, see
                       // phase_sum.c; by opener: it contains a barrier
    uint32_t *again;   // of a host program, by load: an earlier one that gives its value, or 0
    uint8_t *together; // decides whether a barrier is reached: may not be taped, see
                       // uniform_control.c
    // ---- by leaf
    uint8_t *leaf_activity;
    uint8_t *leaf_wrt; // scalars to differentiate by; 2: the gradient is added to the contents
    // ---- by buffer id
    buffer_facts *buffers;
    // ---- of the program
    bool phased;     // the reverse has the primal's barriers
    bool barriers;   // the primal has some
    bool has_halves; // some values are f16
    bool limited;    // `together` is incomplete: it would have taken too long
} grad_facts;

// Makes the tables, zeroed, and the structure, `home`, `scope`, `has_halves`.  False: memory; call
// vy_grad_facts_free either way.
bool vy_grad_facts_make(grad_facts *f, const vy_program *p);
bool vy_phase_facts_make(grad_facts *f); // own_in and summed, zeroed; false: memory
void vy_grad_facts_free(grad_facts *f);

bool vy_is_written(const vy_program *p, uint32_t buffer);
// How its contents start where the caller does not give them, as in a derivative.
static inline vy_init vy_starts_as(const vy_buf *b)
{
    return b->workspace || b->cls == VY_OUT ? b->init : VY_INIT_NONE;
}
bool vy_subgroup_chooses(vy_op op); // is operand 0 used in some lanes only?
// ---- facts/stored_once.c
// Does the store write no element twice, whatever loops are around it?
bool vy_stores_once(const grad_facts *f, uint32_t id);
// Do two accesses to one buffer never name the same element, in whatever iterations?
bool vy_stores_apart(const grad_facts *f, uint32_t x, uint32_t y);
static inline bool vy_is_extremum(vy_op op)
{
    return op == VY_OP_ATOMIC_MIN || op == VY_OP_ATOMIC_MAX;
}
static inline bool vy_is_active(const grad_facts *f, uint32_t id)
{
    uint8_t a = VY_IS_LEAF(id) ? f->leaf_activity[VY_LEAF_INDEX(id)] : f->activity[id];
    return (a & ACTIVE) == ACTIVE && vy_type_is_float(vy_id_type(f->p, id));
}
// Does `outer` (0: everything) enclose instruction `id`?
static inline bool vy_encloses(const grad_facts *f, uint32_t outer, uint32_t id)
{
    return !outer || (outer < id && id < f->s.partner[outer]);
}
// Does the reverse of instruction `id` add to the adjoint of a buffer that other invocations see?
static inline bool vy_adds_outside(const grad_facts *f, uint32_t id)
{
    const vy_inst *i = &f->p->insts.data[id];
    return i->op == VY_OP_LOAD && (f->activity[id] & ACTIVE) == ACTIVE &&
           vy_type_is_float((vy_type)i->type) && vy_is_global(f->p->buffers.data[i->aux].cls);
}
// How many operands recomputing `id` needs: an operation that exists only in lowered programs is
// replaced by its first operand in a result, which is not lowered.
static inline uint32_t vy_computed_args(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_lowered((vy_op)i->op) ? 1 : i->nargs;
}
// What is said of the candidate of atomic_min or atomic_max `id`; 0: nothing.
static inline uint32_t vy_candidate_mark(const vy_program *p, uint32_t id)
{
    uint32_t v = vy_arg(p, id, p->buffers.data[p->insts.data[id].aux].rank);
    return !VY_IS_LEAF(v) && p->insts.data[v].op == VY_OP_CANDIDATE ? vy_arg(p, v, 1) : 0;
}
// Does the workgroup find the winner, which stores its candidate?  Then the number is 0, and the
// atomic passes adjoints through unchanged (rewrite/extremum_shared.c).
static inline bool vy_is_voted(const vy_program *p, uint32_t id)
{
    const uint32_t mark = vy_candidate_mark(p, id);
    const vy_scalar *k = mark ? vy_id_const(p, mark) : NULL;
    return p->buffers.data[p->insts.data[id].aux].cls == VY_SHARED || (k && !k->u);
}
// The number that extremum.c gave to the candidate, or 0.
static inline uint32_t vy_candidate_number(const vy_program *p, uint32_t id)
{
    return vy_is_voted(p, id) ? 0 : vy_candidate_mark(p, id);
}
// Is it an atomic_min or atomic_max of which other programs find the winner, if it has one?
static inline bool vy_is_contested(const vy_program *p, uint32_t id)
{
    return vy_is_extremum((vy_op)p->insts.data[id].op) && !vy_is_voted(p, id);
}

#endif
