// SPDX-License-Identifier: MIT
// explicit_padding.c: padding lanes made explicit.
//
//   over(i: N):                                  over(i: (N + 63) / 64 * 64):
//       s = x[i]                          →          inside = i < N
//       t = s + subgroup_shuffle(s, lane + 1)        s = if inside { x[i] } else { 0 }
//       u = subgroup_add(t)                          t = s + subgroup_shuffle(s, lane + 1)
//       y[i] = u                                     u = subgroup_add(select(inside, t, -0))
//                                                    if inside { y[i] = u }
//
// Lanes outside the domain take part in subgroup operations: their loads give zero, their stores do
// nothing, in reductions they are the identity (docs/language.md 3.3).  A shuffle may read what
// they computed, so a derivative may have to pass through them: the butterfly `s +=
// subgroup_shuffle_xor(s, 1 << k)` goes through padding lanes in the last subgroup of N = 5.  But a
// padding lane has no tape, adds to no gradient, and does not count in the sums that reverse mode
// introduces.  Once the rules for padding lanes are code and no such lane is left, reverse mode
// needs to know nothing about them, and masks, tapes and sums are right without special cases.
//
// The domain variables of a padding lane are clamped to the nearest invocation inside: `map` has
// the values computed from the clamped variables.  Where clamping makes no difference (indices of
// memory, which are under `inside`, and conditions that are uniform in the workgroup), `raw` has
// the values without it, so that indices keep a form that the optimiser understands.  Workgroup
// axes that the domain lacks become domain variables, of which only 0 is inside.  Needs at most
// three domain variables: more are folded before (fold_domain.c).
//
// Accesses are under `if inside`: to select what a load gives is not enough, as the access itself
// would be out of range, and so would those that its derivative makes.
#include "autodiff/rewrite/explicit_padding.h"

#include "ir/pass/pass.h"
#include "ir/check/uniform.h"
#include "autodiff/facts/padding.h"

#include <stdio.h>
#include <string.h>

typedef struct unpad {
    vy_rewrite w; // its map: values with clamped domain variables
    const uint32_t *differs;
    uint32_t *raw;                    // by instruction: the value without clamping
    uint32_t nearest[VY_LAUNCH_AXES]; // by domain variable: clamped
    uint32_t own[VY_LAUNCH_AXES];     // … and as it is
    uint32_t inside;
} unpad;

static uint32_t value(const unpad *u, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return u->w.map[id];
    const vy_leaf *l = &u->w.p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_OVER ? u->nearest[l->index] : id;
}

static uint32_t raw_value(const unpad *u, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return u->raw[id];
    const vy_leaf *l = &u->w.p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_OVER ? u->own[l->index] : id;
}

static uint32_t zero(unpad *u, vy_type t)
{
    return t == VY_BOOL ? vy_bool(u->w.b, false).id : vy_zero(u->w.b, t).id;
}

static uint32_t inside_or(unpad *u, vy_type t, uint32_t x, uint32_t otherwise)
{
    return vy_emit(u->w.b, VY_OP_SELECT, t, 0, 3, (uint32_t[]){u->inside, x, otherwise});
}

bool vy_unpad_takes(const vy_program *p, const char *name)
{
    bool taken = false;
    for (uint32_t k = 1; k < p->buffers.count; k++) taken |= !strcmp(p->buffers.data[k].name, name);
    for (uint32_t k = 0; k < p->scalars.count; k++) taken |= !strcmp(p->scalars.data[k].name, name);
    for (uint32_t k = 0; k < p->overs.count; k++) taken |= !strcmp(p->overs.data[k].name, name);
    return taken;
}

static void add_spare_axis(unpad *u, uint32_t axis)
{
    vy_program *p = vy_builder_program(u->w.b);
    char name[32];
    snprintf(name, sizeof name, "spare_%c", "xyz"[axis]);
    for (uint32_t k = 1; vy_unpad_takes(p, name); k++)
        snprintf(name, sizeof name, "spare_%c%u", "xyz"[axis], k);
    vy_over(u->w.b, name, vy_dim_const(u->w.b, p->workgroup[axis]));
}

// New domain variables come before the others.
static vy_value begin_spare_axes(unpad *u, uint32_t spare)
{
    vy_program *p = vy_builder_program(u->w.b);
    const uint32_t n = p->overs.count;
    vy_value inside = vy_bool(u->w.b, true);
    for (uint32_t k = 0; k < spare; k++) add_spare_axis(u, n + k);
    if (vy_builder_failed(u->w.b)) return inside;
    vy_over_var all[VY_LAUNCH_AXES];
    for (uint32_t k = 0; k < n + spare; k++)
        all[k] = p->overs.data[k < spare ? n + spare - 1 - k : k - spare];
    memcpy(p->overs.data, all, (n + spare) * sizeof *all);
    for (uint32_t k = 0; k < spare; k++) {
        vy_value i = {vy_leaf_other(u->w.b, VY_LEAF_OVER, VY_U32, k, 0)};
        inside = vy_and(u->w.b, inside, vy_eq(u->w.b, i, vy_zero(u->w.b, VY_U32)));
    }
    return inside;
}

// Makes the domain variables and `inside`; the domain becomes a multiple of the workgroup.
static void begin_lanes(unpad *u)
{
    vy_program *p = vy_builder_program(u->w.b);
    const uint32_t spare = vy_spare_axes(u->w.p);
    vy_value inside = begin_spare_axes(u, spare);
    for (uint32_t k = 0; k < u->w.p->overs.count; k++) {
        vy_dim extent = u->w.p->overs.data[k].extent;
        vy_value i = {vy_leaf_other(u->w.b, VY_LEAF_OVER, VY_U32, k + spare, 0)};
        u->nearest[k] = u->own[k] = i.id;
        if (vy_axis_is_full(u->w.p, k)) continue;
        uint32_t size = u->w.p->workgroup[vy_launch_axis(u->w.p, k)];
        vy_dim full = vy_dim_binary(u->w.b, VY_DIM_ADD, extent, vy_dim_const(u->w.b, size - 1));
        full = vy_dim_binary(u->w.b, VY_DIM_DIV, full, vy_dim_const(u->w.b, size));
        p->overs.data[k + spare].extent =
            vy_dim_binary(u->w.b, VY_DIM_MUL, full, vy_dim_const(u->w.b, size));
        vy_value n = vy_dim_number(u->w.b, extent);
        inside = vy_and(u->w.b, inside, vy_lt(u->w.b, i, n));
        u->nearest[k] = vy_min(u->w.b, i, vy_sub(u->w.b, n, vy_int(u->w.b, VY_U32, 1))).id;
    }
    u->inside = inside.id;
}

// ------------------------------------------------------------------------------------ instructions
static uint32_t *operands(unpad *u, uint32_t id, bool raw)
{
    uint32_t n = u->w.p->insts.data[id].nargs;
    uint32_t *args = vy_rewrite_table(&u->w, (n + 1) * sizeof *args);
    for (uint32_t k = 0; args && k < n; k++)
        args[k] = raw ? raw_value(u, vy_arg(u->w.p, id, k)) : value(u, vy_arg(u->w.p, id, k));
    return args;
}

static void copy_pure(unpad *u, uint32_t id)
{
    const vy_inst *i = &u->w.p->insts.data[id];
    uint32_t *args = operands(u, id, false), *raw = operands(u, id, true);
    if (!args || !raw) return;
    vy_copy_with(u->w.b, u->w.p, id, args, u->w.map);
    u->raw[id] = memcmp(args, raw, i->nargs * sizeof *args) == 0
                     ? u->w.map[id]
                     : vy_emit(u->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, raw);
}

// Under `if inside`; its value is zero otherwise.
static void copy_guarded(unpad *u, uint32_t id)
{
    vy_type type = (vy_type)u->w.p->insts.data[id].type;
    uint32_t *args = operands(u, id, true), none = 0;
    if (!args) return;
    if (type != VY_VOID) none = zero(u, type);
    vy_begin_if(u->w.b, u->inside);
    vy_copy_with(u->w.b, u->w.p, id, args, u->w.map);
    vy_begin_else(u->w.b, type != VY_VOID, &u->w.map[id]);
    vy_end_if(u->w.b, type != VY_VOID, &none, &u->w.map[id]);
    u->raw[id] = u->w.map[id];
}

// Does some lane inside, of which every workgroup has one, use the same indices?
static bool is_alike(const unpad *u, uint32_t id)
{
    const vy_program *p = u->w.p;
    bool alike = true;
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[id].aux].rank; k++) {
        const uint32_t index = vy_arg(p, id, k);
        alike &= VY_IS_LEAF(index) ? !vy_leaf_differs(p, index) : !u->differs[index];
    }
    for (uint32_t at = u->w.s.parent[id]; at; at = u->w.s.parent[at]) alike &= !u->differs[at];
    return alike;
}

// Stores to the lane's own arrays are harmless, as nothing else reads those of a padding lane.
static bool needs_guard(const unpad *u, uint32_t id)
{
    const vy_inst *i = &u->w.p->insts.data[id];
    const vy_buffer_class cls = u->w.p->buffers.data[i->aux].cls;
    if (i->op == VY_OP_ZERO) return false; // the whole workgroup executes clears
    return (cls != VY_LOCAL && (cls != VY_IN || i->op != VY_OP_LOAD)) || !is_alike(u, id);
}

static void copy_unguarded(unpad *u, uint32_t id)
{
    const vy_inst *i = &u->w.p->insts.data[id];
    const vy_type type = (vy_type)i->type;
    uint32_t *args = operands(u, id, true);
    if (!args) return;
    vy_copy_with(u->w.b, u->w.p, id, args, u->w.map);
    const uint32_t loaded = u->raw[id] = u->w.map[id];
    if (type == VY_VOID) return;
    u->w.map[id] = inside_or(u, type, loaded, zero(u, type));
    // What the whole workgroup loads stays uniform, and so do conditions that it determines.
    if (u->w.p->buffers.data[i->aux].cls != VY_IN) u->raw[id] = u->w.map[id];
}

static uint32_t identity(unpad *u, vy_op op, vy_type t)
{
    bool is_float = vy_type_is_float(t), is_signed = vy_type_is_signed(t),
         least = op == VY_OP_SG_MAX;
    uint32_t bits = t == VY_BOOL ? 1 : vy_type_size(t) * 8;
    vy_scalar v = {.u = 0};
    switch (op) {
    case VY_OP_SG_AND:
    case VY_OP_SG_ALL: return t == VY_BOOL ? vy_bool(u->w.b, true).id : vy_int(u->w.b, t, -1).id;
    case VY_OP_SG_MUL: return is_float ? vy_float(u->w.b, t, 1).id : vy_int(u->w.b, t, 1).id;
    case VY_OP_SG_MIN:
    case VY_OP_SG_MAX:
        if (is_float) return vy_float(u->w.b, t, least ? -__builtin_inf() : __builtin_inf()).id;
        v.u = UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits);
        if (least) v.u = is_signed ? ~v.u : 0;
        return vy_leaf_const(u->w.b, t, vy_wrap(t, v));
    default:
        return is_float ? vy_float(u->w.b, t, -0.0).id : zero(u, t); // −0 + x is x, +0 + −0 is not
    }
}

static void copy_subgroup(unpad *u, uint32_t id)
{
    const vy_inst *i = &u->w.p->insts.data[id];
    uint32_t *args = operands(u, id, false);
    vy_type t = vy_id_type(u->w.p, vy_arg(u->w.p, id, 0));
    if (!args) return;
    if (i->nargs == 1) args[0] = inside_or(u, t, args[0], identity(u, (vy_op)i->op, t));
    vy_copy_with(u->w.b, u->w.p, id, args, u->w.map);
    u->raw[id] = u->w.map[id];
}

// Conditions and bounds that are uniform in the workgroup must remain recognisable as such.
static void copy_marker(unpad *u, uint32_t id)
{
    const vy_program *p = u->w.p;
    const vy_inst *i = &p->insts.data[id];
    uint32_t *args = operands(u, id, false), opener = id, deciding = 0;
    if (!args) return;
    if (i->op == VY_OP_TEST || i->op == VY_OP_ENDLOOP) opener = u->w.s.partner[id];
    if (i->op == VY_OP_IF || i->op == VY_OP_TEST) deciding = 1;
    if (i->op == VY_OP_LOOP) deciding = 3;
    if (i->op == VY_OP_ENDLOOP) deciding = vy_next_arg(p, opener);
    for (uint32_t k = 0; k < deciding && !u->differs[opener]; k++)
        args[k] = raw_value(u, vy_arg(p, id, k));
    if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) args[0] = u->w.map[vy_arg(p, id, 0)];
    vy_copy_with(u->w.b, p, id, args, u->w.map);
    u->raw[id] = u->w.map[id];
}

static uint32_t make_explicit(void *pass, uint32_t id)
{
    unpad *u = pass;
    const vy_inst *i = &u->w.p->insts.data[id];
    vy_op op = (vy_op)i->op;
    vy_rewrite_at(&u->w, id);
    if (vy_op_infos[op].effect == VY_CTRL)
        copy_marker(u, id);
    else if (vy_op_is_subgroup(op))
        copy_subgroup(u, id);
    else if (!vy_op_is_memory(op))
        copy_pure(u, id);
    else if (needs_guard(u, id))
        copy_guarded(u, id);
    else
        copy_unguarded(u, id);
    return id;
}

// ------------------------------------------------------------------------------------- entry point
static bool find_differences(unpad *u)
{
    const vy_program *p = u->w.p;
    u->raw = vy_rewrite_ids(&u->w);
    if (u->w.oom) return false;
    u->differs = vy_differences(p, &u->w.s, NULL, &u->w.arena);
    return u->differs != NULL;
}

bool vy_unpad(vy_program *p, bool *done)
{
    unpad u = {0};
    *done = false;
    if (p->overs.count > VY_LAUNCH_AXES || !vy_has_padding(p)) return true;
    bool ok = vy_rewrite_begin(&u.w, p) && find_differences(&u);
    if (ok && vy_rewrite_open(&u.w)) {
        begin_lanes(&u);
        vy_rewrite_range(&u.w, 1, p->insts.count, make_explicit, &u);
    }
    if (!vy_rewrite_end(&u.w, ok, done)) return false;
    vy_pass_context c = {0};
    return vy_pass_cleanup(p, &c) && vy_pass_fuse_ifs(p, &c) && vy_pass_dce(p, &c);
}
