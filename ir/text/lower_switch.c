// SPDX-License-Identifier: MIT
// lower_switch.c: `switch` as a chain of conditions.
//
//   switch k { case 0, 3 { a } case 1 { b } default { c } }
//   if (k == 0) | (k == 3) { a } else if k == 1 { b } else { c }
//
// `break` leaves a block around it (vy_block_leave).  Drivers compute wrong results where some
// dozens of conditions are nested, so many cases become a tree: is it one of the first half?
//
//   if (k == 0) | (k == 1) | … { if (k == 0) | … { … } else { … } } else default
#include "ir/text/lower.h"
#include "ir/build/edit.h"

static vy_value is_case(vy_lower *l, const vy_stmt *c, vy_value k)
{
    vy_value any = {0};
    for (const vy_ast_expr *e = c->value; e && !vy_lower_stopped(l); e = e->next) {
        const vy_value number = vy_lower_expr(l, e);
        vy_lower_at(l, c->line, c->column);
        const vy_value is = vy_eq(l->b, k, number);
        any = any.id ? vy_or(l->b, any, is) : is;
    }
    return any;
}

enum { MOST_CHAINED = 16 };

static vy_value any_of(const vy_lower *l, const vy_value *is, uint32_t n)
{
    if (n == 1) return is[0];
    const vy_value first = any_of(l, is, n / 2);
    return vy_or(l->b, first, any_of(l, is + n / 2, n - n / 2));
}

// Cases from c on, of which it is one; returns what follows them.
static const vy_stmt *lower_half(vy_lower *l, const vy_stmt *c, const vy_value *is, uint32_t n)
{
    while (c->op) c = c->next; // the default
    if (vy_lower_stopped(l)) return c;
    if (n == 1) {
        vy_lower_block(l, c->body);
        return c->next;
    }
    vy_if(l->b, any_of(l, is, n / 2));
    c = lower_half(l, c, is, n / 2);
    vy_else(l->b);
    if (!vy_lower_stopped(l)) c = lower_half(l, c, is + n / 2, n - n / 2);
    vy_end(l->b);
    return c;
}

static void lower_tree(vy_lower *l, const vy_stmt *s, uint32_t n, vy_value k)
{
    const vy_stmt *other = NULL;
    vy_value *is = vy_room_take(l, n);
    uint32_t i = 0;
    for (const vy_stmt *c = s->body; c && !vy_lower_stopped(l); c = c->next) {
        other = c->op ? c : other;
        if (!c->op) is[i++] = is_case(l, c, k);
    }
    if (vy_lower_stopped(l)) return;
    vy_if(l->b, any_of(l, is, n));
    lower_half(l, s->body, is, n);
    if (other) vy_else(l->b);
    if (other && !vy_lower_stopped(l)) vy_lower_block(l, other->body);
    vy_end(l->b);
}

// The cases with numbers, then the default.
static void lower_cases(vy_lower *l, const vy_stmt *s, vy_value k)
{
    const vy_stmt *other = NULL;
    uint32_t open = 0;
    for (const vy_stmt *c = s->body; c; c = c->next)
        if (c->op) other = c;
    for (const vy_stmt *c = s->body; c && !vy_lower_stopped(l); c = c->next) {
        if (c->op) continue; // its numbers, if it has any, are the default's
        if (open) vy_else(l->b);
        vy_if(l->b, is_case(l, c, k));
        open++;
        vy_lower_block(l, c->body);
    }
    if (other && open) vy_else(l->b);
    if (other && !vy_lower_stopped(l)) vy_lower_block(l, other->body);
    while (open-- > 0) vy_end(l->b);
}

void vy_lower_switch(vy_lower *l, const vy_stmt *s)
{
    const uint32_t outer = l->switch_block;
    const vy_value k = vy_lower_expr(l, s->value);
    l->switch_block = vy_block_begin(l->b);
    uint32_t n = 0;
    for (const vy_stmt *c = s->body; c; c = c->next) n += !c->op;
    if (!vy_lower_stopped(l) && n > MOST_CHAINED)
        lower_tree(l, s, n, k);
    else if (!vy_lower_stopped(l))
        lower_cases(l, s, k);
    vy_end(l->b);
    l->switch_block = outer;
}
