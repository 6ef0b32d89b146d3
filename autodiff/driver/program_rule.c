// SPDX-License-Identifier: MIT
// program_rule.c: derivatives of programs that state their own (ir/core/program_rule.h).
//
// Where a pipeline dispatches such a program, vy_transform answers with the rule itself, and the
// roles of its parameters.
//
// **The other rule** alone serves as well, for a derivative is linear: what a pushforward h makes
// of tangents is J ẋ, so the gradient of Σ ȳ · h(x, ẋ) with respect to ẋ is Jᵀ ȳ; and the other way
// round.  So the rule is differentiated, with respect to what it is linear in:
//
//   @jvp(h) program f(x, y: out)         →      gradient:  h_grad(x, ct: ȳ, grad_dot_x: out)
//   program h(x, dot_x, dot_y: out)
//
// The roles of the result are those that its parameters have by way of the rule's: grad_dot_x is
// the gradient of x.  Should it read dot_x itself, which then is no linear rule, that is 0
// (reverse/sweep_dispatch.c, forward/forward_dispatch.c).
#include "autodiff/driver/program_rule.h"

#include "ir/check/check.h"
#include "ir/core/program_rule.h"

#include <stdio.h>
#include <string.h>

static bool no_memory(vy_diag *diag)
{
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

// --------------------------------------------------------------------------------- what is refused
bool vy_rule_explains(const vy_program *p, vy_diag *diag)
{
    vy_diag_set(diag, VY_E_NOT_DIFFERENTIABLE, p->line,
                vy_check_column(p->module, p->line, p->name),
                "name a program without a rule, or the rule",
                "`%s` states its derivative: there is nothing to explain", p->name);
    return false;
}

bool vy_rule_has_names(const vy_program *p, const vy_grad_options *o, vy_diag *diag)
{
    for (uint32_t k = 0; k < o->of_count + o->wrt_count; k++) {
        const bool of = k < o->of_count;
        const char *name = of ? o->of[k] : o->wrt[k - o->of_count];
        const vy_buffer b = vy_program_find_buffer(p, name);
        if (b.id && vy_type_is_float(p->buffers.data[b.id].type) &&
            p->buffers.data[b.id].cls == (of ? VY_OUT : VY_IN))
            continue;
        if (!of && vy_program_find_scalar(p, name) != UINT32_MAX)
            vy_diag_set(diag, VY_E_NOT_DIFFERENTIABLE, p->line,
                        vy_check_column(p->module, p->line, p->name),
                        "take it as a buffer of one element: the rule computes its gradient",
                        "`%s` states its derivative, which has no gradient of the scalar `%s`",
                        p->name, name);
        vy_diag_set(diag, VY_E_BUFFER_NOT_FOUND, p->line, 0, NULL,
                    "`%s`, which states its derivative, has no %s `%s`", p->name,
                    of ? "output" : "input", name);
        return false;
    }
    return true;
}

// --------------------------------------------------------------------------------- the other rule
static bool is_named(const char *name, const char *const *names, uint32_t count)
{
    bool found = !names; // without names all are meant
    for (uint32_t k = 0; k < count; k++) found |= strcmp(names[k], name) == 0;
    return found;
}

typedef struct transposed {
    const vy_program *p, *rule;
    vy_rule_of kind; // of the rule
    const vy_grad_options *o;
    vy_derive_call *derive;
    const char **of, **wrt; // room for the names of all parameters of the rule
    uint32_t of_count, wrt_count;
} transposed;

// What of the rule is to be differentiated: its outputs belong to those that give the direction
// (requested inputs with tangents, requested outputs with cotangents).
static void choose_of_wrt(transposed *t)
{
    const vy_grad_options *o = t->o;
    for (uint32_t i = 1; i < t->rule->buffers.count; i++) {
        const vy_buf *b = &t->rule->buffers.data[i];
        const vy_derivative_role role = vy_program_rule_role(t->p, t->kind, b);
        if (vy_is_source(role.kind) || role.kind == VY_IS_PARAMETER) continue;
        const bool input = t->p->buffers.data[role.parameter].cls == VY_IN;
        if (!is_named(role.of, input ? o->wrt : o->of, input ? o->wrt_count : o->of_count))
            continue;
        if (b->cls == VY_OUT)
            t->of[t->of_count++] = b->name;
        else
            t->wrt[t->wrt_count++] = b->name;
    }
}

// What a parameter of the rule's derivative is to the program.
static vy_derivative_role by_way_of(const transposed *t, const vy_derivative_role *made)
{
    const vy_buf *b = &t->rule->buffers.data[made->parameter];
    if (made->kind == VY_IS_WORKSPACE || !made->parameter) return *made;
    vy_derivative_role role = vy_program_rule_role(t->p, t->kind, b);
    const bool forward = t->kind == VY_VJP; // what is made of it
    if (made->kind == VY_IS_COTANGENT) role.kind = forward ? VY_IS_TANGENT : VY_IS_COTANGENT;
    if (made->kind == VY_IS_GRADIENT) role.kind = forward ? VY_IS_TANGENT_OUT : VY_IS_GRADIENT;
    role.root_kind = role.kind;
    role.mode = made->mode;
    return role;
}

static void explain_failure(const transposed *t, vy_diag *diag)
{
    const vy_diag why = *diag;
    *diag = (vy_diag){0};
    vy_diag_set(diag, VY_E_NOT_DIFFERENTIABLE, t->p->line,
                vy_check_column(t->p->module, t->p->line, t->p->name),
                t->kind == VY_JVP ? "state @vjp, too" : "state @jvp, too",
                "of its rule `%s`, which is differentiated: %s", t->rule->name, why.text);
    diag->code = why.code;
}

static const vy_derived *differentiate(vy_module *m, transposed *t, vy_ref rule, vy_diag *diag)
{
    const vy_grad_options request = {.of = t->of,
                                     .of_count = t->of_count,
                                     .wrt = t->wrt,
                                     .wrt_count = t->wrt_count,
                                     .seed_buffer = true,
                                     .structural_zeros = t->o->structural_zeros,
                                     .deterministic = t->o->deterministic,
                                     .lean_sums = t->o->lean_sums,
                                     .lean_inputs = t->o->lean_inputs,
                                     .frugal = t->o->frugal,
                                     .checkpoint = t->o->checkpoint,
                                     .accumulate = t->o->accumulate,
                                     .assume = t->o->assume,
                                     .assume_count = t->o->assume_count};
    const vy_derived *made = t->derive(m, rule, &request, diag);
    if (!made && !vy_diag_is(diag, VY_E_MEMORY)) explain_failure(t, diag);
    return made;
}

static bool transpose(vy_module *m, transposed *t, vy_ref rule, vy_derived *out, vy_diag *diag)
{
    const uint32_t count = t->rule->buffers.count;
    const char **names = vy_arena_alloc(&m->arena, 2 * (size_t)count * sizeof *names);
    if (!names) return no_memory(diag);
    t->of = names, t->wrt = names + count;
    choose_of_wrt(t);
    const vy_derived *made = differentiate(m, t, rule, diag);
    if (!made) return false;
    vy_derivative_role *roles = vy_arena_alloc(&m->arena, made->role_count * sizeof *roles);
    if (!roles) return no_memory(diag);
    for (uint32_t i = 1; i < made->role_count; i++) roles[i] = by_way_of(t, &made->roles[i]);
    out->result = made->result;
    out->role_count = made->role_count;
    out->roles = roles;
    return true;
}

// ---------------------------------------------------------------------------------- in a pipeline
static bool take_rule(vy_module *m, const transposed *t, vy_ref rule, vy_derived *out,
                      vy_diag *diag)
{
    const uint32_t n = t->rule->buffers.count;
    vy_derivative_role *roles = vy_arena_alloc(&m->arena, n * sizeof *roles);
    for (uint32_t i = 1; roles && i < n; i++)
        roles[i] = vy_program_rule_role(t->p, t->kind, &t->rule->buffers.data[i]);
    out->result = rule;
    out->role_count = n;
    out->roles = roles;
    return roles ? true : no_memory(diag);
}

bool vy_rule_derived(vy_module *m, const vy_program *p, const vy_grad_options *o,
                     vy_derive_call *derive, vy_derived *out, vy_diag *diag)
{
    const vy_rule_of wanted = o->forward ? VY_JVP : VY_VJP;
    transposed t = {.p = p, .o = o, .derive = derive, .kind = wanted};
    vy_ref rule;
    if (!vy_rule_has_names(p, o, diag)) return false;
    if (!p->rules[wanted]) t.kind = o->forward ? VY_VJP : VY_JVP;
    t.rule = vy_program_rule(m, p, t.kind, &rule.index, &rule.pipeline);
    if (!t.rule) {
        vy_diag_set(diag, VY_E_RULE, p->line, 0, NULL, "`%s`, the rule of `%s`, is not there",
                    p->rules[t.kind], p->name);
        return false;
    }
    out->order = p->order + 1;
    return t.kind == wanted ? take_rule(m, &t, rule, out, diag) : transpose(m, &t, rule, out, diag);
}
