// SPDX-License-Identifier: MIT
// check_forward.c: forward mode against reverse mode.
//
//   ⟨ct, J v⟩ = ⟨Jᵀ ct, v⟩
//
// Left the tangents of the outputs as the forward derivative has them, times random cotangents;
// right the gradient for these cotangents along the directions v of check_direction.c, all at once.
// Every element of the gradient contributes as much as any other.  Two implementations that share
// the rules of operations, and nothing else: control flow, memory, and what is stored or recomputed
// are each one's own.
#include "autodiff/verify/check_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// The tangents of what the probes move; all others are 0.
static void set_tangents(const check *c, const probe *p, uint32_t n, image *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        const vy_derivative_role role = vy_image_role(&c->base, m, i);
        if (!vy_is_tangent(role.kind) || role.kind == VY_IS_TANGENT_OUT) continue;
        for (uint32_t k = 0; k < n; k++) {
            const gradient_of of = p[k].of;
            const char *name =
                of.buffer >= 0 ? c->base.buffers[of.buffer].name : c->base.scalars[of.scalar].name;
            if (strcmp(name, role.of) != 0) continue;
            memcpy(m->buffers[i].data, p[k].along, p[k].count * sizeof *p[k].along);
        }
    }
}

// ⟨ct, J v⟩ after the run.
static double product(const check *c, const image *m)
{
    sum s = {0, 0};
    for (uint32_t i = 0; i < m->count; i++) {
        const vy_derivative_role role = vy_image_role(&c->base, m, i);
        if (!vy_is_tangent(role.kind) || vy_image_class(m, i) == VY_IN) continue;
        for (uint32_t o = 0; o < c->output_count; o++) {
            if (strcmp(c->outputs[o].name, role.of) != 0) continue;
            const double *t = m->buffers[i].data, *ct = c->outputs[o].cotangent;
            for (uint64_t e = 0; e < m->counts[i]; e++)
                if (t[e] != 0) vy_sum_add(&s, t[e] * (ct ? ct[e] : 1));
        }
    }
    return vy_sum_total(&s);
}

// May rounding, or a derivative that changes with the last bits of the data, explain it?
static bool explained(check *c, const probe *p, uint32_t n, double difference, bool *yes)
{
    double size, slope;
    *yes = false;
    if (!isfinite(difference)) return true;
    if (!vy_check_slopes(c, p, n, VY_DUAL_MAGNITUDE, &size)) return false;
    *yes = difference <= c->unit * size;
    return *yes || (vy_check_slopes(c, p, n, VY_DUAL_TANGENT, &slope) &&
                    vy_check_trembles(c, p, n, slope, difference / 8, yes));
}

static bool compare(check *c, const probe *p, uint32_t n, double got, double expected)
{
    bool same = fabs(got - expected) <= c->tolerance * fmax(fabs(got), fabs(expected));
    if (!same && !explained(c, p, n, fabs(got - expected), &same)) return false;
    vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_FORWARD, "");
    if (!row) return vy_check_memory(c);
    row->tolerance = c->tolerance;
    row->floor = DBL_MIN;
    row->elements = 1;
    vy_check_row_note(row, 0, got, same ? got : expected);
    vy_check_row_close(c->r, row);
    return true;
}

static bool skip(check *c, const char *why)
{
    return vy_check_skip(c->r, VY_CHECK_FORWARD, "", why) || vy_check_memory(c);
}

bool vy_check_forward(check *c, const probe *p, uint32_t n, double expected)
{
    const vy_check_subject s = c->q->forward;
    image m = {0};
    check_run run = {0};
    if (!s.program && !s.pipeline) return !c->q->no_forward || skip(c, c->q->no_forward);
    if (c->r->forward.buffer || c->r->gradient.buffer || !isfinite(expected))
        return skip(c, "not all derivatives are finite");
    bool ok = vy_image_derived(c, &c->base, s, 0, &m);
    if (ok) set_tangents(c, p, n, &m);
    ok = ok && vy_check_run(c, &m, &run) && compare(c, p, n, product(c, &m), expected);
    vy_image_free(&m);
    return ok;
}
