// SPDX-License-Identifier: MIT
// lower_switch.c: `switch` as a chain of conditions.
//
//   switch k { case 0, 3 { a } case 1 { b } default { c } }
//   if (k == 0) | (k == 3) { a } else if k == 1 { b } else { c }
//
// `break` leaves a block around it (vy_block_leave).
#include "ir/text/front.h"
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
    if (!vy_lower_stopped(l)) lower_cases(l, s, k);
    vy_end(l->b);
    l->switch_block = outer;
}
