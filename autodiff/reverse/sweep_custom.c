// SPDX-License-Identifier: MIT
// sweep_custom.c: the reverse of a call of a function that states its own derivative.
//
//   y = APPLY f x, z      →      (gx, gz) = the code of f's rule for x, z, ȳ;  x̄ += gx;  z̄ += gz
//
// The rule's code takes the primal's operands, and so decides what is kept for it: what it does not
// read is dead code in the sweep, and the plan never asks for it.
#include "autodiff/core/adjoint.h"
#include "autodiff/core/custom.h"
#include "autodiff/core/rules.h"
#include "autodiff/reverse/sweeps.h"

static void contribute(reverse *r, uint32_t id, uint32_t k, uint32_t d, uint32_t g, uint32_t mask)
{
    const uint32_t to = vy_arg(r->p, id, k);
    if (r->options->structural_zeros) d = vy_rule_guarded(r->b, g, d);
    if (mask) {
        const vy_value zero = vy_zero(r->b, vy_id_type(r->p, to));
        d = vy_select(r->b, (vy_value){mask}, (vy_value){d}, zero).id;
    }
    vy_contribute(r, to, d, mask);
}

void vy_reverse_apply(reverse *r, uint32_t id, uint32_t g, uint32_t mask)
{
    const vy_inst *i = &r->p->insts.data[id];
    const uint32_t n = i->nargs;
    uint32_t *block = vy_reverse_zeroed(r, vy_custom_room(n) + 2 * (size_t)n, sizeof *block);
    uint8_t *wanted = vy_reverse_zeroed(r, n, 1);
    if (block && wanted) {
        uint32_t *args = block, *out = args + n;
        const vy_function *f = vy_function_of(vy_builder_module(r->b), i->aux);
        const vy_custom c = {r->b, f, args, n, out + n};
        for (uint32_t k = 0; k < n; k++) {
            args[k] = vy_primal(r, vy_arg(r->p, id, k));
            wanted[k] = vy_is_active(&r->facts, vy_arg(r->p, id, k));
        }
        g = cast_to(r, (vy_type)i->type, g);
        if (vy_custom_reverse(&c, g, wanted, out))
            for (uint32_t k = 0; k < n; k++)
                if (wanted[k] && out[k]) contribute(r, id, k, out[k], g, mask);
    }
    vy_free(block);
    vy_free(wanted);
}
