// SPDX-License-Identifier: MIT
// gradcheck_second.h: derivatives of derivatives; part of gradcheck_file.c.
//
// The first gradient accumulates by atomics (as the command does for --order 2); it is a program, or
// a pipeline where atomic_min and atomic_max take one.  Of it, and of the program's forward
// derivative,
//   second   the gradient of the gradient (all grad_* are outputs) agrees with dual numbers
//   mixed    the forward derivative of the gradient agrees with dual numbers and with the gradient
//            of the gradient; <u, H v> = <v, H u>; the gradient of the forward derivative agrees
//            with dual numbers
static void set_of(gradcheck *c, uint32_t n, const char *name)
{
    c->of[n] = name;
    c->of[n + 1] = NULL;
}

// Requests all parameters of p that come out with this kind of role.
static bool request_of(const vy_program *p, gradcheck *c, bool (*is)(vy_derivative_kind kind))
{
    uint32_t n = 0;
    for (uint32_t i = 1; i <= vy_program_buffer_count(p); i++) {
        const vy_buffer_info b = vy_program_buffer(p, (vy_buffer){i});
        if (!is(b.role.kind) || b.cls == VY_IN || !vy_type_is_float(b.type)) continue;
        if (n + 2 > MOST_NAMES) return false;
        set_of(c, n++, b.name);
    }
    return n > 0;
}

static bool is_gradient(vy_derivative_kind kind) { return vy_is_gradient(kind); }
static bool is_tangent(vy_derivative_kind kind) { return vy_is_tangent(kind); }

static void requested(const job *j, const image *x, bool *of)
{
    for (uint32_t i = 0; i < x->n; i++) of[i] = chosen(j->c.of, x->buffers[i].name, false);
}

// The gradient `twice` of p at x, against dual numbers.  *got: it, if the result is true.
static bool agrees_with_dual(job *j, const vy_program *p, const vy_module *twice, const image *x,
                             image *got, const char *oracle)
{
    bool of[MOST_BUFFERS] = {false};
    char prefix[24];
    const uint32_t order = vy_program_order(result_of(twice));
    snprintf(prefix, sizeof prefix, "grad%u_", order);
    requested(j, x, of);
    if (!gradient_of(j, twice, x, got, oracle)) return false;
    if (check_dual(j, p, x, got, of, prefix, 2, 4)) return true;
    image_free(got);
    return fail(j, oracle);
}

// The data of gp, a gradient of what x is the data of.
static void start_again(const job *j, const vy_program *gp, const image *x, image *start)
{
    start_gradient(&j->c, gp, x, start);
    for (uint32_t i = 0; i < start->n; i++) {
        int from = find(x, start->buffers[i].name);
        if (from >= 0) memcpy(start->buffers[i].data, x->buffers[from].data, start->counts[i] * 8);
    }
}

// ----------------------------------------------------------------------------- the Hessian's symmetry
// Which input of the program a tangent of jp belongs to, where gp has the gradient of it; or NULL.
static const char *input_of(const vy_program *gp, const char *name)
{
    for (uint32_t i = 1; i <= vy_program_buffer_count(gp); i++) {
        const vy_derivative_role r = vy_program_buffer(gp, (vy_buffer){i}).role;
        if (vy_is_gradient(r.kind) && strcmp(r.of, name) == 0) return r.of;
    }
    return NULL;
}

// H times the tangents of `seed`; those of other inputs (cotangents, say) are 0.
static bool hessian_times(const gradcheck *own, const vy_program *gp, const vy_program *jp,
                          const image *x, uint32_t seed, image *out)
{
    gradcheck c = *own;
    c.seed = seed;
    start_tangents(&c, jp, x, out);
    for (uint32_t i = 0; i < out->n; i++) {
        const vy_buffer b = vy_program_find_buffer(jp, out->buffers[i].name);
        const vy_buffer_info info = vy_program_buffer(jp, b);
        if (is_given_tangent(info.role.kind) && !input_of(gp, info.role.of))
            memset(out->buffers[i].data, 0, out->counts[i] * 8);
    }
    return run(own, jp, out);
}

// <u, H v>, u the tangents of `seed`; *size: of its terms.
static double times(const gradcheck *own, const vy_program *gp, const vy_program *jp,
                    const image *hv, uint32_t seed, double *size)
{
    gradcheck c = *own;
    double sum = 0;
    c.seed = seed;
    for (uint32_t i = 0; i < hv->n; i++) {
        const vy_buffer b = vy_program_find_buffer(jp, hv->buffers[i].name);
        const vy_derivative_role role = vy_program_buffer(jp, b).role;
        if (role.kind != VY_IS_TANGENT_OUT) continue;
        const char *of = vy_program_buffer(gp, vy_program_find_buffer(gp, role.of)).role.of;
        for (uint64_t e = 0; e < hv->counts[i]; e++) {
            const double term = ((double *)hv->buffers[i].data)[e] * tangent_at(&c, of, e);
            sum += term;
            *size += fabs(term);
        }
    }
    return sum;
}

// Is the gradient that of a function, so that H is symmetric?  What replaces derivatives is none.
static bool has_potential(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (op == VY_OP_STOP_GRAD || op == VY_OP_STRAIGHT_THROUGH) return false;
    }
    return true;
}

static bool check_symmetric(job *j, const vy_program *gp, const vy_program *jp, const image *x)
{
    enum { U = 4711, V = 815 };
    gradcheck c = j->c;
    image hu, hv;
    double size = 1e-3, a = 0, b = 0;
    c.subgroup = launch.subgroup_size;
    bool ok = hessian_times(&c, gp, jp, x, V, &hv);
    if (ok) a = times(&c, gp, jp, &hv, U, &size);
    image_free(&hv);
    ok = ok && hessian_times(&c, gp, jp, x, U, &hu);
    if (ok) b = times(&c, gp, jp, &hu, V, &size), image_free(&hu);
    if (!ok) return fail(j, "mixed");
    if (!isfinite(a) || !isfinite(b) || fabs(a - b) <= fmax(j->tolerance, 1e-7) * size) return true;
    snprintf(message, sizeof message, "<u, H v> = %.17g, <v, H u> = %.17g", a, b);
    return fail(j, "mixed");
}

// -------------------------------------------------------------------------------- forward over reverse
static bool check_forward_of_gradient(job *j, const vy_module *m, const vy_module *once,
                                      const image *x, const gradient *second)
{
    const vy_program *gp = result_of(once);
    bool of[MOST_BUFFERS] = {false}, transposed;
    vy_diag d = {0};
    gradcheck c = j->c;
    c.subgroup = launch.subgroup_size;
    c.tolerance = j->tolerance;
    requested(j, x, of);
    if (!check_tangents(&c, once, gp, x, of, second, &d, &transposed)) return fail(j, "mixed");
    if (d.severity == VY_ERROR) {
        snprintf(message, sizeof message, "forward of gradient: %s %s", d.code, d.text);
        if (is_refusal(&d)) note(j, "mixed", &d);
        return is_refusal(&d) || fail(j, "mixed");
    }
    j->mixed++;
    if (!has_potential(last_program(m))) return true;
    const vy_grad_options o = request(&j->c, once);
    vy_module *jm = vy_jvp(once, &o, &d);
    const bool ok = jm && check_symmetric(j, gp, result_of(jm), x);
    vy_module_free(jm);
    return ok;
}

// -------------------------------------------------------------------------------- reverse over forward
static bool check_gradient_of_forward(job *j, const vy_module *m)
{
    const vy_grad_options o = request(&j->c, m);
    const gradcheck was = j->c;
    vy_diag d;
    image start, got;
    vy_module *jm = vy_jvp(m, &o, &d), *twice = NULL;
    if (!jm) return true; // the oracle `jvp` says why
    bool ok = true;
    start_tangents(&j->c, result_of(jm), &j->launches[0].x, &start);
    if (request_of(result_of(jm), &j->c, is_tangent)) {
        twice = derived_so(j, jm, &j->c, VY_ACCUMULATE_AUTO, false, "mixed");
        ok = !j->oracle;
    }
    if (twice && ok) {
        ok = agrees_with_dual(j, result_of(jm), twice, &start, &got, "mixed");
        if (ok) image_free(&got);
        j->mixed += ok;
    }
    image_free(&start);
    j->c = was;
    vy_module_free(twice);
    vy_module_free(jm);
    return ok;
}

// -------------------------------------------------------------------------------------------- all
static bool second_gradient(job *j, const vy_module *m, const vy_module *once, vy_module *twice)
{
    const vy_program *gp = result_of(once);
    image start, got;
    start_again(j, gp, &j->launches[0].x, &start);
    bool ok = agrees_with_dual(j, gp, twice, &start, &got, "second");
    if (ok) {
        j->seconds++;
        ok = check_forward_of_gradient(j, m, once, &start, &(gradient){result_of(twice), &got});
        image_free(&got);
    }
    if (ok) ok = optimised(twice, 2, true) || fail(j, "second");
    if (ok) ok = agrees_with_dual(j, gp, twice, &start, &got, "second");
    if (ok) image_free(&got);
    image_free(&start);
    return ok;
}

static bool check_second(job *j, const vy_module *m)
{
    if (!check_gradient_of_forward(j, m)) return false;
    vy_module *once = derived_so(j, m, &j->c, VY_ACCUMULATE_ATOMIC, false, "second");
    if (!once) return !j->oracle;
    gradcheck was = j->c;
    bool ok = true;
    vy_module *twice = NULL;
    if (request_of(result_of(once), &j->c, is_gradient)) {
        twice = derived_so(j, once, &j->c, VY_ACCUMULATE_AUTO, false, "second");
        ok = !j->oracle && (!twice || second_gradient(j, m, once, twice));
    }
    j->c = was;
    vy_module_free(twice);
    vy_module_free(once);
    return ok;
}
