// SPDX-License-Identifier: MIT
// x̄[b, c, i, j] = Σ_o Σ_u Σ_v w[o, c, u, v] ȳ[b, o, i + P − u, j + P − v]: 3×3 filters, stride 1.
//
// An implicit product: a workgroup makes 16 channels of 8 × 32 pixels.  Of eight output channels at a time the pixels
// of ȳ that these need and the filters lie in shared memory.  An invocation has 4 channels × 8 neighbouring columns in
// registers: three loads of ȳ serve three taps, a load of four filters 32 multiply-adds.
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 128) in;
layout(push_constant) uniform Sizes { uint B, C, H, W, O, P; };
layout(std430, binding = 0) readonly buffer Filters { float w[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) writeonly buffer GradX { float grad_x[]; };

const uint DEPTH = 8, ROWS = 10;              // output channels at a time; rows of ȳ for 8 of x
shared vec4 pixels[DEPTH][ROWS][9];           // 34 columns, and 2 that keep rows on banks of their own
shared vec4 filters[DEPTH][9][4];             // [][tap][16 channels]

void main()
{
    const uint lane = gl_LocalInvocationIndex, across = lane & 31, band = lane >> 5;
    const int rows = int(H + 2 * P) - 2, columns = int(W + 2 * P) - 2; // of ȳ
    const uint tall = (H + 7) / 8, first = gl_WorkGroupID.y / tall * 16, b = gl_WorkGroupID.z;
    const uint i0 = gl_WorkGroupID.y % tall * 8, j0 = gl_WorkGroupID.x * 32;
    const int top = int(i0 + P) - 2, left = int(j0 + P) - 2, j = left + int(across);
    const uint plane = uint(rows * columns);
    const uint jb = lane & 3, row = lane >> 2 & 7, cb = lane >> 5;
    vec4 sum[4][2];
    [[unroll]] for (uint c = 0; c < 4; c++) sum[c][0] = sum[c][1] = vec4(0.0);
    for (uint o0 = 0; o0 < O; o0 += DEPTH) {
        [[unroll]] for (uint k = 0; k < 2; k++) { // 4 output channels × 32 columns, row by row
            const uint from = (b * O + min(o0 + 4 * k + band, O - 1)) * plane + uint(clamp(j, 0, columns - 1));
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                const int i = top + int(r);
                const float y = grad_y[from + uint(clamp(i, 0, rows - 1) * columns)];
                pixels[4 * k + band][r][across >> 2][across & 3] = j >= 0 && j < columns && i >= 0 && i < rows ? y : 0.0;
            }
        }
        for (uint n = lane; n < DEPTH * ROWS * 2; n += 128) { // two more columns
            const uint o = n / (2 * ROWS), r = n / 2 % ROWS;
            const int i = top + int(r), end = left + 32 + int(n & 1);
            const float y = grad_y[(b * O + min(o0 + o, O - 1)) * plane +
                                   uint(clamp(i, 0, rows - 1) * columns + clamp(end, 0, columns - 1))];
            pixels[o][r][8][n & 1] = end >= 0 && end < columns && i >= 0 && i < rows ? y : 0.0;
        }
        {
            const uint o = lane >> 4, c = lane & 15;
            const uint from = (min(o0 + o, O - 1) * C + min(first + c, C - 1)) * 9;
            [[unroll]] for (uint t = 0; t < 9; t++) {
                const float f = w[from + t];
                filters[o][t][c >> 2][c & 3] = o0 + o < O ? f : 0.0;
            }
        }
        barrier();
        [[dont_unroll]] for (uint o = 0; o < DEPTH; o++)
            [[unroll]] for (uint u = 0; u < 3; u++) {
                float y[10];
                [[unroll]] for (uint n = 0; n < 10; n++) y[n] = pixels[o][row + 2 - u][2 * jb + n / 4][n & 3];
                [[unroll]] for (uint v = 0; v < 3; v++) {
                    const vec4 f = filters[o][3 * u + v][cb];
                    [[unroll]] for (uint n = 0; n < 2; n++) {
                        const uint at = 4 * n + 2 - v;
                        const vec4 four = vec4(y[at], y[at + 1], y[at + 2], y[at + 3]);
                        [[unroll]] for (uint c = 0; c < 4; c++) sum[c][n] += f[c] * four;
                    }
                }
            }
        barrier();
    }
    [[unroll]] for (uint c = 0; c < 4; c++)
        [[unroll]] for (uint n = 0; n < 8; n++) {
            const uint channel = first + 4 * cb + c, i = i0 + row, at = j0 + 8 * jb + n;
            if (channel < C && i < H && at < W) grad_x[((b * C + channel) * H + i) * W + at] = sum[c][n >> 2][n & 3];
        }
}
