// SPDX-License-Identifier: MIT
// test_pipe_cleared.c: which intermediates are cleared where they begin (ir/build/pipe_uses.c).
//
// The interpreter fills the others with nan, so that every test of a pipeline looks for what this
// table has forgotten.
#include "ir/core/pipe.h"
#include "ir/pass/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char programs[] =
    "program f(a: in f32[N], b: out f32[N], N: u32) over(i: N) { b[i] = a[i]; }\n"
    "program g(a: in f32[N], b: inout f32[N], N: u32) over(i: N) { b[i] += a[i]; }\n"
    "program own(a: in f32[N], b: inout f32[N], c: out f32[N], N: u32) over(i: N)"
    " { b[i] = a[i]; c[i] = b[i]; }\n"
    "program all(a: in f32[M, N], b: out f32[N], M: u32, N: u32) over(i: N) { b[i] = a[M - 1, i]; }\n";

static const struct {
    const char *steps;
    bool cleared; // is the buffer s?
} rows[] = {
    // as a whole
    {"buffer s: f32[N]; f(x, s); f(s, y);", false},
    {"buffer s: f32[N]; g(x, s); f(s, y);", true},
    {"buffer s: f32[N]; repeat t in 0..T { f(x, s); } f(s, y);", true},
    // each slice by itself
    {"buffer s: f32[2, N]; f(x, s[0]); f(x, s[1]); f(s[1], y);", false},
    {"buffer s: f32[2, N]; f(x, s[1]); f(x, s[0]); f(s[1], y);", true},
    {"buffer s: f32[2, N]; f(x, s[0]); f(s[1], y);", true},
    {"buffer s: f32[3, N]; f(x, s[0]); f(x, s[1]); f(s[1], y);", true},
    // turn by turn
    {"buffer s: f32[T, N]; repeat t in 0..T { f(x, s[t]); } f(s[T - 1], y);", false},
    {"buffer s: f32[T, N]; repeat t in 0..T { f(x, s[t]); f(s[t], y); } all(s, y);", false},
    {"buffer s: f32[T, N]; repeat t in 0..T { f(s[t], y); f(x, s[t]); }", true},
    {"buffer s: f32[T, N]; repeat t in 1..T { f(x, s[t]); }", true},
    {"buffer s: f32[T, N]; repeat t in 0..T { g(x, s[t]); }", true},
    {"buffer s: f32[T, N]; repeat t in 0..T { if T > 3 { f(x, s[t]); } }", true},
    {"buffer s: f32[T, N]; repeat t in 0..T { repeat k in 0..T { f(x, s[t]); } }", true},
    {"buffer s: f32[T + 1, N]; repeat t in 0..T { f(x, s[t]); }", true},
    {"buffer s: f32[T + 1, N]; repeat t in 0..T { f(x, s[t]); } f(x, s[T]);", true},
    {"buffer s: f32[T, N]; all(s, y); repeat t in 0..T { f(x, s[t]); }", true},
    {"buffer s: f32[T, N]; while T < 1 { f(x, s[0]); }", true},
    // from the slices before
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 0..T { f(s[t], s[t + 1]); } f(s[T], y);",
     false},
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 0..T { g(s[t], s[t + 1]); }", true},
    {"buffer s: f32[T + 1, N]; repeat t in 0..T { f(s[t], s[t + 1]); } f(s[T], y);", true},
    {"buffer s: f32[T + 2, N]; f(x, s[0]); f(x, s[1]); repeat t in 0..T { f(s[t], y);"
     " f(s[t + 1], s[t + 2]); f(s[t + 2], y); f(s[0], y); } f(s[T + 1], y);",
     false},
    {"buffer s: f32[T + 2, N]; f(x, s[0]); repeat t in 0..T { f(s[t], s[t + 2]); }", true},
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 0..T { f(s[t + 1], y); f(s[t], s[t + 1]); }",
     true},
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 0..T { f(s[T], y); f(s[t], s[t + 1]); }",
     true},
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 1..T { f(s[t - 1], s[t]); }", true},
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 0..T { f(s[t], y); }"
     " repeat t in 0..T { f(s[t], s[t + 1]); }",
     true},
    {"buffer s: f32[T + 1, N]; f(x, s[0]); repeat t in 0..T - 1 { f(s[t], s[t + 1]); }", true},
    // stored before it is loaded, in each dispatch that has it
    {"buffer s: f32[N]; own(x, s, y);", false},
    {"buffer s: f32[N]; own(x, s, y); own(y, s, x2);", false},
    {"buffer s: f32[N]; repeat t in 0..T { own(x, s, y); }", false},
    {"buffer s: f32[T, N]; repeat t in 0..T { own(x, s[t], y); }", false},
    {"buffer s: f32[N]; own(x, s, y); f(s, y);", true},
    {"buffer s: f32[N]; f(s, y); own(x, s, y);", true},
    {"buffer s: f32[N]; own(x, s, y); g(x, s);", true},
    {"buffer s: f32[N]; own(x, s, y); @init(s) buffer r: f32[N]; f(r, y);", true},
    // in a block of its own
    {"repeat k in 0..T { buffer s: f32[T, N]; repeat t in 0..T { f(x, s[t]); } f(s[0], y); }",
     false},
    {"checkpoint { buffer s: f32[T, N]; repeat t in 0..T { f(x, s[t]); } f(s[0], y); }", false},
    {"buffer s: f32[T, N]; checkpoint { repeat t in 0..T { f(x, s[t]); } f(s[0], y); }", true},
};

static bool is_cleared(const char *steps)
{
    char text[2000];
    vy_arena arena = {0};
    const int n =
        snprintf(text, sizeof text,
                 "%spipeline p(x: in f32[N], x2: out f32[N], y: out f32[N], T: u32, N: u32) { %s }",
                 programs, steps);
    vy_module *m = vy_parse(text, (size_t)n, "cleared");
    assert_non_null(m);
    if (!vy_module_ok(m)) fail_msg("%s: %s", steps, vy_module_diag(m)->text);
    const vy_pipeline *l = m->pipelines.data[0];
    for (uint32_t i = 0; i < m->programs.count; i++)
        assert_true(vy_pass_mark_stored(m->programs.data[i], &(vy_pass_context){0}));
    uint8_t *cleared = vy_arena_alloc(&arena, l->signature->buffers.count);
    assert_true(cleared && vy_pipe_cleared(l, &arena, cleared));
    const bool result = cleared[vy_program_find_buffer(l->signature, "s").id];
    vy_arena_free(&arena);
    vy_module_free(m);
    return result;
}

static void what_is_overwritten_first_is_not_cleared(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_cleared(rows[i].steps) != rows[i].cleared)
            fail_msg("%s: %scleared", rows[i].steps, rows[i].cleared ? "not " : "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_overwritten_first_is_not_cleared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
