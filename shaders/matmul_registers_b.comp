// SPDX-License-Identifier: MIT
// grad_b[k, j] = Σ_i a[i, k] grad_c[i, j] by tiles in registers alone, as matmul_registers_a.comp.
// Measured: 0.899 to 2.04 % of the peak copy bandwidth and 11.9 to 13 % of the peak multiply-add rate by all kernels of matmul_registers.plan (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Sizes { uint M, N, K; };
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer GradC { float grad_c[]; };
layout(std430, binding = 2) writeonly buffer GradB { float grad_b[]; };

const uint ROWS = 8, COLUMNS = 4;

void main()
{
    const uint row = gl_GlobalInvocationID.y * ROWS;
    const uint column = gl_WorkGroupID.x * 8 * COLUMNS + gl_LocalInvocationID.x; // then every 8th
    uint left[ROWS], right[COLUMNS];
    float sum[ROWS][COLUMNS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) left[r] = min(row + r, K - 1);
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) right[c] = min(column + 8 * c, N - 1);
    [[unroll]] for (uint r = 0; r < ROWS; r++)
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) sum[r][c] = 0.0;
    for (uint i = 0; i < M; i++) {
        float u[ROWS], v[COLUMNS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) u[r] = a[i * K + left[r]];
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) v[c] = grad_c[i * N + right[c]];
        [[unroll]] for (uint r = 0; r < ROWS; r++)
            [[unroll]] for (uint c = 0; c < COLUMNS; c++) sum[r][c] += u[r] * v[c];
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++)
        [[unroll]] for (uint c = 0; c < COLUMNS; c++)
            if (row + r < K && column + 8 * c < N) grad_b[(row + r) * N + column + 8 * c] = sum[r][c];
}
