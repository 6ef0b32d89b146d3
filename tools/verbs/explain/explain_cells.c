// SPDX-License-Identifier: MIT
// explain_cells.c: types, formulas, amounts, columns and the ratio of the text of `vyre-grad
// explain`.
#include "tools/verbs/explain/explain.h"

#include <string.h>

void explain_line(const vy_module *m, uint32_t line, text *out)
{
    const vy_file_place p = vy_module_place(m, line);
    text_printf(out, "line %u", p.line);
    if (p.file != vy_module_file(m)) text_printf(out, " of %s", p.file);
}

void explain_type(vy_type type, const char *shape, text *out)
{
    text_printf(out, "%s[%s]", vy_type_name(type), shape);
}

double explain_ratio(const vy_explanation *e)
{
    const vy_amount *f = &e->forward.all_flops, *g = &e->gradient.all_flops;
    const bool constants = e->forward.each_flops.known && e->gradient.each_flops.known;
    if (constants && !(f->known && g->known))
        f = &e->forward.each_flops, g = &e->gradient.each_flops;
    return f->known && g->known && f->value ? (double)g->value / (double)f->value : -1;
}

void explain_formula(const char *s, text *out)
{
    static const char *const powers[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    for (; *s; s++)
        if (*s == '*')
            text_puts(out, "·");
        else if (*s == '^')
            while (s[1] >= '0' && s[1] <= '9') text_puts(out, powers[*++s - '0']);
        else
            text_add(out, s, 1);
}

void explain_amount(const vy_amount *a, const char *unit, text *out)
{
    const bool constant = strspn(a->text, "0123456789") == strlen(a->text);
    explain_formula(a->text, out);
    if (a->known && !constant)
        text_printf(out, " %s %llu", a->atmost ? "≤" : "=", (unsigned long long)a->value);
    text_puts(out, unit);
}

static size_t width_of(const char *s, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++) width += ((unsigned char)s[i] & 0xC0) != 0x80;
    return width;
}

void explain_pad(text *out, size_t start, size_t width)
{
    if (out->failed || start > out->size) return;
    size_t have = width_of(out->data + start, out->size - start);
    if (have > width) width = have;
    for (; have < width + 2; have++) text_puts(out, " ");
}

void explain_cell(const char *s, size_t width, text *out)
{
    const size_t start = out->size;
    text_puts(out, s);
    explain_pad(out, start, width);
}

void explain_formula_cell(const char *s, size_t width, text *out)
{
    const size_t start = out->size;
    explain_formula(s, out);
    explain_pad(out, start, width);
}

void explain_widen(size_t *width, const char *formula)
{
    text t = {0};
    explain_formula(formula, &t);
    const size_t n = t.failed || !t.data ? 0 : width_of(t.data, t.size);
    if (n > *width && n <= 40) *width = n;
    text_free(&t);
}
