// SPDX-License-Identifier: MIT
// gradcheck_file.c: everything the interpreter alone can tell about the programs in FILE….
//
//   gradcheck_file [--seeds N] [--first-seed S] FILE…
//
// Prints a line per file: `FILE: ok …`, `FILE: refused CODE …`, `FILE: invalid …` (the program itself
// is wrong) or `FILE: FAIL ORACLE …`; exit 1 if a file failed.  Driven by tests/fuzz.
//   print    parse(print(p)) prints the same, p as written and optimised, and so for the gradient; the
//            binary form reads back equal
//   primal   levels 0 … 3 give the same bits
//   fd       the gradient against finite differences, all floats in double; inputs whose probes take
//            another path than the centre are kinks and not compared
//   levels   the gradient at levels 1 … 3 is that at 0, to rounding; also with what devices ask for:
//            loops in chunks, rows of workgroups made to fill lanes, sums by subgroups
//   text     the gradient's text, parsed again, gives the same bits
//   twice    running again gives the same; what goes in is left alone
//   order    workgroups in another order give the same, to rounding, primal and gradient
//   atomic, gather, deterministic   other ways to the gradient: gradcheck_modes.h
//   proofs   in every run: accesses proved in range are in range; elements proved zero are zero; additions proved exclusive, which are
//            no atomics on a device, do not race
//   clear    in every run: out buffers that no runtime clears, since the program is said to write them
//            whole, start as NaN, and that does not show
//
// Comment lines of a file set the data: `// set: N=5 s=0.7`, `// data: at=1,-2,9` (used cyclically),
// `// of: y`, `// wrt: x,s`, `// tolerance: 1e-4`, `// seed: 7` (of made-up data; beats --first-seed),
// `// groups: 2,1,1` (programs without `over`), `// subgroup: 8` (lanes), `// permutation: p,q` (integer
// buffers that hold one of 0 … count−1).
#include "gradcheck.c" // its images and data

#include "ir/coarsen.h"
#include "ir/eval.h"
#include "ir/pass.h"
bool vy_fully_written(const vy_program *p,
                      uint32_t buffer); // spirv/emit.h has types of the same names

enum { MOST_ELEMENTS = 40 }; // inputs tried per buffer and seed

typedef struct job {
    gradcheck c;
    char *text, *words; // `words` holds what c points to
    double values[8][64];
    const char *permutations[4];
    const char *oracle;                              // what failed
    double loose;                                    // bound of comparisons between levels
    uint32_t compared, kinks, unreliable, unordered; // unordered: no deterministic gradient
} job;

static vy_eval_options launch; // groups, lanes of a subgroup: of the file that is checked

static bool fail(job *j, const char *oracle) // `message` is set
{
    j->oracle = oracle;
    return false;
}

// ------------------------------------------------------------------------------------- directives
static char *directive(job *j, const char *name)
{
    char start[40];
    snprintf(start, sizeof start, "// %s: ", name);
    const char *at = strstr(j->text, start);
    if (!at) return NULL;
    at += strlen(start);
    char *word = j->words + (at - j->text);
    memcpy(word, at, strcspn(at, "\n"));
    return word;
}

static void read_directives(job *j, uint32_t *first)
{
    gradcheck *c = &j->c;
    char *s, *save = NULL;
    uint32_t n = 0;
    for (char *w = (s = directive(j, "set")) ? strtok_r(s, " ", &save) : NULL; w && n < 8;
         w = strtok_r(NULL, " ", &save), n++) {
        char *is = strchr(w, '=');
        if (!is) break;
        *is = 0;
        char *end;
        const int64_t whole = strtoll(is + 1, &end, 10);
        c->scalars[n] = (gradcheck_scalar){w, strtod(is + 1, NULL)};
        c->whole[n] = *end ? 0 : whole;
    }
    n = 0;
    for (char *w = (s = directive(j, "data")) ? strtok_r(s, " ", &save) : NULL; w && n < 8;
         w = strtok_r(NULL, " ", &save), n++) {
        char *is = strchr(w, '=');
        if (!is) break;
        *is = 0;
        uint32_t k = 0;
        for (char *v = is; v && k < 64; v = strchr(v + 1, ','))
            j->values[n][k++] = strtod(v + 1, NULL);
        c->data[n] = (gradcheck_data){w, j->values[n], k};
    }
    n = 0;
    for (char *w = (s = directive(j, "of")) ? strtok_r(s, ",", &save) : NULL; w && n < 4;
         w = strtok_r(NULL, ",", &save))
        c->of[n++] = w;
    n = 0;
    for (char *w = (s = directive(j, "wrt")) ? strtok_r(s, ",", &save) : NULL; w && n < 4;
         w = strtok_r(NULL, ",", &save))
        c->wrt[n++] = w;
    n = 0;
    for (char *w = (s = directive(j, "permutation")) ? strtok_r(s, ",", &save) : NULL; w && n < 4;
         w = strtok_r(NULL, ",", &save))
        j->permutations[n++] = w;
    launch = (vy_eval_options){.max_steps = 200000000};
    if ((s = directive(j, "groups")))
        sscanf(s, "%u,%u,%u", &launch.groups[0], &launch.groups[1], &launch.groups[2]);
    memcpy(c->groups, launch.groups, sizeof c->groups);
    if ((s = directive(j, "subgroup"))) launch.subgroup_size = (uint32_t)atoi(s);
    if ((s = directive(j, "seed"))) *first = (uint32_t)atoi(s);
    c->tolerance = (s = directive(j, "tolerance")) ? strtod(s, NULL) : 0;
    j->loose = c->tolerance ? c->tolerance : 1e-8;
    if (!c->tolerance) c->tolerance = 1e-6;
    c->text = j->text;
}

// ---------------------------------------------------------------------------------------- running
// Contents of `from` in memory of its own; typed: floats in their own types, not in double.
static void copy_image(const vy_program *p, const image *from, bool typed, image *to)
{
    *to = *from;
    for (uint32_t i = 0; i < to->n; i++) {
        const vy_buf *b = &p->buffers.data[vy_program_find_buffer(p, to->buffers[i].name).id];
        to->buffers[i].data = calloc(to->counts[i] + 1, 8);
        to->buffers[i].shape = to->shapes[i];
        const double *in = from->buffers[i].data;
        if (!typed || !vy_type_is_float(b->type)) {
            memcpy(to->buffers[i].data, in, to->counts[i] * 8);
            continue;
        }
        for (uint64_t e = 0; e < to->counts[i]; e++)
            vy_scalar_write(b->type, (vy_scalar){.f = vy_round_to(b->type, in[e])},
                            (char *)to->buffers[i].data + e * vy_type_size(b->type));
    }
}

// Made-up data, and permutations where the file asks for them.
static void fill_job(const job *j, const vy_program *p, image *x)
{
    fill(&j->c, p, x);
    for (int n = 0; n < 4 && j->permutations[n]; n++) {
        int at = find(x, j->permutations[n]);
        if (at < 0) continue;
        vy_type type = p->buffers.data[vy_program_find_buffer(p, j->permutations[n]).id].type;
        uint64_t s = j->c.seed * 7919u + 3;
        char *data = x->buffers[at].data;
        const uint32_t size = vy_type_size(type);
        for (uint64_t e = 0; e < x->counts[at]; e++) { // inside out
            uint64_t k = next_random(&s) % (e + 1);
            vy_scalar_write(type, vy_scalar_read(type, data + k * size), data + e * size);
            vy_scalar_write(type, (vy_scalar){.i = (int64_t)e}, data + k * size);
        }
    }
}

typedef enum report { NOTHING, RACES, EVERYTHING } report; // which reports are failures

static bool run_with(const vy_program *p, image *m, const vy_eval_options *o, report reports,
                     uint64_t *path)
{
    uint32_t disproved = 0;
    vy_eval_hooks hooks = {.path_hash = path,
                           .uncleared = vy_fully_written,
                           .disproved = &disproved};
    vy_eval_report report = {0};
    vy_diag d = {0};
    const vy_pipeline *steps = NULL;
    for (uint32_t i = 0; i < vy_module_pipeline_count(p->module); i++)
        if (vy_module_pipeline(p->module, i)->signature == p)
            steps = vy_module_pipeline(p->module, i);
    bool ok = steps ? vy_eval_pipeline_hooked(steps, m->buffers, m->n, m->scalars, m->scalar_count,
                                              o, &hooks, &report, &d)
                    : vy_eval_hooked(p, m->buffers, m->n, m->scalars, m->scalar_count, o, &hooks,
                                     &report, &d);
    if (disproved && ok) {
        snprintf(message, sizeof message, "%s: line %u: what a pass has proved does not hold",
                 vy_program_name(p), disproved);
        return false;
    }
    if (ok && !(reports && report.races) && !(reports == EVERYTHING && report.uninitialised))
        return true;
    snprintf(message, sizeof message, "%s: %s", vy_program_name(p),
             ok ? report.first.text : d.text);
    return false;
}

static bool run_on(const vy_program *p, image *m, bool f64, report reports, uint64_t *path)
{
    vy_eval_options o = launch;
    o.f64 = f64;
    o.report_races = reports >= RACES;
    o.report_uninitialised = reports == EVERYTHING;
    return run_with(p, m, &o, reports, path);
}

// The first difference between what two runs left, or NULL.  tolerance 0: the bits.
static const char *differs(const vy_program *p, const image *a, const image *b, bool typed,
                           double tolerance)
{
    static char text[300];
    for (uint32_t i = 0; i < a->n; i++) {
        int k = find(b, a->buffers[i].name);
        vy_type type = p->buffers.data[vy_program_find_buffer(p, a->buffers[i].name).id].type;
        vy_type held = vy_type_is_float(type) && !typed ? VY_F64 : type;
        double scale = 1;
        for (int round = 0; k >= 0 && round < 2; round++)
            for (uint64_t e = 0; e < a->counts[i]; e++) {
                size_t at = e * vy_type_size(held);
                vy_scalar u = vy_scalar_read(held, (char *)a->buffers[i].data + at);
                vy_scalar v = vy_scalar_read(held, (char *)b->buffers[k].data + at);
                if (round == 0 && vy_type_is_float(type) && isfinite(u.f))
                    scale = fmax(scale, fabs(u.f));
                if (round == 0 || vy_scalar_same(held, u, v)) continue;
                if (vy_type_is_float(type) && fabs(u.f - v.f) <= tolerance * scale) continue;
                if (vy_type_is_float(type))
                    snprintf(text, sizeof text, "%s[%llu] is %.17g and %.17g", a->buffers[i].name,
                             (unsigned long long)e, u.f, v.f);
                else
                    snprintf(text, sizeof text, "%s[%llu] is %lld and %lld", a->buffers[i].name,
                             (unsigned long long)e, (long long)u.i, (long long)v.i);
                return text;
            }
    }
    return NULL;
}

static vy_module *parsed(const char *text, const char *what)
{
    vy_module *m = vy_parse(text, strlen(text), "test");
    if (m && vy_module_ok(m)) return m;
    const vy_diag *d = m ? vy_module_diag(m) : NULL;
    snprintf(message, sizeof message, "%s: %u:%u %s [%s]", what, d ? d->line : 0, d ? d->column : 0,
             d ? d->text : "memory", d ? d->code : "");
    vy_module_free(m);
    return NULL;
}

// as_run: with what `run` asks for beside the level, on one device or another.  Several elements per
// invocation wherever that can be.
static bool optimised(vy_module *m, int level, bool as_run)
{
    vy_opt_options o = {.level = level};
    if (as_run && level == 1) o.chunk = 3;
    if (as_run && level == 2) o.lanes = 8;
    if (as_run && level == 3) o.subgroup_add = o.subgroup_types = o.subgroup_shuffle = true;
    bool ok = vy_optimize(m, &o);
    for (uint32_t i = 0; ok && level >= 2 && i < vy_module_program_count(m); i++) {
        vy_program *p = m->programs.data[i];
        vy_pass_context c = {.options = &o};
        ok = vy_coarsen_all(p, level == 2 ? 3 : 2);
        // What constants decide now, as a parser would build it: texts are compared.
        ok = ok && vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c) && vy_pass_order(p, &c);
    }
    if (ok && vy_module_check(m)) return true;
    snprintf(message, sizeof message, "-O%d: %s [%s]", level, vy_module_diag(m)->text,
             vy_module_diag(m)->code);
    return false;
}

// print, parse, print; and the binary form.  *again (if wanted): the module parsed from the text.
static bool round_trip(job *j, vy_module *m, const char *what, vy_module **again)
{
    char *text = vy_print(m, NULL), *second = NULL;
    vy_module *back = parsed(text, what), *read = NULL;
    bool ok = back != NULL;
    if (ok) {
        second = vy_print(back, NULL);
        if (!vy_module_equal(m, back))
            ok = false, snprintf(message, sizeof message, "%s: text reads back another", what);
        if (strcmp(text, second) != 0) {
            size_t at = 0, line = 1;
            while (text[at] == second[at]) line += text[at++] == '\n';
            while (at > 0 && text[at - 1] != '\n') at--;
            snprintf(message, sizeof message, "%s: line %zu is printed `%.*s`, then `%.*s`", what,
                     line, (int)strcspn(text + at, "\n"), text + at,
                     (int)strcspn(second + at, "\n"), second + at);
            ok = false;
        }
    }
    size_t size = 0;
    void *binary = ok ? vy_binary_write(m, &size) : NULL;
    if (binary) {
        read = vy_binary_read(binary, size);
        if (!vy_module_ok(read) || !vy_module_equal(m, read)) {
            snprintf(message, sizeof message, "%s: binary form: %s", what,
                     vy_module_ok(read) ? "reads back another" : vy_module_diag(read)->text);
            ok = false;
        }
    }
    vy_module_free(read);
    free(binary);
    free(text);
    free(second);
    if (again && ok)
        *again = back;
    else
        vy_module_free(back);
    return ok || fail(j, "print");
}

// ----------------------------------------------------------------------------------------- oracles
static vy_program *last_program(const vy_module *m)
{
    return vy_module_program(m, vy_module_program_count(m) - 1);
}

static bool adds_before(const vy_program *p, uint32_t id)
{
    for (uint32_t k = 1; k < id; k++)
        if (p->insts.data[k].op == VY_OP_ATOMIC_ADD &&
            p->insts.data[k].aux == p->insts.data[id].aux)
            return true;
    return false;
}

// Between levels primals must agree in every bit, but for what is added atomically in a loop or to one buffer twice:
// `accumulate` and `sink` add in another order, as any device may.  Constants that were folded are rounded to their
// own types also where the rest is computed in double: programs with such types come with a tolerance.
static double bound_between_levels(const job *j, const vy_program *p, bool typed)
{
    double bound = typed || j->loose <= 1e-8 ? 0 : j->loose;
    uint32_t loops = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        loops += i->op == VY_OP_LOOP || i->op == VY_OP_WHILE;
        loops -= i->op == VY_OP_ENDLOOP;
        if (i->op != VY_OP_ATOMIC_ADD || !vy_type_is_float((vy_type)i->type)) continue;
        if (loops || adds_before(p, id)) return typed ? j->loose : fmax(bound, 1e-12);
    }
    return bound;
}

static bool check_primal(job *j, const image *x, bool typed)
{
    image want, got;
    double bound = 0;
    bool ok = true;
    for (int level = 0; ok && level <= 3; level++) {
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

// One element.  Where it disagrees, a second step size tells whether the differences can be trusted.
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
    // Differences of a bounded objective cannot tell: it goes round many times within a step.
    if (isfinite(got) && fabs(got) > 1e7) {
        j->unreliable++;
        return true;
    }
    if (isfinite(got)) {
        for (double h = 1e-3; h > 1e-6; h /= 4) {
            r = difference(j, p, x, of, at, h, centre, &other);
            if (r == PROBE_FAILED) return fail(j, "fd");
            // NaN in the differences: the objective itself is no number
            // Nor can those of a chaotic one: they change with the step.
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

static bool check_fd(job *j, const vy_program *p, image *x, const image *g, const bool *of)
{
    double centre_value;
    uint64_t centre;
    if (!objective_on(j, p, x, of, &centre_value, &centre)) return fail(j, "fd");
    if (!isfinite(centre_value)) { // nothing can be said
        j->unreliable++;
        return true;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const char *name = g->buffers[i].name;
        if (strncmp(name, "grad_", 5) != 0 || find(x, name) >= 0) continue;
        const double *got = g->buffers[i].data;
        int k = find(x, name + 5);
        if (k < 0) {
            for (uint32_t s = 0; s < x->scalar_count; s++)
                if (strcmp(x->scalars[s].name, name + 5) == 0 &&
                    vy_type_is_float(p->scalars.data[s].type) &&
                    !element(j, p, x, of, &x->scalars[s].value.f, *got, centre, name, 0))
                    return false;
            continue;
        }
        vy_buffer id = vy_program_find_buffer(p, name + 5);
        if (!chosen(j->c.wrt, name + 5, vy_grad_default_wrt(p, id))) continue;
        uint64_t stride = 1 + x->counts[k] / MOST_ELEMENTS;
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

// Workgroups in another order: what several add up may differ in the last bits, and nothing else.
static bool check_order(job *j, const vy_program *p, const image *start, const image *want,
                        const char *what)
{
    image m;
    copy_image(p, start, false, &m);
    vy_eval_options o = launch;
    o.f64 = true;
    o.shuffle_seed = j->c.seed * 2654435761u + 12345;
    bool ok = run_with(p, &m, &o, NOTHING, NULL) || fail(j, "order");
    const char *how = ok ? differs(p, want, &m, false, fmax(j->loose, 1e-9)) : NULL;
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

static vy_grad_options request(const job *j, const vy_module *m)
{
    uint32_t n_of = 0, n_wrt = 0;
    while (n_of < 4 && j->c.of[n_of]) n_of++;
    while (n_wrt < 4 && j->c.wrt[n_wrt]) n_wrt++;
    return (vy_grad_options){.program = vy_program_name(last_program(m)),
                             .of = n_of ? j->c.of : NULL,
                             .of_count = n_of,
                             .wrt = n_wrt ? j->c.wrt : NULL,
                             .wrt_count = n_wrt,
                             .seed_buffer = j->c.seeded};
}

static vy_module *derive(job *j, const vy_module *m, bool with_value, vy_diag *d)
{
    vy_grad_options o = request(j, m);
    o.with_value = with_value;
    return vy_grad(m, &o, d);
}

static bool check_levels(job *j, const vy_module *m, const image *x, const image *g)
{
    bool ok = true;
    vy_diag d;
    for (int level = 0; ok && level <= 3; level++) {
        char which[40];
        snprintf(which, sizeof which, "-O%d", level);
        vy_module *gm = derive(j, m, false, &d), *again = NULL;
        ok = optimised(gm, level, true) || fail(j, "optimise");
        ok = ok && (!level || same_gradient(j, gm, x, g, j->loose, "levels", which));
        if (ok && level % 2 == 0) {
            image mine;
            ok = round_trip(j, gm, "gradient", &again) && gradient_of(j, gm, x, &mine, "text");
            if (ok) {
                ok = same_gradient(j, again, x, &mine, 0, "text", "from its text");
                image_free(&mine);
            }
        }
        vy_module_free(again);
        vy_module_free(gm);
    }
    return ok;
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

// Outputs asked for together with gradients are the forward program's, to the bit but for float atomics.
static bool check_value(job *j, const vy_module *m, const image *x)
{
    vy_diag d;
    vy_module *gm = derive(j, m, true, &d);
    if (!gm && strcmp(d.code, "E0503") == 0) return true; // the value needs tapes
    if (!gm) {
        snprintf(message, sizeof message, "with value: %s [%s]", d.text, d.code);
        return fail(j, "value");
    }
    const vy_program *p = last_program(m);
    image g, forward;
    copy_image(p, x, false, &forward);
    bool ok = run_on(p, &forward, true, NOTHING, NULL) && gradient_of(j, gm, x, &g, "value");
    if (ok) {
        const vy_program *gp = result_of(gm);
        for (uint32_t i = 0; i < g.n; i++) // floats that are read only are no outputs
            if (!chosen(j->c.of, g.buffers[i].name, true)) g.buffers[i].name = "";
        const double bound = bound_between_levels(j, p, false); // sums may come in another order
        const char *how =
            differs(p, &forward, &g, false, fmax(bound, adds_atomically(p) ? 1e-12 : 0));
        if (how) {
            snprintf(message, sizeof message, "%s alone and with the gradient (%s)", how,
                     vy_program_name(gp));
            ok = fail(j, "value");
        }
        image_free(&g);
    }
    image_free(&forward);
    vy_module_free(gm);
    return ok;
}

// An old value may depend on the order: what the program makes of it is its own affair.
static bool asks_for_old_values(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_atomic((vy_op)p->insts.data[id].op) && p->insts.data[id].type != VY_VOID)
            return true;
    return false;
}

static bool check_primal_order(job *j, const vy_program *p, const image *x)
{
    image m;
    if (asks_for_old_values(p)) return true;
    copy_image(p, x, false, &m);
    bool ok = run_on(p, &m, true, NOTHING, NULL) || fail(j, "primal");
    ok = ok && check_order(j, p, x, &m, "the program");
    image_free(&m);
    return ok;
}

#include "gradcheck_modes.h"

static bool check_seed(job *j, const vy_module *m, bool first)
{
    const vy_program *p = last_program(m);
    image x, g;
    bool of[MOST_BUFFERS] = {false};
    make_image(&j->c, p, &x);
    fill_job(j, p, &x);
    for (uint32_t i = 0; i < x.n; i++) {
        vy_buffer b = vy_program_find_buffer(p, x.buffers[i].name);
        of[i] = chosen(j->c.of, x.buffers[i].name, vy_grad_default_of(p, b));
    }
    bool ok = true;
    if (first)
        ok =
            check_primal(j, &x, false) && check_primal(j, &x, true) && check_primal_order(j, p, &x);
    vy_diag d;
    vy_module *gm = ok ? derive(j, m, false, &d) : NULL;
    if (ok && !gm) {
        snprintf(message, sizeof message, "%s %u:%u %s", d.code, d.line, d.column, d.text);
        // An atomic's old value has no derivative, nor has what it decides; nor bits made of floats.
        bool refused = strcmp(d.code, "E0503") == 0 || strstr(d.text, "old value of atomic") ||
                       strstr(d.text, "through a bitcast");
        ok = fail(j, refused ? "refused" : "grad");
    }
    if (ok && gradient_of(j, gm, &x, &g, "gradient")) {
        ok = check_fd(j, p, &x, &g, of) && check_again(j, gm, &x, &g) &&
             (!first || (check_levels(j, m, &x, &g) && check_value(j, m, &x) &&
                         check_accumulated(j, m, &x, &g, VY_ACCUMULATE_ATOMIC, "atomic") &&
                         check_accumulated(j, m, &x, &g, VY_ACCUMULATE_GATHER, "gather") &&
                         check_deterministic(j, m, &x, &g)));
        image_free(&g);
    } else {
        ok = false;
    }
    vy_module_free(gm);
    image_free(&x);
    return ok;
}

static bool valid(job *j, const vy_module *m) // and does not race, nor read what is not written
{
    image x;
    const vy_program *p = last_program(m);
    make_image(&j->c, p, &x);
    fill_job(j, p, &x);
    bool ok = run_on(p, &x, true, EVERYTHING, NULL);
    image_free(&x);
    return ok;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 20);
    size_t n = text ? fread(text, 1, (1 << 20) - 1, f) : 0;
    fclose(f);
    if (text) text[n] = 0;
    return text;
}

static bool check_file(const char *path, uint32_t first, uint32_t seeds)
{
    job j = {.text = read_file(path)};
    j.words = j.text ? calloc(1, strlen(j.text) + 2) : NULL;
    if (!j.words) {
        printf("%s: FAIL read\n", path);
        return false;
    }
    read_directives(&j, &first);
    vy_module *m = parsed(j.text, "parse");
    bool ok = m != NULL, invalid = !ok;
    for (uint32_t s = 0; ok && s < seeds; s++) {
        j.c.seed = first + s;
        j.c.seeded = s % 2;
        ok = !(invalid = !valid(&j, m)) && check_seed(&j, m, s == 0);
    }
    if (ok)
        printf("%s: ok %u compared, %u kinks, %u unreliable, %u unordered\n", path, j.compared,
               j.kinks, j.unreliable, j.unordered);
    else if (invalid)
        printf("%s: invalid %s\n", path, message);
    else if (strcmp(j.oracle, "refused") == 0)
        printf("%s: refused %s\n", path, message);
    else
        printf("%s: FAIL %s %s\n", path, j.oracle, message);
    fflush(stdout);
    vy_module_free(m);
    free(j.words);
    free(j.text);
    return ok || invalid || strcmp(j.oracle, "refused") == 0;
}

int main(int argc, char **argv)
{
    uint32_t seeds = 2, first = 1;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = (uint32_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--first-seed") == 0 && i + 1 < argc)
            first = (uint32_t)atoi(argv[++i]);
        else if (!check_file(argv[i], first, seeds))
            status = 1;
    }
    return status;
}
