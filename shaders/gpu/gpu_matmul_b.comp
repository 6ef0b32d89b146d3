// SPDX-License-Identifier: MIT
// grad_b[k, j] = Σ_i a[i, k] grad_c[i, j] in tiles of 128 × 128, where these are enough for a GPU
// (product_tile.glsl).
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#define TILE 128
#define ROWS K
#define COLUMNS N
#define LENGTH M
#include "product_tile.glsl"
