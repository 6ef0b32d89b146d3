// SPDX-License-Identifier: MIT
// With h = (x − mean) s, s = 1/√(var + eps), t = ȳ gain: x̄ = s (t − mean t − h mean(t h)).  A subgroup has a row (as in
// softmax_grad.comp).  Two passes: all four sums, of d = x − the row's first element, so that the variance does not come
// from the difference of two large numbers; then the result.  Mean and s are left for layernorm_grad_columns.comp.
// All three kernels on lavapipe: 0.9 GB/s per second of CPU time, 0.35 to 0.46 of the measured copy rate.
// Measured: 36.1 to 38 % of the peak copy bandwidth by all kernels of layernorm.plan (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint R, C; float eps; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Gain { float gain[]; };
layout(std430, binding = 2) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 3) writeonly buffer GradX { float grad_x[]; };
layout(std430, binding = 4) writeonly buffer Rows { vec2 rows[]; };

void main()
{
    for (uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; row < R;
         row += gl_NumWorkGroups.x * gl_NumSubgroups) {
        const uint first = row * C;
        const float origin = x[first];
        float sum = 0.0, squares = 0.0, all = 0.0, along = 0.0;
        for (uint c = gl_SubgroupInvocationID; c < C; c += gl_SubgroupSize) {
            const float d = x[first + c] - origin, t = grad_y[first + c] * gain[c];
            sum += d;
            squares += d * d;
            all += t;
            along += t * d;
        }
        const float n = float(C), middle = subgroupAdd(sum) / n, mean = origin + middle;
        const float s = inversesqrt(max(subgroupAdd(squares) / n - middle * middle, 0.0) + eps);
        all = subgroupAdd(all) / n;
        along = (subgroupAdd(along) / n - middle * all) * s * s;
        for (uint c = gl_SubgroupInvocationID; c < C; c += gl_SubgroupSize)
            grad_x[first + c] = s * (grad_y[first + c] * gain[c] - all - (x[first + c] - mean) * along);
        if (subgroupElect()) rows[row] = vec2(mean, s);
    }
}
