// SPDX-License-Identifier: MIT
// api.c: the building functions of vyre.h: they check their arguments and call the builder.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <string.h>

static const vy_value none = {0};

bool vy_usable(vy_builder *b, const char *what, uint32_t n, const vy_value *v)
{
    if (vy_builder_failed(b)) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (vy_visible(b, v[i].id)) continue;
        vy_build_fail(b, VY_E_API, "%s: operand %u is not a value available here", what, i + 1);
        return false;
    }
    return true;
}

vy_type vy_value_type(const vy_builder *b, vy_value v)
{
    return !b->failed && vy_visible(b, v.id) ? vy_id_type(b->p, v.id) : VY_VOID;
}

// --------------------------------------------------------------------------------------- constants
vy_value vy_const(vy_builder *b, vy_type type, vy_scalar value)
{
    if (vy_builder_failed(b)) return none;
    if (vy_type_is_float(type))
        value.f = vy_round_to(type, value.f);
    else if (type >= VY_BOOL && type <= VY_U64)
        value = vy_wrap(type, value);
    else {
        vy_build_fail(b, VY_E_API, "vy_const: %s has no constants", vy_type_name(type));
        return none;
    }
    return (vy_value){vy_leaf_const(b, type, value)};
}

vy_value vy_float(vy_builder *b, vy_type type, double value)
{
    return vy_const(b, type, (vy_scalar){.f = value});
}

vy_value vy_int(vy_builder *b, vy_type type, int64_t value)
{
    vy_scalar v = {.i = value};
    if (vy_type_is_float(type)) v.f = (double)value;
    return vy_const(b, type, v);
}

vy_value vy_bool(vy_builder *b, bool value)
{
    // Not through vy_const: the control layer makes flags while the module may have failed.
    return (vy_value){vy_leaf_const(b, VY_BOOL, (vy_scalar){.u = value})};
}

vy_value vy_zero(vy_builder *b, vy_type type)
{
    return (vy_value){vy_leaf_const(b, type, (vy_scalar){.u = 0})}; // the bits of 0.0 are 0 too
}

vy_value vy_builtin_value(vy_builder *b, vy_builtin id, uint32_t axis)
{
    if (vy_builder_failed(b)) return none;
    if (axis > (id <= VY_NUM_GROUPS ? 2 : 0)) {
        vy_build_fail(b, VY_E_API, "vy_builtin_value: no such axis");
        return none;
    }
    return (vy_value){vy_leaf_other(b, VY_LEAF_BUILTIN, VY_U32, id, axis)};
}

// -------------------------------------------------------------------------------------- operations
static vy_value rule_op(vy_builder *b, vy_op op, uint32_t aux, uint32_t n, const vy_value *v)
{
    const vy_op_info *info = &vy_op_infos[op];
    if (!vy_usable(b, info->text, n, v)) return none;
    vy_type t = vy_id_type(b->p, v[0].id), result = vy_rule_type(info->rule, t);
    uint32_t ids[3];
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = v[i].id;
        if (vy_id_type(b->p, v[i].id) != t) result = VY_VOID;
    }
    if (result == VY_VOID) {
        vy_build_fail(b, VY_E_API, "%s: not for operands of type %s%s%s", info->text,
                      vy_type_name(t), n > 1 ? ", " : "",
                      n > 1 ? vy_type_name(vy_id_type(b->p, v[1].id)) : "");
        return none;
    }
    return (vy_value){vy_emit(b, op, result, aux, n, ids)};
}

#define UNARY(name, OP)                                                                            \
    vy_value name(vy_builder *b, vy_value x) { return rule_op(b, VY_OP_##OP, 0, 1, &x); }
#define BINARY(name, OP)                                                                           \
    vy_value name(vy_builder *b, vy_value x, vy_value y)                                           \
    {                                                                                              \
        return rule_op(b, VY_OP_##OP, 0, 2, (vy_value[]){x, y});                                   \
    }
BINARY(vy_add, ADD)
BINARY(vy_sub, SUB)
BINARY(vy_mul, MUL)
BINARY(vy_div, DIV)
BINARY(vy_rem, REM)
BINARY(vy_min, MIN)
BINARY(vy_max, MAX)
BINARY(vy_and, AND)
BINARY(vy_or, OR)
BINARY(vy_xor, XOR)
BINARY(vy_shl, SHL)
BINARY(vy_shr, SHR)
BINARY(vy_eq, EQ)
BINARY(vy_ne, NE)
BINARY(vy_lt, LT)
BINARY(vy_le, LE)
UNARY(vy_neg, NEG)
UNARY(vy_not, NOT)
UNARY(vy_stop_grad, STOP_GRAD)

vy_value vy_fma(vy_builder *b, vy_value x, vy_value y, vy_value z)
{
    return rule_op(b, VY_OP_FMA, 0, 3, (vy_value[]){x, y, z});
}

vy_value vy_select(vy_builder *b, vy_value c, vy_value x, vy_value y)
{
    vy_value v[3] = {c, x, y};
    if (!vy_usable(b, "select", 3, v)) return none;
    vy_type t = vy_id_type(b->p, x.id);
    if (vy_id_type(b->p, c.id) != VY_BOOL || vy_id_type(b->p, y.id) != t) {
        vy_build_fail(b, VY_E_API, "select: needs a bool and two values of one type");
        return none;
    }
    return (vy_value){vy_emit(b, VY_OP_SELECT, t, 0, 3, (uint32_t[]){c.id, x.id, y.id})};
}

vy_value vy_cast(vy_builder *b, vy_type to, vy_value x)
{
    if (!vy_usable(b, "conversion", 1, &x)) return none;
    if (to < VY_BOOL || to > VY_F64) {
        vy_build_fail(b, VY_E_API, "there is no conversion to %s", vy_type_name(to));
        return none;
    }
    return (vy_value){vy_emit(b, VY_OP_CAST, to, 0, 1, &x.id)};
}

vy_value vy_bitcast(vy_builder *b, vy_type to, vy_value x)
{
    if (!vy_usable(b, "bitcast", 1, &x)) return none;
    vy_type from = vy_id_type(b->p, x.id);
    uint32_t size = vy_type_size(to);
    if ((size != 4 && size != 8) || vy_type_size(from) != size || to == VY_BOOL ||
        from == VY_BOOL) {
        vy_build_fail(b, VY_E_API,
                      "bitcast is between f32, i32 and u32 or f64, i64 and u64, not from %s to %s",
                      vy_type_name(from), vy_type_name(to));
        return none;
    }
    return (vy_value){vy_emit(b, VY_OP_BITCAST, to, 0, 1, &x.id)};
}

vy_value vy_polygamma(vy_builder *b, uint32_t n, vy_value x)
{
    return rule_op(b, VY_OP_POLYGAMMA, n, 1, &x);
}

// ---- functions defined in terms of others (docs/language.md 7.4)
static vy_value derived_recip(vy_builder *b, const vy_value *v)
{
    return vy_div(b, vy_float(b, vy_value_type(b, v[0]), 1), v[0]);
}

static vy_value derived_relu(vy_builder *b, const vy_value *v)
{
    return vy_max(b, v[0], vy_float(b, vy_value_type(b, v[0]), 0));
}

static vy_value derived_fract(vy_builder *b, const vy_value *v)
{
    return vy_sub(b, v[0], vy_call(b, "floor", 1, v));
}

// x − y⌊x/y⌋
static vy_value derived_mod(vy_builder *b, const vy_value *v)
{
    vy_value quotient = vy_div(b, v[0], v[1]);
    return vy_sub(b, v[0], vy_mul(b, v[1], vy_call(b, "floor", 1, &quotient)));
}

static vy_value derived_step(vy_builder *b, const vy_value *v)
{
    vy_type t = vy_value_type(b, v[0]);
    const vy_value one = vy_float(b, t, 1), zero = vy_float(b, t, 0);
    return vy_select(b, vy_lt(b, v[1], v[0]), zero, one);
}

// For floats clamp is an operation, because of its derivative at the bounds.
static vy_value derived_clamp(vy_builder *b, const vy_value *v)
{
    if (vy_type_is_float(vy_value_type(b, v[0]))) return rule_op(b, VY_OP_CLAMP, 0, 3, v);
    return vy_min(b, vy_max(b, v[0], v[1]), v[2]);
}

static vy_value derived_mix(vy_builder *b, const vy_value *v)
{
    vy_value rest = vy_sub(b, vy_float(b, vy_value_type(b, v[2]), 1), v[2]);
    vy_value second = vy_mul(b, v[1], v[2]);
    return vy_add(b, vy_mul(b, v[0], rest), second);
}

// t = clamp((x−a)/(b−a), 0, 1); t²(3−2t)
static vy_value derived_smoothstep(vy_builder *b, const vy_value *v)
{
    vy_type type = vy_value_type(b, v[0]);
    vy_value width = vy_sub(b, v[1], v[0]);
    vy_value ratio = vy_div(b, vy_sub(b, v[2], v[0]), width);
    vy_value t = derived_clamp(b, (vy_value[]){ratio, vy_float(b, type, 0), vy_float(b, type, 1)});
    vy_value twice = vy_mul(b, vy_float(b, type, 2), t);
    vy_value slope = vy_sub(b, vy_float(b, type, 3), twice);
    return vy_mul(b, vy_mul(b, t, t), slope);
}

static vy_value derived_digamma(vy_builder *b, const vy_value *v)
{
    return vy_polygamma(b, 0, v[0]);
}

static const struct derived {
    const char *name;
    uint32_t arity;
    bool integers; // also for integers
    vy_value (*build)(vy_builder *b, const vy_value *v);
} derived[] = {
    {"recip", 1, false, derived_recip},     {"relu", 1, false, derived_relu},
    {"fract", 1, false, derived_fract},     {"mod", 2, false, derived_mod},
    {"step", 2, false, derived_step},       {"clamp", 3, true, derived_clamp},
    {"mix", 3, false, derived_mix},         {"smoothstep", 3, false, derived_smoothstep},
    {"digamma", 1, false, derived_digamma},
};

static vy_value call_derived(vy_builder *b, const struct derived *d, const vy_value *v)
{
    vy_type t = vy_id_type(b->p, v[0].id);
    bool fits = vy_type_is_float(t) || (d->integers && vy_rule_type(VY_RULE_N, t));
    for (uint32_t i = 1; i < d->arity; i++) fits = fits && vy_id_type(b->p, v[i].id) == t;
    if (fits) return d->build(b, v);
    vy_build_fail(b, VY_E_API, "%s: not for operands of type %s", d->name, vy_type_name(t));
    return none;
}

vy_value vy_call(vy_builder *b, const char *function, uint32_t count, const vy_value *args)
{
    if (!vy_usable(b, function, count, args)) return none;
    uint32_t arity = UINT32_MAX;
    vy_op op = vy_op_from_call(function, strlen(function));
    if (op && vy_op_is_subgroup(op)) op = VY_OP_NONE;
    if (op) arity = vy_op_infos[op].arity;
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++) { // clamp is also an operation
        if (strcmp(derived[i].name, function) != 0) continue;
        if (count == derived[i].arity) return call_derived(b, &derived[i], args);
        arity = derived[i].arity;
    }
    if (!op && arity == UINT32_MAX)
        vy_build_fail(b, VY_E_API, "there is no function `%s`", function);
    else if (count != arity)
        vy_build_fail(b, VY_E_API, "%s takes %u operands, not %u", function, arity, count);
    else if (op == VY_OP_SELECT)
        return vy_select(b, args[0], args[1], args[2]);
    else
        return rule_op(b, op, 0, count, args);
    return none;
}

// --------------------------------------------------------------------------------------- subgroups
static vy_op subgroup_op(const char *op)
{
    char name[64] = "subgroup_";
    if (strlen(op) > 32) return VY_OP_NONE;
    strcat(name, op);
    return vy_op_from_call(name, strlen(name));
}

vy_value vy_subgroup(vy_builder *b, const char *op, vy_value x)
{
    vy_op o = subgroup_op(op);
    if (!o || vy_op_infos[o].arity != 1) {
        vy_build_fail(b, VY_E_API, "there is no subgroup operation `%s` of one value", op);
        return none;
    }
    if (o != VY_OP_SG_ANY && o != VY_OP_SG_ALL) return rule_op(b, o, 0, 1, &x);
    if (!vy_usable(b, vy_op_infos[o].text, 1, &x)) return none;
    if (vy_id_type(b->p, x.id) == VY_BOOL) return (vy_value){vy_emit(b, o, VY_BOOL, 0, 1, &x.id)};
    vy_build_fail(b, VY_E_API, "%s takes a bool", vy_op_infos[o].text);
    return none;
}

vy_value vy_subgroup_lane(vy_builder *b, const char *op, vy_value x, vy_value lane)
{
    vy_op o = subgroup_op(op);
    vy_value v[2] = {x, lane};
    if (!o || vy_op_infos[o].arity != 2) {
        vy_build_fail(b, VY_E_API, "there is no subgroup operation `%s` of a value and a lane", op);
        return none;
    }
    if (!vy_usable(b, vy_op_infos[o].text, 2, v)) return none;
    if (vy_id_type(b->p, lane.id) == VY_U32)
        return (vy_value){vy_emit(b, o, vy_id_type(b->p, x.id), 0, 2, (uint32_t[]){x.id, lane.id})};
    vy_build_fail(b, VY_E_API, "%s takes a u32 lane or mask", vy_op_infos[o].text);
    return none;
}
