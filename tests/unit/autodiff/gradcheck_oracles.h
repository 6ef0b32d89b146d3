// SPDX-License-Identifier: MIT
// gradcheck_oracles.h: what must hold of a program and of one gradient of it; part of
// gradcheck_file.c.
static const char *named; // the program that is checked; NULL: the last one

static vy_program *last_program(const vy_module *m)
{
    const vy_pipeline *l = named ? vy_module_find_pipeline(m, named) : NULL;
    vy_program *p = l ? l->signature : named ? vy_module_find(m, named) : NULL;
    return p ? p : vy_module_program(m, vy_module_program_count(m) - 1);
}

// Between levels primals must agree in every bit, except for atomic additions: `promote_sums`,
// `merge_additions` and `coarsen` add in another order, as any device may.  Folded constants are
// rounded to their own types even where the rest is computed in double: programs with such types
// come with a tolerance.  In its own type a sum in another order differs in its last places.
static double bound_between_levels(const job *j, const vy_program *p, bool typed)
{
    double bound = typed || j->tolerance <= 1e-8 ? 0 : j->tolerance;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || !vy_type_is_float((vy_type)i->type)) continue;
        const double unit = i->type == VY_F16 ? 0x1p-10 : i->type == VY_F32 ? 0x1p-23 : 0x1p-52;
        return typed ? fmax(j->tolerance, 16 * unit) : fmax(bound, 1e-12);
    }
    return bound;
}

// Level 0 against all others, or against one that alternates.
static bool check_primal(job *j, const image *x, bool typed)
{
    image want, got;
    double bound = 0;
    bool ok = true;
    const int only = j->thorough ? 0 : 1 + (int)alternate(j, 3);
    for (int level = 0; ok && level <= 3; level++) {
        if (level && only && level != only) continue;
        vy_module *m = parsed(j->text, "parse");
        ok =
            optimised(m, level, false) && (level % 2 || typed || round_trip(j, m, "program", NULL));
        if (!ok && !j->oracle) fail(j, "optimise");
        image *run = level ? &got : &want;
        if (ok) {
            copy_image(last_program(m), x, typed, run);
            ok = run_on(last_program(m), run, !typed, NOTHING, NULL) || fail(j, "primal");
            if (!level) bound = bound_between_levels(j, last_program(m), typed);
            const char *how =
                ok && level ? differs(last_program(m), &want, &got, typed, bound) : NULL;
            if (how) {
                snprintf(message, sizeof message, "%s at -O0 and -O%d, %s", how, level,
                         typed ? "own types" : "in double");
                ok = fail(j, "primal");
            }
            if (level) image_free(&got);
        }
        if (level == 0 && !ok) want.n = 0;
        vy_module_free(m);
    }
    image_free(&want);
    return ok;
}

static bool objective_on(const job *j, const vy_program *p, const image *x, const bool *of,
                         double *out, uint64_t *path)
{
    image m;
    copy_image(p, x, false, &m);
    *path = 0;
    *out = 0;
    bool ok = run_on(p, &m, true, NOTHING, path);
    for (uint32_t i = 0; ok && i < m.n; i++)
        for (uint64_t e = 0; of[i] && e < m.counts[i]; e++)
            *out += ((double *)m.buffers[i].data)[e] * cotangent(&j->c, m.buffers[i].name, e);
    image_free(&m);
    return ok;
}

typedef enum probe { PROBE_FAILED, PROBE_KINK, PROBE_FINE } probe;

static probe difference(const job *j, const vy_program *p, image *x, const bool *of, double *at,
                        double h, uint64_t centre, double *fd)
{
    static const double steps[4] = {1, -1, 2, -2};
    double was = *at, f[4];
    uint64_t path = centre;
    bool ok = true;
    for (int k = 0; ok && k < 4 && path == centre; k++) {
        *at = was + steps[k] * h;
        ok = objective_on(j, p, x, of, &f[k], &path);
    }
    *at = was;
    if (!ok) return PROBE_FAILED;
    if (path != centre) return PROBE_KINK;
    *fd = (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h);
    return PROBE_FINE;
}

// One element.  Where it disagrees, a second step size shows whether the differences are reliable.
static bool element(job *j, const vy_program *p, image *x, const bool *of, double *at, double got,
                    uint64_t centre, const char *name, uint64_t e)
{
    double fd = 0, other = 0;
    probe r = difference(j, p, x, of, at, 1e-4, centre, &fd);
    j->compared++;
    j->kinks += r == PROBE_KINK;
    if (r != PROBE_FINE) return r == PROBE_KINK || fail(j, "fd");
    double error = fabs(fd - got), scale = fmax(1, fmax(fabs(fd), fabs(got)));
    if (error <= j->c.tolerance * scale) return true;
    // Differences of a bounded objective say nothing: it oscillates many times within a step.
    if (isfinite(got) && fabs(got) > 1e7) {
        j->unreliable++;
        return true;
    }
    if (isfinite(got)) {
        for (double h = 1e-3; h > 1e-6; h /= 4) {
            r = difference(j, p, x, of, at, h, centre, &other);
            if (r == PROBE_FAILED) return fail(j, "fd");
            // NaN in the differences: the objective itself is NaN.  Differences of a chaotic
            // objective are unreliable too: they change with the step.
            if (r == PROBE_FINE && (!(fabs(fd - other) < 0.1 * error) ||
                                    fabs(fd - other) > 0.05 * fmax(fabs(fd), fabs(other)))) {
                j->unreliable++;
                return true;
            }
        }
    }
    if (!isfinite(fd)) {
        j->unreliable++;
        return true;
    }
    snprintf(message, sizeof message, "%s[%llu] = %.12g, finite differences %.12g (seed %u%s)",
             name, (unsigned long long)e, got, fd, j->c.seed,
             j->c.seeded ? ", random cotangents" : "");
    return fail(j, "fd");
}

// `most` elements of every input; gradients are named `prefix` and the input.
static bool check_fd(job *j, const vy_program *p, image *x, const image *g, const bool *of,
                     uint32_t most, const char *prefix)
{
    double centre_value;
    uint64_t centre;
    if (!objective_on(j, p, x, of, &centre_value, &centre)) return fail(j, "fd");
    if (!isfinite(centre_value)) { // nothing to compare with
        j->unreliable++;
        return true;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const char *name = g->buffers[i].name;
        if (strncmp(name, prefix, strlen(prefix)) != 0 || find(x, name) >= 0) continue;
        const char *of_what = name + strlen(prefix);
        const double *got = g->buffers[i].data;
        int k = find(x, of_what);
        if (k < 0) {
            for (uint32_t s = 0; s < x->scalar_count; s++)
                if (strcmp(x->scalars[s].name, of_what) == 0 &&
                    vy_type_is_float(p->scalars.data[s].type) &&
                    !element(j, p, x, of, &x->scalars[s].value.f, *got, centre, name, 0))
                    return false;
            continue;
        }
        vy_buffer id = vy_program_find_buffer(p, of_what);
        if (!chosen(j->c.wrt, of_what, vy_grad_default_wrt(p, id))) continue;
        uint64_t stride = 1 + x->counts[k] / most;
        for (uint64_t e = j->c.seed % stride; e < x->counts[k]; e += stride)
            if (!element(j, p, x, of, (double *)x->buffers[k].data + e, got[e], centre, name, e))
                return false;
    }
    return true;
}

// Runs the gradient program of `gm` on poisoned outputs.
static bool gradient_of(job *j, const vy_module *gm, const image *x, image *g, const char *oracle)
{
    vy_program *gp = result_of(gm);
    start_gradient(&j->c, gp, x, g);
    for (uint32_t i = 0; i < g->n; i++) { // integers have no NaN and are copied bytewise
        int from = find(x, g->buffers[i].name);
        if (from >= 0) memcpy(g->buffers[i].data, x->buffers[from].data, g->counts[i] * 8);
    }
    if (run_on(gp, g, true, RACES, NULL)) return true;
    image_free(g);
    g->n = 0;
    return fail(j, oracle);
}

// Workgroups in another order: only sums over several invocations may differ, in the last bits.
static bool check_order(job *j, const vy_program *p, const image *start, const image *want,
                        const char *what)
{
    image m;
    copy_image(p, start, false, &m);
    vy_eval_options o = launch;
    o.f64 = true;
    o.shuffle_seed = j->c.seed * 2654435761u + 12345;
    bool ok = run_with(p, &m, &o, NOTHING, NULL) || fail(j, "order");
    const char *how = ok ? differs(p, want, &m, false, fmax(j->tolerance, 1e-9)) : NULL;
    if (how) {
        snprintf(message, sizeof message, "%s: %s with workgroups in order and shuffled", what,
                 how);
        ok = fail(j, "order");
    }
    image_free(&m);
    return ok;
}

static bool check_again(job *j, const vy_module *gm, const image *x, image *g)
{
    const vy_program *gp = result_of(gm);
    for (uint32_t i = 0; i < g->n; i++) {
        int from = find(x, g->buffers[i].name);
        vy_buffer_class cls =
            vy_program_buffer(gp, vy_program_find_buffer(gp, g->buffers[i].name)).cls;
        if (from < 0 || cls == VY_OUT) continue;
        if (memcmp(g->buffers[i].data, x->buffers[from].data, g->counts[i] * 8) == 0) continue;
        snprintf(message, sizeof message, "the gradient changed %s", g->buffers[i].name);
        return fail(j, "twice");
    }
    image second;
    copy_image(gp, g, false, &second);
    bool ok = run_on(gp, &second, true, RACES, NULL) || fail(j, "twice");
    const char *how = ok ? differs(gp, g, &second, false, 0) : NULL;
    if (how) {
        snprintf(message, sizeof message, "%s in the first and second run", how);
        ok = fail(j, "twice");
    }
    image_free(&second);
    return ok && check_order(j, gp, g, g, "the gradient");
}

static bool same_gradient(job *j, const vy_module *gm, const image *x, const image *g,
                          double tolerance, const char *oracle, const char *which)
{
    image other;
    if (!gradient_of(j, gm, x, &other, oracle)) return false;
    const char *how = differs(result_of(gm), g, &other, false, tolerance);
    if (how) snprintf(message, sizeof message, "%s at first and %s", how, which);
    image_free(&other);
    return how ? fail(j, oracle) : true;
}

// An old value may depend on the order, and then everything computed from it does.
static bool uses_old_values(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_atomic((vy_op)p->insts.data[id].op) && p->insts.data[id].type != VY_VOID)
            return true;
    return false;
}

static bool check_primal_order(job *j, const vy_program *p, const image *x)
{
    image m;
    if (uses_old_values(p)) return true;
    copy_image(p, x, false, &m);
    bool ok = run_on(p, &m, true, NOTHING, NULL) || fail(j, "primal");
    ok = ok && check_order(j, p, x, &m, "the program");
    image_free(&m);
    return ok;
}
