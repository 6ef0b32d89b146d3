// SPDX-License-Identifier: MIT
// bench_against.c: a gradient by hand on the data of ours, and whether both computed the same: a
// yardstick that computes something else measures nothing.
#include "tools/verbs/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- data
static bool read_buffer(const runner *r, const char *name, array *a, vy_diag *d)
{
    vkrt_error e = {0};
    return !vkrt_plan_read(r->plan, name, a->data, a->count * vy_type_size(a->type), &e) ||
           gpu_fail(&e, d);
}

// What the forward program wrote, which a gradient by hand may start from.
static bool read_forward(const lane *forward, const binding *hand, vy_diag *d)
{
    for (uint32_t i = 0; i < hand->buffer_count; i++) {
        const bound_buffer *b = &hand->buffers[i];
        bound_buffer *from = vys_binding_find(&forward->data, b->info.name);
        if (!from || b->info.cls == VY_OUT || from->info.cls != VY_OUT) continue;
        if (!read_buffer(&forward->runner, b->info.name, &from->value, d)) return false;
    }
    return true;
}

// Every buffer it takes must be one of ours: of the forward program, or the cotangent of one.
static bool known_buffers(const benchmark *b, const binding *hand, command *c, vy_diag *d)
{
    const binding *forward = &b->lanes[LANE_FORWARD].data, *ours = &b->lanes[LANE_DERIVATIVE].data;
    for (uint32_t i = 0; i < hand->buffer_count; i++) {
        const vy_buffer_info *info = &hand->buffers[i].info;
        const bool of_forward = vys_binding_find(forward, info->name) != NULL;
        const bool of_ours = vys_binding_find(ours, info->name) != NULL;
        if (!of_forward && !of_ours && !vys_binding_base(forward, info))
            return fail(d, TOOL_PLAN, "declare intermediates with `buffer` inside the pipeline",
                        "%.80s of pipeline %.80s is not a buffer of %.80s or its gradient",
                        info->name, vy_pipeline_name(b->hand.pipeline),
                        vys_entry_name(forward->what));
        if (info->cls != VY_OUT && !of_forward && !of_ours)
            note(c, "the gradient by hand reads %s, ours does not: give --ct to both", info->name);
        if (info->cls == VY_INOUT)
            return fail(d, TOOL_PLAN, "make it `in`, or `out`",
                        "%.80s of pipeline %.80s is `inout`", info->name,
                        vy_pipeline_name(b->hand.pipeline));
    }
    return true;
}

static bool all_gradients(const benchmark *b, const binding *hand, vy_diag *d)
{
    const binding *ours = &b->lanes[LANE_DERIVATIVE].data;
    for (uint32_t i = 0; i < ours->buffer_count; i++) {
        const vy_buffer_info *info = &ours->buffers[i].info;
        const bound_buffer *theirs = vys_binding_find(hand, info->name);
        if (!vy_is_gradient(info->role.kind)) continue;
        if (!theirs || theirs->info.cls != VY_OUT)
            return fail(d, TOOL_PLAN, "add it as `out`, or request fewer gradients with --wrt",
                        "pipeline %.80s does not write %.80s", vy_pipeline_name(b->hand.pipeline),
                        info->name);
    }
    return true;
}

bool against_bind(benchmark *b, command *c, vy_diag *d)
{
    binding *hand = &b->lanes[LANE_AGAINST].data;
    const lane *forward = &b->lanes[LANE_FORWARD];
    return yardstick_load(&b->hand, c, c->o.against, d) &&
           binding_create(hand, vys_entry_pipeline(b->hand.pipeline), false, d) &&
           known_buffers(b, hand, c, d) && all_gradients(b, hand, d) &&
           read_forward(forward, hand, d) && binding_derive(hand, &forward->data, &b->given, d);
}

// ------------------------------------------------------------------------------------- comparison
static double element(const array *a, uint64_t i)
{
    return vy_scalar_read(a->type, (const char *)a->data + i * vy_type_size(a->type)).f;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The size of a row: the median of its elements that are neither zero nor infinite.  One large
// element must not hide the others, as it would with a mean or a maximum.
static double size_of(const array *a, uint64_t first, uint64_t count, double *room)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < count; i++) {
        const double v = fabs(element(a, first + i));
        if (v > 0 && isfinite(v)) room[n++] = v;
    }
    qsort(room, n, sizeof *room, by_size);
    return n ? room[n / 2] : 0;
}

static double relative(double ours, double theirs, double size)
{
    if (ours == theirs) return 0;
    const double error = fabs(ours - theirs) / fmax(size, fmax(fabs(ours), fabs(theirs)));
    return isnan(error) ? INFINITY : error;
}

// How many elements are of one size: those along the last axis, or along more, but the first, where
// these are few: of filters of 3×3 a row is three sums, all of which may have cancelled.
static uint64_t row_of(const array *a)
{
    enum { FEW = 8 };
    uint64_t n = a->rank > 1 ? a->shape[a->rank - 1] : a->count;
    for (uint32_t k = a->rank; k-- > 2 && n < FEW;) n *= a->shape[k - 1];
    return n;
}

// Element by element, by the larger of the two or the size of the row that they are in.  NaN on
// both sides is no difference, but shows nothing either.
static bool compare(const array *ours, const array *theirs, const char *name, benchmark *b,
                    vy_diag *d)
{
    difference *worst = &b->worst;
    const uint64_t last = row_of(ours);
    double *room = last ? malloc(last * sizeof *room) : NULL;
    if (last && !room) return fail_memory(d);
    for (uint64_t first = 0; last && first < ours->count; first += last) {
        const double size = size_of(ours, first, last, room);
        for (uint64_t i = first; i < first + last; i++) {
            const double x = element(ours, i), y = element(theirs, i), r = relative(x, y, size);
            const bool undefined = isnan(x) && isnan(y);
            b->undefined += undefined;
            b->compared += !undefined;
            if (undefined) continue;
            if (worst->buffer[0] && r <= worst->relative) continue;
            *worst = (difference){.index = i, .ours = x, .theirs = y, .relative = r};
            snprintf(worst->buffer, sizeof worst->buffer, "%s", name);
        }
    }
    free(room);
    return true;
}

bool against_compare(benchmark *b, vy_diag *d)
{
    lane *ours = &b->lanes[LANE_DERIVATIVE], *theirs = &b->lanes[LANE_AGAINST];
    for (uint32_t i = 0; i < theirs->data.buffer_count; i++) {
        bound_buffer *t = &theirs->data.buffers[i];
        bound_buffer *o = vys_binding_find(&ours->data, t->info.name);
        if (t->info.cls != VY_OUT || !o || o->info.cls != VY_OUT) continue;
        if (o->value.type != t->value.type || o->value.count != t->value.count)
            return fail(d, TOOL_PLAN, "declare it as the program has it",
                        "%.80s has %llu elements of %s by hand, %llu of %s in ours", t->info.name,
                        (unsigned long long)t->value.count, vy_type_name(t->value.type),
                        (unsigned long long)o->value.count, vy_type_name(o->value.type));
        if (!read_buffer(&ours->runner, o->info.name, &o->value, d) ||
            !read_buffer(&theirs->runner, t->info.name, &t->value, d))
            return false;
        if (!compare(&o->value, &t->value, t->info.name, b, d)) return false;
    }
    return b->worst.relative <= b->tolerance ||
           fail(d, TOOL_DISAGREE,
                "one of the two is wrong: `vyre-grad check` shows whether it is ours",
                "the gradient by hand differs: %.80s[%llu] is %.9g in ours, %.9g by hand "
                "(difference %.2g, tolerance %.2g)",
                b->worst.buffer, (unsigned long long)b->worst.index, b->worst.ours, b->worst.theirs,
                b->worst.relative, b->tolerance);
}
