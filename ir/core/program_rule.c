// SPDX-License-Identifier: MIT
// program_rule.c: programs that state their own derivative; see program_rule.h.
#include "ir/core/program_rule.h"

#include "ir/core/dims.h"

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

static bool is_parameter(const vy_buf *b) { return vy_is_global(b->cls) && !b->workspace; }

// Parameter b of the rule belongs to parameter i of p.
static vy_derivative_role role(const vy_program *p, uint32_t i, const vy_buf *b,
                               vy_derivative_kind kind)
{
    const char *of = p->buffers.data[i].name;
    return (vy_derivative_role){.kind = kind,
                                .mode = b->cls == VY_OUT ? VY_OVERWRITES : VY_READS,
                                .of = of,
                                .parameter = i,
                                .root = of,
                                .root_parameter = i,
                                .root_kind = kind};
}

// Of a parameter of p, i, that the rule has under the same name.
static vy_derivative_role whole_role(const vy_program *p, uint32_t i, const vy_buf *b)
{
    const bool again = b->cls == VY_OUT && p->buffers.data[i].cls == VY_OUT;
    if (b->cls != VY_IN && !again) return (vy_derivative_role){0};
    return role(p, i, b, again ? VY_IS_VALUE : VY_IS_PRIMAL);
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
    return role(p, i, b, part->kind[in]);
}

// ---------------------------------------------------------------------------------------- shapes
// The value of a dimension where scalar k is `point` + k·k.  False: not known, or too long a sum.
static bool value_at(const vy_program *p, uint32_t id, int64_t point, uint32_t *steps, int64_t *v)
{
    const vy_dim_node *d = &p->dims.data[id];
    int64_t a, b;
    if (!--*steps || d->op == VY_DIM_UNKNOWN) return false;
    if (d->op == VY_DIM_CONST) return *v = d->value, true;
    if (d->op == VY_DIM_SCALAR) return *v = point + d->value * d->value, true;
    return d->op >= VY_DIM_ADD && value_at(p, d->a, point, steps, &a) &&
           value_at(p, d->b, point, steps, &b) && vy_dim_combine(d->op, a, b, v);
}

// Do the scalars, which are the same, give an axis of a parameter and of its rule's one length?
// Dimensions are expressions in any form: they are compared by values.  A rule may take any length.
static bool same_length(const vy_program *p, vy_dim x, const vy_program *rule, vy_dim y)
{
    static const int64_t points[] = {1, 6, 35, 1001};
    if (rule->dims.data[y.id].op == VY_DIM_UNKNOWN) return true;
    if (p->dims.data[x.id].op == VY_DIM_UNKNOWN) return false;
    for (uint32_t i = 0; i < sizeof points / sizeof *points; i++) {
        uint32_t steps = 500;
        int64_t a, b;
        if (value_at(p, x.id, points[i], &steps, &a) &&
            value_at(rule, y.id, points[i], &steps, &b) && a != b)
            return false;
    }
    return true;
}

bool vy_same_lengths(const vy_program *p, const vy_buf *x, const vy_program *q, const vy_buf *y)
{
    for (uint32_t k = 0; k < x->rank; k++)
        if (!same_length(p, x->dims[k], q, y->dims[k])) return false;
    return true;
}

// ------------------------------------------------------------------------------------- mismatches
bool vy_same_scalars(const vy_program *p, const vy_program *q)
{
    bool same = p->scalars.count == q->scalars.count;
    for (uint32_t i = 0; same && i < p->scalars.count; i++)
        same = p->scalars.data[i].type == q->scalars.data[i].type &&
               strcmp(p->scalars.data[i].name, q->scalars.data[i].name) == 0;
    return same;
}

static bool has(const vy_program *rule, const char *prefix, const char *name)
{
    char text[320];
    snprintf(text, sizeof text, "%s%.300s", prefix, name);
    return vy_program_find_buffer(rule, text).id != 0;
}

// The first parameter that the rule must not have, or not so; 0: none.
static uint32_t find_odd(const vy_program *p, vy_rule_of kind, const vy_program *rule)
{
    for (uint32_t i = 1; i < rule->buffers.count; i++) {
        const vy_buf *b = &rule->buffers.data[i];
        const vy_derivative_role role = vy_program_rule_role(p, kind, b);
        if (!is_parameter(b)) continue;
        if (role.kind == VY_IS_PARAMETER ||
            !vy_same_lengths(p, &p->buffers.data[role.parameter], rule, b))
            return i;
    }
    return 0;
}

// What parameter `b` of a rule must be, if it belongs to parameter *of of p; NULL: to none.
static const char *right_class(const vy_program *p, vy_rule_of kind, const vy_buf *b, uint32_t *of)
{
    const part *part = &parts[kind];
    const size_t length = strlen(part->prefix);
    *of = vy_program_find_buffer(p, b->name).id;
    const bool whole = *of != 0;
    if (!whole && strncmp(b->name, part->prefix, length) == 0)
        *of = vy_program_find_buffer(p, b->name + length).id;
    const vy_buf *to = &p->buffers.data[*of];
    if (!*of || !is_parameter(to) || (!whole && !vy_type_is_float(to->type))) return NULL;
    return whole || part->cls[to->cls == VY_IN] == VY_IN ? "in" : "out";
}

static void say_odd(const vy_program *p, vy_rule_of kind, const vy_buf *b, char text[240])
{
    uint32_t of;
    const char *cls = right_class(p, kind, b, &of);
    const vy_buf *to = &p->buffers.data[of];
    if (cls)
        snprintf(text, 240, "its parameter `%.60s` must be `%s %s`, of the shape of `%.60s`",
                 b->name, cls, vy_type_name(to->type), to->name);
    else
        snprintf(text, 240, "its parameter `%.80s` is no parameter%s of it", b->name,
                 kind == VY_VJP ? ", gradient or cotangent" : " and no tangent");
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
    if (!vy_same_scalars(p, rule)) return "its scalars must be the same, in the same order";
    const uint32_t odd = find_odd(p, kind, rule), missing = odd ? 0 : find_missing(p, kind, rule);
    if (!odd && !missing) return NULL;
    if (odd) return say_odd(p, kind, &rule->buffers.data[odd], text), text;
    const vy_buf *b = &p->buffers.data[missing];
    snprintf(text, 240, "it has no parameter `%s%.80s`: %s %s", parts[kind].prefix, b->name,
             parts[kind].cls[b->cls == VY_IN] == VY_IN ? "in" : "out", vy_type_name(b->type));
    return text;
}
