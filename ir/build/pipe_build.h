// SPDX-License-Identifier: MIT
// pipe_build.h: a pipeline being built.
#ifndef VYRE_PIPE_BUILD_H
#define VYRE_PIPE_BUILD_H

#include "ir/build/build.h"

struct vy_pipe {
    vy_module *m;
    vy_builder *b; // of the signature
    vy_pipe_step_vec steps;
    vy_id_vec open; // steps that are not closed yet
    uint32_t last;  // program dispatched last: the search for the next one starts there
};

// Opens a finished pipeline at one of its steps: the pipe returned has its signature and the steps
// in front of `at`, and what is added to it comes where `at` was.  vy_pipeline_resume appends the
// steps behind `at`, installs all of it as the contents of `l`, and frees the pipe.  Until then `l`
// is as it was; vy_pipeline_abandon leaves it so.  NULL, false: the module's diag.
vy_pipe *vy_pipeline_reopen(const vy_pipeline *l, uint32_t at);
bool vy_pipeline_resume(vy_pipe *q, vy_pipeline *l, uint32_t at);

#endif
