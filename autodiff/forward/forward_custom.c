// SPDX-License-Identifier: MIT
// forward_custom.c: the tangents of a call of a function that states its own derivative (custom.h).
#include "autodiff/core/custom.h"
#include "autodiff/forward/forward.h"

static void push(forward *f, uint32_t id, const vy_function *fn, uint32_t *block, uint8_t *guard)
{
    const vy_program *p = f->w.p;
    const uint32_t n = p->insts.data[id].nargs;
    uint32_t *dots = block + n, out[VY_MAX_RANK];
    uint8_t wanted[VY_MAX_RANK];
    const vy_custom c = {f->w.b, fn, block, n, dots + n};
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t a = vy_arg(p, id, k);
        block[k] = vy_new_arg(&f->w, id, k);
        dots[k] = vy_forward_is_active(f, a) ? vy_forward_dot(f, a) : 0;
        guard[k] = f->r->options->structural_zeros || (!VY_IS_LEAF(a) && f->unreached[a]);
    }
    for (uint32_t o = 0; o < fn->result_count; o++)
        wanted[o] = vy_forward_is_active(f, vy_call_result(p, id, o));
    vy_custom_forward(&c, dots, guard, wanted, out);
    for (uint32_t o = 0; o < fn->result_count; o++)
        if (wanted[o]) f->dot[vy_call_result(p, id, o)] = out[o];
}

uint32_t vy_forward_apply(forward *f, uint32_t id)
{
    const uint32_t n = f->w.p->insts.data[id].nargs;
    const vy_function *fn = vy_function_of(vy_builder_module(f->w.b), f->w.p->insts.data[id].aux);
    const uint32_t last = vy_call_result(f->w.p, id, fn->result_count - 1);
    for (uint32_t k = id; k <= last; k++) vy_rewrite_copy(&f->w, k);
    vy_rewrite_at(&f->w, id);
    uint32_t *block = vy_reverse_zeroed(f->r, vy_custom_room(n) + 2 * (size_t)n, sizeof *block);
    uint8_t *guard = vy_reverse_zeroed(f->r, n, 1);
    if (block && guard) push(f, id, fn, block, guard);
    vy_free(block);
    vy_free(guard);
    return last;
}
