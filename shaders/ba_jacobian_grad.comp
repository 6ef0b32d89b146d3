// SPDX-License-Identifier: MIT
// The sparse Jacobian of ba: an invocation writes the two rows of its observation, 15 pairs, and its weight's entry.
// On lavapipe 2.6 GB/s per second of CPU time; 0.73 of the measured copy rate in the same (loaded) run.
// Measured: 65.4 to 85.3 % of the peak copy bandwidth and 10.5 to 14 % of the peak multiply-add rate (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "ba_block.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint N, M, P; };
layout(std430, binding = 0) readonly buffer Cams { float cams[]; };
layout(std430, binding = 1) readonly buffer Points { float X[]; };
layout(std430, binding = 2) readonly buffer Weights { float w[]; };
layout(std430, binding = 3) readonly buffer Features { vec2 feat[]; };
layout(std430, binding = 4) readonly buffer Cameras { uint camera[]; };
layout(std430, binding = 5) readonly buffer PointsSeen { uint point[]; };
layout(std430, binding = 6) writeonly buffer GradD { vec2 grad_d[]; };
layout(std430, binding = 7) writeonly buffer GradT { float grad_t[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= P) return;
    const uint c = camera[i] * 11, j = point[i] * 3;
    const float weight = w[i];
    const block b = differentiate(vec3(cams[c], cams[c + 1], cams[c + 2]), vec3(cams[c + 3], cams[c + 4], cams[c + 5]),
                                  cams[c + 6], vec2(cams[c + 7], cams[c + 8]), vec2(cams[c + 9], cams[c + 10]),
                                  vec3(X[j], X[j + 1], X[j + 2]), weight, feat[i]);
    const uint at = i * 15;
    grad_d[at] = b.r[0].xy;
    grad_d[at + 1] = vec2(b.r[0].z, -b.X[0].x);
    grad_d[at + 2] = -b.X[0].yz;
    grad_d[at + 3] = vec2(b.wL * b.a.x, weight);
    grad_d[at + 4] = vec2(0.0, b.wfs * b.a.x);
    grad_d[at + 5] = vec2(b.wfss * b.a.x, b.X[0].x);
    grad_d[at + 6] = b.X[0].yz;
    grad_d[at + 7] = vec2(b.off.x, b.r[1].x);
    grad_d[at + 8] = b.r[1].yz;
    grad_d[at + 9] = -b.X[1].xy;
    grad_d[at + 10] = vec2(-b.X[1].z, b.wL * b.a.y);
    grad_d[at + 11] = vec2(0.0, weight);
    grad_d[at + 12] = vec2(b.wfs, b.wfss) * b.a.y;
    grad_d[at + 13] = b.X[1].xy;
    grad_d[at + 14] = vec2(b.X[1].z, b.off.y);
    grad_t[i] = -2.0 * weight;
}
