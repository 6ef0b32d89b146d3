// SPDX-License-Identifier: MIT
// test_example_manifest.c: the manifest reader of examples/ on values of expressions, and on
// damaged manifests: whatever was damaged, it refuses or gives a number (sanitizer builds see
// anything else that it does).
#include "examples/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void test_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; // 0 where the expression has none, and `wrong` is set
        const char *wrong;
    } rows[] = {
        {"N", 7, NULL},
        {"2 * (N + 1) - len(x) / 3", 15, NULL},
        {"ceil(N*N/(2 * 5))", 5, NULL},
        {"max(N, 10) % 4", 2, NULL},
        {"isqrt(0)", 0, NULL},
        {"isqrt(99)", 9, NULL},
        {"isqrt(9223372036854775807)", 3037000499, NULL},
        {"isqrt(-4)", 0, NULL},
        {"-9223372036854775807 - 1", INT64_MIN, NULL},
        {"9223372036854775808", 0, "too large"},
        {"9223372036854775807 + 1", 0, "overflow"},
        {"N / (N - 7)", 0, "division by zero"},
        {"(-9223372036854775807 - 1) / (0 - 1)", 0, "division by zero"},
        {"M", 0, "without a value"},
        {"", 0, "not an expression"},
        {"N N", 0, "not an expression"},
        {"min(N", 0, "missing"},
        {NULL, 0, "not an expression"},
    };
    symbols s = {0};
    assert_true(symbols_set(&s, "N", 7, 7) && symbols_set(&s, "len(x)", 3, 0));
    assert_false(symbols_set(&s, NULL, 0, 0));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = -1;
        const char *why = evaluate(rows[i].text, &s, &value);
        if (!rows[i].wrong != !why || (why && !strstr(why, rows[i].wrong)))
            fail_msg("%s: %s", rows[i].text, why ? why : "no complaint");
        if (!why) assert_int_equal(value, rows[i].value);
    }
}

// `$3` is what "expressions" says, with the values that symbols have now; cycles end.
static void test_named(void **state)
{
    (void)state;
    symbols s = {0};
    int64_t value = 0;
    cJSON *o = cJSON_Parse("{\"$3\": \"N*$12\", \"$12\": \"(N+1)+(N)\", \"$5\": \"$6+$6\", "
                           "\"$6\": \"$5-$5\", \"$7\": \"N N\"}");
    s.expressions = o;
    assert_true(symbols_set(&s, "N", 2, 2));
    assert_null(evaluate("1+min($3, $12*9)", &s, &value));
    assert_int_equal(value, 11);
    assert_true(symbols_set(&s, "N", 0, 0));
    assert_null(evaluate("$12*10+$3", &s, &value));
    assert_int_equal(value, 10);
    assert_non_null(strstr(evaluate("$5", &s, &value), "too deep"));
    assert_non_null(evaluate("$7", &s, &value));
    assert_non_null(evaluate("$4", &s, &value));
    cJSON_Delete(o);
}

static void test_numbers(void **state)
{
    (void)state;
    cJSON *o = cJSON_Parse(
        "{\"a\": 4294967295, \"b\": 4294967296, \"c\": -1, \"d\": 1e300, \"e\": \"5\", \"f\": 2.9}");
    assert_non_null(o);
    assert_true(number(o, "a") == UINT32_MAX);
    assert_int_equal(number(o, "b") + number(o, "c") + number(o, "d") + number(o, "e"), 0);
    assert_int_equal(number(o, "f"), 2);
    assert_int_equal(number(NULL, "a"), 0);
    assert_string_equal(string(o, "a"), "");
    cJSON_Delete(o);
}

// ---------------------------------------------------------------------------------------- damaged
static const char whole[] =
    "{\"vyre\": 1, \"name\": \"f\", \"scalars\": [{\"name\": \"N\", \"type\": \"u32\"}],"
    " \"buffers\": [{\"name\": \"x\", \"element_size\": 4, \"shape\": [\"N\", \"ceil(N*3/64)\", \"isqrt(len(x))\"]}],"
    " \"kernels\": [{\"name\": \"f\", \"groups\": [\"min(ceil(N/64), 65535)\", \"1\"], \"params\": {\"bytes\": 8,"
    " \"fields\": [{\"kind\": \"scalar\", \"offset\": 4, \"size\": 4, \"value\": \"N\"}]}}],"
    " \"steps\": [{\"do\": \"repeat\", \"times\": \"max(N - 1, 0) % 3\", \"count\": 1e10}]}";

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void visit(const cJSON *o, symbols *s)
{
    static const char *const keys[] = {"name", "offset", "size", "count", "bytes", "shape", "vyre"};
    const cJSON *child;
    int64_t value;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        (void)number(o, keys[i]);
        (void)string(o, keys[i]);
        (void)list(o, keys[i]);
    }
    (void)evaluate(o->valuestring, s, &value);
    (void)symbols_set(s, o->string, number(o, "count"), o->valuedouble);
    cJSON_ArrayForEach(child, o) visit(child, s);
}

static void test_damaged(void **state)
{
    (void)state;
    const char *given = getenv("VYRE_SEED");
    const uint64_t first = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    static const char bytes[] = "0123456789+-*/%(){}[],.:\"eN^ \\xlminaq";
    print_message("VYRE_SEED=%llu\n", (unsigned long long)first);
    uint64_t seed = first, parsed = 0;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (uint64_t k = next(&seed) % 4 + 1; k; k--) {
            const size_t at = next(&seed) % (sizeof whole - 1),
                         to = next(&seed) % (sizeof whole - 1);
            const size_t n = next(&seed) % 12;
            if (next(&seed) % 3 && at + n < sizeof whole && to + n < sizeof whole)
                memmove(text + to, text + at, n); // pieces in another place
            else
                text[at] = bytes[next(&seed) % (sizeof bytes - 1)];
        }
        text[sizeof whole - 1] = 0;
        cJSON *o = cJSON_Parse(text);
        symbols s = {0};
        symbols_set(&s, "N", (int64_t)next(&seed) - (INT64_C(1) << 30), 0);
        symbols_set(&s, "len(x)", INT64_MAX, 0);
        if (o) visit(o, &s), parsed++;
        cJSON_Delete(o);
    }
    assert_true(parsed > 500); // else nothing was tested
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
