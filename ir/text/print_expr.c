// SPDX-License-Identifier: MIT
// print_expr.c: values as expressions, with no more brackets than C needs.
#include "ir/text/print.h"

#include "ir/text/front.h"

#include <math.h>

enum { ANY = 0, UNARY = 11, PRIMARY = 12 };

static int precedence(vy_op op)
{
    switch (op) {
    case VY_OP_OR: return 3;
    case VY_OP_XOR: return 4;
    case VY_OP_AND: return 5;
    case VY_OP_EQ:
    case VY_OP_NE: return 6;
    case VY_OP_LT:
    case VY_OP_LE: return 7;
    case VY_OP_SHL:
    case VY_OP_SHR: return 8;
    case VY_OP_ADD:
    case VY_OP_SUB: return 9;
    case VY_OP_MUL:
    case VY_OP_DIV:
    case VY_OP_REM: return 10;
    case VY_OP_NEG:
    case VY_OP_NOT: return UNARY;
    default: return PRIMARY;
    }
}

// --------------------------------------------------------------------------------------- literals
static void print_float(printer *o, vy_type type, double v, bool suffix)
{
    char text[40];
    if (isfinite(v)) {
        vy_number_print(type, v, text);
        print_str(o, text);
        if (suffix) print_str(o, vy_type_name(type));
        return;
    }
    if (suffix) {
        print_str(o, vy_type_name(type));
        print_str(o, "(");
    }
    bool minus = v < 0;
    if (o->shadows_literals)
        print_str(o, isnan(v) ? "(0.0 / 0.0)" : minus ? "(-1.0 / 0.0)" : "(1.0 / 0.0)");
    else
        print_str(o, isnan(v) ? "nan" : minus ? "-inf" : "inf");
    if (suffix) print_str(o, ")");
}

void print_scalar(printer *o, vy_type type, vy_scalar v, bool typed, vy_type natural)
{
    if (type == VY_BOOL) {
        print_str(o, v.u ? "true" : "false");
        return;
    }
    bool suffix = !typed && type != natural;
    if (vy_type_is_float(type)) {
        print_float(o, type, v.f, !typed && type != VY_F32);
        return;
    }
    bool minus = vy_type_is_signed(type) && v.i < 0;
    if (minus) print_str(o, "-");
    print_u64(o, minus ? 0 - v.u : v.u);
    if (suffix) print_str(o, type == VY_U32 ? "u" : vy_type_name(type));
}

void print_const(printer *o, uint32_t id, bool typed, vy_type natural)
{
    print_scalar(o, vy_id_type(o->p, id), *vy_id_const(o->p, id), typed, natural);
}

static bool starts_with_minus(const printer *o, uint32_t id)
{
    const vy_scalar *k = vy_id_const(o->p, id);
    if (!k) return false;
    vy_type t = vy_id_type(o->p, id);
    if (vy_type_is_float(t)) return signbit(k->f) && !isnan(k->f);
    return vy_type_is_signed(t) && k->i < 0;
}

// ----------------------------------------------------------------------------------------- leaves
static void print_leaf(printer *o, uint32_t id, int outer, bool typed)
{
    static const char *const builtins[] = {"gid",    "lid",  "wid",          "num_groups",
                                           "lindex", "lane", "subgroup_size"};
    static const char axes[] = "xyz";
    const vy_leaf *l = &o->p->leaves.data[VY_LEAF_INDEX(id)];
    char part[3] = {'.', axes[l->axis % 3], 0};
    bool brackets;
    switch (l->kind) {
    case VY_LEAF_CONST:
        brackets = starts_with_minus(o, id) && outer > UNARY;
        if (brackets) print_str(o, "(");
        print_const(o, id, typed, VY_I32);
        if (brackets) print_str(o, ")");
        return;
    case VY_LEAF_SCALAR:
        if (!print_param(o, l)) print_identifier(o, o->p->scalars.data[l->index].name);
        return;
    case VY_LEAF_OVER: print_identifier(o, o->p->overs.data[l->index].name); return;
    case VY_LEAF_BUILTIN:
        print_str(o, builtins[l->index]);
        if (l->index <= VY_NUM_GROUPS) print_str(o, part);
        return;
    default:
        print_str(o, "len(");
        if (o->array_name[l->index])
            print_name_of(o, o->array_name[l->index]);
        else
            print_identifier(o, o->p->buffers.data[l->index].name);
        if (print_rank(o, &o->p->buffers.data[l->index]) > 1) {
            print_str(o, ", ");
            print_u64(o, l->axis);
        }
        print_str(o, ")");
    }
}

void print_ref(printer *o, uint32_t id)
{
    if (o->name[id]) {
        print_name_of(o, o->name[id]);
        if (o->lane[id]) print_component(o, o->lane[id] - 1u);
    } else if (o->var[id]) {
        const print_var *v = &o->vars.data[o->var[id] - 1];
        print_name_of(o, v->name);
        if (v->lanes) print_component(o, v->lane - 1u);
    } else {
        print_str(o, "?"); // unreachable: every value has a name before its first use
    }
}

// ------------------------------------------------------------------------------------------- trees
bool print_reads(const printer *o, uint32_t id, uint32_t value)
{
    if (id == value) return true;
    if (VY_IS_LEAF(id) || !o->inlined[id]) return false;
    const vy_inst *i = &o->p->insts.data[id];
    for (uint32_t k = 0; k < i->nargs; k++)
        if (print_reads(o, vy_arg(o->p, id, k), value)) return true;
    return false;
}

// Is it computed unconditionally on the right of && and ||?  See cheap() in lower_expr.c.
static bool is_cheap(const printer *o, uint32_t id, int *budget)
{
    if (--*budget < 0) return false;
    const vy_scalar *k = vy_id_const(o->p, id);
    if (k) {
        --*budget; // a sign, a conversion
        return true;
    }
    if (print_param_name(o, vy_vector_param_of(o->p, o->params, id)))
        return --*budget >= 0; // `v.x`
    if (VY_IS_LEAF(id)) return o->p->leaves.data[VY_LEAF_INDEX(id)].kind != VY_LEAF_LEN;
    const bool held = !o->inlined[id] && !o->name[id] && o->var[id];
    if (o->lane[id] || (held && o->vars.data[o->var[id] - 1].lanes)) return --*budget >= 0; // `v.x`
    if (!o->inlined[id]) return true;
    const vy_inst *i = &o->p->insts.data[id];
    bool fine = i->op == VY_OP_CAST || i->op == VY_OP_NEG || i->op == VY_OP_NOT ||
                (precedence((vy_op)i->op) < UNARY && i->op != VY_OP_DIV && i->op != VY_OP_REM);
    for (uint32_t n = 0; fine && n < i->nargs; n++) fine = is_cheap(o, vy_arg(o->p, id, n), budget);
    return fine;
}

static bool is_logic(const printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    int budget = VY_CHEAP_NODES;
    return (i->op == VY_OP_AND || i->op == VY_OP_OR) && i->type == VY_BOOL &&
           is_cheap(o, vy_arg(o->p, id, 1), &budget);
}

// Do the operands from `first` on show their type, or are they all literals?
static bool shows_type(const printer *o, uint32_t id, uint32_t first)
{
    const vy_inst *i = &o->p->insts.data[id];
    for (uint32_t k = first; k < i->nargs; k++)
        if (!vy_id_const(o->p, vy_arg(o->p, id, k))) return true;
    return false;
}

static void print_infix(printer *o, uint32_t id, int outer)
{
    const vy_inst *i = &o->p->insts.data[id];
    uint32_t a = 0, b = 1;
    const char *text = vy_op_infos[i->op].text;
    int mine = precedence((vy_op)i->op);
    if (print_swapped(o, id)) {
        a = 1, b = 0;
        text = i->op == VY_OP_LT ? ">" : ">=";
    }
    if (is_logic(o, id)) {
        mine = i->op == VY_OP_OR ? 1 : 2;
        text = i->op == VY_OP_OR ? "||" : "&&";
    }
    // Comparisons of comparisons, and | mixed with &, get brackets: readers of C stumble over them.
    bool brackets = mine < outer, typed = shows_type(o, id, 0);
    if (brackets) print_str(o, "(");
    print_operand(o, id, a, mine >= 3 && mine <= 7 ? mine + 1 : mine, typed);
    print_str(o, " ");
    print_str(o, text);
    print_str(o, " ");
    print_operand(o, id, b, mine + 1, true);
    if (brackets) print_str(o, ")");
}

static void print_prefix(printer *o, uint32_t id, int outer)
{
    const vy_inst *i = &o->p->insts.data[id];
    bool brackets = outer > UNARY;
    if (brackets) print_str(o, "(");
    print_str(o, i->op == VY_OP_NEG ? "-" : i->type == VY_BOOL ? "!" : "~");
    print_operand(o, id, 0, UNARY, true);
    if (brackets) print_str(o, ")");
}

static void print_array(printer *o, uint32_t buffer)
{
    if (o->array_name[buffer])
        print_name_of(o, o->array_name[buffer]);
    else
        print_identifier(o, o->p->buffers.data[buffer].name);
}

void print_element(printer *o, uint32_t id)
{
    const uint32_t buffer = o->p->insts.data[id].aux;
    const uint32_t rank = print_rank(o, &o->p->buffers.data[buffer]);
    print_array(o, buffer);
    print_str(o, "[");
    for (uint32_t k = 0; k < rank; k++) {
        if (k) print_str(o, ", ");
        print_expr(o, vy_arg(o->p, id, k), ANY, false);
    }
    print_str(o, "]");
    if (o->vector[buffer] && !o->lanes[id])
        print_element_component(o, vy_arg(o->p, id, rank), o->vector[buffer]);
    const uint8_t flags = o->p->insts.data[id].flags;
    if (flags & VY_FLAG_FIRSTS) {
        print_str(o, " @in_range(");
        print_u64(o, flags / VY_FLAG_FIRST);
        print_str(o, ")");
    }
    for (uint8_t mark = VY_FLAG_INRANGE; mark <= VY_FLAG_ONCE; mark = (uint8_t)(mark << 1)) {
        if (!(flags & mark)) continue;
        print_str(o, " @");
        print_str(o, vy_mark_name(mark));
    }
}

void print_atomic(printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    uint32_t rank = o->p->buffers.data[i->aux].rank;
    print_str(o, vy_op_infos[i->op].text);
    print_str(o, "(");
    print_element(o, id);
    for (uint32_t k = rank; k < i->nargs; k++) {
        print_str(o, ", ");
        print_operand(o, id, k, ANY, true);
    }
    print_str(o, ")");
}

static void print_call(printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    bool numbered = i->op == VY_OP_SG_BROADCAST || i->op == VY_OP_SG_SHUFFLE ||
                    i->op == VY_OP_SG_SHUFFLE_XOR || i->op == VY_OP_CANDIDATE;
    bool typed = shows_type(o, id, i->op == VY_OP_SELECT ? 1 : 0);
    if (i->op == VY_OP_APPLY) typed = true;
    if (i->op == VY_OP_CAST)
        print_str(o, vy_type_name((vy_type)i->type));
    else if (i->op == VY_OP_APPLY)
        print_identifier(o, o->functions[i->aux]);
    else
        print_str(o, vy_op_infos[i->op].text);
    if (i->op == VY_OP_BITCAST) {
        print_str(o, "_");
        print_str(o, vy_type_name((vy_type)i->type));
    }
    print_str(o, "(");
    if (i->op == VY_OP_POLYGAMMA) {
        print_u64(o, i->aux);
        print_str(o, ", ");
    }
    for (uint32_t k = 0; k < i->nargs; k++) {
        if (k) print_str(o, ", ");
        bool known = typed;
        if (numbered) known = k == 1 || !vy_id_const(o->p, vy_arg(o->p, id, 0));
        print_operand(o, id, k, ANY, known);
    }
    print_str(o, ")");
}

void print_operation(printer *o, uint32_t id, int outer)
{
    const vy_inst *i = &o->p->insts.data[id];
    if (i->op == VY_OP_LOAD)
        print_element(o, id);
    else if (vy_op_is_atomic((vy_op)i->op))
        print_atomic(o, id);
    else if (vy_op_infos[i->op].form == VY_FORM_INFIX)
        print_infix(o, id, outer);
    else if (vy_op_infos[i->op].form == VY_FORM_PREFIX)
        print_prefix(o, id, outer);
    else
        print_call(o, id);
}

void print_expr(printer *o, uint32_t id, int outer, bool typed)
{
    if (o->failed) return;
    if (VY_IS_LEAF(id))
        print_leaf(o, id, outer, typed);
    else if (o->inlined[id])
        print_operation(o, id, outer);
    else
        print_ref(o, id);
}

bool print_compound(printer *o, uint32_t id, uint32_t old)
{
    if (VY_IS_LEAF(id) || !o->inlined[id]) return false;
    const vy_inst *i = &o->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool operators =
        vy_op_infos[op].form == VY_FORM_INFIX && precedence(op) != 6 && precedence(op) != 7;
    if (!operators || i->type == VY_BOOL) return false;
    uint32_t a = vy_arg(o->p, id, 0), b = vy_arg(o->p, id, 1);
    bool commutes =
        op == VY_OP_ADD || op == VY_OP_MUL || op == VY_OP_AND || op == VY_OP_OR || op == VY_OP_XOR;
    // Operands of a sum are in the order of their definition; nothing is defined between these two.
    bool free_order = VY_IS_LEAF(a) || !o->inlined[a] || o->var[old];
    const bool second = a != old && commutes && b == old && free_order;
    if ((a != old && !second) || print_reads(o, second ? a : b, old)) return false;
    if (o->lanes[id] && print_group_of(o, id, second) != old) return false;
    print_str(o, " ");
    print_str(o, vy_op_infos[op].text);
    print_str(o, "= ");
    print_operand(o, id, second ? 0 : 1, ANY, true);
    return true;
}
