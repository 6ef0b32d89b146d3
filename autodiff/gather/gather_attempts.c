// SPDX-License-Identifier: MIT
// gather_attempts.c: what a reverse program is gathered as: in a form that the analysis can read
// better, if that gathers more, or as it is.
//
//   by cases of scalars (gather_cases.c)               if all is gathered then
//   with scalars that are 1 (gather_units.c)           if all is gathered then
//   with cotangents read in place (gather_apart.c)     if all is gathered then
//   … each with quotients of multiples (gather_multiples.c)   if all is
//   … or with maxima's additions (gather_winner.c)     if all of those are
//   … and over coordinates (gather_split.c)            if anything is
//
// Additions that are left become plain if they are to elements of one invocation each
// (gather_own.c): of all that is left, or, where nothing is gathered, of all cases of scalars.  In
// programs with barriers, or without a domain, that comes first; those without a domain are
// gathered over the invocations of their launch then (gather_groups.c).
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_owning.h"

#include "ir/build/edit.h"

static bool has_views(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].view_of) return true;
    return false;
}

// Do invocations meet, at barriers or in operations among lanes?
static bool meets(const vy_program *p)
{
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count && !any; id++)
        any = vy_op_infos[p->insts.data[id].op].effect == VY_CONV;
    return any;
}

// With `split`, over coordinates where there are such (gather_split.h).  *again: in vain.
static bool attempt(gather *g, bool split, bool *again)
{
    split &= !g->meets; // a condition around barriers, where the last row is not full
    bool ok = (!split || gather_split_domain(g)) && gather_make_tables(g) && gather_find(g);
    if (ok && g->site_count)
        ok = gather_run(g);
    else if (ok && g->notes && !g->split.whole)
        ok = gather_note_left(g, g->r, g->notes);
    const bool vain = g->probe ? !g->probe->all : g->vain || (!g->stopped && !gather_any(g));
    *again = ok && g->split.whole && vain;
    if (*again)
        vy_program_replace(g->r, g->split.whole);
    else
        vy_program_free(g->split.whole);
    return gather_clean_up(g) && ok;
}

// *vain: the additions that gather_winner.c rewrote are not all gathered, and nothing is.
static bool attempts(const gather *begin, bool *vain)
{
    bool ok = true, again = true;
    const int rounds = begin->multiples ? 1 : 2;
    for (int round = 0; round < rounds && ok && again; round++) {
        gather g = *begin;
        g.begin = begin;
        ok = attempt(&g, round == 0, &again);
        *vain = g.vain;
    }
    return ok;
}

// With maxima's additions as the analysis can read them; else as they are.
static bool gather_without_multiples(gather *begin)
{
    gather_winners all;
    bool vain = false, ok = gather_try_winners(begin->r, false, &all);
    begin->winners = all.before ? &all : NULL;
    begin->vain = begin->winners != NULL;
    ok = ok && attempts(begin, &vain);
    if (ok && vain) {
        vy_program_replace(begin->r, all.before);
        all.before = NULL;
        begin->winners = NULL;
        begin->vain = false;
        ok = attempts(begin, &vain);
    }
    gather_free_winners(&all);
    return ok;
}

// With quotients of multiples as the analysis can read them, if all is gathered then.
static bool gather_all(gather *begin)
{
    gather_multiples all;
    bool vain = true, ok = gather_try_multiples(begin, &all);
    begin->multiples = all.before ? &all : NULL;
    if (ok && begin->multiples) ok = attempts(begin, &vain);
    if (ok && vain) {
        if (begin->multiples) vy_program_replace(begin->r, all.before);
        all.before = NULL;
        begin->multiples = NULL;
        begin->launch = (gather_launch){0};
        ok = gather_without_multiples(begin);
    }
    gather_free_multiples(&all);
    return ok;
}

// With barriers, or without a domain: one of the cases.
static bool own_case(gather *begin)
{
    bool made = false;
    return gather_own(begin, false, &made);
}

// As before any attempt.
static void begin_again(gather *begin)
{
    begin->launch = (gather_launch){0};
    begin->multiples = NULL;
    begin->winners = NULL;
    begin->vain = false;
}

// Of a program of which nothing is gathered, or of what is left of one.  *made: no addition of it
// is atomic then.
static bool own_all(gather *begin, bool *made)
{
    const bool plain = begin->r->overs.count && !begin->meets;
    *made = false;
    begin_again(begin);
    begin->owns = true;
    gather_known_cases none = {0};
    if (!plain && !gather_by_cases(begin, own_case, false, &none, made)) return false;
    return *made || gather_own(begin, plain, made);
}

static bool own(gather *begin)
{
    bool made;
    return own_all(begin, &made);
}

// A program with a domain, and what is left of it once something is gathered.
static bool gather_first(gather *begin)
{
    *begin->made = (gather_made){0};
    begin_again(begin);
    if (!gather_all(begin)) return false;
    gather left = *begin;
    left.r = begin->made->rest;
    left.start_count = 0; // which has buffers of its own
    return begin->probe || !left.r || !gather_has_additions(left.r) || own(&left);
}

// The same, with cotangents read in place where a launch shows that they can be.
static bool gather_apart_first(gather *begin)
{
    bool done = false, asked;
    if (!gather_by_apart(begin, gather_first, &done, &asked)) return false;
    if (asked) *begin->made = (gather_made){0};
    return done || asked || gather_first(begin);
}

// The same, and if nothing is gathered all of it.
static bool gather_or_own(gather *begin)
{
    if (!gather_first(begin)) return false;
    gather all = *begin;
    return begin->made->any || (begin->probe && begin->probe->all) || own(&all);
}

// *done: something of it is gathered or plain.
static bool gather_each(gather *begin, bool *done)
{
    gather_known_cases known = {.otherwise = own};
    *done = false;
    if (!gather_by_cases(begin, gather_apart_first, true, &known, done)) return false;
    if (!*done && !gather_by_units(begin, gather_apart_first, done)) return false;
    if (!*done && !gather_apart_first(begin)) return false;
    *done |= begin->made->any || (begin->probe && begin->probe->all);
    if (*done || begin->meets) return true;
    if (!gather_by_cases(begin, gather_or_own, false, &known, done)) return false;
    return *done || own_all(begin, done);
}

// Where that is in vain, and a value would have had to be kept over coordinates whose last row may
// not be full, with such values.  (What is plain in place needs none.)
static bool gather_simply(gather *begin)
{
    bool wants = false, done = false;
    gather first = *begin;
    first.wants = &wants;
    if (!gather_each(&first, &done)) return false;
    if (done || !wants || begin->keeps) return true;
    if (begin->notes) begin->notes->notes.count = 0;
    begin->keeps = true;
    if (!gather_each(begin, &done)) return false;
    if (begin->probe) begin->probe->keeps = true;
    return true;
}

static bool has_linked(const vy_program *p, const vy_buf *b, bool workspaces)
{
    bool any = false;
    for (uint32_t i = 1; p && b->link && i < p->buffers.count && !any; i++)
        any = p->buffers.data[i].link == b->link && (p->buffers.data[i].workspace || !workspaces);
    return any;
}

// Has another program of the module a workspace of r, too?  It may see what is stored there.  What
// the source has as well is a parameter here: as in a derivative that was printed and read.
static bool is_staged(const vy_module *m, const vy_program *r, const vy_program *source)
{
    bool any = false;
    for (uint32_t j = 1; j < r->buffers.count && !any; j++) {
        const vy_buf *b = &r->buffers.data[j];
        if (!b->workspace || has_linked(source, b, false)) continue;
        for (uint32_t k = 0; k < m->programs.count && !any; k++)
            any = m->programs.data[k] != r && has_linked(m->programs.data[k], b, true);
    }
    return any;
}

// What a stage over the invocations of a launch becomes.
static bool gather_grid(gather *begin)
{
    begin->owns = false;
    return gather_simply(begin);
}

// The program with a domain, or over that of its launch.  What it has noted replaces what was.
static bool gather_any_domain(gather *begin)
{
    bool done;
    if (!begin->r->overs.count) return gather_by_groups(begin, gather_grid, &done);
    return vy_affine_name_scalars(begin->r) && gather_simply(begin);
}

// Where invocations meet, and without a domain, what is plain needs nothing kept: that is tried
// first.  What a workgroup has made together is a number that each invocation keeps; sums over
// workgroups are gathered.
static bool own_or_gather(gather *begin)
{
    gather first = *begin;
    bool done = false;
    if (!own_all(&first, &done)) return false;
    if (done) return true;
    vy_gather_note_vec before = {0};
    if (begin->notes) before = begin->notes->notes, begin->notes->notes = (vy_gather_note_vec){0};
    const bool ok = gather_any_domain(begin) && gather_note_before(begin, &before);
    vy_vec_free(&before);
    return ok;
}

bool vy_gather(vy_module *m, vy_program *whole, const vy_gather_options *o, vy_gather_notes *notes)
{
    gather_made made = {0};
    vy_isl_memory isl = {0};
    bool ok = true;
    gather begin = {.m = m,
                    .r = whole,
                    .lean = o->lean,
                    .always = o->always,
                    .allow_small = o->allow_small,
                    .gradients = o->gradients,
                    .assume = o->assume,
                    .assume_count = o->assume_count,
                    .source = o->source,
                    .notes = notes,
                    .meets = meets(whole),
                    .made = &made,
                    .isl = &isl};
    if (has_views(whole) || !gather_has_additions(whole)) return true;
    begin.staged = is_staged(m, whole, o->source);
    if (!gather_guard_once(whole))
        ok = false;
    else if (whole->overs.count && !begin.meets)
        ok = vy_affine_name_scalars(whole) && gather_simply(&begin);
    else
        ok = own_or_gather(&begin);
    vy_isl_memory_end(&isl);
    if (!ok && vy_module_ok(m)) vy_fail_oom(m);
    return ok;
}
