// SPDX-License-Identifier: MIT
// gradcheck_modes.h: other ways to the same gradient; part of gradcheck_file.c.
//
//   atomic, gather   added up by atomics wherever several invocations reach an element, or by programs
//                  over its elements wherever there can be one: the same, to rounding
//   deterministic  bit for bit the same with workgroups in any order, and of 32, 64, 128 and 256
//                  invocations where the program does not see them; the same as g, to rounding
enum { ORDERS = 3 };

static bool check_accumulated(job *j, const vy_module *m, const image *x, const image *g,
                              vy_accumulate how, const char *oracle)
{
    vy_grad_options o = request(j, m);
    o.accumulate = how;
    vy_diag d;
    vy_module *gm = vy_grad(m, &o, &d);
    bool ok = gm != NULL;
    if (!ok) snprintf(message, sizeof message, "%s %s", d.code, d.text);
    ok = (ok && optimised(gm, 2, false)) || fail(j, oracle);
    ok = ok && same_gradient(j, gm, x, g, fmax(j->loose, 1e-9), oracle, "added up so");
    vy_module_free(gm);
    return ok;
}

// The deterministic gradient with workgroups of `size` (0: the program's own), or NULL, j->oracle set
// unless it is refused.
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
    vy_grad_options o = request(j, m);
    o.deterministic = true;
    vy_diag d;
    vy_module *gm = vy_grad(m, &o, &d);
    if (!gm) {
        snprintf(message, sizeof message, "%s %s", d.code, d.text);
        if (strcmp(d.code, "E0503") != 0) fail(j, "deterministic");
    }
    if (gm && !optimised(gm, 2, false)) {
        fail(j, "deterministic");
        vy_module_free(gm);
        gm = NULL;
    }
    vy_module_free(m);
    return gm;
}

// Runs it in its own types.
static bool run_ordered(job *j, const vy_module *gm, const image *x, uint64_t shuffle, image *g)
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
    o.shuffle_seed = shuffle;
    o.report_races = true;
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

static bool all_double(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_type t = p->buffers.data[i].type;
        if (vy_type_is_float(t) && t != VY_F64) return false;
    }
    return true;
}

static bool check_deterministic(job *j, const vy_module *m, const image *x, const image *g)
{
    static const uint32_t sizes[] = {0, 32, 64, 128, 256};
    const uint32_t n = vy_sees_workgroup(last_program(m)) ? 1 : 5;
    const bool doubles = j->loose <= 1e-8 && all_double(last_program(m));
    vy_module *made[5] = {NULL}; // images point to their names
    image want, got;
    bool ok = true, first = true;
    for (uint32_t k = 0; ok && k < n; k++) {
        const vy_module *gm = made[k] = ordered(j, sizes[k]);
        if (!gm && !j->oracle && first) { // refused
            j->unordered++;
            return true;
        }
        ok = gm != NULL;
        if (!ok) fail(j, "deterministic"); // one size of several refused
        for (int order = 0; ok && order < (k ? 2 : ORDERS); order++) {
            const uint64_t shuffle = order ? (uint64_t)order * 77777 + k * 13 + j->c.seed : 0;
            image *to = first ? &want : &got;
            ok = run_ordered(j, gm, x, shuffle, to);
            if (ok && !first) {
                ok = same_bits(j, gm, &want, &got, sizes[k], order);
                image_free(&got);
            }
            if (ok && first && doubles) {
                const char *how = differs(result_of(gm), g, &want, false, 1e-9);
                if (how) snprintf(message, sizeof message, "%s by default and deterministic", how);
                ok = !how || fail(j, "deterministic");
            }
            first = false;
        }
    }
    if (!first) image_free(&want);
    for (uint32_t k = 0; k < n; k++) vy_module_free(made[k]);
    return ok;
}
