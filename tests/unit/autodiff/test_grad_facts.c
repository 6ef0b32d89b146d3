// SPDX-License-Identifier: MIT
// test_grad_facts.c: the analyses of autodiff/facts/ on programs that are not differentiated:
// activity, masks, owners of elements.  The expected results were found by hand.
#include "autodiff/facts/facts.h"
#include "tests/unit/eval_util.h"

#include <string.h>

typedef struct analysed {
    vy_module *m;
    grad_facts f;
} analysed;

// Parses the program; no request has been made yet.
static void parse(analysed *a, const char *text)
{
    *a = (analysed){.m = vy_parse(text, strlen(text), "facts")};
    assert_non_null(a->m);
    if (!vy_module_ok(a->m)) fail_msg("%s\n%s", vy_module_diag(a->m)->text, text);
    assert_true(vy_grad_facts_make(&a->f, vy_module_program(a->m, 0)));
}

static void leave(analysed *a)
{
    vy_grad_facts_free(&a->f);
    vy_module_free(a->m);
}

static buffer_facts *buffer(analysed *a, const char *name)
{
    uint32_t id = vy_program_find_buffer(a->f.p, name).id;
    assert_int_not_equal(id, 0);
    return &a->f.buffers[id];
}

// The derivative of `of` with respect to `wrt`: its activity, and what follows from that.
static void analyse(analysed *a, const char *of, const char *wrt)
{
    buffer(a, of)->of = true;
    buffer(a, wrt)->wrt = true;
    assert_true(vy_activity(&a->f));
    vy_find_phased(&a->f);
    assert_true(vy_additions(&a->f) && vy_masks(&a->f));
    vy_buffer_uses(&a->f);
    assert_true(vy_together(&a->f) && vy_own(&a->f) && vy_exclusive(&a->f));
}

// The n-th instruction of that kind, from 1.
static uint32_t nth(const analysed *a, vy_op op, uint32_t n)
{
    for (uint32_t id = 1; id < a->f.p->insts.count; id++)
        if (a->f.p->insts.data[id].op == op && !--n) return id;
    fail_msg("there is no such instruction");
    return 0;
}

// The n-th access of that kind to the buffer, from 1.
static uint32_t access_of(analysed *a, vy_op op, const char *name, uint32_t n)
{
    uint32_t wanted = vy_program_find_buffer(a->f.p, name).id;
    for (uint32_t id = 1; id < a->f.p->insts.count; id++) {
        const vy_inst *i = &a->f.p->insts.data[id];
        if (i->op == op && i->aux == wanted && !--n) return id;
    }
    fail_msg("there is no such access to %s", name);
    return 0;
}

// ---------------------------------------------------------------------------------------- activity
static const char *const two_outputs =
    "program f(x: in f32[N], w: in f32[N], y: out f32[N], z: out f32[N], N: u32) over(i: N) {"
    " y[i] = x[i] * w[i]; z[i] = sin(w[i]); }";

static void activity_of_y(void **state)
{
    (void)state;
    analysed a;
    parse(&a, two_outputs);
    analyse(&a, "y", "x");
    assert_true(vy_is_active(&a.f, nth(&a, VY_OP_MUL, 1)));
    assert_true(vy_is_active(&a.f, access_of(&a, VY_OP_LOAD, "x", 1)));
    assert_int_equal(a.f.activity[access_of(&a, VY_OP_LOAD, "w", 1)], USEFUL);
    assert_int_equal(a.f.activity[nth(&a, VY_OP_SIN, 1)], 0);
    assert_int_equal(buffer(&a, "x")->activity, ACTIVE);
    assert_int_equal(buffer(&a, "y")->activity, ACTIVE);
    assert_int_equal(buffer(&a, "w")->activity, USEFUL);
    assert_int_equal(buffer(&a, "z")->activity, 0);
    leave(&a);
}

// Another request, the same program.
static void activity_of_z(void **state)
{
    (void)state;
    analysed a;
    parse(&a, two_outputs);
    analyse(&a, "z", "w");
    assert_true(vy_is_active(&a.f, nth(&a, VY_OP_SIN, 1)));
    assert_int_equal(a.f.activity[nth(&a, VY_OP_MUL, 1)], VARIED);
    assert_int_equal(buffer(&a, "w")->activity, ACTIVE);
    assert_int_equal(buffer(&a, "x")->activity, 0);
    assert_int_equal(buffer(&a, "y")->activity, VARIED);
    leave(&a);
}

// ------------------------------------------------------------------------------------------- masks
static void masks(void **state)
{
    (void)state;
    analysed a;
    parse(&a, "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) {"
              " let v = x[i]; let r = sqrt(v); let s = exp(v); y[i] = select(v > 0, r, 1) + s; }");
    analyse(&a, "y", "x");
    assert_true(a.f.maskable[nth(&a, VY_OP_SQRT, 1)]); // used by one arm of the select only
    assert_false(a.f.maskable[nth(&a, VY_OP_EXP, 1)]);
    assert_false(a.f.maskable[nth(&a, VY_OP_SELECT, 1)]);
    assert_false(a.f.maskable[nth(&a, VY_OP_LOAD, 1)]); // the exponential uses it unconditionally
    assert_true(a.f.needed[nth(&a, VY_OP_SQRT, 1)]);
    leave(&a);
}

static void busy(void **state)
{
    (void)state;
    analysed a;
    parse(&a, "program f(x: in f32[N], y: out f32[N], c: out u32[N], N: u32) over(i: N) {"
              " if i < 3 { c[i] = 1; } if i < 5 { y[i] = x[i]; } }");
    analyse(&a, "y", "x");
    assert_false(a.f.busy[nth(&a, VY_OP_IF, 1)]);
    assert_true(a.f.busy[nth(&a, VY_OP_IF, 2)]);
    leave(&a);
}

// ------------------------------------------------------------------------------------------ owners
static bool exclusive(const char *text)
{
    analysed a;
    parse(&a, text);
    analyse(&a, "y", "x");
    bool is = buffer(&a, "x")->exclusive;
    leave(&a);
    return is;
}

#define OVER_I(body)                                                                               \
    "program f(x: in f32[N], p: in u32[N], y: out f32[N], N: u32) over(i: N) { " body " }"

static void race_free_owners(void **state)
{
    (void)state;
    assert_true(exclusive(OVER_I("y[p[i]] = x[p[i]];"))); // p is injective, else y races
    assert_false(exclusive(OVER_I("y[i] = x[p[i]];")));
    assert_true(exclusive(OVER_I("y[i] = x[2 * i] + x[2 * i + 1];"))); // by the index maps
    assert_false(exclusive(OVER_I("y[i] = x[i] + x[i + 1];")));
}

static void phase_owners(void **state)
{
    (void)state;
    analysed a;
    parse(&a, "program f(x: in f32[64], y: out f32[64]) workgroup(64) {"
              " shared s: f32[64]; s[lindex] = x[gid.x]; barrier();"
              " let own = s[63 - lindex]; barrier(); let any = s[u32(x[gid.x])];"
              " y[gid.x] = own * any; }");
    analyse(&a, "y", "x");
    assert_true(a.f.phased);
    assert_true(a.f.own[access_of(&a, VY_OP_LOAD, "s", 1)]); // one element per invocation
    assert_false(a.f.own[access_of(&a, VY_OP_LOAD, "s", 2)]);
    leave(&a);
}

// ------------------------------------------------------------------------------ additions and uses
static void additions(void **state)
{
    (void)state;
    analysed a;
    parse(&a, "program f(x: in f32[N], y: inout f32[N], z: inout f32[N], N: u32) over(i: N) {"
              " y[i] += x[i]; z[i] *= x[i]; }");
    analyse(&a, "y", "x");
    assert_true(a.f.adds[access_of(&a, VY_OP_LOAD, "y", 1)]);
    assert_true(a.f.adds[access_of(&a, VY_OP_STORE, "y", 1)]);
    assert_false(a.f.adds[access_of(&a, VY_OP_STORE, "z", 1)]);
    assert_true(buffer(&a, "y")->loaded);
    assert_false(buffer(&a, "y")->read); // the load only forwards
    assert_true(buffer(&a, "z")->read);
    assert_int_equal(buffer(&a, "x")->last_write, 0);
    assert_int_equal(buffer(&a, "x")->sites, 1);
    leave(&a);
}

// A condition around a barrier may not be read from a tape.
static void together(void **state)
{
    (void)state;
    analysed a;
    parse(&a, "program f(x: in f32[N], y: out f32[N], N: u32, T: u32) workgroup(64) {"
              " let t = T * 2; let u = T * 3; for k in 0..t { barrier(); }"
              " var v = x[gid.x]; for k in 0..u { v *= v; } y[gid.x] = v; }");
    analyse(&a, "y", "x");
    assert_true(a.f.together[nth(&a, VY_OP_MUL, 1)]);
    assert_false(a.f.together[nth(&a, VY_OP_MUL, 2)]);
    leave(&a);
}

// Values that the forward run needs, without any request.
static void valued(void **state)
{
    (void)state;
    analysed a;
    vy_arena arena = {0};
    parse(&a, "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) {"
              " let dead = sin(x[i]); y[i] = cos(x[i]); }");
    uint8_t *live = vy_arena_alloc(&arena, a.f.p->insts.count);
    uint8_t *arrays = vy_arena_alloc(&arena, a.f.p->buffers.count);
    assert_true(live && arrays && vy_forward_live(&a.f, &arena, live, arrays));
    assert_true(live[nth(&a, VY_OP_COS, 1)]);
    assert_false(live[nth(&a, VY_OP_SIN, 1)]);
    vy_arena_free(&arena);
    leave(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activity_of_y),
        cmocka_unit_test(activity_of_z),
        cmocka_unit_test(masks),
        cmocka_unit_test(busy),
        cmocka_unit_test(race_free_owners),
        cmocka_unit_test(phase_owners),
        cmocka_unit_test(additions),
        cmocka_unit_test(together),
        cmocka_unit_test(valued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
