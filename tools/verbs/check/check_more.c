// SPDX-License-Identifier: MIT
// check_more.c: sizes of a second round, in which every program has several workgroups, some partly
// filled.
//
// The first round's sizes are small: they fill no workgroup, so it tests nothing that depends on
// wid, num_groups or the end of a workgroup.  Sizes are grown one after the other until each axis
// of each domain is longer than its workgroup and no multiple of it.  Where the program cannot run
// with these, or accesses elements out of range, three other ways are tried: all sizes in
// proportion, all equal, and multiples of the workgroup.
#include "tools/verbs/check/check.h"

#include <stdio.h>
#include <string.h>

enum { MORE_STEPS = 1 << 22, LARGEST = 2048, BEYOND = 2, UNMOVED = 8 };

typedef enum growth { APART, PROPORTIONAL, ALIKE, MULTIPLES, GROWTHS } growth;

// ---------------------------------------------------------------------------------------- launches
// Invocations along x, y, z of the program's domain with k->what; -1: not known.
static void launch(checking *k, const command *c, const vy_program *p, int64_t size[3])
{
    binding b = {0};
    const uint32_t rank = vy_program_over_count(p);
    const bool ok = check_settle(k, c, &b);
    const vys_launch l = vys_binding_values(&b);
    for (uint32_t i = 0; i < 3; i++) size[i] = ok && i < rank ? 1 : -1;
    for (uint32_t axis = 0; ok && axis < rank; axis++) {
        const uint32_t at = rank - 1 - axis < 2 ? rank - 1 - axis : 2;
        const int64_t extent = vys_entry_extent(k->source, p, axis, &l);
        size[at] = size[at] < 0 || extent < 0 ? -1 : size[at] * extent;
    }
    vys_binding_free(&b);
}

static bool suits(int64_t size, uint32_t group, growth g)
{
    if (g == MULTIPLES) return size > group && size % group == 0;
    return group == 1 ? size > 1 : size > group + BEYOND && size % group;
}

// The number of sizes that can grow; the last one is the length of `?` buffers.
static uint32_t sizes_of(const checking *k)
{
    return (k->counts.sizes < CHOSEN_SIZES ? k->counts.sizes : CHOSEN_SIZES) + 1;
}

static int64_t *size_at(checking *k, uint32_t n)
{
    return n + 1 < sizes_of(k) ? &k->what.size[n] : &k->what.length;
}

static bool taken(checking *k, uint32_t n, int64_t size)
{
    for (uint32_t i = 0; i < sizes_of(k); i++)
        if (i != n && *size_at(k, i) == size) return true;
    return false;
}

// Grows the n-th size until axis `at` of p suits; restores it if that never happens.
static bool grow_size(checking *k, const command *c, const vy_program *p, uint32_t at,
                      uint32_t group, growth g, uint32_t n)
{
    int64_t *size = size_at(k, n), was = *size, before[3], now[3];
    launch(k, c, p, before);
    while (++*size <= LARGEST) {
        if (g == MULTIPLES ? *size % group : taken(k, n, *size)) continue;
        launch(k, c, p, now);
        if (now[at] < 0 || (*size > was + UNMOVED && now[at] == before[at])) break;
        if (suits(now[at], group, g)) return true;
    }
    *size = was;
    return false;
}

static void grow_program(checking *k, const command *c, const vy_program *p, growth g)
{
    uint32_t group[3];
    const uint32_t rank = vy_program_over_count(p);
    vy_program_workgroup(p, group);
    for (uint32_t at = 0; at < 3 && at < rank; at++) {
        int64_t size[3];
        launch(k, c, p, size);
        bool fine = suits(size[at], group[at], g);
        for (uint32_t n = 0; !fine && n < sizes_of(k); n++)
            fine = grow_size(k, c, p, at, group[at], g, n);
    }
}

static const vy_program *program_at(vys_entry what, uint32_t i)
{
    if (!what.pipeline) return what.program;
    const vy_pipe_step *s = vy_pipeline_step(what.pipeline, i);
    const vy_module *m = vy_pipeline_module(what.pipeline);
    return s->kind == VY_PIPE_DISPATCH ? vy_module_program(m, s->program) : NULL;
}

static uint32_t programs(vys_entry what)
{
    return what.pipeline ? vy_pipeline_step_count(what.pipeline) : 1;
}

static void grow_programs(checking *k, const command *c, growth g)
{
    for (uint32_t i = 0; i < programs(k->source); i++) {
        const vy_program *p = program_at(k->source, i);
        if (p) grow_program(k, c, p, g);
    }
}

// Has any program several workgroups, the last of an axis not filled?  every: have all, along all
// axes?
static bool spread(checking *k, const command *c, bool every)
{
    bool any = false;
    for (uint32_t i = 0; i < programs(k->source); i++) {
        const vy_program *p = program_at(k->source, i);
        uint32_t group[3];
        int64_t size[3];
        if (!p) continue;
        vy_program_workgroup(p, group);
        launch(k, c, p, size);
        for (uint32_t at = 0; at < 3 && at < vy_program_over_count(p); at++) {
            const bool fine = size[at] > group[at];
            if (every && !(fine && suits(size[at], group[at], APART))) return false;
            any |= fine;
        }
    }
    return every || any;
}

// ----------------------------------------------------------------------------------------- choices
static void grow(const checking *k, checking *more, const command *c, growth g)
{
    const choices small = k->what;
    int64_t most = 0, factor = 1;
    more->what = small;
    grow_programs(more, c, g == MULTIPLES ? MULTIPLES : APART);
    for (uint32_t n = 0; n < k->counts.sizes && n < CHOSEN_SIZES; n++) {
        const int64_t now = more->what.size[n], was = small.size[n] ? small.size[n] : 1;
        if (now > most) most = now;
        if ((now + was - 1) / was > factor) factor = (now + was - 1) / was;
    }
    for (uint32_t n = 0; n < CHOSEN_SIZES; n++) {
        if (g == PROPORTIONAL) more->what.size[n] = small.size[n] * factor;
        if (g == ALIKE) more->what.size[n] = most;
    }
}

typedef struct search {
    choices best;
    liking how;
    vy_diag why;
    bool any;
} search;

static bool attempt(checking *more, const command *c, search *s, vy_diag *d)
{
    const choices what = more->what;
    vy_diag why = {0};
    liking how = NO_RUN;
    binding b = {0};
    const bool small = check_settle(more, c, &b);
    vys_binding_free(&b);
    if (!small || !spread(more, c, false)) return true;
    if (check_start(more, c, &why) && !check_try(more, c, MORE_STEPS, &how, &why, d)) return false;
    if (!s->any || how < s->how) *s = (search){what, how, why, true};
    return true;
}

static void explain(checking *k, const checking *more, const search *s)
{
    text t = {0};
    if (!s->any) {
        text_puts(&t, "no size that is chosen gives the program several workgroups");
    } else {
        text_puts(&t, "with");
        check_sizes_text(more, &t);
        if (vy_diag_is(&s->why, VY_E_EVAL_STEPS))
            text_puts(&t, " a run would take long");
        else
            text_printf(&t, ": %u:%u: %s", s->why.line, s->why.column, s->why.text);
    }
    if (!t.failed) snprintf(k->no_more, sizeof k->no_more, "%s", t.data);
    text_free(&t);
}

// Accesses that are out of range only because sizes have grown are no fault; a data race is.
bool check_grow(checking *k, checking *more, const command *c, bool *found, vy_diag *d)
{
    search s = {.how = NO_RUN};
    more->chosen_data = more->in.count;
    more->what = k->what;
    if (!check_start(more, c, d)) return false;
    if (!check_sizes(k) || spread(more, c, true)) return true;
    for (growth g = APART; g < GROWTHS && !(s.any && (s.how == FINE || s.how == WRONG)); g++) {
        grow(k, more, c, g);
        if (!attempt(more, c, &s, d)) return false;
    }
    *found = s.any && (s.how == FINE || s.how == WRONG);
    if (s.any) more->what = s.best;
    if (s.any && !check_start(more, c, d)) return false;
    if (!*found) explain(k, more, &s);
    return true;
}
