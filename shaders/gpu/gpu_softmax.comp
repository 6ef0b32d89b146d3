// SPDX-License-Identifier: MIT
// x̄ = y (ȳ − ȳ·y), y = e / Σ e, e = exp(x − max x): a workgroup has a row, 64 invocations up to 16 elements each in
// registers, so that x and ȳ are read once, four elements at a time where rows are of fours.  Of longer rows it takes
// 1,024 elements at a time, and reads them twice.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint R, C; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 0) readonly buffer XFours { vec4 x_fours[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 1) readonly buffer GradYFours { vec4 grad_y_fours[]; };
layout(std430, binding = 2) writeonly buffer GradX { float grad_x[]; };
layout(std430, binding = 2) writeonly buffer GradXFours { vec4 grad_x_fours[]; };

const uint BLOCK = 1024;
const float LEAST = -3e38;
shared float largest[64];
shared vec2 totals[64];

vec4 v[4], g[4]; // of the row: the invocation's elements, past its end LEAST and anything

void load(uint row, uint start)
{
    if (C % 4 == 0) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            const uint at = start / 4 + gl_LocalInvocationIndex + 64 * k, from = row * (C / 4) + min(at, C / 4 - 1);
            v[k] = x_fours[from];
            g[k] = grad_y_fours[from];
            if (at >= C / 4) v[k] = vec4(LEAST);
        }
    } else {
        [[unroll]] for (uint k = 0; k < 16; k++) {
            const uint at = start + gl_LocalInvocationIndex + 64 * k, from = row * C + min(at, C - 1);
            const float value = x[from];
            v[k / 4][k % 4] = at < C ? value : LEAST;
            g[k / 4][k % 4] = grad_y[from];
        }
    }
}

void store(uint row, uint start)
{
    if (C % 4 == 0) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            const uint at = start / 4 + gl_LocalInvocationIndex + 64 * k;
            if (at < C / 4) grad_x_fours[row * (C / 4) + at] = v[k];
        }
    } else {
        [[unroll]] for (uint k = 0; k < 16; k++) {
            const uint at = start + gl_LocalInvocationIndex + 64 * k;
            if (at < C) grad_x[row * C + at] = v[k / 4][k % 4];
        }
    }
}

float most_of_all(float most)
{
    const float own = subgroupMax(most);
    if (subgroupElect()) largest[gl_SubgroupID] = own;
    barrier();
    float top = largest[0];
    for (uint s = 1; s < gl_NumSubgroups; s++) top = max(top, largest[s]);
    return top;
}

vec2 sum_of_all(vec2 sum)
{
    const vec2 own = subgroupAdd(sum);
    if (subgroupElect()) totals[gl_SubgroupID] = own;
    barrier();
    vec2 total = totals[0];
    for (uint s = 1; s < gl_NumSubgroups; s++) total += totals[s];
    return total;
}

void main()
{
    for (uint row = gl_WorkGroupID.x; row < R; row += gl_NumWorkGroups.x) {
        float most = LEAST;
        vec2 sum = vec2(0.0); // of e, of e ȳ
        for (uint start = 0; start < C; start += BLOCK) {
            load(row, start);
            const vec4 four = max(max(v[0], v[1]), max(v[2], v[3]));
            const float next = max(most, max(max(four.x, four.y), max(four.z, four.w)));
            vec4 all = vec4(0.0), along = vec4(0.0);
            [[unroll]] for (uint k = 0; k < 4; k++) {
                const vec4 e = exp(v[k] - next);
                all += e;
                along += e * g[k];
            }
            sum = sum * exp(most - next) + vec2(dot(all, vec4(1.0)), dot(along, vec4(1.0)));
            most = next;
        }
        const float top = most_of_all(most);
        sum = sum_of_all(sum * exp(most - top));
        const float scale = 1.0 / sum.x, along = sum.y * scale;
        for (uint start = 0; start < C; start += BLOCK) {
            if (C > BLOCK) load(row, start);
            [[unroll]] for (uint k = 0; k < 4; k++) v[k] = exp(v[k] - top) * scale * (g[k] - along);
            store(row, start);
        }
    }
}
