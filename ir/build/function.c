// SPDX-License-Identifier: MIT
// function.c: defines functions with a derivative of their own, and calls them (see
// ir/core/functions.h), for the C API and for the text front end.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/build/function.h"
#include "ir/build/live.h"
#include "ir/check/check.h"

#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------------------------------- defining
vy_function_id vy_function_reserve(vy_module *m, uint32_t result_count, const vy_type *results)
{
    vy_function f = {.result_count = result_count};
    if (!vy_module_ok(m)) return (vy_function_id){0};
    for (uint32_t k = 0; k < result_count; k++) f.results[k] = (uint8_t)results[k];
    if (vy_vec_push(&m->functions, f)) return (vy_function_id){m->functions.count};
    vy_fail_oom(m);
    return (vy_function_id){0};
}

vy_builder *vy_function_open(vy_module *m, const char *name)
{
    vy_builder *b = vy_program_begin(m, name);
    if (!b) return NULL;
    b->p->function = true;
    b->p->order = 0;
    b->p->exact = true; // folded only as every device rounds; where it is inlined, as there
    return b;
}

bool vy_function_close(vy_builder *b, vy_function_id fn, const vy_value *results)
{
    if (!b) return false;
    vy_module *m = b->m;
    vy_function *f = &m->functions.data[fn.id - 1];
    uint32_t ids[VY_MAX_RANK];
    for (uint32_t k = 0; k < f->result_count; k++) {
        ids[k] = results[k].id;
        if (b->failed || (vy_visible(b, ids[k]) && vy_id_type(b->p, ids[k]) == f->results[k]))
            continue;
        vy_build_fail(b, VY_E_API, "result %u of function `%s` is no value of type %s", k,
                      b->p->name, vy_type_name((vy_type)f->results[k]));
    }
    vy_control_end(b);
    vy_emit(b, VY_OP_RETURN, VY_VOID, 0, f->result_count, ids);
    vy_program *p = vy_rebuild_end(b);
    vy_pass_context c = {0};
    if (p && vy_pass_cleanup(p, &c)) {
        f->code = p;
        return true;
    }
    vy_program_free(p);
    return false;
}

// --------------------------------------------------------------------------------------- the C API
static bool refuse(vy_module *m, const char *what, const char *name)
{
    if (vy_module_ok(m))
        vy_fail(m, VY_E_API, 0, 0, "see vy_function_define in vyre.h", "function `%s`: %s",
                name ? name : "", what);
    return false;
}

static bool good_types(uint32_t n, const vy_type *types)
{
    for (uint32_t k = 0; k < n; k++)
        if (!vy_type_computes(types[k])) return false;
    return true;
}

static bool build_body(vy_module *m, vy_function_id fn, const char *name, uint32_t n,
                       const vy_type *types, vy_function_body *body, void *user)
{
    char text[16];
    vy_value results[VY_MAX_RANK] = {{0}};
    vy_value *args = vy_realloc(NULL, ((size_t)n + 1) * sizeof *args);
    vy_builder *b = args ? vy_function_open(m, name) : NULL;
    for (uint32_t k = 0; b && k < n; k++) {
        snprintf(text, sizeof text, "x%u", k);
        args[k] = vy_param_scalar(b, text, types[k]);
    }
    if (b) body(b, args, results, user);
    vy_free(args);
    if (!b) vy_fail_oom(m); // unless the module has an earlier error
    return b && vy_function_close(b, fn, results);
}

vy_function_id vy_function_define(vy_module *m, const char *name, uint32_t param_count,
                                  const vy_type *params, uint32_t result_count,
                                  const vy_type *results, vy_function_body *body, void *user)
{
    if (!vy_module_ok(m)) return (vy_function_id){0};
    if (!name || !vy_name_printable(name) || vy_function_find(m, name).id)
        return refuse(m, "its name is taken, or cannot be written", name), (vy_function_id){0};
    if (!result_count || result_count > VY_MAX_RANK || !good_types(param_count, params) ||
        !good_types(result_count, results))
        return refuse(m, "it needs 1 to 32 results, of types of values", name), (vy_function_id){0};
    const vy_function_id fn = vy_function_reserve(m, result_count, results);
    if (!fn.id) return fn;
    if (build_body(m, fn, name, param_count, params, body, user) &&
        vy_check_function(vy_function_of(m, fn.id - 1)))
        return fn;
    vy_program_free(m->functions.data[fn.id - 1].code);
    m->functions.count = fn.id - 1;
    return (vy_function_id){0};
}

vy_function_id vy_function_find(const vy_module *m, const char *name)
{
    for (uint32_t k = 0; k < m->functions.count; k++) {
        const vy_program *p = m->functions.data[k].code;
        if (p && strcmp(p->name, name) == 0) return (vy_function_id){k + 1};
    }
    return (vy_function_id){0};
}

static bool set_rule(vy_module *m, vy_function_id f, vy_function_id rule, vy_rule_of kind)
{
    char text[240] = "";
    const uint32_t n = m->functions.count;
    if (!vy_module_ok(m)) return false;
    if (!f.id || f.id > n || !rule.id || rule.id > n)
        return refuse(m, "there is no such function", NULL);
    vy_function *to = &m->functions.data[f.id - 1];
    const uint32_t was = to->rules[kind];
    to->rules[kind] = rule.id;
    if (vy_check_rule(m, to, kind, text)) return true;
    to->rules[kind] = was;
    vy_fail(m, VY_E_RULE, 0, 0, NULL, "function `%s` cannot be the rule of `%s`: %s%s",
            m->functions.data[rule.id - 1].code->name, to->code->name,
            *text             ? "it must be "
            : f.id == rule.id ? "it is that function"
                              : "that needs float parameters and float results",
            text);
    return false;
}

bool vy_function_vjp(vy_module *m, vy_function_id f, vy_function_id g)
{
    return set_rule(m, f, g, VY_VJP);
}
bool vy_function_jvp(vy_module *m, vy_function_id f, vy_function_id h)
{
    return set_rule(m, f, h, VY_JVP);
}

// ----------------------------------------------------------------------------------------- calling
bool vy_function_call(vy_builder *b, uint32_t function, uint32_t n, const uint32_t *args,
                      uint32_t *results)
{
    const vy_function *f = vy_function_of(b->m, function);
    const uint32_t call = vy_emit(b, VY_OP_APPLY, vy_function_type(f), function, n, args);
    for (uint32_t k = 0; call && k < f->result_count; k++)
        results[k] = vy_call_result(b->p, call, k);
    return !b->failed;
}

static bool takes(vy_builder *b, const vy_function *f, uint32_t n, const vy_value *args)
{
    if (!f->code || n != f->code->scalars.count) return false;
    for (uint32_t k = 0; k < n; k++)
        if (!vy_visible(b, args[k].id) ||
            vy_id_type(b->p, args[k].id) != f->code->scalars.data[k].type)
            return false;
    return true;
}

bool vy_apply(vy_builder *b, vy_function_id f, uint32_t n, const vy_value *args, vy_value *results)
{
    uint32_t out[VY_MAX_RANK];
    if (b->failed) return false;
    if (!f.id || f.id > b->m->functions.count ||
        !takes(b, vy_function_of(b->m, f.id - 1), n, args)) {
        vy_build_fail(b, VY_E_API, "vy_apply: no such function, or not its arguments");
        return false;
    }
    const vy_function *fn = vy_function_of(b->m, f.id - 1);
    uint32_t *ids = vy_realloc(NULL, ((size_t)n + 1) * sizeof *ids);
    if (!ids) vy_build_oom(b);
    for (uint32_t k = 0; ids && k < n; k++) ids[k] = args[k].id;
    const bool ok =
        ids && (vy_function_has_rule(fn) ? vy_function_call(b, f.id - 1, n, ids, out)
                                         : vy_inline(b, f.id - 1, ids, out, VY_INLINE_ONE));
    for (uint32_t k = 0; ok && k < fn->result_count; k++) results[k].id = out[k];
    vy_free(ids);
    return ok;
}
