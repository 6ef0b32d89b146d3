// SPDX-License-Identifier: MIT
// gather_owning.h: what is left once what can be gathered is (gather_own.c, gather_vain.c,
// gather_grid.c).
#ifndef VYRE_GATHER_OWNING_H
#define VYRE_GATHER_OWNING_H

#include "autodiff/gather/gather_build.h"

// What is found of elements of one invocation each; by buffer.
typedef struct gather_owners {
    uint8_t *alone;   // its additions become plain
    uint8_t *placed;  // … but it is not only added to, so all its accesses are sites
    const char **why; // what else keeps them atomic: completes "the access …"; or NULL
    const struct gather_proof *proof;
} gather_owners;

// Something that is proved of the elements at places of a program, under conditions of the launch.
typedef struct gather_proof {
    // The places, once there are tables.  *vain: it is plain to see that there is no proof.  False:
    // memory.
    bool (*find)(gather *g, bool *vain);
    bool (*again)(gather *g); // the same of another attempt
    bool (*holds)(gather *g); // is it so, by the rows that there are?  Else sites[].why
    bool (*make)(gather *g);  // what follows; false: m's diag, or memory
} gather_proof;

// ---- gather_own.c
// Makes the additions plain where elements are one invocation's each under conditions of the
// launch, if that leaves no atomics (*made).  False: m's diag, or memory.
// split: over coordinates, too.
bool gather_own(const gather *begin, bool split, bool *made);
// Proves, over coordinates (gather_split.h) where there are some; if not, and split: also as it is.
// begin->owners has the proof.  False: m's diag, or memory.
bool gather_prove(gather *begin, bool split, bool *made);
// { invocation → elements } of one place, without the buffer's axes in `skip`, loops projected out
// unless `loops`; NULL: *site says why not.
isl_map *gather_elements(gather *g, gather_site *site, uint32_t skip, bool loops);
// Have the places the same axes?
bool gather_same_axes(const vy_affine_access *x, const vy_affine_access *y);
// The axes of the buffer on which all its places have constants: components of vectors.
uint32_t gather_components(const gather *g, uint32_t buffer);
// ---- gather_vain.c
// Is it plain to see that there is no such condition, or an addition that stays atomic?  Fills
// owners; the places of what is `placed` are added to the sites.
bool gather_owns_in_vain(gather *g);
bool gather_add_places(gather *g); // the same of another attempt; false: memory
bool gather_can_own(vy_op op);     // may an atomic become plain?
// ---- gather_grid.c
enum { GATHER_GRID = 1 << 24 }; // invocations along an axis, at most
// The workgroups along an axis of a program without a domain, and the invocations; id 0: memory.
vy_dim gather_groups_along(gather *g, uint32_t axis);
vy_dim gather_all_along(gather *g, uint32_t axis);
// Gives a program without a domain one, until the end; false: memory.
bool gather_begin_grid(gather *g);
// Only one workgroup is to run along axes whose variable is not in `apart` (bits): by it those of
// different workgroups do not differ.
void gather_narrow_grid(gather *g, uint32_t apart);
void gather_require_grid(gather *g); // what the analysis takes to hold of it
void gather_end_grid(gather *g);
// ---- gather_notes.c
// The same of gather_own.c, in place of what was noted of these buffers, or of all if nothing is
// gathered.
bool gather_take_owned(const gather *g, const vy_program *r);
// The same where they stay atomic, of buffers that nothing is noted of.
bool gather_note_shared(const gather *g);
// What an attempt before noted, of buffers that nothing is noted of.
bool gather_note_before(const gather *g, const vy_gather_note_vec *before);

#endif
