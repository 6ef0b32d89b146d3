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

static void put(vy_text *t, const char *s, size_t n)
{
    if (!reserve(t, n + 1)) return;
    memcpy(t->data + t->size, s, n);
    t->size += n;
    t->data[t->size] = 0;
}

// Most of what is added is short: there is room for it already.
void vy_text_add(vy_text *t, const char *format, ...)
{
    enum { SHORT = 64 };
    va_list args, again;
    if (!strchr(format, '%')) {
        put(t, format, strlen(format));
        return;
    }
    va_start(args, format);
    va_copy(again, args);
    const bool room = reserve(t, SHORT);
    const int n = room ? vsnprintf(t->data + t->size, SHORT, format, args) : -1;
    if (n >= SHORT && reserve(t, (size_t)n + 1))
        vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
    if (n >= 0 && !t->oom) t->size += (size_t)n;
    va_end(again);
    va_end(args);
}

void vy_text_json(vy_text *t, const char *s)
{
    if (!s) {
        vy_text_add(t, "null");
        return;
    }
    put(t, "\"", 1);
    while (*s) {
        size_t n = 0; // of what stands for itself
        while ((unsigned char)s[n] >= 32 && s[n] != '"' && s[n] != '\\') n++;
        put(t, s, n);
        s += n;
        const unsigned char c = (unsigned char)*s;
        if (!c) break;
        vy_text_add(t, c < 32 ? "\\u%04x" : "\\%c", c);
        s++;
    }
    put(t, "\"", 1);
}

char *vy_text_take(vy_text *t, size_t *size)
{
    vy_text_add(t, "%s", "");
    vy_free(t->lengths);
    t->lengths = NULL;
    if (t->oom) {
        free(t->data);
        return NULL;
    }
    if (size) *size = t->size;
    return t->data;
}

// ------------------------------------------------------------------------------------- expressions
// Nodes may be shared, so that an expression can be exponentially longer than its nodes are many.
// One of more characters than MOST, in which longer ones within it count as their names, is written
// as its name.
enum { MOST = 2000, NAME = 8, USED = 1 << 16 };

static uint32_t length_of(const vy_text *t, const vy_expr *e, const vy_symbol *symbols)
{
    if (e->op == VY_EXPR_CONST) return 22;
    if (e->op == VY_EXPR_SYMBOL) return (uint32_t)strnlen(symbols[e->value].name, MOST);
    const uint32_t a = t->lengths[e->a], b = t->lengths[e->b];
    return (a > MOST ? NAME : a) + (b > MOST ? NAME : b) + 8;
}

// The lengths of all expressions up to `index`.
static bool measure(vy_text *t, const vy_expr *exprs, uint32_t index, const vy_symbol *symbols)
{
    if (t->exprs != exprs) t->exprs = exprs, t->measured = 0;
    if (index >= t->room) {
        const uint32_t room = index + index / 2 + 64;
        uint32_t *lengths = t->oom ? NULL : vy_realloc(t->lengths, room * sizeof *lengths);
        if (!lengths) return t->oom = true, false;
        t->lengths = lengths, t->room = room;
    }
    for (; t->measured <= index; t->measured++)
        t->lengths[t->measured] = length_of(t, &exprs[t->measured], symbols);
    return true;
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

static void operation(vy_text *t, uint32_t index, const vy_symbol *symbols, int outer);

// Recursion is as deep as the text is long, which is at most MOST.
static void print(vy_text *t, uint32_t index, const vy_symbol *symbols, int outer)
{
    const vy_expr *e = &t->exprs[index];
    if ((t->lengths[index] & (USED - 1)) > MOST) {
        t->lengths[index] |= USED;
        vy_text_add(t, "$%u", index);
    } else if (e->op == VY_EXPR_CONST) {
        vy_text_add(t, e->value < 0 ? "(%" PRId64 ")" : "%" PRId64, e->value);
    } else if (e->op == VY_EXPR_SYMBOL) {
        vy_text_add(t, "%s", symbols[e->value].name);
    } else {
        operation(t, index, symbols, outer);
    }
}

static void operation(vy_text *t, uint32_t index, const vy_symbol *symbols, int outer)
{
    static const char *const before[] = {
        [VY_EXPR_MIN] = "min(", [VY_EXPR_MAX] = "max(", [VY_EXPR_SQRT] = "isqrt("};
    static const char *const between[] = {
        [VY_EXPR_ADD] = "+", [VY_EXPR_SUB] = "-",  [VY_EXPR_MUL] = "*", [VY_EXPR_DIV] = "/",
        [VY_EXPR_REM] = "%", [VY_EXPR_MIN] = ", ", [VY_EXPR_MAX] = ", "};
    const vy_expr *e = &t->exprs[index];
    const bool infix = e->op < VY_EXPR_MIN;
    const int own = infix ? precedence(e->op) : 0; // all are left-associative
    const bool brackets = infix && own < outer;
    vy_text_add(t, "%s", !infix ? before[e->op] : brackets ? "(" : "");
    print(t, e->a, symbols, own);
    if (e->op != VY_EXPR_SQRT) {
        vy_text_add(t, "%s", between[e->op]);
        print(t, e->b, symbols, infix ? own + 1 : 0);
    }
    vy_text_add(t, "%s", !infix || brackets ? ")" : "");
}

void vy_text_expr(vy_text *t, const vy_expr *exprs, uint32_t index, const vy_symbol *symbols)
{
    if (measure(t, exprs, index, symbols)) print(t, index, symbols, 0);
}

void vy_text_definitions(vy_text *t, const vy_expr *exprs, const vy_symbol *symbols,
                         const vy_definition_marks *m)
{
    bool any = false;
    // Operands have lower indices, so those that a definition names come later.
    for (uint32_t i = t->exprs == exprs && !t->oom ? t->measured : 0; i-- > 0;) {
        if (!(t->lengths[i] & USED)) continue;
        t->lengths[i] &= USED - 1;
        vy_text_add(t, "%s%s$%u%s", any ? m->between : m->begin, m->before, i, m->is);
        operation(t, i, symbols, 0);
        vy_text_add(t, "%s", m->after);
        any = true;
    }
    if (any) vy_text_add(t, "%s", m->end);
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
