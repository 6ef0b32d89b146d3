// SPDX-License-Identifier: MIT
// grad.c: reverse mode, the driver of one differentiation.
//
//   1. what has a better derivative in another form is rewritten
//   2. activity, masks
//   3. build: parameters, forward sweep, reverse sweep; remove what is not needed
//   4. if poison is left, put those values on tapes and build again (replay.c says why)
//   5. drop parameters that the compiler made and nothing uses
//   6. sums over invocations become programs of their own (gather.h), or get an order
//   (deterministic.h)
#include "autodiff/core/reverse.h"
#include "autodiff/deterministic/sums.h"
#include "autodiff/driver/drop_unread.h"
#include "autodiff/driver/observed.h"
#include "autodiff/facts/facts.h"
#include "autodiff/gather/gather.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/reverse/undo.h"
#include "autodiff/rewrite/argmax.h"
#include "autodiff/rewrite/array_versions.h"
#include "autodiff/rewrite/extremum.h"
#include "autodiff/rewrite/online_softmax.h"
#include "autodiff/rewrite/redundant.h"
#include "autodiff/rewrite/subgroup.h"
#include "autodiff/stages/result.h"
#include "autodiff/storage/sqrt_segments.h"
#include "autodiff/storage/storage.h"
#include "ir/check/check.h"
#include "ir/check/redundant.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------- one attempt
// Refuses stores of all lanes of a workgroup to one element: no single derivative is right for all.
static void refuse_redundant(reverse *r)
{
    uint8_t *stores = vy_reverse_zeroed(r, r->p->insts.count, 1);
    if (!stores) return;
    if (!vy_race_redundant(r->p, &r->facts.s, stores)) {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    for (uint32_t id = 1; id < r->p->insts.count && !r->failed; id++) {
        const uint32_t b = r->p->insts.data[id].aux;
        if (!stores[id] || !vy_is_active(&r->facts, vy_arg(r->p, id, r->p->buffers.data[b].rank)))
            continue;
        vy_reverse_fail(r, VY_E_STORE_RACE, id,
                        "let one of them store it, `if lindex == 0 { … }`, or add what each has "
                        "with atomic_add",
                        "all invocations of a workgroup store to one element of `%s`: a data race, "
                        "and no single derivative is right for all of them",
                        vy_buffer_name(r, b));
    }
    vy_free(stores);
}

// No value is missing, none is stored without being used, and the storage fits.
static bool is_final(reverse *r, vy_program *p)
{
    if (vy_reverse_poison(r, p) || r->failed || vy_restage_settle(r, p)) return false;
    vy_restage_merge(r, p);
    return !vy_spill(r, p) && !r->failed;
}

// Builds until no poison is left: each time, the values that it stands for are taped.
static vy_program *build_with_tapes(reverse *r)
{
    for (;;) {
        vy_program *p = vy_reverse_build(r, BUILD_REVERSE);
        if (!p || is_final(r, p)) return p;
        vy_program_free(p);
        if (r->failed) return NULL;
    }
}

static bool has_replays(const reverse *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        vy_op op = (vy_op)r->p->insts.data[id].op;
        bool replayed = vy_is_loop(op) || op == VY_OP_CHECKPOINT;
        if (replayed && r->facts.busy[id]) return true;
    }
    return false;
}

// Finds what the reverse needs of replays: a trial build in which they yield nothing but poison.
static bool probe_replays(reverse *r, uint8_t *needed)
{
    vy_program *p = vy_reverse_build(r, BUILD_PROBE);
    if (!p) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_POISON) needed[l->index] = 1;
        }
    vy_program_free(p);
    return true;
}

static bool has_standing(reverse *r)
{
    if (vy_find_standing(r)) return true;
    vy_fail_oom(r->out);
    r->failed = true;
    return false;
}

// Builds with what the plan keeps; values whose tapes prove unread are then not taped.
static vy_program *build_as_planned(reverse *r)
{
    uint32_t n = r->p->insts.count;
    uint8_t *marks = vy_reverse_zeroed(r, n, 1);
    bool ok = marks && probe_replays(r, marks) && has_standing(r) &&
              vy_plan(r, marks, r->plan.kept) && vy_rewind(r, marks);
    vy_program *p = ok ? build_with_tapes(r) : NULL;
    if (p) {
        bool unread = false;
        memset(marks, 0, n);
        ok = vy_tape_used(r, p, marks);
        for (uint32_t id = 1; ok && id < n; id++)
            if (r->plan.kept[id] && !marks[id]) r->plan.kept[id] = 0, unread = true;
        if (unread || !ok) {
            vy_program_free(p);
            p = ok ? build_with_tapes(r) : NULL;
        }
    }
    vy_free(marks);
    return p;
}

// Returns `ok`; where that is false memory ran out, and the differentiation has failed.
static bool has_memory(reverse *r, bool ok)
{
    if (ok) return true;
    vy_fail_oom(r->out);
    r->failed = true;
    return false;
}

// Refuses what depends on old values of atomics: see order_dependence.c.  False after an error.
static bool refuse_order(reverse *r)
{
    uint32_t atomic;
    if (!has_memory(r, vy_order(&r->facts, &atomic))) return false;
    if (atomic)
        vy_reverse_fail(
            r, VY_E_NOT_DIFFERENTIABLE, atomic,
            "compute the index or condition without the old value",
            "the reverse needs the old value of %s, which depends on the order of invocations",
            vy_op_infos[r->p->insts.data[atomic].op].text);
    return !r->failed;
}

// Of a host program: one invocation, whose zeros are not masked (autodiff.md 15).
static bool find_host_facts(grad_facts *f)
{
    vy_needs(f);
    vy_buffer_uses(f);
    for (uint32_t i = 1; i < f->p->buffers.count; i++) f->buffers[i].exclusive = true;
    return vy_rotations(f) && vy_equal_loads(f);
}

// Computes the facts that follow from activity.
static bool find_facts(reverse *r)
{
    grad_facts *f = &r->facts;
    if (r->p->host) return has_memory(r, find_host_facts(f));
    if (!has_memory(r, vy_additions(f) && vy_masks(f)) || !refuse_order(r)) return false;
    vy_buffer_uses(f);
    return has_memory(r, vy_together(f) && vy_own(f) && vy_phase_sums(f) && vy_exclusive(f));
}

bool vy_reverse_analyse(reverse *r, const vy_program *source)
{
    if (!vy_reverse_tables(r)) return false;
    vy_reverse_choose(r, source);
    if (r->failed || !has_memory(r, vy_activity(&r->facts))) return false;
    vy_find_phased(&r->facts);
    if (r->p->order == 0 && !r->p->host) refuse_redundant(r);
    return !r->failed && find_facts(r) && vy_find_heirs(r) && vy_restage(r);
}

static vy_program *build_all(reverse *r)
{
    return has_replays(r) ? build_as_planned(r) : build_with_tapes(r);
}

static vy_program *build_anew(reverse *r, bool undo)
{
    memset(r->plan.kept, 0, r->p->insts.count * sizeof *r->plan.kept);
    r->plan.undo.any = undo;
    return build_all(r);
}

// With what can be undone, as far as that pays; NULL: an error.
static vy_program *build_undoing(reverse *r)
{
    vy_program *p = build_anew(r, true);
    if (!p || (!vy_undo_settle(r, p) && !r->failed)) return p;
    vy_program_free(p);
    return r->failed ? NULL : build_anew(r, true);
}

// Of two plans, one that undoes what can be undone and one that undoes nothing, the one with the
// smaller tapes.  Where the first one fails (a log may be in a loop that nothing bounds, where
// nothing else needs a tape), the second one.
static vy_program *build_smaller(reverse *r)
{
    double most = 0;
    vy_program *p = has_replays(r) ? build_anew(r, false) : NULL;
    if (!p && has_replays(r)) return NULL;
    if (p) most = vy_undo_tapes(p);
    vy_program_free(p);
    const uint64_t failures = vy_memory_failures();
    const vy_diag before = r->out->diag;
    p = build_undoing(r);
    if ((p && vy_undo_tapes(p) <= most) || vy_memory_failures() != failures) return p;
    vy_program_free(p);
    r->failed = r->lacks_bound = r->varies_in_size = false;
    r->out->diag = before;
    return build_anew(r, false);
}

vy_program *vy_attempt(reverse *r, const vy_program *source)
{
    if (!vy_reverse_analyse(r, source) || !vy_undo_find(r)) return NULL;
    return r->plan.undo.any ? build_smaller(r) : build_all(r);
}

// Outermost counted loops whose iterations are kept: marks them, and says whether there are any.
static bool choose_loops(const reverse *r, uint8_t *chosen)
{
    enum { SHORT = 16 }; // loops with fewer iterations are not worth it
    bool any = false;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        uint32_t keeper = r->plan.kept[id] - 1, found = 0;
        if (!vy_is_taped(r, id)) continue;
        for (uint32_t l = r->facts.home[id], k = 0; l > keeper; l = r->facts.home[l], k++) {
            if (r->p->insts.data[l].op != VY_OP_LOOP || !vy_tape_has_axis(r, id, k)) continue;
            const vy_scalar *from = vy_id_const(r->p, vy_arg(r->p, l, 0));
            const vy_scalar *to = vy_id_const(r->p, vy_arg(r->p, l, 1));
            if (!from || !to || to->i - from->i >= SHORT) found = l;
        }
        if (found) chosen[found] = 1, any = true;
    }
    return any;
}

// What has a better derivative in another form: see redundant.h, subgroup.h, online_softmax.h,
// argmax.h, extremum.h, array_versions.h.
static bool rewrite_primal(reverse *r, vy_program *primal, const vy_program *source)
{
    const struct {
        bool (*has)(const vy_program *p);
        bool (*pass)(vy_program *p, const uint8_t *active);
    } forms[] = {
        {vy_may_be_redundant, vy_store_once}, {vy_has_subgroup, vy_subgroup_prepare},
        {vy_has_rescaling, vy_rescale},       {vy_has_extremum, vy_extremum_shared},
        {vy_has_winner, vy_winner},           {vy_has_extremum, vy_extremum_prepare},
        {vy_has_versions, vy_array_versions},
    };
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (forms[k].has(primal) && !vy_rewrite_active(r, primal, source, forms[k].pass))
            return false;
    return true;
}

// Is what has this role a gradient that is added to what the caller's buffer holds?
static bool is_added(const reverse *r, const vy_derivative_role *role)
{
    const vy_grad_options *o = r->options;
    if (role->kind == VY_IS_GRADIENT) return r->facts.buffers[role->parameter].kept;
    for (uint32_t n = 0; role->kind == VY_IS_SCALAR_GRADIENT && n < o->add_count; n++)
        if (vy_program_find_scalar(r->p, o->add[n]) == role->parameter) return true;
    return false;
}

// Gradients that began as what the caller's buffer holds are `inout` from now on.
static void keep_gradients(const reverse *r)
{
    vy_module *m = r->out;
    const vy_grad_options *o = r->options;
    const bool any = o->add_count || o->in_place;
    for (uint32_t k = 0; any && k < m->programs.count; k++)
        for (uint32_t i = 1; i < m->programs.data[k]->buffers.count; i++) {
            vy_buf *b = &m->programs.data[k]->buffers.data[i];
            if (b->init == VY_INIT_KEEP) b->cls = VY_INOUT, b->init = VY_INIT_NONE;
        }
    for (uint32_t k = 0; any && k < m->pipelines.count; k++)
        for (uint32_t i = 1; i < m->pipelines.data[k]->signature->buffers.count; i++) {
            vy_buf *b = &m->pipelines.data[k]->signature->buffers.data[i];
            if (is_added(r, &b->role)) b->cls = VY_INOUT;
        }
}

// Attempts it; then, as often as `checkpoint` says, again with the outermost loops that keep their
// iterations cut into segments.  NULL: an error.
static vy_program *attempt_in_segments(reverse *r, vy_program *primal, const vy_program *source,
                                       uint32_t **hints)
{
    for (uint32_t round = 0;; round++) {
        if (!vy_count_loops(primal, hints, &r->plan.counters)) return NULL;
        r->plan.hints = *hints;
        vy_program *p = vy_attempt(r, source);
        if (!p || round == r->options->checkpoint) return p;
        uint8_t *chosen = vy_reverse_zeroed(r, primal->insts.count, 1);
        bool cut = chosen && choose_loops(r, chosen);
        bool ok = cut && vy_segment(primal, chosen, hints);
        vy_free(chosen);
        if (!cut && !r->failed) return p;
        vy_program_free(p);
        vy_reverse_restart(r);
        r->failed |= !ok;
        if (!ok) return NULL;
    }
}

// Sums over invocations become programs of their own where that is allowed and pays.
static bool gather_sums(reverse *r, const vy_program *source, const reverse_observer *observer)
{
    const vy_grad_options *o = r->options;
    const vy_gather_options gathering = {
        .source = source,
        .lean = o->frugal || o->checkpoint,
        .always = o->deterministic || o->accumulate == VY_ACCUMULATE_GATHER,
        .allow_small = o->accumulate == VY_ACCUMULATE_GATHER,
        .assume = o->assume,
        .assume_count = o->assume_count,
    };
    if (o->accumulate == VY_ACCUMULATE_ATOMIC) return true;
    return vy_gather(r->out, r->out->programs.data[r->out->programs.count - 1], &gathering,
                     observer ? observer->gathers : NULL);
}

bool vy_differentiate(vy_program *primal, const vy_program *source,
                      const reverse_observer *observer, reverse *r)
{
    uint32_t *hints = NULL;
    vy_adjoint_buffers names = {0};
    vy_program *p = NULL;
    if (rewrite_primal(r, primal, source)) p = attempt_in_segments(r, primal, source, &hints);
    if (p && observer) observer->note(observer->user, r, p);
    if (p && !vy_wide_find(r, p, &names)) {
        vy_program_free(p);
        p = NULL;
    }
    bool ok = p && vy_reverse_result(r, p) && gather_sums(r, source, observer);
    names.own = r->options->deterministic;
    if (ok && !r->options->again && !(observer && observer->narrow))
        ok = vy_widen_sums(r->out, &names);
    if (ok && r->options->deterministic) ok = vy_order_sums(r->out, r->options->lean_sums);
    if (ok) keep_gradients(r);
    if (ok && r->options->lean_inputs) ok = vy_drop_unread(r->out);
    vy_reverse_free(r);
    vy_free(hints);
    return ok;
}
