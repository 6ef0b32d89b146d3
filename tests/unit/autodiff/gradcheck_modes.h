// SPDX-License-Identifier: MIT
// gradcheck_modes.h: other ways to the same gradient; part of gradcheck_file.c.
//
//   atomic, gather   accumulated by atomics wherever several invocations reach an element, or by
//                  programs over the elements wherever possible: the same, to rounding
//   batches        the domain in 2 to 7 batches, where it allows that, with a tape of its own for
//                  each value or without, accumulated in any of the ways: the same, to rounding
//   deterministic  bit for bit the same with workgroups in any order, and of 32, 64, 128 and 256
//                  invocations if their size is not visible to the program; the same as g, to
//                  rounding
//   permuted       the program with its parameters in another order and under other names, and the
//                  axes of its domain in another order (gradcheck_permute.h): the same outputs and
//                  gradient, to rounding
//
// Each unoptimised, and at one of the levels with the options that devices need.  What one way
// refuses (E0502, E0506) and another does not is noted, with the reason.
enum { ORDERS = 3 };

static vy_grad_options request(const gradcheck *c, const vy_module *m)
{
    const vy_program *p = vy_module_pipeline_count(m) && !(named && vy_module_find(m, named))
                              ? result_of(m)
                              : last_program(m);
    uint32_t n_of = 0, n_wrt = 0;
    while (n_of < MOST_NAMES && c->of[n_of]) n_of++;
    while (n_wrt < MOST_NAMES && c->wrt[n_wrt]) n_wrt++;
    return (vy_grad_options){.program = vy_program_name(p),
                             .of = n_of ? c->of : NULL,
                             .of_count = n_of,
                             .wrt = n_wrt ? c->wrt : NULL,
                             .wrt_count = n_wrt,
                             .seed_buffer = c->seeded};
}

static bool is_refusal(const vy_diag *d)
{
    return strcmp(d->code, "E0502") == 0 || strcmp(d->code, "E0506") == 0;
}

static bool adds_atomically(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_ATOMIC_ADD &&
            vy_type_is_float(vy_id_type(p, vy_arg(p, id, i->nargs - 1))))
            return true;
    }
    return false;
}

// For coverage.py: gradients accumulated by programs over the elements, by atomics, by neither, or
// in a fixed order.
static void note_ways(job *j, const vy_module *gm, bool ordered)
{
    bool atomic = false;
    for (uint32_t i = 0; i < vy_module_program_count(gm); i++)
        atomic |= adds_atomically(vy_module_program(gm, i));
    const bool parts = vy_module_program_count(gm) > 1;
    j->ordered |= ordered;
    j->gathered |= parts && !ordered;
    j->atomic |= atomic && !ordered;
    j->plain |= !atomic && !parts && !ordered;
}

static void note(job *j, const char *way, const vy_diag *d)
{
    const size_t at = strlen(j->notes);
    snprintf(j->notes + at, sizeof j->notes - at, " | %s refused %s %.150s", way, d->code, d->text);
}

// The gradient of g, accumulated as `how` says.  NULL with a note if that is refused; if the
// refusal is a fault, j->oracle is set.
static vy_module *derived_so(job *j, const vy_module *m, const gradcheck *c, vy_accumulate how,
                             bool deterministic, const char *oracle)
{
    vy_grad_options o = request(c, m);
    o.accumulate = how;
    o.deterministic = deterministic;
    vy_diag d;
    vy_module *gm = vy_grad(m, &o, &d);
    if (gm) note_ways(j, gm, deterministic);
    if (gm) return gm;
    snprintf(message, sizeof message, "%s %s", d.code, d.text);
    // Positions in segments of segments, one for each order, may be too large (docs/autodiff.md 15.2).
    const bool too_large = strcmp(oracle, "third") == 0 && strcmp(d.code, "E0002") == 0;
    if (is_refusal(&d) || too_large)
        note(j, oracle, &d);
    else
        fail(j, oracle);
    return NULL;
}

// `gm` computes what the default way computes, at every launch.
static bool agrees_within(job *j, const vy_module *gm, double tolerance, const char *oracle,
                          const char *which)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < j->launch_count; k++) {
        use_launch(j, k);
        ok = same_gradient(j, gm, &j->launches[k].x, &j->launches[k].g,
                           fmax(j->tolerance, tolerance), oracle, which);
    }
    return ok;
}

static bool agrees(job *j, const vy_module *gm, const char *oracle, const char *which)
{
    return agrees_within(j, gm, 1e-9, oracle, which);
}

static bool agrees_optimised(job *j, vy_module *gm, int level, double tolerance, const char *oracle)
{
    char which[60];
    snprintf(which, sizeof which, "added up so at -O%d", level);
    return (optimised(gm, level, true) || fail(j, oracle)) &&
           agrees_within(j, gm, tolerance, oracle, which);
}

static bool check_accumulated(job *j, const vy_module *m, vy_accumulate how, const char *oracle)
{
    vy_module *gm = derived_so(j, m, &j->c, how, false, oracle);
    if (!gm) return !j->oracle;
    bool ok = agrees(j, gm, oracle, "added up so");
    ok = ok && agrees_optimised(j, gm, j->thorough ? 2 : (int)alternate(j, 4), 1e-9, oracle);
    j->ways += ok;
    vy_module_free(gm);
    return ok;
}

static vy_module *in_batches(job *j, const vy_module *m)
{
    static const uint32_t batches[] = {2, 3, 5, 7};
    vy_grad_options o = request(&j->c, m);
    o.batches = batches[alternate(j, 4)];
    o.accumulate = (vy_accumulate)alternate(j, 3);
    o.split_tapes = alternate(j, 2);
    o.checkpoint = alternate(j, 3);
    vy_diag d;
    vy_module *gm = vy_grad(m, &o, &d);
    if (gm) return gm;
    snprintf(message, sizeof message, "%s %s", d.code, d.text);
    if (is_refusal(&d))
        note(j, "batches", &d);
    else
        fail(j, "batches");
    return NULL;
}

// One run in four: it derives and runs a pipeline.
static bool check_batches(job *j, const vy_module *m)
{
    const bool pipeline = vy_module_pipeline_count(m) && !(named && vy_module_find(m, named));
    if (!j->thorough && alternate(j, 4)) return true;
    if (pipeline || !vy_grad_batches(last_program(m))) return true;
    vy_module *gm = in_batches(j, m);
    if (!gm) return !j->oracle;
    lengths_of = last_program(m);
    // In batches the cotangent of ones is in a buffer.  Otherwise ones / 0.6 is folded, to an f32
    // in programs of f32, also where the rest is in double.
    const double within = has_narrow(last_program(m)) ? 1e-7 : 1e-9;
    const bool ok = agrees_within(j, gm, within, "batches", "in batches") &&
                    agrees_optimised(j, gm, (int)alternate(j, 4), within, "batches");
    lengths_of = NULL;
    j->ways += ok;
    vy_module_free(gm);
    return ok;
}

// The deterministic gradient with workgroups of `size` (0: the program's own), or NULL; j->oracle
// is then set unless it was refused.
static vy_module *ordered(job *j, uint32_t size)
{
    vy_module *m = parsed(j->text, "parse");
    vy_program *p = last_program(m);
    if (size) {
        p->workgroup[0] = size / (p->overs.count > 1 ? 4 : 1);
        p->workgroup[1] = p->overs.count > 1 ? 4 : 1;
        p->workgroup[2] = 1;
        p->has_workgroup = true;
    }
    vy_module *gm = derived_so(j, m, &j->c, VY_ACCUMULATE_AUTO, true, "deterministic");
    if (gm && !optimised(gm, 2, false)) {
        fail(j, "deterministic");
        vy_module_free(gm);
        gm = NULL;
    }
    vy_module_free(m);
    return gm;
}

// Runs it in its own types.
static bool run_ordered(job *j, const vy_module *gm, const image *x, uint64_t order, image *g)
{
    const vy_program *gp = result_of(gm);
    image start;
    start_gradient(&j->c, gp, x, &start);
    for (uint32_t i = 0; i < start.n; i++) {
        int from = find(x, start.buffers[i].name);
        if (from >= 0) memcpy(start.buffers[i].data, x->buffers[from].data, start.counts[i] * 8);
    }
    copy_image(gp, &start, true, g);
    image_free(&start);
    vy_eval_options o = launch;
    o.shuffle_seed = order;
    o.report_races = o.report_out_of_range = true;
    if (run_with(gp, g, &o, RACES, NULL)) return true;
    image_free(g);
    g->n = 0;
    return fail(j, "deterministic");
}

static bool same_bits(job *j, const vy_module *gm, const image *want, const image *got,
                      uint32_t size, int order)
{
    const char *how = differs(result_of(gm), want, got, true, 0);
    if (!how) return true;
    snprintf(message, sizeof message,
             "%s at first and with workgroups of %u (0: its own), order %d", how, size, order);
    return fail(j, "deterministic");
}

// The ordered gradients of several sizes of workgroups, at one launch, in several orders: equal to
// the bit.
static bool check_orders(job *j, vy_module *const *made, const uint32_t *sizes, uint32_t n,
                         uint32_t at)
{
    const image *x = &j->launches[at].x;
    image want, got;
    bool ok = true, first = true;
    use_launch(j, at);
    for (uint32_t k = 0; ok && k < n; k++)
        for (int order = 0; ok && order < (k ? 2 : ORDERS); order++) {
            const uint64_t by = order ? (uint64_t)order * 77777 + k * 13 + j->c.seed : 0;
            ok = run_ordered(j, made[k], x, by, first ? &want : &got);
            if (ok && !first) {
                ok = same_bits(j, made[k], &want, &got, sizes[k], order);
                image_free(&got);
            }
            first = false;
        }
    if (!first) image_free(&want);
    return ok;
}

// Sums in an order of their own are those of the buffers' types.
static bool all_double(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_type t = p->buffers.data[i].type;
        if (vy_type_is_float(t) && t != VY_F64) return false;
    }
    return true;
}

static bool check_deterministic(job *j, const vy_module *m)
{
    static const uint32_t all[] = {0, 32, 64, 128, 256};
    const bool own = vy_sees_workgroup(last_program(m));
    const uint32_t n = own ? 1 : j->thorough ? 5 : 1 + alternate(j, 2);
    const uint32_t other = 1 + alternate(j, 4), some[] = {0, all[other]};
    const uint32_t *sizes = j->thorough ? all : some;
    vy_module *made[5] = {NULL}; // images point to their names
    bool ok = true;
    for (uint32_t k = 0; ok && k < n; k++) {
        made[k] = ordered(j, sizes[k]);
        ok = made[k] != NULL;
        if (ok || j->oracle) continue;
        j->unordered++;
        if (k == 0) return true;
        fail(j, "deterministic"); // one size of several refused
    }
    if (ok && j->tolerance <= 1e-8 && all_double(last_program(m)))
        ok = agrees(j, made[0], "deterministic", "in an order of its own");
    for (uint32_t k = 0; ok && k < j->launch_count; k++) ok = check_orders(j, made, sizes, n, k);
    j->ways += ok;
    for (uint32_t k = 0; k < n; k++) vy_module_free(made[k]);
    return ok;
}

// ----------------------------------------------------------------------- other orders, other names
// An image of `p`, whose names are q's: inputs as in `x`, results initialised as for a gradient.
static void renamed_image(const job *j, const gradcheck *c, const vy_program *p, permuted *q,
                          const image *x, image *out)
{
    make_image(c, p, out);
    for (uint32_t i = 0; i < out->n; i++) {
        const char *name = out->buffers[i].name, *old = old_name(q, name);
        vy_buffer_class cls = vy_program_buffer(p, vy_program_find_buffer(p, name)).cls;
        const int from = find(x, old);
        if (from >= 0) {
            memcpy(out->buffers[i].data, x->buffers[from].data, out->counts[i] * 8);
            continue;
        }
        for (uint64_t e = 0; e < out->counts[i]; e++)
            ((double *)out->buffers[i].data)[e] =
                cls == VY_OUT ? NAN : cotangent(&j->c, strchr(old, '_') + 1, e);
    }
}

// Runs the renamed program; its image has the old names afterwards.
static bool run_renamed(job *j, const vy_program *p, permuted *q, image *m)
{
    const bool ok = run_on(p, m, true, RACES, NULL) || fail(j, "permuted");
    for (uint32_t i = 0; i < m->n; i++) m->buffers[i].name = old_name(q, m->buffers[i].name);
    return ok;
}

static bool same_renamed(job *j, const vy_program *p, const vy_program *was, permuted *q,
                         const gradcheck *c, uint32_t at, const image *want, const char *what)
{
    image mine;
    renamed_image(j, c, p, q, &j->launches[at].x, &mine);
    bool ok = run_renamed(j, p, q, &mine);
    const char *how = ok ? differs(was, want, &mine, false, fmax(j->tolerance, 1e-9)) : NULL;
    if (how) {
        snprintf(message, sizeof message, "%s: %s at first and with %s", what, how,
                 q->axes ? "parameters and axes in another order" : "parameters in another order");
        ok = fail(j, "permuted");
    }
    image_free(&mine);
    for (uint32_t i = 0; i < q->kept_count; i++) free(q->kept[i]);
    q->kept_count = 0;
    return ok;
}

static gradcheck renamed_request(const gradcheck *c, const permuted *q)
{
    gradcheck other = *c;
    for (int i = 0; i < MOST_NAMES; i++) {
        other.of[i] = new_name(q, c->of[i]);
        other.wrt[i] = new_name(q, c->wrt[i]);
        other.scalars[i].name = new_name(q, c->scalars[i].name);
    }
    return other;
}

static bool check_renamed(job *j, const vy_module *m, const vy_module *auto_module, permuted *q,
                          const vy_module *m2)
{
    static const vy_accumulate ways[] = {VY_ACCUMULATE_AUTO, VY_ACCUMULATE_AUTO,
                                         VY_ACCUMULATE_GATHER, VY_ACCUMULATE_ATOMIC};
    uint32_t way = alternate(j, 4); // 1: in a fixed order, which rounds sums to the buffers' types
    if (way == 1 && !all_double(last_program(m))) way = 0;
    gradcheck c = renamed_request(&j->c, q);
    vy_module *gm = derived_so(j, m2, &c, ways[way], way == 1, "permuted");
    bool ok = gm != NULL;
    const int level = (int)alternate(j, 4);
    for (int step = 0; ok && step < 2; step++) {
        if (step) ok = optimised(gm, level, true) || fail(j, "permuted");
        for (uint32_t k = 0; ok && k < j->launch_count; k++) {
            use_launch(j, k);
            c = renamed_request(&j->c, q);
            image forward;
            copy_image(last_program(m), &j->launches[k].x, false, &forward);
            ok = step || run_on(last_program(m), &forward, true, NOTHING, NULL) ||
                 fail(j, "permuted");
            ok = ok && (step || same_renamed(j, last_program(m2), last_program(m), q, &c, k,
                                             &forward, "the program"));
            ok = ok && same_renamed(j, result_of(gm), result_of(auto_module), q, &c, k,
                                    &j->launches[k].g, step ? "optimised" : "the gradient");
            image_free(&forward);
        }
    }
    if (!ok && j->oracle) {
        const size_t at = strlen(message);
        snprintf(message + at, sizeof message - at, " (way %u, -O%d)", way, level);
    }
    if (ok) j->ways++, j->axes += q->axes;
    vy_module_free(gm);
    return !j->oracle;
}

static bool check_permuted(job *j, const vy_module *m, const vy_module *auto_module)
{
    permuted q = permute(m, last_program(m), j->pick, alternate(j, 2) ? auto_module : NULL);
    if (!q.text) {
        snprintf(message, sizeof message, "the canonical text has another form");
        permuted_free(&q);
        return fail(j, "permuted");
    }
    vy_module *m2 = parsed(q.text, "with parameters in another order");
    bool ok = m2 ? check_renamed(j, m, auto_module, &q, m2) : fail(j, "permuted");
    if (!ok && getenv("GRADCHECK_PRINT")) fprintf(stderr, "%s\n", q.text);
    vy_module_free(m2);
    permuted_free(&q);
    return ok;
}
