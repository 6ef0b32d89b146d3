// SPDX-License-Identifier: MIT
// test_ir.c: structure tables, equality, the binary form, the checker.
#include "ir/build/edit.h"
#include "tests/unit/eval_util.h"
#include "ir/binary/binary.h"
#include "ir/check/check.h"
#include "ir/core/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// A program with every construct: y[i] = Σ x[i], some of it pointless.
static vy_program *build_rich(vy_module *m, const char *name, bool other_order)
{
    vy_builder *b = vy_program_begin(m, name);
    if (other_order) vy_float(b, VY_F32, 77); // leaves get other numbers
    vy_value n = vy_param_scalar(b, "N", VY_U32);
    vy_dim d = vy_dim_binary(b, VY_DIM_ADD, vy_dim_value(b, n), vy_dim_const(b, 1)),
           four = vy_dim_const(b, 4);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
    vy_buffer s = vy_shared_array(b, "s", VY_F32, 1, &four);
    vy_value i = vy_over(b, "i", vy_dim_value(b, n));
    vy_at(b, 3, 5);
    vy_buffer v = vy_local_array(b, "v", VY_F32, 1, &four);
    vy_var sum = vy_var_new(b, other_order ? "total" : "sum", f32(b, 0));
    store1(b, s, lid(b, 0), f32(b, NAN));
    vy_barrier(b);
    vy_for(b, "k", u32(b, 0), n);
    vy_set(b, sum, vy_add(b, vy_get(b, sum), load1(b, x, i)));
    vy_if(b, vy_lt(b, f32(b, 100), vy_get(b, sum)));
    vy_break(b);
    vy_end(b);
    vy_end(b);
    vy_checkpoint(b);
    vy_while(b);
    vy_while_test(b, vy_lt(b, vy_get(b, sum), f32(b, 1)));
    vy_set(b, sum, vy_add(b, vy_get(b, sum), vy_call(b, "exp", 1, &(vy_value){load1(b, s, i).id})));
    vy_end(b);
    vy_end(b);
    store1(b, v, u32(b, 1), vy_get(b, sum));
    store1(b, y, i, vy_mul(b, load1(b, v, i), f32(b, -0.0)));
    return vy_program_end(b);
}

static vy_module *rich(bool other_order)
{
    vy_module *m = vy_module_new();
    build_rich(m, "first", other_order);
    build_rich(m, "second", other_order);
    if (!vy_module_ok(m)) fail_msg("%s", vy_module_diag(m)->text);
    return m;
}

// ------------------------------------------------------------------------------------------- exact
static vy_module *exact_module(bool exact, bool late)
{
    vy_module *m = vy_module_new();
    vy_builder *b = vy_program_begin(m, "p");
    if (exact && !late) vy_exact(b);
    vy_value n = vy_param_scalar(b, "N", VY_U32);
    vy_dim d = vy_dim_value(b, n);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    vy_buffer y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
    vy_value i = vy_over(b, "i", d);
    store1(b, y, i, load1(b, x, i));
    if (exact && late) vy_exact(b);
    vy_program_end(b);
    return m;
}

static void test_exact(void **state)
{
    (void)state;
    vy_module *plain = exact_module(false, false), *exact = exact_module(true, false),
              *late = exact_module(true, true), *pipes = vy_module_new();
    assert_false(vy_program_exact(vy_module_program(plain, 0)));
    assert_true(vy_program_exact(vy_module_program(exact, 0)));
    assert_false(vy_module_equal(plain, exact));
    size_t size;
    void *block = vy_binary_write(exact, &size);
    vy_module *read = vy_binary_read(block, size);
    assert_true(vy_module_ok(read) && vy_module_equal(read, exact));
    char *text = vy_print(exact, &size);
    assert_memory_equal(text, "@exact program p(", 17);
    vy_module *again = vy_parse(text, size, "again");
    assert_true(vy_module_ok(again) && vy_module_equal(again, exact));
    // Folding before it differs from folding after it, and a pipeline has no floats of its own.
    assert_string_equal(vy_module_diag(late)->code, "E0003");
    vy_pipe *q = vy_pipeline_begin(pipes, "q");
    vy_exact(vy_pipeline_params(q));
    assert_null(vy_pipeline_end(q));
    assert_string_equal(vy_module_diag(pipes)->code, "E0003");
    vy_free(block);
    vy_free(text);
    vy_module *all[] = {plain, exact, late, pipes, read, again};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) vy_module_free(all[k]);
}

// --------------------------------------------------------------------------------------- structure
static void test_structure(void **state)
{
    (void)state;
    vy_module *m = rich(false);
    const vy_program *p = vy_module_program(m, 0);
    vy_structure s;
    assert_true(vy_structure_make(p, &s));
    uint32_t loops = 0, ifs = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (op == VY_OP_LOOP || op == VY_OP_WHILE || op == VY_OP_CHECKPOINT) {
            uint32_t end = s.partner[id];
            assert_true(vy_op_closes((vy_op)p->insts.data[end].op) && s.partner[end] == id);
            assert_int_equal(s.parent[end], s.parent[id]);
            loops++;
        } else if (op == VY_OP_IF) {
            uint32_t middle = s.partner[id], end = s.partner[middle];
            assert_int_equal(p->insts.data[middle].op, VY_OP_ELSE);
            assert_int_equal(p->insts.data[end].op, VY_OP_ENDIF);
            assert_int_equal(s.partner[end], id);
            ifs++;
        } else if (op == VY_OP_CARRY) {
            assert_int_equal(s.parent[id], vy_arg(p, id, 0));
        } else if (op == VY_OP_TEST) {
            assert_int_equal(p->insts.data[s.partner[id]].op, VY_OP_WHILE);
        }
        if (s.parent[id])
            assert_int_equal(s.depth[id], s.depth[s.parent[id]] + 1);
        else
            assert_int_equal(s.depth[id], 0);
    }
    assert_int_equal(loops, 3);
    (void)ifs;
    vy_structure_free(&s);
    vy_module_free(m);
}

// ---------------------------------------------------------------------------------------- equality
static void test_equal(void **state)
{
    (void)state;
    vy_module *a = rich(false), *b = rich(true);
    assert_true(vy_module_equal(a, a));
    assert_true(vy_module_equal(a, b));
    // Everything that equality depends on, one at a time.
    vy_program *p = vy_module_program(b, 1);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        p->insts.data[id].type ^= 1;
        assert_false(vy_module_equal(a, b));
        p->insts.data[id].type ^= 1;
        p->insts.data[id].line += 7;
        assert_true(vy_module_equal(a, b));
        for (uint8_t flag = VY_FLAG_REVERSE; flag <= VY_FLAG_ONCE; flag = (uint8_t)(flag << 1)) {
            p->insts.data[id].flags ^= flag;
            assert_false(vy_module_equal(a, b));
            p->insts.data[id].flags ^= flag;
        }
    }
    for (uint32_t i = 0; i < p->leaves.count; i++) {
        vy_leaf *l = &p->leaves.data[i];
        if (l->kind != VY_LEAF_CONST || l->type != VY_F32 || l->value.f != 0 ||
            !signbit(l->value.f))
            continue;
        l->value.f = 0; // −0 is a different number
        assert_false(vy_module_equal(a, b));
        l->value.f = -0.0;
    }
    p->buffers.data[1].binding = 9;
    assert_false(vy_module_equal(a, b));
    p->buffers.data[1].binding = 0;
    p->dims.data[p->overs.data[0].extent.id].op = VY_DIM_CONST;
    assert_false(vy_module_equal(a, b));
    vy_module_free(a);
    vy_module_free(b);
}

// ----------------------------------------------------------------------------------------- binary
static void test_sha256(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t first[4];
    } known[] = {{"", {0xe3, 0xb0, 0xc4, 0x42}},
                 {"abc", {0xba, 0x78, 0x16, 0xbf}},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  {0x24, 0x8d, 0x6a, 0x61}}};
    uint8_t digest[32];
    for (size_t k = 0; k < COUNT(known); k++) {
        vy_sha256(known[k].text, strlen(known[k].text), digest);
        assert_memory_equal(digest, known[k].first, 4);
    }
}

static void test_binary_round_trip(void **state)
{
    (void)state;
    vy_module *a = rich(false), *b = rich(true);
    size_t size, again, other;
    uint8_t *block = vy_binary_write(a, &size);
    assert_non_null(block);
    assert_true(vy_binary_is(block, size));
    assert_false(vy_binary_is("program", 7));
    vy_module *c = vy_binary_read(block, size);
    if (!vy_module_ok(c)) fail_msg("%s", vy_module_diag(c)->text);
    assert_true(vy_module_equal(a, c));
    assert_int_equal(vy_module_program(c, 0)->insts.data[2].line,
                     vy_module_program(a, 0)->insts.data[2].line);
    void *second = vy_binary_write(c, &again);
    assert_int_equal(size, again);
    assert_memory_equal(block, second, size);
    // Other order of leaves, another debug name: only the name differs.
    void *third = vy_binary_write(b, &other);
    assert_int_equal(other, size + strlen("total") - strlen("sum"));
    vy_free(block);
    vy_free(second);
    vy_free(third);
    vy_module_free(a);
    vy_module_free(b);
    vy_module_free(c);
}

static const char *read_code(const void *data, size_t size)
{
    vy_module *m = vy_binary_read(data, size);
    assert_non_null(m);
    const vy_diag *d = vy_module_diag(m);
    const char *code = vy_module_ok(m) ? NULL : d->code;
    if (code) assert_int_equal(vy_module_program_count(m), 0);
    assert_false(vy_diag_is(d, VY_E_INTERNAL)); // the file is at fault, and the fix says so
    if (vy_diag_is(d, VY_E_BINARY_CONTENT))
        assert_string_equal(d->fix, "the file was not made by `vy_binary_write`: make it again");
    vy_module_free(m);
    return code;
}

static void test_binary_corruption(void **state)
{
    (void)state;
    vy_module *m = rich(false);
    size_t size;
    uint8_t *block = vy_binary_write(m, &size);
    for (size_t at = 0; at < size; at++) {
        block[at] ^= 0x10;
        const char *code = read_code(block, size);
        assert_non_null(code);
        assert_string_equal(code, at < 8 ? "E0401" : at < 16 ? "E0402" : "E0403");
        block[at] ^= 0x10;
    }
    for (size_t n = 0; n < size; n++) { // in a block of its own, so that overreads are noticed
        void *cut = malloc(n ? n : 1);
        memcpy(cut, block, n);
        assert_non_null(read_code(cut, n));
        free(cut);
    }
    vy_free(block);
    vy_module_free(m);
}

// Altered contents whose digest was recomputed.
static void test_binary_hostile(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 2, 3, 5, 13, 64, 127, 128, 255};
    vy_module *m = rich(false);
    size_t size;
    uint8_t *block = vy_binary_write(m, &size);
    uint32_t refused = 0, taken = 0, malformed = 0;
    for (size_t at = VY_BINARY_HEADER; at < size; at++)
        for (size_t v = 0; v < COUNT(values); v++) {
            uint8_t *copy = malloc(size);
            memcpy(copy, block, size);
            copy[at] = values[v];
            vy_binary_digest(copy, size, copy + VY_BINARY_DIGEST);
            const char *code = read_code(copy, size);
            if (code)
                refused++;
            else
                taken++;
            // Others violate rules of the language.
            malformed += code && strcmp(code, "E0404") == 0;
            free(copy);
        }
    assert_true(refused > taken && malformed > refused / 2);
    vy_free(block);
    vy_module_free(m);
}

// ----------------------------------------------------------------------------------------- checker
static void expect(vy_module *m, const char *code, uint32_t line)
{
    const vy_diag *d = vy_module_diag(m);
    if (d->severity != VY_ERROR) fail_msg("expected %s, nothing was reported", code);
    if (strcmp(d->code, code) != 0) fail_msg("expected %s, got %s: %s", code, d->code, d->text);
    assert_true(d->fix[0] != 0 && d->text[0] != 0);
    if (line) assert_int_equal(d->line, line);
    vy_module_free(m);
}

static vy_builder *start(vy_buffer *x, vy_buffer *y, vy_value *i)
{
    vy_builder *b = vy_program_begin(vy_module_new(), "bad");
    vy_value n = vy_param_scalar(b, "N", VY_U32);
    vy_dim d = vy_dim_value(b, n);
    *x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    *y = vy_param_buffer(b, "y", VY_OUT, VY_F32, 1, &d);
    *i = vy_over(b, "i", d);
    vy_at(b, 4, 2);
    return b;
}

static void end(vy_builder *b, const char *code, uint32_t line)
{
    vy_module *m = vy_builder_module(b);
    assert_null(vy_program_end(b));
    expect(m, code, line);
}

// Names of parameters must be printable: exactly those that no text can hold are refused.
static void test_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "a`b", "a\nb", "\x7f", "\xff", "\xc3", "\xed\xa0\x80"};
    static const char *const good[] = {"for", "1st", "a b", "caf\xc3\xa9", "\xf0\x9f\x98\x80", "{"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        for (int place = 0; place < 4; place++) {
            const char *at[4] = {"p", "N", "y", "i"};
            at[place] = bad[k];
            vy_builder *b = vy_program_begin(vy_module_new(), at[0]);
            vy_dim d = vy_dim_value(b, vy_param_scalar(b, at[1], VY_U32));
            vy_param_buffer(b, at[2], VY_OUT, VY_F32, 1, &d);
            vy_over(b, at[3], d);
            end(b, "E0003", 0);
        }
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        vy_module *m = vy_module_new();
        vy_builder *b = vy_program_begin(m, good[k]);
        vy_dim d = vy_dim_const(b, 2);
        vy_param_buffer(b, good[k], VY_OUT, VY_F32, 1, &d);
        assert_non_null(vy_program_end(b));
        size_t size;
        char *text = vy_print(m, &size);
        vy_module *again = vy_parse(text, size, "");
        assert_true(vy_module_equal(m, again));
        vy_module_free(again);
        vy_module_free(m);
        free(text);
    }
}

// Names are looked up by hash: two names with the same hash must stay distinct.
static void test_names_alike(void **state)
{
    (void)state;
    char own[8];
    vy_builder *b = vy_program_begin(vy_module_new(), "p");
    const vy_dim d = vy_dim_const(b, 2);
    for (int k = 0; k < 40; k++) { // more than are scanned
        snprintf(own, sizeof own, "x%d", k);
        vy_param_buffer(b, own, VY_IN, VY_F32, 1, &d);
    }
    const vy_buffer one = vy_param_buffer(b, "costarring", VY_IN, VY_F32, 1, &d);
    const vy_buffer two = vy_param_buffer(b, "liquid", VY_OUT, VY_F32, 1, &d);
    const vy_program *p = vy_builder_program(b);
    assert_int_equal(vy_program_find_buffer(p, "costarring").id, one.id);
    assert_int_equal(vy_program_find_buffer(p, "liquid").id, two.id);
    assert_int_equal(vy_program_find_buffer(p, "x17").id, 18);
    assert_int_equal(vy_program_find_buffer(p, "x").id, 0);
    vy_module *m = vy_builder_module(b);
    vy_program_end(b);
    vy_module_free(m);
}

static void test_rules(void **state)
{
    (void)state;
    vy_buffer x, y;
    vy_value i;
    vy_builder *b = start(&x, &y, &i);
    store1(b, x, i, f32(b, 1));
    end(b, "E0303", 4);

    b = start(&x, &y, &i);
    store1(b, y, u32(b, 0), load1(b, y, i));
    end(b, "E0304", 4);

    b = start(&x, &y, &i);
    vy_for_step(b, "k", u32(b, 0), u32(b, 9), u32(b, 0), false);
    store1(b, y, i, f32(b, 1));
    vy_end(b);
    end(b, "E0216", 4);

    b = start(&x, &y, &i);
    vy_dim d = vy_dim_const(b, 4);
    vy_buffer v = vy_local_array(b, "v", VY_F32, 1, &d);
    atomic1(b, "add", v, i, f32(b, 1));
    end(b, "E0310", 4);

    b = start(&x, &y, &i);
    d = vy_dim_const(b, 4);
    vy_buffer bools = vy_param_buffer(b, "bools", VY_INOUT, VY_BOOL, 1, &d);
    atomic1(b, "or", bools, i, vy_bool(b, true));
    end(b, "E0310", 4);
}

// A loop may store to an `out` buffer after the load of an earlier iteration.
static void test_read_out_in_loop(void **state)
{
    (void)state;
    vy_buffer x, y;
    vy_value i;
    vy_builder *b = start(&x, &y, &i);
    vy_module *m = vy_builder_module(b);
    vy_value k = vy_for(b, "k", u32(b, 0), u32(b, 9));
    vy_if(b, vy_lt(b, u32(b, 0), k));
    atomic1(b, "add", y, i, f32(b, 1));
    vy_end(b);
    vy_if(b, vy_eq(b, i, u32(b, 0)));
    store1(b, y, k, load1(b, y, vy_sub(b, k, u32(b, 1))));
    vy_end(b);
    vy_end(b);
    assert_non_null(vy_program_end(b));
    vy_module_free(m);
}

static void test_declarations(void **state)
{
    (void)state;
    vy_buffer x, y;
    vy_value i;
    vy_builder *b = start(&x, &y, &i);
    vy_dim d = vy_dim_const(b, 4), big = vy_dim_const(b, 1 << 20), none = vy_dim_const(b, 0);
    vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &d);
    end(b, "E0305", 4);

    b = start(&x, &y, &i);
    vy_buffer_binding(b, y, 0, 0);
    end(b, "E0306", 0);

    b = start(&x, &y, &i);
    vy_workgroup(b, 64, 64, 1);
    end(b, "E0307", 0);
    b = start(&x, &y, &i);
    vy_workgroup(b, 64, 0, 1);
    end(b, "E0307", 0);

    b = start(&x, &y, &i);
    none = vy_dim_const(b, 0);
    vy_local_array(b, "v", VY_F32, 1, &none);
    end(b, "E0308", 4);
    b = start(&x, &y, &i);
    d = vy_dim_value(b, vy_param_scalar(b, "K", VY_U32));
    vy_shared_array(b, "s", VY_F32, 1, &d);
    end(b, "E0308", 4);
    b = start(&x, &y, &i);
    big = vy_dim_const(b, 1 << 20);
    vy_shared_array(b, "s", VY_F32, 1, &big);
    end(b, "E0002", 4);

    b = start(&x, &y, &i);
    vy_dim two[2] = {vy_dim_const(b, 2), vy_dim_unknown(b)};
    vy_param_buffer(b, "z", VY_IN, VY_F32, 2, two);
    end(b, "E0309", 4);
    b = start(&x, &y, &i);
    vy_over(b, "j", vy_dim_unknown(b));
    end(b, "E0309", 0);

    b = start(&x, &y, &i);
    vy_param_scalar(b, "h", VY_U8);
    end(b, "E0311", 4);

    vy_module *m = vy_module_new();
    build_rich(m, "same", false);
    build_rich(m, "same", false);
    assert_false(vy_module_check(m));
    expect(m, "E0305", 0);
}

// ---- barriers: which conditions are uniform
typedef enum source {
    BY_SCALAR,
    BY_WID,
    BY_IN_AT_UNIFORM,
    BY_CARRIED_UNIFORM,
    BY_LOOP_VARIABLE,
    UNIFORM_END,
    BY_OVER,
    BY_LID,
    BY_IN_AT_OVER,
    BY_OUT,
    BY_SUBGROUP,
    BY_ATOMIC,
    BY_CARRIED,
    BY_ARM,
    BY_EXIT,
    SOURCE_END
} source;

static vy_value condition(vy_builder *b, source s, vy_buffer x, vy_buffer z, vy_value i)
{
    vy_value zero = u32(b, 0), wid = vy_builtin_value(b, VY_WID, 0);
    vy_var v = vy_var_new(b, "v", zero);
    switch (s) {
    case BY_SCALAR: return vy_lt(b, vy_len(b, x, 0), u32(b, 7));
    case BY_WID: return vy_lt(b, wid, u32(b, 7));
    case BY_IN_AT_UNIFORM: return vy_lt(b, load1(b, x, wid), f32(b, 0));
    case BY_OVER: return vy_lt(b, i, u32(b, 7));
    case BY_LID: return vy_lt(b, lid(b, 0), u32(b, 7));
    case BY_IN_AT_OVER: return vy_lt(b, load1(b, x, i), f32(b, 0));
    case BY_OUT: return vy_lt(b, load1(b, z, zero), f32(b, 0));
    case BY_SUBGROUP: return vy_lt(b, vy_subgroup(b, "add", zero), u32(b, 7));
    case BY_ATOMIC: return vy_lt(b, atomic1(b, "add", z, zero, f32(b, 1)), f32(b, 0));
    case BY_CARRIED_UNIFORM:
    case BY_LOOP_VARIABLE: {
        vy_value k = vy_for(b, "k", zero, wid);
        vy_set(b, v, s == BY_LOOP_VARIABLE ? k : vy_add(b, vy_get(b, v), wid));
        vy_end(b);
        break;
    }
    case BY_CARRIED: // differs only from the second iteration on
        vy_for(b, "k", zero, wid);
        vy_set(b, v, vy_add(b, vy_get(b, v), i));
        vy_end(b);
        break;
    case BY_ARM:
        vy_if(b, vy_lt(b, i, u32(b, 7)));
        vy_set(b, v, u32(b, 5));
        vy_end(b);
        break;
    case BY_EXIT:
        vy_for(b, "k", zero, wid);
        vy_set(b, v, vy_add(b, vy_get(b, v), wid));
        vy_if(b, vy_eq(b, i, vy_get(b, v)));
        vy_break(b);
        vy_end(b);
        vy_end(b);
        break;
    default: break;
    }
    return vy_lt(b, vy_get(b, v), u32(b, 7));
}

static void test_uniform(void **state)
{
    (void)state;
    for (int s = 0; s < SOURCE_END; s++)
        for (int form = 0; form < 3; form++) {
            if (s == UNIFORM_END) continue;
            vy_buffer x, y;
            vy_value i;
            vy_builder *b = start(&x, &y, &i);
            vy_dim d = vy_dim_const(b, 64);
            vy_buffer z = vy_param_buffer(b, "z", VY_INOUT, VY_F32, 1, &d);
            if (form == 2) { // from the second iteration on
                vy_while(b);
                vy_while_test(b, condition(b, (source)s, x, z, i));
            } else {
                vy_if(b, condition(b, (source)s, x, z, i));
                if (form == 1) vy_for(b, "n", u32(b, 0), u32(b, 3));
            }
            vy_at(b, 8, 3);
            if (form == 1)
                vy_subgroup(b, "any", vy_bool(b, true));
            else
                vy_barrier(b);
            if (form == 1) vy_end(b);
            vy_end(b);
            vy_module *m = vy_builder_module(b);
            vy_program *p = vy_program_end(b);
            if (s < UNIFORM_END) {
                if (!p) fail_msg("source %d, form %d: %s", s, form, vy_module_diag(m)->text);
                vy_module_free(m);
            } else {
                if (p) fail_msg("source %d, form %d was taken", s, form);
                // The subgroup operation in the `while` condition is itself in the wrong place.
                expect(m, "E0302", s == BY_SUBGROUP && form == 2 ? 4 : 8);
            }
        }
}

// An early return before a barrier.
static void test_uniform_return(void **state)
{
    (void)state;
    vy_buffer x, y;
    vy_value i;
    vy_builder *b = start(&x, &y, &i);
    vy_if(b, vy_lt(b, u32(b, 5), i));
    vy_return(b);
    vy_end(b);
    vy_at(b, 9, 1);
    vy_barrier(b);
    end(b, "E0302", 9);
}

// ---- code that no builder emits
typedef struct damage {
    vy_op op;      // of the instruction changed: the first one
    size_t offset; // of a 32-bit, 16-bit or 8-bit field
    size_t size;
    uint32_t value;
} damage;
#define FIELD(f) offsetof(vy_inst, f), sizeof(((vy_inst *)0)->f)

static uint32_t find_op(const vy_program *p, vy_op op)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == op) return id;
    fail_msg("no such instruction");
    return 0;
}

static void expect_internal(vy_module *m)
{
    assert_false(vy_check_consistent(vy_module_program(m, 0)));
    expect(m, "E0301", 0);
}

static void test_damaged_fields(void **state)
{
    (void)state;
    static const damage list[] = {
        {VY_OP_ADD, FIELD(op), 0},
        {VY_OP_ADD, FIELD(op), VY_OP_COUNT},
        {VY_OP_ADD, FIELD(op), VY_OP_RESULT},
        {VY_OP_ADD, FIELD(type), VY_I32},
        {VY_OP_ADD, FIELD(type), 99},
        {VY_OP_ADD, FIELD(nargs), 1},
        {VY_OP_ADD, FIELD(nargs), 0},
        {VY_OP_ADD, FIELD(args), 0xFFFFFFF0},
        {VY_OP_ADD, FIELD(aux), 1},
        {VY_OP_ADD, FIELD(name), 0xFFFFFF},
        {VY_OP_ADD, FIELD(flags), 1},
        {VY_OP_LOAD, FIELD(aux), 0},
        {VY_OP_LOAD, FIELD(aux), 99},
        {VY_OP_LOAD, FIELD(nargs), 0},
        {VY_OP_LOAD, FIELD(type), VY_F64},
        {VY_OP_STORE, FIELD(type), VY_F32},
        {VY_OP_ZERO, FIELD(aux), 1},
        {VY_OP_BARRIER, FIELD(type), VY_F32},
        {VY_OP_LOOP, FIELD(nargs), 2},
        {VY_OP_LOOP, FIELD(type), VY_F32},
        {VY_OP_LOOP, FIELD(op), VY_OP_WHILE},
        {VY_OP_CARRY, FIELD(aux), 7},
        {VY_OP_CARRY, FIELD(type), VY_U32},
        {VY_OP_CARRY, FIELD(op), VY_OP_BARRIER},
        {VY_OP_ENDLOOP, FIELD(nargs), 0},
        {VY_OP_ENDLOOP, FIELD(op), VY_OP_ENDIF},
        {VY_OP_RESULT, FIELD(aux), 7},
        {VY_OP_TEST, FIELD(op), VY_OP_BARRIER},
        {VY_OP_TEST, FIELD(op), VY_OP_ELSE},
        {VY_OP_WHILE, FIELD(op), VY_OP_CHECKPOINT},
        {VY_OP_WHILE, FIELD(type), VY_U32},
        {VY_OP_CHECKPOINT, FIELD(op), VY_OP_IF},
        {VY_OP_LT, FIELD(type), VY_F32},
        {VY_OP_EXP, FIELD(op), VY_OP_POPCOUNT},
    };
    for (size_t k = 0; k < COUNT(list); k++) {
        vy_module *m = vy_module_new();
        vy_program *p = build_rich(m, "p", false);
        assert_non_null(p);
        assert_true(vy_check_consistent(p));
        char *at = (char *)&p->insts.data[find_op(p, list[k].op)] + list[k].offset;
        uint8_t byte = (uint8_t)list[k].value;
        uint16_t half = (uint16_t)list[k].value;
        const void *from = list[k].size == 1   ? (void *)&byte
                           : list[k].size == 2 ? (void *)&half
                                               : (const void *)&list[k].value;
        memcpy(at, from, list[k].size);
        expect_internal(m);
    }
}

static void test_damaged_operands(void **state)
{
    (void)state;
    static const vy_op users[] = {VY_OP_ADD,     VY_OP_LOAD,   VY_OP_LOOP, VY_OP_CARRY,
                                  VY_OP_ENDLOOP, VY_OP_RESULT, VY_OP_TEST, VY_OP_STORE};
    for (size_t k = 0; k < COUNT(users); k++)
        for (int how = 0; how < 4; how++) {
            vy_module *m = vy_module_new();
            vy_program *p = build_rich(m, "p", false);
            uint32_t id = find_op(p, users[k]);
            uint32_t *operand = &p->args.data[p->insts.data[id].args];
            uint32_t outside = find_op(p, VY_OP_LOOP); // its variable ends with it
            if (how == 3 && id < outside) {
                vy_module_free(m);
                continue;
            }
            *operand = how == 0   ? 0
                       : how == 1 ? id
                       : how == 2 ? VY_LEAF_BIT | 999
                                  : find_op(p, VY_OP_BARRIER);
            expect_internal(m);
        }
    // A value of a closed region.
    vy_module *m = vy_module_new();
    vy_program *p = build_rich(m, "p", false);
    uint32_t last = p->insts.count - 1, inner = find_op(p, VY_OP_ADD);
    assert_int_equal(p->insts.data[last].op, VY_OP_STORE);
    p->args.data[p->insts.data[last].args + 1] = inner;
    expect_internal(m);
}

static void test_damaged_tables(void **state)
{
    (void)state;
    for (int how = 0; how < 12; how++) {
        vy_module *m = vy_module_new();
        vy_program *p = build_rich(m, "p", false);
        vy_leaf *leaf = &p->leaves.data[0];
        if (how == 0) p->buffers.data[1].rank = 0;
        if (how == 1) p->buffers.data[1].dims[0].id = 999;
        if (how == 2) p->buffers.data[1].type = VY_VOID;
        if (how == 3) p->overs.data[0].extent.id = 0;
        if (how == 4) p->dims.data[1].op = (vy_dim_op)99;
        if (how == 5) p->dims.data[3].a = 3;
        if (how == 6) *leaf = (vy_leaf){.kind = VY_LEAF_SCALAR, .type = VY_U32, .index = 9};
        if (how == 7)
            *leaf = (vy_leaf){.kind = VY_LEAF_BUILTIN, .type = VY_U32, .index = VY_LANE, .axis = 1};
        if (how == 8) *leaf = (vy_leaf){.kind = VY_LEAF_LEN, .type = VY_U32, .index = 1, .axis = 3};
        if (how == 9) *leaf = (vy_leaf){.kind = 77, .type = VY_U32};
        if (how == 10) *leaf = (vy_leaf){.type = VY_U32, .value = {.u = UINT64_MAX}};
        if (how == 11) p->buffers.data[2].init = VY_INIT_COPY;
        expect_internal(m);
    }
}

// A `?` of a buffer that has dimensions: no text can say it.
static void test_length_of_sized(void **state)
{
    (void)state;
    vy_module *m = vy_module_new();
    vy_program *p = build_rich(m, "p", false);
    const vy_dim_node length = {.op = VY_DIM_UNKNOWN, .value = 1};
    const uint32_t id = p->dims.count;
    assert_true(vy_vec_push(&p->dims, length));
    assert_true(p->dims.data[p->buffers.data[1].dims[0].id].op != VY_DIM_UNKNOWN);
    p->buffers.data[2].dims[0].id = id;
    p->buffers.data[2].workspace = true;
    assert_false(vy_check_program(p));
    expect(m, "E0309", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_binary_round_trip),
        cmocka_unit_test(test_binary_corruption),
        cmocka_unit_test(test_binary_hostile),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_read_out_in_loop),
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_alike),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_uniform_return),
        cmocka_unit_test(test_damaged_fields),
        cmocka_unit_test(test_damaged_operands),
        cmocka_unit_test(test_damaged_tables),
        cmocka_unit_test(test_length_of_sized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
