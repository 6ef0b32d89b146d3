// SPDX-License-Identifier: MIT
// forward_custom.c: the tangent of a call of a function that states its own derivative (custom.h).
#include "autodiff/core/custom.h"
#include "autodiff/forward/forward.h"

uint32_t vy_forward_apply(forward *f, uint32_t id)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[id];
    const uint32_t n = i->nargs;
    uint32_t *block = vy_reverse_zeroed(f->r, vy_custom_room(n) + 2 * (size_t)n, sizeof *block);
    uint8_t *guard = vy_reverse_zeroed(f->r, n, 1);
    uint32_t dot = 0;
    if (block && guard) {
        uint32_t *dots = block + n;
        const vy_function *fn = vy_function_of(vy_builder_module(f->w.b), i->aux);
        const vy_custom c = {f->w.b, fn, block, n, dots + n};
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t a = vy_arg(p, id, k);
            block[k] = vy_new_arg(&f->w, id, k);
            dots[k] = vy_forward_is_active(f, a) ? vy_forward_dot(f, a) : 0;
            guard[k] = f->r->options->structural_zeros || (!VY_IS_LEAF(a) && f->unreached[a]);
        }
        dot = vy_custom_forward(&c, dots, guard);
    }
    vy_free(block);
    vy_free(guard);
    return dot;
}
