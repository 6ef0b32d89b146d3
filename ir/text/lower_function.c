// SPDX-License-Identifier: MIT
// lower_function.c: functions that have a rule or are one become functions of the module.
//
// In the order of the text, with numbers that are known before any is built: their calls of each
// other need no order.
#include "ir/build/function.h"
#include "ir/check/check.h"
#include "ir/text/lower.h"

#include <stdio.h>

// A function of the same name and purpose, in a text that is read once more (vy_inline_source).
static bool is_there(vy_front *f, vy_func *fn)
{
    if (fn->same != fn) return fn->number = fn->same->number, true; // one of the text, before it
    fn->number = vy_function_find(f->m, fn->decl->name->text);
    return fn->number.id != 0;
}

static bool reserve(vy_front *f, vy_func *fn)
{
    vy_type types[VY_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < fn->result_count; i++)
        for (uint32_t k = 0; k < vy_scalars(f, fn->results[i]); k++)
            types[n++] = vy_scalar_type(f, fn->results[i], k);
    fn->number = vy_function_reserve(f->m, n, types);
    f->failed |= !fn->number.id;
    return !f->failed;
}

static void lower_parameter(vy_lower *l, const vy_decl *d)
{
    for (uint32_t k = 0; k < vy_scalars(l->f, d->type); k++)
        l->frame[d->slot + k] =
            vy_param_scalar(l->b, vy_scalar_name(l->f, d, k), vy_scalar_type(l->f, d->type, k)).id;
}

static bool lower_function(vy_front *f, vy_func *fn)
{
    vy_value results[VY_MAX_RANK] = {{0}};
    vy_lower l = {.f = f, .func = fn};
    l.frame = vy_front_alloc(f, fn->slot_count * sizeof *l.frame + 1);
    l.b = f->failed ? NULL : vy_function_open(f->m, fn->decl->name->text);
    if (!l.b) return false;
    vy_lower_at(&l, fn->decl->line, fn->decl->column);
    vy_builder_program(l.b)->line = fn->decl->line;
    for (const vy_decl *d = fn->params; d && !vy_lower_stopped(&l); d = d->next)
        lower_parameter(&l, d);
    vy_lower_function_body(&l, vy_result_scalars(f, fn), results);
    if (!vy_lower_stopped(&l)) return vy_function_close(l.b, fn->number, results);
    vy_program_abandon(l.b);
    return false;
}

static bool set_rule(vy_front *f, const vy_func *fn, vy_rule_of kind)
{
    const vy_rule_name *r = &fn->rules[kind];
    vy_function *to = &f->m->functions.data[fn->number.id - 1];
    char text[240] = "", fix[300] = "";
    if (!r->name) return true;
    to->rules[kind] = r->func->number.id;
    if (vy_check_rule(f->m, to, kind, text)) return true;
    snprintf(fix, sizeof fix, "declare it as %s", text);
    vy_front_error(f, VY_E_RULE, r->line, r->column, fix,
                   "`%s` is not a rule (@%s) of `%s`: its parameters or results are others",
                   r->name->text, kind == VY_VJP ? "vjp" : "jvp", fn->decl->name->text);
    return false;
}

static bool is_new(const vy_func *fn, uint32_t had)
{
    return fn->stays && fn->same == fn && fn->number.id > had;
}

bool vy_lower_functions(vy_front *f)
{
    bool ok = true;
    const uint32_t had = f->m->functions.count;
    for (vy_func *fn = f->funcs; fn && ok; fn = fn->next)
        if (fn->stays && !is_there(f, fn)) ok = reserve(f, fn);
    for (vy_func *fn = f->funcs; fn && ok; fn = fn->next)
        if (is_new(fn, had)) ok = lower_function(f, fn);
    for (vy_func *fn = f->funcs; fn && ok; fn = fn->next)
        if (is_new(fn, had)) ok = set_rule(f, fn, VY_VJP) && set_rule(f, fn, VY_JVP);
    return ok;
}
