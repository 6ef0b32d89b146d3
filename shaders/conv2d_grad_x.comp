// SPDX-License-Identifier: MIT
// x̄[b, c, i, j] = Σ_o Σ_u Σ_v w[o, c, u, v] ȳ[b, o, i + P − u, j + P − v]: 3×3 filters, stride 1.
//
// Each element gathers.  An invocation makes 8 rows of one column for 4 channels: 32 sums in registers, so a value of ȳ is
// used 12 times and a weight 8 times.  Neighbours have neighbouring columns; the 36 weights of an output channel, the same
// for all, are 36 neighbouring words: eight lanes load eight each, and broadcasts hand them round.  No shared memory.
// On lavapipe 8.3 GFLOP/s per second of CPU time, of 33 that nbody's shaders reach.
// Measured: 24.6 % of the peak multiply-add rate by all kernels of conv2d.plan (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Sizes { uint B, C, H, W, O, P; };
layout(std430, binding = 0) readonly buffer Filters { float w[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) writeonly buffer GradX { float grad_x[]; };

float sum[4][8], column[10], weight[5];

// sum[c][r] += w[c, u, v] ȳ at row r − u
#define TAP(c, u, v)                                                                                                  \
    {                                                                                                                 \
        const float f = subgroupBroadcast(weight[((c) * 9 + (u) * 3 + (v)) / 8], ((c) * 9 + (u) * 3 + (v)) % 8);      \
        for (int r = 0; r < 8; r++) sum[c][r] += f * column[r + 2 - (u)];                                             \
    }
#define TAPS(c, v) TAP(c, 0, v) TAP(c, 1, v) TAP(c, 2, v)
#define COLUMN(v)                                                                                                     \
    {                                                                                                                 \
        const int j = left - (v);                                                                                     \
        for (int r = 0; r < 10; r++) {                                                                                \
            const float g = grad_y[plane + clamp(top + r, 0, rows - 1) * columns + clamp(j, 0, columns - 1)];         \
            column[r] = top + r >= 0 && top + r < rows && j >= 0 && j < columns ? g : 0.0;                            \
        }                                                                                                             \
        TAPS(0, v) TAPS(1, v) TAPS(2, v) TAPS(3, v)                                                                   \
    }

void main()
{
    const int rows = int(H + 2 * P) - 2, columns = int(W + 2 * P) - 2; // of ȳ
    const uint j = gl_WorkGroupID.x * 8 + gl_LocalInvocationID.x, blocks = (H + 63) / 64;
    const uint i = (gl_WorkGroupID.y % blocks * 8 + gl_LocalInvocationID.y) * 8, first = gl_WorkGroupID.y / blocks * 4;
    const uint b = gl_WorkGroupID.z, lane = gl_SubgroupInvocationID & 7;
    const int top = int(i + P) - 2, left = int(j + P);
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 8; r++) sum[c][r] = 0.0;
    for (uint o = 0; o < O; o++) {
        for (uint k = 0; k < 5; k++) weight[k] = w[min((o * C + first) * 9 + 8 * k + lane, O * C * 9 - 1)];
        const int plane = int(b * O + o) * rows * columns;
        COLUMN(0) COLUMN(1) COLUMN(2)
    }
    if (j >= W) return;
    for (uint c = 0; c < 4; c++)
        for (uint r = 0; r < 8; r++)
            if (first + c < C && i + r < H) grad_x[((b * C + first + c) * H + i + r) * W + j] = sum[c][r];
}
