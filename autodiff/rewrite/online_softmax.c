// SPDX-License-Identifier: MIT
// online_softmax.c: a sum that is rescaled when a running maximum grows has the derivative of a
// plain sum.
//
//   for j in … {                                for j in … { … as it was … }
//       let t = max(m, s(j));                   let M = straight_through(m, 0);
//       l = l * exp(m - t) + exp(s(j) - t);     var l2 = 0;
//       for c in … {                 becomes    local a2;
//           a[c] = a[c] * exp(m - t)            for j in … {
//                + exp(s(j) - t) * w(j, c);         l2 += exp(s(j) - M);
//       }                                           for c in … { a2[c] += exp(s(j) - M) * w(j, c); }
//       m = t;                                  }
//   }                                           l = straight_through(l, l2);
//                                               for c in … { a[c] = straight_through(a[c], a2[c]);
//                                               }
//
// This is online softmax, the inside of attention.  Its plain reverse asks for m, l and every a[c]
// in every iteration, since each is multiplied by something that depends on the inputs: a tape of T
// numbers for each number of a row.  A sum's reverse asks for nothing but M.  Values stay those of
// the loop as it was, to the bit; the sum is never computed, since only its derivative is used.
//
// Why it is legal: degrees of homogeneity, homogeneity.c.  Each value of the body is shown to
// change by a known power of e^(m − M) and e^(t − M) if M is put for m and for t, and what is
// handed on to change by the same power of the maximum handed on.  So by induction l2 = l · e^(m −
// M) after every iteration, and after the last, where m is M, they are equal.  At the start they
// are if l is 0, else l2 starts as l · e^(m − M), or as l where M is still the first m, and
// infinite: e^(−inf + inf) is no number.  What cannot be shown keeps the loop's own derivative.
//
// M is a number like any other there, with a derivative: that of one s(j), by argmax.c.  But mostly
// it cancels, as in a[c] / l or m + log(l): where nothing that is stored or decides something
// depends on which M it is, M has no derivative, and its loop is not searched again.  (Not
// stop_grad(m): in the gradient, which may be differentiated again, m stands for M and has its
// derivative, as l there has its own.)
//
// For s = −inf, p is 0 with derivative 0.  Where the forward loop makes NaN (all of a row −inf, s
// NaN) the gradient is NaN too, from the value that divides; a row that only begins with −inf is
// NaN in the forward loop, and its gradient is the sum's derivative where that value does not
// enter.
#include "autodiff/rewrite/online_softmax.h"
#include "autodiff/core/reverse.h"
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

typedef struct rescale {
    const vy_program *p;
    vy_structure s;
    vy_arena arena;
    const uint8_t *active;
    vy_builder *b;
    uint32_t *map;
    uint32_t *fresh; // by buffer: the copy's own array, or 0
    uint32_t *kept;  // by buffer: likewise of the loop as it was
    uint32_t *ids;   // stretches of `room`
    uint32_t room;
    bool sums; // making the copy that is differentiated
    vy_rescaled r;
} rescale;

static uint32_t mapped(const rescale *w, uint32_t id, uint32_t k)
{
    return vy_map(w->map, vy_arg(w->p, id, k));
}

static void name_as(rescale *w, uint32_t old, uint32_t id)
{
    uint32_t name = w->p->insts.data[old].name;
    if (name) vy_name(w->b, (vy_value){id}, vy_string(&w->p->module->names, name));
}

// ------------------------------------------------------------------------------ copies of the loop
// w of a[index] + w, where nothing else uses the old element or the sum; else 0.  `value` is of the
// new program.
static uint32_t addend(const rescale *w, uint32_t store, uint32_t value)
{
    const vy_program *p = w->p, *now = vy_builder_program(w->b);
    uint32_t sum = vy_arg(p, store, p->insts.data[store].nargs - 1);
    if (VY_IS_LEAF(sum) || w->r.uses[sum] != 1 || VY_IS_LEAF(value)) return 0;
    if (now->insts.data[value].op != VY_OP_ADD) return 0;
    for (uint32_t id = w->r.d.loop + 1; id < store; id++) {
        if (p->insts.data[id].op != VY_OP_LOAD || w->r.d.update[id] != store) continue;
        if (w->r.uses[id] != 1 || p->insts.data[id].aux != p->insts.data[store].aux) continue;
        uint32_t x = vy_arg(now, value, 0), y = vy_arg(now, value, 1), old = w->map[id];
        if ((x == old) != (y == old)) return x == old ? y : x;
    }
    return 0;
}

static void copy_access(rescale *w, uint32_t id, uint32_t array)
{
    const vy_inst *i = &w->p->insts.data[id];
    uint32_t args[VY_MAX_RANK + 1], added = 0;
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = mapped(w, id, k);
    if (i->op == VY_OP_STORE && w->sums && w->r.d.role[i->aux] == VY_ROLE_SUM)
        added = addend(w, id, args[i->nargs - 1]);
    if (added) { // its reverse neither clears nor keeps anything
        args[i->nargs - 1] = added;
        vy_emit(w->b, VY_OP_ATOMIC_ADD, VY_VOID, array, i->nargs, args);
        return;
    }
    w->map[id] = vy_emit(w->b, (vy_op)i->op, (vy_type)i->type, array, i->nargs, args);
}

// What others see is written once, and what they may write is not read.
static void copy_memory(rescale *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    if (w->fresh[i->aux])
        copy_access(w, id, w->fresh[i->aux]);
    else if (i->type != VY_VOID)
        w->map[id] = vy_zero(w->b, (vy_type)i->type).id;
}

// m − m, also scaled: e to it is 1, whatever m is.
static bool is_no_step(const rescale *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    return i->op == VY_OP_SUB && w->r.d.at[id].kind == VY_DEGREE_TERM &&
           mapped(w, id, 0) == mapped(w, id, 1);
}

// The body; M: put it for the maximum, 0: do not.
static void copy_body(rescale *w, uint32_t M)
{
    uint32_t loop = w->r.d.loop, end = w->s.partner[loop];
    for (uint32_t id = vy_carry(loop, vy_slot_count(w->p, &w->s, loop)); id < end; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        bool memory = vy_op_is_memory((vy_op)i->op) && w->r.d.role[i->aux] != VY_ROLE_FIXED;
        vy_at(w->b, i->line, i->column);
        if (memory)
            copy_memory(w, id);
        else if (M && w->r.d.chain[id] && i->type != VY_VOID && i->op != VY_OP_RESULT)
            w->map[id] = M;
        else if (M && is_no_step(w, id))
            w->map[id] = vy_zero(w->b, (vy_type)i->type).id;
        else
            vy_copy_inst(w->b, w->p, id, w->map);
        if (M && w->r.d.chain[id] && i->op == VY_OP_RESULT) w->map[id] = M;
    }
}

// A sum's first value: x · e^(old c (m₀ − M)), and x where M is still the first m, and infinite.
static uint32_t first_value(rescale *w, uint32_t k, uint32_t M)
{
    vy_builder *b = w->b;
    uint32_t loop = w->r.d.loop;
    vy_value x = {mapped(w, loop, 3 + k)}, m0 = {mapped(w, loop, 3 + w->r.k)}, last = {M};
    vy_degree d = w->r.d.at[loop + 1 + k];
    const vy_scalar *number = vy_id_const(vy_builder_program(b), x.id);
    if (!vy_rescaled_sum(&w->r, k) || !d.old || (number && number->f == 0)) return x.id;
    vy_type type = vy_value_type(b, m0);
    vy_value step = vy_mul(b, vy_sub(b, m0, last), vy_float(b, type, d.old));
    if (d.scale) step = vy_mul(b, step, (vy_value){vy_map(w->map, d.scale)});
    vy_value power = {vy_emit(b, (vy_op)d.base, vy_value_type(b, step), 0, 1, &step.id)};
    power = vy_cast(b, vy_value_type(b, x), power);
    vy_value none = vy_and(b, vy_call(b, "isinf", 1, &m0), vy_eq(b, m0, last));
    return vy_select(b, none, x, vy_mul(b, x, power)).id;
}

static void make_arrays(rescale *w, bool scratch)
{
    for (uint32_t i = 1; i < w->p->buffers.count; i++) {
        const vy_buf *buf = &w->p->buffers.data[i];
        uint8_t role = w->r.d.role[i];
        bool own = role == VY_ROLE_SUM || (role == VY_ROLE_SCRATCH && scratch);
        w->fresh[i] = own ? vy_local_array(w->b, buf->name, buf->type, buf->rank, buf->dims).id : 0;
    }
}

// The loop once more, its results to out[].
static void copy_loop(rescale *w, uint32_t M, uint32_t *out)
{
    uint32_t loop = w->r.d.loop;
    const vy_inst *o = &w->p->insts.data[loop];
    uint32_t n = vy_slot_count(w->p, &w->s, loop), keep = vy_keep(w->p, &w->s, loop), *in = w->ids;
    vy_at(w->b, o->line, o->column);
    make_arrays(w, true);
    for (uint32_t k = 0; k < n; k++)
        in[k] = M ? first_value(w, k, M) : vy_map(w->map, vy_slot_init(w->p, loop, k));
    if (M) in[w->r.k] = M;
    w->map[loop] =
        vy_begin_loop(w->b, (vy_type)o->type, o->flags & VY_FLAG_REVERSE, mapped(w, loop, 0),
                      mapped(w, loop, 1), mapped(w, loop, 2), n, in, out);
    name_as(w, loop, w->map[loop]);
    for (uint32_t k = 0; k < n; k++) name_as(w, loop + 1 + k, w->map[loop + 1 + k] = out[k]);
    if (M) w->map[loop + 1 + w->r.k] = M;
    w->sums = M != 0;
    copy_body(w, M);
    w->sums = false;
    for (uint32_t k = 0; k < n; k++) in[k] = vy_map(w->map, vy_slot_next(w->p, &w->s, loop, k));
    if (M) in[w->r.k] = M;
    vy_end_loop(w->b, keep ? vy_map(w->map, keep) : 0, n, in, out);
}

// ------------------------------------------------------------------------------------- the results
static uint32_t straight(rescale *w, vy_type type, uint32_t value, uint32_t derivative)
{
    return vy_emit(w->b, VY_OP_STRAIGHT_THROUGH, type, VY_EQUAL_PAIR, 2,
                   (uint32_t[]){value, derivative});
}

// Every element of the array gets the value of that of `value` and the derivative of that of
// `slope`.
static void hand_over(rescale *w, uint32_t array, uint32_t value, uint32_t slope)
{
    const vy_buf *buf = &w->p->buffers.data[array];
    uint32_t index[VY_MAX_RANK + 1], zero = vy_int(w->b, VY_U32, 0).id;
    for (uint32_t k = 0; k < buf->rank; k++)
        index[k] = vy_begin_loop(w->b, VY_U32, 0, zero, vy_extent_leaf(w->b, array, k),
                                 vy_int(w->b, VY_U32, 1).id, 0, NULL, NULL);
    uint32_t x = vy_emit(w->b, VY_OP_LOAD, buf->type, value, buf->rank, index);
    uint32_t y = vy_emit(w->b, VY_OP_LOAD, buf->type, slope, buf->rank, index);
    index[buf->rank] = straight(w, buf->type, x, y);
    vy_emit(w->b, VY_OP_STORE, VY_VOID, array, buf->rank + 1, index);
    for (uint32_t k = 0; k < buf->rank; k++) vy_end_loop(w->b, 0, 0, NULL, NULL);
}

// The loop as it was, but for the arrays that it sums in: theirs are other ones, without a
// derivative.
static void keep_loop(rescale *w)
{
    uint32_t loop = w->r.d.loop, last = w->s.partner[loop] + vy_slot_count(w->p, &w->s, loop);
    make_arrays(w, false);
    for (uint32_t id = loop; id <= last; id++) {
        const vy_inst *i = &w->p->insts.data[id];
        vy_at(w->b, i->line, i->column);
        if (vy_op_is_memory((vy_op)i->op) && w->fresh[i->aux])
            copy_access(w, id, w->fresh[i->aux]);
        else
            vy_copy_inst(w->b, w->p, id, w->map);
    }
    for (uint32_t i = 1; i < w->p->buffers.count; i++) w->kept[i] = w->fresh[i];
}

static void rewrite(rescale *w)
{
    uint32_t loop = w->r.d.loop, end = w->s.partner[loop], *out = w->ids + w->room;
    uint32_t n = vy_slot_count(w->p, &w->s, loop), top = end + 1 + w->r.k;
    keep_loop(w);
    if (w->r.stopped || w->r.cancels) {
        vy_type type = (vy_type)w->p->insts.data[top].type;
        w->map[top] = straight(w, type, w->map[top], vy_zero(w->b, type).id);
    } else {
        copy_loop(w, 0, out);
        w->map[top] = out[w->r.k];
    }
    copy_loop(w, w->map[top], out);
    for (uint32_t k = 0; k < n; k++)
        if (vy_rescaled_sum(&w->r, k))
            w->map[end + 1 + k] = straight(w, (vy_type)w->p->insts.data[end + 1 + k].type,
                                           w->map[end + 1 + k], out[k]);
    for (uint32_t i = 1; i < w->p->buffers.count; i++)
        if (w->r.d.role[i] == VY_ROLE_SUM) hand_over(w, i, w->kept[i], w->fresh[i]);
}

static void copy_range(rescale *w, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last && !vy_builder_failed(w->b); id++) {
        const vy_inst *i = &w->p->insts.data[id];
        w->r.d.loop = id;
        vy_at(w->b, i->line, i->column);
        if (i->op == VY_OP_LOOP && vy_rescaled_find(&w->r, w->active)) {
            rewrite(w);
            id = w->s.partner[id] + vy_slot_count(w->p, &w->s, id); // its RESULTs are mapped
        } else {
            vy_copy_inst(w->b, w->p, id, w->map);
        }
    }
}

// ------------------------------------------------------------------------------------ entry points
// Arrays from the arena begin as zeros.
static bool begin(rescale *w)
{
    const vy_program *p = w->p;
    uint32_t n = p->insts.count, buffers = p->buffers.count, *uses;
    vy_degrees *d = &w->r.d;
    if (!vy_structure_make(p, &w->s)) return false;
    *d = (vy_degrees){.p = p, .s = &w->s};
    for (uint32_t id = 1; id < n; id++)
        if (p->insts.data[id].nargs > w->room) w->room = p->insts.data[id].nargs;
#define MAKE(table, count) ((table) = vy_arena_alloc(&w->arena, (count) * sizeof *(table)))
    if (!MAKE(w->map, n) || !MAKE(uses, n) || !MAKE(w->fresh, buffers) || !MAKE(w->kept, buffers) ||
        !MAKE(w->ids, 2 * (size_t)w->room + 1) || !MAKE(d->at, n) || !MAKE(d->chain, n) ||
        !MAKE(d->update, n) || !MAKE(d->held, buffers) || !MAKE(d->role, buffers))
        return false;
#undef MAKE
    for (uint32_t id = 1; id < n; id++) {
        d->at[id] = (vy_degree){.kind = VY_DEGREE_FACTOR};
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            if (!VY_IS_LEAF(vy_arg(p, id, k))) uses[vy_arg(p, id, k)]++;
    }
    w->r.uses = uses;
    return true;
}

bool vy_has_rescaling(const vy_program *p)
{
    bool extremum = false, power = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        power |= i->op == VY_OP_EXP || i->op == VY_OP_EXP2;
        for (uint32_t k = 0; k < 2 && (i->op == VY_OP_MAX || i->op == VY_OP_MIN); k++) {
            uint32_t a = vy_arg(p, id, k);
            extremum |= !VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_CARRY;
        }
    }
    return extremum && power;
}

bool vy_rescale(vy_program *p, const uint8_t *active)
{
    rescale w = {.p = p, .active = active};
    vy_program *fresh = NULL;
    bool ready = begin(&w);
    if (!ready) vy_fail_oom(p->module);
    if (ready && (w.b = vy_rebuild_begin(p))) {
        copy_range(&w, 1, p->insts.count);
        fresh = vy_rebuild_end(w.b);
    }
    vy_structure_free(&w.s);
    vy_arena_free(&w.arena);
    if (!fresh) return false;
    vy_program_replace(p, fresh);
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    return vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c);
}
