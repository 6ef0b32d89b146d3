// SPDX-License-Identifier: MIT
// ops.c: the table of operations as data.
#include "ir/core/ir.h"

#include <string.h>

#define PREFIX(n) VY_FORM_PREFIX, n
#define INFIX(n) VY_FORM_INFIX, n
#define CALL(n) VY_FORM_CALL, n
#define SPECIAL(n) VY_FORM_SPECIAL, n
#define LOWERED(n) VY_FORM_LOWERED, n

const vy_op_info vy_op_infos[VY_OP_COUNT] = {{"NONE", "", VY_FORM_SPECIAL, 0, VY_RULE_S, VY_PURE,
                                              VY_WORK_FREE},
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    {#id, text, form, VY_RULE_##rule, VY_##effect, VY_WORK_##cost},
                                             VY_OPS(X)
#undef X
};

vy_op vy_op_from_call(const char *text, size_t n)
{
    for (int op = 1; op < VY_OP_COUNT; op++) {
        const vy_op_info *info = &vy_op_infos[op];
        if (info->form == VY_FORM_CALL && strncmp(info->text, text, n) == 0 && info->text[n] == 0)
            return (vy_op)op;
    }
    return VY_OP_NONE;
}

vy_type vy_rule_type(vy_rule rule, vy_type t)
{
    bool is_float = vy_type_is_float(t);
    bool is_int = t >= VY_I32 && t <= VY_U64;
    switch (rule) {
    case VY_RULE_F: return is_float ? t : VY_VOID;
    case VY_RULE_N: return is_float || is_int ? t : VY_VOID;
    case VY_RULE_I: return is_int ? t : VY_VOID;
    case VY_RULE_IB: return is_int || t == VY_BOOL ? t : VY_VOID;
    case VY_RULE_C: return is_float || is_int ? VY_BOOL : VY_VOID;
    case VY_RULE_CB: return is_float || is_int || t == VY_BOOL ? VY_BOOL : VY_VOID;
    case VY_RULE_FB: return is_float ? VY_BOOL : VY_VOID;
    case VY_RULE_S: break;
    }
    return VY_VOID;
}

vy_op vy_op_plain(vy_op atomic)
{
    switch (atomic) {
    case VY_OP_ATOMIC_ADD: return VY_OP_ADD;
    case VY_OP_ATOMIC_MIN: return VY_OP_MIN;
    case VY_OP_ATOMIC_MAX: return VY_OP_MAX;
    case VY_OP_ATOMIC_AND: return VY_OP_AND;
    case VY_OP_ATOMIC_OR: return VY_OP_OR;
    case VY_OP_ATOMIC_XOR: return VY_OP_XOR;
    default: return VY_OP_NONE;
    }
}
