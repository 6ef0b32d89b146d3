// SPDX-License-Identifier: MIT
// explain_loops.c: what became of each loop of the source.
//
// A loop may be in a program several times: functions are inlined, a reversed loop replays the
// loops inside it.  All copies keep the source's line and column, which identify them; a copy that
// runs against the source's direction reverses it.
#include "autodiff/explain/explain_build.h"

#include <stdlib.h>
#include <string.h>

typedef struct tally { // one loop of the source
    uint32_t line, column;
    const char *name;
    const note_loop *note;
    uint32_t copies[3]; // forward; again; reversed
    vy_poly each[3], all[3];
} tally;
VY_VEC_TYPE(tally_vec, tally);

static int by_place(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static int note_place(const note_loop *x, const note_loop *y)
{
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static int note_by_place(const void *a, const void *b)
{
    const note_loop *x = a, *y = b;
    int place = note_place(x, y);
    return place ? place : (x->first > y->first) - (x->first < y->first);
}

// The first of the notes of a place; notes are sorted.
static const note_loop *find_note(const notes *n, uint32_t line, uint32_t column)
{
    const note_loop key = {.line = line, .column = column};
    uint32_t low = 0, high = n->loops.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (note_place(&n->loops.data[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < n->loops.count && note_place(&n->loops.data[low], &key) == 0;
    return found ? &n->loops.data[low] : NULL;
}

// One entry per copy; they are joined after sorting.
static void take_copies(explaining *x, const vy_count *c, bool forward, tally_vec *list)
{
    for (uint32_t i = 0; i < c->loops.count && !x->failed; i++) {
        const vy_loop_count *l = &c->loops.data[i];
        const vy_program *p = l->program;
        if (!l->opener) continue;
        const vy_inst *o = &p->insts.data[l->opener];
        if (!o->line && x->gathers.notes.count)
            continue; // made by a gather: over what reaches an element
        tally t = {.line = o->line, .column = o->column};
        t.note = find_note(&x->notes, o->line, o->column);
        t.name = o->op == VY_OP_WHILE ? "while"
                                      : vy_explain_text(x, vy_string(&p->module->names, o->name));
        bool back = o->op == VY_OP_LOOP && (o->flags & VY_FLAG_REVERSE);
        bool source = t.note && t.note->reverse;
        int which = forward ? 0 : back != source ? 2 : 1;
        t.copies[which] = 1;
        t.each[which] = l->each;
        t.all[which] = l->all;
        if (!vy_vec_push(list, t)) x->failed = true;
    }
}

static void join(explaining *x, tally *into, const tally *from)
{
    for (int k = 0; k < 3; k++) {
        vy_poly_space *s = k ? &x->memory->gradient.space : &x->memory->forward.space;
        into->copies[k] += from->copies[k];
        into->each[k] = vy_poly_add(s, into->each[k], from->each[k]);
        into->all[k] = vy_poly_add(s, into->all[k], from->all[k]);
    }
    if (!*into->name || strcmp(from->name, "while") == 0) into->name = from->name;
}

// Inlined functions and segments give a place several loops: what is stored for any of them counts.
static void take_carried(explaining *x, const note_loop *note, vy_explain_loop *out)
{
    const notes *n = &x->notes;
    if (!note || !note->count) return;
    const note_loop *end = n->loops.data + n->loops.count;
    vy_explain_carried *c = vy_explain_array(x, note->count, sizeof *c);
    if (!c) return;
    memcpy(c, n->carried.data + note->first, note->count * sizeof *c);
    for (const note_loop *l = note + 1; l < end && note_place(l, note) == 0; l++)
        for (uint32_t k = 0; k < l->count && k < note->count; k++)
            if (c[k].how < n->carried.data[l->first + k].how)
                c[k].how = n->carried.data[l->first + k].how;
    out->carried = c;
    out->carried_count = note->count;
}

static void finish(explaining *x, const tally *t, vy_explain_loop *out)
{
    vy_count *f = &x->memory->forward, *g = &x->memory->gradient;
    *out = (vy_explain_loop){.name = t->name,
                             .line = t->line,
                             .column = t->column,
                             .forward_copies = t->copies[0],
                             .again_copies = t->copies[1],
                             .reversed_copies = t->copies[2],
                             .forward_each = vy_count_amount(f, t->each[0]),
                             .forward_all = vy_count_amount(f, t->all[0]),
                             .again_each = vy_count_amount(g, t->each[1]),
                             .again_all = vy_count_amount(g, t->all[1]),
                             .reversed_each = vy_count_amount(g, t->each[2]),
                             .reversed_all = vy_count_amount(g, t->all[2])};
    take_carried(x, t->note, out);
}

void vy_explain_loops(explaining *x)
{
    tally_vec list = {0};
    notes *n = &x->notes;
    if (n->loops.count) qsort(n->loops.data, n->loops.count, sizeof *n->loops.data, note_by_place);
    take_copies(x, &x->memory->forward, true, &list);
    take_copies(x, &x->memory->gradient, false, &list);
    uint32_t count = 0;
    if (list.count) qsort(list.data, list.count, sizeof *list.data, by_place);
    for (uint32_t i = 0; i < list.count && !x->failed; i++)
        if (count && by_place(&list.data[count - 1], &list.data[i]) == 0)
            join(x, &list.data[count - 1], &list.data[i]);
        else
            list.data[count++] = list.data[i];
    vy_explain_loop *out = x->failed ? NULL : vy_explain_array(x, count, sizeof *out);
    for (uint32_t i = 0; out && i < count; i++) finish(x, &list.data[i], &out[i]);
    x->e->loops = out;
    x->e->loop_count = out ? count : 0;
    vy_vec_free(&list);
}
