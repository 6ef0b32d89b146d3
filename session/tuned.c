// SPDX-License-Identifier: MIT
// tuned.c: the sizes of launches that written SPIR-V is made fast for (vys_settings.tune).
//
// Kernels are right for all sizes, whatever is said here.  A kernel's scalars are those of the
// program that it is derived from, by name; where a pipeline gives a kernel another number under
// such a name, the kernel is made for that one.
#include "session/fail.h"
#include "session/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The number after `=`; false: there is none.
static bool number_of(const char *text, int64_t *out)
{
    const char *at = strchr(text, '=');
    char *end;
    if (!at || at == text || at[1] < '0' || at[1] > '9') return false;
    errno = 0;
    *out = strtoll(at + 1, &end, 10);
    return !*end && !errno;
}

static bool is_size(const vy_module *m, const char *text)
{
    char name[256];
    const size_t n = strcspn(text, "=");
    if (n >= sizeof name) return false;
    memcpy(name, text, n);
    name[n] = 0;
    for (uint32_t i = 0; i < vy_module_program_count(m); i++) {
        const vy_program *p = vy_module_program(m, i);
        const uint32_t k = vy_program_find_scalar(p, name);
        if (k < vy_program_scalar_count(p) && vy_type_is_integer(vy_program_scalar(p, k).type))
            return true;
    }
    return false;
}

bool vys_tune_check(const vys_settings *s, const vy_module *m, vy_diag *d)
{
    int64_t n;
    for (uint32_t i = 0; i < s->tune_count; i++) {
        const char *text = s->tune[i];
        if (!number_of(text, &n))
            return vys_fail(d, VYS_USAGE, "write NAME=NUMBER, as in R=1000",
                            "`%s` is no size to be tuned for", text);
        if (!is_size(m, text))
            return vys_fail(d, VYS_USAGE, "name an integer scalar parameter of a program",
                            "no program has a size `%.*s`", (int)strcspn(text, "="), text);
    }
    return true;
}

int64_t vys_tuned_number(const vys_settings *s, const vy_program *p, vy_dim d)
{
    const uint32_t n = vy_program_scalar_count(p), m = vy_program_dim_count(p);
    int64_t *numbers = calloc((size_t)n + m + 2, sizeof *numbers), result = -1;
    bool *known = calloc((size_t)n + 1, sizeof *known);
    vy_dim_state *states = calloc((size_t)m + 1, sizeof *states);
    if (numbers && known && states) {
        for (uint32_t i = 0; i < s->tune_count; i++) {
            const size_t length = strcspn(s->tune[i], "=");
            for (uint32_t k = 0; k < n; k++) {
                const char *name = vy_program_scalar(p, k).name;
                if (strlen(name) == length && !strncmp(name, s->tune[i], length))
                    known[k] = number_of(s->tune[i], &numbers[k]);
            }
        }
        vy_program_dim_values(p, numbers, known, NULL, NULL, numbers + n, states);
        if (states[d.id] == VY_DIM_IS_KNOWN) result = numbers[n + d.id];
    }
    free(states);
    free(known);
    free(numbers);
    return result;
}
