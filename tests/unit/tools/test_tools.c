// SPDX-License-Identifier: MIT
// test_tools.c: the helper files of the command: numbers as text, SPECs, .npy, output files, the
// nearest name, options of verbs.  The command is not a library, so its files are compiled in here.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/data/array.c"
#include "tools/data/file.c"
#include "tools/data/fill.c"
#include "tools/data/npy.c"
#include "tools/data/module.c"
#include "tools/data/npz.c"
#include "tools/data/number.c"
#include "tools/data/png.c"
#include "tools/data/spec.c"
#include "tools/data/text.c"

// Options with these verbs in place of the command's own; the second is a new verb.
#include "tools/command/options.h"
#undef VERBS
#define VERBS(X)                                                                                   \
    X(GRAD, "grad", , TAKES_MODULE, "")                                                            \
    X(JVP, "list", , TAKES_FILE, "what a verb takes that says nothing more")                       \
    X(COMPILE, "write", , TAKES_FILE | TAKES_OUTPUT, "")                                           \
    X(RUN, "run", , TAKES_RUN, "")                                                                 \
    X(CHECK, "check", , 0, "")                                                                     \
    X(PRINT, "print", , 0, "")                                                                     \
    X(EXPLAIN, "explain", , 0, "")                                                                 \
    X(BENCH, "bench", , 0, "")                                                                     \
    X(FIT, "fit", , 0, "")                                                                         \
    X(INSPECT, "inspect", , 0, "")                                                                 \
    X(INFO, "info", , 0, "")                                                                       \
    X(DEVICES, "devices", , 0, "")                                                                 \
    X(EXPLAIN_ERROR, "explain-error", , TAKES_WORD, "")                                            \
    X(COMPLETIONS, "completions", , TAKES_WORD, "")                                                \
    X(MAN, "man", , 0, "")
#include "tools/command/options_table.c"
#include "tools/command/options.c"
#include "tools/command/options_help.c"

// cmocka has a macro `fail`, so it comes after them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// ---------------------------------------------------------------------------------------- numbers
static void expect_text(vy_type type, vy_scalar v, const char *want)
{
    char out[NUMBER_TEXT];
    assert_int_equal(number_text(type, v, out), strlen(want));
    assert_string_equal(out, want);
}

static void number_shortest(void **state)
{
    (void)state;
    static const struct {
        vy_type type;
        double value;
        const char *text;
    } rows[] = {
        {VY_F64, 0, "0"},
        {VY_F64, -0.0, "-0"},
        {VY_F64, 2, "2"},
        {VY_F64, 100, "100"},
        {VY_F64, -1.5, "-1.5"},
        {VY_F64, 0.1, "0.1"},
        {VY_F64, 0.1 + 0.2, "0.30000000000000004"},
        {VY_F64, 1e15, "1000000000000000"},
        {VY_F64, 1e16, "1e16"},
        {VY_F64, 123456789012345680.0, "1.2345678901234568e17"},
        {VY_F64, 0.0001, "0.0001"},
        {VY_F64, 0.00001, "1e-5"},
        {VY_F64, 4.9406564584124654e-324, "5e-324"},
        {VY_F64, 1.7976931348623157e308, "1.7976931348623157e308"},
        {VY_F64, HUGE_VAL, "inf"},
        {VY_F64, -HUGE_VAL, "-inf"},
        {VY_F32, (double)0.1f, "0.1"},
        {VY_F32, (double)16777216.0f, "16777216"},
        {VY_F32, (double)3.4028235e38f, "3.4028235e38"},
        {VY_F32, (double)1.4e-45f, "1e-45"},
        {VY_F32, (double)(1.0f / 3), "0.33333334"},
        {VY_F16, 65504, "65500"},
        {VY_F16, 0.0999755859375, "0.1"},
        {VY_F16, 5.9604644775390625e-8, "6e-8"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_text(rows[i].type, (vy_scalar){.f = rows[i].value}, rows[i].text);
    expect_text(VY_F32, (vy_scalar){.f = NAN}, "nan");
    expect_text(VY_I8, (vy_scalar){.i = -128}, "-128");
    expect_text(VY_U64, (vy_scalar){.u = UINT64_MAX}, "18446744073709551615");
    expect_text(VY_I64, (vy_scalar){.i = INT64_MIN}, "-9223372036854775808");
    expect_text(VY_BOOL, (vy_scalar){.u = 1}, "true");
}

static void number_round_trips(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t bits = splitmix64(i);
        char out[NUMBER_TEXT];
        vy_scalar back;
        double d;
        float f;
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &bits, sizeof f);
        if (isfinite(d)) {
            size_t n = number_text(VY_F64, (vy_scalar){.f = d}, out);
            assert_null(number_parse(VY_F64, out, n, &back));
            assert_true(back.f == d);
        }
        if (isfinite(f)) {
            size_t n = number_text(VY_F32, (vy_scalar){.f = (double)f}, out);
            assert_null(number_parse(VY_F32, out, n, &back));
            assert_true(back.f == (double)f);
        }
    }
    for (uint32_t h = 0; h < 0x7c00; h++) {
        char out[NUMBER_TEXT];
        vy_scalar back, v = vy_scalar_read(VY_F16, &(uint16_t){(uint16_t)h});
        assert_null(number_parse(VY_F16, out, number_text(VY_F16, v, out), &back));
        assert_true(back.f == v.f);
    }
}

static void number_reading(void **state)
{
    (void)state;
    static const struct {
        vy_type type;
        const char *text;
        bool ok;
    } rows[] = {
        {VY_U8, "255", true},
        {VY_U8, "256", false},
        {VY_U8, "-1", false},
        {VY_U8, "-0", true},
        {VY_I8, "-128", true},
        {VY_I8, "-129", false},
        {VY_I8, "128", false},
        {VY_I32, "2147483648", false},
        {VY_I32, "-2147483648", true},
        {VY_U32, "0xff", true},
        {VY_U32, "0x", false},
        {VY_U32, "1.5", false},
        {VY_U32, "", false},
        {VY_U32, "1e3", false},
        {VY_U64, "18446744073709551616", false},
        {VY_F32, "1e39", false},
        {VY_F32, "inf", true},
        {VY_F32, "-inf", true},
        {VY_F32, "nan", true},
        {VY_F32, "1x", false},
        {VY_F32, " 1 ", true},
        {VY_F16, "65504", true},
        {VY_F16, "65520", false},
        {VY_F64, "1e308", true},
        {VY_BOOL, "true", true},
        {VY_BOOL, "2", false},
        {VY_I64, "-9223372036854775808", true},
        {VY_F64, "--1", false},
        {VY_I64, "9223372036854775808", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        vy_scalar v;
        const char *why = number_parse(rows[i].type, rows[i].text, strlen(rows[i].text), &v);
        if (!why != rows[i].ok)
            fail_msg("%s %s: %s", vy_type_name(rows[i].type), rows[i].text, why ? why : "accepted");
    }
    vy_scalar v;
    assert_null(number_parse(VY_I8, "-128", 4, &v));
    assert_true(v.i == -128);
}

// ------------------------------------------------------------------------------------------ SPECs
static void spec_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        spec_kind kind;
        uint32_t rank;
    } rows[] = {
        {"x=1,2,3", true, SPEC_LIST, 0},
        {"x=-1", true, SPEC_LIST, 0},
        {"x=", true, SPEC_LIST, 0},
        {"x=inf,nan", true, SPEC_LIST, 0},
        {"x=zeros", true, SPEC_CONST, 0},
        {"x[2,3]=ones", true, SPEC_CONST, 2},
        {"x[0]=iota", true, SPEC_IOTA, 1},
        {"x=const:0.5", true, SPEC_CONST, 0},
        {"x=uniform:-1:1:7", true, SPEC_UNIFORM, 0},
        {"x=normal:0:1:1", true, SPEC_NORMAL, 0},
        {"x=@a=b[1].npy", true, SPEC_NPY, 0},
        {"x=@a.png", true, SPEC_PNG, 0},
        {"x=@a.bin", true, SPEC_BIN, 0},
        {"x", false, 0, 0},
        {"=1", false, 0, 0},
        {"x[=1", false, 0, 0},
        {"x[]=1", false, 0, 0},
        {"[2]=1", false, 0, 0},
        {"x[2,]=1", false, 0, 0},
        {"x[-1]=ones", false, 0, 0},
        {"x[9999999999999999999]=ones", false, 0, 0},
        {"x=uniform:0:1", false, 0, 0},
        {"x=uniform:0:1:2:3", false, 0, 0},
        {"x=normal:a:1:1", false, 0, 0},
        {"x=const:", false, 0, 0},
        {"x=@file.txt", false, 0, 0},
        {"x=twos", false, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        spec s;
        vy_diag d = {0};
        const bool ok = spec_parse(&s, "--in", rows[i].text, &d);
        if (ok != rows[i].ok) fail_msg("%s: %s", rows[i].text, ok ? "accepted" : d.text);
        if (ok) {
            assert_int_equal(s.kind, rows[i].kind);
            assert_int_equal(s.rank, rows[i].rank);
            assert_string_equal(s.name, "x");
        }
        assert_int_equal(d.severity, rows[i].ok ? VY_OK : VY_ERROR);
        spec_free(&s);
    }
}

// Fills count elements of a type from a SPEC; false when it is refused.
static bool fill(const char *text, vy_type type, uint64_t count, array *a)
{
    spec s;
    vy_diag d = {0};
    *a = (array){.rank = 1, .shape = {count}};
    bool ok = spec_parse(&s, "--in", text, &d) && vys_array_alloc(a, "x", type, &d);
    ok = ok && spec_fill(&s, type, a, &d);
    spec_free(&s);
    return ok;
}

static void expect_fill(const char *spec_text, vy_type type, uint64_t count, const char *want)
{
    array a;
    text printed = {0};
    if (!fill(spec_text, type, count, &a)) fail_msg("%s refused", spec_text);
    array_print("x", &a, true, &printed);
    assert_string_equal(printed.data, want);
    text_free(&printed);
    vys_array_free(&a);
}

static void spec_values(void **state)
{
    (void)state;
    array a;
    expect_fill("x=1,2.5,-3", VY_F32, 3, "x f32[3] = [1, 2.5, -3]\n");
    expect_fill("x=iota", VY_U8, 4, "x u8[4] = [0, 1, 2, 3]\n");
    expect_fill("x=const:0.1", VY_F16, 2, "x f16[2] = [0.1, 0.1]\n");
    expect_fill("x=zeros", VY_BOOL, 2, "x bool[2] = [false, false]\n");
    expect_fill("x=const:18446744073709551615", VY_U64, 1, "x u64[1] = [18446744073709551615]\n");
    // seed + index = 0: the well-known first output of splitmix64, 0xe220a8397b1dcdaf, over 2^64
    assert_int_equal(splitmix64(0), 0xe220a8397b1dcdafull);
    expect_fill("x=uniform:0:1:0", VY_F64, 1, "x f64[1] = [0.8833108082136427]\n");
    assert_false(fill("x=iota", VY_U8, 257, &a));
    vys_array_free(&a);
    assert_false(fill("x=1,2.5", VY_I32, 2, &a));
    vys_array_free(&a);
    assert_false(fill("x=normal:0:1:1", VY_I32, 2, &a));
    vys_array_free(&a);
    assert_true(fill("x=uniform:-2:3:5", VY_I32, 1000, &a));
    for (int i = 0, *x = a.data; i < 1000; i++) assert_in_range(x[i] + 2, 0, 4);
    vys_array_free(&a);
}

static void spec_normal(void **state)
{
    (void)state;
    array a;
    double sum = 0, squares = 0;
    assert_true(fill("x=normal:1:2:3", VY_F64, 100000, &a));
    for (int i = 0; i < 100000; i++) {
        const double z = (((double *)a.data)[i] - 1) / 2;
        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / 1e5) < 0.01 && fabs(squares / 1e5 - 1) < 0.02);
    const double u = ldexp((double)splitmix64(3), -64), v = ldexp((double)splitmix64(4), -64);
    const double r = sqrt(-2 * log(u));
    assert_true(((double *)a.data)[0] == 1 + 2 * (r * cos(2 * M_PI * v)));
    assert_true(((double *)a.data)[1] == 1 + 2 * (r * sin(2 * M_PI * v)));
    vys_array_free(&a);
}

// ------------------------------------------------------------------------------------------- .npy
static bool read_npy(int version, const char *dict, const void *data, size_t size, array *a)
{
    text file = {0};
    vy_diag d = {0};
    const uint32_t n = (uint32_t)strlen(dict);
    const unsigned char start[12] = {0x93,
                                     'N',
                                     'U',
                                     'M',
                                     'P',
                                     'Y',
                                     (unsigned char)version,
                                     0,
                                     (unsigned char)n,
                                     (unsigned char)(n >> 8)};
    text_add(&file, start, version == 1 ? 10 : 12);
    text_puts(&file, dict);
    text_add(&file, data, size);
    const bool ok = npy_read(file.data, file.size, "x.npy", a, &d);
    for (size_t cut = 0; ok && cut < file.size; cut++) { // every truncation is refused
        array none;
        vy_diag why = {0};
        assert_false(npy_read(file.data, cut, "x.npy", &none, &why));
        assert_string_equal(why.code, "E0808");
        vys_array_free(&none);
    }
    text_free(&file);
    return ok;
}

static void expect_npy(const char *dict, const void *data, size_t size, const char *want)
{
    for (int version = 1; version <= 3; version++) {
        array a;
        text printed = {0};
        if (!read_npy(version, dict, data, size, &a)) fail_msg("%s refused", dict);
        array_print("x", &a, true, &printed);
        assert_string_equal(printed.data, want);
        text_free(&printed);
        vys_array_free(&a);
    }
}

static void npy_reading(void **state)
{
    (void)state;
    const float f[6] = {1, 2, 3, 4, 5, 6};
    const unsigned char big[4] = {0x3f, 0x80, 0, 0}, b[3] = {0, 1, 255};
    expect_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", f, 24,
               "x f32[2, 3] = [1, 2, 3, 4, 5, 6]\n");
    expect_npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", f, 24,
               "x f32[2, 3] = [1, 3, 5, 2, 4, 6]\n");
    expect_npy("{\"shape\":(),\"descr\":\">f4\",\"fortran_order\":False}  \n", big, 4,
               "x f32[] = [1]\n");
    expect_npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", b, 3,
               "x bool[3] = [false, true, true]\n");
    expect_npy("{'descr': '|i1', 'fortran_order': False, 'shape': (3L,)}", b, 3,
               "x i8[3] = [0, 1, -1]\n");
    expect_npy("{'descr': '<u8', 'fortran_order': False, 'shape': (0, 5)}", b, 0,
               "x u64[0, 5] = []\n");
}

static void npy_hostile(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} ", // fewer bytes than there are
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",  // more
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551618,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904, 0)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        ("{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)}"),
        "{'descr': '<f4\\'', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'shape': (2,)}",
    };
    const char data[8] = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        array a;
        if (read_npy(1, rows[i], data, sizeof data, &a)) fail_msg("accepted: %s", rows[i]);
        vys_array_free(&a);
    }
    array a;
    assert_false(
        read_npy(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", data, 8, &a));
}

static void npy_round_trip(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint32_t rank = 0; rank < 4; rank++) {
            array a = {.rank = rank, .shape = {2, 1, 3}}, back;
            vy_diag d = {0};
            text file = {0};
            assert_true(vys_array_alloc(&a, "a", kinds[k].type, &d));
            for (uint64_t i = 0; i < a.count; i++)
                vy_scalar_write(a.type,
                                vy_type_is_float(a.type) ? (vy_scalar){.f = (double)i}
                                                         : (vy_scalar){.u = i},
                                (char *)a.data + i * vy_type_size(a.type));
            npy_write(&a, &file);
            assert_false(file.failed);
            assert_int_equal(strcspn(file.data + 10, "\n") % 64, 53); // the data is aligned to 64
            assert_true(npy_read(file.data, file.size, "a", &back, &d));
            assert_int_equal(back.type, a.type);
            assert_int_equal(back.rank, a.rank);
            assert_memory_equal(back.shape, a.shape, rank * sizeof *a.shape);
            assert_memory_equal(back.data, a.data, a.count * vy_type_size(a.type));
            vys_array_free(&a);
            vys_array_free(&back);
            text_free(&file);
        }
}

// ------------------------------------------------------------------------------------------ arrays
static void array_forms(void **state)
{
    (void)state;
    array a;
    text out = {0};
    assert_true(fill("x=iota", VY_F32, 17, &a));
    array_print("x", &a, false, &out);
    assert_string_equal(out.data,
                        "x f32[17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …]\n");
    text_free(&out);
    vys_array_free(&a);
    assert_true(fill("x=inf,-inf,nan,-0,1.5", VY_F32, 5, &a));
    array_json(&a, &out);
    assert_string_equal(out.data, "[\"inf\", \"-inf\", \"nan\", -0.0, 1.5]");
    text_free(&out);
    vys_array_free(&a);
}

static void array_limits(void **state)
{
    (void)state;
    static const uint64_t shapes[][3] = {{1ull << 62, 4, 4},
                                         {UINT64_MAX, UINT64_MAX, 1},
                                         {1ull << 61, 1, 1},
                                         {1ull << 50, 1, 1}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        array a = {.rank = 3};
        vy_diag d = {0};
        memcpy(a.shape, shapes[i], sizeof shapes[i]);
        assert_false(vys_array_alloc(&a, "x", VY_F32, &d));
        assert_null(a.data);
        assert_int_equal(d.severity, VY_ERROR);
    }
    array a = {.rank = 3, .shape = {1ull << 62, 1ull << 62, 0}};
    vy_diag d = {0};
    assert_true(vys_array_alloc(&a, "x", VY_F32, &d));
    assert_int_equal(a.count, 0);
    vys_array_free(&a);
}

// ------------------------------------------------------------------------------------------- files
static void output_all_or_none(void **state)
{
    (void)state;
    char folder[] = "/tmp/vyre-tools-XXXXXX", path[64];
    vy_diag d = {0};
    outputs o = {0};
    text back = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.spv", folder);
    assert_true(output_add(&o, path, "one", 3, &d));
    assert_int_not_equal(access(path, F_OK), 0); // not before commit
    output_discard(&o);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(output_add(&o, path, "one", 3, &d) && output_commit(&o, &d));
    output_discard(&o);
    assert_true(file_read(path, 100, &back, &d));
    assert_string_equal(back.data, "one");
    text_free(&back);
    // a second file that cannot be written leaves the first as it was
    assert_true(output_add(&o, path, "two", 3, &d));
    assert_false(output_add(&o, "/nonexistent/b.spv", "two", 3, &d));
    assert_int_equal(d.blame, VY_BLAME_SYSTEM);
    output_discard(&o);
    d = (vy_diag){0};
    assert_true(file_read(path, 100, &back, &d));
    assert_string_equal(back.data, "one");
    text_free(&back);
    assert_false(file_read(path, 2, &back, &d));
    assert_int_equal(d.blame, VY_BLAME_PROGRAM); // too large is the request's fault
    text_free(&back);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); // no temporary left
    d = (vy_diag){0};
    assert_true(output_add(&o, "/dev/full", "x", 1, &d));
    assert_false(output_commit(&o, &d));
    output_discard(&o);
}

static void names_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"with-value", "wrt", "verbose", "version"};
    assert_string_equal(vy_nearest_name("wtr", 4, words), "wrt");
    assert_string_equal(vy_nearest_name("with-values", 4, words), "with-value");
    assert_string_equal(vy_nearest_name("verbos", 4, words), "verbose");
    assert_null(vy_nearest_name("zzzzzzzz", 4, words));
    assert_null(vy_nearest_name("x", 0, NULL));
    assert_null(
        vy_nearest_name("q", 1, (const char *const[]){"w"})); // no guess from a single letter
    // Among equally near words the first in alphabetical order, whatever order they are given in.
    assert_string_equal(vy_nearest_name("sim", 2, (const char *const[]){"sin", "dim"}), "dim");
    assert_string_equal(vy_nearest_name("sim", 2, (const char *const[]){"dim", "sin"}), "dim");
    // Differences in case alone, then in doubled letters and `_`, rank before edits, also in short
    // words.
    assert_string_equal(vy_nearest_name("Sin", 2, (const char *const[]){"min", "sin"}), "sin");
    assert_string_equal(vy_nearest_name("pp", 2, (const char *const[]){"q", "p"}), "p");
    assert_string_equal(vy_nearest_name("atomicAdd", 2,
                                        (const char *const[]){"atomic_and", "atomic_add"}),
                        "atomic_add");
    assert_string_equal(vy_nearest_name("aAb", 2, (const char *const[]){"ab", "aab"}), "aab");
    assert_null(vy_nearest_name("_", 2, (const char *const[]){"", "x"}));
    char *longest = malloc(10001);
    memset(longest, 'a', 10000);
    longest[10000] = 0;
    vy_nearest_name(longest, 4, words);
    free(longest);
}

// A verb accepts the options of the groups in its row, its own and the common ones; others are
// refused by name, not silently ignored.
static void verbs_and_options(void **state)
{
    (void)state;
    static const struct {
        const char *verb, *option, *value, *error; // NULL: accepted
    } rows[] = {
        {"grad", "--json", NULL, NULL},
        {"write", "-o", "y", NULL},
        {"list", "--quiet", NULL, NULL},
        {"check", "--samples", "3", NULL},
        {"list", "--json", NULL, "--json is not an option of `list`, but of: grad, run"},
        {"list", "--output", "y", "--output is not an option of `list`, but of: grad, write, run"},
        {"list", "-o", "y", "-o is not an option of `list`, but of: grad, write, run"},
        {"list", "--wrt", "x", "--wrt is not an option of `list`, but of: grad, run"},
        {"list", "--samples", "3", "--samples is not an option of `list`, but of: check"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *argv[] = {"vyre-grad", (char *)rows[i].verb, (char *)rows[i].option,
                        (char *)rows[i].value};
        options o;
        vy_diag d = {0};
        bool ok = options_read(&o, rows[i].value ? 4 : 3, argv, &d);
        if (rows[i].error)
            assert_non_null(strstr(d.text, rows[i].error));
        else if (!ok)
            assert_non_null(strstr(d.text, "needs a FILE")); // which comes last
        options_free(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_shortest), cmocka_unit_test(number_round_trips),
        cmocka_unit_test(number_reading),  cmocka_unit_test(spec_forms),
        cmocka_unit_test(spec_values),     cmocka_unit_test(spec_normal),
        cmocka_unit_test(npy_reading),     cmocka_unit_test(npy_hostile),
        cmocka_unit_test(npy_round_trip),  cmocka_unit_test(array_forms),
        cmocka_unit_test(array_limits),    cmocka_unit_test(output_all_or_none),
        cmocka_unit_test(names_nearest),   cmocka_unit_test(verbs_and_options),
    };
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}
