// SPDX-License-Identifier: MIT
// print_vector.c: scalars that are printed together, as a vector.
//
//   v1 = load p[i, 0]    v4 = v1 * s    store y[i, 0], v4        let v1 = p[i];
//   v2 = load p[i, 1]    v5 = v2 * s    store y[i, 1], v5    →   y[i] = v1 * s;
//   v3 = load p[i, 2]    v6 = v3 * s    store y[i, 2], v6
//
// Exactly those that the front end makes of a vector: instructions of one operation, one after the
// other, one for each component (a *group*, named by its first instruction).  They load, store or
// add a row of a buffer of vectors, or compute with a group: each other operand is a group, too,
// one scalar for all, or what vec3(a, b, c) takes together.  So the text makes the same
// instructions in the same order; everything else is printed as scalars, and a component of a group
// as `v1.x`.  Names decide, too: a group has none, or those that the front end gives the components
// of one variable (v_x, v_y, …).  What constructs carry and yield has nothing but its names
// (ir/core/vector_slots.h): a variable of the text, of a vector.
//
// What is a buffer of vectors its declaration says (vy_buf.vector), not what is done with it.
// Values that are named as components are vectors, too, be they computed alike
// (`print_operation_size`) or not (print_made.c): a program without either is printed without
// vectors.
#include "ir/text/print.h"

#include "ir/build/edit.h"
#include "ir/core/vector_slots.h"
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

static const vy_inst *inst(const printer *o, uint32_t id) { return &o->p->insts.data[id]; }

// ------------------------------------------------------------------------------ buffers of vectors
void print_vector_type(printer *o, vy_type t, uint32_t n)
{
    char text[8];
    snprintf(text, sizeof text, "%svec%u", vy_vector_prefix(t), n);
    print_str(o, text);
}

// The marks of lowered programs are those of single elements.
static bool has_vectors(printer *o)
{
    if (vy_program_lowered(o->p) || !vy_has_vector_words(o->p)) return false;
    const bool buffers = vy_vector_sizes(o->p, o->vector);
    return buffers || vy_has_component_names(o->p);
}

// ------------------------------------------------------------------------------------------ groups
// Are the operands k of the n instructions one value?
static bool is_one(const printer *o, uint32_t id, uint32_t n, uint32_t k)
{
    for (uint32_t j = 1; j < n; j++)
        if (print_arg(o, id + j, k) != print_arg(o, id, k)) return false;
    return true;
}

uint32_t print_group_at(const printer *o, const uint32_t *values, uint32_t n)
{
    const uint32_t first = values[0];
    if (print_is_made(o, values, n)) return first;
    if (VY_IS_LEAF(first) || o->lanes[first] != n) return 0;
    for (uint32_t j = 1; j < n; j++)
        if (values[j] != first + j) return 0;
    return first;
}

// The group whose components are operands k of the n instructions, in order; 0: they are not.
static uint32_t group_of(const printer *o, uint32_t id, uint32_t n, uint32_t k)
{
    uint32_t values[VY_MOST_COMPONENTS];
    for (uint32_t j = 0; j < n; j++) values[j] = print_arg(o, id + j, k);
    return print_group_at(o, values, n);
}

// One operation each, of which none needs another.
static bool are_alike(const printer *o, uint32_t id, uint32_t n)
{
    const vy_inst *a = inst(o, id);
    if (id + n > o->p->insts.count) return false;
    for (uint32_t j = 1; j < n; j++) {
        const vy_inst *b = inst(o, id + j);
        if (b->op != a->op || b->type != a->type || b->flags != a->flags || b->aux != a->aux ||
            b->nargs != a->nargs)
            return false;
        for (uint32_t k = 0; k < b->nargs; k++) {
            const uint32_t x = vy_arg(o->p, id + j, k);
            if (!VY_IS_LEAF(x) && x >= id) return false;
        }
    }
    return true;
}

static bool are_named_alike(const printer *o, uint32_t id, uint32_t n)
{
    const char *first = vy_string(&o->p->module->names, inst(o, id)->name);
    const size_t length = vy_component_stem(first, 0);
    for (uint32_t j = 0; j < n; j++) {
        const char *name = vy_string(&o->p->module->names, inst(o, id + j)->name);
        if (!inst(o, id)->name && !inst(o, id + j)->name) continue;
        if (!length || vy_component_stem(name, j) != length || memcmp(name, first, length) != 0)
            return false;
    }
    return true;
}

// Elements k, k + 1, … of one row, all of them.
static bool is_row(const printer *o, uint32_t id, uint32_t n)
{
    const uint32_t last = o->p->buffers.data[inst(o, id)->aux].rank - 1;
    for (uint32_t k = 0; k < last; k++)
        if (!is_one(o, id, n, k)) return false;
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t index = vy_arg(o->p, id + j, last);
        const vy_scalar *k = vy_id_const(o->p, index);
        if (!k || k->u != j || vy_id_type(o->p, index) != VY_I32) return false;
    }
    return true;
}

uint32_t print_row_size(const printer *o, uint32_t id)
{
    const vy_inst *i = inst(o, id);
    if (i->op != VY_OP_LOAD && i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) return 0;
    const uint32_t n = o->vector[i->aux];
    return n && are_alike(o, id, n) && is_row(o, id, n) ? n : 0;
}

// An operation that the language has for vectors, by components.
static bool goes_by_components(const vy_inst *i)
{
    const vy_op_info *info = &vy_op_infos[i->op];
    const bool fits = info->rule == VY_RULE_F || info->rule == VY_RULE_N ||
                      info->rule == VY_RULE_I || info->rule == VY_RULE_IB;
    if (info->effect != VY_PURE || !vy_vector_prefix((vy_type)i->type) || i->nargs > 3)
        return false;
    if (i->op == VY_OP_SELECT) return true;
    return fits && info->form != VY_FORM_SPECIAL && info->form != VY_FORM_LOWERED;
}

static bool is_param_component(const printer *o, uint32_t a, uint32_t first, uint32_t k)
{
    const vy_vector_param *v = vy_vector_param_of(o->p, o->params, a);
    return v && v->lane == k + 1 && v->first == vy_vector_param_of(o->p, o->params, first)->first;
}

// Are operands k of the n instructions the components of a vector that is a parameter?
static bool is_param(const printer *o, uint32_t id, uint32_t n, uint32_t k)
{
    uint32_t values[VY_MOST_COMPONENTS];
    for (uint32_t j = 0; j < n; j++) values[j] = print_arg(o, id + j, k);
    return print_is_param(o, values, n);
}

// Operands of operations that commute are in the order of their definition, whatever the text says:
// for the printer component j of the group that begins at `first` is operand k of each.
static void turn(printer *o, uint32_t id, uint32_t n, uint32_t k, uint32_t first)
{
    if (inst(o, id)->nargs != 2 || !vy_op_commutes((vy_op)inst(o, id)->op)) return;
    for (uint32_t j = 1; j < n; j++) {
        const uint32_t a = vy_arg(o->p, id + j, k);
        o->turned[id + j] = VY_IS_LEAF(first) ? !is_param_component(o, a, first, j)
                                              : a != print_member(o, first, j);
    }
}

static void turn_back(printer *o, uint32_t id, uint32_t n)
{
    for (uint32_t j = 1; j < n; j++) o->turned[id + j] = 0;
}

// The size of the group that begins with a value; 0: none does.
static uint32_t size_at(const printer *o, uint32_t a)
{
    const vy_vector_param *v = vy_vector_param_of(o->p, o->params, a);
    if (v) return v->lane == 1 ? v->n : 0;
    if (VY_IS_LEAF(a)) return 0;
    return print_made_component(o, a) == 1 ? print_made_of(o, a)->n : o->lanes[a];
}

static uint32_t computed_at(printer *o, uint32_t id)
{
    const vy_inst *i = inst(o, id);
    if (!goes_by_components(i)) return 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        const uint32_t a = vy_arg(o->p, id, k), n = size_at(o, a);
        if (!n || !are_alike(o, id, n)) continue;
        turn(o, id, n, k, a);
        if (group_of(o, id, n, k) || is_param(o, id, n, k))
            return i->op != VY_OP_SELECT || is_one(o, id, n, 0) ? n : 0;
        turn_back(o, id, n);
    }
    return print_operation_size(o, id);
}

uint32_t print_operation_size(const printer *o, uint32_t id)
{
    const vy_inst *i = inst(o, id);
    if (!goes_by_components(i) || !print_is_component(o, id, id, 0)) return 0;
    uint32_t n = 1;
    while (n < VY_MOST_COMPONENTS && are_alike(o, id, n + 1) &&
           print_is_component(o, id, id + n, n))
        n++;
    if (n < 2 || (i->op == VY_OP_SELECT && !is_one(o, id, n, 0))) return 0;
    bool differ = false; // else it is an operation on scalars
    for (uint32_t k = 0; k < i->nargs; k++) differ |= !is_one(o, id, n, k);
    return differ ? n : 0;
}

// The vectors that constructs carry and yield.
static void find_slots(printer *o)
{
    for (uint32_t id = 1; id < o->p->insts.count; id++) {
        if (!vy_op_opens((vy_op)inst(o, id)->op)) continue;
        const uint32_t slots = vy_slot_count(o->p, &o->s, id);
        for (uint32_t k = 0, n; k < slots; k += n ? n : 1) {
            n = vy_vector_at_slot(o->p, &o->s, id, k);
            if (!n) continue;
            print_make_group(o, vy_result(o->p, &o->s, id, k), n);
            if (vy_is_loop((vy_op)inst(o, id)->op)) print_make_group(o, vy_carry(id, k), n);
        }
    }
}

// Are the components whose one is operand k of a marker assigned together, in order?
static bool is_assigned_together(const printer *o, uint32_t marker, uint32_t k)
{
    const uint32_t opener = vy_opener(o->p, &o->s, marker);
    const uint32_t skip = inst(o, marker)->nargs - vy_slot_count(o->p, &o->s, opener);
    const uint32_t lane = k < skip ? 0 : o->lane[vy_result(o->p, &o->s, opener, k - skip)];
    const uint32_t n = lane ? o->lanes[vy_result(o->p, &o->s, opener, k - skip) + 1 - lane] : 0;
    const uint32_t a = vy_arg(o->p, marker, k);
    for (uint32_t j = 0; j < n; j++)
        if (vy_arg(o->p, marker, k + j + 1 - lane) + lane != a + j + 1) return false;
    return n;
}

// What an arm or an iteration ends with is assigned to variables: a group to that of a vector.
static void mark_assigned(printer *o)
{
    for (uint32_t id = 1; id < o->p->insts.count; id++) {
        const vy_inst *i = inst(o, id);
        const bool ends = i->op == VY_OP_ELSE || vy_op_closes((vy_op)i->op);
        for (uint32_t k = 0; ends && k < i->nargs; k++) {
            const uint32_t a = vy_arg(o->p, id, k);
            if (!VY_IS_LEAF(a) && !is_assigned_together(o, id, k))
                o->inlined[a] = 1; // until the groups are found
        }
    }
}

static bool is_assigned(const printer *o, uint32_t id, uint32_t n)
{
    bool any = false;
    for (uint32_t j = 0; j < n; j++) any |= o->inlined[id + j] != 0;
    return any;
}

// Does a vector that is made of scalars begin among them?
static bool is_part_made(const printer *o, uint32_t id, uint32_t n)
{
    bool any = false;
    for (uint32_t j = 0; j < n; j++) any |= o->made[id + j] != 0;
    return any;
}

static void find_groups(printer *o)
{
    find_slots(o);
    if (!print_find_made(o)) o->failed = true;
    mark_assigned(o);
    for (uint32_t id = 1; id < o->p->insts.count; id++) {
        if (o->lane[id] || o->made[id]) continue;
        const bool memory = vy_op_is_memory((vy_op)inst(o, id)->op);
        const uint32_t n = memory ? print_row_size(o, id) : computed_at(o, id);
        if (!n || is_part_made(o, id, n) || !are_named_alike(o, id, n) ||
            (!memory && is_assigned(o, id, n))) {
            turn_back(o, id, n);
            continue;
        }
        print_make_group(o, id, n);
        id += n - 1;
    }
    memset(o->inlined, 0, o->p->insts.count);
}

// The words that groups are printed with are no names of values.
static void reserve_words(printer *o)
{
    for (vy_type t = VY_VOID; t < VY_TYPE_COUNT; t++)
        for (uint32_t n = 2; vy_vector_prefix(t) && n <= VY_MOST_COMPONENTS; n++) {
            char text[8];
            const int length = snprintf(text, sizeof text, "%svec%u", vy_vector_prefix(t), n);
            print_names_add(o, text, (size_t)length);
        }
}

void print_find_vectors(printer *o)
{
    if (!has_vectors(o)) return;
    reserve_words(o);
    if (!print_find_params(o)) o->failed = true;
    find_groups(o);
}

// ------------------------------------------------------------------------------------------ asking
uint32_t print_group_of(const printer *o, uint32_t id, uint32_t k)
{
    return o->lanes[id] ? group_of(o, id, o->lanes[id], k) : 0;
}

bool print_is_broadcast(const printer *o, uint32_t id, uint32_t k)
{
    return is_one(o, id, o->lanes[id], k);
}

// Is it what a marker begins or ends a vector's slots with?
static bool is_in_slots(const printer *o, uint32_t marker, uint32_t id)
{
    const vy_inst *i = inst(o, marker);
    if (!vy_is_marker((vy_op)i->op) || i->op == VY_OP_TEST || i->op == VY_OP_IF) return false;
    const uint32_t opener = vy_opener(o->p, &o->s, marker), n = o->lanes[id];
    const uint32_t skip = i->nargs - vy_slot_count(o->p, &o->s, opener);
    for (uint32_t k = skip; k + n <= i->nargs; k++)
        if (o->lanes[vy_result(o->p, &o->s, opener, k - skip)] == n &&
            print_group_at(o, vy_args(o->p, marker) + k, n) == id)
            return true;
    return false;
}

// The components of a group have one user, of which the group is an operand.
bool print_group_is_operand(const printer *o, uint32_t id)
{
    if (!print_use_count(o, id)) return false;
    const uint32_t user = o->uses[o->use_start[id]];
    for (uint32_t j = 0; j < o->lanes[id]; j++)
        if (print_use_count(o, id + j) != 1 || o->uses[o->use_start[id + j]] != user) return false;
    for (uint32_t k = 0; o->lanes[user] && k < inst(o, user)->nargs; k++)
        if (print_group_of(o, user, k) == id) return true;
    return is_in_slots(o, user, id);
}

// ---------------------------------------------------------------------------------------- printing
void print_buffer_type(printer *o, const vy_buf *b)
{
    const uint32_t n = print_vector_size(o, b);
    if (n)
        print_vector_type(o, b->type, n);
    else
        print_str(o, vy_type_name(b->type));
}

// Not `r_x`, but `rx`: other values that the variable holds would be read as components of an r.
// Nor `r_x` for a wish like `r__x` or `r(_x`: it would be `rx` when printed again.
uint32_t print_scalar_name(printer *o, const char *wish)
{
    char text[PRINT_NAME_SIZE];
    size_t n = print_names_identifier(wish, text);
    for (uint32_t k = 0; o->params && k < VY_MOST_COMPONENTS; k++)
        while (vy_component_stem(text, k)) {
            text[n - 2] = text[n - 1];
            text[--n] = 0;
        }
    return print_names_unique(o, text);
}

uint32_t print_vector_name(printer *o, const char *first)
{
    char text[80] = {0};
    memcpy(text, first, vy_component_stem(first, 0));
    return print_names_unique(o, text);
}
