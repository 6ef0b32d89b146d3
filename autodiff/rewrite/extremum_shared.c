// SPDX-License-Identifier: MIT
// extremum_shared.c: atomic_min and atomic_max of floats on shared arrays before they are
// differentiated.
//
//   atomic_max(t[c], e);        atomic_max(t[c], stop_grad(e));  shared winner_t;
//   barrier();                  barrier();
//                           →   if e == t[c] { atomic_max(winner_t[c], lindex + 1); }
//                               barrier();
//                               if winner_t[c] == lindex + 1 { t[c] = straight_through(t[c], e); }
//                               barrier();
//
// On a buffer, finding the winner takes separate programs (extremum.c).  A workgroup finds its own
// between barriers, in the program: candidates that equal the final value vote, and of those the
// last one of the highest invocation is stored.  That changes no bit of the array, and it is a
// plain store: by the existing rules the derivative of the element is the winner's, or that of the
// previous contents where no candidate won.  The atomic itself passes adjoints through unchanged
// (sweep_memory.c).  Replays, tapes, masks and second derivatives need no special case, and the
// reverse compares no floats: it reads the number of the winner.
//
// Barriers need uniform control flow, so all this is placed in the innermost region that the whole
// workgroup executes, ahead of the barrier that ends the phase, or of the region's end.  Candidates
// leave the arms of `if`s through local arrays, which become values.  Of a divergent loop,
//
//   for j in lindex..n step 64 { atomic_max(t[c], e(j)); }
//
// an invocation's maximum, the last one among equals, is a single candidate, after the loop; where
// c changes in the loop, it has one for each element (extremum_loops.c, extremum_candidate.c).  The
// candidates of an invocation in one phase are numbered, so that its last one wins.  In a uniform
// loop without barriers each iteration is a phase: among equals of several iterations the last
// iteration's wins.
//
// Elements of a buffer that one workgroup owns are like those of a shared array, and where the
// program also accesses them otherwise they are treated alike; the winners are in a workspace then,
//
//   atomic_max(best[wid.x], e);  barrier();  y[i] = best[wid.x];
//
// and the atomic's value is @candidate(…, 0), which tells it from those of extremum.c.  What is a
// site, and what is refused: extremum_sites.c.
#include "autodiff/rewrite/extremum_vote.h"

#include "ir/pass/pass.h"
#include "ir/check/uniform.h"

// ----------------------------------------------------------------------------------------- finding
// Walks backwards: a barrier, or a construct with one, ends the phase; a marker that is no opener
// ends its region.
static bool find_points(vy_voting *e)
{
    const vy_program *p = e->w.p;
    uint32_t n = p->insts.count, barriers = 0;
    uint32_t *behind = vy_rewrite_ids(&e->w); // by instruction: barriers from there to the end
    if (!behind) return false;
    e->point[n] = n;
    for (uint32_t id = n; id-- > 1;) {
        vy_op op = (vy_op)p->insts.data[id].op;
        barriers += op == VY_OP_BARRIER;
        behind[id] = barriers;
        uint32_t end = vy_op_opens(op) ? vy_closer(p, &e->w.s, id) : 0;
        bool slot = op == VY_OP_CARRY || op == VY_OP_RESULT;
        bool ends = op == VY_OP_BARRIER || (vy_is_marker(op) && !vy_op_opens(op) && !slot);
        if (end)
            e->point[id] = behind[end] != barriers ? id : e->point[end + 1];
        else
            e->point[id] = ends ? id : e->point[id + 1];
    }
    return true;
}

static bool add_site(vy_voting *e, const uint32_t *differs, uint32_t id)
{
    const vy_program *p = e->w.p;
    vy_candidate s = {.atomic = id};
    for (uint32_t up = e->w.s.parent[id]; up; up = e->w.s.parent[up])
        if (differs[up]) s.outer = up;
    for (uint32_t up = s.outer ? e->w.s.parent[id] : 0; up && up >= s.outer; up = e->w.s.parent[up])
        if (vy_is_loop((vy_op)p->insts.data[up].op)) s.loop = up;
    s.point = e->point[(s.outer ? vy_closer(p, &e->w.s, s.outer) : id) + 1];
    uint32_t rank = vy_candidate_rank(e, &s);
    s.places = vy_arena_alloc(&e->w.arena, (rank + 1) * sizeof *s.places);
    s.index = vy_arena_alloc(&e->w.arena, (rank + 1) * sizeof *s.index);
    if (s.places && s.index && vy_vec_push(&e->sites, s)) return true;
    vy_fail_oom(p->module);
    return false;
}

static bool make_tables(vy_voting *e)
{
    size_t n = e->w.p->insts.count, buffers = e->w.p->buffers.count;
    e->point = vy_rewrite_table(&e->w, (n + 1) * sizeof *e->point);
    e->first_at = vy_rewrite_table(&e->w, (n + 1) * sizeof *e->first_at);
    e->used = vy_rewrite_uses(&e->w);
    e->of = vy_rewrite_ids(&e->w);
    e->counts = vy_rewrite_table(&e->w, buffers * sizeof *e->counts);
    e->winner = vy_rewrite_table(&e->w, buffers * sizeof *e->winner);
    return !e->w.oom;
}

static bool find_sites(vy_voting *e)
{
    const vy_program *p = e->w.p;
    const uint32_t *differs = make_tables(e) ? vy_differences(p, &e->w.s, NULL, &e->w.arena) : NULL;
    if (!differs || !vy_candidate_sites(e, differs) || !find_points(e)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!e->sites_at[id]) continue;
        if (!add_site(e, differs, id)) return false;
        e->of[id] = e->sites.count;
    }
    if (!vy_candidate_loops(e)) return false;
    for (uint32_t k = e->sites.count; k-- > 0;) {
        vy_candidate *s = &e->sites.data[k];
        if (!vy_candidate_leads(e, s)) continue;
        s->next = e->first_at[s->point];
        e->first_at[s->point] = k + 1;
    }
    return true;
}

// ------------------------------------------------------------------------------------- entry point
bool vy_extremum_shared(vy_program *p, const uint8_t *active)
{
    vy_voting e = {.active = active};
    bool ok = vy_rewrite_begin(&e.w, p) && find_sites(&e), changed = false;
    if (ok && (e.sites.count || e.any_own)) vy_voting_rewrite(&e);
    vy_vec_free(&e.sites);
    if (!vy_rewrite_end(&e.w, ok, &changed) || !changed) return vy_module_ok(p->module);
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    return vy_pass_scalarise(p, &c) && vy_pass_forward(p, &c) && vy_pass_cleanup(p, &c) &&
           vy_pass_dce(p, &c) && vy_pass_dead_arrays(p, &c);
}
