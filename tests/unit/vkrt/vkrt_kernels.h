// SPDX-License-Identifier: MIT
// vkrt_kernels.h: the shaders of tests/unit/vkrt_*.comp described by hand, as for a .spv that does
// not come from our compiler.
#ifndef VYRE_TESTS_VKRT_KERNELS_H
#define VYRE_TESTS_VKRT_KERNELS_H

#include "spirv/plan.h"

#include "vkrt_add.comp.h"
#include "vkrt_affine.comp.h"
#include "vkrt_block.comp.h"
#include "vkrt_count.comp.h"
#include "vkrt_matmul.comp.h"
#include "vkrt_visit.comp.h"

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))
#define U32(a) ((const uint32_t[]){a})
#define SYMBOL_EXPR(i)                                                                             \
    {                                                                                              \
        .op = VY_EXPR_SYMBOL, .value = (i)                                                         \
    }
#define CONST_EXPR(v)                                                                              \
    {                                                                                              \
        .op = VY_EXPR_CONST, .value = (v)                                                          \
    }
#define MODULE(code, x, y, z)                                                                      \
    .entry = "main", .words = code, .word_count = COUNT(code), .spirv_version = 0x00010000,        \
    .vulkan_version = 1u << 22 | 1u << 12, .local_size = {x, y, z}
#define PARTS(b, p, s, e)                                                                          \
    .bindings = b, .binding_count = COUNT(b), .params = p, .param_count = COUNT(p), .symbols = s,  \
    .symbol_count = COUNT(s), .exprs = e, .expr_count = COUNT(e)
#define PUSHED .param_set = VY_NO_BINDING, .param_binding = VY_NO_BINDING

// Expression 0 is the one scalar N everywhere below.
static const vy_expr n_exprs[] = {SYMBOL_EXPR(0)};
static const uint32_t n_dims[] = {0};

#define F32_1D(n, slot, how)                                                                       \
    {                                                                                              \
        .name = n, .binding = slot, .access = how, .type = "f32", .elem_size = 4, .rank = 1,       \
        .dims = n_dims                                                                             \
    }

static const vy_symbol affine_symbols[] = {{.name = "N", .type = "u32"},
                                           {.name = "a", .type = "f32"}};
static const vy_kernel_binding affine_bindings[] = {F32_1D("x", 0, VY_ACCESS_IN),
                                                    F32_1D("y", 1, VY_ACCESS_OUT)};
static const vy_kernel_param affine_params[] = {
    {"N", VY_PARAM_EXPR, "u32", 0, 0, 4},
    {"a", VY_PARAM_SCALAR, "f32", 1, 4, 4},
    {"base_x", VY_PARAM_GROUP_BASE, "u32", 0, 8, 4},
};
static const vy_kernel affine_kernel = {
    .name = "affine",
    MODULE(vkrt_affine, 64, 1, 1),
    PARTS(affine_bindings, affine_params, affine_symbols, n_exprs),
    .param_bytes = 12,
    PUSHED,
    .domain_rank = 1,
    .domain = n_dims,
};

static const vy_symbol n_symbols[] = {{.name = "N", .type = "u32"}};
static const vy_kernel_param n_params[] = {{"N", VY_PARAM_SCALAR, "u32", 0, 0, 4}};
static const vy_kernel_binding add_bindings[] = {F32_1D("x", 0, VY_ACCESS_IN),
                                                 F32_1D("acc", 1, VY_ACCESS_INOUT)};
static const vy_kernel add_kernel = {
    .name = "add",
    MODULE(vkrt_add, 64, 1, 1),
    PARTS(add_bindings, n_params, n_symbols, n_exprs),
    .param_bytes = 4,
    PUSHED,
    .domain_rank = 1,
    .domain = n_dims,
};

static const vy_expr count_exprs[] = {SYMBOL_EXPR(0), CONST_EXPR(1)};
static const uint32_t one_dims[] = {1};
static const vy_kernel_binding count_bindings[] = {
    F32_1D("x", 0, VY_ACCESS_IN),
    {.name = "total",
     .binding = 1,
     .access = VY_ACCESS_OUT,
     .clear = true,
     .type = "u32",
     .elem_size = 4,
     .rank = 1,
     .dims = one_dims},
};
static const vy_kernel count_kernel = {
    .name = "count",
    MODULE(vkrt_count, 64, 1, 1),
    PARTS(count_bindings, n_params, n_symbols, count_exprs),
    .param_bytes = 4,
    PUSHED,
    .domain_rank = 1,
    .domain = n_dims,
};

static const vy_symbol matmul_symbols[] = {{.name = "M", .type = "u32"},
                                           {.name = "N", .type = "u32"},
                                           {.name = "K", .type = "u32"}};
static const vy_expr matmul_exprs[] = {SYMBOL_EXPR(0), SYMBOL_EXPR(1), SYMBOL_EXPR(2)};
static const uint32_t mk_dims[] = {0, 2}, kn_dims[] = {2, 1}, mn_dims[] = {0, 1};
static const vy_kernel_binding matmul_bindings[] = {
    {.name = "a", .binding = 0, .type = "f32", .elem_size = 4, .rank = 2, .dims = mk_dims},
    {.name = "b", .binding = 1, .type = "f32", .elem_size = 4, .rank = 2, .dims = kn_dims},
    {.name = "c",
     .binding = 2,
     .access = VY_ACCESS_OUT,
     .clear = true,
     .type = "f32",
     .elem_size = 4,
     .rank = 2,
     .dims = mn_dims},
};
static const vy_kernel_param matmul_params[] = {
    {"M", VY_PARAM_SCALAR, "u32", 0, 0, 4},
    {"N", VY_PARAM_SCALAR, "u32", 1, 4, 4},
    {"K", VY_PARAM_SCALAR, "u32", 2, 8, 4},
    {"base_x", VY_PARAM_GROUP_BASE, "u32", 0, 12, 4},
    {"base_y", VY_PARAM_GROUP_BASE, "u32", 1, 16, 4},
};
static const vy_kernel matmul_kernel = {
    .name = "matmul",
    MODULE(vkrt_matmul, 8, 8, 1),
    PARTS(matmul_bindings, matmul_params, matmul_symbols, matmul_exprs),
    .param_bytes = 20,
    PUSHED,
    .domain_rank = 2,
    .domain = mn_dims,
};

// A domain of four axes: the first two fold into z.
static const vy_symbol visit_symbols[] = {{.name = "A", .type = "u32"},
                                          {.name = "B", .type = "u32"},
                                          {.name = "C", .type = "u32"},
                                          {.name = "D", .type = "u32"}};
static const vy_expr visit_exprs[] = {SYMBOL_EXPR(0),
                                      SYMBOL_EXPR(1),
                                      SYMBOL_EXPR(2),
                                      SYMBOL_EXPR(3),
                                      {.op = VY_EXPR_MUL, .a = 0, .b = 1},
                                      CONST_EXPR(3)};
static const uint32_t visit_dims[] = {0, 1, 2, 3}, three_dims[] = {5};
static const vy_kernel_binding visit_bindings[] = {
    {.name = "visits",
     .binding = 0,
     .access = VY_ACCESS_OUT,
     .clear = true,
     .type = "u32",
     .elem_size = 4,
     .rank = 4,
     .dims = visit_dims},
    {.name = "groups",
     .binding = 1,
     .access = VY_ACCESS_OUT,
     .clear = true,
     .type = "u32",
     .elem_size = 4,
     .rank = 1,
     .dims = three_dims},
};
static const vy_kernel_param visit_params[] = {
    {"AB", VY_PARAM_EXPR, "u32", 4, 0, 4},
    {"C", VY_PARAM_EXPR, "u32", 2, 4, 4},
    {"D", VY_PARAM_EXPR, "u32", 3, 8, 4},
    {"base_x", VY_PARAM_GROUP_BASE, "u32", 0, 12, 4},
    {"base_y", VY_PARAM_GROUP_BASE, "u32", 1, 16, 4},
    {"base_z", VY_PARAM_GROUP_BASE, "u32", 2, 20, 4},
    {"num_x", VY_PARAM_NUM_GROUPS, "u32", 0, 24, 4},
    {"num_y", VY_PARAM_NUM_GROUPS, "u32", 1, 28, 4},
    {"num_z", VY_PARAM_NUM_GROUPS, "u32", 2, 32, 4},
};
static const vy_kernel visit_kernel = {
    .name = "visit",
    MODULE(vkrt_visit, 4, 4, 4),
    PARTS(visit_bindings, visit_params, visit_symbols, visit_exprs),
    .param_bytes = 36,
    PUSHED,
    .domain_rank = 4,
    .domain = visit_dims,
};

static const vy_symbol block_symbols[] = {{.name = "N", .type = "u32"},
                                          {.name = "a", .type = "f64"}};
static const vy_kernel_binding block_bindings[] = {
    {.name = "x", .set = 1, .binding = 3, .type = "f32", .elem_size = 4, .rank = 1, .dims = n_dims},
    {.name = "y",
     .set = 1,
     .binding = 7,
     .access = VY_ACCESS_OUT,
     .type = "f32",
     .elem_size = 4,
     .rank = 1,
     .dims = n_dims},
};
static const vy_kernel_param block_params[] = {
    {"N", VY_PARAM_EXPR, "u32", 0, 0, 4},
    {"base_x", VY_PARAM_GROUP_BASE, "u32", 0, 4, 4},
    {"a", VY_PARAM_SCALAR, "f64", 1, 8, 8},
};
static const vy_kernel block_kernel = {
    .name = "block",
    MODULE(vkrt_block, 64, 1, 1),
    PARTS(block_bindings, block_params, block_symbols, n_exprs),
    .features = VY_FEATURE_BIT(FLOAT64),
    .param_bytes = 16,
    .param_set = 2,
    .param_binding = 1,
    .domain_rank = 1,
    .domain = n_dims,
};

#endif
