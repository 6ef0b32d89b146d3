// SPDX-License-Identifier: MIT
// peek.c: tokens after the current one, without reading them.
#include "ir/text/front.h"

typedef struct place {
    const char *at, *line_start, *last_end;
    uint32_t line, last_line, last_column;
    vy_token tok;
} place;

static place here(const vy_front *f)
{
    return (place){f->at,        f->line_start,  f->last_end, f->line,
                   f->last_line, f->last_column, f->tok};
}

static void go_back(vy_front *f, const place *p)
{
    if (f->failed) return;
    f->at = p->at, f->line_start = p->line_start, f->last_end = p->last_end;
    f->line = p->line, f->last_line = p->last_line, f->last_column = p->last_column;
    f->tok = p->tok;
}

vy_token vy_peek(vy_front *f)
{
    const place p = here(f);
    vy_advance(f);
    const vy_token next = f->tok;
    go_back(f, &p);
    return next;
}

bool vy_peek_field(vy_front *f)
{
    const place p = here(f);
    vy_advance(f);
    const bool name = f->tok.kind == TK_NAME && !vy_at_word(f, "default");
    if (name) vy_advance(f);
    const bool is = name && f->tok.kind == TK_COLON;
    go_back(f, &p);
    return is && !f->failed;
}
