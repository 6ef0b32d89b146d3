// SPDX-License-Identifier: MIT
// entry.h: what can be run, compiled and described: a program, or a pipeline of programs.
#ifndef VYRE_SESSION_ENTRY_H
#define VYRE_SESSION_ENTRY_H

#include "session/fail.h"
#include "session/words.h"

#include "ir/pipeline.h"
#include "spirv/spirv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_entry {
    const vy_program *program;   // its parameters; of a pipeline, the signature, which has no code
    const vy_pipeline *pipeline; // NULL: a program
} vys_entry;

VYS_API vys_entry vys_entry_program(const vy_program *p);
VYS_API vys_entry vys_entry_pipeline(const vy_pipeline *p);
// The entry of a derived module: its last pipeline, else its first program.
VYS_API vys_entry vys_entry_result(const vy_module *m);
VYS_API const char *vys_entry_name(vys_entry r);
VYS_API vy_compiled *vys_entry_compile(vys_entry r, const vy_spirv_options *o, vy_diag *d);
// Instructions of all programs that the entry runs, each counted once.
VYS_API uint32_t vys_entry_instructions(vys_entry r);
// The entry of that name; NULL: the only program, else the last pipeline.  False with E0803, which
// lists the entries.  `words` may be NULL.
VYS_API bool vys_entry_find(const vy_module *m, const char *name, const vys_words *words,
                            vys_entry *out, vy_diag *d);
// Whether a float buffer parameter is an output by default.
VYS_API bool vys_entry_default_of(vys_entry r, vy_buffer b);
// Whether a buffer parameter is a result of the forward run: those, and `out` and `inout` ones of
// integers.
VYS_API bool vys_entry_is_output(vys_entry r, vy_buffer b);
// What is known of a launch: scalars (by index), lengths of buffers with one dimension (by
// vy_buffer.id), what num_groups is, and the dimensions of the parameters' program as
// vy_program_dim_values gives them.
typedef struct vys_launch {
    const int64_t *scalars, *lengths, *groups, *dims;
    const bool *known; // of the scalars
    const vy_dim_state *states;
} vys_launch;
// Upper bound on the iterations of all loops of one invocation, in the program with the most
// (*worst); a loop that depends on data counts as one iteration, and *complete is then false.
VYS_API uint64_t vys_entry_iterations(vys_entry r, const vys_launch *v, const vy_program **worst,
                                      bool *complete);
// The same of one program, in all launches of it that r makes.
VYS_API uint64_t vys_entry_program_iterations(vys_entry r, const vy_program *p, const vys_launch *v,
                                              bool *complete);
// The least extent of the domain of `p` along an axis over all its launches; -1: unknown.
VYS_API int64_t vys_entry_extent(vys_entry r, const vy_program *p, uint32_t axis,
                                 const vys_launch *v);
// The greatest value of a dimension of `p` over all its launches; -1: unknown.
VYS_API int64_t vys_entry_number(vys_entry r, const vy_program *p, vy_dim d, const vys_launch *v);

#ifdef __cplusplus
}
#endif
#endif
