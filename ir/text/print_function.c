// SPDX-License-Identifier: MIT
// print_function.c: functions with a derivative of their own (ir/core/functions.h) as text.
//
//   @vjp(g)
//   fn f(x: f32) -> f32 {
//       return x;
//   }
//
// A function has no interface to the outside: where a derivative, or a word of the language, has
// taken its name, it is printed under another.
#include "ir/text/print.h"

#include "ir/core/functions.h"
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

static bool is_taken(const vy_module *m, char *const *names, uint32_t count, const char *name)
{
    for (uint32_t k = 0; k < count; k++)
        if (strcmp(names[k], name) == 0) return true;
    return vy_module_find(m, name) || vy_module_find_pipeline(m, name) ||
           vy_word_is_taken(name, strlen(name));
}

char **print_function_names(const vy_module *m, vy_arena *arena)
{
    const uint32_t n = m->functions.count;
    char **names = vy_arena_alloc(arena, (n + 1) * sizeof *names);
    for (uint32_t k = 0; names && k < n; k++) {
        const char *name = m->functions.data[k].code->name;
        const size_t room = strlen(name) + 12;
        if (!(names[k] = vy_arena_alloc(arena, room))) return NULL;
        snprintf(names[k], room, "%s", name);
        for (uint32_t i = 2; is_taken(m, names, k, names[k]); i++)
            snprintf(names[k], room, "%s_%u", name, i);
    }
    return names;
}

void print_rule(printer *o, vy_rule_of kind, const char *name, const char *after)
{
    static const char *const words[VY_NAMES_OF] = {"@vjp(", "@jvp(", "@derive_as("};
    print_str(o, words[kind]);
    print_identifier(o, name);
    print_str(o, ")");
    print_str(o, after);
}

void print_function_head(printer *o, uint32_t index)
{
    const vy_function *f = &o->p->module->functions.data[index];
    for (uint32_t k = 0; k < VY_RULES_OF; k++)
        if (f->rules[k]) print_rule(o, (vy_rule_of)k, o->functions[f->rules[k] - 1], "\n");
    print_str(o, "fn ");
    print_identifier(o, o->functions[index]);
    print_str(o, "(");
    for (uint32_t k = 0; k < o->p->scalars.count; k++) {
        if (k) print_str(o, ", ");
        print_identifier(o, o->p->scalars.data[k].name);
        print_str(o, ": ");
        print_str(o, vy_type_name(o->p->scalars.data[k].type));
    }
    print_str(o, f->result_count > 1 ? ") -> (" : ") -> ");
    for (uint32_t k = 0; k < f->result_count; k++) {
        if (k) print_str(o, ", ");
        print_str(o, vy_type_name((vy_type)f->results[k]));
    }
    print_str(o, f->result_count > 1 ? ") {\n" : " {\n");
}

void print_return(printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    print_indent(o);
    print_str(o, i->nargs > 1 ? "return (" : "return ");
    for (uint32_t k = 0; k < i->nargs; k++) {
        if (k) print_str(o, ", ");
        print_expr(o, vy_arg(o->p, id, k), 0, true);
    }
    print_str(o, i->nargs > 1 ? ");\n" : ";\n");
}
