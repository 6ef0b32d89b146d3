// SPDX-License-Identifier: MIT
// test_import.c: imports through the C API: the callback, depth, limits, places, lack of memory.
#include "tests/unit/eval_util.h"
#include "ir/core/ir.h"
#include "session/import.h"
#include "session/session.h"
#include "tests/unit/failing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct files { // what the callback gives
    const char *const (*known)[2];
    uint32_t calls;
    uint32_t deep; // file k imports file k + 1, up to this one
} files;

static void give(void *user, vy_import *i)
{
    files *f = user;
    f->calls++;
    for (uint32_t k = 0; f->known[k][0]; k++)
        if (!strcmp(f->known[k][0], vy_import_path(i)))
            vy_import_give(i, f->known[k][0], NULL, f->known[k][1], strlen(f->known[k][1]));
}

static vy_module *parse(const char *text, files *f)
{
    const vy_parse_options o = {.import = give, .user = f};
    return vy_parse_from(text, strlen(text), "main", &o);
}

static void expect(const char *text, files *f, vy_code code, const char *message)
{
    vy_module *m = parse(text, f);
    assert_non_null(m);
    const vy_diag *d = vy_module_diag(m);
    if (!vy_diag_is(d, code) || !strstr(d->text, message))
        fail_msg("%s: %s [%s], not %s", text, d->text, d->code ? d->code : "", message);
    vy_module_free(m);
}

static const char *const two[][2] = {
    {"a", "import \"b\";\n\nfn f(x: f32) -> f32 { return g(x) + 1.0; }\n"},
    {"b", "\xEF\xBB\xBF"
          "fn g(x: f32) -> f32 { return 2.0 * x; }"},
    {"bad", "\n\n  fn h(x: f32) -> f32 { return y; }"},
    {"again", "import \"main\";"},
    {"main", ""},
    {NULL, NULL}};

static void test_callback(void **state)
{
    (void)state;
    files f = {.known = two};
    vy_module *m = parse("import \"a\"; import \"b\"; import \"a\";\n"
                         "program p(x: in f32[1], y: out f32[1]) { y[0] = f(x[0]); }",
                         &f);
    assert_true(vy_module_ok(m));
    assert_int_equal(f.calls, 4); // three of which are known when they are given
    assert_string_equal(vy_module_import(m, 0), "a");
    assert_string_equal(vy_module_import(m, 1), "b");
    assert_null(vy_module_import(m, 2));
    assert_false(vy_program_imported(vy_module_program(m, 0)));
    assert_string_equal(vy_module_place(m, 2).file, "main");
    assert_string_equal(vy_module_place(m, 3).file, "a");
    assert_int_equal(vy_module_place(m, 5).line, 3);
    assert_string_equal(vy_module_place(m, 7).file, "b");
    assert_int_equal(vy_module_place(m, 7).line, 1);
    vy_module_free(m);
}

static void test_order(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"a", "program a(x: in f32[1], y: out f32[1]) { y[0] = x[0]; }"}, {NULL, NULL}};
    files f = {.known = known};
    vy_module *m = parse("@order(2) program b(x: in f32[1], y: out f32[1]) { y[0] = x[0]; }\n"
                         "import \"a\";\n"
                         "program c(x: in f32[1], y: out f32[1]) { y[0] = x[0]; }",
                         &f);
    assert_true(vy_module_ok(m));
    assert_int_equal(vy_program_order(vy_module_find(m, "a")), 0); // it belongs to one declaration
    assert_int_equal(vy_program_order(vy_module_find(m, "b")), 2);
    assert_int_equal(vy_program_order(vy_module_find(m, "c")), 0);
    vy_module_free(m);
}

static void test_refused(void **state)
{
    (void)state;
    files f = {.known = two};
    expect("import \"no\";", &f, VY_E_IMPORT, "cannot import `no`: nothing was given for it");
    expect("import \"again\";", &f, VY_E_IMPORT_CYCLE, "`main` → `again` → `main`");
    expect("import \"bad\";", &f, VY_E_NAME_UNKNOWN, "y");
    vy_module *m = vy_parse("import \"a\";", 11, "main"); // without a callback
    assert_true(vy_diag_is(vy_module_diag(m), VY_E_IMPORT));
    assert_non_null(strstr(vy_module_diag(m)->text, "files are not read here"));
    vy_module_free(m);
    m = parse("import \"bad\";", &f);
    char text[400];
    vy_module_diag_format(m, vy_module_diag(m), false, text, sizeof text);
    if (strncmp(text, "bad:3:32: error: ", 17) != 0 || !strstr(text, "    fn h(x: f32)"))
        fail_msg("%s", text);
    vy_module_free(m);
}

static void give_deep(void *user, vy_import *i)
{
    files *f = user;
    const uint32_t k = (uint32_t)atoi(vy_import_path(i));
    char text[64], name[16];
    snprintf(name, sizeof name, "%u", k);
    snprintf(text, sizeof text, "import \"%u\"; const C%u: u32 = %u;", k + 1, k, k);
    f->calls++;
    vy_import_give(i, name, NULL, text, k < f->deep ? strlen(text) : 0);
}

static void test_deep(void **state)
{
    (void)state;
    files f = {.deep = 20000};
    const vy_parse_options o = {.import = give_deep, .user = &f};
    vy_module *m = vy_parse_from("import \"1\";", 11, "main", &o);
    assert_true(vy_module_ok(m));
    assert_int_equal(f.calls, 20000);
    assert_int_equal(vy_module_place(m, 20001).line, 1);
    vy_module_free(m);
    f.deep = UINT32_MAX; // files that import new ones for ever
    m = vy_parse_from("import \"1\";", 11, "main", &o);
    assert_true(vy_diag_is(vy_module_diag(m), VY_E_LIMIT));
    vy_module_free(m);
}

static void test_memory(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done; n = next_failing(n)) {
        files f = {.known = two};
        vy_test_fail_after(n);
        vy_module *m = parse("import \"a\"; program p(y: out f32[1]) { y[0] = f(1.0); }", &f);
        vy_test_fail_after(-1);
        done = m && vy_module_ok(m);
        if (m && !done) assert_true(vy_diag_is(vy_module_diag(m), VY_E_MEMORY));
        vy_module_free(m);
    }
}

// Files, places in a copy, and the default choice, through the session layer.
static void test_session(void **state)
{
    (void)state;
    FILE *file = fopen("import_unit.vyre", "w");
    assert_non_null(file);
    fputs("\nprogram q(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = 3.0 * x[i]; }\n",
          file);
    fclose(file);
    const char *text = "import \"./import_unit.vyre\";\n"
                       "program p(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
                       "    y[i] = 2.0 * x[i];\n}";
    vy_module *m = vy_parse_from(text, strlen(text), "main.vyre",
                                 &(vy_parse_options){.import = vys_import_file});
    assert_true(vy_module_ok(m));
    vys_session *s = NULL;
    vys_task *t = NULL;
    vy_diag d = {0};
    float y[2] = {0};
    assert_true(vys_open(&(vys_session_desc){.interpreter = true}, &s, &d));
    assert_true(vys_task_build(s, m, NULL, &t, &d));
    assert_true(vys_set_flat(t, "x", VY_F32, 2, (float[]){1, 2}, &d) && vys_run(t, &d) &&
                vys_read(t, "y", VY_F32, y, sizeof y, &d));
    assert_true(y[0] == 2 && y[1] == 4);
    vys_task_free(t);
    vys_close(s);
    size_t size;
    void *bytes = vy_binary_write(m, &size);
    vy_module *again = vy_binary_read(bytes, size);
    assert_true(vy_module_ok(again));
    assert_string_equal(vy_module_place(again, 6).file, "import_unit.vyre");
    assert_int_equal(vy_module_place(again, 6).line, 2);
    assert_true(vy_program_imported(vy_module_find(again, "q")));
    for (size_t n = 0; n < size; n++) { // cut off anywhere
        vy_module *cut = vy_binary_read(bytes, n);
        assert_false(vy_module_ok(cut));
        vy_module_free(cut);
    }
    free(bytes);
    vy_module_free(again);
    vy_module_free(m);
    remove("import_unit.vyre");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callback), cmocka_unit_test(test_order),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_deep),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
