// SPDX-License-Identifier: MIT
// program_rule.c: programs that state their own gradient; see program_rule.h.
#include "ir/core/program_rule.h"

#include <stdio.h>
#include <string.h>

const vy_program *vy_program_rule(const vy_module *m, const vy_program *p, uint32_t *index,
                                  bool *pipeline)
{
    *index = 0, *pipeline = false;
    for (uint32_t i = 0; p->rule && i < m->programs.count; i++)
        if (strcmp(m->programs.data[i]->name, p->rule) == 0) return *index = i, m->programs.data[i];
    *pipeline = true;
    for (uint32_t i = 0; p->rule && i < m->pipelines.count; i++)
        if (strcmp(m->pipelines.data[i]->name, p->rule) == 0)
            return *index = i, m->pipelines.data[i]->signature;
    return NULL;
}

static bool is_parameter(const vy_buf *b) { return b->cls <= VY_INOUT && !b->workspace; }

static vy_derivative_role role(const vy_program *p, uint32_t i, vy_derivative_kind kind)
{
    const char *of = p->buffers.data[i].name;
    return (vy_derivative_role){
        .kind = kind, .of = of, .parameter = i, .root = of, .root_parameter = i, .root_kind = kind};
}

vy_derivative_role vy_program_rule_role(const vy_program *p, const vy_buf *b)
{
    const bool grad = strncmp(b->name, "grad_", 5) == 0;
    const vy_buffer whole = vy_program_find_buffer(p, b->name);
    const vy_buffer part = grad ? vy_program_find_buffer(p, b->name + 5) : (vy_buffer){0};
    const uint32_t i = whole.id ? whole.id : part.id;
    const vy_buf *of = &p->buffers.data[i];
    if (!i || !is_parameter(of) || b->type != of->type || b->rank != of->rank)
        return (vy_derivative_role){0};
    if (whole.id) {
        const bool again = b->cls == VY_OUT && of->cls == VY_OUT;
        return b->cls == VY_IN || again ? role(p, i, again ? VY_IS_VALUE : VY_IS_PRIMAL)
                                        : (vy_derivative_role){0};
    }
    if (!vy_type_is_float(of->type)) return (vy_derivative_role){0};
    if (of->cls == VY_OUT && b->cls == VY_IN) return role(p, i, VY_IS_COTANGENT);
    if (of->cls == VY_IN && b->cls == VY_OUT) return role(p, i, VY_IS_GRADIENT);
    return (vy_derivative_role){0};
}

static bool same_scalars(const vy_program *p, const vy_program *rule)
{
    bool same = p->scalars.count == rule->scalars.count;
    for (uint32_t i = 0; same && i < p->scalars.count; i++)
        same = p->scalars.data[i].type == rule->scalars.data[i].type &&
               strcmp(p->scalars.data[i].name, rule->scalars.data[i].name) == 0;
    return same;
}

static bool has(const vy_program *rule, const char *name)
{
    char text[320];
    snprintf(text, sizeof text, "grad_%.300s", name);
    return vy_program_find_buffer(rule, text).id != 0;
}

// The first parameter that the rule must not have; 0: none.
static uint32_t find_odd(const vy_program *p, const vy_program *rule)
{
    for (uint32_t i = 1; i < rule->buffers.count; i++)
        if (is_parameter(&rule->buffers.data[i]) &&
            vy_program_rule_role(p, &rule->buffers.data[i]).kind == VY_IS_PARAMETER)
            return i;
    return 0;
}

// The first parameter of p whose gradient or cotangent is not there; 0: none.
static uint32_t find_missing(const vy_program *p, const vy_program *rule)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (is_parameter(b) && vy_type_is_float(b->type) && !has(rule, b->name)) return i;
    }
    return 0;
}

const char *vy_program_rule_mismatch(const vy_program *p, const vy_program *rule, char text[240])
{
    if (p == rule) return "it is that program";
    if (!p->overs.count) return "a program with a rule needs a domain: over(…)";
    if (!rule->signature && !rule->overs.count) return "the rule needs a domain: over(…)";
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_INOUT) return "a program with a rule has no inout buffers";
    if (!same_scalars(p, rule)) return "its scalars must be the same, in the same order";
    const uint32_t odd = find_odd(p, rule), missing = odd ? 0 : find_missing(p, rule);
    if (!odd && !missing) return NULL;
    if (odd)
        snprintf(text, 240, "its parameter `%.80s` is no parameter, gradient or cotangent of it",
                 rule->buffers.data[odd].name);
    else
        snprintf(text, 240, "it has no parameter `grad_%.80s`: %s %s",
                 p->buffers.data[missing].name,
                 p->buffers.data[missing].cls == VY_OUT ? "in" : "out",
                 vy_type_name(p->buffers.data[missing].type));
    return text;
}
