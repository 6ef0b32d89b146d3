// SPDX-License-Identifier: MIT
#include "tests/unit/autodiff/gradcheck.h"
#include "autodiff/grad.h"
#include "ir/core/ir.h"
#include "ir/eval/dual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 256 }; // a struct is many, and a derivative has them thrice

typedef struct image { // a program's buffers and scalars
    vy_eval_buffer buffers[MOST_BUFFERS];
    uint64_t shapes[MOST_BUFFERS][VY_MAX_RANK], counts[MOST_BUFFERS];
    uint32_t n;
    vy_eval_scalar scalars[64];
    uint32_t scalar_count;
} image;

static char message[900];

// A program that accesses nothing out of range has no derivative that does: gradcheck_range.h.
static bool stays_in_range; // the program that is checked does not, at any launch
static bool left_range;     // the last run that reported such accesses had one
uint32_t gradcheck_transposed;

static uint64_t next_random(uint64_t *s)
{
    uint64_t z = (*s += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int64_t integer_of(const gradcheck *c, int scalar)
{
    const double value = c->scalars[scalar].value;
    if (c->integers[scalar]) return c->integers[scalar];
    if (!(fabs(value) < 0x1p63)) return value > 0 ? INT64_MAX : INT64_MIN;
    return (int64_t)value;
}

static int64_t dim_value(const gradcheck *c, const vy_program *p, uint32_t id)
{
    const vy_dim_node *d = &p->dims.data[id];
    if (d->op == VY_DIM_CONST) return d->value;
    if (d->op == VY_DIM_UNKNOWN) return c->unknown ? (int64_t)c->unknown : 5;
    if (d->op == VY_DIM_GROUPS) return c->groups[d->value] ? c->groups[d->value] : 1;
    if (d->op == VY_DIM_SCALAR) {
        for (int i = 0; i < 16 && c->scalars[i].name; i++)
            if (strcmp(c->scalars[i].name, p->scalars.data[d->value].name) == 0)
                return integer_of(c, i);
        return 0;
    }
    int64_t a = dim_value(c, p, d->a), b = dim_value(c, p, d->b);
    switch (d->op) {
    case VY_DIM_ADD: return a + b;
    case VY_DIM_SUB: return a - b;
    case VY_DIM_MUL: return a * b;
    case VY_DIM_DIV: return b ? a / b : -1;
    case VY_DIM_REM: return b ? a % b : -1;
    case VY_DIM_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static void image_free(image *m)
{
    for (uint32_t i = 0; i < m->n; i++) free(m->buffers[i].data);
}

// Floats are double in the f64 interpreter; integers keep their type.
static void make_image(const gradcheck *c, const vy_program *p, image *m)
{
    *m = (image){0};
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->cls > VY_INOUT || b->workspace) continue;
        uint64_t count = 1;
        for (uint32_t k = 0; k < b->rank; k++)
            count *= m->shapes[m->n][k] = (uint64_t)dim_value(c, p, b->dims[k].id);
        m->counts[m->n] = count;
        m->buffers[m->n] =
            (vy_eval_buffer){b->name, calloc(count + 1, 8), m->shapes[m->n], b->rank};
        m->n++;
    }
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        vy_scalar v = {.u = 0};
        for (int k = 0; k < 16 && c->scalars[k].name; k++) {
            if (strcmp(c->scalars[k].name, p->scalars.data[i].name) != 0) continue;
            if (vy_type_is_float(p->scalars.data[i].type))
                v.f = c->scalars[k].value;
            else
                v.i = integer_of(c, k);
        }
        m->scalars[m->scalar_count++] = (vy_eval_scalar){p->scalars.data[i].name, v};
    }
}

static int find(const image *m, const char *name)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (strcmp(m->buffers[i].name, name) == 0) return (int)i;
    return -1;
}

static void fill(const gradcheck *c, const vy_program *p, image *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const vy_buf *b = &p->buffers.data[vy_program_find_buffer(p, m->buffers[i].name).id];
        uint64_t s = c->seed * 1000003u + 17;
        for (const char *t = b->name; *t; t++) s = s * 31 + (uint64_t)*t;
        if (b->cls == VY_OUT) continue;
        const gradcheck_data *given = NULL;
        for (int k = 0; k < 16 && c->data[k].name; k++)
            if (strcmp(c->data[k].name, b->name) == 0) given = &c->data[k];
        for (uint64_t e = 0; e < m->counts[i]; e++) {
            double v = 0.3 + 1.3 * (double)(next_random(&s) >> 11) * 0x1p-53;
            if (given) v = given->values[e % given->count];
            if (vy_type_is_float(b->type))
                ((double *)m->buffers[i].data)[e] = v;
            else
                vy_scalar_write(b->type, (vy_scalar){.i = given ? (int64_t)v : (int64_t)(v * 4)},
                                (char *)m->buffers[i].data + e * vy_type_size(b->type));
        }
    }
}

// What a derivative's module runs: its pipeline, by the signature, or its only program.
static vy_program *result_of(const vy_module *gm)
{
    uint32_t n = vy_module_pipeline_count(gm);
    return n ? vy_module_pipeline(gm, n - 1)->signature : vy_module_program(gm, 0);
}

// The pipeline with these parameters, or NULL.
static const vy_pipeline *pipeline_of(const vy_program *p)
{
    for (uint32_t i = 0; i < vy_module_pipeline_count(p->module); i++)
        if (vy_module_pipeline(p->module, i)->signature == p)
            return vy_module_pipeline(p->module, i);
    return NULL;
}

static bool evaluate(const vy_program *p, image *m, const vy_eval_options *o,
                     vy_eval_report *report, vy_diag *d)
{
    const vy_pipeline *q = pipeline_of(p);
    if (q) return vy_eval_pipeline(q, m->buffers, m->n, m->scalars, m->scalar_count, o, report, d);
    return vy_eval(p, m->buffers, m->n, m->scalars, m->scalar_count, o, report, d);
}

static bool is_in_range(const vy_program *p, const vy_eval_report *report)
{
    left_range = report->out_of_range > 0;
    if (!left_range || !stays_in_range) return true;
    snprintf(message, sizeof message, "%s: %s", vy_program_name(p),
             report->first_out_of_range.text);
    return false;
}

static bool run(const gradcheck *c, const vy_program *p, image *m)
{
    vy_eval_options o = {.f64 = true,
                         .report_races = true,
                         .report_out_of_range = true,
                         .subgroup_size = c->subgroup};
    memcpy(o.groups, c->groups, sizeof o.groups);
    vy_eval_report report = {0};
    vy_diag d = {0};
    if (!evaluate(p, m, &o, &report, &d)) {
        snprintf(message, sizeof message, "eval of %s: %s", vy_program_name(p), d.text);
        return false;
    }
    if (report.races) {
        snprintf(message, sizeof message, "race in %s: %s", vy_program_name(p), report.first.text);
        return false;
    }
    return is_in_range(p, &report);
}

// The cotangent of element e of output `name`.
static double cotangent(const gradcheck *c, const char *name, uint64_t e)
{
    if (!c->seeded) return 1;
    uint64_t s = c->seed + e * 77 + 5;
    for (const char *t = name; *t; t++) s = s * 131 + (uint64_t)*t;
    return 0.25 + (double)(next_random(&s) >> 11) * 0x1p-53;
}

// Σ outputs · cotangents after a run on a copy of `start`.
static bool objective(const gradcheck *c, const vy_program *p, const image *start, const bool *of,
                      double *out)
{
    image m = *start;
    for (uint32_t i = 0; i < m.n; i++) {
        m.buffers[i].data = malloc(m.counts[i] * 8 + 8);
        memcpy(m.buffers[i].data, start->buffers[i].data, m.counts[i] * 8);
        m.buffers[i].shape = m.shapes[i];
    }
    bool ok = run(c, p, &m);
    *out = 0;
    for (uint32_t i = 0; ok && i < m.n; i++)
        for (uint64_t e = 0; of[i] && e < m.counts[i]; e++)
            *out += ((double *)m.buffers[i].data)[e] * cotangent(c, m.buffers[i].name, e);
    image_free(&m);
    return ok;
}

static bool chosen(const char *const list[16], const char *name, bool by_default)
{
    if (!list[0]) return by_default;
    for (int i = 0; i < 16 && list[i]; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

static bool compare(const gradcheck *c, const vy_program *p, image *x, const image *g,
                    const bool *of)
{
    double h = c->step ? c->step : 1e-4, tolerance = c->tolerance ? c->tolerance : 1e-6;
    for (uint32_t i = 0; i < x->n; i++) {
        vy_buffer id = vy_program_find_buffer(p, x->buffers[i].name);
        if (!chosen(c->wrt, x->buffers[i].name, vy_grad_default_wrt(p, id))) continue;
        char name[200];
        snprintf(name, sizeof name, "grad_%s", x->buffers[i].name);
        int gi = find(g, name);
        if (gi < 0) {
            snprintf(message, sizeof message, "there is no %s", name);
            return false;
        }
        for (uint64_t e = 0; e < x->counts[i]; e++) {
            double *at = (double *)x->buffers[i].data + e, was = *at, f[4];
            const double at_steps[4] = {h, -h, 2 * h, -2 * h};
            for (int k = 0; k < 4; k++) {
                *at = was + at_steps[k];
                if (!objective(c, p, x, of, &f[k])) return false;
            }
            *at = was;
            double fd = (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h);
            double got = ((double *)g->buffers[gi].data)[e];
            double scale = fmax(1, fmax(fabs(fd), fabs(got)));
            if (fabs(fd - got) <= tolerance * scale) continue;
            snprintf(message, sizeof message, "%s[%llu] = %.12g, finite differences %.12g", name,
                     (unsigned long long)e, got, fd);
            return false;
        }
    }
    return true;
}

static void start_gradient(const gradcheck *c, const vy_program *gp, const image *x, image *g)
{
    make_image(c, gp, g);
    for (uint32_t i = 0; i < g->n; i++) {
        const char *name = g->buffers[i].name;
        double *data = g->buffers[i].data;
        int from = find(x, name);
        vy_buffer_class cls = vy_program_buffer(gp, vy_program_find_buffer(gp, name)).cls;
        if (from >= 0 && cls != VY_OUT) {
            memcpy(data, x->buffers[from].data, g->counts[i] * 8);
            continue;
        }
        for (uint64_t e = 0; e < g->counts[i];
             e++) // outputs are poisoned: they must be overwritten
            data[e] = cls == VY_OUT ? NAN : cotangent(c, strchr(name, '_') + 1, e);
    }
}

#include "tests/unit/autodiff/gradcheck_tangents.h"

static bool check_module(const gradcheck *c, vy_module *m, vy_module **gm)
{
    const uint32_t pipelines = vy_module_pipeline_count(m);
    vy_program *p = pipelines ? vy_module_pipeline(m, pipelines - 1)->signature
                              : vy_module_program(m, vy_module_program_count(m) - 1);
    uint32_t n_of = 0, n_wrt = 0;
    while (n_of < 16 && c->of[n_of]) n_of++;
    while (n_wrt < 16 && c->wrt[n_wrt]) n_wrt++;
    vy_grad_options o = {.program = vy_program_name(p),
                         .of = n_of ? c->of : NULL,
                         .of_count = n_of,
                         .wrt = n_wrt ? c->wrt : NULL,
                         .wrt_count = n_wrt,
                         .seed_buffer = c->seeded,
                         .accumulate = c->accumulate};
    vy_diag d;
    *gm = vy_grad(m, &o, &d);
    if (!*gm) {
        snprintf(message, sizeof message, "grad: %u:%u %s [%s]", d.line, d.column, d.text, d.code);
        return false;
    }
    vy_opt_options opt = {.level = 2};
    if (c->optimised && !vy_optimize(*gm, &opt)) {
        snprintf(message, sizeof message, "optimise: %s", vy_module_diag(*gm)->text);
        return false;
    }
    vy_program *gp = result_of(*gm);
    image x, g;
    bool of[MOST_BUFFERS] = {false};
    make_image(c, p, &x);
    fill(c, p, &x);
    for (uint32_t i = 0; i < x.n; i++) {
        vy_buffer b = vy_program_find_buffer(p, x.buffers[i].name);
        of[i] = chosen(c->of, x.buffers[i].name, vy_grad_default_of(p, b));
    }
    start_gradient(c, gp, &x, &g);
    vy_diag refused = {0};
    bool transposed;
    bool ok = run(c, gp, &g) && (c->exact_only || compare(c, p, &x, &g, of)) &&
              check_tangents(c, m, p, &x, of, &(gradient){gp, &g}, &refused, &transposed);
    gradcheck_transposed += ok && transposed;
    if (ok && refused.severity == VY_ERROR && !c->reverse_too) {
        snprintf(message, sizeof message, "forward mode: %u:%u %s [%s]", refused.line,
                 refused.column, refused.text, refused.code);
        ok = false;
    }
    image_free(&x);
    image_free(&g);
    return ok;
}

const char *gradcheck_run(const gradcheck *c)
{
    vy_module *m = vy_parse(c->text, strlen(c->text), "test"), *gm = NULL;
    if (!m || !vy_module_ok(m)) {
        const vy_diag *d = m ? vy_module_diag(m) : NULL;
        snprintf(message, sizeof message, "parse: %u:%u %s", d ? d->line : 0, d ? d->column : 0,
                 d ? d->text : "memory");
        vy_module_free(m);
        return message;
    }
    bool ok = check_module(c, m, &gm);
    if (!ok && getenv("GRADCHECK_PRINT") && gm) {
        char *text = vy_print(gm, NULL);
        fprintf(stderr, "%s\n", text ? text : "");
        free(text);
    }
    vy_module_free(gm);
    vy_module_free(m);
    return ok ? NULL : message;
}
