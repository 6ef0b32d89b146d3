// SPDX-License-Identifier: MIT
// eval_trace.c: finds the origin of numbers that are not finite.
//
// The first instruction that produces a NaN need not be the origin of a NaN in a result: an operand
// that a select does not choose may be NaN too, without consequence.  So every NaN carries the
// instruction that produced it, in its payload bits, which IEEE leaves free and arithmetic and
// copies propagate:
//
//   63    62 … 52     51     50 … 29          28 … 4   3 … 0
//   sign  all ones    quiet  low 22 bits      0        high 4 bits of the instruction's id
//
// (The upper field is what a float keeps of a double.)  Where an operation does not propagate the
// payload, it is copied from the operand.  An infinity has none: only the first one is known.
#include "ir/eval/eval.h"

#include <math.h>

static vy_scalar tagged(uint32_t id)
{
    const uint64_t low = id & 0x3FFFFFu, high = id >> 22;
    return (vy_scalar){.u = 0x7FF8ull << 48 | low << 29 | (high & 15)};
}

uint32_t vy_trace_origin(double nan)
{
    const vy_scalar v = {.f = nan};
    if (!isnan(nan)) return 0;
    return (uint32_t)((v.u >> 29 & 0x3FFFFFu) | (v.u & 15) << 22);
}

static bool makes_float(const vy_xinst *x)
{
    return vy_type_is_float((vy_type)x->type) && vy_op_infos[x->op].effect != VY_CTRL;
}

// Operands may share the result's register, so they are inspected before the instruction runs.
void vy_trace_before(vy_machine *m, const vy_xinst *x)
{
    if (!makes_float(x)) return;
    VY_EACH_ACTIVE(m, l, m->finite[l] = 1; m->origin[l] = 0;)
    for (uint32_t k = 0; k < x->nargs; k++) {
        if (!vy_type_is_float(vy_id_type(m->p, vy_arg(m->p, x->inst, k)))) continue;
        const vy_scalar *r = vy_reg(m, m->operands[x->args + k]);
        VY_EACH_ACTIVE(m, l, {
            m->finite[l] &= isfinite(r[l].f) != 0;
            if (!m->origin[l]) m->origin[l] = vy_trace_origin(r[l].f);
        })
    }
}

void vy_trace_after(vy_machine *m, const vy_xinst *x)
{
    if (!makes_float(x)) return;
    vy_eval_trace *t = m->hooks->trace;
    const uint32_t id = t->base + x->inst;
    vy_scalar *r = vy_reg(m, x->dst);
    VY_EACH_ACTIVE(m, l, {
        if (isfinite(r[l].f) || m->padding[l]) continue;
        if (isinf(r[l].f)) {
            if (m->finite[l] && !t->inf) t->inf = id;
            continue;
        }
        if (vy_trace_origin(r[l].f)) continue; // propagated
        if (!m->origin[l] && !t->nan) t->nan = id;
        r[l] = tagged(m->origin[l] ? m->origin[l] : id);
    })
}
