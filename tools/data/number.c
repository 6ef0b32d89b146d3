// SPDX-License-Identifier: MIT
// number.c: see number.h.
#include "tools/data/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double read_as(vy_type type, const char *s)
{
    // strtof, because decimal → double → float would round twice.  f16 does: its 11 bits are so far
    // from 53 that only a decimal of more than 17 digits could tell.
    return type == VY_F32 ? (double)strtof(s, NULL) : vy_round_to(type, strtod(s, NULL));
}

// The shortest digits d₁d₂… with value 0.d₁d₂… · 10^*point that read back as `value` > 0.
static int shortest_digits(vy_type type, double value, char digits[20], int *point)
{
    char scientific[32];
    int most = type == VY_F64 ? 17 : type == VY_F32 ? 9 : 5;
    for (int n = 1; n <= most; n++) {
        snprintf(scientific, sizeof scientific, "%.*e", n - 1, value);
        if (read_as(type, scientific) == value) break;
    }
    int count = 0;
    const char *s = scientific;
    for (; *s && *s != 'e'; s++)
        if (*s != '.') digits[count++] = *s;
    *point = atoi(s + 1) + 1;
    while (count > 1 && digits[count - 1] == '0') count--;
    return count;
}

static size_t float_text(vy_type type, double value, char out[NUMBER_TEXT])
{
    if (isnan(value)) return (size_t)sprintf(out, "nan");
    char *o = out;
    if (signbit(value)) *o++ = '-';
    value = fabs(value);
    if (isinf(value)) return (size_t)(o - out + sprintf(o, "inf"));
    if (value == 0) return (size_t)(o - out + sprintf(o, "0"));
    char digits[20];
    int point, n = shortest_digits(type, value, digits, &point);
    if (point > 16 || point < -3) { // 1e16 and up, below 1e-4: d.ddde±x
        *o++ = digits[0];
        if (n > 1) *o++ = '.';
        memcpy(o, digits + 1, (size_t)n - 1);
        o += n - 1;
        o += sprintf(o, "e%d", point - 1);
    } else if (point <= 0) { // 0.000ddd
        o += sprintf(o, "0.");
        memset(o, '0', (size_t)-point);
        o += -point;
        memcpy(o, digits, (size_t)n);
        o += n;
    } else { // ddd000 or d.dd
        for (int i = 0; i < n || i < point; i++) {
            if (i == point) *o++ = '.';
            *o++ = i < n ? digits[i] : '0';
        }
    }
    *o = 0;
    return (size_t)(o - out);
}

size_t number_text(vy_type type, vy_scalar v, char out[NUMBER_TEXT])
{
    if (vy_type_is_float(type)) return float_text(type, v.f, out);
    if (type == VY_BOOL) return (size_t)sprintf(out, v.u ? "true" : "false");
    if (vy_type_is_signed(type)) return (size_t)sprintf(out, "%lld", (long long)v.i);
    return (size_t)sprintf(out, "%llu", (unsigned long long)v.u);
}

// ---------------------------------------------------------------------------------------- reading
static const char *parse_float(vy_type type, const char *s, vy_scalar *out)
{
    // strtod also takes "0x1p3", "infinity", "nan(…)": no harm.
    char *end;
    out->f = type == VY_F32 ? (double)strtof(s, &end) : vy_round_to(type, strtod(s, &end));
    if (end == s || *end) return "not a number";
    if (isinf(out->f) && !strpbrk(s, "iI")) return "too large for its type";
    return NULL;
}

static const char *parse_integer(vy_type type, const char *s, vy_scalar *out)
{
    const bool negative = *s == '-';
    const char *digits = s + (*s == '-' || *s == '+');
    if (*digits < '0' || *digits > '9') return "not an integer";
    const int base = digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10;
    char *end;
    errno = 0;
    const unsigned long long u = strtoull(digits, &end, base);
    if (*end) return *end == '.' || (*end | 32) == 'e' ? "not an integer" : "not a number";
    const unsigned bits = 8 * vy_type_size(type);
    const uint64_t most = UINT64_MAX >> (64 - bits), half = most / 2;
    const bool fits = vy_type_is_signed(type) ? u <= half + negative : u <= (negative ? 0 : most);
    if (errno || !fits) return "out of range for its type";
    out->u = negative ? 0 - (uint64_t)u : u;
    return NULL;
}

const char *number_parse(vy_type type, const char *s, size_t n, vy_scalar *out)
{
    while (n && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')) s++, n--;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\n' || s[n - 1] == '\r')) n--;
    char text[1100]; // 1075 digits decide any double
    if (n == 0) return "empty";
    if (n >= sizeof text || memchr(s, 0, n)) return "not a number";
    memcpy(text, s, n);
    text[n] = 0;
    *out = (vy_scalar){.u = 0};
    if (vy_type_is_float(type)) return parse_float(type, text, out);
    if (type != VY_BOOL) return parse_integer(type, text, out);
    if (!strcmp(text, "true") || !strcmp(text, "1")) return out->u = 1, NULL;
    if (!strcmp(text, "false") || !strcmp(text, "0")) return NULL;
    return "neither true nor false";
}
