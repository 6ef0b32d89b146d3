// SPDX-License-Identifier: MIT
// w̄[o, c, u, v] = Σ_b Σ_i Σ_j ȳ[b, o, i, j] x[b, c, i + u − P, j + v − P], of some of the rows i of all images:
// gpu_conv2d_sum adds up the parts.  3×3 filters, stride 1.
//
// A workgroup makes the filters of 64 output and 16 input channels.  Of 32 columns of a row at a time, ȳ of the former
// and three rows of x of the latter lie in shared memory.  An invocation has the nine taps of one input and 8 output
// channels in registers; per four columns 14 loads feed 288 multiply-adds.
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 128) in;
layout(push_constant) uniform Sizes { uint B, C, H, W, O, P, parts; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) writeonly buffer Part { float part[]; };

shared vec4 cotangent[8][8][9]; // [k][ob] is output channel 8 k + ob; 32 columns, and 4 against bank conflicts
shared vec4 pixels[16][3][9];   // [channel][row]: 34 columns

void main()
{
    const uint lane = gl_LocalInvocationIndex, across = lane & 31, band = lane >> 5;
    const int rows = int(H + 2 * P) - 2, columns = int(W + 2 * P) - 2; // of ȳ
    const uint c0 = gl_WorkGroupID.x * 16, o0 = gl_WorkGroupID.y * 64, plane = uint(rows * columns);
    const uint ob = lane & 7, channel = lane >> 3;
    const uint all = B * uint(rows), each = (all + parts - 1) / parts;
    float sum[8][9];
    [[unroll]] for (uint k = 0; k < 8; k++)
        [[unroll]] for (uint t = 0; t < 9; t++) sum[k][t] = 0.0;
    for (uint n = gl_WorkGroupID.z * each; n < min(all, (gl_WorkGroupID.z + 1) * each); n++) {
        const uint b = n / uint(rows);
        const int i = int(n % uint(rows)), top = i - int(P);
        for (int j0 = 0; j0 < columns; j0 += 32) {
            const int j = j0 + int(across), left = j - int(P);
            const bool inside = left >= 0 && left < int(W);
            const uint from_y = b * O * plane + uint(i * columns + min(j, columns - 1));
            [[unroll]] for (uint k = 0; k < 16; k++) {
                const float y = grad_y[min(o0 + 4 * k + band, O - 1) * plane + from_y];
                cotangent[k >> 1][(k & 1) * 4 + band][across >> 2][across & 3] = j < columns ? y : 0.0;
            }
            const uint from_x = b * C * (H * W) + uint(clamp(left, 0, int(W) - 1));
            [[unroll]] for (uint k = 0; k < 4; k++)
                [[unroll]] for (uint u = 0; u < 3; u++) {
                    const int row = top + int(u);
                    const float value = x[min(c0 + 4 * k + band, C - 1) * (H * W) +
                                          (uint(clamp(row, 0, int(H) - 1)) * W + from_x)];
                    pixels[4 * k + band][u][across >> 2][across & 3] = inside && row >= 0 && row < int(H) ? value : 0.0;
                }
            if (lane < 96) { // two more columns
                const uint c = lane / 6, u = lane / 2 % 3;
                const int row = top + int(u), end = j0 + 32 - int(P) + int(lane & 1);
                const float value = x[((b * C + min(c0 + c, C - 1)) * H + uint(clamp(row, 0, int(H) - 1))) * W +
                                      uint(clamp(end, 0, int(W) - 1))];
                pixels[c][u][8][lane & 1] = end >= 0 && end < int(W) && row >= 0 && row < int(H) ? value : 0.0;
            }
            barrier();
            const uint fours = uint(min(8, (columns - j0 + 3) / 4));
            [[dont_unroll]] for (uint q = 0; q < fours; q++) {
                float window[3][6];
                [[unroll]] for (uint u = 0; u < 3; u++)
                    [[unroll]] for (uint n = 0; n < 6; n++) window[u][n] = pixels[channel][u][q + n / 4][n & 3];
                [[unroll]] for (uint k = 0; k < 8; k++) {
                    const vec4 y = cotangent[k][ob][q];
                    [[unroll]] for (uint e = 0; e < 4; e++)
                        [[unroll]] for (uint t = 0; t < 9; t++) sum[k][t] += y[e] * window[t / 3][e + t % 3];
                }
            }
            barrier();
        }
    }
    [[unroll]] for (uint k = 0; k < 8; k++) {
        const uint o = o0 + 8 * k + ob, c = c0 + channel;
        if (o < O && c < C)
            [[unroll]] for (uint t = 0; t < 9; t++) part[((gl_WorkGroupID.z * O + o) * C + c) * 9 + t] = sum[k][t];
    }
}
