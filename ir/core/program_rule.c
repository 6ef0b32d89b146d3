// SPDX-License-Identifier: MIT
// program_rule.c: programs that state their own derivative; see program_rule.h.
#include "ir/core/program_rule.h"

#include <stdio.h>
#include <string.h>

// What a rule has for the outputs and for the inputs of its program, by their names.
typedef struct part {
    const char *prefix;
    vy_buffer_class cls[2];     // [0]: of one that belongs to an output; [1]: to an input
    vy_derivative_kind kind[2]; // the same
} part;

static const part parts[VY_RULES_OF] = {
    [VY_VJP] = {"grad_", {VY_IN, VY_OUT}, {VY_IS_COTANGENT, VY_IS_GRADIENT}},
    [VY_JVP] = {"dot_", {VY_OUT, VY_IN}, {VY_IS_TANGENT_OUT, VY_IS_TANGENT}},
};

const vy_program *vy_program_rule(const vy_module *m, const vy_program *p, vy_rule_of kind,
                                  uint32_t *index, bool *pipeline)
{
    const char *name = p->rules[kind];
    *index = 0, *pipeline = false;
    for (uint32_t i = 0; name && i < m->programs.count; i++)
        if (strcmp(m->programs.data[i]->name, name) == 0) return *index = i, m->programs.data[i];
    *pipeline = true;
    for (uint32_t i = 0; name && i < m->pipelines.count; i++)
        if (strcmp(m->pipelines.data[i]->name, name) == 0)
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

// Of a parameter of p, i, that the rule has under the same name.
static vy_derivative_role whole_role(const vy_program *p, uint32_t i, const vy_buf *b)
{
    const bool again = b->cls == VY_OUT && p->buffers.data[i].cls == VY_OUT;
    if (b->cls != VY_IN && !again) return (vy_derivative_role){0};
    return role(p, i, again ? VY_IS_VALUE : VY_IS_PRIMAL);
}

vy_derivative_role vy_program_rule_role(const vy_program *p, vy_rule_of kind, const vy_buf *b)
{
    const part *part = &parts[kind];
    const size_t length = strlen(part->prefix);
    const bool has_prefix = strncmp(b->name, part->prefix, length) == 0;
    const vy_buffer whole = vy_program_find_buffer(p, b->name);
    const vy_buffer of = has_prefix ? vy_program_find_buffer(p, b->name + length) : (vy_buffer){0};
    const uint32_t i = whole.id ? whole.id : of.id;
    const vy_buf *to = &p->buffers.data[i];
    if (!i || !is_parameter(to) || b->type != to->type || b->rank != to->rank)
        return (vy_derivative_role){0};
    if (whole.id) return whole_role(p, i, b);
    const bool in = to->cls == VY_IN;
    if (!vy_type_is_float(to->type) || (!in && to->cls != VY_OUT) || b->cls != part->cls[in])
        return (vy_derivative_role){0};
    return role(p, i, part->kind[in]);
}

static bool same_scalars(const vy_program *p, const vy_program *rule)
{
    bool same = p->scalars.count == rule->scalars.count;
    for (uint32_t i = 0; same && i < p->scalars.count; i++)
        same = p->scalars.data[i].type == rule->scalars.data[i].type &&
               strcmp(p->scalars.data[i].name, rule->scalars.data[i].name) == 0;
    return same;
}

static bool has(const vy_program *rule, const char *prefix, const char *name)
{
    char text[320];
    snprintf(text, sizeof text, "%s%.300s", prefix, name);
    return vy_program_find_buffer(rule, text).id != 0;
}

// The first parameter that the rule must not have; 0: none.
static uint32_t find_odd(const vy_program *p, vy_rule_of kind, const vy_program *rule)
{
    for (uint32_t i = 1; i < rule->buffers.count; i++)
        if (is_parameter(&rule->buffers.data[i]) &&
            vy_program_rule_role(p, kind, &rule->buffers.data[i]).kind == VY_IS_PARAMETER)
            return i;
    return 0;
}

// The first parameter of p whose part is not there; 0: none.
static uint32_t find_missing(const vy_program *p, vy_rule_of kind, const vy_program *rule)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (is_parameter(b) && vy_type_is_float(b->type) && !has(rule, parts[kind].prefix, b->name))
            return i;
    }
    return 0;
}

const char *vy_program_rule_mismatch(const vy_program *p, vy_rule_of kind, const vy_program *rule,
                                     char text[240])
{
    if (p == rule) return "it is that program";
    if (!p->overs.count) return "a program with a rule needs a domain: over(…)";
    if (!rule->signature && !rule->overs.count) return "the rule needs a domain: over(…)";
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_INOUT) return "a program with a rule has no inout buffers";
    if (!same_scalars(p, rule)) return "its scalars must be the same, in the same order";
    const uint32_t odd = find_odd(p, kind, rule), missing = odd ? 0 : find_missing(p, kind, rule);
    if (!odd && !missing) return NULL;
    if (odd) {
        snprintf(text, 240, "its parameter `%.80s` is no parameter%s of it",
                 rule->buffers.data[odd].name,
                 kind == VY_VJP ? ", gradient or cotangent" : " and no tangent");
        return text;
    }
    const vy_buf *b = &p->buffers.data[missing];
    snprintf(text, 240, "it has no parameter `%s%.80s`: %s %s", parts[kind].prefix, b->name,
             parts[kind].cls[b->cls == VY_IN] == VY_IN ? "in" : "out", vy_type_name(b->type));
    return text;
}
