// SPDX-License-Identifier: MIT
// lockstep.c: loops with a barrier, whose counter starts and ends at each invocation's own number.
//
//   for (t = start + lid; t < end + lid; t += C) { … barrier(); … t … }
//                                         →
//   for (s = start; s < end; s += C) { … barrier(); … s + lid … }
//
// A barrier that stands in the body itself is executed by every iteration.  What not all of a
// workgroup execute as often is undefined in SPIR-V, so all run as many iterations as the
// invocation does whose ids are 0.  That one counts from start to end, also where start + lid
// wraps.
//
// So the loop is taken as that one has it: its first number and its bound without what is added to
// both of them, if that differs within a workgroup and is 0 where the ids are.  Then all
// invocations are seen to leave it together.
#include "ir/build/rewrite.h"
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"
#include "ir/pass/scalar/find_counter.h"
#include "spirv/read/reading.h"

enum { MOST_ADDENDS = 16, DEEPEST = 8 };

typedef struct addend {
    uint32_t id;
    bool minus;
} addend;

typedef struct sum { // modulo 2^32 or 2^64, as additions are
    uint32_t count;
    bool overflow;
    addend data[MOST_ADDENDS];
} sum;

typedef struct stepping { // a WHILE
    vy_counting_loop c;
    bool minus; // the step is subtracted
    sum init, bound;
    uint32_t raw, end; // in the new program: the counter and the bound of the invocation 0, 0, 0
} stepping;

typedef struct lockstep {
    vy_rewrite w;
    const uint32_t *origin; // vy_differences
    uint8_t *waits;         // by instruction: a loop whose every iteration executes a barrier
    stepping **loops;       // by instruction: of what is rebuilt
} lockstep;

static const vy_inst *inst(const lockstep *x, uint32_t id)
{
    return &x->w.p->insts.data[VY_IS_LEAF(id) ? 0 : id];
}

static bool differs(const lockstep *x, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_leaf_differs(x->w.p, id) : x->origin[id] != 0;
}

// ----------------------------------------------------------------------------------------- sums
static void take_addends(const lockstep *x, sum *s, uint32_t id, bool minus, uint32_t depth)
{
    id = vy_counting_plain(&x->w, id);
    const vy_op op = (vy_op)inst(x, id)->op;
    if ((op == VY_OP_ADD || op == VY_OP_SUB) && depth < DEEPEST) {
        take_addends(x, s, vy_arg(x->w.p, id, 0), minus, depth + 1);
        take_addends(x, s, vy_arg(x->w.p, id, 1), minus != (op == VY_OP_SUB), depth + 1);
    } else if (s->count == MOST_ADDENDS) {
        s->overflow = true;
    } else {
        s->data[s->count++] = (addend){id, minus};
    }
}

static bool equal(const lockstep *x, uint32_t a, uint32_t b, uint32_t depth)
{
    a = vy_counting_plain(&x->w, a);
    b = vy_counting_plain(&x->w, b);
    if (a == b) return true;
    const vy_inst *i = inst(x, a), *j = inst(x, b);
    if (VY_IS_LEAF(a) || VY_IS_LEAF(b) || depth == DEEPEST || i->op != j->op || i->aux != j->aux ||
        i->nargs != j->nargs || vy_op_infos[i->op].effect != VY_PURE)
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!equal(x, vy_arg(x->w.p, a, k), vy_arg(x->w.p, b, k), depth + 1)) return false;
    return true;
}

// Is it 0 in the invocation of a workgroup whose ids are 0?
static bool begins_at_zero(const lockstep *x, uint32_t id, uint32_t depth)
{
    id = vy_counting_plain(&x->w, id);
    if (VY_IS_LEAF(id)) {
        const vy_leaf *l = &x->w.p->leaves.data[VY_LEAF_INDEX(id)];
        return l->kind == VY_LEAF_BUILTIN && (l->index == VY_LID || l->index == VY_LINDEX);
    }
    const vy_op op = (vy_op)inst(x, id)->op;
    if (depth == DEEPEST || (op != VY_OP_MUL && op != VY_OP_SHL && op != VY_OP_AND)) return false;
    return begins_at_zero(x, vy_arg(x->w.p, id, 0), depth + 1) ||
           (op != VY_OP_SHL && begins_at_zero(x, vy_arg(x->w.p, id, 1), depth + 1));
}

// Has `of` as many addends like a as `in` has?
static bool as_often(const lockstep *x, const sum *of, const sum *in, const addend *a)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < of->count; k++)
        count += of->data[k].minus == a->minus && equal(x, of->data[k].id, a->id, 0);
    for (uint32_t k = 0; k < in->count; k++)
        count -= in->data[k].minus == a->minus && equal(x, in->data[k].id, a->id, 0);
    return count == 0;
}

// Do they differ within a workgroup, by the same, which is 0 in the invocation 0, 0, 0?
static bool differ_alike(const lockstep *x, const sum *a, const sum *b)
{
    bool any = false;
    for (uint32_t k = 0; k < a->count + b->count; k++) {
        const addend *d = k < a->count ? &a->data[k] : &b->data[k - a->count];
        if (!differs(x, d->id)) continue;
        if (!begins_at_zero(x, d->id, 0) || !as_often(x, a, b, d)) return false;
        any = true;
    }
    return any && !a->overflow && !b->overflow;
}

// ---------------------------------------------------------------------------------------- loops
static bool find_barriers(lockstep *x)
{
    bool any = false;
    for (uint32_t id = 1; id < x->w.p->insts.count; id++) {
        const uint32_t loop = x->w.s.parent[id];
        if (inst(x, id)->op != VY_OP_BARRIER || inst(x, loop)->op != VY_OP_WHILE) continue;
        if (id <= x->w.s.test[loop]) continue;
        any = true;
        x->waits[loop] = 1;
    }
    return any;
}

// counter + step, or counter - step
static bool find_step(const lockstep *x, uint32_t loop, stepping *l)
{
    const vy_program *p = x->w.p;
    const uint32_t carry = vy_carry(loop, l->c.slot);
    const uint32_t next = vy_counting_plain(&x->w, vy_slot_next(p, &x->w.s, loop, l->c.slot));
    const vy_op op = (vy_op)inst(x, next)->op;
    if (op != VY_OP_ADD && op != VY_OP_SUB) return false;
    l->minus = op == VY_OP_SUB;
    for (uint32_t k = 0; k < (l->minus ? 1u : 2u); k++) {
        l->c.step = vy_arg(p, next, 1 - k);
        if (vy_counting_plain(&x->w, vy_arg(p, next, k)) == carry)
            return vy_counting_invariant(&x->w, loop, l->c.step);
    }
    return false;
}

static bool is_loop(const lockstep *x, uint32_t loop, stepping *l)
{
    if (!vy_counting_test(&x->w, loop, &l->c) || !find_step(x, loop, l)) return false;
    take_addends(x, &l->init, vy_slot_init(x->w.p, loop, l->c.slot), false, 0);
    take_addends(x, &l->bound, l->c.bound, false, 0);
    return differ_alike(x, &l->init, &l->bound);
}

static bool find_loops(lockstep *x, bool *any)
{
    x->loops = vy_rewrite_table(&x->w, x->w.p->insts.count * sizeof *x->loops);
    x->origin = x->loops ? vy_differences(x->w.p, &x->w.s, NULL, &x->w.arena) : NULL;
    for (uint32_t id = 1; x->origin && id < x->w.p->insts.count; id++) {
        stepping l = {0};
        if (!x->waits[id] || !is_loop(x, id, &l)) continue;
        x->loops[id] = vy_arena_alloc(&x->w.arena, sizeof l);
        if (!x->loops[id]) return false;
        *x->loops[id] = l;
        *any = true;
    }
    return x->origin != NULL;
}

// -------------------------------------------------------------------------------------- rebuilt
static vy_value as(lockstep *x, vy_type type, uint32_t id)
{
    const vy_value v = {id};
    if (vy_builder_failed(x->w.b) || vy_id_type(vy_builder_program(x->w.b), id) == type) return v;
    return vy_bitcast(x->w.b, type, v);
}

// The sum of the addends that differ, or of the others, ahead of the loop.
static vy_value part(lockstep *x, uint32_t loop, const sum *s, vy_type t, bool that_differ)
{
    vy_builder *b = x->w.b;
    vy_value v = vy_int(b, t, 0);
    for (uint32_t k = 0; k < s->count; k++) {
        const addend *a = &s->data[k];
        if (differs(x, a->id) != that_differ) continue;
        const vy_value one = as(x, t, vy_counting_ahead(&x->w, loop, a->id));
        v = a->minus ? vy_sub(b, v, one) : vy_add(b, v, one);
    }
    return v;
}

static uint32_t replace(void *pass, uint32_t id);

static uint32_t rebuild(lockstep *x, uint32_t loop)
{
    const vy_program *p = x->w.p;
    vy_builder *b = x->w.b;
    stepping *s = x->loops[loop];
    const uint32_t slot = s->c.slot, carry = vy_carry(loop, slot);
    const vy_type t = vy_id_type(p, carry);
    vy_remade l;
    if (!vy_remake(&x->w, &l, loop, 0)) return 0;
    vy_rewrite_at(&x->w, loop);
    const vy_value own = part(x, loop, &s->init, t, true);
    const vy_value step = as(x, t, vy_counting_ahead(&x->w, loop, s->c.step));
    s->end = part(x, loop, &s->bound, t, false).id;
    l.in[slot] = part(x, loop, &s->init, t, false).id;
    vy_remake_begin(&x->w, &l);
    s->raw = vy_new(&x->w, carry);
    const vy_value raw = {s->raw};
    vy_rewrite_as(&x->w, carry, vy_add(b, raw, own).id);
    vy_remake_body(&x->w, &l, replace, x);
    vy_remake_next(&x->w, &l);
    l.in[slot] = (s->minus ? vy_sub(b, raw, step) : vy_add(b, raw, step)).id;
    vy_remake_end(&x->w, &l);
    const uint32_t result = vy_result(p, &x->w.s, loop, slot);
    x->w.map[result] = vy_add(b, (vy_value){vy_new(&x->w, result)}, own).id;
    return vy_remake_last(&x->w, &l);
}

// The comparison, of the counter and the bound of the invocation 0, 0, 0.
static void compare(lockstep *x, const stepping *s, uint32_t loop, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_inst *i = inst(x, id);
    uint32_t args[2];
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t of = vy_arg(p, id, k);
        const bool counter = vy_counting_plain(&x->w, of) == vy_carry(loop, s->c.slot);
        args[k] = as(x, vy_id_type(p, of), counter ? s->raw : s->end).id;
    }
    x->w.map[id] = vy_emit(x->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, 2, args);
}

static uint32_t replace(void *pass, uint32_t id)
{
    lockstep *x = pass;
    if (x->loops[id]) return rebuild(x, id);
    const uint32_t loop = x->w.s.parent[id];
    if (!loop || !x->loops[loop] || x->loops[loop]->c.compare != id) return 0;
    compare(x, x->loops[loop], loop, id);
    return id;
}

bool read_lockstep(vy_program *p)
{
    lockstep x = {0};
    vy_pass_context c = {0};
    bool any = false, ok = vy_rewrite_begin(&x.w, p);
    ok = ok && (x.waits = vy_rewrite_bytes(&x.w)) != NULL;
    if (ok && find_barriers(&x)) ok = find_loops(&x, &any);
    if (ok && any) vy_rewrite_run(&x.w, replace, &x);
    return vy_rewrite_end(&x.w, ok, &c.changed);
}
