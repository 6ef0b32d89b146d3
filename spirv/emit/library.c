// SPDX-License-Identifier: MIT
// library.c: functions of mathlib.vyre and mathplain.vyre as OpFunctions of the module.
//
// A call in the program becomes OpFunctionCall, and each function is parsed and emitted once per
// module, however often it is used; drivers inline.  (Inlining here would parse and emit it again
// for every use, and grow erf-heavy modules a hundredfold.)
// The library's error-free transformations must not be contracted in any float mode, so all its
// arithmetic but fma is decorated NoContraction.
#include "spirv/emit/emit.h"
#include "spirv/mathlib_text.h"
#include "ir/pass/pass.h"
#include "ir/text/text.h"
#include "spirv/facts/facts.h"

#include <stdio.h>
#include <string.h>

static uint32_t find_item(const char *name)
{
    for (uint32_t i = 0; i < MATHLIB_ITEM_COUNT; i++)
        if (strcmp(mathlib_items[i].name, name) == 0) return i;
    return UINT32_MAX;
}

static bool takes_order(const mathlib_item *item)
{
    return strncmp(item->name, "polygamma_", 10) == 0;
}

static vy_type item_type(const mathlib_item *item)
{
    return strcmp(item->name + strlen(item->name) - 3, "f64") == 0 ? VY_F64 : VY_F32;
}

// The id of the function that computes an operation, which the module has from now on; 0: there is
// none.  Its name is looked up once in a module: programs may call it a hundred thousand times.
static uint32_t function_of(vy_spv *m, vy_op op, vy_type t, bool plain, uint32_t order)
{
    char name[40];
    for (uint32_t i = 0; i < m->lib.count; i++) {
        const vy_lib_call *c = &m->lib.data[i];
        if (c->op != op || c->order != order || c->plain != plain) continue;
        if (plain || c->type == t) return c->id;
    }
    snprintf(name, sizeof name, "%s_%s",
             op == VY_OP_POLYGAMMA && !order ? "digamma" : vy_op_infos[op].text,
             plain ? "plain" : vy_type_name(t));
    vy_lib_call call = {.op = op, .type = t, .plain = plain, .order = order};
    call.item = find_item(name);
    if (call.item == UINT32_MAX) {
        vy_diag_set(m->diag, VY_E_INVALID_SPIRV, 0, 0, NULL, "internal: no library function `%s`",
                    name);
        m->oom = true;
        return 0;
    }
    call.id = vy_spv_id(m);
    if (!vy_vec_push(&m->lib, call)) m->oom = true;
    return call.id;
}

uint32_t vy_library_call(vy_fn *f, vy_op op, vy_type t, bool plain, uint32_t aux, uint32_t n,
                         const uint32_t *x)
{
    vy_spv *m = f->m;
    const uint32_t id = function_of(m, op, t, plain, op == VY_OP_POLYGAMMA ? aux : 0);
    if (!id) return 1;
    uint32_t operands[3] = {id, x[0], x[1]};
    return vy_op_n(f, SpvOpFunctionCall, vy_spv_type(m, t), n + 1, operands);
}

// The function's text with all functions that it calls.
static char *text_of(const mathlib_item *item, size_t *size)
{
    size_t total = item->text_size + 1u;
    for (uint32_t i = 0; i < item->need_count; i++)
        total += mathlib_items[mathlib_needs[item->first_need + i]].text_size + 1u;
    char *text = vy_realloc(NULL, total), *at = text;
    if (!text) return NULL;
    for (uint32_t i = 0; i <= item->need_count; i++) {
        const mathlib_item *part =
            i < item->need_count ? &mathlib_items[mathlib_needs[item->first_need + i]] : item;
        memcpy(at, part->text, part->text_size);
        at += part->text_size;
        *at++ = '\n';
    }
    *size = (size_t)(at - text);
    return text;
}

// The function as a program of its own: scalars in, the result stored to r[0].
static vy_program *as_program(vy_module *scratch, const mathlib_item *item, uint32_t order,
                              uint32_t n_params)
{
    vy_type t = item_type(item);
    size_t size;
    char *text = text_of(item, &size);
    vy_builder *b = text ? vy_program_begin(scratch, item->name) : NULL;
    if (!b) {
        vy_free(text);
        return NULL;
    }
    vy_value args[3], result = {0}, zero = vy_int(b, VY_U32, 0);
    uint32_t n = 0;
    if (takes_order(item)) args[n++] = vy_int(b, VY_I32, order);
    args[n++] = vy_param_scalar(b, "x", t);
    if (n_params == 2) args[n++] = vy_param_scalar(b, "y", t);
    vy_dim one = vy_dim_const(b, 1);
    vy_buffer r = vy_param_buffer(b, "r", VY_OUT, t, 1, &one);
    vy_inline_source(b, text, size, item->name, n, args, 1, &result);
    vy_store(b, r, &zero, result);
    vy_free(text);
    vy_program *p = vy_program_end(b);
    vy_pass_context c = {0};
    return p && vy_pass_dce(p, &c) ? p : NULL;
}

static bool emit_function(vy_spv *m, const vy_program *p, const vy_lib_call *call)
{
    const mathlib_item *item = &mathlib_items[call->item];
    vy_type t = item_type(item);
    vy_facts facts = {0};
    vy_fn f = {0};
    bool ok = vy_facts_make(m, p, &facts) && vy_fn_begin(&f, m, p);
    if (ok) {
        uint32_t label = vy_spv_id(m), type = vy_spv_type(m, t), params[4],
                 fn[3] = {type, type, type};
        uint32_t n = p->scalars.count;
        for (uint32_t i = 0; i < n; i++) {
            params[2 * i] = type;
            params[2 * i + 1] = vy_spv_id(m);
        }
        for (uint32_t i = 0; i < p->leaves.count; i++)
            if (p->leaves.data[i].kind == VY_LEAF_SCALAR)
                f.leaf_ids[i] = params[2 * p->leaves.data[i].index + 1];
        uint32_t fn_type = vy_spv_intern(m, SpvOpTypeFunction, 0, n + 1, fn);
        f.facts = &facts;
        f.block = label;
        f.exact = f.library = true;
        vy_spv_name(m, call->id, item->name);
        ok = vy_emit_body(&f);
        VY_PUT(m, &f.code, SpvOpReturnValue, f.returned);
        m->lib_nesting += f.nesting; // upper bound: each may call the next at its deepest point
        vy_fn_join(&f, call->id, type, fn_type, n, params, label);
    }
    vy_fn_free(&f);
    vy_facts_free(&facts);
    return ok;
}

static uint32_t parameter_count(const mathlib_item *item)
{
    uint32_t n = 1;
    for (const char *c = strchr(item->text, '('); c && *c && *c != ')'; c++) n += *c == ',';
    return takes_order(item) ? n - 1 : n;
}

bool vy_emit_library(vy_spv *m)
{
    bool ok = true;
    while (m->lib_done < m->lib.count && !m->oom && ok) {
        vy_lib_call call = m->lib.data[m->lib_done++]; // functions may call functions
        const mathlib_item *item = &mathlib_items[call.item];
        vy_module *scratch = vy_module_new();
        vy_program *p =
            scratch ? as_program(scratch, item, call.order, parameter_count(item)) : NULL;
        const vy_diag *why = scratch ? vy_module_diag(scratch) : NULL;
        if (!p && why && why->severity == VY_ERROR && why->blame == VY_BLAME_PROGRAM) {
            vy_diag_set(m->diag, VY_E_INVALID_SPIRV, 0, 0, NULL,
                        "internal: library function `%s`: %.300s", item->name, why->text);
            ok = false;
        } else if (!p) {
            m->oom = true;
        }
        ok = ok && p && emit_function(m, p, &call);
        vy_module_free(scratch);
    }
    return ok && !m->oom;
}
