// SPDX-License-Identifier: MIT
// custom.c: derivatives of functions that state their own; see custom.h.
#include "autodiff/core/custom.h"

#include "autodiff/core/rules.h"
#include "ir/build/function.h"

#include <string.h>

static vy_type param_type(const vy_custom *c, uint32_t k)
{
    return c->f->code->scalars.data[k].type;
}

static bool is_float(const vy_custom *c, uint32_t k) { return vy_type_is_float(param_type(c, k)); }

static bool gives_float(const vy_custom *c, uint32_t o)
{
    return vy_type_is_float((vy_type)c->f->results[o]);
}

static uint32_t product(vy_builder *b, vy_type t, uint32_t x, uint32_t y)
{
    const vy_value factor = vy_cast(b, t, (vy_value){y});
    return vy_cast(b, t, vy_mul(b, vy_cast(b, t, (vy_value){x}), factor)).id;
}

static uint32_t sum(vy_builder *b, uint32_t x, uint32_t y)
{
    return x ? vy_add(b, (vy_value){x}, (vy_value){y}).id : y;
}

// The rule with the n arguments in `room`: inlined, or called if it has a rule itself.
static bool call(const vy_custom *c, vy_rule_of kind, uint32_t n, uint32_t *results)
{
    const uint32_t rule = c->f->rules[kind] - 1;
    const vy_function *f = vy_function_of(vy_builder_module(c->b), rule);
    return vy_function_has_rule(f) ? vy_function_call(c->b, rule, n, c->room, results)
                                   : vy_inline(c->b, rule, c->room, results, VY_INLINE_ONE);
}

// g(…, ȳ): results in the order of the float operands.
static bool pull(const vy_custom *c, const uint32_t *cotangents, uint32_t *results)
{
    uint32_t n = c->count;
    memcpy(c->room, c->args, c->count * sizeof *c->room);
    for (uint32_t o = 0; o < c->f->result_count; o++)
        if (gives_float(c, o))
            c->room[n++] =
                cotangents[o] ? cotangents[o] : vy_zero(c->b, (vy_type)c->f->results[o]).id;
    return call(c, VY_VJP, n, results);
}

// h(…, ẋ), by result.
static bool push(const vy_custom *c, const uint32_t *dots, uint32_t *out)
{
    uint32_t n = c->count, results[VY_MAX_RANK], at = 0;
    memcpy(c->room, c->args, c->count * sizeof *c->room);
    for (uint32_t k = 0; k < c->count; k++)
        if (is_float(c, k)) c->room[n++] = dots[k] ? dots[k] : vy_zero(c->b, param_type(c, k)).id;
    if (!call(c, VY_JVP, n, results)) return false;
    for (uint32_t o = 0; o < c->f->result_count; o++)
        out[o] = gives_float(c, o) ? results[at++] : 0;
    return true;
}

// Σ_o ȳ_o h_o(…, e_k)
static uint32_t pull_one(const vy_custom *c, const uint32_t *cotangents, const uint32_t *unit,
                         vy_type t)
{
    uint32_t tangents[VY_MAX_RANK], all = 0;
    if (!push(c, unit, tangents)) return 0;
    for (uint32_t o = 0; o < c->f->result_count; o++)
        if (cotangents[o]) all = sum(c->b, all, product(c->b, t, cotangents[o], tangents[o]));
    return all;
}

// … one operand after the other.
static bool pull_by_tangents(const vy_custom *c, const uint32_t *cotangents, const uint8_t *wanted,
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
        unit[k] = vy_float(c->b, param_type(c, k), 1).id;
        out[k] = pull_one(c, cotangents, unit, param_type(c, k));
        unit[k] = 0;
    }
    vy_free(unit);
    return !vy_builder_failed(c->b);
}

bool vy_custom_reverse(const vy_custom *c, const uint32_t *cotangents, const uint8_t *wanted,
                       uint32_t *out)
{
    if (!c->f->rules[VY_VJP]) return pull_by_tangents(c, cotangents, wanted, out);
    uint32_t results[VY_MAX_RANK], n = 0;
    if (!pull(c, cotangents, results)) return false;
    for (uint32_t k = 0; k < c->count; k++) out[k] = is_float(c, k) ? results[n++] : 0;
    return true;
}

// Σ_k g_k(…, e_o) ẋ_k
static uint32_t push_one(const vy_custom *c, const uint32_t *dots, const uint8_t *guard, uint32_t o)
{
    uint32_t unit[VY_MAX_RANK] = {0}, results[VY_MAX_RANK], n = 0, all = 0;
    const vy_type t = (vy_type)c->f->results[o];
    unit[o] = vy_float(c->b, t, 1).id;
    if (!pull(c, unit, results)) return 0;
    for (uint32_t k = 0; k < c->count && !vy_builder_failed(c->b); k++) {
        const uint32_t partial = is_float(c, k) ? results[n++] : 0;
        if (!partial || !dots[k]) continue;
        const uint32_t term = product(c->b, t, partial, dots[k]);
        all = sum(c->b, all, guard[k] ? vy_rule_guarded(c->b, dots[k], term) : term);
    }
    return all;
}

void vy_custom_forward(const vy_custom *c, const uint32_t *dots, const uint8_t *guard,
                       const uint8_t *wanted, uint32_t *out)
{
    memset(out, 0, c->f->result_count * sizeof *out);
    if (c->f->rules[VY_JVP]) {
        push(c, dots, out);
        return;
    }
    for (uint32_t o = 0; o < c->f->result_count; o++)
        if (wanted[o] && gives_float(c, o)) out[o] = push_one(c, dots, guard, o);
}
