// SPDX-License-Identifier: MIT
// grad_a[i, k] = Σ_j grad_c[i, j] b[k, j] in tiles of 128 × 128, where these are enough for a GPU
// (product_tile.glsl).
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#define TILE 128
#define ROWS M
#define COLUMNS K
#define LENGTH N
#define ALONG_SUM
#include "product_tile.glsl"
