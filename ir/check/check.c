// SPDX-License-Identifier: MIT
// check.c: the checker's entry points.  Declarations are checked before code, because code refers
// to them.
#include "ir/check/check.h"
#include "ir/core/pipe.h"

bool vy_check_consistent(vy_program *p) { return vy_check_tables(p) && vy_check_code(p); }

bool vy_check_program(vy_program *p)
{
    vy_structure s;
    if (!vy_module_ok(p->module)) return false;
    if (!vy_check_declarations(p) || !vy_check_code(p)) return false;
    if (!vy_structure_take(p, &s)) {
        vy_fail_oom(p->module);
        return false;
    }
    bool ok = vy_check_rules(p, &s) && vy_check_uniform(p, &s);
    vy_structure_free(&s);
    return ok;
}

bool vy_module_check(vy_module *m)
{
    if (!vy_module_ok(m) || !vy_check_functions(m)) return false;
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (!vy_check_program(m->programs.data[i])) return false;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        if (!vy_check_pipeline(m->pipelines.data[i])) return false;
    return vy_check_program_names(m) && vy_check_program_rules(m);
}
