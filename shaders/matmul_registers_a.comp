// SPDX-License-Identifier: MIT
// grad_a[i, k] = Σ_j grad_c[i, j] b[k, j] by tiles in registers alone, for devices whose shared memory is
// ordinary memory and whose barriers cost (software, many integrated ones).  An invocation makes 8 × 4
// elements: 12 loads for 32 multiply-adds.  Rows and columns past the end read the last one.
// Measured: 0.899 to 2.04 % of the peak copy bandwidth and 11.9 to 13 % of the peak multiply-add rate by all kernels of matmul_registers.plan (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Sizes { uint M, N, K; };
layout(std430, binding = 0) readonly buffer GradC { float grad_c[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer GradA { float grad_a[]; };

const uint ROWS = 8, COLUMNS = 4;

void main()
{
    const uint row = gl_GlobalInvocationID.y * ROWS;
    const uint column = gl_WorkGroupID.x * 8 * COLUMNS + gl_LocalInvocationID.x; // then every 8th
    uint left[ROWS], right[COLUMNS];
    float sum[ROWS][COLUMNS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) left[r] = min(row + r, M - 1) * N;
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) right[c] = min(column + 8 * c, K - 1) * N;
    [[unroll]] for (uint r = 0; r < ROWS; r++)
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) sum[r][c] = 0.0;
    for (uint j = 0; j < N; j++) {
        float u[ROWS], v[COLUMNS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) u[r] = grad_c[left[r] + j];
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) v[c] = b[right[c] + j];
        [[unroll]] for (uint r = 0; r < ROWS; r++)
            [[unroll]] for (uint c = 0; c < COLUMNS; c++) sum[r][c] += u[r] * v[c];
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++)
        [[unroll]] for (uint c = 0; c < COLUMNS; c++)
            if (row + r < M && column + 8 * c < K) grad_a[(row + r) * K + column + 8 * c] = sum[r][c];
}
