// SPDX-License-Identifier: MIT
// gradcheck_run.h: programs of gradcheck_file.c parsed, optimised, printed, run and compared.
// A deep copy of `from`; typed: floats in their own types, not in double.
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

typedef enum report { NOTHING, RACES, EVERYTHING } report; // which reports are failures

static bool run_with(const vy_program *p, image *m, const vy_eval_options *o, report reports,
                     uint64_t *path)
{
    vy_eval_hooks hooks = {.path_hash = path, .uncleared = vy_fully_written};
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
    if (ok && !(reports && report.races) && !(reports == EVERYTHING && report.uninitialised))
        return is_in_range(p, &report);
    left_range = false;
    snprintf(message, sizeof message, "%s: %s", vy_program_name(p),
             ok ? report.first.text : d.text);
    return false;
}

static bool run_on(const vy_program *p, image *m, bool f64, report reports, uint64_t *path)
{
    vy_eval_options o = launch;
    o.f64 = f64;
    o.report_races = o.report_out_of_range = reports >= RACES;
    o.report_uninitialised = reports == EVERYTHING;
    return run_with(p, m, &o, reports, path);
}

// NULL, or a program whose outputs of open length are not compared: a gradient has such an output
// for its length alone, and whether it also computes it is its own matter.
static const vy_program *lengths_of;

static bool is_length_only(const char *name)
{
    const vy_buffer id = lengths_of ? vy_program_find_buffer(lengths_of, name) : (vy_buffer){0};
    if (!id.id) return false;
    const vy_buf *b = &lengths_of->buffers.data[id.id];
    return b->cls == VY_OUT && b->rank && lengths_of->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN;
}

// The first difference between what two runs left, or NULL.  tolerance 0: the bits.
static const char *differs(const vy_program *p, const image *a, const image *b, bool typed,
                           double tolerance)
{
    static char text[300];
    for (uint32_t i = 0; i < a->n; i++) {
        int k = is_length_only(a->buffers[i].name) ? -1 : find(b, a->buffers[i].name);
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

// How far results computed in the program's own types (a) are from those in double (b), relative
// to the largest element of each buffer.
static double spread(const vy_program *p, const image *a, const image *b)
{
    double most = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const vy_type t = p->buffers.data[vy_program_find_buffer(p, a->buffers[i].name).id].type;
        const int k = find(b, a->buffers[i].name);
        double scale = 1, apart = 0;
        for (uint64_t e = 0; k >= 0 && vy_type_is_float(t) && e < a->counts[i]; e++) {
            const char *at = (const char *)a->buffers[i].data + e * vy_type_size(t);
            const double u = vy_scalar_read(t, at).f, v = ((const double *)b->buffers[k].data)[e];
            if (!isfinite(u) || !isfinite(v)) continue;
            scale = fmax(scale, fabs(v));
            apart = fmax(apart, fabs(u - v));
        }
        most = fmax(most, apart / scale);
    }
    return most;
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

// May lanes load for each other?  Where subgroups have as many as is told, and for every other
// program, which then has no sums in shared memory.
static bool has_vectors(const vy_module *m)
{
    enum { LANES = 8 };
    const bool wide = !launch.subgroup_size || launch.subgroup_size >= LANES;
    // A pipeline without parameters of floats has a gradient without programs.
    return wide && vy_module_program_count(m) &&
           vy_program_instruction_count(m->programs.data[0]) % 2;
}

// as_run: with the options that `run` sets beside the level, for one device or another, and several
// elements per invocation wherever possible.
static bool optimised(vy_module *m, int level, bool as_run)
{
    vy_opt_options o = {.level = level, .unchecked = stays_in_range};
    o.final = as_run && level % 2; // nothing is derived from it
    if (as_run && level != 2) tell_few_elements(&o);
    if (level == 2) tell_long_rows(&o);
    if (as_run && level == 1 && vy_module_program_count(m) % 2) o.chunk = 3;
    if (as_run && level < 3) o.by_invocation = true;
    if (as_run && level == 2) o.lanes = 8;
    if (as_run && level == 3)
        o.subgroup_add = o.subgroup_types = o.subgroup_shuffle = o.adjacent = true;
    if (as_run && level == 3 && vy_module_program_count(m) % 2) o.subgroup_size = 32;
    if (as_run && level == 3 && has_vectors(m))
        tell_lanes(&o, 8);
    else
        o.uniform_starts = as_run && level == 3;
    bool ok = vy_optimize(m, &o);
    for (uint32_t i = 0; ok && level >= 2 && i < vy_module_program_count(m); i++) {
        vy_program *p = m->programs.data[i];
        vy_pass_context c = {.options = &o};
        ok = vy_coarsen_all(p, level == 2 ? 3 : 2, level == 3);
        // Fold what became constant, as parsing the text does: texts are compared.
        ok = ok && vy_pass_tidy(p, &c) && vy_pass_schedule_uses(p, &c);
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
