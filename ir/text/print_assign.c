// SPDX-License-Identifier: MIT
// print_assign.c: the assignments at the end of an arm.
//
// A construct passes on all its values at once (a parallel copy); the text assigns them one after
// the other.  A value that is read after its variable has been assigned (a swap) is first saved
// under another name:
//
//   ENDLOOP [b, a]   →   let a_2 = a; a = b; b = a_2;
#include "ir/text/print.h"

#include <stdlib.h>

typedef struct assignment {
    uint32_t slot; // index in slots
    uint32_t value;
    bool tree; // written inline: its place in the order is fixed
    bool late; // after the trees
} assignment;
VY_VEC_TYPE(assignment_vec, assignment);

static int by_order(const void *x, const void *y)
{
    const assignment *a = x, *b = y;
    int ga = a->tree ? 1 : a->late ? 2 : 0, gb = b->tree ? 1 : b->late ? 2 : 0;
    if (ga != gb) return ga - gb;
    if (a->tree) return a->value < b->value ? -1 : 1;
    return a->slot < b->slot ? -1 : 1;
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

// Names the values in the tree of `id` whose variable will have been assigned by then.
static void keep_reads(printer *o, uint32_t id, uint32_t stamp)
{
    print_var *v = read_through(o, id);
    if (v && v->stamp == stamp) {
        uint32_t old = v->name;
        uint32_t fresh = print_names_like(o, old);
        print_indent(o);
        print_str(o, "let ");
        print_name_of(o, fresh);
        print_str(o, " = ");
        print_name_of(o, old);
        print_str(o, ";\n");
        o->name[id] = fresh;
        if (!vy_vec_push(&o->aliases, id)) o->failed = true;
    }
    if (VY_IS_LEAF(id) || !o->inlined[id]) return;
    for (uint32_t k = 0; k < o->p->insts.data[id].nargs; k++)
        keep_reads(o, vy_arg(o->p, id, k), stamp);
}

static bool collect(printer *o, const print_frame *f, bool end, assignment_vec *list)
{
    for (uint32_t k = f->slot_start; k < o->slots.count; k++) {
        const print_slot *s = &o->slots.data[k];
        assignment a = {.slot = k, .value = end ? s->end_yield : s->then_yield};
        if (o->vars.data[s->var].content == a.value) continue;
        a.tree = print_is_plain(o, a.value) && o->inlined[a.value];
        if (!vy_vec_push(list, a)) return false;
    }
    return true;
}

// A variable that a tree reads is best assigned after the tree.
static void place(printer *o, assignment_vec *list)
{
    uint32_t reads = ++o->stamp;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->data[i].tree) mark_reads(o, list->data[i].value, reads);
    for (uint32_t i = 0; i < list->count; i++) {
        assignment *a = &list->data[i];
        a->late = !a->tree && o->vars.data[o->slots.data[a->slot].var].stamp == reads;
    }
    if (list->count > 1) qsort(list->data, list->count, sizeof *list->data, by_order);
}

static void write_assignment(printer *o, const assignment *a)
{
    print_var *v = &o->vars.data[o->slots.data[a->slot].var];
    bool reads_old = read_through(o, v->content) == v && !VY_IS_LEAF(v->content);
    print_indent(o);
    print_name_of(o, v->name);
    if (!a->tree || !reads_old || !print_compound(o, a->value, v->content)) {
        print_str(o, " = ");
        print_expr(o, a->value, 0, true);
    }
    print_str(o, ";\n");
    v->content = a->value;
}

void print_aliases_end(printer *o)
{
    while (o->aliases.count > 0) o->name[o->aliases.data[--o->aliases.count]] = 0;
}

void print_slots_assign(printer *o, const print_frame *f, bool end, uint32_t last)
{
    assignment_vec list = {0};
    if (!collect(o, f, end, &list)) o->failed = true;
    if (!o->failed) place(o, &list);
    uint32_t stamp = ++o->stamp;
    for (uint32_t i = 0; i < list.count && !o->failed; i++) {
        keep_reads(o, list.data[i].value, stamp);
        o->vars.data[o->slots.data[list.data[i].slot].var].stamp = stamp;
    }
    if (last && !o->failed) keep_reads(o, last, stamp);
    for (uint32_t i = 0; i < list.count && !o->failed; i++) write_assignment(o, &list.data[i]);
    vy_vec_free(&list);
}
