// SPDX-License-Identifier: MIT
// gather.c: gather.h, the driver.
//
//   program f_grad over(i: M, j: N)            pipeline f_grad {
//       for k in rev(0..K) {                       f_gather_b(a, grad_c, grad_b);  // k: K, j: N
//           atomic_add(grad_b[k, j], …);    →      f_gather_a(b, grad_c, grad_a);  // i: M, k: K
//           atomic_add(grad_a[i, k], …);       }
//       }
//
//   1. which buffers: results that the reverse program only adds to, and not each invocation to
//      elements of its own
//   2. each place that adds: can it be gathered, and how (gather_site.c)
//   3. programs: one for the places of a buffer whose elements are named by the same axes; buffers
//      that are added to at the same points share one
//   4. the rest of the reverse program runs first: it fills what the gathers read
//
// A buffer some of whose places cannot be gathered is first added to atomically, then by its
// gather.
#include "autodiff/gather/gather_addend.h"
#include "autodiff/gather/gather_attempts.h"
#include "autodiff/gather/gather_making.h"
#include "autodiff/gather/gather_slice.h"

#include "autodiff/stages/stages.h"
#include "ir/build/edit.h"
#include "ir/core/flow.h"

#include <string.h>

// Of making programs: each drops those that cannot be made; and of finding later values to keep,
// each of which frees others.
enum { ROUNDS = 3 };

// ------------------------------------------------------------------------------------------ stages
static void free_stages(vy_program **stages, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) vy_program_free(stages[k]);
}

// The gather programs; those that cannot be made lose their sites.  False: some have, or memory.
static bool make_stages(gather *g, vy_program **stages, uint32_t *count)
{
    bool all = true;
    *count = 0;
    for (uint32_t k = 0; k < g->program_count && !g->failed; k++) {
        if (!g->programs[k].sites) continue;
        uint32_t made = gather_make_forms(g, k, stages + *count, g->stages + *count);
        *count += made;
        g->failed |= made && !gather_name_forms(g, k, &g->stages[*count - 1]);
        if (made && !g->failed) continue;
        all = false;
        for (uint32_t j = 0; j < g->site_count; j++) {
            if (g->sites[j].program != k + 1) continue;
            g->sites[j].gathered = false;
            g->sites[j].wraps = !g->programs[k].small;
            g->sites[j].why = g->programs[k].small
                                  ? "is to a small buffer, with many additions to each element"
                                  : "could wrap around in its inverse";
        }
    }
    if (!all || g->failed) free_stages(stages, *count);
    return all && !g->failed;
}

bool gather_any(const gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].gathered) return true;
    return false;
}

// The final choice of kept values: those that only refused sites need are not kept.
static void forget_kept(gather *g)
{
    for (uint32_t k = 0; k < g->kept.count; k++) {
        uint32_t id = g->kept.data[k].id;
        bool used = false;
        for (uint32_t j = 0; j < g->site_count && !used; j++)
            used = g->sites[j].gathered && gather_slice_has(g->sites[j].need, id);
        g->kept.data[k].used = used;
    }
}

static bool trim(gather *g, vy_program **stages, uint32_t count, bool whole)
{
    for (uint32_t k = 0; k < count; k++)
        if (!gather_trim(g, &g->stages[k], stages[k], whole)) return false;
    return true;
}

// Replaces the reverse program by `count` stages, of which the first is the rest of it (`rest`) or
// a gather.
static bool put(gather *g, vy_program **stages, uint32_t count, bool rest)
{
    const vy_dim holds = gather_holds(g);
    vy_dim *iterations = vy_arena_alloc(&g->arena, (count + 1) * sizeof *iterations);
    for (uint32_t k = 0; iterations && k < count; k++)
        iterations[k] =
            gather_either(g, holds, k < rest ? (vy_dim){0} : g->stages[k - rest].iterations);
    if (iterations && holds.id) {
        iterations[count] = gather_else(g, holds);
        stages[count] = gather_as_it_is(g);
        count += stages[count] != NULL;
    }
    if (iterations && !g->failed)
        return vy_stages_replace_some(g->m, g->r, stages, iterations, count);
    free_stages(stages, count);
    return false;
}

static bool replace(gather *g, vy_program **stages, uint32_t count)
{
    bool empty;
    *g->made = (gather_made){.any = true};
    forget_kept(g);
    vy_program *rest = gather_rest(g, stages + 1, count, &empty);
    if (!rest) {
        free_stages(stages + 1, count);
        return false;
    }
    // One program may be all there is: it has the parameters of the whole.
    bool whole = empty && count == 1 && !g->m->pipelines.count && !gather_holds(g).id;
    bool ok = trim(g, stages + 1, count, whole);
    if (!empty && ok) {
        bool last = g->m->pipelines.count > 0; // a pipeline has the program's name already
        rest->name = last ? g->r->name : vy_stage_name(g->m, g->r, "reverse");
        ok = rest->name != NULL;
    }
    if (!empty && ok) ok = gather_join_domain(g, rest);
    if (empty || !ok) vy_program_free(rest);
    if (!ok) {
        free_stages(stages + 1, count);
        return false;
    }
    if (whole) {
        for (uint32_t k = 0; k < g->program_count; k++) {
            g->programs[k].name = g->r->name;
            if (g->programs[k].tree) g->programs[k].tree = g->r->name;
        }
        vy_program_replace(g->r, stages[1]);
        return true;
    }
    if (empty) return put(g, stages + 1, count, false);
    stages[0] = g->made->rest = rest;
    return put(g, stages, count + 1, true);
}

// Has an earlier place of the buffer a map in the notes?
static bool is_described(const gather *g, uint32_t site)
{
    for (uint32_t k = 0; k < site; k++)
        if (g->sites[k].text && g->sites[k].access.buffer == g->sites[site].access.buffer)
            return true;
    return false;
}

static void leave_all(gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (!g->sites[k].gathered) continue;
        g->sites[k].gathered = false;
        g->sites[k].program = 0;
        g->sites[k].why = "is beyond a limit of the analysis";
    }
}

// What is kept for one place the others need not recompute.
static void use_kept(gather *g)
{
    gather_need_again(g);
    for (int round = 0; round < ROUNDS && g->kept.count && !g->failed && gather_keep_later(g);
         round++)
        gather_need_again(g);
}

// Does an attempt with calm scalars leave less?  Then it has been made.
static bool is_better_calm(gather *g)
{
    const gather_calm calm = gather_calmer(g);
    if (!calm.scalar || g->failed) return false;
    gather second = *g->begin;
    second.split = g->split;
    second.launch = g->before_calm;
    second.begin = g->begin;
    second.calm = calm;
    const bool ok = gather_make_tables(&second) && gather_find(&second) && gather_run(&second);
    const bool made = ok && (!second.stopped || second.better);
    g->failed |= !gather_clean_up(&second) || !ok;
    return made;
}

// Makes what has been decided: count stages, or none; unless another attempt does better, or this
// one is only to say whether it would gather all.
static bool make(gather *g, vy_program **stages, uint32_t count)
{
    if (g->probe && !g->probe->all && !gather_left_atomic(g))
        *g->probe = (gather_probe){.all = true, .open = gather_holds(g).id != 0};
    if (g->probe) g->probe->any |= gather_any(g);
    for (uint32_t k = 0; g->probe && k < g->site_count; k++)
        g->probe->factors |= !g->sites[k].gathered && g->sites[k].factors;
    const bool better = !(g->probe && g->probe->all) && is_better_calm(g);
    g->better = better;
    if (!g->failed) { // else the other attempt may have replaced g->r
        g->vain = !better && (gather_wins_in_vain(g) || (g->multiples && gather_left_atomic(g)));
        g->stopped = better || g->vain || g->probe || gather_is_calm_in_vain(g);
        if (!g->stopped) return !count || replace(g, stages, count);
    }
    free_stages(stages + 1, count);
    return !g->failed;
}

static bool take_apart(gather *g)
{
    vy_program **stages = vy_arena_alloc(&g->arena, (2 * g->site_count + 3) * sizeof *stages);
    g->stages = vy_arena_alloc(&g->arena, (2 * g->site_count + 2) * sizeof *g->stages);
    g->programs = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *g->programs);
    if (!stages || !g->stages || !g->programs) return false;
    g->points =
        vy_arena_alloc(&g->arena, g->site_count * (g->site_count / 64 + 1) * sizeof *g->points);
    if (!g->points) return false;
    vy_affine_begin_round(&g->a);
    const bool later = g->calmly && !g->calm.scalar;
    for (uint32_t k = 0; k < g->site_count && !g->failed; k++) {
        if (later)
            gather_leave_for_calm(&g->sites[k]);
        else
            gather_decide(g, k);
        if (g->sites[k].gathered) g->sites[k].adding = gather_adding(g, &g->sites[k]);
        if (g->notes && !g->notes->counts_only && g->sites[k].map && !is_described(g, k))
            g->sites[k].text = gather_text(&g->sites[k], g->notes->arena);
    }
    use_kept(g);
    gather_leave_singles(g);
    uint32_t count = 0;
    vy_affine_begin_round(&g->a);
    for (int round = 0; round < ROUNDS; round++) {
        do {
            if (g->failed || !gather_make_programs(g)) return false;
        } while (gather_drop_expensive(g) || gather_drop_wide(g) || gather_drop_long(g));
        if (g->failed) return false;
        if (!gather_any(g)) return make(g, stages, 0);
        gather_require_begun(g);
        if (make_stages(g, stages + 1, &count)) return make(g, stages, count);
        if (g->failed) return false;
    }
    leave_all(g);
    return make(g, stages, 0);
}

// --------------------------------------------------------------------------------------- the whole
bool gather_run(gather *g)
{
    vy_program *kept = g->notes ? vy_program_clone(g->r, g->m) : NULL; // g->r is replaced
    g->affine = true;
    g->before_calm = g->launch;
    gather_assume_calm(g);
    bool ok = !g->failed && gather_find_begun(g) && gather_begin(g, g->source) && take_apart(g);
    const bool again = g->stopped || (g->split.whole && !gather_any(g));
    if (ok && !again) ok = gather_note_conditions(g);
    if (ok && g->notes && !again) ok = kept && gather_take_notes(g, kept, g->notes);
    vy_program_free(kept);
    return ok;
}
