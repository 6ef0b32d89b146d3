// SPDX-License-Identifier: MIT
// conditions.c: conditions.h.
//
//   cstep >= w*h     →     h*w<=cstep
//
// Texts are compared in a normal form: no blanks, `<=` alone, the terms of a sum and the factors of
// a product in the order of their letters.  That is no algebra: what is in brackets stays as it is,
// and so does a side with an operator other than + and *.  A condition that is missed so is an
// error with the list of those there are, never an assumption that was not made.
#include "autodiff/core/conditions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t') s++;
    return s;
}

// ------------------------------------------------------------------------------------- normal form
static char *without_blanks(vy_arena *arena, const char *text)
{
    char *out = vy_arena_alloc(arena, strlen(text) + 1);
    if (!out) return NULL;
    char *end = out;
    for (text = skip_blanks(text); *text; text = skip_blanks(text + 1)) *end++ = *text;
    *end = 0;
    return out;
}

// The first of `set` in the text that is in no bracket, or NULL.
static char *find_outside(char *text, const char *set)
{
    int depth = 0;
    for (; *text; text++) {
        if (depth == 0 && strchr(set, *text)) return text;
        depth += (*text == '(') - (*text == ')');
    }
    return NULL;
}

static int by_letters(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

typedef char *normal_form(vy_arena *arena, char *text);

static char *as_it_is(vy_arena *arena, char *text)
{
    (void)arena;
    return text;
}

// The operands of `op` (which it cuts the text at), each in its normal form, in order.
static char *sorted(vy_arena *arena, char *text, const char *op, normal_form *of_operand)
{
    const size_t size = 2 * strlen(text) + 2;
    char **operand = vy_arena_alloc(arena, size * sizeof *operand);
    char *out = vy_arena_alloc(arena, size);
    size_t count = 0, used = 0;
    for (char *next = text; operand && next; text = next) {
        next = find_outside(text, op);
        if (next) *next++ = 0;
        if (!(operand[count++] = of_operand(arena, text))) return NULL;
    }
    if (!operand || !out) return NULL;
    qsort(operand, count, sizeof *operand, by_letters);
    for (size_t k = 0; k < count; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", k ? op : "", operand[k]);
    return out;
}

static char *product(vy_arena *arena, char *text) { return sorted(arena, text, "*", as_it_is); }

static char *side(vy_arena *arena, char *text)
{
    return find_outside(text, "-/%") ? text : sorted(arena, text, "+", product);
}

// NULL: memory.
static char *normal(vy_arena *arena, const char *condition)
{
    char *text = without_blanks(arena, condition);
    char *op = text ? strstr(text, "<=") : NULL;
    const bool swapped = text && !op;
    if (swapped) op = strstr(text, ">=");
    if (!op) return text;
    *op = 0;
    const char *less = side(arena, swapped ? op + 2 : text);
    const char *more = side(arena, swapped ? text : op + 2);
    const size_t size = less && more ? strlen(less) + strlen(more) + 3 : 0;
    char *out = size ? vy_arena_alloc(arena, size) : NULL;
    if (out) snprintf(out, size, "%s<=%s", less, more);
    return out;
}

bool vy_condition_same(const char *x, const char *y)
{
    vy_arena arena = {0};
    const char *a = normal(&arena, x), *b = normal(&arena, y);
    const bool same = a && b && strcmp(a, b) == 0;
    vy_arena_free(&arena);
    return same;
}

// -------------------------------------------------------------------------------------- of results
bool vy_condition_note(vy_module *m, const char *text)
{
    for (uint32_t k = 0; k < m->conditions.count; k++)
        if (strcmp(m->conditions.data[k], text) == 0) return true;
    const char *kept = vy_arena_strdup(&m->arena, text, strlen(text));
    return kept && vy_vec_push(&m->conditions, kept);
}

bool vy_conditions_take(vy_module *m, const vy_module *from)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < from->conditions.count; k++)
        ok = vy_condition_note(m, from->conditions.data[k]);
    return ok;
}

static bool is_there(const vy_module *m, const char *condition)
{
    bool any = false;
    for (uint32_t k = 0; k < m->conditions.count; k++)
        any |= vy_condition_same(m->conditions.data[k], condition);
    return any;
}

// "leave it out", or those there are.
static void list(const vy_module *m, char *fix, size_t size)
{
    size_t used = (size_t)snprintf(fix, size, "%s", "leave it out");
    for (uint32_t k = 0; k < m->conditions.count && used < size; k++)
        used += (size_t)snprintf(fix + used, size - used, "%s `%s`",
                                 k ? "," : "; what can be assumed is", m->conditions.data[k]);
}

vy_module *vy_conditions_known(vy_module *out, const vy_grad_options *o, vy_diag *diag)
{
    const uint64_t before = vy_memory_failures();
    char fix[sizeof diag->fix];
    for (uint32_t k = 0; out && !o->again && k < o->assume_count; k++) {
        if (is_there(out, o->assume[k])) continue;
        list(out, fix, sizeof fix);
        if (vy_memory_failures() != before)
            vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
        else
            vy_diag_set(diag, VY_E_ASSUMPTION, 0, 0, fix,
                        "no gradient is gathered under the condition `%s`", o->assume[k]);
        vy_module_free(out);
        return NULL;
    }
    return out;
}
