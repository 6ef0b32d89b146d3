// SPDX-License-Identifier: MIT
// dual_run.c: runs a program or a pipeline with tangents alongside the values; see dual.h.
#include "ir/eval/eval.h"

bool vy_eval_dual(const vy_program *p, const vy_pipeline *pipeline, const vy_eval_buffer *buffers,
                  uint32_t buffer_count, const vy_eval_scalar *scalars, uint32_t scalar_count,
                  const vy_eval_options *options, const vy_dual *dual, vy_diag *diag)
{
    const vy_eval_hooks hooks = {.dual = dual};
    return pipeline ? vy_eval_pipeline_hooked(pipeline, buffers, buffer_count, scalars,
                                              scalar_count, options, &hooks, NULL, diag)
                    : vy_eval_hooked(p, buffers, buffer_count, scalars, scalar_count, options,
                                     &hooks, NULL, diag);
}
