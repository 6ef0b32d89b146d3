// SPDX-License-Identifier: MIT
// op_info.h: what an operation is: the rows of ops.h as data, and questions about them.
#ifndef VYRE_OP_INFO_H
#define VYRE_OP_INFO_H

#include "ir/core/ops.h"
#include "ir/vyre.h"

typedef enum vy_form {
    VY_FORM_PREFIX,
    VY_FORM_INFIX,
    VY_FORM_CALL,
    VY_FORM_SPECIAL,
    VY_FORM_LOWERED
} vy_form;
typedef enum vy_rule {
    VY_RULE_F,
    VY_RULE_N,
    VY_RULE_I,
    VY_RULE_IB,
    VY_RULE_C,
    VY_RULE_CB,
    VY_RULE_FB,
    VY_RULE_S
} vy_rule;
typedef enum vy_effect { VY_PURE, VY_READ, VY_WRITE, VY_CONV, VY_CTRL } vy_effect;
typedef enum vy_work { // the column `cost`
    VY_WORK_FREE,
    VY_WORK_SIMPLE,
    VY_WORK_ADD,
    VY_WORK_MUL,
    VY_WORK_FMA,
    VY_WORK_DIV,
    VY_WORK_LIMIT,
    VY_WORK_ROUND,
    VY_WORK_ROOT,
    VY_WORK_MATH,
    VY_WORK_LOAD,
    VY_WORK_STORE,
    VY_WORK_ATOMIC,
    VY_WORK_SUBGROUP,
    VY_WORK_BARRIER,
    VY_WORK_BRANCH,
    VY_WORK_CARRY,
    VY_WORK_CONTROL,
    VY_WORK_COUNT
} vy_work;
typedef struct vy_op_info {
    const char *id;   // "ADD"
    const char *text; // "+"
    vy_form form;
    uint32_t arity;
    vy_rule rule;
    vy_effect effect;
    vy_work work;
} vy_op_info;
extern const vy_op_info vy_op_infos[VY_OP_COUNT];
static inline bool vy_op_is_lowered(vy_op op) { return vy_op_infos[op].form == VY_FORM_LOWERED; }
// The marks that an operation may have; some require others (marks.c).
uint8_t vy_marks_allowed(vy_op op, uint8_t flags);
// The name of one mark of VY_FLAG_MARKS ("in_range"), and the mark of a name; 0: no mark is called
// that.
const char *vy_mark_name(uint8_t flag);
uint8_t vy_mark_named(const char *name, size_t n);
// The operation of a CALL row with that text and arity, or VY_OP_NONE.
vy_op vy_op_from_call(const char *text, size_t n);
// What an atomic computes of the old value and its operand; VY_OP_NONE of exchanges.
vy_op vy_op_plain(vy_op atomic);
static inline bool vy_op_is_atomic(vy_op op) { return vy_op_infos[op].work == VY_WORK_ATOMIC; }
static inline bool vy_op_is_memory(vy_op op)
{
    const vy_work w = vy_op_infos[op].work;
    return w == VY_WORK_LOAD || w == VY_WORK_STORE || w == VY_WORK_ATOMIC;
}
// sqrt, exp, sin …: each device rounds them its own way, and they take longer than arithmetic.
static inline bool vy_op_is_function(vy_op op)
{
    return vy_op_infos[op].work == VY_WORK_ROOT || vy_op_infos[op].work == VY_WORK_MATH;
}
static inline bool vy_op_is_subgroup(vy_op op) { return vy_op_infos[op].work == VY_WORK_SUBGROUP; }
// Is its result that of all lanes together, the same in each?
static inline bool vy_op_is_reduction(vy_op op)
{
    switch (op) {
    case VY_OP_SG_ADD:
    case VY_OP_SG_MUL:
    case VY_OP_SG_MIN:
    case VY_OP_SG_MAX:
    case VY_OP_SG_AND:
    case VY_OP_SG_OR:
    case VY_OP_SG_XOR:
    case VY_OP_SG_ANY:
    case VY_OP_SG_ALL: return true;
    default: return false;
    }
}
// Does its second operand select the invocation whose value is the result?
static inline bool vy_op_has_lane(vy_op op)
{
    return vy_op_is_subgroup(op) && vy_op_infos[op].arity == 2;
}
static inline bool vy_op_opens(vy_op op)
{
    return op == VY_OP_IF || op == VY_OP_LOOP || op == VY_OP_WHILE || op == VY_OP_CHECKPOINT;
}
static inline bool vy_op_closes(vy_op op)
{
    return op == VY_OP_ENDIF || op == VY_OP_ENDLOOP || op == VY_OP_ENDCHECKPOINT;
}
// The result's type for operands of type t (rules other than S); VY_VOID if not allowed.
vy_type vy_rule_type(vy_rule rule, vy_type t);

#endif
