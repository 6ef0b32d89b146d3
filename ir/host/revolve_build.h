// SPDX-License-Identifier: MIT
// revolve_build.h: a pipeline whose schedule is being written: what the files of revolve.c share.
#ifndef VYRE_REVOLVE_BUILD_H
#define VYRE_REVOLVE_BUILD_H

#include "ir/build/edit.h"
#include "ir/host/revolve.h"

typedef struct revolving {
    revolve_loop x;
    vy_pipe *q;
    vy_builder *b;
    vy_arena *arena;
    vy_dim states;     // k, if it is no constant
    vy_dim *steps;     // by step of the old pipeline: its number in the new one
    vy_dim *made;      // by dimension of the old pipeline: translated …
    uint64_t *made_in; // … when `context` was this
    uint64_t context;
    vy_pipe_arg *places; // by buffer: what it is now; rank: leading indices
    uint32_t *forgotten; // by buffer: leading indices that are left out
    vy_buffer *scratch;  // by buffer of the body: that of the advances
    uint8_t *cleared;    // by buffer: must be cleared where it begins
} revolving;

// ---- revolve_steps.c
void *revolve_room(revolving *r, vy_arena *arena, size_t count, size_t size);
// From now on counter or value `step` of the old pipeline is `value`.
void revolve_set_step(revolving *r, uint32_t step, vy_dim value);
vy_dim revolve_dim(revolving *r, vy_dim d); // of the old pipeline, as it is now
vy_dim revolve_copy(revolving *r, const vy_program *source, const vy_dim_node *n);
void revolve_push(revolving *r, vy_pipe_step s); // as it is
void revolve_step(revolving *r, uint32_t at);
void revolve_steps(revolving *r, uint32_t from, uint32_t to);

#endif
