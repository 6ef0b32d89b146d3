// SPDX-License-Identifier: MIT
// text.c: growing text, JSON strings, expressions.
#include "spirv/write/text.h"

#include "ir/core/mem.h"

#include "ir/vyre.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(vy_text *t, size_t extra)
{
    if (t->oom) return false;
    if (t->capacity - t->size > extra) return true;
    size_t capacity = t->capacity ? t->capacity * 2 : 1024;
    while (capacity - t->size <= extra) capacity *= 2;
    char *data = realloc(t->data, capacity); // plain realloc: the caller calls free()
    if (!data) {
        vy_memory_failed();
        t->oom = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void vy_text_add(vy_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && reserve(t, (size_t)n + 1)) {
        vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
        t->size += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void vy_text_json(vy_text *t, const char *s)
{
    if (!s) {
        vy_text_add(t, "null");
        return;
    }
    vy_text_add(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            vy_text_add(t, "\\%c", c);
        else if (c < 32)
            vy_text_add(t, "\\u%04x", c);
        else
            vy_text_add(t, "%c", c);
    }
    vy_text_add(t, "\"");
}

char *vy_text_take(vy_text *t, size_t *size)
{
    vy_text_add(t, "%s", "");
    if (t->oom) {
        free(t->data);
        return NULL;
    }
    if (size) *size = t->size;
    return t->data;
}

// ------------------------------------------------------------------------------------- expressions
#define MAX_EXPR_TEXT 2000

typedef struct printer {
    const vy_expr *exprs;
    const vy_symbol *symbols;
    char text[MAX_EXPR_TEXT + 1];
    size_t size;
    bool full;
} printer;

static void put(printer *p, const char *s)
{
    size_t n = strlen(s);
    if (p->full || p->size + n > MAX_EXPR_TEXT) {
        p->full = true;
        return;
    }
    memcpy(p->text + p->size, s, n + 1);
    p->size += n;
}

static int precedence(vy_expr_op op)
{
    switch (op) {
    case VY_EXPR_ADD:
    case VY_EXPR_SUB: return 1;
    case VY_EXPR_MUL:
    case VY_EXPR_DIV:
    case VY_EXPR_REM: return 2;
    default: return 3;
    }
}

// Each level writes at least one character before it recurses on the right; on the left the budget
// bounds the depth too, since `least` counts the characters still to be written.
static void print(printer *p, uint32_t index, int outer, size_t least)
{
    static const char *const marks[] = {[VY_EXPR_ADD] = "+",
                                        [VY_EXPR_SUB] = "-",
                                        [VY_EXPR_MUL] = "*",
                                        [VY_EXPR_DIV] = "/",
                                        [VY_EXPR_REM] = "%"};
    const vy_expr *e = &p->exprs[index];
    char number[24];
    if (p->full || p->size + least > MAX_EXPR_TEXT) {
        p->full = true;
        return;
    }
    switch (e->op) {
    case VY_EXPR_CONST:
        snprintf(number, sizeof number, e->value < 0 ? "(%" PRId64 ")" : "%" PRId64, e->value);
        put(p, number);
        return;
    case VY_EXPR_SYMBOL: put(p, p->symbols[e->value].name); return;
    case VY_EXPR_MIN:
    case VY_EXPR_MAX:
        put(p, e->op == VY_EXPR_MIN ? "min(" : "max(");
        print(p, e->a, 0, least + 2);
        put(p, ", ");
        print(p, e->b, 0, least + 1);
        put(p, ")");
        return;
    case VY_EXPR_SQRT:
        put(p, "isqrt(");
        print(p, e->a, 0, least + 1);
        put(p, ")");
        return;
    default: break;
    }
    int own = precedence(e->op);
    bool brackets = own < outer;
    if (brackets) put(p, "(");
    print(p, e->a, own, least + 1);
    put(p, marks[e->op]);
    print(p, e->b, own + 1, least + 1); // all are left-associative
    if (brackets) put(p, ")");
}

void vy_text_expr(vy_text *t, const vy_expr *exprs, uint32_t index, const vy_symbol *symbols)
{
    printer p = {.exprs = exprs, .symbols = symbols};
    print(&p, index, 0, 0);
    if (p.full)
        vy_text_add(t, "$%u", index);
    else
        vy_text_add(t, "%s", p.text);
}

void vy_text_argument(vy_text *t, const vy_plan *plan, const vy_symbol *symbol, uint32_t expr)
{
    const vy_expr *e = &plan->exprs[expr];
    vy_type type = VY_VOID;
    vy_type_from_name(symbol->type, strlen(symbol->type), &type);
    if (e->op != VY_EXPR_CONST || !vy_type_is_float(type))
        vy_text_expr(t, plan->exprs, expr, plan->symbols);
    else
        vy_text_add(t, "%.17g", vy_scalar_read(type, &e->value).f);
}
