// SPDX-License-Identifier: MIT
// test_transform.c: derivatives in the module of their source: vy_transform, vy_module_extract.
#include "tests/unit/autodiff/transform_util.h"

#define PIPE "pipeline q(x: in f32[N], y: out f32[N], N: u32) { g(x, y); } "

// -------------------------------------------------------------------------------------- the module
static void neighbours_stay(void **state)
{
    (void)state;
    vy_module *m = parse(F G COUNTED MATMUL);
    char *before = vy_print(m, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        const vy_derived *g = transform(m, (vy_ref){.index = i}, NULL);
        assert_int_equal(g->source.index, i);
        assert_int_equal(g->order, 1);
        assert_ptr_equal(vy_module_derived(m, i), g);
        begins_with(m, before);
    }
    assert_null(vy_module_derived(m, 4));
    assert_int_equal(vy_program_order(vy_module_program(m, 0)), 0);
    assert_int_equal(vy_module_order(m), 1);
    assert_string_equal(name_of(m, vy_module_derived(m, 2)->result), "c_grad");
    assert_true(vy_module_derived(m, 2)->result.pipeline);
    vy_free(before);
    vy_module_free(m);
}

// A module with derivatives of several orders prints, and reads back as it was.
static void text_and_binary(void **state)
{
    (void)state;
    vy_module *m = parse(F G COUNTED PIPE);
    transform(m, (vy_ref){.index = 2}, NULL);
    const vy_derived *g = transform(m, (vy_ref){.index = 0}, &(vy_grad_options){.again = true});
    transform(m, g->result, &(vy_grad_options){.of = (const char *[]){"grad_x"}, .of_count = 1});
    size_t size;
    char *text = vy_print(m, &size);
    assert_non_null(strstr(text, "@order(2)"));
    vy_module *again = vy_parse(text, size, "t.vyre");
    assert_non_null(again);
    if (!vy_module_ok(again)) fail_msg("%s\n%s", vy_module_diag(again)->text, text);
    prints_alike(m, again);
    for (uint32_t i = 0; i < vy_module_program_count(m); i++)
        assert_int_equal(vy_program_order(vy_module_program(m, i)),
                         vy_program_order(vy_module_program(again, i)));
    vy_module_free(again);
    void *data = vy_binary_write(m, &size);
    again = vy_binary_read(data, size);
    assert_non_null(again);
    assert_true(vy_module_ok(again));
    prints_alike(m, again);
    vy_free(data);
    vy_free(text);
    vy_module_free(again);
    vy_module_free(m);
}

static void failure_rolls_back(void **state)
{
    (void)state;
    const char *const nope[] = {"nope"};
    vy_module *m = parse(F G "program bad(x: in f32[N], y: out f32[N], N: u32) over(i: N) "
                             "{ let o = atomic_exchange(y[0], x[i]); y[i] = o; } "
                             "pipeline q(x: in f32[N], y: out f32[N], N: u32) { bad(x, y); } ");
    refused(m, (vy_ref){.index = 2}, NULL, "E0502");
    refused(m, (vy_ref){.index = 0}, &(vy_grad_options){.wrt = nope, .wrt_count = 1}, "E0501");
    refused(m, (vy_ref){.pipeline = true}, NULL, "E0502"); // what it dispatches has none
    refused(m, (vy_ref){.index = 9}, NULL, "E0003");
    refused(m, (vy_ref){.index = 9, .pipeline = true}, NULL, "E0003");
    assert_int_equal(vy_module_program_count(m), 3);
    assert_null(vy_module_derived(m, 0));
    transform(m, (vy_ref){.index = 0}, NULL); // the module is still usable
    vy_module *out;
    vy_diag d;
    assert_false(vy_module_extract(m, (vy_ref){.index = 99}, &out, &d));
    assert_null(out);
    assert_string_equal(d.code, "E0003");
    vy_module_free(m);
    m = parse(F);
    vy_fail(m, VY_E_API, 0, 0, NULL, "broken");
    assert_null(vy_transform(m, (vy_ref){0}, NULL, &d));
    assert_string_equal(d.text, "broken");
    vy_module_free(m);
}

// ------------------------------------------------------------------------------------------- cache
static void equal_requests(void **state)
{
    (void)state;
    vy_module *m = parse(F G);
    const vy_derived *g = transform(m, (vy_ref){0}, NULL);
    const char *const y[] = {"y"}, *const xw[] = {"x", "w"}, *const wx[] = {"w", "x", "w"};
    const uint32_t programs = vy_module_program_count(m);
    // The defaults, spelled out, in any order.
    const vy_grad_options same[] = {{0},
                                    {.of = y, .of_count = 1},
                                    {.wrt = xw, .wrt_count = 2},
                                    {.wrt = wx, .wrt_count = 3}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_ptr_equal(transform(m, (vy_ref){0}, &same[i]), g);
    assert_int_equal(vy_module_program_count(m), programs);
    // An unknown name is refused, also beside names whose request is in the cache.
    const char *const unknown[] = {"x", "w", "nope"};
    refused(m, (vy_ref){0}, &(vy_grad_options){.wrt = unknown, .wrt_count = 3}, "E0501");
    refused(m, (vy_ref){0}, &(vy_grad_options){.add = unknown + 2, .add_count = 1}, "E0501");
    // Each of these requests something else.
    const char *const x[] = {"x"}, *const a[] = {"a"};
    const vy_grad_options other[] = {{.wrt = x, .wrt_count = 1},
                                     {.wrt = a, .wrt_count = 1},
                                     {.seed_buffer = true},
                                     {.with_value = true},
                                     {.deterministic = true},
                                     {.frugal = true},
                                     {.checkpoint = 1},
                                     {.again = true},
                                     {.lean_sums = true},
                                     {.accumulate = VY_ACCUMULATE_ATOMIC},
                                     {.apart = true},
                                     {.revolve = 3}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const vy_derived *o = transform(m, (vy_ref){0}, &other[i]);
        assert_ptr_equal(vy_module_derived(m, (uint32_t)i + 1), o);
        assert_ptr_equal(transform(m, (vy_ref){0}, &other[i]), o);
    }
    assert_ptr_not_equal(transform(m, (vy_ref){.index = 1}, NULL), g); // another source
    vy_module_free(m);
}

static void names(void **state)
{
    (void)state;
    vy_module *m = parse(F "program f_grad_wrt_x(y: out f32[1]) over(i: 1) { y[i] = 1; }" MATMUL);
    const char *const x[] = {"x"}, *const a[] = {"w", "a"};
    const char *const c[] = {"c"}, *const just_a[] = {"a"};
    static const struct {
        const char *name;
        uint32_t index;
        bool seed;
    } want[] = {{"f_grad", 0, false}, {"f_grad2", 0, true}};
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(name_of(m, transform(m, (vy_ref){0},
                                                 &(vy_grad_options){.seed_buffer = want[i].seed})
                                           ->result),
                            want[i].name);
    const vy_derived *g = transform(m, (vy_ref){0}, &(vy_grad_options){.wrt = x, .wrt_count = 1});
    assert_string_equal(name_of(m, g->result), "f_grad_wrt_x2"); // a user's program has that name
    g = transform(m, (vy_ref){0}, &(vy_grad_options){.wrt = a, .wrt_count = 2});
    assert_string_equal(name_of(m, g->result), "f_grad_wrt_w_a");
    // Stages have the same names as in a module of their own, numbered where those are taken.
    g = transform(m, (vy_ref){.index = 2}, NULL);
    assert_string_equal(name_of(m, g->result), "m_grad");
    assert_non_null(vy_module_find(m, "m_gather_a"));
    g = transform(m, (vy_ref){.index = 2},
                  &(vy_grad_options){.wrt = just_a, .wrt_count = 1, .of = c, .of_count = 1});
    assert_string_equal(name_of(m, g->result), "m_grad_wrt_a");
    assert_non_null(vy_module_find(m, "m_gather_a2"));
    vy_module_free(m);
    // A long list becomes a number.
    m = parse("program f(an_input_with_a_name_of_fifty_characters_or_so_one: in f32[4], "
              "an_input_with_a_name_of_fifty_characters_or_so_two: in f32[4], z: in f32[4], "
              "y: out f32[4]) over(i: 4) { y[i] = z[i] * "
              "an_input_with_a_name_of_fifty_characters_or_so_one[i] * "
              "an_input_with_a_name_of_fifty_characters_or_so_two[i]; }");
    const char *const longs[] = {"an_input_with_a_name_of_fifty_characters_or_so_one",
                                 "an_input_with_a_name_of_fifty_characters_or_so_two"};
    g = transform(m, (vy_ref){0}, &(vy_grad_options){.wrt = longs, .wrt_count = 2});
    assert_int_equal(strlen(name_of(m, g->result)), strlen("f_grad_0123456789"));
    vy_module_free(m);
}

// ------------------------------------------------------------------------------------------- roles
typedef struct row {
    vy_derivative_kind kind;
    vy_derivative_mode mode;
    const char *of;
    uint32_t parameter;
    const char *root;
    uint32_t root_parameter;
} row;

static void has_rows(const vy_derived *g, const row *want, uint32_t n)
{
    assert_int_equal(g->role_count, n + 1);
    assert_int_equal(g->roles[0].kind, VY_IS_PARAMETER);
    for (uint32_t i = 0; i < n; i++) {
        const vy_derivative_role *r = &g->roles[i + 1];
        assert_int_equal(r->kind, want[i].kind);
        assert_int_equal(r->mode, want[i].mode);
        assert_string_equal(r->of, want[i].of);
        assert_int_equal(r->parameter, want[i].parameter);
        assert_string_equal(r->root, want[i].root);
        assert_int_equal(r->root_parameter, want[i].root_parameter);
    }
}

// Roles follow parameters, not names: two parameters have names that look like a derivative's.
static void roles_by_parameter(void **state)
{
    (void)state;
    vy_module *m = parse("program f(grad_y: in f32[N], m: inout f32[N], y: out f32[N], ct_m: f32, "
                         "N: u32) over(i: N) { y[i] = ct_m * grad_y[i] * m[i]; "
                         "m[i] = grad_y[i] * grad_y[i]; }");
    const char *const wrt[] = {"ct_m", "m", "grad_y"};
    const vy_derived *g = transform(
        m, (vy_ref){0},
        &(vy_grad_options){.wrt = wrt, .wrt_count = 3, .seed_buffer = true, .with_value = true});
    assert_int_equal(g->order, 2); // at this order no name is taken
    static const row want[] = {
        {VY_IS_PRIMAL, VY_READS, "grad_y", 1, "grad_y", 1},
        {VY_IS_PRIMAL, VY_IN_PLACE, "m", 2, "m", 2},
        {VY_IS_COTANGENT, VY_READS, "m", 2, "m", 2},
        {VY_IS_COTANGENT, VY_READS, "y", 3, "y", 3},
        {VY_IS_VALUE, VY_OVERWRITES, "y", 3, "y", 3},
        {VY_IS_GRADIENT, VY_OVERWRITES, "grad_y", 1, "grad_y", 1},
        {VY_IS_GRADIENT, VY_OVERWRITES, "m", 2, "m", 2},
        {VY_IS_SCALAR_GRADIENT, VY_OVERWRITES, "ct_m", 0, "ct_m", 0},
    };
    has_rows(g, want, 8);
    vy_module_free(m);
}

// Order 2 in place: roles name the first derivative and, as roots, the program itself; the code
// equals vy_grad applied twice.
static void second_order(void **state)
{
    (void)state;
    vy_module *m = parse(G F);
    const char *const x[] = {"x"}, *const dx[] = {"grad_x"};
    const vy_grad_options first = {.wrt = x,
                                   .wrt_count = 1,
                                   .again = true,
                                   .accumulate = VY_ACCUMULATE_ATOMIC};
    const vy_grad_options second = {.of = dx, .of_count = 1, .seed_buffer = true};
    const vy_derived *g = transform(m, (vy_ref){.index = 1}, &first);
    const vy_derived *h = transform(m, g->result, &second);
    assert_int_equal(h->order, 2);
    assert_int_equal(h->source.index, g->result.index);
    static const row want[] = {
        {VY_IS_PRIMAL, VY_READS, "x", 1, "x", 1},
        {VY_IS_PRIMAL, VY_READS, "w", 2, "w", 2},
        {VY_IS_COTANGENT, VY_READS, "grad_x", 3, "x", 1},
        {VY_IS_GRADIENT, VY_OVERWRITES, "x", 1, "x", 1},
        {VY_IS_GRADIENT, VY_OVERWRITES, "w", 2, "w", 2},
    };
    has_rows(h, want, 5);
    // The same with a module for each order.
    vy_diag d;
    vy_grad_options named = first;
    named.program = "f";
    vy_module *one = vy_grad(m, &named, &d), *two = one ? vy_grad(one, &second, &d) : NULL, *out;
    assert_non_null(two);
    assert_true(vy_module_extract(m, h->result, &out, &d));
    vy_module_program(two, 0)->name = vy_module_program(out, 0)->name; // …_wrt_x_grad_of_…
    prints_alike(out, two);
    vy_module_free(out);
    vy_module_free(two);
    vy_module_free(one);
    vy_module_free(m);
}

// -------------------------------------------------------------------------------------- extraction
// What a pipeline is differentiated as comes with it, and what that dispatches.
static void extracts_derived_as(void **state)
{
    (void)state;
    vy_module *m = parse(F G "pipeline p(x: in f32[N], y: out f32[N], N: u32) { g(x, y); } "
                             "@derive_as(p) pipeline q(x: in f32[N], y: out f32[N], N: u32) "
                             "{ g(x, y); g(x, y); }"),
              *out;
    vy_diag d;
    assert_true(vy_module_extract(m, (vy_ref){1, true}, &out, &d));
    assert_true(vy_module_check(out));
    assert_int_equal(vy_module_pipeline_count(out), 2);
    assert_string_equal(vy_pipeline_name(vy_module_pipeline(out, 1)), "q");
    vy_module_free(out);
    vy_module_free(m);
}

// As a text, which does not say what made a buffer.
static void refuses_text(const vy_module *g)
{
    vy_diag d;
    char *text = vy_print(g, NULL);
    vy_module *read = parse(text);
    const uint32_t last = vy_module_pipeline_count(read) - 1;
    const vy_grad_options o = {.program = vy_pipeline_name(vy_module_pipeline(read, last))};
    assert_null(vy_grad(read, &o, &d));
    assert_true(vy_diag_is(&d, VY_E_NOT_DIFFERENTIABLE) && d.line && d.column);
    vy_module_free(read);
    free(text);
}

// Sums of integers have the derivative 0, silently; so what has them is refused, unless it says what
// is differentiated in its place.
static void refuses_exact_sums(void **state)
{
    (void)state;
    vy_module *m =
        parse("program s(x: in f32[M], p: in u32[N], y: out f32[N], N: u32, M: u32) over(i: N) {"
              " y[i] = x[p[i]] * x[p[i]]; }");
    for (int plain = 0; plain < 2; plain++)
        for (int forward = 0; forward < 2; forward++) {
            vy_diag d;
            vy_module *g =
                vy_grad(m, &(vy_grad_options){.deterministic = true, .plain_too = plain}, &d);
            assert_non_null(g);
            const uint32_t last = vy_module_pipeline_count(g) - 1;
            const vy_grad_options o = {.program = vy_pipeline_name(vy_module_pipeline(g, last))};
            vy_module *again = forward ? vy_jvp(g, &o, &d) : vy_grad(g, &o, &d);
            assert_int_equal(again != NULL, plain);
            assert_true(plain || vy_diag_is(&d, VY_E_NOT_DIFFERENTIABLE));
            vy_module_free(again);
            if (!plain) refuses_text(g);
            if (!plain)
                assert_null(vy_transform(g, (vy_ref){last, true}, &(vy_grad_options){0}, &d));
            vy_module_free(g);
        }
    vy_module_free(m);
}

// An extracted derivative is byte for byte what vy_grad returns, whatever else the module holds.
static void extracts_vy_grad(void **state)
{
    (void)state;
    static const vy_grad_options ways[] = {
        {0},
        {.seed_buffer = true},
        {.with_value = true, .checkpoint = 1},
        {.accumulate = VY_ACCUMULATE_ATOMIC},
        {.deterministic = true},
    };
    static const char *const of[] = {"f", "g", "c", "m"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (uint32_t i = 0; i < 4; i++) {
            vy_module *m = parse(F G COUNTED MATMUL), *out;
            vy_diag d;
            transform(m, (vy_ref){.index = (i + 1) % 4}, &ways[w]); // another program's derivative
            const vy_derived *g = transform(m, (vy_ref){.index = i}, &ways[w]);
            vy_grad_options o = ways[w];
            o.program = of[i];
            vy_module *alone = vy_grad(m, &o, &d);
            assert_non_null(alone);
            assert_true(vy_module_extract(m, g->result, &out, &d));
            prints_alike(out, alone);
            size_t size, size2;
            void *x = vy_binary_write(out, &size), *y = vy_binary_write(alone, &size2);
            assert_int_equal(size, size2);
            assert_memory_equal(x, y, size);
            const vy_program *p = parameters(out, (vy_ref){0, g->result.pipeline});
            for (uint32_t b = 1; b < g->role_count; b++) // roles are preserved
                assert_int_equal(vy_program_buffer(p, (vy_buffer){b}).role.kind, g->roles[b].kind);
            vy_free(x);
            vy_free(y);
            vy_module_free(out);
            vy_module_free(alone);
            vy_module_free(m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_stay),
        cmocka_unit_test(text_and_binary),
        cmocka_unit_test(failure_rolls_back),
        cmocka_unit_test(equal_requests),
        cmocka_unit_test(names),
        cmocka_unit_test(roles_by_parameter),
        cmocka_unit_test(second_order),
        cmocka_unit_test(refuses_exact_sums),
        cmocka_unit_test(extracts_vy_grad),
        cmocka_unit_test(extracts_derived_as),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
