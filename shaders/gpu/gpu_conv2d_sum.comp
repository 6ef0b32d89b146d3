// SPDX-License-Identifier: MIT
// Adds up what gpu_conv2d_w made of its parts; the last O workgroups make bias_o = Σ ȳ, one each.
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 256) in;
layout(push_constant) uniform Sizes { uint B, C, H, W, O, P, parts; };
layout(std430, binding = 0) readonly buffer Part { float part[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) writeonly buffer GradW { float grad_w[]; };
layout(std430, binding = 3) writeonly buffer GradBias { float grad_bias[]; };

shared float totals[256];

void main()
{
    const uint count = O * C * 9, blocks = (count + 255) / 256, lane = gl_LocalInvocationIndex;
    if (gl_WorkGroupID.x < blocks) {
        const uint n = gl_WorkGroupID.x * 256 + lane;
        float sum = 0.0;
        for (uint p = 0; p < parts && n < count; p++) sum += part[p * count + n];
        if (n < count) grad_w[n] = sum;
    } else {
        const uint o = gl_WorkGroupID.x - blocks, plane = (H + 2 * P - 2) * (W + 2 * P - 2);
        float sum = 0.0;
        for (uint b = 0; b < B; b++)
            for (uint n = lane; n < plane; n += 256) sum += grad_y[(b * O + o) * plane + n];
        totals[lane] = sum;
        [[unroll]] for (uint half_of = 128; half_of > 0; half_of /= 2) {
            barrier();
            if (lane < half_of) totals[lane] += totals[lane + half_of];
        }
        if (lane == 0) grad_bias[o] = totals[0];
    }
}
