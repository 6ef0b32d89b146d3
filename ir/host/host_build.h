// SPDX-License-Identifier: MIT
// host_build.h: host programs (ir/core/host.h) from pipelines, and back.
#ifndef VYRE_HOST_BUILD_H
#define VYRE_HOST_BUILD_H

#include "ir/build/edit.h"
#include "ir/core/host.h"

// ---- count_whiles.c
// Which loops are counted before the outermost one begins.
typedef enum vy_counted_loops {
    VY_COUNT_OUTERMOST, // each `while`, and repeats that end at a value; none inside others
    VY_COUNT_INNER,     // those inside others, too
    VY_COUNT_ALL,       // and all whose bounds depend on counters or values
} vy_counted_loops;
// Replaces pipeline `number` of the module, its last, by one in which each `while` is a repeat, and
// the numbers of iterations that the run decides are extents.  False: see the module's diag; the
// pipeline is as it was.
bool vy_host_count_whiles(vy_module *m, uint32_t number, vy_counted_loops which);

// ---- numbers.c
// Is the dimension never negative, by its form?
bool vy_host_natural(const vy_pipeline *l, vy_dim d);
// Does it depend on counters or values?
bool vy_host_varies(const vy_pipeline *l, vy_dim d);
// Is it known only while the pipeline runs, and bounded by nothing else?
bool vy_host_open(const vy_pipeline *l, vy_dim d);

// ---- flatten.c
// The same for a pipeline in which nothing is passed as flat(…).
bool vy_host_flatten(vy_module *m, uint32_t number);

// ---- raise.c
// The host program of a pipeline, which the module does not list; free it with vy_program_free.
// Loads are not shared: each argument has its own.  NULL: see the module's diag.
// hints: for reverse mode: repeats with `checkpoint(…)` are cut into segments, with `all` outermost
// ones, too, and *hints is what bounds their lengths (autodiff/facts/trip_bound.h; free it with
// vy_free).  NULL: for all else.
// revolve: repeats that vy_host_revolves keep the state of each iteration, for vy_host_revolve.
// own: an iteration in which an intermediate begins whose size only the run knows is a checkpoint.
vy_program *vy_host_raise(const vy_pipeline *l, bool all, bool revolve, bool own, uint32_t **hints);
// ---- host_emit.c
// Appends a DISPATCH and the PICKs of all its results.  picks: one for each `out` and `inout`
// parameter.  The call is copied, its shapes are not.  Returns the DISPATCH; 0: the builder failed.
uint32_t vy_host_dispatch(vy_builder *b, const vy_host_call *call, const uint32_t *args,
                          uint32_t *picks);
// An instruction that is not shared with an equal one; 0: none, or an error.
uint32_t vy_host_append(vy_builder *b, vy_op op, vy_type type, uint32_t buffer, uint32_t nargs,
                        const uint32_t *args);

// ---- shapes.c
// The LOAD or PICK whose shape the tensor has; 0: it is a number, or `h` is no host program.
uint32_t vy_host_shaped_like(const vy_program *h, const vy_structure *s, uint32_t id);
// Its shape; rank 0: it is a number.  Callees are those of `m`.
vy_tensor vy_host_shape(const vy_module *m, const vy_program *h, const vy_structure *s,
                        uint32_t id);
// ---- reads.c
// Does what is called read its parameter `buffer`, or is that only bound?
bool vy_host_reads(const vy_module *m, const vy_host_call *c, uint32_t buffer);
// ---- slices.c
// Do two memory operations of one buffer name the same slice?  Or surely different ones?
bool vy_host_same_slice(const vy_program *h, uint32_t x, uint32_t y);
bool vy_host_other_slice(const vy_program *h, uint32_t x, uint32_t y);
// An integer as base + offset; base 0: a constant.
uint32_t vy_host_base(const vy_program *h, uint32_t id, int64_t *offset);

// ---- lower.c
// Appends host program `h`, called `name`, to its module as a pipeline.  NULL: the module's diag.
vy_pipeline *vy_host_lower(const vy_program *h, const char *name);

// ---- revolve_request.c
enum { VY_REVOLVE_MOST = 10 }; // states; more are as many
// The repeat of that line keeps √n states, for the reason `why`; NULL: VY_REVOLVE_MOST, should k be
// more.
typedef void vy_host_revolved(void *user, uint32_t line, const char *why);
// Outermost repeats get checkpoint(revolve, k), whatever they say of the states to keep.  False:
// memory.
bool vy_host_request_revolve(vy_pipeline *l, uint32_t k);
// Is step `at` a `repeat … checkpoint(revolve, k)` with a k of scalars and constants?
bool vy_host_revolves(const vy_pipeline *l, uint32_t at);
// The repeat or checkpoint whose block step `at` is in, + 1; 0: none.
uint32_t vy_host_block_of(const vy_pipeline *l, uint32_t at);
// Gives the last pipeline of `m`, the gradient of `source` made with `revolve` above, the binomial
// schedule for all of them.  False: some part has no form that allows it: `source` requests √n
// states for it now, and the pipeline is to be thrown away.  report: or NULL.
bool vy_host_revolve(vy_module *m, vy_pipeline *source, vy_host_revolved *report, void *user);
// √n states for what cannot have the schedule, whatever the derivative; why: or for all.
void vy_host_refuse_revolve(vy_pipeline *source, const char *why, vy_host_revolved *report,
                            void *user);
// Reports the repeats whose k is, or may be, more than the schedule has levels.
void vy_host_limit_revolve(const vy_pipeline *source, vy_host_revolved *report, void *user);

// ---- states.c In pipeline `number` of the module, its last: the reverse reads slices that are
// never overwritten where they are, instead of copies on a tape.  moved: NULL, or called for each
// tape with the buffer that it went into.  False: see the module's diag; it is as it was.
bool vy_host_keep_states(vy_module *m, uint32_t number,
                         void (*moved)(void *user, const char *tape, const char *into), void *user);

// Neighbouring dispatches over one domain become one, where that changes no number and pays
// (fuse_stages.c).  number: the pipeline of `m`.  False: m's diag.
bool vy_host_fuse_stages(vy_module *m, uint32_t number);

#endif
