// SPDX-License-Identifier: MIT
// w̄[o, c, u, v] = Σ_b Σ_i Σ_j ȳ[b, o, i, j] x[b, c, i + u − P, j + v − P] and bias_o = Σ ȳ: 3×3 filters, stride 1.
//
// A subgroup makes the filters of 4 output and 2 input channels.  Its lanes have neighbouring columns and go down the rows
// with a window of three rows of x, so that 10 loads feed 72 multiplications; what the lanes have summed up meets in
// subgroup additions at the end.  No partial results in memory, no shared memory.
// On lavapipe 7.2 GFLOP/s per second of CPU time, of 33 that nbody's shaders reach.
// Measured: 24.6 % of the peak multiply-add rate by all kernels of conv2d.plan (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint B, C, H, W, O, P; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) writeonly buffer GradW { float grad_w[]; };
layout(std430, binding = 3) writeonly buffer GradBias { float grad_bias[]; };

float sum[4][2][9], total[4], window[2][3][3];

// Row `row` of x around the column, for both channels, into row `at` of the window
void load(int at, uint b, uint first, int row, int column)
{
    for (int c = 0; c < 2; c++)
        for (int v = 0; v < 3; v++) {
            const int j = column + v;
            const float value = x[((b * C + min(first + c, C - 1)) * H + uint(clamp(row, 0, int(H) - 1))) * W +
                                  uint(clamp(j, 0, int(W) - 1))];
            window[c][at][v] = row >= 0 && row < int(H) && j >= 0 && j < int(W) ? value : 0.0;
        }
}

void accumulate(uint b, uint o, uint c, uint j, uint rows, uint columns)
{
    const int left = int(j) - int(P);
    load(0, b, c, -int(P), left);
    load(1, b, c, 1 - int(P), left);
    for (uint i = 0; i < rows; i++) {
        load(2, b, c, int(i) + 2 - int(P), left);
        for (uint k = 0; k < 4; k++) {
            const float g = grad_y[((b * O + min(o + k, O - 1)) * rows + i) * columns + j];
            total[k] += g;
            for (uint d = 0; d < 2; d++)
                for (uint t = 0; t < 9; t++) sum[k][d][t] += g * window[d][t / 3][t % 3];
        }
        for (uint d = 0; d < 2; d++) {
            window[d][0] = window[d][1];
            window[d][1] = window[d][2];
        }
    }
}

void main()
{
    const uint rows = H + 2 * P - 2, columns = W + 2 * P - 2, across = (C + 1) / 2, tiles = (O + 3) / 4 * across;
    for (uint tile = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; tile < tiles;
         tile += gl_NumWorkGroups.x * gl_NumSubgroups) {
        const uint o = tile / across * 4, c = tile % across * 2;
        for (uint k = 0; k < 4; k++) {
            total[k] = 0.0;
            for (uint t = 0; t < 9; t++) sum[k][0][t] = sum[k][1][t] = 0.0;
        }
        for (uint b = 0; b < B; b++)
            for (uint j = gl_SubgroupInvocationID; j < columns; j += gl_SubgroupSize)
                accumulate(b, o, c, j, rows, columns);
        for (uint k = 0; k < 4; k++) {
            const float all = subgroupAdd(total[k]);
            if (c == 0 && o + k < O && subgroupElect()) grad_bias[o + k] = all;
            for (uint d = 0; d < 2; d++)
                for (uint t = 0; t < 9; t++) {
                    const float s = subgroupAdd(sum[k][d][t]);
                    if (o + k < O && c + d < C && subgroupElect()) grad_w[((o + k) * C + c + d) * 9 + t] = s;
                }
        }
    }
}
