// SPDX-License-Identifier: MIT
// roles.c: two derivatives of one program, and one of a derivative, in the program's own module;
// what their parameters are is read from a table, not from names.
//
//   roles FILE.vyre      prints the module with the derivatives, and the table of each
#include "autodiff/transform.h"

#include <stdio.h>
#include <stdlib.h>

static void print_table(const vy_module *m, const vy_derived *g)
{
    static const char *const kinds[] = {"parameter",          "primal",    "value",    "gradient",
                                        "gradient of scalar", "cotangent", "workspace"};
    static const char *const modes[] = {"reads", "overwrites", "changes in place", "adds to"};
    const vy_program *p = g->result.pipeline
                              ? vy_pipeline_signature(vy_module_pipeline(m, g->result.index))
                              : vy_module_program(m, g->result.index);
    printf("// %s, order %u\n", vy_program_name(p), g->order);
    for (uint32_t i = 1; i < g->role_count; i++) {
        const vy_derivative_role *r = &g->roles[i];
        if (r->kind == VY_IS_PARAMETER || r->kind == VY_IS_WORKSPACE) continue;
        printf("//   %s %s: %s %s", modes[r->mode], vy_program_buffer(p, (vy_buffer){i}).name,
               kinds[r->kind], r->of);
        printf(r->root_parameter != r->parameter ? ", shaped as %s\n" : "\n", r->root);
    }
}

// The first derivative by default, one with seeds, and the derivative of the first.
static bool transform_all(vy_module *m, vy_diag *d)
{
    const vy_grad_options plain = {.accumulate = VY_ACCUMULATE_ATOMIC, .again = true};
    const vy_grad_options seeded = {.seed_buffer = true};
    const vy_derived *g = vy_transform(m, (vy_ref){.index = 0}, &plain, d);
    if (!g || !vy_transform(m, (vy_ref){.index = 0}, &seeded, d)) return false;
    const char **gradients = calloc(g->role_count, sizeof *gradients);
    vy_grad_options again = {.seed_buffer = true, .of = gradients};
    for (uint32_t i = 1; gradients && i < g->role_count; i++)
        if (vy_is_gradient(g->roles[i].kind) && !g->result.pipeline)
            gradients[again.of_count++] =
                vy_program_buffer(vy_module_program(m, g->result.index), (vy_buffer){i}).name;
    const bool ok = gradients && vy_transform(m, g->result, &again, d);
    free(gradients);
    return ok;
}

static char *read_file(const char *path, size_t *size)
{
    static char text[1 << 20];
    FILE *f = fopen(path, "rb");
    *size = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return f ? text : NULL;
}

int main(int argc, char **argv)
{
    size_t size;
    char *text = argc > 1 ? read_file(argv[1], &size) : NULL, message[2000];
    vy_module *m = text ? vy_parse(text, size, argv[1]) : NULL;
    if (!m) return fprintf(stderr, "usage: roles FILE.vyre\n"), 1;
    vy_diag d = *vy_module_diag(m);
    const bool ok = vy_module_ok(m) && transform_all(m, &d);
    if (ok) {
        char *printed = vy_print(m, NULL);
        printf("%s", printed ? printed : "");
        free(printed);
        for (uint32_t i = 0; vy_module_derived(m, i); i++) print_table(m, vy_module_derived(m, i));
    } else {
        vy_diag_format(&d, argv[1], text, size, false, message, sizeof message);
        fprintf(stderr, "%s", message);
    }
    vy_module_free(m);
    return !ok;
}
