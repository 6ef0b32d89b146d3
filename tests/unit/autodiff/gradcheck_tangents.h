// SPDX-License-Identifier: MIT
// gradcheck_tangents.h: forward mode of programs (vy_jvp) against the dual numbers of the
// interpreter, which share nothing with it; part of gradcheck.c.
//
// Both are given the same random tangents of all inputs asked for, and run with all floats in
// double: every tangent of an output must agree.  With the gradient of the same program and its
// cotangents ct, <ct, J dot> = <Jᵀ ct, dot> must hold.  And J dot is linear in dot, so its gradient
// with respect to dot is Jᵀ ct whatever dot is: where all tangents are 0, too.

typedef struct gradient {
    const vy_program *p;
    const image *data; // what it left
} gradient;

// The parameter that buffer i of the data is the gradient of, or NULL.
static const char *gradient_of_what(const gradient *g, uint32_t i)
{
    const vy_buffer b = vy_program_find_buffer(g->p, g->data->buffers[i].name);
    const vy_derivative_role role = vy_program_buffer(g->p, b).role;
    return vy_is_gradient(role.kind) ? role.of : NULL;
}

// What belongs to element e of parameter `name`, in (−1, 1) and not 0.
static double tangent_at(const gradcheck *c, const char *name, uint64_t e)
{
    uint64_t s = c->seed * 7919u + e * 131 + 3;
    for (const char *t = name; *t; t++) s = s * 257 + (uint64_t)*t;
    return ((double)(next_random(&s) >> 12) + 0.5) * 0x1p-51 - 1;
}

typedef struct duals {
    vy_dual_buffer buffers[MOST_BUFFERS];
    vy_dual_scalar scalars[64];
    uint32_t n, scalar_count;
} duals;

static void duals_free(duals *t)
{
    for (uint32_t i = 0; i < t->n; i++) free(t->buffers[i].tangent);
}

static void duals_make(const gradcheck *c, const vy_program *p, const image *x, duals *t)
{
    *t = (duals){0};
    for (uint32_t i = 0; i < x->n; i++) {
        const char *name = x->buffers[i].name;
        const vy_buffer id = vy_program_find_buffer(p, name);
        const vy_buf *b = &p->buffers.data[id.id];
        if (!vy_type_is_float(b->type)) continue;
        double *dot = calloc(x->counts[i] + 1, sizeof *dot);
        const bool given = b->cls != VY_OUT && chosen(c->wrt, name, vy_grad_default_wrt(p, id));
        for (uint64_t e = 0; given && e < x->counts[i]; e++) dot[e] = tangent_at(c, name, e);
        t->buffers[t->n++] = (vy_dual_buffer){name, dot};
    }
    for (uint32_t s = 0; s < p->scalars.count; s++) {
        const char *name = p->scalars.data[s].name;
        if (!vy_type_is_float(p->scalars.data[s].type) || !chosen(c->wrt, name, false)) continue;
        t->scalars[t->scalar_count++] = (vy_dual_scalar){name, tangent_at(c, name, 0)};
    }
}

static bool is_given_tangent(vy_derivative_kind kind)
{
    return vy_is_tangent(kind) && kind != VY_IS_TANGENT_OUT;
}

// The inputs of jp, the forward derivative: those of the primal, and tangents.  What goes out is
// NaN before.
static void start_tangents(const gradcheck *c, const vy_program *jp, const image *x, image *g)
{
    make_image(c, jp, g);
    memcpy(g->scalars, x->scalars, sizeof g->scalars);
    for (uint32_t i = 0; i < g->n; i++) {
        const char *name = g->buffers[i].name;
        const vy_buffer_info b = vy_program_buffer(jp, vy_program_find_buffer(jp, name));
        double *data = g->buffers[i].data;
        const int from = find(x, name);
        if (b.cls == VY_OUT)
            for (uint64_t e = 0; e < g->counts[i]; e++) data[e] = NAN;
        else if (is_given_tangent(b.role.kind))
            for (uint64_t e = 0; e < g->counts[i]; e++) data[e] = tangent_at(c, b.role.of, e);
        else if (from >= 0)
            memcpy(data, x->buffers[from].data, g->counts[i] * 8);
    }
}

static const char *tangents_name(const vy_program *jp, const char *of)
{
    for (uint32_t i = 1; i <= vy_program_buffer_count(jp); i++) {
        const vy_buffer_info b = vy_program_buffer(jp, (vy_buffer){i});
        const bool out = b.role.kind == VY_IS_TANGENT_OUT || b.cls == VY_INOUT;
        if (out && b.role.of && strcmp(b.role.of, of) == 0 &&
            (b.role.kind == VY_IS_TANGENT || b.role.kind == VY_IS_TANGENT_OUT))
            return b.name;
    }
    return NULL;
}

// value: what the program itself computes.  An element that is not finite is not compared: the load
// out of range in log(0) * x[i] makes it NaN, and its tangent what one takes an absent one for.
static bool same_tangents(const vy_program *jp, const image *value, const image *g, const duals *t,
                          const bool *of, double tolerance)
{
    for (uint32_t i = 0; i < value->n; i++) {
        if (!of[i]) continue;
        const char *name = tangents_name(jp, value->buffers[i].name);
        const int k = name ? find(g, name) : -1;
        uint32_t at = 0;
        double scale = 1e-3;
        while (at < t->n && strcmp(t->buffers[at].name, value->buffers[i].name) != 0) at++;
        if (k < 0 || at == t->n) {
            snprintf(message, sizeof message, "there is no tangent of %s", value->buffers[i].name);
            return false;
        }
        const double *want = t->buffers[at].tangent, *got = g->buffers[k].data;
        const double *of_what = value->buffers[i].data;
        for (uint64_t e = 0; e < value->counts[i]; e++)
            if (isfinite(want[e])) scale = fmax(scale, fabs(want[e]));
        for (uint64_t e = 0; e < value->counts[i]; e++) {
            const bool same = want[e] == got[e] || (isnan(want[e]) && isnan(got[e])) ||
                              fabs(want[e] - got[e]) <= tolerance * scale;
            if (same || !isfinite(of_what[e]) || (isinf(want[e]) && !isfinite(got[e]))) continue;
            snprintf(message, sizeof message, "%s[%llu] = %.17g, dual numbers %.17g", name,
                     (unsigned long long)e, got[e], want[e]);
            return false;
        }
    }
    return true;
}

static bool has_narrow(const vy_program *p)
{
    for (uint32_t k = 0; k < p->leaves.count; k++)
        if (p->leaves.data[k].type == VY_F32 || p->leaves.data[k].type == VY_F16) return true;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].type == VY_F32 || p->insts.data[id].type == VY_F16) return true;
    return false;
}

// Constants are rounded to their own types (ln 2 in f32), also where the rest is in double.
static double tangents_tolerance(const gradcheck *c, const vy_program *p)
{
    const double own = has_narrow(p) ? 2e-6 : 1e-12;
    return c->tolerance > own ? c->tolerance : own;
}

// Are all outputs that are asked for finite?
static bool all_finite(const image *m, const bool *of)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const double *data = m->buffers[i].data;
        for (uint64_t e = 0; of[i] && e < m->counts[i]; e++)
            if (!isfinite(data[e])) return false;
    }
    return true;
}

// value: what the program makes of x, with the tangents t.
static bool run_duals(const gradcheck *c, const vy_program *p, const image *x, const duals *t,
                      image *value)
{
    *value = *x;
    for (uint32_t i = 0; i < x->n; i++) {
        value->buffers[i].data = malloc(x->counts[i] * 8 + 8);
        memcpy(value->buffers[i].data, x->buffers[i].data, x->counts[i] * 8);
        value->buffers[i].shape = value->shapes[i];
    }
    vy_eval_options o = {.f64 = true, .subgroup_size = c->subgroup};
    memcpy(o.groups, c->groups, sizeof o.groups);
    const vy_dual dual = {.buffers = t->buffers,
                          .buffer_count = t->n,
                          .scalars = t->scalars,
                          .scalar_count = t->scalar_count};
    vy_diag d = {0};
    const bool ok = vy_eval_dual(p, pipeline_of(p), value->buffers, value->n, value->scalars,
                                 value->scalar_count, &o, &dual, &d);
    if (!ok) snprintf(message, sizeof message, "dual numbers: %s", d.text);
    return ok;
}

// Tells where forward mode and the gradient disagree.
static bool same_products(const gradcheck *c, const vy_program *jp, const image *x, const image *g,
                          const gradient *grad, const bool *of, double tolerance)
{
    double forward = 0, backward = 0, size = 1e-3;
    for (uint32_t i = 0; i < x->n; i++) {
        const int k = of[i] ? find(g, tangents_name(jp, x->buffers[i].name)) : -1;
        for (uint64_t e = 0; k >= 0 && e < x->counts[i]; e++)
            forward += ((double *)g->buffers[k].data)[e] * cotangent(c, x->buffers[i].name, e);
    }
    for (uint32_t i = 0; i < grad->data->n; i++) {
        const char *of_what = gradient_of_what(grad, i);
        const double *data = grad->data->buffers[i].data;
        for (uint64_t e = 0; of_what && e < grad->data->counts[i]; e++) {
            const double term = data[e] * tangent_at(c, of_what, e);
            backward += term;
            size += fabs(term);
        }
    }
    if (fabs(forward - backward) <= 10 * tolerance * size) return true;
    if (!isfinite(forward) && !isfinite(backward)) return true;
    snprintf(message, sizeof message, "forwards %.17g, in reverse %.17g", forward, backward);
    return false;
}

// ------------------------------------------------------------------- the gradient of the tangents
// What jp calls the tangents that the gradient of its own has in parameter b.
static const char *base_of(const vy_program *jp, const vy_buffer_info *b)
{
    return vy_program_buffer(jp, vy_program_find_buffer(jp, b->role.of)).role.of;
}

// All tangents are 0, all cotangents those of the outputs.
static void start_transposed(const gradcheck *c, const vy_program *jp, const vy_program *tp,
                             const image *x, image *g)
{
    make_image(c, tp, g);
    memcpy(g->scalars, x->scalars, sizeof g->scalars);
    for (uint32_t i = 0; i < g->n; i++) {
        const char *name = g->buffers[i].name;
        const vy_buffer_info b = vy_program_buffer(tp, vy_program_find_buffer(tp, name));
        double *data = g->buffers[i].data;
        const int from = find(x, name);
        for (uint64_t e = 0; e < g->counts[i]; e++)
            if (b.cls == VY_OUT)
                data[e] = NAN;
            else if (b.role.kind == VY_IS_COTANGENT)
                data[e] = cotangent(c, base_of(jp, &b), e);
        if (from >= 0) memcpy(data, x->buffers[from].data, g->counts[i] * 8);
    }
}

static int find_gradient(const gradient *g, const char *of)
{
    for (uint32_t i = 0; i < g->data->n; i++) {
        const char *of_what = gradient_of_what(g, i);
        if (of_what && strcmp(of_what, of) == 0) return (int)i;
    }
    return -1;
}

static bool same_gradients(const vy_program *jp, const vy_program *tp, const image *g,
                           const gradient *grad, double tolerance)
{
    for (uint32_t i = 0; i < g->n; i++) {
        const vy_buffer id = vy_program_find_buffer(tp, g->buffers[i].name);
        const vy_buffer_info b = vy_program_buffer(tp, id);
        double scale = 1e-3;
        if (!vy_is_gradient(b.role.kind)) continue;
        const int k = find_gradient(grad, base_of(jp, &b));
        const double *got = g->buffers[i].data, *want = k < 0 ? NULL : grad->data->buffers[k].data;
        for (uint64_t e = 0; want && e < g->counts[i]; e++)
            if (isfinite(want[e])) scale = fmax(scale, fabs(want[e]));
        for (uint64_t e = 0; want && e < g->counts[i]; e++) {
            if (fabs(want[e] - got[e]) <= tolerance * scale || want[e] == got[e]) continue;
            if (!isfinite(want[e]) && !isfinite(got[e])) continue;
            snprintf(message, sizeof message, "transposed: %s[%llu] = %.17g, the gradient %.17g",
                     b.name, (unsigned long long)e, got[e], want[e]);
            return false;
        }
    }
    return true;
}

// The gradient of jm, a forward derivative, with respect to the tangents at 0, against `grad`.
// *compared: false if jm is a pipeline.
static bool check_transposed(const gradcheck *c, const vy_module *jm, const image *x,
                             const gradient *grad, const bool *asked, double tolerance,
                             bool *compared)
{
    const vy_program *jp = result_of(jm);
    const char *of[MOST_BUFFERS], *wrt[MOST_BUFFERS];
    vy_grad_options o = {.program = vy_program_name(jp),
                         .of = of,
                         .wrt = wrt,
                         .seed_buffer = true,
                         .accumulate = VY_ACCUMULATE_ATOMIC};
    for (uint32_t i = 0; i < x->n; i++)
        if (asked[i]) of[o.of_count++] = tangents_name(jp, x->buffers[i].name);
    for (uint32_t i = 1; i <= vy_program_buffer_count(jp); i++) {
        const vy_buffer_info b = vy_program_buffer(jp, (vy_buffer){i});
        if (is_given_tangent(b.role.kind)) wrt[o.wrt_count++] = b.name;
    }
    vy_diag d;
    image g = {0};
    *compared = false;
    vy_module *tm = vy_grad(jm, &o, &d);
    *compared = tm != NULL;
    if (!tm) {
        snprintf(message, sizeof message, "transposed: %s [%s]", d.text, d.code);
        return false;
    }
    const vy_program *tp = result_of(tm);
    start_transposed(c, jp, tp, x, &g);
    const bool ok = run(c, tp, &g) && same_gradients(jp, tp, &g, grad, tolerance);
    image_free(&g);
    vy_module_free(tm);
    return ok;
}

// Forward mode of the last program of m.  x: its data; of: by buffer of x, what is asked for; grad:
// the gradient, or NULL.  *refused: why there is none.  *transposed: could the gradient of
// it be compared with that?
static bool check_tangents(const gradcheck *c, const vy_module *m, const vy_program *p,
                           const image *x, const bool *of, const gradient *grad, vy_diag *refused,
                           bool *transposed)
{
    uint32_t n_of = 0, n_wrt = 0;
    *transposed = false;
    while (n_of < 16 && c->of[n_of]) n_of++;
    while (n_wrt < 16 && c->wrt[n_wrt]) n_wrt++;
    const vy_grad_options o = {.program = vy_program_name(p),
                               .of = n_of ? c->of : NULL,
                               .of_count = n_of,
                               .wrt = n_wrt ? c->wrt : NULL,
                               .wrt_count = n_wrt};
    vy_module *jm = vy_jvp(m, &o, refused);
    if (!jm) return true;
    const vy_opt_options opt = {.level = 2};
    bool ok = !c->optimised || vy_optimize(jm, &opt);
    if (!ok) snprintf(message, sizeof message, "optimise: %s", vy_module_diag(jm)->text);
    const vy_program *jp = result_of(jm);
    duals t;
    image g = {0}, value = {0};
    duals_make(c, p, x, &t);
    if (ok) start_tangents(c, jp, x, &g);
    const double tolerance = tangents_tolerance(c, p);
    ok = ok && run_duals(c, p, x, &t, &value) && run(c, jp, &g) &&
         same_tangents(jp, &value, &g, &t, of, tolerance) &&
         (!grad || !all_finite(&value, of) || // else derivatives may be anything
          (same_products(c, jp, x, &g, grad, of, tolerance) &&
           check_transposed(c, jm, x, grad, of, 10 * tolerance, transposed)));
    if (!ok) {
        static const char what[] = "forward mode: ";
        memmove(message + sizeof what - 1, message, sizeof message - sizeof what);
        memcpy(message, what, sizeof what - 1);
    }
    if (!ok && getenv("GRADCHECK_PRINT")) {
        char *text = vy_print(jm, NULL);
        fprintf(stderr, "%s\n", text ? text : "");
        free(text);
    }
    image_free(&value);
    image_free(&g);
    duals_free(&t);
    vy_module_free(jm);
    return ok;
}
