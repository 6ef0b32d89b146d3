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
    uint32_t last;  // the program dispatched last: the search for the next one starts there
};

// Opens a finished pipeline at one of its steps: the pipe returned has its signature and the steps
// before `at`, and what is added to it takes the place of `at`.  vy_pipeline_resume appends the
// steps after `at`, installs the result as the contents of `l`, and frees the pipe.  Until then `l`
// is unchanged, and after vy_pipeline_abandon too.  NULL, false: see the module's diag.
vy_pipe *vy_pipeline_reopen(const vy_pipeline *l, uint32_t at);
bool vy_pipeline_resume(vy_pipe *q, vy_pipeline *l, uint32_t at);

#endif
