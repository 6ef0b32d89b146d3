// SPDX-License-Identifier: MIT
// With h = (x − mean) s, s = 1/√(var + eps), t = ȳ gain: x̄ = s (t − mean t − h mean(t h)), gain = Σ_r ȳ h, bias = Σ_r ȳ.
// A workgroup has every so many rows, one after the other, and of each up to 16 columns an invocation, 256 apart:
// x and ȳ are read once, and what a column's gain and bias get from these rows stays in registers until the end
// (gpu_layernorm_sum adds up the workgroups).  Rows of 4,096 at most.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(push_constant) uniform Sizes { uint R, C; float eps; uint parts; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Gain { float gain[]; };
layout(std430, binding = 2) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 3) writeonly buffer GradX { float grad_x[]; };
layout(std430, binding = 4) writeonly buffer Part { vec2 part[]; };

const uint EACH = 16;
shared float totals[256];
shared vec3 triples[256];

float sum_of_all(float sum)
{
    const float own = subgroupAdd(sum);
    if (subgroupElect()) totals[gl_SubgroupID] = own;
    barrier();
    float total = totals[0];
    for (uint s = 1; s < gl_NumSubgroups; s++) total += totals[s];
    return total;
}

vec3 sums_of_all(vec3 sum)
{
    const vec3 own = subgroupAdd(sum);
    if (subgroupElect()) triples[gl_SubgroupID] = own;
    barrier();
    vec3 total = triples[0];
    for (uint s = 1; s < gl_NumSubgroups; s++) total += triples[s];
    return total;
}

void main()
{
    const uint lane = gl_LocalInvocationIndex;
    const float n = float(C);
    float weight[EACH], d[EACH], t[EACH];
    vec2 columns[EACH];
    [[unroll]] for (uint m = 0; m < EACH; m++) {
        const uint c = lane + 256 * m;
        weight[m] = c < C ? gain[c] : 0.0; // so no column past the end counts
        columns[m] = vec2(0.0);
    }
    for (uint row = gl_WorkGroupID.x; row < R; row += parts) {
        float sum = 0.0;
        [[unroll]] for (uint m = 0; m < EACH; m++) {
            if (256 * m >= C) break;
            const uint at = row * C + min(lane + 256 * m, C - 1);
            d[m] = x[at];
            t[m] = grad_y[at];
            sum += lane + 256 * m < C ? d[m] : 0.0;
        }
        const float mean = sum_of_all(sum) / n;
        vec3 sums = vec3(0.0); // of d², t, t d
        [[unroll]] for (uint m = 0; m < EACH; m++) {
            if (256 * m >= C) break;
            d[m] = lane + 256 * m < C ? d[m] - mean : 0.0;
            const float along = t[m] * weight[m];
            sums += vec3(d[m] * d[m], along, along * d[m]);
        }
        sums = sums_of_all(sums) / n;
        const float s = inversesqrt(sums.x + eps), slope = sums.z * s * s;
        [[unroll]] for (uint m = 0; m < EACH; m++) {
            if (256 * m >= C) break;
            columns[m] += vec2(t[m] * (d[m] * s), t[m]);
            if (lane + 256 * m < C) grad_x[row * C + lane + 256 * m] = s * (t[m] * weight[m] - sums.y - d[m] * slope);
        }
    }
    [[unroll]] for (uint m = 0; m < EACH; m++)
        if (lane + 256 * m < C) part[gl_WorkGroupID.x * C + lane + 256 * m] = columns[m];
}
