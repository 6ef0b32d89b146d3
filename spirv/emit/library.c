// SPDX-License-Identifier: MIT
// library.c: functions of mathlib.vyre and mathplain.vyre as OpFunctions of the module.
//
// A call in the program becomes OpFunctionCall, and each function is emitted once per module (and
// parsed once per process: library_program.c), however often it is used; drivers inline.  (Inlining
// here would emit it again for every use, and grow erf-heavy modules a hundredfold.)
// The library's error-free transformations must not be contracted in any float mode, so all its
// arithmetic but fma is decorated NoContraction.
#include "spirv/emit/emit.h"
#include "spirv/emit/library.h"
#include "spirv/facts/facts.h"

#include <stdio.h>
#include <string.h>

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
    call.item = vy_library_find(name);
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

// By these names the reader finds them (spirv/read/library.c): polygamma_3_f32.
static void name_function(vy_spv *m, const vy_lib_call *call)
{
    char name[40];
    const char *text = vy_library_name(call->item), *type = strrchr(text, '_');
    snprintf(name, sizeof name, "%.*s_%u%s", (int)(type - text), text, call->order, type);
    vy_spv_name(m, call->id, call->order ? name : text);
}

static bool emit_function(vy_spv *m, const vy_program *p, const vy_lib_call *call)
{
    vy_type t = vy_library_type(call->item);
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
        name_function(m, call);
        ok = vy_emit_body(&f);
        VY_PUT(m, &f.code, SpvOpReturnValue, f.returned);
        m->lib_nesting += f.nesting; // upper bound: each may call the next at its deepest point
        vy_fn_join(&f, call->id, type, fn_type, n, params, label);
    }
    vy_fn_free(&f);
    vy_facts_free(&facts);
    return ok;
}

bool vy_emit_library(vy_spv *m)
{
    bool ok = true;
    while (m->lib_done < m->lib.count && !m->oom && ok) {
        vy_lib_call call = m->lib.data[m->lib_done++]; // functions may call functions
        vy_module *own = NULL;
        vy_diag why = {0};
        const vy_program *p = vy_library_program(call.item, call.order, &own, &why);
        if (p) {
            ok = emit_function(m, p, &call);
        } else if (why.severity == VY_ERROR) {
            *m->diag = why;
            ok = false;
        } else {
            m->oom = true;
        }
        vy_module_free(own);
    }
    return ok && !m->oom;
}
