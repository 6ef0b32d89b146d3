// SPDX-License-Identifier: MIT
// shard_check.c: does the loss of some rows follow from the losses of parts of them?
//
// The first rows are run as one and as two unequal parts, with the parameters as they begin.  Mean
// and sum are both compared, so that the message says which of them the program is; two parts of
// different length tell them apart, and rows that meet their neighbours, or a term that does not
// depend on rows, spoil one or both.  The comparison is in the program's own precision: an array
// may differ by MOST of the largest of its elements in the parts and in all rows.
#include "session/ranks.h"

#include "session/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 61 };
static const double MOST = 1e-3;
// What an array that is zero may have of the largest of all elements, as rows cancel one another: a
// few roundings of f32, times 1/MOST.
static const double NOISE = 1e-3;

typedef struct probe { // of one part: loss and gradients, one after another
    uint64_t from, rows;
    double *values;
} probe;

typedef struct arrays {
    const char **names; // 0: the losses, of which one element counts
    uint64_t *counts;
    uint32_t count;
    uint64_t total;
} arrays;

static bool list_arrays(arrays *a, const vys_binding *b, const vy_training *made,
                        uint32_t gradients, vy_diag *d)
{
    a->names = calloc(gradients + 1, sizeof *a->names);
    a->counts = calloc(gradients + 1, sizeof *a->counts);
    if (!a->names || !a->counts) return vys_fail_memory(d);
    for (a->count = 0; a->count <= gradients; a->count++) {
        const char *name = a->count ? made->gradients[a->count - 1] : made->losses;
        a->names[a->count] = name;
        a->counts[a->count] = a->count ? vys_binding_find(b, name)->value.count : 1;
        a->total += a->counts[a->count];
    }
    return true;
}

static bool read_probe(probe *p, const vys_part *part, const arrays *a, vy_diag *d)
{
    double *to = p->values;
    for (uint32_t k = 0; k < a->count; k++) {
        const vys_bound *b = vys_binding_find(part->data, a->names[k]);
        const uint32_t size = vy_type_size(b->value.type);
        if (!vys_runner_read_one(part->run, b, b->value.data, d)) return false;
        for (uint64_t i = 0; i < a->counts[k]; i++)
            *to++ = vy_scalar_read(b->value.type, (const char *)b->value.data + i * size).f;
    }
    return true;
}

static bool prepare(vys_runner *r, const vys_runner *like, const vys_work *w, vys_binding *b,
                    vy_diag *d)
{
    return w->settings.interpreter ? vys_runner_prepare(r, w, b, d)
                                   : vys_runner_prepare_steps(r, w, b, like->steps, d);
}

static bool run_probe(probe *p, const vys_shard *s, const vys_binding *whole,
                      const vys_runner *like, const vys_work *w, const vy_training *made,
                      const arrays *a, vy_diag *d)
{
    vys_binding b = {0};
    vys_runner r = {0};
    const vys_part part = {.data = &b, .run = &r};
    double ms;
    p->values = calloc(a->total + 1, sizeof *p->values);
    const bool ok = (p->values || vys_fail_memory(d)) &&
                    vys_shard_bind(&b, s, whole, like->what, p->from, p->rows, d) &&
                    prepare(&r, like, w, &b, d) && vys_runner_upload(&r, d) &&
                    vys_part_phase(&part, made, 0, true, d) && vys_runner_run(&r, w, &ms, d) &&
                    read_probe(p, &part, a, d);
    vys_runner_free(&r);
    vys_binding_free(&b);
    return ok;
}

static double largest_of(const probe p[3], uint64_t count)
{
    double most = 0;
    for (uint64_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            if (isfinite(p[k].values[i])) most = fmax(most, fabs(p[k].values[i]));
    return most;
}

// The first array that wa·a + wb·b is not; a->count: there is none.
static uint32_t differs(const arrays *a, const probe p[3], double wa, double wb, uint64_t *at)
{
    uint64_t i = 0;
    const double floor = NOISE * largest_of(p, a->total);
    for (uint32_t k = 0; k < a->count; k++) {
        const uint64_t end = i + a->counts[k];
        double largest = floor, worst = 0;
        for (; i < end; i++) {
            const double x = wa * p[0].values[i], y = wb * p[1].values[i];
            const double apart = fabs(x + y - p[2].values[i]);
            largest = fmax(largest, fmax(fabs(x), fmax(fabs(y), fabs(p[2].values[i]))));
            if (!(apart > worst)) continue;
            worst = apart, *at = i;
        }
        if (worst > MOST * largest && isfinite(largest)) return k;
    }
    return a->count;
}

static bool judge(const vys_shard *s, const arrays *a, const probe p[3], vy_diag *d)
{
    const double wa = (double)p[0].rows / (double)p[2].rows, wb = 1 - wa;
    uint64_t at = 0, other = 0;
    const uint32_t mean = differs(a, p, wa, wb, &at), sum = differs(a, p, 1, 1, &other);
    const uint32_t wrong = s->sums ? sum : mean;
    const char *is = s->sums ? "sum" : "mean", *fix =
                                                   "train on one device, or write the loss as "
                                                   "a mean or sum over rows of what each row has";
    if (wrong == a->count) return true;
    if (s->sums && mean == a->count) fix = "it is their mean: leave :sum out (vys_fit.sums)";
    if (!s->sums && sum == a->count)
        fix = "it is their sum: write --shard …:sum (vys_fit.sums), or divide it by the rows";
    if (s->sums) at = other;
    return vys_fail(d, VYS_SHAPE, fix,
                    "%s of %llu rows is not the %s of those of %llu and %llu rows: %.6g, %.6g and "
                    "%.6g",
                    wrong ? a->names[wrong] : "the loss", (unsigned long long)p[2].rows, is,
                    (unsigned long long)p[0].rows, (unsigned long long)p[1].rows, p[2].values[at],
                    p[0].values[at], p[1].values[at]);
}

bool vys_shard_check(const vys_shard *s, const vys_binding *whole, const vys_runner *like,
                     const vys_work *w, const vy_training *made, uint32_t gradients, vy_diag *d)
{
    const uint64_t rows = s->rows < ROWS ? s->rows : ROWS, first = rows / 3 + (rows < 3);
    probe p[3] = {{0, first, NULL}, {first, rows - first, NULL}, {0, rows, NULL}};
    arrays a = {0};
    if (rows < 2) return true; // there is nothing to cut
    bool ok = list_arrays(&a, whole, made, gradients, d);
    for (int i = 0; ok && i < 3; i++) ok = run_probe(&p[i], s, whole, like, w, made, &a, d);
    ok = ok && judge(s, &a, p, d);
    for (int i = 0; i < 3; i++) free(p[i].values);
    free(a.names);
    free(a.counts);
    return ok;
}
