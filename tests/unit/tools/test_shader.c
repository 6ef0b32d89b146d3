// SPDX-License-Identifier: MIT
// test_shader.c: what the command reads from shaders written by hand (tools/verbs/bench/shader.c): the right
// facts from a valid module; a diagnostic and no harm from a damaged one that no validator has
// seen, and when memory runs out.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long allocations_left = -1; // that succeed; negative: all

static bool refused(void) { return allocations_left >= 0 && allocations_left-- == 0; }
static void *test_calloc(size_t n, size_t size) { return refused() ? NULL : calloc(n, size); }
static void *test_realloc(void *p, size_t n) { return refused() ? NULL : realloc(p, n); }

#define calloc test_calloc
#define realloc test_realloc
#include "tools/verbs/bench/shader.c"
#undef calloc
#undef realloc
#include "tools/data/text.c"

#include "tests/shader_shared.comp.h"
#include "tests/vkrt_affine.comp.h"

// cmocka has a macro `fail`, so it comes after them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORDS = sizeof shader_shared / sizeof *shader_shared };

static void reads_what_is_there(void **state)
{
    (void)state;
    shader s;
    vy_diag d = {0};
    assert_true(shader_read(&s, shader_shared, WORDS, "s.spv", &d));
    assert_int_equal(s.version, 0x10300);
    assert_int_equal(s.local_size[0], 32);
    assert_int_equal(s.local_size[1], 2);
    assert_int_equal(s.local_size[2], 1);
    assert_int_equal(s.shared_bytes, 10 * 12 + 3 * 64 * 4);
    assert_int_equal(s.binding_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const shader_binding *b = &s.bindings[i];
        assert_int_equal(b->set, 0);
        assert_true(b->binding == 0 || b->binding == 5);
        assert_int_equal(b->read_only, b->binding == 0);
    }
    static const shader_field fields[] = {{0, 4, false}, {4, 4, true}, {8, 8, true}};
    assert_int_equal(s.field_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(s.fields[i].offset, fields[i].offset);
        assert_int_equal(s.fields[i].size, fields[i].size);
        assert_int_equal(s.fields[i].floating, fields[i].floating);
    }
    assert_int_equal(s.features, VY_FEATURE_BIT(FLOAT64) | VY_FEATURE_BIT(SUBGROUP_BASIC) |
                                     VY_FEATURE_BIT(SUBGROUP_ARITHMETIC));
    shader_free(&s);
}

// Reads the module, or reports why not.
// glslangValidator -V as such compiles for Vulkan 1.0, where storage buffers are of class Uniform.
static void reads_vulkan_1_0(void **state)
{
    (void)state;
    shader s;
    vy_diag d = {0};
    assert_true(
        shader_read(&s, vkrt_affine, sizeof vkrt_affine / sizeof *vkrt_affine, "a.spv", &d));
    assert_int_equal(s.version, 0x10000);
    assert_int_equal(s.binding_count, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(s.bindings[i].read_only, s.bindings[i].binding == 0);
    assert_int_equal(s.field_count, 3);
    shader_free(&s);
}

static void harmless(const uint32_t *words, size_t count)
{
    shader s;
    vy_diag d = {0};
    if (!shader_read(&s, words, count, "s.spv", &d)) {
        assert_int_equal(d.severity, VY_ERROR);
        assert_true(d.text[0] && d.code);
    }
    shader_free(&s);
}

// In memory of exactly its size, so that sanitizers see a read past the end.
static void damage_is_harmless(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 1, 5, 0xffff, 0x10000, 0x7fffffff, 0x80000000, UINT32_MAX};
    uint32_t *copy = malloc(sizeof shader_shared);
    assert_non_null(copy);
    for (size_t i = 0; i < WORDS; i++) {
        for (size_t k = 0; k < COUNT_OF(values) + 32; k++) {
            memcpy(copy, shader_shared, sizeof shader_shared);
            copy[i] = k < 32 ? copy[i] ^ 1u << k : values[k - 32];
            if (i == 3 && copy[i] > 1 << 16) continue; // only more memory
            harmless(copy, WORDS);
        }
        uint32_t *cut = malloc(i * sizeof *cut + 1);
        assert_non_null(cut);
        memcpy(cut, shader_shared, i * sizeof *cut);
        harmless(cut, i);
        free(cut);
    }
    free(copy);
}

static void no_memory(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        shader s;
        vy_diag d = {0};
        allocations_left = n;
        const bool ok = shader_read(&s, shader_shared, WORDS, "s.spv", &d);
        allocations_left = -1;
        shader_free(&s);
        if (ok) {
            assert_int_equal(n, 4); // entities, two bindings, fields
            return;
        }
        assert_string_equal(d.code, "E0001");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_there),
        cmocka_unit_test(reads_vulkan_1_0),
        cmocka_unit_test(damage_is_harmless),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
