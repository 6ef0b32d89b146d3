// SPDX-License-Identifier: MIT
// gather_attempts.h: what is done to a reverse program before it is gathered, so that the analysis
// can read it; shared by the attempts (gather_attempts.c).
#ifndef VYRE_GATHER_ATTEMPTS_H
#define VYRE_GATHER_ATTEMPTS_H

#include "autodiff/gather/gather_build.h"

// What would become of a program.
typedef struct gather_probe {
    bool all;     // everything would be gathered
    bool open;    // … if conditions hold
    bool any;     // something would be
    bool factors; // something would not, for a product or quotient of what is not constant
    bool keeps;   // … all, if gather.keeps
} gather_probe;

// What has been gathered of a program.
typedef struct gather_made {
    bool any;
    vy_program *rest; // the reverse program without that; NULL: nothing is left
} gather_made;

// What gather_winner.c did to the reverse program.
typedef struct gather_winners {
    vy_program *before; // as it was; NULL: nothing
    uint8_t *buffers;   // by buffer: it is added to where a maximum was
} gather_winners;

// What gather_multiples.c did to the reverse program.
typedef struct gather_multiples {
    vy_program *before; // as it was; NULL: nothing
    vy_arena arena;     // of the conditions
} gather_multiples;

// ---- gather_calm.c
// That scalars are calm, if the attempt assumes it, becomes a condition of the launch.
void gather_assume_calm(gather *g);
// Leaves the site, which has not been looked at, to an attempt with calm scalars.
void gather_leave_for_calm(gather_site *site);
// What an attempt that repeats this one should assume; scalar NULL: there is no such attempt.
gather_calm gather_calmer(gather *g);
bool gather_is_calm_in_vain(const gather *g); // as much is added to atomically without it
// ---- gather_once.c
// Puts additions of what is zero in all invocations but one under a condition.  False: m's diag, or
// memory.
bool gather_guard_once(vy_program *p);
// ---- gather_winner.c
// Gives additions where a maximum was the form that the analysis can read, if there are any.
// shared: also to elements that all invocations add to, which a gather is not worth.
// False: m's diag, or memory.  Call gather_free_winners either way.
bool gather_try_winners(vy_program *p, bool shared, gather_winners *all);
void gather_free_winners(gather_winners *all);
bool gather_wins_in_vain(const gather *g); // not all of them are gathered
// ---- gather_multiples.c
// Gives quotients of multiples the form that the analysis can read, if there are any, under
// conditions of begin->launch.  False: m's diag, or memory.  Call gather_free_multiples either way.
bool gather_try_multiples(gather *begin, gather_multiples *out);
void gather_free_multiples(gather_multiples *all);
// ---- gather_versions.c
enum { GATHER_VERSIONS = 9 };
typedef bool gather_one(gather *); // gathers a program
// Programs of which a launch runs one each, in the place of one.
typedef struct gather_versions {
    gather *g; // of the whole; its r gets the dimensions
    vy_program *version[GATHER_VERSIONS];
    vy_dim holds[GATHER_VERSIONS];     // 1 where that one runs, else 0
    const char *name[GATHER_VERSIONS]; // once they are in the place of the whole
    uint32_t count;
    bool general;           // the first is for launches that none of the others is for
    bool bare;              // … and nothing of it can be gathered
    bool calmly;            // the last takes scalars to be calm from the first attempt on
    bool refused;           // there are to be none
    const uint8_t *cleared; // by buffer: a workspace that a version need not write to; or NULL
} gather_versions;
// Takes q, a version of `of` in which something is known, and makes that of it which it needs.
// NULL: an error, or it cannot be one.
vy_program *gather_clean_version(gather_versions *all, const vy_program *of, vy_program *q);
// Takes p, which runs where `holds` is 1.
void gather_take_version(gather_versions *all, vy_program *p, vy_dim holds);
// What would become of p?  thrifty: with less of isl.
gather_probe gather_probe_version(gather_versions *all, const vy_program *p, bool thrifty,
                                  gather_one *one);
// Puts them in the place of the whole, and gathers each.  names: what follows its name in theirs.
// False: m's diag, or memory.
bool gather_replace_by_versions(gather_versions *all, const char *const *names, gather_one *one);
void gather_free_versions(gather_versions *all);
// Says that everything noted is so under that condition, too, and which program runs otherwise.
// False: memory.
bool gather_note_version(const gather *g, const char *condition, const char *otherwise);
// ---- gather_cases.c
// Cases that an attempt which does less has been made for, of which none is made again, and what
// else is to be tried for those that it is in vain for.
typedef struct gather_known_cases {
    uint32_t all, vain; // are gathered by it; are not
    gather_one *otherwise;
} gather_known_cases;
// Where scalars choose between places that add, and that suffices to gather all of them: makes a
// program of each choice, and gathers each by `one`.  *done: it did.  whole: not if one program for
// all has no conditions.  False: m's diag, or memory.
bool gather_by_cases(gather *begin, gather_one *one, bool whole, gather_known_cases *known,
                     bool *done);
// ---- gather_units.c
// Where all additions are gathered if some scalars are 1: makes a program in which they are, which
// is gathered by `one`, as is the other.  *done: it did.  False: m's diag, or memory.
bool gather_by_units(gather *begin, gather_one *one, bool *done);
// ---- gather_groups.c
// Where all additions of a program without a domain are gathered over the invocations of its
// launch: makes a program with that domain, which is gathered by `one`, for launches that have no
// more than it can.  *done: it did.  False: m's diag, or memory.
bool gather_by_groups(gather *begin, gather_one *one, bool *done);
// ---- gather_apart.c
// Where all additions are gathered if cotangents of outputs are read in place, as elements are
// stored once: makes a program that does, which is gathered by `one`, for launches that show it.
// *done: it did, or would (a probe).  *asked: begin->probe has what `one` finds without that.
// False: m's diag, or memory.
bool gather_by_apart(gather *begin, gather_one *one, bool *done, bool *asked);

#endif
