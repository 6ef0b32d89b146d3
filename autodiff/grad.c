// SPDX-License-Identifier: MIT
// grad.c: reverse mode, the driver of one differentiation.
//
//   1. what has a better derivative in another form is rewritten
//   2. activity, masks
//   3. build: parameters, forward sweep, reverse sweep; remove what nobody asks for
//   4. if poison is left, put those values on tapes and build again (replay.c says why)
//   5. drop parameters that the compiler made and nothing uses
//   6. sums over invocations become programs of their own (gather.h), or get an order (deterministic.h)
#include "extremum.h"
#include "gather.h"
#include "rescale.h"
#include "reverse.h"
#include "segment.h"
#include "subgroup.h"
#include "winner.h"

#include "ir/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vy_reverse_fail(reverse *r, vy_code code, uint32_t id, const char *fix, const char *format,
                     ...)
{
    char text[sizeof r->out->diag.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const vy_inst *i = id ? &r->p->insts.data[id] : NULL;
    vy_fail(r->out, code, i ? i->line : r->p->line, i ? i->column : 0, fix, "%s", text);
    r->failed = true;
}

// -------------------------------------------------------------------------------------- side tables
static void *zeroed(reverse *r, size_t count, size_t size)
{
    void *p = vy_realloc(NULL, (count + 1) * size);
    if (p) return memset(p, 0, (count + 1) * size);
    vy_fail_oom(r->out);
    r->failed = true;
    return NULL;
}

// clang-format off
#define TABLES(T)                                                                                  \
    T(activity, n) T(home, n) T(scope, n) T(needed, n) T(maskable, n) T(busy, n) T(map, n) T(count, n)         \
    T(adjoint, n) T(mask, n) T(kept, n) T(counter, n) T(tape, n) T(tape_slot, n) T(slot, n) T(own, n) T(adds, n) T(together, n) T(stage, n) T(staged_at, n) T(leaf_activity, leaves)            \
    T(leaf_map, leaves) T(leaf_adjoint, leaves) T(leaf_grad, leaves) T(leaf_slot, leaves)          \
    T(buffers, r->p->buffers.count) T(dims, r->p->dims.count)
// clang-format on

static bool make_tables(reverse *r)
{
    size_t n = r->p->insts.count, leaves = r->p->leaves.count;
#define T(name, size) r->name = zeroed(r, size, sizeof *r->name);
    TABLES(T)
#undef T
    if (r->failed) return false;
    if (!vy_structure_make(r->p, &r->s)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    for (uint32_t k = r->counters.count; k-- > 0;) r->counter[r->counters.data[k].loop] = k + 1;
    r->has_halves = vy_program_computes(r->p, VY_F16);
    for (uint32_t id = 1; id < n; id++) {
        uint32_t up = r->s.parent[id];
        bool loop =
            up && (r->p->insts.data[up].op == VY_OP_LOOP || r->p->insts.data[up].op == VY_OP_WHILE);
        r->home[id] = loop ? up : up ? r->home[up] : 0;
        loop |= up && r->p->insts.data[up].op == VY_OP_CHECKPOINT;
        r->scope[id] = loop ? up : up ? r->scope[up] : 0;
    }
    return true;
}

static void free_tables(reverse *r)
{
#define T(name, size) vy_free(r->name);
    TABLES(T)
#undef T
    vy_vec_free(&r->log);
    vy_vec_free(&r->stages);
    vy_arena_free(&r->arena);
    vy_vec_free(&r->counters);
    vy_structure_free(&r->s);
}

// Whose copy records what the replay of `root` cannot have: the CHECKPOINT around it, or 0.
static uint32_t recorder(const reverse *r, uint32_t root)
{
    uint32_t up = r->scope[root];
    while (up && r->p->insts.data[up].op != VY_OP_CHECKPOINT) up = r->scope[up];
    return up;
}

static void refuse_together(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    const char *name = vy_string(&r->p->module->names, i->name);
    if (i->op == VY_OP_LOAD && !*name) name = vy_buffer_name(r, i->aux);
    vy_reverse_fail(
        r, VY_E_GRAD_UNSUPPORTED, id, "compute it from loop counters, scalars, wid or `in` buffers",
        "whether a barrier is reached depends on %s%s%s of an earlier iteration, which the "
        "reverse cannot have in all invocations alike",
        *name ? "`" : "a value", name, *name ? "`" : "");
}

// Values behind poison that is still used: true if there are new ones to tape.
bool vy_reverse_poison(reverse *r, const vy_program *p)
{
    bool found = false;
    uint32_t stuck = 0;
    for (uint32_t id = 1; id < p->insts.count && !r->failed; id++) {
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a)) continue;
            const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(a)];
            if (l->kind != VY_LEAF_POISON) continue;
            const vy_inst *made = &r->p->insts.data[l->index];
            if (vy_op_is_atomic((vy_op)made->op)) {
                vy_reverse_fail(
                    r, VY_E_NOT_DIFFERENTIABLE, l->index,
                    "compute the index or condition without the old value",
                    "the reverse needs the old value of %s, which depends on the order of "
                    "invocations",
                    vy_op_infos[made->op].text);
                return false;
            }
            if (r->together[l->index]) {
                refuse_together(r, l->index);
                return false;
            }
            // The copy that records it is the next one out that may have the value.
            uint32_t keeper = recorder(r, l->axis);
            if (r->kept[l->index] && r->kept[l->index] <= keeper + 1) {
                stuck = l->index;
                continue;
            }
            r->kept[l->index] = keeper + 1;
            found = true;
        }
    }
    if (stuck && !found && !r->failed)
        vy_reverse_fail(r, VY_E_INTERNAL, stuck, NULL,
                        "a kept value cannot be had where it is needed");
    return found;
}

// -------------------------------------------------------------------------------------- one attempt
// What this form cannot do yet is refused before anything is built.
static void refuse_unsupported(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const vy_buf *b = &r->p->buffers.data[i];
        if (!b->workspace && b->init == VY_INIT_NONE) continue;
        vy_reverse_fail(r, VY_E_GRAD_UNSUPPORTED, 0, "differentiate the original program",
                        "`%s` is a compiler-made buffer; programs that have such buffers cannot be "
                        "differentiated again yet",
                        b->name);
        return;
    }
}

// What all lanes of a workgroup store to one element alike: no derivative belongs to all of them.
static void refuse_redundant(reverse *r)
{
    uint8_t *stores = zeroed(r, r->p->insts.count, 1);
    if (!stores) return;
    if (!vy_race_redundant(r->p, &r->s, stores)) {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    for (uint32_t id = 1; id < r->p->insts.count && !r->failed; id++) {
        const uint32_t b = r->p->insts.data[id].aux;
        if (!stores[id] || !vy_is_active(r, vy_arg(r->p, id, r->p->buffers.data[b].rank))) continue;
        vy_reverse_fail(r, VY_E_STORE_RACE, id,
                        "let one of them store it, `if lindex == 0 { … }`, or add what each has "
                        "with atomic_add",
                        "all invocations of a workgroup store to one element of `%s`: a data race, "
                        "and no derivative belongs to all of them",
                        vy_buffer_name(r, b));
    }
    vy_free(stores);
}

// Nothing is missing, nothing is stored for nobody, and there is room for it.
static bool is_final(reverse *r, vy_program *p)
{
    if (vy_reverse_poison(r, p) || r->failed || vy_restage_settle(r, p)) return false;
    vy_restage_merge(r, p);
    return !vy_spill(r, p) && !r->failed;
}

// Builds until no poison is left: each time, what it stands for is kept.
static vy_program *build_with_tapes(reverse *r)
{
    for (;;) {
        vy_program *p = vy_reverse_build(r);
        if (!p || is_final(r, p)) return p;
        vy_program_free(p);
        if (r->failed) return NULL;
    }
}

static bool has_replays(const reverse *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        vy_op op = (vy_op)r->p->insts.data[id].op;
        bool replayed = op == VY_OP_LOOP || op == VY_OP_WHILE || op == VY_OP_CHECKPOINT;
        if (replayed && r->busy[id]) return true;
    }
    return false;
}

// What the reverse asks of replays: a trial build in which they have nothing.
static bool ask(reverse *r, uint8_t *asked)
{
    r->probing = true;
    vy_program *p = vy_reverse_build(r);
    r->probing = false;
    if (!p) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            const vy_leaf *l = VY_IS_LEAF(a) ? &p->leaves.data[VY_LEAF_INDEX(a)] : NULL;
            if (l && l->kind == VY_LEAF_POISON) asked[l->index] = 1;
        }
    vy_program_free(p);
    return true;
}

// Builds with what the plan keeps; what turns out not to be read is not kept after all.
static vy_program *build_as_planned(reverse *r)
{
    uint32_t n = r->p->insts.count;
    uint8_t *marks = zeroed(r, n, 1);
    bool ok = marks && ask(r, marks) && vy_plan(r, marks, r->kept);
    vy_program *p = ok ? build_with_tapes(r) : NULL;
    if (p) {
        bool unread = false;
        memset(marks, 0, n);
        ok = vy_tape_used(r, p, marks);
        for (uint32_t id = 1; ok && id < n; id++)
            if (r->kept[id] && !marks[id]) r->kept[id] = 0, unread = true;
        if (unread || !ok) {
            vy_program_free(p);
            p = ok ? build_with_tapes(r) : NULL;
        }
    }
    vy_free(marks);
    return p;
}

static vy_program *attempt(reverse *r, const vy_program *source)
{
    if (!make_tables(r)) return NULL;
    vy_reverse_choose(r, source);
    if (r->failed) return NULL;
    vy_activity(r);
    vy_find_phased(r);
    refuse_unsupported(r);
    if (r->p->module->order == 0) refuse_redundant(r);
    if (r->failed) return NULL;
    if (!vy_additions(r)) return NULL;
    vy_masks(r);
    if (r->failed || !vy_order(r) || !vy_restage(r) || !vy_together(r) || !vy_own(r) ||
        !vy_exclusive(r))
        return NULL;
    return has_replays(r) ? build_as_planned(r) : build_with_tapes(r);
}

// Outermost counted loops whose iterations are kept: marks them, and says whether there are any.
static bool choose_loops(const reverse *r, uint8_t *chosen)
{
    enum { FEW = 16 }; // iterations that are not worth it
    bool any = false;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        uint32_t keeper = r->kept[id] - 1, found = 0;
        if (!r->kept[id]) continue;
        for (uint32_t l = r->home[id]; l > keeper; l = r->home[l]) {
            if (r->p->insts.data[l].op != VY_OP_LOOP) continue;
            const vy_scalar *from = vy_id_const(r->p, vy_arg(r->p, l, 0));
            const vy_scalar *to = vy_id_const(r->p, vy_arg(r->p, l, 1));
            if (!from || !to || to->i - from->i >= FEW) found = l;
        }
        if (found) chosen[found] = 1, any = true;
    }
    return any;
}

static void restart(reverse *r)
{
    free_tables(r);
    *r = (reverse){.p = r->p, .options = r->options, .out = r->out, .failed = r->failed};
}

// A pass over the primal that is told which values have derivatives.
static bool rewrite(reverse *r, vy_program *primal, const vy_program *source,
                    bool (*pass)(vy_program *p, const uint8_t *active))
{
    uint8_t *active = NULL;
    if (make_tables(r)) {
        vy_reverse_choose(r, source);
        if (!r->failed) vy_activity(r);
        active = r->failed ? NULL : zeroed(r, primal->insts.count, 1);
    }
    for (uint32_t id = 1; active && id < primal->insts.count; id++) {
        const vy_inst *i = &primal->insts.data[id];
        active[id] = vy_is_active(r, id);
        if (vy_op_is_atomic((vy_op)i->op)) // its memory has
            active[id] = (r->buffers[i->aux].activity & ACTIVE) == ACTIVE &&
                         vy_type_is_float(primal->buffers.data[i->aux].type);
    }
    restart(r);
    bool ok = active && pass(primal, active);
    vy_free(active);
    return ok;
}

// What has a better derivative in another form: see subgroup.h, rescale.h, winner.h, extremum.h.
static bool rewrite_primal(reverse *r, vy_program *primal, const vy_program *source)
{
    if (vy_has_subgroup(primal) && !rewrite(r, primal, source, vy_subgroup_prepare)) return false;
    if (vy_has_rescaling(primal) && !rewrite(r, primal, source, vy_rescale)) return false;
    if (vy_has_extremum(primal) && !rewrite(r, primal, source, vy_extremum_shared)) return false;
    if (vy_has_winner(primal) && !rewrite(r, primal, source, vy_winner)) return false;
    return !vy_has_extremum(primal) || rewrite(r, primal, source, vy_extremum_prepare);
}

bool vy_differentiate(vy_program *primal, const vy_program *source,
                      const reverse_observer *observer, reverse *r)
{
    uint32_t *hints = NULL;
    vy_wide_names names = {0};
    vy_program *p = NULL;
    bool ready = rewrite_primal(r, primal, source);
    for (uint32_t round = 0; ready; round++) {
        if (!vy_count_loops(primal, &hints, &r->counters)) break;
        r->hints = hints;
        p = attempt(r, source);
        if (!p || round == r->options->checkpoint) break;
        uint8_t *chosen = zeroed(r, primal->insts.count, 1);
        bool cut = chosen && choose_loops(r, chosen);
        bool ok = cut && vy_segment(primal, chosen, &hints);
        vy_free(chosen);
        if (!cut && !r->failed) break;
        vy_program_free(p);
        p = NULL;
        restart(r);
        r->failed |= !ok;
        if (!ok) break;
    }
    if (p && observer) observer->note(observer->user, r, p);
    bool ok = p && vy_wide_find(r, p, &names) && vy_reverse_result(r, p);
    const vy_gather_options gathering = {
        .lean = r->options->frugal || r->options->checkpoint,
        .always = r->options->deterministic || r->options->accumulate == VY_ACCUMULATE_GATHER,
        .few = r->options->accumulate == VY_ACCUMULATE_GATHER,
    };
    if (ok && r->options->accumulate != VY_ACCUMULATE_ATOMIC)
        ok = vy_gather(r->out, r->out->programs.data[r->out->programs.count - 1], &gathering,
                       observer ? observer->gathers : NULL);
    names.own = r->options->deterministic;
    if (ok && !r->options->again && !(observer && observer->narrow))
        ok = vy_widen_sums(r->out, &names);
    if (ok && r->options->deterministic) ok = vy_order_sums(r->out, r->options->lean_sums);
    free_tables(r);
    vy_free(hints);
    return ok;
}
