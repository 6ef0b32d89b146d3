// SPDX-License-Identifier: MIT
// exercise.c: what must hold for every valid module, wherever it comes from.
#include "autodiff/grad.h"
#include "spirv/spirv.h"
#include "tests/fuzz/fuzz.h"
#include "tests/told_sizes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INSTRUCTIONS = 3000 }; // larger programs are only printed, for speed

void require(bool holds, const char *format, ...)
{
    if (holds) return;
    va_list args;
    va_start(args, format);
    fputs("finding: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void require_diag(const vy_diag *d, const char *source, size_t size)
{
    require(d->severity == VY_ERROR && d->code && strlen(d->code) == 5 && d->code[0] == 'E',
            "a failure without a code");
    require(d->text[0] && memchr(d->text, 0, sizeof d->text) && memchr(d->fix, 0, sizeof d->fix),
            "%s has no text", d->code);
    require(strcmp(d->code, "E0001") != 0, "out of memory? %s", d->text);
    for (int color = 0; color < 2; color++) {
        size_t n = vy_diag_format(d, "fuzz.vyre", source, size, color, NULL, 0);
        char *out = malloc(n + 1);
        require(out && vy_diag_format(d, "fuzz.vyre", source, size, color, out, n + 1) == n &&
                    strlen(out) == n,
                "%s formats to another length", d->code);
        free(out);
    }
}

static void require_same_text(const char *a, const char *b, const char *what)
{
    size_t at = 0;
    while (a[at] && a[at] == b[at]) at++;
    if (!a[at] && !b[at]) return;
    while (at > 0 && a[at - 1] != '\n') at--;
    require(false, "%s: printed `%.*s`, then `%.*s`", what, (int)strcspn(a + at, "\n"), a + at,
            (int)strcspn(b + at, "\n"), b + at);
}

vy_module *reparsed(const vy_module *m, const char *what)
{
    size_t size;
    char *text = vy_print(m, &size);
    require(text && strlen(text) == size, "%s: print", what);
    vy_module *back = vy_parse(text, size, "printed");
    require(back && vy_module_ok(back), "%s: its text is refused: %s [%s]\n%s", what,
            vy_module_diag(back)->text, vy_module_diag(back)->code, text);
    free(text);
    return back;
}

void require_round_trip(const vy_module *m, const char *what)
{
    size_t size, again_size;
    char *text = vy_print(m, &size);
    vy_module *back = reparsed(m, what);
    char *again = vy_print(back, &again_size);
    require_same_text(text, again, what);
    require(vy_module_equal(m, back) && vy_module_equal(back, m), "%s: text reads back another\n%s",
            what, text);
    free(again);
    free(text);
    vy_module_free(back);

    void *bytes = vy_binary_write(m, &size);
    require(bytes && vy_binary_is(bytes, size), "%s: binary form", what);
    back = vy_binary_read(bytes, size);
    require(vy_module_ok(back), "%s: binary form is refused: %s", what, vy_module_diag(back)->text);
    require(vy_module_equal(m, back), "%s: binary form reads back another", what);
    void *second = vy_binary_write(back, &again_size);
    require(second && again_size == size && !memcmp(bytes, second, size),
            "%s: binary form is no fixed point", what);
    free(second);
    free(bytes);
    vy_module_free(back);
}

static void exercise_compile(const vy_program *p, uint32_t choice)
{
    vy_diag d = {0};
    vy_spirv_options o = {.target = (vy_target)(choice % 3),
                          .precise = choice >> 2 & 1,
                          .unchecked = choice >> 3 & 1,
                          .strip = choice >> 4 & 1,
                          .enabled = choice >> 5 & 1 ? ~(vy_features)0 : 0,
                          .validate = choice >> 6 & 1,
                          .combine_additions = choice >> 7 & 1};
    vy_compiled *c = vy_compile(p, &o, &d);
    if (!c) {
        require_diag(&d, NULL, 0);
        require(strcmp(d.code, "E0604") != 0, "%s", d.text);
        return;
    }
    char *manifest = vy_manifest(&c->plans[0], NULL),
         *header = vy_c_header(&c->plans[0], "k", NULL);
    require(manifest && header, "manifest");
    free(manifest);
    free(header);
    vy_compiled_free(c);
}

static void exercise_grad(const vy_module *m, const vy_program *p, uint32_t choice)
{
    vy_diag d = {0};
    vy_grad_options o = {.program = vy_program_name(p),
                         .seed_buffer = choice >> 7 & 1,
                         .with_value = choice >> 8 & 1};
    vy_module *g = vy_grad(m, &o, &d);
    if (!g) {
        require_diag(&d, NULL, 0);
        return;
    }
    require(vy_module_ok(g) && vy_module_check(g), "gradient of %s is unsound: %s", o.program,
            vy_module_diag(g)->text);
    require_round_trip(g, "gradient");
    vy_opt_options level = {.level = (int)(choice >> 9 & 3)};
    require(vy_optimize(g, &level) && vy_module_check(g), "gradient of %s, optimised: %s",
            o.program, vy_module_diag(g)->text);
    require_round_trip(g, "optimised gradient");
    exercise_compile(vy_module_program(g, 0), choice >> 3);
    vy_module_free(g);
}

// Is what the check finds in the optimised program a race of the program itself?  Only without its
// loops can the check prove it, where a shader stores in a loop.
static bool is_own_race(const vy_module *m, const vy_diag *d)
{
    bool races = false;
    for (uint32_t i = 0; i < vy_module_program_count(m); i++) races |= exercise_races(m, i);
    return races && strcmp(d->code, "E0313") == 0;
}

void exercise(const vy_module *m, uint32_t choice)
{
    uint32_t total = 0, n = vy_module_program_count(m);
    require_round_trip(m, "program");
    for (uint32_t i = 0; i < n; i++) total += vy_program_instruction_count(vy_module_program(m, i));
    if (total > MOST_INSTRUCTIONS || n > 8) return;
    for (uint32_t i = 0; i < n; i++) {
        const vy_program *p = vy_module_program(m, i);
        exercise_eval(m, i, (int)(choice >> 11 & 3));
        exercise_grad(m, p, choice);
        exercise_compile(p, choice);
    }
    vy_module *copy = reparsed(m, "program");
    vy_opt_options o = {.level = (int)(choice >> 13 & 3),
                        .fast_math = choice >> 15 & 1,
                        .unchecked = choice >> 16 & 1,
                        .chunk = choice >> 17 & 1 ? 8 : 0,
                        .coarsen = choice >> 18 & 1 ? 16 : 0,
                        .adjacent = choice >> 19 & 1,
                        .uniform_starts = choice >> 23 & 1};
    if (choice >> 20 & 1) tell_few_elements(&o);
    if (choice >> 20 & 2) tell_long_rows(&o);
    if (choice >> 22 & 1) tell_lanes(&o, 8);
    const bool sound = vy_optimize(copy, &o) && vy_module_check(copy);
    require(sound || is_own_race(m, vy_module_diag(copy)), "-O%d: %s", o.level,
            vy_module_diag(copy)->text);
    if (sound) require_round_trip(copy, "optimised program");
    for (uint32_t i = 0; i < n && sound; i++)
        exercise_compile(vy_module_program(copy, i), choice >> 5);
    vy_module_free(copy);
}
