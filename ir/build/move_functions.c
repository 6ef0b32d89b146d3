// SPDX-License-Identifier: MIT
// move_functions.c: functions of a module in another one.
//
// A program takes the functions that it calls along when it is copied to another module.  The first
// copy brings the whole table in its order, so that in the modules of one derivation a function has
// one number; elsewhere functions of one name are the same.
#include "ir/build/edit.h"
#include "ir/build/function.h"

#include <string.h>

static uint32_t function_called(const vy_module *m, const char *name, uint32_t first)
{
    const uint32_t n = m->functions.count;
    for (uint32_t k = 0; k < n; k++) { // mostly it has the same number
        const uint32_t at = (first + k) % n;
        if (strcmp(m->functions.data[at].code->name, name) == 0) return at;
    }
    return UINT32_MAX;
}

static bool add(vy_module *to, const vy_function *f, vy_clone_call *clone)
{
    vy_function made = *f;
    made.code = clone(f->code, to);
    if (made.code && vy_vec_push(&to->functions, made)) return true;
    vy_program_free(made.code);
    return false;
}

static void renumber(vy_program *p, const uint32_t *map)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_APPLY) p->insts.data[id].aux = map[p->insts.data[id].aux];
}

static bool move(const vy_module *from, vy_module *to, vy_clone_call *clone, uint32_t *map)
{
    const uint32_t had = to->functions.count;
    bool ok = true;
    for (uint32_t k = 0; ok && k < from->functions.count; k++) {
        map[k] = had ? function_called(to, from->functions.data[k].code->name, k) : UINT32_MAX;
        if (map[k] != UINT32_MAX) continue;
        map[k] = to->functions.count;
        ok = add(to, &from->functions.data[k], clone);
    }
    if (!ok) vy_fail_oom(to);
    for (uint32_t k = had; ok && k < to->functions.count; k++) {
        vy_function *f = &to->functions.data[k];
        renumber(f->code, map);
        for (uint32_t r = 0; r < VY_RULES_OF; r++)
            if (f->rules[r]) f->rules[r] = 1 + map[f->rules[r] - 1];
    }
    return ok;
}

bool vy_functions_follow(const vy_program *p, vy_module *to, vy_clone_call *clone, vy_program *copy)
{
    const vy_module *from = p->module;
    if (p->function || to == from || !vy_program_applies(p)) return true;
    uint32_t *map = vy_realloc(NULL, ((size_t)from->functions.count + 1) * sizeof *map);
    const bool ok = map && move(from, to, clone, map);
    if (!map) vy_fail_oom(to);
    if (ok && copy) renumber(copy, map);
    vy_free(map);
    return ok;
}
