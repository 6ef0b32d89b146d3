// SPDX-License-Identifier: MIT
// builtin.c: names of built-in functions and values.
#include "ir/build/geometry.h"
#include "ir/build/library.h"
#include "ir/text/front.h"

#include <string.h>

// Functions other than the CALL rows of ops.h.
static const vy_builtin_info specials[] = {
    {"recip", BF_COMPOSED, 1, VY_RULE_F, 0},
    {"relu", BF_COMPOSED, 1, VY_RULE_F, 0},
    {"fract", BF_COMPOSED, 1, VY_RULE_F, 0},
    {"mod", BF_COMPOSED, 2, VY_RULE_F, 0},
    {"step", BF_COMPOSED, 2, VY_RULE_F, 0},
    {"clamp", BF_COMPOSED, 3, VY_RULE_N, 0},
    {"mix", BF_COMPOSED, 3, VY_RULE_F, 0},
    {"smoothstep", BF_COMPOSED, 3, VY_RULE_F, 0},
    {"digamma", BF_COMPOSED, 1, VY_RULE_F, 0},
    {"polygamma", BF_POLYGAMMA, 2, VY_RULE_F, VY_OP_POLYGAMMA},
    {"len", BF_LEN, 1, VY_RULE_S, 0},
    {"atomic_add", BF_ATOMIC, 2, VY_RULE_N, VY_OP_ATOMIC_ADD},
    {"atomic_sub", BF_ATOMIC, 2, VY_RULE_N, VY_OP_SUB},
    {"atomic_min", BF_ATOMIC, 2, VY_RULE_N, VY_OP_ATOMIC_MIN},
    {"atomic_max", BF_ATOMIC, 2, VY_RULE_N, VY_OP_ATOMIC_MAX},
    {"atomic_and", BF_ATOMIC, 2, VY_RULE_I, VY_OP_ATOMIC_AND},
    {"atomic_or", BF_ATOMIC, 2, VY_RULE_I, VY_OP_ATOMIC_OR},
    {"atomic_xor", BF_ATOMIC, 2, VY_RULE_I, VY_OP_ATOMIC_XOR},
    {"atomic_exchange", BF_ATOMIC, 2, VY_RULE_N, VY_OP_ATOMIC_EXCHANGE},
    {"atomic_cas", BF_ATOMIC_CAS, 3, VY_RULE_N, VY_OP_ATOMIC_CAS},
    {"barrier", BF_BARRIER, 0, VY_RULE_S, VY_OP_BARRIER},
    {"bitcast_f32", BF_BITCAST, 1, VY_RULE_S, VY_F32},
    {"bitcast_u32", BF_BITCAST, 1, VY_RULE_S, VY_U32},
    {"bitcast_i32", BF_BITCAST, 1, VY_RULE_S, VY_I32},
    {"bitcast_f64", BF_BITCAST, 1, VY_RULE_S, VY_F64},
    {"bitcast_u64", BF_BITCAST, 1, VY_RULE_S, VY_U64},
    {"bitcast_i64", BF_BITCAST, 1, VY_RULE_S, VY_I64},
    {"sum", BF_REDUCE, 0, VY_RULE_N, VY_OP_ADD},
    {"prod", BF_REDUCE, 0, VY_RULE_N, VY_OP_MUL},
};

// The CALL rows in the same form, so that one lookup serves.
static const vy_builtin_info rows[] = {
#define PREFIX(n) 0
#define INFIX(n) 0
#define SPECIAL(n) 0
#define CALL(n) n
#define LOWERED(n) n
#define X(id, text, form, rule, effect, fold, deriv, spirv, cost)                                  \
    {(form) ? text : "", BF_OP, form, VY_RULE_##rule, VY_OP_##id},
    VY_OPS(X)
#undef X
};

static const vy_builtin_info select_info = {"select", BF_SELECT, 3, VY_RULE_S, VY_OP_SELECT};

const vy_builtin_info *vy_builtin_find(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials;
         i++) // first: clamp is for integers too
        if (strncmp(specials[i].text, s, n) == 0 && specials[i].text[n] == 0) return &specials[i];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].arity || rows[i].text[0] != s[0]) continue;
        if (strncmp(rows[i].text, s, n) != 0 || rows[i].text[n]) continue;
        return rows[i].op == VY_OP_SELECT ? &select_info : &rows[i];
    }
    return NULL;
}

// A function of the module may have their names, as no operation is printed by them.
static const vy_builtin_info geometry[] = {{"dot", BF_GEOMETRY, 2, VY_RULE_F, VY_DOT},
                                           {"cross", BF_GEOMETRY, 2, VY_RULE_F, VY_CROSS},
                                           {"length", BF_GEOMETRY, 1, VY_RULE_F, VY_LENGTH},
                                           {"distance", BF_GEOMETRY, 2, VY_RULE_F, VY_DISTANCE},
                                           {"normalize", BF_GEOMETRY, 1, VY_RULE_F, VY_NORMALIZE},
                                           {"reflect", BF_GEOMETRY, 2, VY_RULE_F, VY_REFLECT},
                                           {"refract", BF_GEOMETRY, 3, VY_RULE_F, VY_REFRACT},
                                           {"faceforward", BF_GEOMETRY, 3, VY_RULE_F,
                                            VY_FACEFORWARD},
                                           {"transpose", BF_MATRIX, 1, VY_RULE_F, 0},
                                           {"determinant", BF_MATRIX, 1, VY_RULE_F, 1},
                                           {"inverse", BF_MATRIX, 1, VY_RULE_F, 2},
                                           {"outer", BF_MATRIX, 2, VY_RULE_F, 3},
#define X(name, takes, gives) {#name, BF_LIBRARY, sizeof takes - 1, VY_RULE_S, VY_LIB_##name},
                                           VY_LIBRARY(X)
#undef X
};
enum { GEOMETRY = sizeof geometry / sizeof *geometry };

const vy_builtin_info *vy_geometry_find(const char *s, size_t n)
{
    for (size_t i = 0; i < GEOMETRY; i++)
        if (strlen(geometry[i].text) == n && memcmp(geometry[i].text, s, n) == 0)
            return &geometry[i];
    return NULL;
}

const char *vy_builtin_function_name(uint32_t i)
{
    const uint32_t n = sizeof specials / sizeof *specials, m = sizeof rows / sizeof *rows;
    if (i >= n + m) return i - n - m < GEOMETRY ? geometry[i - n - m].text : NULL;
    return i < n ? specials[i].text : rows[i - n].text;
}

static const char *const values[] = {"gid",    "lid",  "wid",          "num_groups",
                                     "lindex", "lane", "subgroup_size"}; // as vy_builtin

const char *vy_builtin_value_name(uint32_t i)
{
    return i < sizeof values / sizeof *values ? values[i] : NULL;
}

bool vy_builtin_value_find(const char *s, size_t n, vy_builtin *out)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (strlen(values[i]) != n || memcmp(values[i], s, n) != 0) continue;
        *out = (vy_builtin)i;
        return true;
    }
    return false;
}

bool vy_word_is_taken(const char *s, size_t n)
{
    static const char *const literals[] = {"inf", "nan", "pi"};
    vy_builtin unused;
    for (int i = 0; i < 3; i++)
        if (strlen(literals[i]) == n && memcmp(literals[i], s, n) == 0) return true;
    return vy_keyword_is(s, n) || vy_builtin_find(s, n) || vy_builtin_value_find(s, n, &unused);
}
