// SPDX-License-Identifier: MIT
// sweep_loop.c: the reverse of loops.
//
// A loop over the same iterations backwards, which replays the body and reverses it.  It carries
// the adjoints of the carried values (for the preceding iteration) and of the values that the body
// captures.
//
//   for k in a..b { s' = f(s, x) }     becomes     for k in rev(a..b) {
//                                                      x̄ += s̄' ∂f/∂x;  s̄ = s̄' ∂f/∂s
//                                                  }
#include "autodiff/core/adjoint.h"
#include "autodiff/facts/induction.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"
#include "ir/core/flow.h"

typedef struct loop_facts {
    uint32_t opener, end;
    uint32_t carried; // the number of values it carries
    bool counted_run; // a while, or a loop that leaves early: r->build.count is its trip count
} loop_facts;

static loop_facts facts_of(const reverse *r, uint32_t opener)
{
    bool counted = r->p->insts.data[opener].op == VY_OP_LOOP && !vy_exits(r->p, opener);
    return (loop_facts){.opener = opener,
                        .end = r->facts.s.partner[opener],
                        .carried = vy_slot_count(r->p, &r->facts.s, opener),
                        .counted_run = !counted};
}

static uint32_t init_of(const reverse *r, const loop_facts *f, uint32_t k)
{
    return vy_slot_init(r->p, f->opener, k);
}

static uint32_t next_value(const reverse *r, const loop_facts *f, uint32_t k)
{
    return vy_slot_next(r->p, &r->facts.s, f->opener, k);
}

// Adjoints that the reverse loop carries: of carried values (k < carried) and of captured ones.
typedef struct loop_adjoint {
    uint32_t id; // CARRY, or captured value
    bool captured, is_mask;
    bool inverted;   // no adjoint: a carried integer, computed from its next value
    uint32_t before; // captured: its adjoint or mask outside the loop
} loop_adjoint;
VY_VEC_TYPE(loop_adjoint_vec, loop_adjoint);

// The adjoint of a half is carried as f32 (adjoint.h); within an iteration, the contributions to a
// captured half keep their own type.
static bool is_widened(const reverse *r, const loop_adjoint *a)
{
    return !a->is_mask && !a->inverted && vy_id_type(r->p, a->id) == VY_F16;
}

static void add_captured(reverse *r, uint32_t id, loop_adjoint_vec *list)
{
    uint32_t *slot = list_slot(r, id);
    if (*slot || r->failed) return;
    loop_adjoint a = {.id = id, .captured = true, .before = *adjoint_slot(r, id)};
    loop_adjoint m = {.id = id, .captured = true, .is_mask = true, .before = mask_of(r, id)};
    if (!vy_vec_push(list, a) || (is_maskable(r, id) && !vy_vec_push(list, m))) oom(r);
    *slot = 1;
}

// Does the initial or next value of carry k need a mask of its use?
static bool carries_mask(const reverse *r, const loop_facts *f, uint32_t k)
{
    return is_maskable(r, init_of(r, f, k)) || is_maskable(r, next_value(r, f, k));
}

// The condition under which the value of a CARRY or RESULT is used, by the code reversed so far.
static uint32_t mask_or_true(reverse *r, uint32_t id)
{
    if (!vy_is_active(&r->facts, id) || !r->build.adjoint[id]) return vy_bool(r->b, false).id;
    return r->facts.maskable[id] ? or_false(r, r->build.mask[id]) : vy_bool(r->b, true).id;
}

static void collect(reverse *r, const loop_facts *f, loop_adjoint_vec *list)
{
    for (uint32_t k = 0; k < f->carried; k++) {
        uint32_t carry = vy_carry(f->opener, k), result = f->end + 1 + k;
        // A value that each iteration sets without reading it has an inactive CARRY, but its RESULT
        // is the value of the last iteration, or the initial value.
        if (!vy_is_active(&r->facts, carry) && !vy_is_active(&r->facts, result)) continue;
        loop_adjoint a = {.id = carry}, m = {.id = carry, .is_mask = true};
        if (!vy_vec_push(list, a) || (carries_mask(r, f, k) && !vy_vec_push(list, m))) oom(r);
    }
    for (uint32_t k = 0; k < f->carried && r->build.purpose != BUILD_PROBE; k++) {
        uint32_t carry = vy_carry(f->opener, k);
        if (r->plan.kept[carry] || vy_induction_step(&r->facts, f->opener, k) ||
            !vy_is_invertible(&r->facts, f->opener, k))
            continue;
        loop_adjoint a = {.id = carry, .inverted = true};
        if (!vy_vec_push(list, a)) oom(r);
    }
    for (uint32_t id = f->opener + 1; id <= f->end; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t a = vy_arg(r->p, id, k);
            const bool in_memory = r->p->host && VY_IS_LEAF(a); // sweep_dispatch.c
            if ((VY_IS_LEAF(a) || a < f->opener) && vy_is_active(&r->facts, a) && !in_memory)
                add_captured(r, a, list);
        }
    }
    for (uint32_t i = 0; i < list->count; i++) *list_slot(r, list->data[i].id) = 0;
}

// Bounds of a counted loop as unsigned numbers.
typedef struct span {
    vy_type type;                  // u32 or u64
    vy_value from, to, step, last; // last: the greatest number of an iteration
} span;

static span span_of(reverse *r, const loop_facts *f)
{
    const vy_inst *o = &r->p->insts.data[f->opener];
    span s = {.type = vy_iteration_type((vy_type)o->type)};
    vy_value *to[] = {&s.from, &s.to, &s.step};
    for (uint32_t k = 0; k < 3; k++)
        *to[k] = vy_cast(r->b, s.type, (vy_value){vy_primal(r, vy_arg(r->p, f->opener, k))});
    s.last = vy_iteration_last(r->b, s.type, s.from, s.to, s.step);
    return s;
}

// The iteration number from 0, in the primal's order, as a value of `type`.
static uint32_t iteration(reverse *r, const loop_facts *f, vy_type type, uint32_t counter)
{
    if (f->counted_run) return vy_cast(r->b, type, (vy_value){counter}).id;
    span s = span_of(r, f);
    vy_value k = {r->build.map[f->opener]};
    vy_value number = vy_iteration_number(r->b, s.type, k, s.from, s.step);
    if (r->p->insts.data[f->opener].flags & VY_FLAG_REVERSE) number = vy_sub(r->b, s.last, number);
    return vy_cast(r->b, type, number).id;
}

// The loop variable of iteration `counter` of a loop that is reversed by counting.
static uint32_t variable_of(reverse *r, const loop_facts *f, uint32_t counter)
{
    const vy_inst *o = &r->p->insts.data[f->opener];
    if (o->op == VY_OP_WHILE) return 0;
    span s = span_of(r, f);
    vy_value number = vy_cast(r->b, s.type, (vy_value){counter});
    if (o->flags & VY_FLAG_REVERSE) number = vy_sub(r->b, s.last, number);
    return vy_cast(r->b, (vy_type)o->type, vy_add(r->b, s.from, vy_mul(r->b, number, s.step))).id;
}

static uint32_t variable_in(reverse *r, uint32_t opener, uint32_t number)
{
    loop_facts f = facts_of(r, opener);
    return variable_of(r, &f, number);
}

// The value of carry k in the iteration being reversed, if it follows from the iteration's number:
// it never changes, or is an integer induction s' = s + c.  Else 0.
static uint32_t closed_form(reverse *r, const loop_facts *f, uint32_t k, uint32_t counter)
{
    uint32_t carry = vy_carry(f->opener, k), c = vy_induction_step(&r->facts, f->opener, k);
    vy_type type = vy_id_type(r->p, carry);
    if (r->plan.kept[carry] || r->build.purpose == BUILD_PROBE) return 0;
    if (!c) return 0;
    if (c == carry) return vy_primal(r, init_of(r, f, k));
    vy_value n = {iteration(r, f, type, counter)};
    vy_value init = {vy_primal(r, init_of(r, f, k))};
    return vy_add(r->b, init, vy_mul(r->b, n, (vy_value){vy_primal(r, c)})).id;
}

// Sets the carried values of the iteration being reversed: from the closed form, recounted (what
// decides whether a barrier is reached), the inverse step, the tape (whose index may be one of the
// former), or poison.
static void set_carried(reverse *r, const loop_facts *f, uint32_t counter,
                        const loop_adjoint_vec *list, const uint32_t *carries)
{
    uint32_t first = f->opener + 1;
    for (uint32_t k = 0; k < f->carried; k++)
        r->build.map[first + k] = closed_form(r, f, k, counter);
    if (r->build.purpose != BUILD_PROBE && vy_has_recount(r, f->opener))
        vy_recount(r, f->opener, iteration(r, f, VY_U32, counter), variable_in);
    for (uint32_t i = 0; i < list->count; i++) {
        const loop_adjoint *a = &list->data[i];
        if (a->inverted) r->build.map[a->id] = vy_invert(r, f->opener, a->id - first, carries[i]);
    }
    for (uint32_t k = 0; k < f->carried; k++) {
        uint32_t carry = first + k;
        if (r->build.map[carry]) continue;
        r->build.map[carry] = vy_tape_load(r, carry);
        if (!r->build.map[carry])
            r->build.map[carry] =
                vy_leaf_other(r->b, VY_LEAF_POISON, vy_id_type(r->p, carry), carry, f->opener);
    }
}

// Opens the reverse loop with the initial values `in`; fills `carries`.
static uint32_t open_reverse(reverse *r, const loop_facts *f, uint32_t n, uint32_t *in,
                             uint32_t *carries)
{
    const vy_inst *o = &r->p->insts.data[f->opener];
    if (f->counted_run) {
        uint32_t zero = vy_zero(r->b, VY_U32).id, one = vy_int(r->b, VY_U32, 1).id;
        return vy_begin_loop(r->b, VY_U32, VY_FLAG_REVERSE, zero, r->build.count[f->opener], one, n,
                             in, carries);
    }
    uint32_t bounds[3];
    for (uint32_t k = 0; k < 3; k++) bounds[k] = vy_primal(r, vy_arg(r->p, f->opener, k));
    uint8_t flags = (o->flags & VY_FLAG_REVERSE) ^ VY_FLAG_REVERSE;
    return vy_begin_loop(r->b, (vy_type)o->type, flags, bounds[0], bounds[1], bounds[2], n, in,
                         carries);
}

static void reverse_body(reverse *r, const loop_facts *f, uint32_t variable,
                         const loop_adjoint_vec *list, const uint32_t *carries)
{
    uint32_t outer = r->build.replaying;
    r->build.replaying = f->opener;
    r->build.map[f->opener] = f->counted_run ? variable_of(r, f, variable) : variable;
    const vy_inst *o = &r->p->insts.data[f->opener];
    if (o->name)
        vy_name(r->b, (vy_value){r->build.map[f->opener]},
                vy_string(&r->p->module->names, o->name));
    set_carried(r, f, variable, list, carries);
    vy_rewind_ahead(r, f->opener);
    vy_replay(r, f->opener + 1 + f->carried, f->end);
    vy_clear_local_adjoints(r, f->opener);
    for (uint32_t i = 0; i < list->count; i++) {
        const loop_adjoint *a = &list->data[i];
        if (a->inverted) continue;
        if (!a->captured)
            r->build.adjoint[a->id] = r->build.mask[a->id] = 0;
        else if (a->is_mask)
            r->build.mask[a->id] = carries[i];
        else
            *adjoint_slot(r, a->id) = is_widened(r, a) ? 0 : carries[i];
    }
    for (uint32_t i = 0; i < list->count && !vy_builder_failed(r->b); i++) {
        const loop_adjoint *a = &list->data[i];
        if (a->captured || a->is_mask || a->inverted) continue;
        uint32_t k = a->id - f->opener - 1;
        bool masked = i + 1 < list->count && list->data[i + 1].is_mask;
        vy_contribute(r, next_value(r, f, k), carries[i], masked ? carries[i + 1] : 0);
    }
    vy_reverse_range(r, f->opener + 1 + f->carried, f->end);
    r->build.replaying = outer;
}

// The next value of adjoint or mask `a`, whose CARRY is `carry`.
static uint32_t next_of(reverse *r, const loop_adjoint *a, uint32_t carry)
{
    if (a->is_mask) return a->captured ? or_false(r, r->build.mask[a->id]) : mask_or_true(r, a->id);
    uint32_t own = *adjoint_slot(r, a->id);
    if (!is_widened(r, a)) return or_zero(r, own, a->id);
    if (!a->captured) return cast_to(r, VY_F32, or_zero(r, own, a->id));
    return own ? vy_add(r->b, (vy_value){carry}, (vy_value){cast_to(r, VY_F32, own)}).id : carry;
}

static void close_reverse(reverse *r, const loop_facts *f, const loop_adjoint_vec *list,
                          const uint32_t *carries, uint32_t *nexts, uint32_t *results)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const loop_adjoint *a = &list->data[i];
        if (a->inverted) {
            nexts[i] = r->build.map[a->id];
            continue;
        }
        nexts[i] = next_of(r, a, carries[i]);
    }
    vy_end_loop(r->b, 0, list->count, nexts, results);
    for (uint32_t i = 0; i < list->count; i++) {
        const loop_adjoint *a = &list->data[i];
        if (!a->captured) continue;
        if (a->is_mask)
            r->build.mask[a->id] = a->before;
        else
            *adjoint_slot(r, a->id) = a->before;
    }
    for (uint32_t i = 0; i < list->count && !vy_builder_failed(r->b); i++) {
        const loop_adjoint *a = &list->data[i];
        if (!a->captured || a->is_mask) continue;
        vy_set_adjoint(r, a->id, results[i], is_maskable(r, a->id) ? results[i + 1] : 0);
    }
    for (uint32_t i = 0; i < list->count && !vy_builder_failed(r->b); i++) {
        const loop_adjoint *a = &list->data[i];
        if (a->captured || a->is_mask || a->inverted) continue;
        uint32_t k = a->id - f->opener - 1;
        bool masked = i + 1 < list->count && list->data[i + 1].is_mask;
        vy_contribute(r, init_of(r, f, k), results[i], masked ? results[i + 1] : 0);
    }
}

void vy_reverse_loop(reverse *r, uint32_t opener)
{
    loop_facts f = facts_of(r, opener);
    if (!r->facts.busy[opener] && !any_result_adjoint(r, f.end, f.carried)) return;
    loop_adjoint_vec list = {0};
    vy_id_vec ids = {0};
    collect(r, &f, &list);
    uint32_t n = list.count, outer_arm = r->build.arm;
    if (r->failed || !vy_vec_reserve(&ids, n * 3 + 1)) {
        if (!r->failed) oom(r);
        vy_vec_free(&list);
        return;
    }
    uint32_t *in = ids.data, *carries = in + n, *results = carries + n;
    for (uint32_t i = 0; i < n; i++) {
        loop_adjoint *a = &list.data[i];
        uint32_t result = f.end + 1 + (a->id - opener - 1);
        if (a->inverted)
            in[i] = vy_primal(r, result);
        else if (a->is_mask)
            in[i] = a->captured ? or_false(r, a->before) : mask_or_true(r, result);
        else
            in[i] = or_zero(r, a->captured ? a->before : r->build.adjoint[result], a->id);
        if (is_widened(r, a)) in[i] = cast_to(r, VY_F32, in[i]);
    }
    uint32_t variable = open_reverse(r, &f, n, in, carries);
    for (uint32_t i = 0; i < n; i++)
        if (!list.data[i].is_mask) vy_name_adjoint(r, carries[i], list.data[i].id);
    r->build.arm = 0;
    if (!vy_builder_failed(r->b)) reverse_body(r, &f, variable, &list, carries);
    r->build.arm = outer_arm;
    if (!r->failed && !vy_builder_failed(r->b)) close_reverse(r, &f, &list, carries, in, results);
    vy_vec_free(&ids);
    vy_vec_free(&list);
}
