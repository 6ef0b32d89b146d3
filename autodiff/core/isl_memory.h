// SPDX-License-Identifier: MIT
// isl_memory.h: isl and GMP when memory runs out.
//
// isl treats a failed malloc like an exhausted limit on its operations: its results are NULL, and
// the context has an error.  GMP, which holds isl's large numbers, ends the process instead.  So
// while isl runs, GMP's allocation functions are ours: where malloc fails they take from a reserve
// that was set aside beforehand, and abort isl's context, so that isl stops at its next allocation.
// A program that has given GMP functions of its own keeps them.
//
// Some allocations fail without an error in isl's context (isl 0.25: the room of isl_sort, copies
// of names), and results are NULL as if isl had given up.  But malloc has set errno to ENOMEM, and
// nothing takes that back.
#ifndef VYRE_ISL_MEMORY_H
#define VYRE_ISL_MEMORY_H

#include <isl/ctx.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vy_isl_memory {
    isl_ctx *ctx;
    char *reserve;
    size_t used;
    int error; // errno before
    bool failed;
    uint32_t given_up;                       // maxima that took too many operations
    struct vy_isl_answers *answers;          // isl_known.h; or NULL
    void (*forget)(struct vy_isl_memory *m); // frees them; NULL: there never were any
    struct vy_isl_memory *outer;             // of the same thread
} vy_isl_memory;

// Makes a context, m->ctx.  From here until _end the thread may use isl on it.  False: memory.
bool vy_isl_memory_begin(vy_isl_memory *m);
// Frees the context, after all its objects and on the same thread.  Call it after a failed _begin,
// too.
void vy_isl_memory_end(vy_isl_memory *m);
// The one of this thread whose context it is; NULL: none.
vy_isl_memory *vy_isl_memory_of(const isl_ctx *ctx);
// Has an allocation of isl or GMP failed since _begin, or the last isl_ctx_reset_error?
bool vy_isl_memory_failed(const vy_isl_memory *m);

#endif
