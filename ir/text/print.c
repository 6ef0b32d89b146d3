// SPDX-License-Identifier: MIT
// print.c: modules as text.
#include "ir/text/print.h"

#include "ir/text/front.h"
#include "ir/text/text.h"

// ---------------------------------------------------------------------------------------- programs

static void print_program(print_text *out, bool *failed, const vy_program *p, bool dump)
{
    printer o = {.p = p, .out = *out, .dump = dump};
    if (*failed) return;
    if (!print_names_init(&o.names) || !print_tables(&o) || !print_plan(&o)) o.failed = true;
    if (!o.failed) {
        print_reserve_names(&o);
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

char *vy_print(const vy_module *m, size_t *size)
{
    const uint64_t before = vy_memory_failures();
    print_text out = {0};
    bool failed = false;
    if (m->order) {
        printer o = {0};
        print_str(&o, "@order(");
        print_u64(&o, m->order);
        print_str(&o, ")\n");
        out = o.out;
        failed = o.failed;
    }
    for (uint32_t i = 0; i < m->programs.count + m->pipelines.count; i++) {
        printer o = {.out = out, .failed = failed};
        if (out.count) print_str(&o, "\n");
        out = o.out;
        failed = o.failed;
        if (i < m->programs.count)
            print_program(&out, &failed, m->programs.data[i], false);
        else
            print_pipeline(&out, &failed, m->pipelines.data[i - m->programs.count]);
    }
    return finish(&out, failed || vy_memory_failures() != before, size);
}

char *vy_print_dump(const vy_program *p, size_t *size)
{
    print_text out = {0};
    bool failed = false;
    print_program(&out, &failed, p, true);
    return finish(&out, failed, size);
}
