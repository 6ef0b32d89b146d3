// SPDX-License-Identifier: MIT
// poly_text.c: polynomials as formulas: `5 + 12*K + K*D^2/2`.
#include "ir/facts/poly.h"

#include <string.h>

VY_VEC_TYPE(poly_text, char);

static bool put(poly_text *t, const char *s)
{
    size_t n = strlen(s);
    if (!n) return true;
    if (!vy_vec_reserve(t, n)) return false;
    memcpy(t->data + t->count, s, n);
    t->count += (uint32_t)n;
    return true;
}

static bool put_number(poly_text *t, int64_t n)
{
    char digits[24], *at = digits + sizeof digits;
    *--at = 0;
    for (; n >= 10; n /= 10) *--at = (char)('0' + n % 10);
    *--at = (char)('0' + n);
    return put(t, at);
}

static bool put_term(const vy_poly_space *s, const vy_poly_term *t, poly_text *out)
{
    int64_t size = t->num < 0 ? -t->num : t->num;
    bool ok = true, any = size != 1 || !t->count;
    if (any) ok = put_number(out, size);
    for (uint32_t k = 0; k < t->count; k++) {
        ok = ok && (!any || put(out, "*")) && put(out, s->vars.data[t->factors[k].var].text);
        if (t->factors[k].power > 1)
            ok = ok && put(out, "^") && put_number(out, t->factors[k].power);
        any = true;
    }
    return ok && (t->den == 1 || (put(out, "/") && put_number(out, t->den)));
}

// In ascending degree, unless the sum would begin with a minus.
const char *vy_poly_text(vy_poly_space *s, vy_poly x)
{
    poly_text t = {0};
    uint32_t first = 0;
    bool ok = !s->failed && (x.count || put(&t, "0"));
    while (first < x.count && x.terms[first].num < 0) first++;
    if (first == x.count) first = 0;
    for (uint32_t i = 0; i < x.count && ok; i++) {
        const vy_poly_term *term = &x.terms[i == 0 ? first : i <= first ? i - 1 : i];
        bool negative = term->num < 0;
        ok = put(&t, i ? negative ? " - " : " + " : negative ? "-" : "") && put_term(s, term, &t);
    }
    const char *copy = ok ? vy_arena_strdup(&s->arena, t.data, t.count) : NULL;
    vy_vec_free(&t);
    if (!ok) s->failed = true;
    return copy ? copy : "";
}
