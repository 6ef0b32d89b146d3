// SPDX-License-Identifier: MIT
// grad_b[k, j] = Σ_i a[i, k] grad_c[i, j]: both factors lie across i, so rows of both go into shared memory
// as they are.  Tiles as in matmul_grad_a.comp.
// Measured: 0.42 to 0.827 % of the peak copy bandwidth and 5.25 to 5.29 % of the peak multiply-add rate by all kernels of matmul.plan (llvmpipe, tools/benchmark heads).
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Sizes { uint M, N, K; };
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer GradC { float grad_c[]; };
layout(std430, binding = 2) writeonly buffer GradB { float grad_b[]; };

const uint TILE = 64, DEPTH = 16;
shared float left[DEPTH][TILE], right[DEPTH][TILE];

void main()
{
    const uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    const uint row = gl_WorkGroupID.y * TILE, column = gl_WorkGroupID.x * TILE;
    float sum[4][4];
    for (uint r = 0; r < 4; r++)
        for (uint c = 0; c < 4; c++) sum[r][c] = 0.0;
    for (uint start = 0; start < M; start += DEPTH) {
        const uint i = start + y;
        for (uint c = 0; c < 4; c++) {
            const uint at = x + 16 * c;
            left[y][at] = i < M && row + at < K ? a[i * K + row + at] : 0.0;
            right[y][at] = i < M && column + at < N ? grad_c[i * N + column + at] : 0.0;
        }
        barrier();
        for (uint d = 0; d < DEPTH; d++) {
            float u[4], v[4];
            for (uint r = 0; r < 4; r++) u[r] = left[d][y + 16 * r];
            for (uint c = 0; c < 4; c++) v[c] = right[d][x + 16 * c];
            for (uint r = 0; r < 4; r++)
                for (uint c = 0; c < 4; c++) sum[r][c] += u[r] * v[c];
        }
        barrier();
    }
    for (uint r = 0; r < 4; r++)
        for (uint c = 0; c < 4; c++) {
            const uint k = row + y + 16 * r, j = column + x + 16 * c;
            if (k < K && j < N) grad_b[k * N + j] = sum[r][c];
        }
}
