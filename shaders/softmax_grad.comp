// SPDX-License-Identifier: MIT
// x̄ = y (ȳ − ȳ·y), y = e / Σ e, e = exp(x − max x).  A subgroup has a row: its lanes read neighbouring words, and what they
// find meets in three subgroup reductions, without shared memory.  Three passes over the row: the largest; Σ e and Σ ȳ e
// together; the result, for which e is computed again rather than stored and read.
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint R, C; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) writeonly buffer GradX { float grad_x[]; };

void main()
{
    // as many workgroups as subgroups of eight lanes need; wider ones are fewer, and have rows left for the rest
    for (uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; row < R;
         row += gl_NumWorkGroups.x * gl_NumSubgroups) {
        const uint first = row * C + gl_SubgroupInvocationID, end = (row + 1) * C;
        float top = -1.0 / 0.0;
        for (uint i = first; i < end; i += gl_SubgroupSize) top = max(top, x[i]);
        top = subgroupMax(top);
        float sum = 0.0, along = 0.0;
        for (uint i = first; i < end; i += gl_SubgroupSize) {
            const float e = exp(x[i] - top);
            sum += e;
            along += e * grad_y[i];
        }
        const float scale = 1.0 / subgroupAdd(sum);
        along = subgroupAdd(along) * scale;
        for (uint i = first; i < end; i += gl_SubgroupSize) grad_x[i] = exp(x[i] - top) * scale * (grad_y[i] - along);
    }
}
