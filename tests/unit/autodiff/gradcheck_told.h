// SPDX-License-Identifier: MIT
// gradcheck_told.h: what passes make of what they are told of launches and devices; part of
// gradcheck_file.c.
//
//   told   the program and its gradient, at a level with a row of `kinds`: the text parses to an
//          equal module and prints the same, so no pass leaves what the parser would simplify; and
//          the gradient is that of the default way, at every launch
//
// `optimised` has what `run` tells; here is everything that vy_opt_options can say, in combinations
// that no verb makes: each row is a driver to come.  A program gets one row, a file all.
typedef struct told_kind {
    const char *name;
    void (*tell)(vy_opt_options *o);
    uint32_t lanes;   // that subgroups must have at least; 0: any
    uint32_t coarsen; // of all domains, beyond what the pipeline chooses
    bool inexact;     // its numbers may differ by more than rounding
} told_kind;

static void tell_chunks(vy_opt_options *o) { o->chunk = 3, o->lanes = 8, o->by_invocation = true; }

static void tell_subgroups(vy_opt_options *o)
{
    o->subgroup_add = o->subgroup_types = o->subgroup_shuffle = o->adjacent = true;
}

static void tell_gpu(vy_opt_options *o)
{
    tell_subgroups(o);
    o->workgroup_sums = o->registers = o->final = o->uniform_starts = true;
}

static void tell_few_lanes(vy_opt_options *o) { tell_lanes(o, 4); }

static void tell_more_lanes(vy_opt_options *o)
{
    tell_lanes(o, 8);
    o->by_invocation = o->final = true;
    o->coarsen = 4;
}

static void tell_chunked_lanes(vy_opt_options *o)
{
    tell_few_elements(o);
    tell_lanes(o, 4);
    o->chunk = 2, o->subgroup_add = o->by_invocation = true;
}

static void tell_subgroups_few(vy_opt_options *o) { tell_few_elements(o), tell_subgroups(o); }

static void tell_gpu_rows(vy_opt_options *o)
{
    tell_long_rows(o), tell_gpu(o);
    o->coarsen = 64;
}

static void tell_gpu_few(vy_opt_options *o)
{
    tell_few_elements(o), tell_gpu(o);
    o->coarsen = 8, o->chunk = 4;
}

static void tell_loose(vy_opt_options *o) { tell_gpu_few(o), o->fast_math = true; }

static const told_kind kinds[] = {
    {"few elements", tell_few_elements, 0, 0, false},
    {"long rows", tell_long_rows, 0, 2, false},
    {"chunks", tell_chunks, 0, 0, false},
    {"4 lanes", tell_few_lanes, 4, 0, false},
    {"8 lanes", tell_more_lanes, 8, 0, false},
    {"chunks of 4 lanes", tell_chunked_lanes, 4, 3, false},
    {"subgroups, few elements", tell_subgroups_few, 0, 3, false},
    {"a GPU, long rows", tell_gpu_rows, 0, 0, false},
    {"a GPU, few elements", tell_gpu_few, 0, 2, false},
    {"a GPU, fast-math", tell_loose, 0, 0, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool optimised_told(job *j, vy_module *m, int level, const told_kind *k)
{
    vy_opt_options o = {.level = level, .unchecked = stays_in_range}; // loads stay in loops
    k->tell(&o);
    bool ok = vy_optimize(m, &o);
    for (uint32_t i = 0; ok && k->coarsen && level >= 2 && i < m->programs.count; i++) {
        vy_pass_context c = {.options = &o};
        ok = vy_coarsen_all(m->programs.data[i], k->coarsen, o.adjacent) &&
             vy_pass_tidy(m->programs.data[i], &c);
    }
    if (ok) return true;
    snprintf(message, sizeof message, "%s, -O%d: %s", k->name, level, vy_module_diag(m)->text);
    return fail(j, "told");
}

static bool is_told_right(job *j, vy_module *m, bool gradient, int level, const told_kind *k)
{
    char which[80];
    snprintf(which, sizeof which, "%s, %s, -O%d", gradient ? "gradient" : "program", k->name,
             level);
    if (!optimised_told(j, m, level, k) || !round_trip(j, m, which, NULL)) return false;
    const bool fits = !launch.subgroup_size || launch.subgroup_size >= k->lanes;
    return !gradient || !fits || k->inexact || agrees(j, m, "told", which);
}

static bool check_told_so(job *j, const vy_module *m, int level, const told_kind *k)
{
    vy_diag d;
    vy_grad_options o = request(&j->c, m);
    vy_module *p = parsed(j->text, "parse"), *gm = vy_grad(m, &o, &d);
    const bool ok =
        p && gm && is_told_right(j, p, false, level, k) && is_told_right(j, gm, true, level, k);
    vy_module_free(p);
    vy_module_free(gm);
    return ok;
}

static bool check_told(job *j, const vy_module *m)
{
    if (!j->thorough) return check_told_so(j, m, (int)alternate(j, 4), &kinds[alternate(j, KINDS)]);
    bool ok = true;
    for (uint32_t k = 0; ok && k < KINDS; k++)
        for (int level = 0; ok && level < 4; level++) ok = check_told_so(j, m, level, &kinds[k]);
    return ok;
}
