// SPDX-License-Identifier: MIT
// prepare.c: rewrites of the primal that need to know which values have derivatives.
//
// Activity is found anew for each: the one before it may have changed every instruction.
#include "autodiff/driver/observed.h"
#include "autodiff/facts/facts.h"
#include "autodiff/reverse/sweeps.h"

void vy_reverse_restart(reverse *r)
{
    vy_reverse_free(r);
    *r = (reverse){.p = r->p,
                   .options = r->options,
                   .out = r->out,
                   .forward = r->forward,
                   .failed = r->failed};
}

static bool has_derivative(const reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    if (!vy_op_is_atomic((vy_op)i->op)) return vy_is_active(&r->facts, id);
    return (r->facts.buffers[i->aux].activity & ACTIVE) == ACTIVE && // whether its memory has
           vy_type_is_float(r->p->buffers.data[i->aux].type);
}

// NULL: an error.
static uint8_t *find_active(reverse *r, const vy_program *source)
{
    if (!vy_reverse_tables(r)) return NULL;
    vy_reverse_choose(r, source);
    if (r->failed) return NULL;
    if (!vy_activity(&r->facts)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return NULL;
    }
    uint8_t *active = vy_reverse_zeroed(r, r->p->insts.count, 1);
    for (uint32_t id = 1; active && id < r->p->insts.count; id++)
        active[id] = has_derivative(r, id);
    return active;
}

bool vy_rewrite_active(reverse *r, vy_program *primal, const vy_program *source,
                       bool (*pass)(vy_program *p, const uint8_t *active))
{
    uint8_t *active = find_active(r, source);
    vy_reverse_restart(r);
    const bool ok = active && pass(primal, active);
    vy_free(active);
    return ok;
}
