// SPDX-License-Identifier: MIT
// gather_left.c: gathers for the derivatives of a lower order that a derivative dispatches.
//
// A program that will be differentiated again stays in one piece, and adds by atomics
// (vy_grad_options.again): its reverse is better than that of its gathers.  But the next derivative
// of a pipeline dispatches it, too, for its values, and there it is better in pieces:
//
//   step_grad_add_k(u[t], k, adj[t + 1], adj[t], grad_k);        // atomics
//   step_grad_add_k_reverse(…);                                  // has gathers
//   →
//   step_grad_add_k_gather_u(…);  step_grad_add_k_gather_k(…);
//   step_grad_add_k_reverse(…);
#include "autodiff/driver/gather_left.h"

#include "autodiff/driver/observed.h"
#include "autodiff/gather/gather.h"

static bool is_there(const vy_module *m, const vy_program *p)
{
    for (uint32_t k = 0; k < m->programs.count; k++)
        if (m->programs.data[k] == p) return true;
    return false;
}

// Does p add a gradient by atomics?
static bool adds_gradients(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_ATOMIC_ADD && vy_is_gradient(p->buffers.data[i->aux].role.kind))
            return true;
    }
    return false;
}

bool vy_gather_left(vy_module *m, uint32_t order, const vy_grad_options *options)
{
    const vy_gather_options gathering = {
        .lean = options->frugal || options->checkpoint,
        .always = options->deterministic || options->accumulate == VY_ACCUMULATE_GATHER,
        .allow_small = options->accumulate == VY_ACCUMULATE_GATHER,
        .gradients = true,
        .assume = options->assume,
        .assume_count = options->assume_count,
    };
    const uint32_t count = m->programs.count;
    vy_arena arena = {0};
    vy_program **programs = vy_arena_alloc(&arena, (count + 1) * sizeof *programs);
    bool ok = programs != NULL;
    if (!ok) vy_fail_oom(m);
    for (uint32_t k = 0; ok && k < count; k++) {
        programs[k] = m->programs.data[k];
        if (programs[k]->order < order) vy_text_gradients(programs[k]);
    }
    // A program that is gathered leaves the module, and its stages come last.
    for (uint32_t k = 0; ok && k < count; k++)
        if (is_there(m, programs[k]) && programs[k]->order < order && adds_gradients(programs[k]))
            ok = vy_gather(m, programs[k], &gathering, NULL);
    vy_arena_free(&arena);
    return ok;
}
