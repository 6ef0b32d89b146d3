// SPDX-License-Identifier: MIT
// pipe_run.c: how often the steps of a pipeline run, by running through its repeats.
//
// For repeats whose counts are no polynomials: the segments that checkpoint(sqrt) makes run
// `min(C, T − C·s)` iterations each, where the last one is shorter.
#include "autodiff/explain/explain_pipe.h"

#include "ir/core/dims.h"

enum { MOST_STEPS = 20000000 };

typedef struct dependents { // the dimensions that depend on a counter, in their order
    uint32_t *dims;
    uint32_t count;
} dependents;

typedef struct run {
    const pipe_count *n;
    int64_t *value; // by dimension; valid where it is known
    uint8_t *known;
    uint8_t *counts; // by dimension: depends on a counter
    uint64_t *work;
    uint64_t steps;  // so far, and dimensions computed
    dependents *of;  // by step: of its counter, once it has run
    uint8_t *marked; // by dimension, for `find`
    explaining *x;
} run;

static bool is_counter(const vy_dim_node *d, uint32_t step)
{
    return d->op == VY_DIM_STEP && (uint64_t)d->value == step;
}

// Values that no counter decides are those of the polynomials.
static void begin_run(run *r)
{
    const vy_pipeline *l = r->n->l;
    const vy_program *p = l->signature;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        double value;
        bool atmost = false;
        r->counts[i] = d->op < VY_DIM_ADD
                           ? d->op == VY_DIM_STEP && l->steps.data[d->value].kind == VY_PIPE_REPEAT
                           : r->counts[d->a] || r->counts[d->b];
        if (r->counts[i]) continue;
        r->known[i] = vy_poly_value(&r->n->c->space, r->n->dims[i], &value, &atmost) && !atmost &&
                      value < 9e15 && value > -9e15;
        if (r->known[i]) r->value[i] = (int64_t)value;
    }
}

// The dimensions that depend on the counter of `step`.
static const dependents *dependents_of(run *r, uint32_t step)
{
    const vy_program *p = r->n->l->signature;
    dependents *list = &r->of[step];
    if (list->dims) return list;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        r->marked[i] =
            d->op < VY_DIM_ADD ? is_counter(d, step) : r->marked[d->a] || r->marked[d->b];
        list->count += r->marked[i];
    }
    list->dims = vy_explain_array(r->x, list->count + 1, sizeof *list->dims);
    for (uint32_t i = 1, n = 0; list->dims && i < p->dims.count; i++)
        if (r->marked[i]) list->dims[n++] = i;
    r->steps += p->dims.count;
    return list->dims ? list : NULL;
}

// The counter of `step` has a new value: so has what depends on it.
static void set_counter(run *r, const dependents *list, int64_t value)
{
    const vy_program *p = r->n->l->signature;
    r->steps += list->count;
    for (uint32_t k = 0; k < list->count; k++) {
        const uint32_t i = list->dims[k];
        const vy_dim_node *d = &p->dims.data[i];
        if (d->op < VY_DIM_ADD)
            r->value[i] = value, r->known[i] = 1;
        else
            r->known[i] = r->known[d->a] && r->known[d->b] &&
                          vy_dim_combine(d->op, r->value[d->a], r->value[d->b], &r->value[i]);
    }
}

static void work(run *r, uint32_t index)
{
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) r->work[k] += r->n->each[index][k];
}

static bool run_steps(run *r, uint32_t first, uint32_t last);

static bool run_repeat(run *r, uint32_t step)
{
    const vy_pipe_step *s = &r->n->l->steps.data[step];
    if (s->test || !r->known[s->from.id] || !r->known[s->to.id]) return false;
    const int64_t to = r->value[s->to.id];
    const dependents *list = dependents_of(r, step);
    for (int64_t t = r->value[s->from.id]; list && t < to; t++) {
        set_counter(r, list, t);
        if (!run_steps(r, step + 1, s->partner)) return false;
    }
    return list != NULL;
}

static bool run_steps(run *r, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        const vy_pipe_step *s = &r->n->l->steps.data[i];
        if (++r->steps > MOST_STEPS) return false;
        work(r, i + 1);
        if (s->kind != VY_PIPE_REPEAT) continue;
        if (!run_repeat(r, i)) return false;
        i = s->partner;
    }
    return true;
}

bool vy_pipe_run(explaining *x, const pipe_count *n, uint64_t work_of[VY_PIPE_WORK_COUNT])
{
    const uint32_t dims = n->l->signature->dims.count;
    run r = {.n = n, .work = work_of, .x = x};
    r.value = vy_explain_array(x, dims + 1, sizeof *r.value);
    r.known = vy_explain_array(x, dims + 1, 1);
    r.counts = vy_explain_array(x, dims + 1, 1);
    r.marked = vy_explain_array(x, dims + 1, 1);
    r.of = vy_explain_array(x, n->l->steps.count + 1, sizeof *r.of);
    if (x->failed) return false;
    for (int k = 0; k < VY_PIPE_WORK_COUNT; k++) work_of[k] = 0;
    begin_run(&r);
    work(&r, 0);
    return run_steps(&r, 0, n->l->steps.count);
}
