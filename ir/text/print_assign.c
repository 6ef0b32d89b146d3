// SPDX-License-Identifier: MIT
// print_assign.c: the assignments at the end of an arm.
//
// A construct passes on all its values at once (a parallel copy); the text assigns them one after
// the other.  A value that is read after its variable has been assigned (a swap) is first saved
// under another name:
//
//   ENDLOOP [b, a]   →   let a_2 = a; a = b; b = a_2;
//
// A vector is assigned at once if it can be, else component by component: `v.x = a; v.z = b;`.
#include "ir/text/print.h"

#include "ir/core/vector_buffers.h"

#include <stdlib.h>

typedef struct assignment {
    uint32_t var; // index in vars: the first of n
    uint32_t n;   // components of a vector; 1: one of them, or a scalar
    bool tree;    // written inline: its place in the order is fixed
    bool late;    // after the trees
    uint32_t value[VY_MOST_COMPONENTS];
} assignment;
VY_VEC_TYPE(assignment_vec, assignment);

static int by_order(const void *x, const void *y)
{
    const assignment *a = x, *b = y;
    int ga = a->tree ? 1 : a->late ? 2 : 0, gb = b->tree ? 1 : b->late ? 2 : 0;
    if (ga != gb) return ga - gb;
    if (a->tree) return a->value[0] < b->value[0] ? -1 : 1;
    return a->var < b->var ? -1 : 1;
}

// The variable that `id` is read through, or NULL.
static print_var *read_through(printer *o, uint32_t id)
{
    if (VY_IS_LEAF(id) || o->inlined[id] || o->name[id] || !o->var[id]) return NULL;
    return &o->vars.data[o->var[id] - 1];
}

// Marks the variables that the tree of `id` reads.
static void mark_reads(printer *o, uint32_t id, uint32_t stamp)
{
    print_var *v = read_through(o, id);
    if (v) v->stamp = stamp;
    if (VY_IS_LEAF(id) || !o->inlined[id]) return;
    for (uint32_t k = 0; k < o->p->insts.data[id].nargs; k++)
        mark_reads(o, vy_arg(o->p, id, k), stamp);
}

// Another name for a value, or the group that it is in.
static void make_alias(printer *o, uint32_t id, const print_var *v)
{
    const uint32_t first = print_group_begin(o, id), fresh = print_names_like(o, v->name);
    print_indent(o);
    print_str(o, "let ");
    print_name_of(o, fresh);
    print_str(o, " = ");
    print_name_of(o, v->name);
    if (v->lanes && !o->lane[id]) print_component(o, v->lane - 1u);
    print_str(o, ";\n");
    for (uint32_t j = 0; j == 0 || j < print_group_size(o, first); j++) {
        const uint32_t member = print_member(o, first, j);
        o->name[member] = fresh;
        if (!vy_vec_push(&o->aliases, member)) o->failed = true;
    }
}

// Names the values in the tree of `id` whose variable will have been assigned by then.
static void keep_reads(printer *o, uint32_t id, uint32_t stamp)
{
    const print_var *v = read_through(o, id);
    if (v && v->stamp == stamp) make_alias(o, id, v);
    if (VY_IS_LEAF(id) || !o->inlined[id]) return;
    for (uint32_t k = 0; k < o->p->insts.data[id].nargs; k++)
        keep_reads(o, vy_arg(o->p, id, k), stamp);
}

static bool is_tree(const printer *o, uint32_t value)
{
    return print_is_plain(o, value) && o->inlined[value];
}

bool print_assigned_at_once(const printer *o, const uint32_t *values, uint32_t n)
{
    bool trees = false;
    for (uint32_t j = 0; j < n; j++) trees |= is_tree(o, values[j]);
    return !trees || print_group_at(o, values, n);
}

// The value that slot k passes on, if its variable does not hold it; else 0.
static uint32_t value_to_assign(const printer *o, uint32_t k, bool end)
{
    const print_slot *s = &o->slots.data[k];
    const uint32_t value = end ? s->end_yield : s->then_yield;
    return o->vars.data[s->var].content == value ? 0 : value;
}

// What is to be assigned to slot k or, if it can be at once, to the n of a vector.
static assignment assignment_of(const printer *o, uint32_t k, uint32_t n, bool end)
{
    assignment a = {.var = o->slots.data[k].var, .n = n ? n : 1};
    bool all = true;
    for (uint32_t j = 0; j < a.n; j++) all &= (a.value[j] = value_to_assign(o, k + j, end)) != 0;
    if (!all || !print_assigned_at_once(o, a.value, a.n)) a.n = 1;
    a.tree = a.value[0] && is_tree(o, a.value[0]);
    return a;
}

static bool collect(printer *o, const print_frame *f, bool end, assignment_vec *list)
{
    for (uint32_t k = f->slot_start; k < o->slots.count;) {
        const assignment a = assignment_of(o, k, o->slots.data[k].lanes, end);
        if (a.value[0] && !vy_vec_push(list, a)) return false;
        k += a.n;
    }
    return true;
}

// A variable that a tree reads is best assigned after the tree.
static void place(printer *o, assignment_vec *list)
{
    uint32_t reads = ++o->stamp;
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t j = 0; list->data[i].tree && j < list->data[i].n; j++)
            mark_reads(o, list->data[i].value[j], reads);
    for (uint32_t i = 0; i < list->count; i++) {
        assignment *a = &list->data[i];
        for (uint32_t j = 0; !a->tree && j < a->n; j++)
            a->late |= o->vars.data[a->var + j].stamp == reads;
    }
    if (list->count > 1) qsort(list->data, list->count, sizeof *list->data, by_order);
}

// Do the variables hold the group, or the scalar, that begins with `old`?
static bool hold(printer *o, uint32_t first, uint32_t n, uint32_t old)
{
    bool all = !VY_IS_LEAF(old) && (n == 1 || print_group_size(o, old) == n);
    for (uint32_t j = 0; all && j < n; j++) {
        const print_var *v = &o->vars.data[first + j];
        const uint32_t member = n == 1 ? old : print_member(o, old, j);
        all = v->content == member && read_through(o, member) == v;
    }
    return all;
}

void print_assign(printer *o, uint32_t first, uint32_t n, const uint32_t *values)
{
    const print_var *v = &o->vars.data[first];
    const vy_type type = vy_id_type(o->p, values[0]);
    print_indent(o);
    print_name_of(o, v->name);
    if (v->lanes && n == 1) print_component(o, v->lane - 1u);
    if (!hold(o, first, n, v->content) || !print_compound(o, values[0], v->content)) {
        print_str(o, " = ");
        if (n == 1)
            print_expr(o, values[0], 0, true);
        else
            print_vector_of(o, values, n, type, 0);
    }
    print_str(o, ";\n");
    for (uint32_t j = 0; j < n; j++) o->vars.data[first + j].content = values[j];
}

void print_aliases_end(printer *o)
{
    while (o->aliases.count > 0) o->name[o->aliases.data[--o->aliases.count]] = 0;
}

// Saves what the assignments, in their order, and `last` behind them read after it is assigned.
static void keep_all_reads(printer *o, const assignment_vec *list, uint32_t last)
{
    const uint32_t stamp = ++o->stamp;
    for (uint32_t i = 0; i < list->count && !o->failed; i++) {
        const assignment *a = &list->data[i];
        for (uint32_t j = 0; j < a->n; j++) keep_reads(o, a->value[j], stamp);
        for (uint32_t j = 0; j < a->n; j++) o->vars.data[a->var + j].stamp = stamp;
    }
    if (last && !o->failed) keep_reads(o, last, stamp);
}

void print_slots_assign(printer *o, const print_frame *f, bool end, uint32_t last)
{
    assignment_vec list = {0};
    if (!collect(o, f, end, &list)) o->failed = true;
    if (!o->failed) place(o, &list);
    if (!o->failed) keep_all_reads(o, &list, last);
    for (uint32_t i = 0; i < list.count && !o->failed; i++)
        print_assign(o, list.data[i].var, list.data[i].n, list.data[i].value);
    vy_vec_free(&list);
}
