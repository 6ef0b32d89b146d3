// SPDX-License-Identifier: MIT
// value.c: the values of a plan's expressions at the cursor.
#include "vkrt/plan_internal.h"

#include <stdio.h>

size_t vkrt_expr_text(const vy_plan *p, uint32_t i, char *text, size_t size, size_t used)
{
    static const char *const OPS[] = {"", "", "+", "-", "*", "/", "%", " min ", " max "};
    const vy_expr *e = &p->exprs[i];
    if (used + 1 >= size) return used;
    int n = 0;
    if (e->op == VY_EXPR_CONST) n = snprintf(text + used, size - used, "%lld", (long long)e->value);
    if (e->op == VY_EXPR_SYMBOL)
        n = snprintf(text + used, size - used, "%s", p->symbols[e->value].name);
    if (e->op == VY_EXPR_CONST || e->op == VY_EXPR_SYMBOL) return used + (size_t)(n > 0 ? n : 0);
    if (e->op == VY_EXPR_SQRT) {
        used += (size_t)snprintf(text + used, size - used, "isqrt(");
        used = vkrt_expr_text(p, e->a, text, size, used);
        return used < size ? used + (size_t)snprintf(text + used, size - used, ")") : used;
    }
    used += (size_t)snprintf(text + used, size - used, "(");
    used = vkrt_expr_text(p, e->a, text, size, used);
    if (used < size) used += (size_t)snprintf(text + used, size - used, "%s", OPS[e->op]);
    used = vkrt_expr_text(p, e->b, text, size, used);
    if (used < size) used += (size_t)snprintf(text + used, size - used, ")");
    return used;
}

// Expressions that are never used may be invalid, so errors are recorded per expression and
// reported on use.
void vkrt_plan_evaluate(vkrt_plan *plan)
{
    const vy_plan *p = plan->plan;
    bool *known = plan->value_known, *bad = plan->value_bad;
    for (uint32_t i = 0; i < p->expr_count && !plan->evaluated; i++) {
        const vy_expr *e = &p->exprs[i];
        const bool leaf = e->op == VY_EXPR_CONST || e->op == VY_EXPR_SYMBOL;
        bad[i] = !leaf && (bad[e->a] || bad[e->b]);
        known[i] =
            leaf ? e->op == VY_EXPR_CONST || plan->at.known[e->value] : known[e->a] && known[e->b];
        if (!known[i]) continue;
        bad[i] = !vy_expr_node(e, plan->at.symbols, plan->values, &plan->values[i]);
        known[i] = !bad[i];
    }
    plan->evaluated = true;
}

vkrt_status vkrt_bad_value(const vkrt_plan *plan, uint32_t expr, vkrt_error *error)
{
    char text[160] = "";
    vkrt_expr_text(plan->plan, expr, text, sizeof text, 0);
    return vkrt_fail(error, VKRT_BAD_SHAPE, "check the scalars and shapes",
                     "%s overflows 64 bits or divides by zero", text);
}

vkrt_status vkrt_plan_value(const vkrt_plan *plan, uint32_t expr, const char *what, int64_t *value,
                            vkrt_error *error)
{
    *value = plan->values[expr];
    if (plan->value_known[expr]) return VKRT_OK;
    if (plan->value_bad[expr]) return vkrt_bad_value(plan, expr, error);
    char text[160] = "";
    vkrt_expr_text(plan->plan, expr, text, sizeof text, 0);
    return vkrt_fail(error, VKRT_UNSET, "give the scalar it depends on", "%s: %s is not known",
                     what, text);
}
