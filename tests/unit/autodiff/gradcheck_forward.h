// SPDX-License-Identifier: MIT
// gradcheck_forward.h: programs with float sums, made deterministic; part of gradcheck_file.c.
//
//   forward  the result of vy_deterministic leaves the same bits with workgroups in any order, and
//            does not race; where all floats are double, it leaves what the program leaves, to
//            rounding.  Refusals are noted.

// The ordered program, or NULL, j->oracle set unless it is refused.
static vy_module *forward_ordered(job *j, const vy_module *m)
{
    vy_diag d;
    vy_module *ordered = vy_deterministic(m, vy_program_name(last_program(m)), &d);
    if (ordered) return ordered;
    snprintf(message, sizeof message, "%s %s", d.code, d.text);
    if (is_refusal(&d))
        note(j, "forward", &d);
    else
        fail(j, "forward");
    return NULL;
}

static bool run_forward(job *j, const vy_program *p, const vy_program *own, const image *x,
                        uint64_t order, image *out)
{
    vy_eval_options o = launch;
    o.shuffle_seed = order;
    o.report_races = o.report_out_of_range = true;
    copy_image(own, x, true, out);
    if (run_with(p, out, &o, RACES, NULL)) return true;
    image_free(out);
    out->n = 0;
    return fail(j, "forward");
}

static bool same_forward(job *j, const vy_program *p, const image *want, const image *got,
                         double tolerance, const char *which)
{
    const char *how = differs(p, want, got, true, tolerance);
    if (!how) return true;
    snprintf(message, sizeof message, "%s %s", how, which);
    return fail(j, "forward");
}

static bool check_forward_at(job *j, const vy_program *p, const vy_program *q, const image *x)
{
    image want, got, again;
    if (!run_forward(j, q, p, x, 0, &want)) return false;
    bool ok = run_forward(j, q, p, x, 99991u + j->c.seed, &again);
    if (ok) {
        ok = same_forward(j, p, &want, &again, 0, "with workgroups in order and shuffled");
        image_free(&again);
    }
    if (ok && all_double(p) && j->tolerance <= 1e-8 && (ok = run_forward(j, p, p, x, 0, &got))) {
        ok = same_forward(j, p, &got, &want, 1e-9, "as written and with its sums in an order");
        image_free(&got);
    }
    image_free(&want);
    return ok;
}

static bool check_forward(job *j, const vy_module *m)
{
    const vy_program *p = last_program(m);
    if (!adds_atomically(p) || uses_old_values(p)) return true;
    vy_module *ordered = forward_ordered(j, m);
    if (!ordered) return !j->oracle;
    bool ok = true;
    for (uint32_t k = 0; ok && k < j->launch_count; k++) {
        use_launch(j, k);
        ok = check_forward_at(j, p, result_of(ordered), &j->launches[k].x);
    }
    use_launch(j, 0);
    j->ways += ok;
    vy_module_free(ordered);
    return ok;
}
