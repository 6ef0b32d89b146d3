// SPDX-License-Identifier: MIT
// check_functions.c: functions with a derivative of their own (ir/core/functions.h).
//
// What a call needs to know of a function (its table, the types of its results) is checked first:
// the code of a function may call others, before or after it in the module.
#include "ir/check/check.h"
#include "ir/core/derive_as.h"
#include "ir/core/functions.h"
#include "ir/core/program_rule.h"

static bool wrong(const vy_program *p, const char *what)
{
    vy_fail(p->module, VY_E_INTERNAL, p->line, 0, NULL, "function `%s`: %s", p->name, what);
    return false;
}

// -------------------------------------------------------------------------------------- interfaces
static bool has_array(const vy_program *p)
{
    const vy_buf *a = &p->buffers.data[1];
    vy_fail(p->module, VY_E_RULE, a->line, vy_check_column(p->module, a->line, a->name),
            "compute with variables; a program may have a rule too",
            "array `%s` is in function `%s`, which has a rule or is one", a->name, p->name);
    return false;
}

static bool check_interface(const vy_module *m, const vy_function *f)
{
    const vy_program *p = f->code;
    if (!vy_check_tables(p)) return false;
    if (!p->function || p->overs.count) return wrong(p, "it is none");
    if (p->buffers.count > 1) return has_array(p);
    for (uint32_t k = 0; k < p->scalars.count; k++)
        if (!vy_type_computes(p->scalars.data[k].type)) return wrong(p, "a parameter's type");
    if (!f->result_count || f->result_count > VY_MAX_RANK) return wrong(p, "number of results");
    for (uint32_t k = 0; k < f->result_count; k++)
        if (!vy_type_computes(f->results[k])) return wrong(p, "the type of a result");
    for (uint32_t k = 0; k < VY_RULES_OF; k++)
        if (f->rules[k] > m->functions.count) return wrong(p, "its rule is no function");
    return true;
}

bool vy_check_rule(const vy_module *m, const vy_function *f, vy_rule_of kind, char text[240])
{
    const vy_function *rule = vy_function_of(m, f->rules[kind] - 1);
    bool from = false, to = false;
    for (uint32_t k = 0; k < f->code->scalars.count; k++)
        from |= vy_type_is_float(f->code->scalars.data[k].type);
    for (uint32_t k = 0; k < f->result_count; k++) to |= vy_type_is_float((vy_type)f->results[k]);
    return rule != f && from && to && !vy_rule_mismatch(f, rule, kind, text);
}

// ------------------------------------------------------------------------------------------- code
// Is it an operation that a function may have?  Else its name in the language.
static const char *refused(const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    const vy_effect e = vy_op_infos[op].effect;
    if (op == VY_OP_RETURN && id + 1 == p->insts.count) return NULL;
    if ((e == VY_PURE && op != VY_OP_DISPATCH && !vy_op_is_lowered(op)) || e == VY_CTRL)
        return NULL;
    return vy_op_infos[op].text;
}

static bool check_returned(const vy_function *f)
{
    const vy_program *p = f->code;
    const uint32_t last = p->insts.count - 1;
    if (!last || p->insts.data[last].op != VY_OP_RETURN) return wrong(p, "it does not return");
    if (p->insts.data[last].nargs != f->result_count) return wrong(p, "number of results");
    for (uint32_t k = 0; k < f->result_count; k++)
        if (vy_id_type(p, vy_arg(p, last, k)) != f->results[k])
            return wrong(p, "the type of a result");
    return true;
}

static bool check_pure(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const char *what = refused(p, id);
        if (!what) continue;
        vy_fail(p->module, VY_E_RULE, p->insts.data[id].line, p->insts.data[id].column,
                "compute from the parameters only; a program may have a rule too",
                "`%s` is in function `%s`, which has a rule or is one", what, p->name);
        return false;
    }
    return true;
}

bool vy_check_function(const vy_function *f)
{
    return vy_check_code(f->code) && check_pure(f->code) && check_returned(f);
}

static bool check_program_rule(vy_module *m, const vy_program *p, vy_rule_of kind)
{
    static const char *const fix[VY_RULES_OF] = {
        "a rule takes the program's parameters that it reads, grad_… of its outputs (in) and "
        "grad_… of its inputs (out)",
        "a rule takes the program's parameters that it reads, dot_… of its inputs (in) and dot_… "
        "of its outputs (out)",
    };
    char text[240];
    uint32_t index;
    bool pipeline;
    const vy_program *rule = vy_program_rule(m, p, kind, &index, &pipeline);
    const char *why = !p->rules[kind] ? NULL
                      : rule          ? vy_program_rule_mismatch(p, kind, rule, text)
                                      : "there is no program or pipeline of that name";
    if (!why) return true;
    vy_fail(m, VY_E_RULE, p->line, vy_check_column(m, p->line, p->name), fix[kind],
            "`%s` is not a rule (@%s) of `%s`: %s", p->rules[kind], kind == VY_VJP ? "vjp" : "jvp",
            p->name, why);
    return false;
}

// What only a malformed file can have: a rule of what has none.
static bool check_kinds(vy_module *m, const vy_program *p)
{
    const bool odd = p->signature ? vy_program_has_rule(p) : p->rules[VY_DERIVE_AS] != NULL;
    if (odd)
        vy_fail(m, VY_E_INTERNAL, p->line, 0, NULL, "`%s` has a rule of another kind", p->name);
    return !odd;
}

static bool check_derive_as(vy_module *m, const vy_pipeline *l)
{
    char text[240];
    const char *why = vy_derive_as_mismatch(l, text);
    if (why)
        vy_fail(m, VY_E_RULE, l->line, vy_check_column(m, l->line, l->name),
                "name a pipeline with the same parameters that computes the same",
                "`%s` cannot be differentiated as `%s` (@derive_as): %s", l->name,
                l->signature->rules[VY_DERIVE_AS], why);
    return !why;
}

bool vy_check_program_rules(vy_module *m)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->programs.count; i++) ok = check_kinds(m, m->programs.data[i]);
    for (uint32_t i = 0; ok && i < m->pipelines.count; i++)
        ok = check_kinds(m, m->pipelines.data[i]->signature) &&
             check_derive_as(m, m->pipelines.data[i]);
    for (uint32_t i = 0; ok && i < m->programs.count; i++)
        for (uint32_t k = 0; ok && k < VY_RULES_OF; k++)
            ok = check_program_rule(m, m->programs.data[i], (vy_rule_of)k);
    return ok;
}

// ------------------------------------------------------------------------------------- recursion
typedef struct walk {
    const vy_module *m;
    uint8_t *color;  // 0 new, 1 on the path, 2 done
    uint32_t *path;  // functions on the path
    uint32_t *place; // by function: the instruction at which the walk through it is
} walk;

// Follows calls from `root` on; false: they come back to a function on the path.
static bool follow(walk *w, uint32_t root)
{
    uint32_t depth = 1;
    w->path[0] = root, w->color[root] = 1, w->place[root] = 1;
    while (depth) {
        const uint32_t at = w->path[depth - 1];
        const vy_program *p = vy_function_of(w->m, at)->code;
        if (w->place[at] >= p->insts.count) {
            w->color[at] = 2, depth--;
            continue;
        }
        const vy_inst *i = &p->insts.data[w->place[at]++];
        if (i->op != VY_OP_APPLY || w->color[i->aux] == 2) continue;
        if (w->color[i->aux] == 1) return wrong(p, "it calls itself");
        w->path[depth++] = i->aux, w->color[i->aux] = 1, w->place[i->aux] = 1;
    }
    return true;
}

static bool check_recursion(vy_module *m)
{
    vy_arena arena = {0};
    const uint32_t n = m->functions.count;
    walk w = {.m = m, .color = vy_arena_alloc(&arena, n + 1)};
    w.path = vy_arena_alloc(&arena, (n + 1) * sizeof *w.path);
    w.place = vy_arena_alloc(&arena, (n + 1) * sizeof *w.place);
    bool ok = w.color && w.path && w.place;
    if (!ok) vy_fail_oom(m);
    for (uint32_t k = 0; ok && k < n; k++)
        if (!w.color[k]) ok = follow(&w, k);
    vy_arena_free(&arena);
    return ok;
}

bool vy_check_functions(vy_module *m)
{
    char text[240];
    for (uint32_t k = 0; k < m->functions.count; k++)
        if (!check_interface(m, vy_function_of(m, k))) return false;
    for (uint32_t k = 0; k < m->functions.count; k++) {
        const vy_function *f = vy_function_of(m, k);
        if (!vy_check_function(f)) return false;
        for (uint32_t kind = 0; kind < VY_RULES_OF; kind++)
            if (f->rules[kind] && !vy_check_rule(m, f, (vy_rule_of)kind, text))
                return wrong(f->code, "its rule does not fit");
    }
    return !m->functions.count || check_recursion(m);
}
