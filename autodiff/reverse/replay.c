// SPDX-License-Identifier: MIT
// replay.c: copies of the primal into the result.
//
// The forward sweep copies the entire primal; a reversed loop has one more copy of its body, run in
// each iteration.  Copies are naive: everything pure is copied, and what is not needed is removed
// afterwards.  A value that is not available in a replay (a carried value of the loop, a load of
// memory that has since been overwritten, the old value of an atomic) becomes a *poison* leaf.  If
// poison survives dead-code removal, the value is really needed, and grad.c builds again with that
// value on a tape.  So the to-be-recorded analysis is dead-code elimination itself.
//
// An `if` yields the values of its arms that the reverse sweep may need, as extra yields (zero in
// the other arm), so arms are never executed twice.  Loops that leave early count their iterations.
#include "autodiff/reverse/sweeps.h"
#include "autodiff/reverse/undo.h"
#include "autodiff/storage/storage.h"
#include "ir/core/flow.h"

static void replay_block(reverse *r, uint32_t first, uint32_t last);

static uint32_t zero(reverse *r, vy_type type) { return vy_zero(r->b, type).id; }

static uint32_t poison(reverse *r, uint32_t id)
{
    return vy_leaf_other(r->b, VY_LEAF_POISON, (vy_type)r->p->insts.data[id].type, id,
                         r->build.replaying);
}

static void keep_debug(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    if (i->name)
        vy_name(r->b, (vy_value){r->build.map[id]}, vy_string(&r->p->module->names, i->name));
}

// Maps `n` operands of `id` from `first` on; NULL: out of memory.
static uint32_t *map_args(reverse *r, uint32_t id, uint32_t first, uint32_t n, uint32_t *small,
                          uint32_t small_size)
{
    uint32_t *args = n <= small_size ? small : vy_realloc(NULL, n * sizeof *args);
    if (!args) {
        vy_fail_oom(r->out);
        r->failed = true;
        return NULL;
    }
    for (uint32_t k = 0; k < n; k++) args[k] = vy_primal(r, vy_arg(r->p, id, first + k));
    return args;
}
#define SMALL 16
#define RELEASE(args, small)                                                                       \
    if ((args) != (small)) vy_free(args)

// Writes are performed by the forward sweep on the result's own copy, and by replays on local
// arrays declared inside the replayed body and on shared arrays that it recomputes.
static bool performs_write(const reverse *r, uint32_t id)
{
    uint32_t buffer = r->p->insts.data[id].aux;
    const built_buffer *info = &r->build.buffers[buffer];
    if (!info->copy || !info->stores) return false;
    if (!r->build.replaying) return true;
    if (r->p->buffers.data[buffer].cls == VY_SHARED) return vy_restage_store(r, id) != 0;
    return vy_is_remade(r, buffer, r->build.replaying);
}

// The buffer of the result for the one that `id` accesses.
static uint32_t buffer_of(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    if (!r->build.replaying || r->p->buffers.data[i->aux].cls != VY_SHARED)
        return r->build.buffers[i->aux].copy;
    return i->op == VY_OP_LOAD ? vy_restage_load(r, id) : vy_restage_store(r, id);
}

// Sets a closing marker's RESULT: from the tape, or as just computed.
static void set_result(reverse *r, uint32_t id, uint32_t value)
{
    uint32_t kept = vy_tape_load(r, id);
    r->build.map[id] = kept ? kept : value;
    keep_debug(r, id);
    vy_tape_record(r, id);
}

static void replay_memory(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    const buffer_facts *facts = &r->facts.buffers[i->aux];
    const built_buffer *info = &r->build.buffers[i->aux];
    uint32_t small[SMALL];
    if (i->op == VY_OP_LOAD && r->build.replaying && !vy_can_repeat(r, id, r->build.replaying)) {
        r->build.map[id] = poison(r, id);
        return;
    }
    if (r->build.values_only && r->p->buffers.data[i->aux].cls != VY_IN) {
        if (i->type != VY_VOID) r->build.map[id] = poison(r, id);
        return;
    }
    if (facts->extremum && vy_is_contested(r->p, id)) {
        vy_extremum_replay(r, id, performs_write(r, id));
        return;
    }
    if (i->op != VY_OP_LOAD && !performs_write(r, id)) {
        if (i->type != VY_VOID) r->build.map[id] = poison(r, id);
        return;
    }
    if (!info->copy) { // an `out` buffer without stores: zero
        r->build.map[id] = zero(r, (vy_type)i->type);
        return;
    }
    uint32_t *args = map_args(r, id, 0, i->nargs, small, SMALL);
    if (!args) return;
    uint32_t place = buffer_of(r, id);
    const uint32_t made = vy_emit(r->b, (vy_op)i->op, (vy_type)i->type, place, i->nargs, args);
    if (i->type != VY_VOID) r->build.map[id] = made; // a STORE's is its log
    RELEASE(args, small);
}

static void replay_plain(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    uint32_t small[SMALL];
    bool barrier =
        op == VY_OP_BARRIER && r->build.replaying && vy_restages(r, r->build.replaying, 0);
    const bool skips =
        r->build.values_only || (!barrier && !vy_can_repeat(r, id, r->build.replaying));
    if (vy_op_infos[op].effect == VY_CONV && r->build.replaying && skips) {
        if (i->type != VY_VOID) r->build.map[id] = poison(r, id);
        return;
    }
    if (vy_op_is_lowered(op)) { // the other operand was for its derivative
        r->build.map[id] = vy_primal(r, vy_arg(r->p, id, 0));
        return;
    }
    uint32_t *args = map_args(r, id, 0, i->nargs, small, SMALL);
    if (!args) return;
    r->build.map[id] = vy_emit(r->b, op, (vy_type)i->type, i->aux, i->nargs, args);
    RELEASE(args, small);
}

// ---------------------------------------------------------------------------------------------- if
// A value that an `if` yields besides its own.
typedef struct extra_yield {
    uint32_t *slot; // of build_state: receives the RESULT
    uint32_t value;
    vy_type type;
    bool in_else;
} extra_yield;
VY_VEC_TYPE(extra_yield_vec, extra_yield);

static void collect_extra_yields(reverse *r, uint32_t first, uint32_t last, bool in_else,
                                 extra_yield_vec *list)
{
    for (uint32_t id = first; id < last && !r->failed; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        bool loop = vy_is_loop((vy_op)i->op);
        bool replayed = loop || i->op == VY_OP_CHECKPOINT;
        uint32_t *slot = loop ? &r->build.count[id] : &r->build.map[id];
        bool wanted = loop ? r->build.count[id] != 0 : (i->type != VY_VOID && r->facts.needed[id]);
        if (wanted && *slot && !VY_IS_LEAF(*slot)) {
            extra_yield h = {slot, *slot, vy_id_type(vy_builder_program(r->b), *slot), in_else};
            if (!vy_vec_push(list, h)) {
                vy_fail_oom(r->out);
                r->failed = true;
            }
        }
        if (replayed) id = r->facts.s.partner[id]; // bodies are replayed when reversed
    }
}

static void replay_if(reverse *r, uint32_t opener)
{
    const vy_program *p = r->p;
    uint32_t middle = r->facts.s.partner[opener], end = r->facts.s.partner[middle];
    uint32_t own = p->insts.data[end].nargs;
    extra_yield_vec list = {0};
    vy_id_vec ids = {0};
    vy_begin_if(r->b, vy_primal(r, vy_arg(p, opener, 0)));
    replay_block(r, opener + 1, middle);
    collect_extra_yields(r, opener + 1, middle, false, &list);
    bool ok = vy_vec_reserve(&ids, own);
    for (uint32_t k = 0; ok && k < own; k++) ids.data[k] = vy_primal(r, vy_arg(p, middle, k));
    vy_begin_else(r->b, 0, NULL);
    replay_block(r, middle + 1, end);
    collect_extra_yields(r, middle + 1, end, true, &list);
    uint32_t n = own + list.count;
    ok = ok && vy_vec_reserve(&ids, n * 3 + 1);
    if (ok && !r->failed) {
        uint32_t *thens = ids.data, *elses = thens + n, *results = elses + n;
        for (uint32_t k = 0; k < own; k++) elses[k] = vy_primal(r, vy_arg(p, end, k));
        for (uint32_t k = 0; k < list.count; k++) {
            extra_yield *h = &list.data[k];
            thens[own + k] = h->in_else ? zero(r, h->type) : h->value;
            elses[own + k] = h->in_else ? h->value : zero(r, h->type);
        }
        vy_else_yields(r->b, n, thens);
        vy_end_if(r->b, n, elses, results);
        for (uint32_t k = 0; k < own; k++) set_result(r, end + 1 + k, results[k]);
        for (uint32_t k = 0; k < list.count; k++) *list.data[k].slot = results[own + k];
    } else if (!ok) {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    vy_vec_free(&list);
    vy_vec_free(&ids);
}

// ------------------------------------------------------------------------------------------- loops
// Does the loop have a reverse?  Something inside has an adjoint, or one of its results.
static bool is_reversed(const reverse *r, uint32_t opener, uint32_t carried)
{
    bool any = r->facts.busy[opener];
    for (uint32_t k = 0; k < carried; k++)
        any |= vy_is_active(&r->facts, r->facts.s.partner[opener] + 1 + k);
    return any;
}

// Opens the loop of the result, with `total` carries that begin as in[].
static void open_replayed(reverse *r, uint32_t opener, const uint32_t bounds[3], uint32_t total,
                          const uint32_t *in, uint32_t *out)
{
    const vy_inst *o = &r->p->insts.data[opener];
    if (o->op == VY_OP_WHILE)
        vy_begin_while(r->b, 0, total, in, out);
    else
        r->build.map[opener] = vy_begin_loop(r->b, (vy_type)o->type, o->flags & VY_FLAG_REVERSE,
                                             bounds[0], bounds[1], bounds[2], total, in, out);
}

static void replay_loop(reverse *r, uint32_t opener)
{
    const vy_program *p = r->p;
    bool is_while = p->insts.data[opener].op == VY_OP_WHILE, leaves = vy_exits(p, opener);
    uint32_t end = r->facts.s.partner[opener], n = vy_slot_count(p, &r->facts.s, opener);
    bool counts = (is_while || leaves) && is_reversed(r, opener, n);
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, (n + 1) * 2)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return;
    }
    uint32_t *in = ids.data, *out = in + n + 1, bounds[3] = {0}, total = n + counts;
    for (uint32_t k = 0; k < vy_init_arg(p, opener); k++)
        bounds[k] = vy_primal(r, vy_arg(p, opener, k));
    for (uint32_t k = 0; k < n; k++) in[k] = vy_primal(r, vy_slot_init(p, opener, k));
    if (counts) in[n] = zero(r, VY_U32);
    open_replayed(r, opener, bounds, total, in, out);
    keep_debug(r, opener);
    for (uint32_t k = 0; k < n; k++) r->build.map[opener + 1 + k] = out[k];
    for (uint32_t k = 0; k < n; k++) keep_debug(r, opener + 1 + k);
    uint32_t counter = counts ? out[n] : 0;
    uint32_t outer_untested = r->build.untested;
    r->build.untested = is_while ? opener : 0;
    for (uint32_t k = 0; k < n; k++) vy_tape_record(r, opener + 1 + k);
    replay_block(r, opener + 1 + n, end);
    r->build.untested = outer_untested;
    for (uint32_t k = 0; k < n; k++) in[k] = vy_primal(r, vy_slot_next(p, &r->facts.s, opener, k));
    if (counts)
        in[n] = vy_emit(r->b, VY_OP_ADD, VY_U32, 0, 2,
                        (uint32_t[]){counter, vy_int(r->b, VY_U32, 1).id});
    vy_end_loop(r->b, leaves ? vy_primal(r, vy_keep(p, &r->facts.s, opener)) : 0, total, in, out);
    for (uint32_t k = 0; k < n; k++) set_result(r, end + 1 + k, out[k]);
    if (counts) {
        uint32_t kept = vy_tape_load(r, end);
        r->build.count[opener] = r->build.map[end] = kept ? kept : out[n];
        vy_tape_record(r, end);
    }
    vy_vec_free(&ids);
}

static void replay_test(reverse *r, uint32_t id)
{
    uint32_t opener = r->facts.s.partner[id];
    if (opener == r->build.replaying) return; // the reversed loop has a known trip count
    vy_loop_test(r->b, vy_primal(r, vy_arg(r->p, id, 0)));
    r->build.untested = 0;
    for (uint32_t k = opener + 1; k < id; k++) vy_tape_record(r, k);
}

static void replay_block(reverse *r, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last && !r->failed && !vy_builder_failed(r->b); id++) {
        const vy_inst *i = &r->p->insts.data[id];
        vy_op op = (vy_op)i->op;
        uint32_t kept, same = r->facts.again[id];
        vy_at(r->b, i->line, i->column);
        if (r->p->host && r->build.begins[id]) vy_tape_begin(r, id);
        vy_undo_take_logs(r, id);
        vy_undo_replay_log(r, id);
        if (op == VY_OP_RESULT || op == VY_OP_CHECKPOINT) continue; // set by the closing marker
        if (op == VY_OP_IF) {
            replay_if(r, id);
            id = vy_closer(r->p, &r->facts.s, id);
        } else if (vy_is_loop(op)) {
            replay_loop(r, id);
            id = r->facts.s.partner[id];
        } else if (op == VY_OP_TEST) {
            replay_test(r, id);
        } else if (op == VY_OP_ENDCHECKPOINT) {
            // A checkpoint only limits memory; copies omit it.
            for (uint32_t k = 0; k < i->nargs; k++)
                set_result(r, id + 1 + k, vy_primal(r, vy_arg(r->p, id, k)));
        } else if (same) {
            r->build.map[id] = r->build.map[same];
            continue;
        } else if (i->type != VY_VOID && (kept = vy_tape_load(r, id))) {
            r->build.map[id] = kept;
            keep_debug(r, id);
            continue;
        } else if (vy_op_is_memory(op)) {
            replay_memory(r, id);
        } else if (op == VY_OP_DISPATCH) {
            vy_replay_dispatch(r, id); // its PICKs, too
        } else if (op != VY_OP_PICK || !r->p->host) {
            replay_plain(r, id);
        }
        if (vy_op_infos[op].effect == VY_CTRL || i->type == VY_VOID || !r->build.map[id]) continue;
        keep_debug(r, id);
        vy_tape_record(r, id);
    }
}

// Nothing is available: all values and trip counts are poison.
static void probe_block(reverse *r, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        const uint32_t same = r->facts.again[id];
        if (i->type != VY_VOID) r->build.map[id] = same ? r->build.map[same] : poison(r, id);
        vy_undo_replay_log(r, id);
        if (!vy_is_loop((vy_op)i->op)) continue;
        r->build.count[id] =
            vy_leaf_other(r->b, VY_LEAF_POISON, VY_U32, r->facts.s.partner[id], r->build.replaying);
    }
}

void vy_replay(reverse *r, uint32_t first, uint32_t last)
{
    if (r->build.purpose == BUILD_PROBE && r->build.replaying) {
        probe_block(r, first, last);
        return;
    }
    // Since the last barrier, other invocations may have loaded elements that it stores again.
    if (r->build.replaying && vy_restages(r, r->build.replaying, 0)) vy_barrier(r->b);
    replay_block(r, first, last);
}

void vy_replay_values(reverse *r, uint32_t first, uint32_t last)
{
    r->build.values_only = true;
    replay_block(r, first, last);
    r->build.values_only = false;
}
