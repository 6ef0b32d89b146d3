// SPDX-License-Identifier: MIT
// custom.c: derivatives of functions that state their own; see custom.h.
#include "autodiff/core/custom.h"

#include "autodiff/core/rules.h"
#include "ir/build/function.h"

#include <string.h>

static bool is_float(const vy_custom *c, uint32_t k)
{
    return vy_type_is_float(c->f->code->scalars.data[k].type);
}

static vy_type result_type(const vy_custom *c) { return (vy_type)c->f->results[0]; }

static uint32_t product(vy_builder *b, vy_type t, uint32_t x, uint32_t y)
{
    return vy_cast(b, t, vy_mul(b, vy_cast(b, t, (vy_value){x}), vy_cast(b, t, (vy_value){y}))).id;
}

// The rule with these n arguments: inlined, or called if it has a rule itself.
static bool call(const vy_custom *c, vy_rule_of kind, uint32_t n, const uint32_t *args,
                 uint32_t *results)
{
    const uint32_t rule = c->f->rules[kind] - 1;
    const vy_module *m = vy_builder_module(c->b);
    const vy_function *f = vy_function_of(m, rule);
    if (!vy_function_has_rule(f)) return vy_inline(c->b, rule, args, results, VY_INLINE_ONE);
    results[0] = vy_emit(c->b, VY_OP_APPLY, (vy_type)f->results[0], rule, n, args);
    return !vy_builder_failed(c->b);
}

// g(…, ȳ): results in the order of the float operands.
static bool pull(const vy_custom *c, uint32_t cotangent, uint32_t *results)
{
    memcpy(c->room, c->args, c->count * sizeof *c->room);
    c->room[c->count] = cotangent;
    return call(c, VY_VJP, c->count + 1, c->room, results);
}

// h(…, ẋ)
static uint32_t push(const vy_custom *c, const uint32_t *dots)
{
    uint32_t n = c->count, dot = 0;
    memcpy(c->room, c->args, c->count * sizeof *c->room);
    for (uint32_t k = 0; k < c->count; k++)
        if (is_float(c, k))
            c->room[n++] = dots[k] ? dots[k] : vy_zero(c->b, c->f->code->scalars.data[k].type).id;
    return call(c, VY_JVP, n, c->room, &dot) ? dot : 0;
}

// ȳ h(…, e_k), one after the other.
static bool pull_by_tangents(const vy_custom *c, uint32_t cotangent, const uint8_t *wanted,
                             uint32_t *out)
{
    uint32_t *unit = vy_realloc(NULL, ((size_t)c->count + 1) * sizeof *unit);
    if (!unit) {
        vy_fail_oom(vy_builder_module(c->b));
        return false;
    }
    memset(unit, 0, c->count * sizeof *unit);
    for (uint32_t k = 0; k < c->count && !vy_builder_failed(c->b); k++) {
        out[k] = 0;
        if (!wanted[k] || !is_float(c, k)) continue;
        const vy_type t = c->f->code->scalars.data[k].type;
        unit[k] = vy_float(c->b, t, 1).id;
        out[k] = product(c->b, t, cotangent, push(c, unit));
        unit[k] = 0;
    }
    vy_free(unit);
    return !vy_builder_failed(c->b);
}

bool vy_custom_reverse(const vy_custom *c, uint32_t cotangent, const uint8_t *wanted, uint32_t *out)
{
    if (!c->f->rules[VY_VJP]) return pull_by_tangents(c, cotangent, wanted, out);
    uint32_t results[VY_MAX_RANK], n = 0;
    if (!pull(c, cotangent, results)) return false;
    for (uint32_t k = 0; k < c->count; k++) out[k] = is_float(c, k) ? results[n++] : 0;
    return true;
}

uint32_t vy_custom_forward(const vy_custom *c, const uint32_t *dots, const uint8_t *guard)
{
    uint32_t results[VY_MAX_RANK], n = 0, sum = 0;
    if (c->f->rules[VY_JVP]) return push(c, dots);
    if (!pull(c, vy_float(c->b, result_type(c), 1).id, results)) return 0;
    for (uint32_t k = 0; k < c->count && !vy_builder_failed(c->b); k++) {
        const uint32_t partial = is_float(c, k) ? results[n++] : 0;
        if (!partial || !dots[k]) continue;
        uint32_t term = product(c->b, result_type(c), partial, dots[k]);
        if (guard[k]) term = vy_rule_guarded(c->b, dots[k], term);
        sum = sum ? vy_add(c->b, (vy_value){sum}, (vy_value){term}).id : term;
    }
    return sum;
}
