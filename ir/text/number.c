// SPDX-License-Identifier: MIT
// number.c: floats to and from text, whatever the locale of the caller's process.
#include "ir/text/front.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char decimal_point(void)
{
    const struct lconv *l = localeconv();
    return l && l->decimal_point && l->decimal_point[0] ? l->decimal_point[0] : '.';
}

// Small decimals, which nearly all are: digits below 2^53, multiplied or divided by a power of ten
// up to 10^22.  Both are exact doubles, so there is one rounding.
static bool parse_short(const char *text, size_t n, double *out)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    uint64_t digits = 0;
    size_t i = 0, after = 0;
    bool point = false;
    if (n > 16) return false;
    for (; i < n && ((text[i] >= '0' && text[i] <= '9') || (text[i] == '.' && !point)); i++) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        digits = digits * 10 + (uint64_t)(text[i] - '0');
        after += point;
    }
    if (i != n || digits >> 53) return false;
    *out = (double)digits / powers[after];
    return true;
}

double vy_number_parse(vy_type type, const char *text, size_t n)
{
    double value;
    char copy[VY_MAX_LITERAL + 1];
    if (type != VY_F32 && parse_short(text, n, &value)) return vy_round_to(type, value);
    if (n > VY_MAX_LITERAL) n = VY_MAX_LITERAL;
    memcpy(copy, text, n);
    copy[n] = 0;
    char *point = strchr(copy, '.');
    if (point) *point = decimal_point();
    if (type == VY_F32) return strtof(copy, NULL); // rounding twice may be off by one
    return vy_round_to(type, strtod(copy, NULL));
}

static void print_digits(double value, int digits, char out[40])
{
    char text[400]; // at most 25 are used, but the compiler cannot know
    snprintf(text, sizeof text, "%.*g", digits, value);
    char *point = strchr(text, decimal_point());
    if (point) *point = '.';
    text[39] = 0;
    memcpy(out, text, 40);
}

static bool comes_back(vy_type type, double value, const char *out)
{
    const char *text = *out == '-' ? out + 1 : out;
    return vy_number_parse(type, text, strlen(text)) == fabs(value);
}

size_t vy_number_print(vy_type type, double value, char out[40])
{
    // Integral values, as most literals are.
    if (fabs(value) < 1e6 && value == trunc(value))
        return (size_t)snprintf(out, 40, "%s%d.0", signbit(value) ? "-" : "", abs((int)value));
    // More digits never hurt, so bisection finds the smallest number of digits that round-trips.
    int low = 1, high = type == VY_F16 ? 5 : type == VY_F32 ? 9 : 17;
    while (low < high) {
        int mid = (low + high) / 2;
        print_digits(value, mid, out);
        if (comes_back(type, value, out))
            high = mid;
        else
            low = mid + 1;
    }
    print_digits(value, low, out);
    char *e = strchr(out, 'e');
    if (e)
        snprintf(e + 1, 8, "%ld", strtol(e + 1, NULL, 10)); // 1e-06 → 1e-6
    else if (!strchr(out, '.'))
        strcat(out, ".0"); // else it would be an integer
    return strlen(out);
}
