// SPDX-License-Identifier: MIT
// test_load.c: files of any kind as modules (session/load.h).
#include "session/load.h"
#include "spirv/spirv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/vyre-load-XXXXXX";

static const char *const main_text =
    "import \"other.vyre\";\n"
    "const K: f32 = 2.0;\n"
    "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = K * square(x[i]); }\n";
static const char *const other_text = "fn square(v: f32) -> f32 { return v * v; }\n";
static const char *const shader_text = "#version 450\n"
                                       "layout(local_size_x = 64) in;\n"
                                       "layout(binding = 0) buffer B { float y[]; };\n"
                                       "void main() { y[gl_GlobalInvocationID.x] *= SCALE; }\n";

static const char *in_folder(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static vy_module *load(const char *name, const vys_load_options *o)
{
    vy_diag d = {0};
    vy_module *m = NULL;
    const bool ok = vys_load(in_folder(name), o, &m, &d);
    if (!ok) print_message("%s: %s\n", name, d.text);
    assert_true(ok);
    return m;
}

static char *printed(const vy_module *m)
{
    char *text = vy_print(m, NULL);
    assert_non_null(text);
    return text;
}

static void test_kinds(void **state)
{
    (void)state;
    vy_module *m = load("main.vyre", NULL);
    char *text = printed(m);
    size_t size;
    void *binary = vy_binary_write(m, &size);
    assert_non_null(binary);
    write_file("main.vyb", binary, size);
    vy_diag d = {0};
    vy_compiled *c = vy_compile(vy_module_find(m, "f"), NULL, &d);
    assert_non_null(c);
    write_file("main.spv", c->words, c->word_count * sizeof *c->words);
    vy_module *again = load("main.vyb", NULL), *read = load("main.spv", NULL);
    char *same = printed(again);
    assert_string_equal(text, same);
    assert_non_null(vy_module_program(read, 0));
    vy_compiled_free(c);
    free(binary);
    free(text);
    free(same);
    vy_module_free(read);
    vy_module_free(again);
    vy_module_free(m);
}

static void test_definitions(void **state)
{
    (void)state;
    const vy_define k = {"K", "3.5"}, scale = {"SCALE", "4.25"};
    vy_module *m = load("main.vyre", &(vys_load_options){.defines = &k, .define_count = 1});
    char *text = printed(m);
    assert_non_null(strstr(text, "3.5"));
    free(text);
    vy_module_free(m);
    m = load("scale.comp", &(vys_load_options){.defines = &scale, .define_count = 1});
    text = printed(m);
    assert_non_null(strstr(text, "4.25"));
    free(text);
    vy_module_free(m);
}

// A folder of its own for what a text imports.
static void test_folders(void **state)
{
    (void)state;
    const char *const folders[] = {folder};
    vy_diag d = {0};
    vy_module *m = NULL;
    assert_false(vys_load_data(main_text, strlen(main_text), "text", NULL, &m, &d));
    assert_non_null(m);
    char message[600];
    vy_module_diag_format(m, &d, false, message, sizeof message);
    assert_non_null(strstr(message, "text:1:"));
    assert_non_null(strstr(message, "other.vyre"));
    vy_module_free(m);
    d = (vy_diag){0};
    assert_true(vys_load_data(main_text, strlen(main_text), "text",
                              &(vys_load_options){.includes = folders, .include_count = 1}, &m,
                              &d));
    vy_module_free(m);
}

static void refused(const char *name, const char *code, const char *text)
{
    vy_diag d = {0};
    vy_module *m = NULL;
    assert_false(vys_load(in_folder(name), NULL, &m, &d));
    assert_string_equal(d.code, code);
    assert_non_null(strstr(d.text, text));
    vy_module_free(m);
}

static void test_refused(void **state)
{
    (void)state;
    refused("nothing.vyre", "E0901", "cannot open");
    refused("", "E0901", "it is a folder");
    refused("nothing.comp", "E0901", "cannot open");
    refused("scale.comp", "E0810", "SCALE");
    refused("wrong.vyre", "E0201", "`z`");
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    write_file("main.vyre", main_text, strlen(main_text));
    write_file("other.vyre", other_text, strlen(other_text));
    write_file("scale.comp", shader_text, strlen(shader_text));
    const char *const wrong = "program f(y: out f32[N], N: u32) over(i: N) { y[i] = z; }\n";
    write_file("wrong.vyre", wrong, strlen(wrong));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const names[] = {"main.vyre",  "other.vyre", "scale.comp",
                                        "wrong.vyre", "main.vyb",   "main.spv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
