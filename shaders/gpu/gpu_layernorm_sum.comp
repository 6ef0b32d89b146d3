// SPDX-License-Identifier: MIT
// Adds up what the workgroups of gpu_layernorm_rows have found: 32 columns a workgroup, every eighth part an invocation.
#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(push_constant) uniform Sizes { uint C, parts; };
layout(std430, binding = 0) readonly buffer Part { vec2 part[]; };
layout(std430, binding = 1) writeonly buffer GradGain { float grad_gain[]; };
layout(std430, binding = 2) writeonly buffer GradBias { float grad_bias[]; };

shared vec2 eighths[8][32];

void main()
{
    const uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, c = gl_GlobalInvocationID.x;
    vec2 sum = vec2(0.0);
    for (uint p = y; p < parts && c < C; p += 8) sum += part[p * C + c];
    eighths[y][x] = sum;
    barrier();
    if (y > 0 || c >= C) return;
    for (uint n = 1; n < 8; n++) sum += eighths[n][x];
    grad_gain[c] = sum.x;
    grad_bias[c] = sum.y;
}
