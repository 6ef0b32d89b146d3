// SPDX-License-Identifier: MIT
// test_trip_bound.c: the trip bounds of autodiff/facts/trip_bound.c against how often the
// interpreter runs the loops.
//
// With a bound that is a little too small a tape is written past its end, so the parameters include
// the extremes of their types.
#include "autodiff/facts/trip_bound.h"
#include "tests/unit/eval_util.h"
#include "ir/build/edit.h"

#include <stdio.h>

enum { U32 = 1, I32 = 2, U64 = 4, I64 = 8, UNSIGNED = U32 | U64, ALL = 15 };
enum { CAP = 300 }; // no loop runs longer, and all bounds above are equally good

typedef struct form {
    const char *head; // of a loop over integers T; a, b, s are parameters
    uint32_t bounded; // bit t: whether it has a bound in types[t]
} form;

static const form forms[] = {
    {"for k in 0..a", ALL},
    {"for k in a..b", ALL},
    {"for k in rev(a..b)", ALL},
    {"for k in a..b step s", ALL},
    {"for k in rev(a..b) step s", ALL},
    {"for k in 0..b step s", ALL},
    {"for k in 0..b step 3", ALL},
    {"for k in a..b step 7", ALL},
    {"for k in 5..min(a, 2)", ALL},
    {"for k in 3..10 step 4", ALL},
    {"for k in 0..min(a, b)", ALL},
    {"for k in 0..max(a, b)", ALL},
    {"for k in 0..min(a, T(len(x)))", ALL},
    {"for k in 0..(a > b ? a : 7)", ALL},
    {"for k in 0..(a < b ? 3 : b)", ALL},
    {"for k in 0..a / 3", ALL},
    {"for k in 2..a / 3", ALL},
    {"for k in 0..max(a, 3) / 2", ALL},
    {"for k in 0..T(len(x))", ALL},
    {"for k in 1..T(i) + 4", ALL},
    {"for k in 0..min(a, 9) + min(b, 9)", ALL & ~I32},
    {"for k in 0..u32(a)", UNSIGNED},
    {"for k in 0..i32(a)", ALL & ~I64},
    {"for k in 0..u64(a)", UNSIGNED},
    {"for k in 0..i64(a)", ALL},
    {"for k in 0..a - 1", ALL & ~U64},
    {"for k in 0..a - b", U32 | I32},
    {"for k in 0..a + 2", ALL},
    {"for k in 0..a + b", ALL},
    {"for k in 1..a + 1 step 2", ALL},
    {"for k in 0..a - 1 step s", ALL & ~U64},
    {"for k in 0..((max(a, 0) + max(b, 0)) / 2 - T(2147483647)) / T(4194304)", I64},
    {"for k in 0..min(max(a, 0) + max(b, 0), 5) - T(2147483647)", I64},
    {"for k in 0..max(a, 0) + max(b, 0) - 3", I32 | I64},
    {"for k in 0..(T(i) + T(len(x))) / 2 - 3", I32 | I64},
    // a lower bound far down the expression
    {"for k in 0..min(max(max(max(max(max(max(a,2)/3,1)/2,1)/3,1)/2,1)/3,1)/2,9) - 3", I32 | I64},
    {"for k in 0..a * b", UNSIGNED},
    {"for k in 0..a % b", UNSIGNED},
    {"for k in 0..a / b", UNSIGNED},
    {"for k in 0..(a & 15)", UNSIGNED},
    {"for k in 0..(a >> 2)", UNSIGNED},
    {"for k in 0..T(x[0])", 0},
    {"for k in T(x[0])..T(x[1])", 0},
};

static const vy_type types[] = {VY_U32, VY_I32, VY_U64, VY_I64};

static const int64_t small[] = {0, 1, 2, 3, 7, 10, 100, -1, -2, -7};
static const int64_t ends_u32[] = {UINT32_MAX, UINT32_MAX - 1, INT32_MAX, 1ll << 31};
static const int64_t ends_i32[] = {INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1};
static const int64_t ends_u64[] = {INT64_MAX, INT64_MAX - 5, 1ll << 32, (1ll << 32) + 5};
static const int64_t ends_i64[] = {INT64_MIN, INT64_MAX, -(1ll << 32) + 5, (1ll << 32) + 5,
                                   INT64_MIN + 1};

// The values to try for a parameter of type t.
static uint32_t values_of(uint32_t t, int64_t v[16])
{
    static const int64_t *const ends[] = {ends_u32, ends_i32, ends_u64, ends_i64};
    static const uint32_t counts[] = {COUNT(ends_u32), COUNT(ends_i32), COUNT(ends_u64),
                                      COUNT(ends_i64)};
    uint32_t n = 0;
    for (uint32_t k = 0; k < COUNT(small); k++)
        if (small[k] >= 0 || t % 2) v[n++] = small[k];
    for (uint32_t k = 0; k < counts[t]; k++) v[n++] = ends[t][k];
    return n;
}

typedef struct subject {
    vy_module *m;
    const vy_program *p;
    vy_builder *b; // owns the bound
    vy_dim bound;  // may be none
    const form *form;
    vy_type type;
} subject;

// `T` in a form stands for the type.
static void put_head(const char *head, const char *type, char *out, size_t size)
{
    size_t n = 0;
    for (; *head && n + 8 < size; head++) {
        if (*head == 'T')
            n += (size_t)snprintf(out + n, size - n, "%s", type);
        else
            out[n++] = *head;
    }
    out[n] = 0;
}

static void make(subject *s, const form *f, uint32_t t)
{
    char text[600], head[200];
    const char *type = vy_type_name(types[t]);
    put_head(f->head, type, head, sizeof head);
    snprintf(text, sizeof text,
             "program f(x: in f32[?], n: out u32[1], a: %s, b: %s, s: %s) over(i: 1)\n"
             "{\n    var c = 0u;\n    %s { c += 1; if c >= %d { break; } }\n    n[i] = c;\n}\n",
             type, type, type, head, CAP);
    s->form = f;
    s->type = types[t];
    s->m = vy_parse(text, strlen(text), "bound");
    assert_non_null(s->m);
    if (!vy_module_ok(s->m)) fail_msg("%s\n%s", vy_module_diag(s->m)->text, text);
    s->p = vy_module_program(s->m, 0);
    s->b = vy_rebuild_begin(s->p);
    assert_non_null(s->b);
    uint32_t loop = 0;
    for (uint32_t id = 1; id < s->p->insts.count; id++)
        if (s->p->insts.data[id].op == VY_OP_LOOP) loop = id;
    assert_true(loop);
    vy_structure structure;
    vy_arena arena = {0};
    vy_lows lows;
    assert_true(vy_structure_make(s->p, &structure));
    assert_true(vy_lows_make(&lows, s->p, &structure, &arena));
    const vy_bounds bounds = {.p = s->p, .lows = &lows, .b = s->b};
    s->bound = vy_trip_bound(&bounds, loop);
    vy_structure_free(&structure);
    vy_arena_free(&arena);
    assert_false(vy_builder_failed(s->b));
}

static void drop_subject(subject *s)
{
    vy_program_abandon(s->b);
    vy_module_free(s->m);
}

static uint32_t iterations(const subject *s, const int64_t v[3])
{
    static const char *const names[3] = {"a", "b", "s"};
    float x[4] = {3, 8, 0, 0};
    uint32_t n = 0;
    const uint64_t four = 4, one = 1;
    const vy_eval_buffer buffers[2] = {{"x", x, &four, 1}, {"n", &n, &one, 1}};
    vy_eval_scalar scalars[3];
    for (int k = 0; k < 3; k++) scalars[k] = (vy_eval_scalar){names[k], {.i = v[k]}};
    vy_diag d;
    if (!vy_eval(s->p, buffers, 2, scalars, 3, NULL, NULL, &d)) fail_msg("%s", d.text);
    return n;
}

static void check(const subject *s, const int64_t v[3])
{
    const vy_program *made = vy_builder_program(s->b);
    const bool known[3] = {true, true, ALL};
    int64_t lengths[8], groups[3] = {1, 1, 1}, values[64];
    vy_dim_state states[64];
    for (uint32_t k = 0; k < COUNT(lengths); k++) lengths[k] = 4;
    assert_true(made->dims.count <= COUNT(values));
    vy_program_dim_values(made, v, known, lengths, groups, values, states);
    const uint32_t n = iterations(s, v);
    const bool fine = states[s->bound.id] == VY_DIM_IS_KNOWN;
    // A bound that overflows 64 bits stops the launch with an error; realistic sizes must not.
    bool extreme = false;
    for (int k = 0; k < 3; k++) extreme |= v[k] < -100 || v[k] > 100;
    if (!fine && extreme) return;
    if (fine && values[s->bound.id] >= (int64_t)n) return;
    fail_msg("%s: %s with a = %lld, b = %lld, s = %lld runs %u times; bound %lld (%s)",
             vy_type_name(s->type), s->form->head, (long long)v[0], (long long)v[1],
             (long long)v[2], n, (long long)values[s->bound.id], fine ? "fine" : "no number");
}

static void never_too_small(void **unused)
{
    (void)unused;
    for (uint32_t t = 0; t < COUNT(types); t++)
        for (uint32_t f = 0; f < COUNT(forms); f++) {
            subject s;
            make(&s, &forms[f], t);
            int64_t list[16], v[3];
            const uint32_t n = values_of(t, list);
            const bool uses_b = strchr(forms[f].head, 'b') != NULL;
            const bool uses_s = strstr(forms[f].head, "step s") != NULL;
            for (uint32_t k = 0; s.bound.id && k < n * (uses_b ? n : 1); k++)
                for (uint32_t step = 0; step < (uses_s ? n : 1); step++) {
                    v[0] = list[k % n], v[1] = list[k / n], v[2] = uses_s ? list[step] : 1;
                    if (v[2] > 0) check(&s, v);
                }
            drop_subject(&s);
        }
}

// The usual forms of loops have a bound: their tapes need no counting program.
static void usual_forms(void **unused)
{
    (void)unused;
    for (uint32_t f = 0; f < COUNT(forms); f++)
        for (uint32_t t = 0; t < COUNT(types); t++) {
            subject s;
            make(&s, &forms[f], t);
            const bool bounded = s.bound.id != 0;
            if (bounded != (forms[f].bounded >> t & 1))
                fail_msg("%s: %s has %s bound", vy_type_name(s.type), forms[f].head,
                         bounded ? "a" : "no");
            drop_subject(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_too_small),
        cmocka_unit_test(usual_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
