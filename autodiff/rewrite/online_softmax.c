// SPDX-License-Identifier: MIT
// online_softmax.c: a sum that is rescaled when a running maximum grows has the derivative of a
// plain sum.
//
//   for j in … {                              for j in … { … as it was … }
//       let t = max(m, s(j));                 let M = @derive_as(m, 0);
//       l = l * exp(m - t) + exp(s(j) - t);   var l2 = 0;  local a2;
//       for c in … {                          for j in … {
//           a[c] = a[c] * exp(m - t)      →       l2 += exp(s(j) - M);
//                + exp(s(j) - t) * w(j, c);       for c in … { a2[c] += exp(s(j) - M) * w(j, c); }
//       }                                     }
//       m = t;                                l = @derive_as(l, l2);
//   }                                         for c in … { a[c] = @derive_as(a[c], a2[c]); }
//
// This is online softmax, the core of attention.  Its plain reverse needs m, l and every a[c] of
// every iteration, since each is multiplied by something that depends on the inputs: a tape of T
// numbers for each number of a row.  A sum's reverse needs only M.  Values stay those of the
// original loop, to the bit; the sum is never computed, since only its derivative is used.
//
// Why it is legal: degrees of homogeneity, homogeneity.c.  Each value of the body is shown to
// change by a known power of e^(m − M) and e^(t − M) if M replaces m and t, and each carried value
// to change by the same power of the carried maximum.  So by induction l2 = l · e^(m − M) after
// every iteration, and after the last, where m is M, they are equal.  They are equal at the start
// if l is 0, else l2 starts as l · e^(m − M), or as l where M is still the initial m, and infinite:
// e^(−inf + inf) is NaN.  A loop for which this cannot be shown keeps its own derivative.
//
// M is an ordinary value there, with a derivative: that of one s(j), by argmax.c.  But mostly it
// cancels, as in a[c] / l or m + log(l): where neither a store nor control flow depends on the
// choice of M, M has no derivative, and no further copy of the loop is made to compute it.  (Not
// stop_grad(m): in the gradient, which may be differentiated again, m takes the place of M and has
// its derivative, as l there has its own.)
//
// For s = −inf, p is 0 with derivative 0.  Where the forward loop yields NaN (all of a row −inf, s
// NaN) the gradient is NaN too, from the divisor; a row that only begins with −inf is NaN in the
// forward loop, and its gradient is the sum's derivative where that value is not used.
#include "autodiff/rewrite/online_softmax.h"
#include "autodiff/core/reverse.h"
#include "ir/pass/pass.h"

#include <string.h>

typedef struct rescale {
    vy_rewrite w;
    const uint8_t *active;
    uint32_t *fresh; // by buffer: the copy's own array, or 0
    uint32_t *kept;  // by buffer: likewise of the original loop
    uint32_t M;      // replaces the maximum in the copy being made; 0: nothing does
    vy_rescaled r;
} rescale;

// ------------------------------------------------------------------------------ copies of the loop
static void copy_access(rescale *w, uint32_t id, uint32_t array)
{
    const vy_inst *i = &w->w.p->insts.data[id];
    uint32_t args[VY_MAX_RANK + 1];
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = vy_new_arg(&w->w, id, k);
    w->w.map[id] = vy_emit(w->w.b, (vy_op)i->op, (vy_type)i->type, array, i->nargs, args);
}

// Memory that other invocations see is written by the original loop alone, and what they may write
// is not read.
static void copy_memory(rescale *w, uint32_t id)
{
    const vy_inst *i = &w->w.p->insts.data[id];
    if (w->fresh[i->aux])
        copy_access(w, id, w->fresh[i->aux]);
    else if (i->type != VY_VOID)
        w->w.map[id] = vy_zero(w->w.b, (vy_type)i->type).id;
}

// m − m, also scaled: its exponential is 1, whatever m is.
static bool is_no_step(const rescale *w, uint32_t id)
{
    const vy_inst *i = &w->w.p->insts.data[id];
    return i->op == VY_OP_SUB && w->r.d.at[id].kind == VY_DEGREE_TERM &&
           vy_new_arg(&w->w, id, 0) == vy_new_arg(&w->w, id, 1);
}

// Replaces memory accesses and the maximum in the body of a copy.
static uint32_t replace_in_copy(void *pass, uint32_t id)
{
    rescale *w = pass;
    const vy_inst *i = &w->w.p->insts.data[id];
    const vy_degrees *d = &w->r.d;
    const bool is_maximum = w->M && d->chain[id];
    vy_rewrite_at(&w->w, id);
    if (vy_op_is_memory((vy_op)i->op) && d->role[i->aux] != VY_ARRAY_FIXED)
        copy_memory(w, id);
    else if (is_maximum && i->type != VY_VOID && i->op != VY_OP_RESULT)
        w->w.map[id] = w->M;
    else if (w->M && is_no_step(w, id))
        w->w.map[id] = vy_zero(w->w.b, (vy_type)i->type).id;
    else
        vy_rewrite_copy(&w->w, id);
    if (is_maximum && i->op == VY_OP_RESULT) w->w.map[id] = w->M;
    return id;
}

// A sum's initial value: x · e^(old c (m₀ − M)), and x where M is still m₀, and infinite.
static uint32_t first_value(rescale *w, uint32_t k, uint32_t M)
{
    vy_builder *b = w->w.b;
    uint32_t loop = w->r.d.loop;
    vy_value x = {vy_new_arg(&w->w, loop, 3 + k)}, m0 = {vy_new_arg(&w->w, loop, 3 + w->r.k)},
             last = {M};
    vy_degree d = w->r.d.at[loop + 1 + k];
    const vy_scalar *number = vy_id_const(vy_builder_program(b), x.id);
    if (!vy_rescaled_sum(&w->r, k) || !d.old || (number && number->f == 0)) return x.id;
    vy_type type = vy_value_type(b, m0);
    vy_value degree = vy_float(b, type, d.old);
    vy_value step = vy_mul(b, vy_sub(b, m0, last), degree);
    if (d.scale) step = vy_mul(b, step, (vy_value){vy_new(&w->w, d.scale)});
    vy_value power = {vy_emit(b, (vy_op)d.base, vy_value_type(b, step), 0, 1, &step.id)};
    power = vy_cast(b, vy_value_type(b, x), power);
    vy_value equal = vy_eq(b, m0, last), none = vy_and(b, vy_call(b, "isinf", 1, &m0), equal);
    return vy_select(b, none, x, vy_mul(b, x, power)).id;
}

static void make_arrays(rescale *w, bool scratch)
{
    for (uint32_t i = 1; i < w->w.p->buffers.count; i++) {
        const vy_buf *buf = &w->w.p->buffers.data[i];
        uint8_t role = w->r.d.role[i];
        bool own = role == VY_ARRAY_SUM || (role == VY_ARRAY_SCRATCH && scratch);
        w->fresh[i] =
            own ? vy_local_array(w->w.b, buf->name, buf->type, buf->rank, buf->dims).id : 0;
    }
}

// Emits a copy of the loop, its results in l->out; M: replaces the maximum, 0: nothing does.
static bool copy_loop(rescale *w, uint32_t M, vy_remade *l)
{
    uint32_t loop = w->r.d.loop;
    vy_rewrite_at(&w->w, loop);
    make_arrays(w, true);
    if (!vy_remake(&w->w, l, loop, 0)) return false;
    for (uint32_t k = 0; M && k < l->own; k++) l->in[k] = first_value(w, k, M);
    if (M) l->in[w->r.k] = M;
    vy_remake_begin(&w->w, l);
    if (M) w->w.map[vy_carry(loop, w->r.k)] = M;
    w->M = M;
    vy_remake_body(&w->w, l, replace_in_copy, w);
    vy_remake_next(&w->w, l);
    if (M) l->in[w->r.k] = M;
    vy_remake_close(&w->w, l);
    return true;
}

// ------------------------------------------------------------------------------------- the results
static uint32_t derive_as(rescale *w, vy_type type, uint32_t value, uint32_t derivative)
{
    return vy_emit(w->w.b, VY_OP_DERIVE_AS, type, 0, 2, (uint32_t[]){value, derivative});
}

// Gives each element of `array` the value of that element of `value`, and the derivative of that of
// `slope`.
static void derive_array_as(rescale *w, uint32_t array, uint32_t value, uint32_t slope)
{
    const vy_buf *buf = &w->w.p->buffers.data[array];
    uint32_t index[VY_MAX_RANK + 1], zero = vy_int(w->w.b, VY_U32, 0).id;
    for (uint32_t k = 0; k < buf->rank; k++) {
        const uint32_t one = vy_int(w->w.b, VY_U32, 1).id,
                       extent = vy_extent_leaf(w->w.b, array, k);
        index[k] = vy_begin_loop(w->w.b, VY_U32, 0, zero, extent, one, 0, NULL, NULL);
    }
    uint32_t x = vy_emit(w->w.b, VY_OP_LOAD, buf->type, value, buf->rank, index);
    uint32_t y = vy_emit(w->w.b, VY_OP_LOAD, buf->type, slope, buf->rank, index);
    index[buf->rank] = derive_as(w, buf->type, x, y);
    vy_emit(w->w.b, VY_OP_STORE, VY_VOID, array, buf->rank + 1, index);
    for (uint32_t k = 0; k < buf->rank; k++) vy_end_loop(w->w.b, 0, 0, NULL, NULL);
}

static uint32_t replace_kept(void *pass, uint32_t id)
{
    rescale *w = pass;
    const vy_inst *i = &w->w.p->insts.data[id];
    if (!vy_op_is_memory((vy_op)i->op) || !w->fresh[i->aux]) return 0;
    vy_rewrite_at(&w->w, id);
    copy_access(w, id, w->fresh[i->aux]);
    return id;
}

// The original loop, but with its sums in other arrays, which have no derivative.
static void keep_loop(rescale *w)
{
    uint32_t loop = w->r.d.loop, n = vy_slot_count(w->w.p, &w->w.s, loop);
    make_arrays(w, false);
    vy_rewrite_range(&w->w, loop, vy_result(w->w.p, &w->w.s, loop, n), replace_kept, w);
    memcpy(w->kept, w->fresh, w->w.p->buffers.count * sizeof *w->kept);
}

static void replace_results(rescale *w)
{
    const vy_program *p = w->w.p;
    uint32_t loop = w->r.d.loop, *map = w->w.map, top = vy_result(p, &w->w.s, loop, w->r.k);
    vy_remade l;
    keep_loop(w);
    if (w->r.stopped || w->r.cancels) {
        vy_type type = (vy_type)p->insts.data[top].type;
        map[top] = derive_as(w, type, map[top], vy_zero(w->w.b, type).id);
    } else {
        if (!copy_loop(w, 0, &l)) return;
        map[top] = l.out[w->r.k];
    }
    if (!copy_loop(w, map[top], &l)) return;
    for (uint32_t k = 0; k < l.own; k++) {
        uint32_t result = vy_result(p, &w->w.s, loop, k);
        if (vy_rescaled_sum(&w->r, k))
            map[result] = derive_as(w, vy_id_type(p, result), map[result], l.out[k]);
    }
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (w->r.d.role[i] == VY_ARRAY_SUM) derive_array_as(w, i, w->kept[i], w->fresh[i]);
}

static uint32_t replace_rescaling(void *pass, uint32_t id)
{
    rescale *w = pass;
    w->r.d.loop = id;
    if (w->w.p->insts.data[id].op != VY_OP_LOOP || !vy_rescaled_find(&w->r, w->active)) return 0;
    replace_results(w);
    return vy_closer(w->w.p, &w->w.s, id) + vy_slot_count(w->w.p, &w->w.s, id);
}

// ------------------------------------------------------------------------------------ entry points
static bool find_degrees(rescale *w)
{
    const vy_program *p = w->w.p;
    uint32_t n = p->insts.count, buffers = p->buffers.count;
    vy_degrees *d = &w->r.d;
    *d = (vy_degrees){.p = p, .s = &w->w.s};
    d->at = vy_rewrite_table(&w->w, n * sizeof *d->at);
    d->chain = vy_rewrite_table(&w->w, n * sizeof *d->chain);
    d->update = vy_rewrite_table(&w->w, n * sizeof *d->update);
    d->held = vy_rewrite_table(&w->w, buffers * sizeof *d->held);
    d->role = vy_rewrite_table(&w->w, buffers * sizeof *d->role);
    w->fresh = vy_rewrite_table(&w->w, buffers * sizeof *w->fresh);
    w->kept = vy_rewrite_table(&w->w, buffers * sizeof *w->kept);
    w->r.uses = vy_rewrite_uses(&w->w);
    for (uint32_t id = 1; id < n && !w->w.oom; id++)
        d->at[id] = (vy_degree){.kind = VY_DEGREE_FACTOR};
    return !w->w.oom;
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
    rescale w = {.active = active};
    bool ok = vy_rewrite_begin(&w.w, p) && find_degrees(&w), changed = false;
    if (ok) vy_rewrite_run(&w.w, replace_rescaling, &w);
    if (!vy_rewrite_end(&w.w, ok, &changed)) return false;
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    return vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c);
}
