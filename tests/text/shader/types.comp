// Vectors, matrices, structs and arrays of them are buffers with further dimensions, without padding.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in p.at[2,3]=1,2,3,4,5,6 --in p.m=2,3 --in turn=0,1,0,-1,0,0,0,0,1 --in e[2]=zeros --set shift.0=1 --set count=2 --groups 1 --grad --wrt p.at,p.m
// EXPECT: e f32[2] = [10, 33]
// EXPECT: grad_p.at f32[2, 3] = [2, 0, 2, 3, 0, 3]
// EXPECT: grad_p.m f32[2] = [5, 11]
//
// RUN: vyre-grad check %s --set count=3 --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 8) in;
struct Particle { vec3 at; float m; };
layout(std430, binding = 0) readonly buffer A { Particle p[]; };
layout(std430, binding = 1) readonly buffer B { mat3 turn; } b;
layout(std430, binding = 2) buffer E { float e[]; };
layout(push_constant) uniform P { vec3 shift; uint count; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    const float w[3] = float[3](1.0, 1.0, 1.0);
    vec3 v = b.turn * p[i].at;
    v.x += shift.x;
    float s = 0.0;
    for (uint k = 0u; k < 3u; ++k) s += w[k] * v[k];
    e[i] = p[i].m * (s + p[i].at.y) + float(e.length()) * 0.0;
}
