// SPDX-License-Identifier: MIT
// sema_rule.c: names of rules, `@vjp(g) fn f(…)`: what is the function g?
//
// A function with a rule, and the rule, take and return values only: they stay functions of the
// module (ir/core/functions.h).  Whether the signatures fit is decided there, when both are built
// (lower_function.c).
#include "ir/text/front.h"

#include <string.h>

static void refuse(vy_front *f, const vy_rule_name *r, const char *fix, const char *format,
                   const char *name, const char *what)
{
    vy_front_error(f, VY_E_RULE, r->line, r->column, fix, format, name, what);
}

static vy_func *find_rule(vy_front *f, const vy_func *of, const vy_rule_name *r)
{
    const vy_decl *g = vy_again_find(r->name, of);
    const char *name = r->name->text;
    if (g && g->overload)
        refuse(f, r, "give the rule a name of its own", "several functions are called `%s`%s", name,
               "");
    else if (g && g->kind == DK_FUNC && g->func->generic)
        refuse(f, r, "give it types", "`%s` leaves types open, which no rule does%s", name, "");
    if (f->failed) return NULL;
    if (g && g->kind == DK_FUNC) return g->func;
    if (g)
        vy_front_error(f, VY_E_NAME_KIND, r->line, r->column, "name a function",
                       "`%s` is not a function", name);
    else
        vy_front_error(f, VY_E_NAME_UNKNOWN, r->line, r->column,
                       vy_spelling_fix(f, name, strlen(name), VY_SPELL_FUNCTIONS,
                                       "declare it with `fn`"),
                       "there is no function `%s`", name);
    return NULL;
}

// Buffers have no place in a rule.
static void check_values(vy_front *f, const vy_rule_name *r, const vy_func *fn)
{
    for (const vy_decl *p = fn->params; p && !f->failed; p = p->next)
        if (p->kind != DK_PARAM)
            refuse(f, r, p->kind == DK_BUFFER ? "pass values" : "return it",
                   p->kind == DK_BUFFER
                       ? "function `%s`, which has a rule or is one, takes buffer `%s`"
                       : "function `%s`, which has a rule or is one, changes parameter `%s`",
                   fn->decl->name->text, p->name->text);
}

static bool has_float(const vy_front *f, const vy_func *fn)
{
    bool any = false;
    for (const vy_decl *p = fn->params; p; p = p->next) any |= vy_has_float(f, p->type);
    return any;
}

static void check_primal(vy_front *f, const vy_rule_name *r, const vy_func *fn)
{
    bool any = false;
    for (uint32_t k = 0; k < fn->result_count; k++) any |= vy_has_float(f, fn->results[k]);
    if (!any || !has_float(f, fn))
        refuse(f, r, "leave the rule out, or return floats that are computed from floats",
               "function `%s` has a rule, but %s", fn->decl->name->text,
               any ? "no float parameter" : "returns no float");
}

static void sema_rule(vy_front *f, vy_func *fn, vy_rule_name *r)
{
    check_values(f, r, fn);
    if (fn->generic)
        refuse(f, r, "write a function with a rule for each type",
               "function `%s` leaves types open, and has a rule%s", fn->decl->name->text, "");
    if (!f->failed) check_primal(f, r, fn);
    r->func = f->failed ? NULL : find_rule(f, fn, r);
    if (f->failed) return;
    if (vy_result_scalars(f, fn) > VY_MAX_RANK || vy_result_scalars(f, r->func) > VY_MAX_RANK)
        vy_front_error(f, VY_E_LIMIT, r->line, r->column, "return fewer values",
                       "a function that has a rule, or is one, returns at most %u scalars",
                       VY_MAX_RANK);
    else if (r->func == fn)
        refuse(f, r, "name another function", "function `%s` is its own rule%s",
               fn->decl->name->text, "");
    else
        check_values(f, r, r->func);
    fn->stays = r->func->stays = true;
}

// Whether the parameters fit is checked in the module (ir/core/program_rule.h).
static void sema_program_rule(vy_front *f, const vy_func *of, vy_rule_name *r)
{
    const vy_decl *g = vy_again_find(r->name, of);
    if (g && (g->kind == DK_PROGRAM || g->kind == DK_PIPELINE)) {
        r->func = g->func;
        vy_again_use(of, g->func);
        return;
    }
    vy_front_error(f, g ? VY_E_NAME_KIND : VY_E_NAME_UNKNOWN, r->line, r->column,
                   g ? "name a program or pipeline" : "declare it with `program` or `pipeline`",
                   g ? "`%s` is no program or pipeline" : "there is no program or pipeline `%s`",
                   r->name->text);
}

// `@derive_as(NAME) pipeline`: likewise (ir/core/derive_as.h).
static void sema_derive_as(vy_front *f, const vy_func *of, vy_rule_name *r)
{
    const vy_decl *g = vy_again_find(r->name, of);
    if (g && g->kind == DK_PIPELINE) {
        r->func = g->func;
        vy_again_use(of, g->func);
        return;
    }
    vy_front_error(f, g ? VY_E_NAME_KIND : VY_E_NAME_UNKNOWN, r->line, r->column,
                   g ? "name a pipeline" : "declare it with `pipeline`",
                   g ? "`%s` is no pipeline" : "there is no pipeline `%s`", r->name->text);
}

bool vy_sema_rules(vy_front *f)
{
    vy_again_begin(f);
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next) {
        vy_again_pass(f, fn);
        for (uint32_t k = 0; k < VY_RULES_OF && !f->failed; k++)
            if (fn->is_program && fn->rules[k].name)
                sema_program_rule(f, fn, &fn->rules[k]);
            else if (fn->rules[k].name)
                sema_rule(f, fn, &fn->rules[k]);
    }
    vy_again_begin(f);
    for (vy_func *fn = f->pipes; fn && !f->failed; fn = fn->next) {
        vy_again_pass(f, fn);
        if (fn->rules[VY_DERIVE_AS].name) sema_derive_as(f, fn, &fn->rules[VY_DERIVE_AS]);
    }
    return !f->failed;
}
