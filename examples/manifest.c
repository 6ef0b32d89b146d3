// SPDX-License-Identifier: MIT
// manifest.c: see manifest.h.
#include "manifest.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "vulkan_only: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return false;
}

const char *string(const cJSON *o, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return s ? s : "";
}

uint32_t number(const cJSON *o, const char *key)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(n) && n->valuedouble >= 0 && n->valuedouble <= UINT32_MAX
               ? (uint32_t)n->valuedouble
               : 0;
}

const cJSON *list(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

symbol *symbols_find(symbols *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->data[i].name, name) == 0) return &s->data[i];
    return NULL;
}

bool symbols_set(symbols *s, const char *name, int64_t integer, double real)
{
    if (!name) return false; // an element of an array
    symbol *have = symbols_find(s, name);
    if (!have || have->integer != integer) s->changes++;
    if (!have &&
        (s->count == sizeof s->data / sizeof *s->data || strlen(name) >= sizeof have->name))
        return false;
    if (!have) strcpy((have = &s->data[s->count++])->name, name);
    have->integer = integer;
    have->real = real;
    return true;
}

// ------------------------------------------------------------------------------------- expressions
typedef struct reader {
    const char *at, *wrong;
    symbols *s;
    int depth;
} reader;

static int64_t sum(reader *r);
static int64_t factor(reader *r);

static int64_t fail(reader *r, const char *wrong)
{
    if (!r->wrong) r->wrong = wrong;
    return 0;
}

static bool take(reader *r, char c)
{
    while (*r->at == ' ') r->at++;
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static int64_t apply(reader *r, char op, int64_t a, int64_t b)
{
    int64_t v = 0;
    bool over = false;
    if (r->wrong) return 0;
    if ((op == '/' || op == '%' || op == '^') && (b == 0 || (a == INT64_MIN && b == -1)))
        return fail(r, "a division by zero");
    switch (op) {
    case '+': over = __builtin_add_overflow(a, b, &v); break;
    case '-': over = __builtin_sub_overflow(a, b, &v); break;
    case '*': over = __builtin_mul_overflow(a, b, &v); break;
    case '/': v = a / b; break;
    case '%': v = a % b; break;
    case '^': v = a / b + (a % b != 0 && (a < 0) == (b < 0)); break; // rounded up
    }
    return over ? fail(r, "an overflow") : v;
}

// min(a, b), max(a, b); isqrt(a), rounded down, 0 below 0; ceil(a/b), a*b*…/c, where all operands
// that are no products are in parentheses: the last division is rounded up.
static int64_t call(reader *r, const char *function)
{
    int64_t a, b;
    if (*function == 'i') {
        b = sum(r);
        a = 0;
        for (int64_t bit = INT64_C(1) << 31; bit;
             bit >>= 1) // (2^32 - 1)^2 does not fit; b / c does
            if (b > 0 && a + bit <= b / (a + bit)) a += bit;
    } else if (*function == 'c') {
        a = factor(r);
        while (take(r, '*')) a = apply(r, '*', a, factor(r));
        if (!take(r, '/')) return fail(r, "ceil() without a division");
        a = apply(r, '^', a, factor(r));
    } else {
        a = sum(r);
        if (!take(r, ',')) return fail(r, "a `,` is missing");
        b = sum(r);
        a = (a < b) == (function[1] == 'i') ? a : b;
    }
    return take(r, ')') ? a : fail(r, "a `)` is missing");
}

// `$12`: an expression that has a place of its own, evaluated once for the same values.
static int64_t named(reader *r)
{
    char word[24] = "$";
    size_t n = 1;
    if (r->wrong) return 0; // one that contains itself ends at the greatest depth, once
    for (r->at++; isdigit((unsigned char)*r->at) && n < sizeof word - 1;) word[n++] = *r->at++;
    const unsigned long number = strtoul(word + 1, NULL, 10), slot = number % 4096;
    const uint64_t now = r->s->changes + 1;
    if (r->s->evaluated[slot].number == number && r->s->evaluated[slot].since == now)
        return r->s->evaluated[slot].value;
    reader inner = {.at = string(r->s->expressions, word), .s = r->s, .depth = r->depth + 1};
    const int64_t value = sum(&inner);
    if (inner.wrong || *inner.at) return fail(r, inner.wrong ? inner.wrong : "not an expression");
    r->s->evaluated[slot].number = number, r->s->evaluated[slot].since = now;
    return r->s->evaluated[slot].value = value;
}

static int64_t name(reader *r)
{
    char word[80];
    size_t n = 0;
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') r->at++;
    if (strncmp(start, "len(", 4) == 0) // the entire `len(x)` is the name of a symbol
        while (*r->at && *r->at++ != ')') {}
    n = (size_t)(r->at - start);
    if (n == 0 || n >= sizeof word) return fail(r, "not an expression");
    memcpy(word, start, n);
    word[n] = 0;
    const symbol *found = symbols_find(r->s, word);
    bool function = !strcmp(word, "ceil") || !strcmp(word, "min") || !strcmp(word, "max") ||
                    !strcmp(word, "isqrt");
    if (function && take(r, '(')) return call(r, word);
    return found ? found->integer : fail(r, "a name without a value");
}

static int64_t factor(reader *r)
{
    int64_t v;
    char *end;
    if (++r->depth > 200) return fail(r, "too deep");
    if (take(r, '(')) {
        v = sum(r);
        if (!take(r, ')')) fail(r, "a `)` is missing");
    } else if (take(r, '-')) {
        v = apply(r, '-', 0, factor(r));
    } else if (isdigit((unsigned char)*r->at)) {
        errno = 0;
        v = strtoll(r->at, &end, 10);
        if (errno == ERANGE) fail(r, "a number that is too large");
        r->at = end;
    } else {
        v = *r->at == '$' ? named(r) : name(r);
    }
    r->depth--;
    return v;
}

static int64_t product(reader *r)
{
    int64_t v = factor(r);
    for (;;) {
        if (take(r, '*'))
            v = apply(r, '*', v, factor(r));
        else if (take(r, '%'))
            v = apply(r, '%', v, factor(r));
        else if (take(r, '/'))
            v = apply(r, '/', v, factor(r));
        else
            return v;
    }
}

static int64_t sum(reader *r)
{
    int64_t v = product(r);
    for (;;) {
        if (take(r, '+'))
            v = apply(r, '+', v, product(r));
        else if (take(r, '-'))
            v = apply(r, '-', v, product(r));
        else
            return v;
    }
}

const char *evaluate(const char *expression, symbols *s, int64_t *value)
{
    reader r = {.at = expression ? expression : "", .s = s}; // no string where one should be
    *value = sum(&r);
    if (!r.wrong && *r.at) r.wrong = "not an expression";
    return r.wrong;
}
