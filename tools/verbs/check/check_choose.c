// SPDX-License-Identifier: MIT
// check_choose.c: sizes and data that suit the program that is checked.
//
// The default choices suit most programs.  One that races on them, or accesses elements out of
// range, may be meant for other data: integers that repeat cannot be indices of stores, a filter is
// smaller than its image, an extent is fixed.  So other choices are tried, and the first that suit
// are used.  Where none suits, either the user has to give data or the program is wrong: the
// defaults are kept, and the check reports what happens with them.  They are also kept where a data
// race, or a read of an element that no invocation has written, occurs with all data at the default
// sizes: sizes that hide it are reported, but not used.  Where there is none, each size plus one is
// tried as well, so that sizes that were even are odd.  Where a buffer has no shape at the default
// sizes, as the outputs of a filter with gaps, others are used at which all buffers have elements.
#include "tools/verbs/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Limits in instructions × invocations of the program on the default choices, and on any other; in
// elements of its buffers.
enum { CHOSEN_STEPS = 1 << 27, TRIED_STEPS = 1 << 20, TRIED_ELEMENTS = 1 << 20 };

bool check_chose(const checking *k, bool integers)
{
    for (uint32_t i = k->chosen_data; i < k->in.count; i++)
        if (!integers || k->in.data[i].kind != SPEC_NORMAL) return true;
    return false;
}

bool check_sizes(const checking *k)
{
    bool lengths = false;
    for (uint32_t i = 0; i < k->start.buffer_count; i++)
        lengths |= k->start.buffers[i].chosen_length;
    return k->counts.sizes || lengths;
}

bool check_start(checking *k, const command *c, vy_diag *d)
{
    binding *b = &k->start;
    vys_binding_free(b);
    while (k->in.count > k->chosen_data) spec_free(&k->in.data[--k->in.count]);
    return binding_create(b, k->source, false, d) && binding_set(b, &c->o.set, d) &&
           binding_groups(b, c->o.groups, d) && default_data(&k->in, b, &k->what, d) &&
           binding_specs(b, &k->in, NULL, d) && default_scalars(b, &k->what, &k->counts, d) &&
           vys_binding_fill(b, d);
}

vy_eval_buffer *check_buffers(const binding *b, vy_diag *d)
{
    vy_eval_buffer *list = calloc(b->buffer_count + 1, sizeof *list);
    if (!list) fail_memory(d);
    for (uint32_t i = 0; list && i < b->buffer_count; i++) {
        const bound_buffer *from = &b->buffers[i];
        list[i] = (vy_eval_buffer){from->info.name, from->value.data, from->value.shape,
                                   from->value.rank};
    }
    return list;
}

static liking judge(const command *c, bool ran, const vy_eval_report *report, vy_diag *why)
{
    if (!ran) return NO_RUN;
    if (report->races || report->uninitialised) return *why = report->first, WRONG;
    if (report->out_of_range && c->o.allow != ALLOW_OUT_OF_RANGE)
        return *why = report->first_out_of_range, OUT_OF_RANGE;
    return FINE;
}

bool check_try(const checking *k, const command *c, uint64_t steps, liking *how, vy_diag *why,
               vy_diag *d)
{
    const binding *b = &k->start;
    vy_eval_options o = {.subgroup_size = (uint32_t)c->o.subgroup_size,
                         .report_races = true,
                         .report_uninitialised = true,
                         .report_out_of_range = true,
                         .max_steps = steps};
    vy_eval_report report = {0};
    vy_eval_buffer *buffers = check_buffers(b, d);
    vy_eval_scalar *scalars = calloc(b->scalar_count + 1, sizeof *scalars);
    const bool ok = buffers && (scalars || fail_memory(d));
    for (uint32_t i = 0; ok && i < b->scalar_count; i++)
        scalars[i] = (vy_eval_scalar){b->scalars[i].info.name, b->scalars[i].value};
    vys_binding_has_groups(b, o.groups);
    *why = (vy_diag){0};
    const bool ran =
        ok && (k->source.pipeline ? vy_eval_pipeline(k->source.pipeline, buffers, b->buffer_count,
                                                     scalars, b->scalar_count, &o, &report, why)
                                  : vy_eval(k->source.program, buffers, b->buffer_count, scalars,
                                            b->scalar_count, &o, &report, why));
    *how = judge(c, ran, &report, why);
    free(buffers);
    free(scalars);
    return ok;
}

// ----------------------------------------------------------------------------------- other choices
// The n-th constant extent of a buffer that no default size reaches; 0: there are no more.
static int64_t fixed_extent(const binding *b, uint32_t n)
{
    for (uint32_t i = 0; i < b->scalar_count; i++) b->known[i] = false;
    vy_program_dim_values(b->program, b->values, b->known, NULL, NULL, b->dims, b->dim_states);
    for (uint32_t i = 0; i < b->buffer_count; i++)
        for (uint32_t axis = 0; axis < b->buffers[i].info.rank; axis++) {
            const uint32_t id = b->buffers[i].info.dims[axis].id;
            if (b->dim_states[id] == VY_DIM_IS_KNOWN && b->dims[id] > 0 && !n--) return b->dims[id];
        }
    return 0;
}

static void all_sizes(choices *what, int64_t size)
{
    for (uint32_t i = 0; i < CHOSEN_SIZES; i++) what->size[i] = size;
    what->length = size;
}

// The n-th way to choose sizes of `counts` scalars; false: there are no more.
static bool other_sizes(const checking *k, uint32_t n, choices *what)
{
    static const int64_t all[] = {5, 8, 16, 64};
    static const int64_t rows[][5] = {{3, 4, 5, 6, 7},
                                      {12, 6, 3, 3, 3},
                                      {3, 6, 12, 24, 24},
                                      {7, 2, 2, 2, 2}};
    if (n == 0) return true;
    if (--n < COUNT_OF(all)) return all_sizes(what, all[n]), true;
    n -= COUNT_OF(all);
    for (uint32_t i = 0; n < COUNT_OF(rows) && i < CHOSEN_SIZES; i++)
        what->size[i] = rows[n][i % 5];
    if (n < COUNT_OF(rows)) return true;
    n -= COUNT_OF(rows);
    const uint32_t scalars = k->counts.sizes < CHOSEN_SIZES ? k->counts.sizes : CHOSEN_SIZES;
    if (n < 2 * scalars) return what->size[n / 2] = n % 2 ? 2 : 12, true;
    const int64_t extent = fixed_extent(&k->start, n - 2 * scalars);
    return extent ? all_sizes(what, extent), true : false;
}

static uint64_t elements(const binding *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->buffer_count; i++) n += b->buffers[i].value.count;
    return n;
}

bool check_settle(checking *k, const command *c, binding *b)
{
    vy_diag unused = {0};
    return binding_create(b, k->source, false, &unused) && binding_set(b, &c->o.set, &unused) &&
           binding_groups(b, c->o.groups, &unused) && binding_specs(b, &k->in, NULL, &unused) &&
           default_scalars(b, &k->what, NULL, &unused) && vys_binding_settle(b, &unused) &&
           elements(b) <= TRIED_ELEMENTS;
}

static bool small(checking *k, const command *c)
{
    binding b = {0};
    const bool ok = check_settle(k, c, &b);
    vys_binding_free(&b);
    return ok;
}

typedef struct search {
    choices best;
    liking how;
    bool filled; // only sizes at which every buffer has elements
} search;

static bool is_filled(const binding *b)
{
    for (uint32_t i = 0; i < b->buffer_count; i++)
        if (!b->buffers[i].value.count) return false;
    return true;
}

// Choices that cannot be bound contradict what was given.
static bool attempt(checking *k, const command *c, const choices *what, search *s, vy_diag *d)
{
    vy_diag why = {0};
    liking how = NO_RUN;
    k->what = *what;
    if (!small(k, c) || !check_start(k, c, &why)) return true;
    if (s->filled && !is_filled(&k->start)) return true;
    if (!check_try(k, c, TRIED_STEPS, &how, &why, d)) return false;
    if (how >= s->how) return true;
    *s = (search){*what, how, s->filled};
    return true;
}

// All other data for one choice of sizes.
static bool other_integers(checking *k, const command *c, const choices *sizes, bool few,
                           bool scalars, search *s, vy_diag *d)
{
    static const int64_t others[] = {2, 1, 0, 3};
    const bool data = check_chose(k, true);
    for (uint32_t o = 0; o < (scalars ? COUNT_OF(others) : 1); o++)
        for (int m = few ? INTEGERS_ZEROS : INTEGERS_CYCLE; m <= (few    ? INTEGERS_ZEROS
                                                                  : data ? INTEGERS_PAIRS
                                                                         : INTEGERS_CYCLE);
             m++) {
            choices what = *sizes;
            what.other = others[o];
            what.integers = m;
            if (s->how != FINE && !attempt(k, c, &what, s, d)) return false;
        }
    return true;
}

// Other data and sizes, or only other data.
static bool look_further(checking *k, const command *c, bool sizes, search *s, vy_diag *d)
{
    const bool data = check_chose(k, true), scalars = sizes && k->counts.others;
    for (int few = 0; few < (data ? 2 : 1); few++)
        for (uint32_t n = 0; s->how != FINE && (n == 0 || sizes); n++) {
            choices what = default_choices();
            if (!other_sizes(k, n, &what)) break;
            if (!other_integers(k, c, &what, few, scalars, s, d)) return false;
        }
    return true;
}

static bool endless(const vy_diag *why) { return vy_diag_is(why, VY_E_EVAL_STEPS); }

// Sizes and scalars at which the fault is not visible are reported, as the program may be meant for
// only those.
static bool name_others(checking *k, const command *c, const choices *what, vy_diag *d)
{
    text t = {0};
    k->what = *what;
    if (!check_start(k, c, d)) return false;
    check_sizes_text(k, &t);
    if (!t.failed && t.size) snprintf(k->elsewhere, sizeof k->elsewhere, "%s", t.data);
    text_free(&t);
    return true;
}

// Uses the next sizes if a fault shows there.
static bool look_beside(checking *k, const command *c, vy_diag *d)
{
    choices next = default_choices();
    liking how = NO_RUN;
    vy_diag why = {0};
    for (uint32_t i = 0; i < CHOSEN_SIZES; i++) next.size[i]++;
    k->what = next;
    const bool starts = small(k, c) && check_start(k, c, &why);
    if (starts && !check_try(k, c, TRIED_STEPS, &how, &why, d)) return false;
    k->what = how == WRONG ? next : default_choices();
    return check_start(k, c, d);
}

// With the default sizes some buffer has no shape, as where a filter with gaps is longer than its
// signal.  d: why.
static bool look_for_any(checking *k, const command *c, vy_diag *d)
{
    search s = {default_choices(), NO_RUN, true};
    vy_diag other = {0};
    text t = {0};
    const chosen_counts counts = k->counts;
    check_sizes_text(k, &t);
    if (!t.failed && t.size)
        snprintf(d->fix, sizeof d->fix, "`check` chose%.100s: give others with --set", t.data);
    text_free(&t);
    if (!counts.sizes) return false;
    if (!look_further(k, c, true, &s, &other)) return *d = other, false;
    if (s.how == NO_RUN) return false;
    k->what = s.best;
    return check_start(k, c, d);
}

bool check_choose(checking *k, const command *c, vy_diag *d)
{
    search s = {default_choices(), FINE, false};
    vy_diag first = {0};
    k->chosen_data = k->in.count;
    k->what = s.best;
    if (!check_start(k, c, d)) return look_for_any(k, c, d);
    const bool ours = check_chose(k, false) || k->counts.sizes || k->counts.others;
    if (!ours) return true;
    if (!check_try(k, c, CHOSEN_STEPS, &s.how, &first, d)) return false;
    const liking before = s.how;
    // The trial has written to the buffers.
    if (before == FINE) return k->counts.sizes ? look_beside(k, c, d) : check_start(k, c, d);
    if (before == WRONG && !look_further(k, c, false, &s, d)) return false;
    const bool wrong = s.how == WRONG; // with all data that were tried
    if (!look_further(k, c, true, &s, d)) return false;
    if (s.how == NO_RUN && endless(&first)) {
        *d = first;
        snprintf(d->fix, sizeof d->fix,
                 "`check` chose the data (`--in NAME=SPEC` gives other ones): give data on "
                 "which the program ends sooner");
        return false;
    }
    if (wrong && s.how < before && !name_others(k, c, &s.best, d)) return false;
    k->what = s.how < before && !wrong ? s.best : default_choices();
    return check_start(k, c, d);
}
