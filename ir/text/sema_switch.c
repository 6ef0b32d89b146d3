// SPDX-License-Identifier: MIT
// sema_switch.c: `switch`: its cases are constants, each given once, and end where they seem to.
#include "ir/text/lower.h"

#include <stdlib.h>

typedef struct label {
    uint64_t value;
    const vy_ast_expr *e;
} label;

static int by_value(const void *a, const void *b)
{
    const label *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->e->line != y->e->line ? (x->e->line < y->e->line ? -1 : 1)
                                    : (x->e->column > y->e->column) - (x->e->column < y->e->column);
}

static uint32_t count_labels(const vy_stmt *s)
{
    uint32_t n = 0;
    for (const vy_stmt *c = s->body; c; c = c->next)
        for (const vy_ast_expr *e = c->value; e; e = e->next) n++;
    return n;
}

static void check_twice(vy_front *f, label *labels, uint32_t n)
{
    char line[120];
    if (n > 1) qsort(labels, n, sizeof *labels, by_value);
    for (uint32_t k = 1; k < n && !f->failed; k++) {
        const vy_ast_expr *e = labels[k].e, *first = labels[k - 1].e;
        if (labels[k].value != labels[k - 1].value) continue;
        vy_front_error(f, VY_E_NAME_TAKEN, e->line, e->column, "leave one of them out",
                       "this number has a case already, on %s",
                       vy_line_text(f->m, first->line, e->line, line));
    }
}

static void sema_labels(vy_front *f, const vy_stmt *s, vy_text_type t)
{
    label *labels = vy_front_alloc(f, (count_labels(s) + 1) * sizeof *labels);
    uint32_t n = 0;
    f->in_const = true;
    for (const vy_stmt *c = s->body; c && !f->failed; c = c->next)
        for (vy_ast_expr *e = c->value; e && !f->failed; e = e->next) {
            vy_check_as(f, e, t, "the value that is switched");
            labels[n].e = e;
            if (!f->failed) vy_lower_count(f, e, (vy_type)t, &labels[n++].value);
        }
    f->in_const = false;
    check_twice(f, labels, n);
}

static void sema_case(vy_front *f, vy_stmt *c)
{
    vy_sema_block(f, c->body);
    if (f->failed || !c->colon || !c->next || c->body->ends) return;
    vy_front_error(f, VY_E_PLACE, c->line, c->column,
                   "end it with `break;`, or write it without the colon: `case 1 { … }`",
                   "this case does not end, and no case goes on into the next one");
}

// A `break` at the end of a case does nothing.
static void drop_break(vy_stmt *c)
{
    vy_stmt *last = c->body->body;
    while (last && last->next) last = last->next;
    if (last && last->kind == ST_BREAK) *last = (vy_stmt){.kind = ST_BLOCK};
}

static bool find_default(vy_front *f, const vy_stmt *s)
{
    const vy_stmt *found = NULL;
    for (const vy_stmt *c = s->body; c; c = c->next) {
        if (c->op && found)
            vy_front_error(f, VY_E_NAME_TAKEN, c->line, c->column, "write it once",
                           "`default` is given twice");
        if (c->op) found = c;
    }
    return found;
}

void vy_sema_switch(vy_front *f, vy_stmt *s)
{
    vy_stmt *outer = f->in_switch;
    const vy_text_type t = vy_check_value(f, s->value);
    if (!f->failed && !vy_operator_fits(TK_REM, t))
        vy_front_error(f, VY_E_TYPE_WRONG, s->value->line, s->value->column, "use `if`",
                       "`switch` is for integers, this is %s", vy_any_type_name(f, t));
    if (!f->failed) sema_labels(f, s, t);
    s->leaves = s->ends = find_default(f, s);
    f->in_switch = s;
    for (vy_stmt *c = s->body; c && !f->failed; c = c->next) {
        sema_case(f, c);
        s->leaves &= c->body->leaves;
        s->ends &= c->body->ends;
        drop_break(c);
    }
    f->in_switch = outer;
    s->leaves &= !s->op;
    s->ends &= !s->op;
}
