// SPDX-License-Identifier: MIT
// print.c: modules as text.
#include "ir/text/print.h"

#include "ir/text/front.h"
#include "ir/text/text.h"

// ---------------------------------------------------------------------------------------- programs

// function: its number in the module's table, of a function.
static void print_program(print_text *out, bool *failed, const vy_program *p, char *const *names,
                          uint32_t function)
{
    printer o = {.p = p, .out = *out, .functions = names};
    if (*failed) return;
    if (!print_names_init(&o.names) || !print_tables(&o) || !print_plan(&o)) o.failed = true;
    if (!o.failed) {
        print_reserve_names(&o);
        if (p->function)
            print_function_head(&o, function);
        else
            print_head(&o);
        print_code(&o);
        print_str(&o, "}\n");
    }
    *out = o.out;
    *failed = o.failed;
    print_free(&o);
}

static char *finish(print_text *out, bool failed, size_t *size)
{
    if (!failed && vy_vec_push(out, '\0')) {
        if (size) *size = out->count - 1;
        return out->data;
    }
    vy_vec_free(out);
    if (size) *size = 0;
    return NULL;
}

static void print_line(print_text *out, bool *failed)
{
    printer o = {.out = *out, .failed = *failed};
    if (out->count) print_str(&o, "\n");
    *out = o.out;
    *failed = o.failed;
}

// It applies to the declaration that follows.
static void print_order(print_text *out, bool *failed, uint32_t order)
{
    print_line(out, failed);
    printer o = {.out = *out, .failed = *failed};
    print_str(&o, "@order(");
    print_u64(&o, order);
    print_str(&o, ")\n");
    *out = o.out;
    *failed = o.failed;
}

// Those of a module of derivatives are derived too; else their sources call them.
static uint32_t functions_order(const vy_module *m)
{
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (!m->programs.data[i]->order) return 0;
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        if (!m->pipelines.data[i]->signature->order) return 0;
    return m->programs.count ? vy_module_order(m) : 0;
}

static void print_functions(print_text *out, bool *failed, const vy_module *m, char *const *names)
{
    const uint32_t order = functions_order(m);
    for (uint32_t i = 0; i < m->functions.count; i++) {
        if (order) print_order(out, failed, order);
        print_line(out, failed);
        print_program(out, failed, m->functions.data[i].code, names, i);
    }
}

char *vy_print(const vy_module *m, size_t *size)
{
    const uint64_t before = vy_memory_failures();
    const uint32_t programs = m->programs.count, count = programs + m->pipelines.count;
    print_text out = {0};
    vy_arena arena = {0};
    char **names = print_function_names(m, &arena);
    bool failed = !names;
    print_functions(&out, &failed, m, names);
    if (!count && m->order) print_order(&out, &failed, m->order);
    for (uint32_t i = 0; i < count; i++) {
        const vy_program *p = i < programs ? m->programs.data[i] : NULL;
        const vy_pipeline *l = p ? NULL : m->pipelines.data[i - programs];
        const uint32_t order = p ? p->order : l->signature->order;
        if (order) print_order(&out, &failed, order);
        print_line(&out, &failed);
        if (p)
            print_program(&out, &failed, p, names, 0);
        else
            print_pipeline(&out, &failed, l);
    }
    vy_arena_free(&arena);
    return finish(&out, failed || vy_memory_failures() != before, size);
}
