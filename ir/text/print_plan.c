// SPDX-License-Identifier: MIT
// print_plan.c: decides which values are written inline, in the expression of their user.
//
// The obvious rule, inline whatever is used once, changes the order of evaluation: `a = x[0];
// x[0] = 1; b = a` must not become `x[0] = 1; b = x[0]`.  A tree may be written inline exactly when
// its instructions, evaluated left to right, come in the order they have, with nothing between.
// That is the discipline of a stack machine: walk forward, push values that are used once, and let
// a user pop its operands from the top, the last one first.  An operand that is not found there
// becomes a `let`, and so does everything that is left on the stack when a statement ends.
#include "ir/text/print.h"

#include "ir/core/functions.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 80, MAX_HEIGHT = 20 };

// ------------------------------------------------------------------------------------------- users
// Does it use operand k?  One scalar for all components of a group is an operand of the first.
static bool uses(const printer *o, uint32_t id, uint32_t k)
{
    const uint32_t a = print_arg(o, id, k);
    if (VY_IS_LEAF(a)) return false;
    return !print_is_later_component(o, id) || !print_is_broadcast(o, print_group_begin(o, id), k);
}

static bool make_uses(printer *o)
{
    const vy_program *p = o->p;
    uint32_t n = p->insts.count;
    for (uint32_t id = 1; id < n; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            if (uses(o, id, k)) o->use_start[print_arg(o, id, k) + 1]++;
        }
    }
    for (uint32_t id = 0; id < n; id++) o->use_start[id + 1] += o->use_start[id];
    o->uses = vy_realloc(NULL, ((size_t)o->use_start[n] + 1) * sizeof *o->uses);
    uint32_t *fill = vy_realloc(NULL, (size_t)n * sizeof *fill);
    if (!o->uses || !fill) {
        vy_free(fill);
        return false;
    }
    memcpy(fill, o->use_start, (size_t)n * sizeof *fill);
    for (uint32_t id = 1; id < n; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            if (uses(o, id, k)) o->uses[fill[print_arg(o, id, k)]++] = print_group_begin(o, id);
        }
    }
    vy_free(fill);
    return true;
}

bool print_used_between(const printer *o, uint32_t id, uint32_t after, uint32_t upto)
{
    if (VY_IS_LEAF(id) || !id) return false;
    uint32_t low = o->use_start[id], high = o->use_start[id + 1], end = high;
    while (low < high) { // the first use after `after`
        uint32_t mid = (low + high) / 2;
        if (o->uses[mid] <= after)
            low = mid + 1;
        else
            high = mid;
    }
    return low < end && o->uses[low] <= upto;
}

bool print_is_plain(const printer *o, uint32_t id)
{
    if (VY_IS_LEAF(id) || !id) return false;
    vy_op op = (vy_op)o->p->insts.data[id].op;
    return vy_op_infos[op].effect != VY_CTRL;
}

uint32_t print_if_start(uint32_t opener, uint32_t then_yield, uint32_t else_yield)
{
    if (VY_IS_LEAF(else_yield) || else_yield < opener) return else_yield;
    if (VY_IS_LEAF(then_yield) || then_yield < opener) return then_yield;
    return 0;
}

bool print_swapped(const printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    if (i->op != VY_OP_LT && i->op != VY_OP_LE) return false;
    uint32_t a = vy_arg(o->p, id, 0), b = vy_arg(o->p, id, 1);
    if (vy_id_const(o->p, a)) return true; // 0 < x reads x > 0
    return !VY_IS_LEAF(a) && !VY_IS_LEAF(b) && a > b;
}

// Does user `id` of a value assign it to a variable?
static bool is_assignment(const printer *o, uint32_t user, uint32_t value)
{
    const vy_inst *u = &o->p->insts.data[user];
    switch (u->op) {
    case VY_OP_ELSE:
    case VY_OP_ENDIF:
    case VY_OP_ENDCHECKPOINT:
    case VY_OP_WHILE: return true;
    case VY_OP_LOOP:
    case VY_OP_ENDLOOP:
        for (uint32_t k = 0; k < vy_control_args(o->p, &o->s, user); k++)
            if (vy_arg(o->p, user, k) == value) return false;
        return true;
    default: return false;
    }
}

// Values with a name given by the programmer stay visible under it.
static bool may_inline(const printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    vy_effect e = vy_op_infos[i->op].effect;
    if (i->op == VY_OP_PICK || vy_is_tuple(o->p, id)) return false;
    if (e == VY_WRITE || i->type == VY_VOID) return false;
    if (o->lanes[id] ? !print_group_is_operand(o, id) : print_use_count(o, id) != 1) return false;
    return !i->name || is_assignment(o, o->uses[o->use_start[id]], id);
}

// ------------------------------------------------------------------------------------------- stack
static uint32_t name_width(const char *name)
{
    size_t n = strlen(name);
    return n < 40 ? (uint32_t)n : 40;
}

// An array declared in the code may be printed under a name other than its own.
static uint32_t buffer_width(const printer *o, uint32_t buffer)
{
    const vy_buf *b = &o->p->buffers.data[buffer];
    return !vy_is_global(b->cls) ? 4 : name_width(b->name);
}

// Width of operands that are not trees.  All names of values count the same, else the printed text
// would change when it is parsed and printed again.
static uint32_t leaf_width(const printer *o, uint32_t a)
{
    if (!VY_IS_LEAF(a)) return 4;
    const vy_leaf *l = &o->p->leaves.data[VY_LEAF_INDEX(a)];
    switch (l->kind) {
    case VY_LEAF_SCALAR: return name_width(o->p->scalars.data[l->index].name);
    case VY_LEAF_OVER: return name_width(o->p->overs.data[l->index].name);
    case VY_LEAF_LEN: return buffer_width(o, l->index) + 5;
    case VY_LEAF_CONST: return 3;
    default: return 5;
    }
}

// Width of everything around the operands.
static uint32_t operator_width(const printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    const vy_op_info *info = &vy_op_infos[i->op];
    if (i->op == VY_OP_LOAD || i->op == VY_OP_STORE)
        return buffer_width(o, i->aux) + 2 + 2 * i->nargs;
    if (info->form == VY_FORM_INFIX) return 4;
    if (info->form == VY_FORM_PREFIX) return 1;
    return (uint32_t)strlen(info->text) + 2 * i->nargs + (vy_op_is_memory((vy_op)i->op) ? 10 : 0);
}

// Pops operand `a` if it is on top of the stack.
static bool pop_operand(printer *o, uint32_t a)
{
    vy_id_vec *s = &o->pending;
    if (VY_IS_LEAF(a) || s->count == 0 || s->data[s->count - 1] != a) return false;
    s->count--;
    for (uint32_t j = 0; j == 0 || j < o->lanes[a]; j++) o->inlined[a + j] = 1;
    return true;
}

// Pops it only if the user stays short; else it and all below become lets.
static void take_within(printer *o, uint32_t a, uint32_t *width, uint32_t *height)
{
    vy_id_vec *s = &o->pending;
    if (VY_IS_LEAF(a) || s->count == 0 || s->data[s->count - 1] != a) return;
    uint32_t more = o->width[a] - leaf_width(o, a); // a tree instead of a name
    if (!o->made[a] && (*width + more > MAX_WIDTH || o->height[a] >= MAX_HEIGHT)) {
        s->count = 0;
        return;
    }
    *width += more;
    if (o->height[a] >= *height) *height = o->height[a] + 1u;
    pop_operand(o, a);
}

// Operand k, be it a group, one scalar for all of a group, or a scalar for each component.
static void take_operand(printer *o, uint32_t id, uint32_t k, uint32_t *width, uint32_t *height)
{
    const uint32_t group = print_group_of(o, id, k);
    const uint32_t n = group || !o->lanes[id] || print_is_broadcast(o, id, k) ? 1 : o->lanes[id];
    for (uint32_t j = n; j-- > 0;) {
        const uint32_t a = print_arg(o, id + j, k);
        if (group || VY_IS_LEAF(a) || !o->lane[a]) take_within(o, a, width, height);
    }
}

// Pops the operands of an instruction, the last one first.
static void take_operands(printer *o, uint32_t id, uint32_t *width, uint32_t *height)
{
    const vy_inst *i = &o->p->insts.data[id];
    const uint32_t *a = vy_args(o->p, id);
    *height = 1;
    *width = operator_width(o, id); // at least 4 with its operands
    for (uint32_t k = 0; k < i->nargs; k++) *width += leaf_width(o, a[k]);
    if (print_swapped(o, id)) {
        take_within(o, a[0], width, height);
        take_within(o, a[1], width, height);
        return;
    }
    for (uint32_t k = i->nargs; k-- > 0;) take_operand(o, id, k, width, height);
}

static void sort_desc(vy_id_vec *v)
{
    // Yields are nearly always in order; insertion from the front is then one pass.
    for (uint32_t i = 1; i < v->count; i++) {
        uint32_t x = v->data[i], j = i;
        for (; j && v->data[j - 1] < x; j--) v->data[j] = v->data[j - 1];
        v->data[j] = x;
    }
}

static int by_id_desc(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// Yields of an arm: one statement each, in the order of their instructions.
static void take_yields(printer *o, const uint32_t *a, uint32_t n)
{
    vy_id_vec *v = &o->order;
    v->count = 0;
    if (!vy_vec_reserve(v, n)) {
        o->failed = true;
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!VY_IS_LEAF(a[k])) v->data[v->count++] = a[k];
    if (v->count > 32)
        qsort(v->data, v->count, sizeof *v->data, by_id_desc);
    else
        sort_desc(v);
    for (uint32_t k = 0; k < v->count; k++) pop_operand(o, v->data[k]);
}

static void plan_marker(printer *o, uint32_t id)
{
    const vy_program *p = o->p;
    const vy_inst *i = &p->insts.data[id];
    const uint32_t *a = vy_args(p, id);
    uint32_t n = i->nargs, skip;
    switch (i->op) {
    case VY_OP_IF: {
        uint32_t middle = o->s.partner[id], end = o->s.partner[middle];
        // `if !c` is written for an empty first arm, so `!` itself is never inline there.
        if (!VY_IS_LEAF(a[0]) && p->insts.data[a[0]].op == VY_OP_NOT) o->pending.count = 0;
        pop_operand(o, a[0]);
        for (uint32_t k = p->insts.data[end].nargs; k-- > 0;) {
            uint32_t v = print_if_start(id, vy_arg(p, middle, k), vy_arg(p, end, k));
            if (v && print_is_plain(o, v)) pop_operand(o, v);
        }
        break;
    }
    case VY_OP_WHILE:
        for (uint32_t k = n; k-- > 0;) pop_operand(o, a[k]);
        break;
    case VY_OP_ENDLOOP:
        skip = vy_next_arg(p, o->s.partner[id]);
        if (skip) pop_operand(o, a[0]);
        take_yields(o, a + skip, n - skip);
        break;
    case VY_OP_TEST: pop_operand(o, a[0]); break;
    default: take_yields(o, a, n); break; // ELSE ENDIF ENDCHECKPOINT CHECKPOINT
    }
    o->pending.count = 0;
}

// A loop's header is evaluated after the initial values: operand order init…, from, to, step.
static void plan_loop(printer *o, uint32_t id)
{
    const uint32_t *a = vy_args(o->p, id);
    for (uint32_t k = 3; k-- > 0;) pop_operand(o, a[k]);
    for (uint32_t k = o->p->insts.data[id].nargs; k-- > 3;) pop_operand(o, a[k]);
    o->pending.count = 0;
}

// A component of a vector that is made of scalars: the last one takes the others (print_made.c).
static bool plan_made(printer *o, uint32_t id)
{
    const print_made *m = print_made_of(o, id);
    vy_id_vec *s = &o->pending;
    if (id != m->id[m->n - 1]) return vy_vec_push(s, id);
    for (uint32_t k = m->n - 1u; k-- > 0;) pop_operand(o, m->id[k]);
    s->count = 0;
    return true;
}

bool print_plan(printer *o)
{
    const vy_program *p = o->p;
    print_find_vectors(o);
    if (o->failed || !make_uses(o)) return false;
    for (uint32_t id = 1; id < p->insts.count && !o->failed; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t width, height;
        if (op == VY_OP_CARRY || op == VY_OP_RESULT || print_is_later_component(o, id)) continue;
        if (op == VY_OP_LOOP) {
            plan_loop(o, id);
        } else if (vy_op_infos[op].effect == VY_CTRL) {
            plan_marker(o, id);
        } else {
            take_operands(o, id, &width, &height);
            if (print_made_component(o, id)) {
                if (!plan_made(o, id)) return false;
                continue;
            }
            if (!may_inline(o, id)) {
                o->pending.count = 0;
                continue;
            }
            o->width[id] = (uint16_t)width;
            o->height[id] = (uint8_t)height;
            if (!vy_vec_push(&o->pending, id)) return false;
        }
    }
    return !o->failed;
}
