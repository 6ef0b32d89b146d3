// SPDX-License-Identifier: MIT
// dozen_lines.c: from the text of a program to its gradient, computed on the device.
//
//   dozen_lines FILE.vyre NAME=VALUE[,VALUE…] …
//   dozen_lines examples/gmm.vyre m=2 gamma=0.7 alpha=0.5,0.5 x=…    every `in` buffer, and scalars
//                                                                    that are no dimension
// Prints the gradient of all float outputs (cotangents 1) with respect to all float inputs.
// `gradient` is the point; the rest is reading and printing.
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool give(vys_task *t, const char *argument, vy_diag *d);
static bool print_results(vys_task *t, vy_diag *d);

// All steps.  The first error stays in *d, and the calls after it do nothing.
static bool gradient(vys_session *s, const char *file, const char *text, size_t size,
                     char **arguments, int count, vy_diag *d)
{
    vys_task *t;
    bool ok = vys_task_parse(s, text, size, file, &(vys_settings){.order = 1}, &t, d);
    for (int i = 0; ok && i < count; i++) ok = give(t, arguments[i], d);
    ok = ok && vys_run(t, d) && print_results(t, d);
    vys_task_free(t);
    return ok;
}

static bool complain(vy_diag *d, const char *format, const char *name)
{
    *d = (vy_diag){.severity = VY_ERROR, .code = "E0807"};
    snprintf(d->text, sizeof d->text, format, name);
    return false;
}

// Numbers separated by commas, stored as `type`; the caller frees them.  NULL if one is invalid.
static void *numbers(const char *list, vy_type type, uint64_t *count)
{
    char *values = malloc((strlen(list) + 1) * sizeof(double)), *end;
    *count = 0;
    for (const char *at = list; values; at = end + 1) {
        const vy_scalar v = {.f = strtod(at, &end)};
        if (end == at || (*end && *end != ',')) return free(values), NULL;
        vy_scalar_write(type, v, values + (*count)++ * vy_type_size(type));
        if (!*end) break;
    }
    return values;
}

// One NAME=VALUE: contents of a buffer, whose shape follows from its declaration, or a scalar.
static bool give(vys_task *t, const char *argument, vy_diag *d)
{
    char name[64];
    const char *equals = strchr(argument, '=');
    const size_t n = equals ? (size_t)(equals - argument) : sizeof name;
    vys_parameter p = {0};
    uint64_t count;
    if (n >= sizeof name) return complain(d, "%.200s: NAME=VALUE is expected", argument);
    memcpy(name, argument, n);
    name[n] = 0;
    for (uint32_t i = 0; vys_task_parameter(t, i, &p) && strcmp(p.name, name) != 0; i++) {}
    if (!p.name || p.role == VYS_ROLE_SCALAR)
        return vys_set_float(t, name, strtod(equals + 1, NULL), d);
    void *data = vy_type_is_float(p.type) ? numbers(equals + 1, p.type, &count) : NULL;
    const bool ok = data ? vys_set_flat(t, name, p.type, count, data, d)
                         : complain(d, "%s: floating-point numbers are expected", name);
    free(data);
    return ok;
}

static bool print_results(vys_task *t, vy_diag *d)
{
    vys_parameter p;
    bool ok = true;
    for (uint32_t i = 0; ok && vys_task_parameter(t, i, &p); i++) {
        if (p.role != VYS_ROLE_GRADIENT) continue;
        const uint64_t size = vy_type_size(p.type);
        char *data = malloc(p.count * size + 1);
        ok = data && vys_read(t, p.name, p.type, data, p.count * size, d);
        if (ok) printf("%s =", p.name);
        for (uint64_t k = 0; ok && k < p.count; k++)
            printf(" %.*g", p.type == VY_F64 ? 17 : 9, vy_scalar_read(p.type, data + k * size).f);
        if (ok) printf("\n");
        free(data);
    }
    return ok;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long end = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) end = ftell(f);
    if (end >= 0) text = malloc((size_t)end + 1);
    if (text) {
        rewind(f);
        *size = fread(text, 1, (size_t)end, f);
    }
    if (f) fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    char *text = argc > 1 ? read_file(argv[1], &size) : NULL, message[2000];
    if (!text) {
        fprintf(stderr,
                argc > 1 ? "cannot read %s\n" : "usage: %s FILE.vyre NAME=VALUE[,VALUE] …\n",
                argv[argc > 1]);
        return 1;
    }
    vy_diag d = {0};
    vys_session *s;
    const bool ok =
        vys_open(NULL, &s, &d) && gradient(s, argv[1], text, size, argv + 2, argc - 2, &d);
    if (!ok) {
        vy_diag_format(&d, argv[1], text, size, false, message, sizeof message);
        fprintf(stderr, "%s", message);
    }
    // With VYRE_VALIDATION=1 the validation layers are on; they should report nothing.
    const bool silent = !s || !vys_session_message(s, 0);
    for (uint32_t i = 0; s && vys_session_message(s, i); i++)
        fprintf(stderr, "%s\n", vys_session_message(s, i));
    vys_close(s);
    free(text);
    return !(ok && silent);
}
