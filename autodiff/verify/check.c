// SPDX-License-Identifier: MIT
// check.c: see check.h.  The order of things, and what is not finite.
#include "autodiff/verify/check_internal.h"

#include "autodiff/grad.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SAMPLES = 256, FEWEST_SAMPLES = 4 };
// A program of many gradients is large: even the fewest samples of each would take quadratic time.
// Beyond the budget only a share of its gradients is checked element by element; all are checked
// along directions (check_direction.c).
enum { FEWEST_GRADIENTS = 16, SET_UP = 8 }; // steps that starting a run takes per instruction
#define MANY_BUDGET 1000000000.0
#define STEP_BUDGET 1000000000.0 // instructions × invocations of all probes, where samples are ours

// -------------------------------------------------------------------------------------- not finite
static void name_origin(const image *m, uint32_t inst, vy_check_nonfinite *out)
{
    const vy_check_subject s = {m->p, m->pipeline};
    const vy_program *p;
    for (uint32_t k = 0; (p = vy_check_program_at(s, k)) && inst >= p->insts.count; k++)
        inst -= p->insts.count;
    if (!inst || !p) return;
    const vy_inst *i = &p->insts.data[inst];
    out->operation = i->op == VY_OP_LOAD ? "load" : vy_op_infos[i->op].text;
    out->line = i->line;
    out->column = i->column;
}

// The first element of buffer i that is not finite.
static bool scan(const image *m, uint32_t i, const vy_eval_trace *trace, vy_check_nonfinite *out)
{
    if (m->types[i] != VY_F64) return false;
    const double *data = m->buffers[i].data;
    uint64_t e = 0;
    while (e < m->counts[i] && isfinite(data[e])) e++;
    if (e == m->counts[i]) return false;
    *out = (vy_check_nonfinite){m->buffers[i].name, e, data[e], NULL, 0, 0};
    uint32_t origin = trace->inf;
    if (isnan(data[e])) {
        origin = vy_trace_origin(data[e]);
        if (!origin) origin = trace->nan;
    }
    name_origin(m, origin, out);
    return true;
}

// ------------------------------------------------------------------------------------------ set-up
static bool is_output(const check *c, const char *name)
{
    const vy_program *p = c->base.p;
    for (uint32_t i = 0; c->q->of && i < c->q->of_count; i++)
        if (strcmp(c->q->of[i], name) == 0) return true;
    return !c->q->of && vy_grad_default_of(p, vy_program_find_buffer(p, name));
}

// The cotangent buffer of output `name` in a derivative, or NULL.
static const double *cotangent_of(const check *c, const image *derived, const char *name)
{
    for (uint32_t i = 0; i < derived->count; i++) {
        const vy_derivative_role role = vy_image_role(&c->base, derived, i);
        if (role.kind == VY_IS_COTANGENT && strcmp(role.of, name) == 0)
            return derived->buffers[i].data;
    }
    return NULL;
}

// The outputs with their cotangents in `derived`.
static bool take_outputs(check *c, const image *derived)
{
    if (!c->outputs) c->outputs = vy_realloc(NULL, (c->base.count + 1) * sizeof *c->outputs);
    if (!c->outputs) return vy_check_memory(c);
    c->output_count = 0;
    for (uint32_t i = 0; i < c->base.count; i++) {
        const char *name = c->base.buffers[i].name;
        const vy_buffer_class cls = vy_image_class(&c->base, i);
        if (cls == VY_IN || !is_output(c, name)) continue;
        if (c->base.types[i] != VY_F64) return vy_check_bad(c, "output %s is not a float", name);
        c->outputs[c->output_count++] = (output){name, cotangent_of(c, derived, name)};
    }
    return true;
}

static bool has_constant(vy_check_subject s, vy_type type, double value)
{
    const vy_program *p;
    for (uint32_t i = 0; (p = vy_check_program_at(s, i)); i++)
        for (uint32_t k = 0; k < p->leaves.count; k++) {
            const vy_leaf *l = &p->leaves.data[k];
            if (l->kind == VY_LEAF_CONST && l->type == type && l->value.f == value) return true;
        }
    return false;
}

// Has it operations whose rules hold constants?  That of a second derivative is in its primal, too,
// the first one, as that of the rule before.
static bool has_such_rules(vy_check_subject s, vy_type type)
{
    const vy_program *p;
    for (uint32_t i = 0; (p = vy_check_program_at(s, i)); i++)
        for (uint32_t id = 1; id < p->insts.count; id++) {
            const vy_op op = p->insts.data[id].op;
            if (p->insts.data[id].type == type &&
                (op == VY_OP_ERF || op == VY_OP_ERFC || op == VY_OP_EXP2 || op == VY_OP_LOG2 ||
                 op == VY_OP_LOG10 || op == VY_OP_POW))
                return true;
        }
    return false;
}

// Derivative rules hold constants (ln 2, 2/√π); those of an f16 or f32 program are rounded to that
// type, in double mode too.  Fractions that the type represents exactly do not count, nor the
// primal's own, unless they may be those of such a rule.
static bool rounded(const check *c, vy_type type)
{
    const bool any = type == VY_F16 || has_such_rules(c->q->primal, type);
    const vy_program *p;
    for (uint32_t i = 0; (p = vy_check_program_at(c->q->gradient, i)); i++)
        for (uint32_t k = 0; k < p->leaves.count; k++) {
            const vy_leaf *l = &p->leaves.data[k];
            if (l->kind != VY_LEAF_CONST || l->type != type || !isfinite(l->value.f)) continue;
            if (l->value.f * 16 == floor(l->value.f * 16)) continue;
            if (any || !has_constant(c->q->primal, type, l->value.f)) return true;
        }
    return false;
}

static bool cuts(vy_check_subject s)
{
    const vy_program *p;
    for (uint32_t i = 0; (p = vy_check_program_at(s, i)); i++)
        for (uint32_t id = 1; id < p->insts.count; id++)
            if (p->insts.data[id].op == VY_OP_STOP_GRAD ||
                p->insts.data[id].op == VY_OP_STRAIGHT_THROUGH ||
                p->insts.data[id].op == VY_OP_DERIVE_AS)
                return true;
    return false;
}

static uint64_t within(double x, uint64_t least, uint64_t most)
{
    return x > (double)most ? most : x < (double)least ? least : (uint64_t)x;
}

static double instructions(const check *c)
{
    const vy_program *p;
    double n = 0;
    for (uint32_t i = 0; (p = vy_check_program_at(c->q->primal, i)); i++)
        n += p->insts.count + p->buffers.count;
    return n;
}

// Four probes for each element, and one with dual numbers, which costs about as much.
static void choose_samples(check *c, uint64_t steps, uint32_t gradients)
{
    const double budget = c->q->budget ? (double)c->q->budget : STEP_BUDGET;
    const double runs = budget / (double)(steps ? steps : 1) / (gradients ? gradients : 1);
    c->samples = c->q->samples ? c->q->samples : within(runs / 8, FEWEST_SAMPLES, MOST_SAMPLES);
    c->share = 1;
    if (c->q->samples || gradients <= FEWEST_GRADIENTS) return;
    const double each = 8.0 * (double)c->samples * ((double)steps + SET_UP * instructions(c));
    const double many = fmin(MANY_BUDGET, FEWEST_SAMPLES * 2 * budget) / each;
    if (many < gradients) c->share = fmax(many, FEWEST_GRADIENTS) / gradients;
}

// An access out of range has a meaning, and a derivative, so all else is checked too.
static bool report_range(check *c, const vy_eval_report *report)
{
    if (c->q->no_range || !report->out_of_range) return true;
    c->r->out_of_range_count = report->out_of_range;
    c->r->out_of_range = report->first_out_of_range;
    vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_RANGE, "");
    if (!row) return vy_check_memory(c);
    vy_check_note(c, row, &report->first_out_of_range);
    if (c->q->allow_out_of_range) return true;
    row->failed = report->out_of_range;
    row->verdict = VY_CHECK_FAILED;
    c->r->passed = false;
    return true;
}

// A primal with a data race, or that reads what was never written, has no derivative to be checked.
static bool report_program(check *c, const vy_eval_report *report)
{
    const bool wrong = report->races || report->uninitialised;
    vy_check_row *row = vy_check_row_add(c->r, VY_CHECK_PROGRAM, "");
    if (!row) return vy_check_memory(c);
    row->failed = report->races + report->uninitialised;
    row->verdict = wrong ? VY_CHECK_FAILED : VY_CHECK_PASSED;
    if (!wrong) return report_range(c, report);
    c->r->program = report->first;
    c->r->passed = false;
    vy_check_note(c, row, &report->first);
    return true;
}

// Runs the primal on the given data, for its path, its cost and its outputs.
static bool run_primal(check *c, check_run *run, uint64_t *steps)
{
    vy_eval_trace trace = {0};
    run->hooks = (vy_eval_hooks){.path_hash = &c->centre, .trace = &trace, .steps = steps};
    run->reports = true;
    if (!vy_image_primal(c, true, &c->base) || !vy_image_share(c, &c->base, &c->at) ||
        !vy_image_share(c, &c->base, &c->plus) || !vy_image_share(c, &c->base, &c->minus))
        return false;
    vy_image_restart(&c->base, &c->at);
    if (!vy_check_run(c, &c->at, run)) return false;
    run->hooks = (vy_eval_hooks){0};
    for (uint32_t i = 0; i < c->at.count && !c->r->forward.buffer; i++)
        if (is_output(c, c->at.buffers[i].name)) scan(&c->at, i, &trace, &c->r->forward);
    return true;
}

// Runs a derivative; seed 0: cotangents as the request has them.
static bool run_derivative(check *c, vy_check_subject s, uint64_t seed, image *m,
                           vy_eval_trace *trace)
{
    check_run run = {.hooks = {.trace = trace}};
    return vy_image_derived(c, &c->base, s, seed, m) && vy_check_run(c, m, &run) &&
           take_outputs(c, m);
}

// ------------------------------------------------------------------------------------------ checks
static bool is_given(vy_check_subject s) { return s.program || s.pipeline; }

static bool check_gradient(check *c, uint64_t steps, image *derived)
{
    vy_eval_trace trace = {0};
    uint32_t gradients = 0;
    if (!run_derivative(c, c->q->gradient, 0, derived, &trace)) return false;
    for (uint32_t i = 0; i < derived->count; i++) {
        gradient_of of;
        if (!vy_gradient_of(&c->base, derived, i, &of)) continue;
        gradients++;
        if (!c->r->gradient.buffer) scan(derived, i, &trace, &c->r->gradient);
    }
    choose_samples(c, steps, gradients);
    return vy_check_differences(c, derived);
}

static bool check_direction(check *c)
{
    const vy_check_subject p = is_given(c->q->seeded) ? c->q->seeded : c->q->gradient;
    image derived = {0};
    const bool ok =
        run_derivative(c, p, c->q->seed + 2, &derived, NULL) && vy_check_direction(c, &derived);
    vy_image_free(&derived);
    return ok;
}

// A gradient that is nan everywhere, say: neither right nor wrong.
static bool find_unverified(check *c)
{
    vy_check_result *r = c->r;
    const vy_program *p = vy_check_parameters(c->q->gradient);
    uint64_t *compared = vy_realloc(NULL, p->buffers.count * sizeof *compared);
    if (!compared) return vy_check_memory(c);
    memset(compared, 0, p->buffers.count * sizeof *compared);
    for (uint32_t i = 0; i < r->count; i++) {
        const vy_check_row *row = &r->rows[i];
        const bool about = row->test == VY_CHECK_DIFFERENCES || row->test == VY_CHECK_DIRECTION ||
                           row->test == VY_CHECK_TANGENTS;
        if (about)
            compared[vy_program_find_buffer(p, row->buffer).id] += row->compared + row->kinks;
    }
    for (uint32_t i = 0; i < r->count && !r->unverified; i++) {
        const vy_check_row *row = &r->rows[i];
        if (row->test == VY_CHECK_DIFFERENCES && row->elements &&
            !compared[vy_program_find_buffer(p, row->buffer).id])
            r->unverified = row->buffer;
    }
    vy_free(compared);
    return true;
}

static bool check_all(check *c)
{
    uint64_t steps = 0;
    image derived = {0};
    check_run primal = {0};
    const bool half = rounded(c, VY_F16);
    c->tolerance = c->q->tolerance ? c->q->tolerance : half ? 1e-3 : 1e-6;
    c->cut = cuts(c->q->primal);
    c->unit = half ? 1e-3 : rounded(c, VY_F32) ? FLT_EPSILON : 256 * DBL_EPSILON;
    if (!run_primal(c, &primal, &steps)) return false;
    if (primal.report.races || primal.report.uninitialised)
        return report_program(c, &primal.report);
    const bool ok =
        vy_check_tangent_memory(c) && check_gradient(c, steps, &derived) && check_direction(c) &&
        vy_check_tangent_rows(c) && (!is_given(c->q->valued) || vy_check_primal(c)) &&
        vy_check_promises(c, &derived) && report_program(c, &primal.report) && find_unverified(c);
    vy_image_free(&derived);
    return ok;
}

vy_check_result *vy_grad_check(const vy_check_request *request, vy_diag *diag)
{
    vy_diag unwanted;
    vy_check_request q;
    if (!vy_take_options(&q, sizeof q, sizeof q, request, "vy_check_request",
                         diag ? diag : &unwanted))
        return NULL;
    vy_check_result *r = vy_realloc(NULL, sizeof *r);
    check c = {.q = &q, .r = r, .d = diag ? diag : &unwanted};
    *c.d = (vy_diag){0};
    if (!r) return vy_check_memory(&c), NULL;
    *r = (vy_check_result){.passed = true};
    const bool ok = is_given(q.primal) && is_given(q.gradient)
                        ? check_all(&c)
                        : vy_check_bad(&c, "there is no program to check");
    vy_check_tangent_free(&c);
    vy_image_free(&c.base);
    vy_image_free(&c.at);
    vy_image_free(&c.plus);
    vy_image_free(&c.minus);
    vy_free(c.outputs);
    if (ok) return r;
    vy_check_free(r);
    return NULL;
}
