// SPDX-License-Identifier: MIT
// Adds up what gpu_bilateral_grid made of its parts.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Sizes { uint GH, GW, GD, parts; };
layout(std430, binding = 0) readonly buffer Part { float part[]; };
layout(std430, binding = 1) writeonly buffer GradGrid { float grad_grid[]; };

void main()
{
    const uint n = gl_GlobalInvocationID.x, count = GH * GW * GD * 12;
    float sum = 0.0;
    for (uint p = 0; p < parts && n < count; p++) sum += part[p * count + n];
    if (n < count) grad_grid[n] = sum;
}
