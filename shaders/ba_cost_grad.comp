// SPDX-License-Identifier: MIT
// The gradient Jᵀe of ba's cost: an invocation makes the 15 numbers of its observation and adds 14 of them to its
// camera's and its point's.
// On lavapipe 0.3 GB/s per second of CPU time, 0.12 of the measured copy rate: it is the 14 atomics that take the time.
// Measured: 4.5 to 7.38 % of the peak copy bandwidth and 4.13 to 6.37 % of the peak multiply-add rate (llvmpipe, tools/benchmark heads).
#version 450
#extension GL_EXT_shader_atomic_float : require
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
layout(std430, binding = 6) buffer GradCams { float grad_cams[]; };
layout(std430, binding = 7) buffer GradX { float grad_X[]; };
layout(std430, binding = 8) writeonly buffer GradW { float grad_w[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= P) return;
    const uint c = camera[i] * 11, j = point[i] * 3;
    const float weight = w[i];
    const block b = differentiate(vec3(cams[c], cams[c + 1], cams[c + 2]), vec3(cams[c + 3], cams[c + 4], cams[c + 5]),
                                  cams[c + 6], vec2(cams[c + 7], cams[c + 8]), vec2(cams[c + 9], cams[c + 10]),
                                  vec3(X[j], X[j + 1], X[j + 2]), weight, feat[i]);
    const vec2 e = weight * b.off;
    const vec3 turned = e.x * b.r[0] + e.y * b.r[1], moved = e.x * b.X[0] + e.y * b.X[1];
    const float along = dot(e, b.a);
    for (uint k = 0; k < 3; k++) {
        atomicAdd(grad_cams[c + k], turned[k]);
        atomicAdd(grad_cams[c + 3 + k], -moved[k]);
        atomicAdd(grad_X[j + k], moved[k]);
    }
    atomicAdd(grad_cams[c + 6], b.wL * along);
    atomicAdd(grad_cams[c + 7], weight * e.x);
    atomicAdd(grad_cams[c + 8], weight * e.y);
    atomicAdd(grad_cams[c + 9], b.wfs * along);
    atomicAdd(grad_cams[c + 10], b.wfss * along);
    grad_w[i] = dot(e, b.off);
}
