// SPDX-License-Identifier: MIT
// sweep_custom.c: the reverse of a call of a function that states its own derivative.
//
//   y = APPLY f x, z      →      (gx, gz) = the code of f's rule for x, z, ȳ;  x̄ += gx;  z̄ += gz
//
// The rule's code takes the primal's operands, and so decides what is taped for it: what it does
// not read is dead code in the sweep, so the plan does not tape it.  Of several results the rule
// takes the adjoints of all, which are there when the sweep has passed the PICKs after the call.
#include "autodiff/core/adjoint.h"
#include "autodiff/core/custom.h"
#include "autodiff/core/rules.h"
#include "autodiff/reverse/sweeps.h"

typedef struct call {
    uint32_t id;
    uint32_t cotangents[VY_MAX_RANK];
    uint32_t mask; // 0: it is always used
    uint32_t size; // 0 where all cotangents are: the only one, or the sum of their magnitudes
} call;

// |g| as an f32
static uint32_t magnitude(reverse *r, uint32_t g)
{
    const vy_type t = vy_id_type(vy_builder_program(r->b), g);
    return cast_to(r, VY_F32, vy_emit(r->b, VY_OP_ABS, t, 0, 1, &g));
}

static uint32_t size_of(reverse *r, const vy_function *f, const call *c)
{
    uint32_t only = 0, all = 0;
    for (uint32_t o = 0; o < f->result_count; o++) {
        const uint32_t g = c->cotangents[o];
        if (!g) continue;
        if (only && !all) all = magnitude(r, only);
        only = g;
        if (all) all = vy_add(r->b, (vy_value){all}, (vy_value){magnitude(r, g)}).id;
    }
    return all ? all : only;
}

// The adjoints of the results; false: there are none.
static bool take_adjoints(reverse *r, const vy_function *f, call *c)
{
    bool any = false, always = !r->facts.maskable[c->id];
    for (uint32_t o = 0; o < f->result_count; o++) {
        const uint32_t result = vy_call_result(r->p, c->id, o), g = r->build.adjoint[result];
        const uint32_t mask = mask_of(r, result);
        c->cotangents[o] = 0;
        if (!g) continue;
        any = true;
        always |= !mask;
        c->cotangents[o] = cast_to(r, (vy_type)f->results[o], g);
        if (!always && c->mask)
            c->mask = vy_emit(r->b, VY_OP_OR, VY_BOOL, 0, 2, (uint32_t[]){c->mask, mask});
        else
            c->mask = mask;
    }
    if (always) c->mask = 0;
    if (r->options->structural_zeros) c->size = size_of(r, f, c);
    return any;
}

static void contribute(reverse *r, const call *c, uint32_t k, uint32_t d)
{
    const uint32_t to = vy_arg(r->p, c->id, k);
    if (c->size) d = vy_rule_guarded(r->b, c->size, d);
    if (c->mask) {
        const vy_value zero = vy_zero(r->b, vy_id_type(r->p, to));
        d = vy_select(r->b, (vy_value){c->mask}, (vy_value){d}, zero).id;
    }
    vy_contribute(r, to, d, c->mask);
}

static void pull(reverse *r, const vy_function *f, const call *c, uint32_t *block, uint8_t *wanted)
{
    const uint32_t n = r->p->insts.data[c->id].nargs;
    uint32_t *args = block, *out = args + n;
    const vy_custom custom = {r->b, f, args, n, out + n};
    for (uint32_t k = 0; k < n; k++) {
        args[k] = vy_primal(r, vy_arg(r->p, c->id, k));
        wanted[k] = vy_is_active(&r->facts, vy_arg(r->p, c->id, k));
    }
    if (!vy_custom_reverse(&custom, c->cotangents, wanted, out)) return;
    for (uint32_t k = 0; k < n; k++)
        if (wanted[k] && out[k]) contribute(r, c, k, out[k]);
}

void vy_reverse_apply(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    const uint32_t n = i->nargs;
    const vy_function *f = vy_function_of(vy_builder_module(r->b), i->aux);
    call c = {.id = id};
    if (!take_adjoints(r, f, &c)) return;
    uint32_t *block = vy_reverse_zeroed(r, vy_custom_room(n) + 2 * (size_t)n, sizeof *block);
    uint8_t *wanted = vy_reverse_zeroed(r, n, 1);
    if (block && wanted) pull(r, f, &c, block, wanted);
    vy_free(block);
    vy_free(wanted);
}
