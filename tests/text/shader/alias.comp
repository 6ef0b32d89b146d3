// Two variables on one binding are one flat buffer of their scalar type, which has one gradient.
//
// RUN: vyre-grad print %s
// CONTAINS: @binding(0) a4: in f32[?]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in a4=1,2,3,4,5,6,7,8,9 --in b=0,0,0,0,0,0,0,0,0 --in c2=1,2,3,4 --set n=8 --groups 1 --grad --wrt a4
// EXPECT: b f32[9] = [6, 12, 6, 8, 10, 12, 14, 16, 2]
// EXPECT: c2 f32[4] = [1, 2, 3, 14]
// EXPECT: grad_a4 f32[9] = [6, 6, 2, 2, 2, 2, 2, 2, 0]
//
// RUN: vyre-grad check %s --set n=8 --in a4[9]=iota --in b[9]=zeros --in c2=1,2,3,4 --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 0) readonly buffer A4 { vec4 a4[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(std430, binding = 1) buffer BM { mat2 turn; float lengths[]; };
layout(std430, binding = 2) buffer C { float c[]; }; // read
layout(std430, binding = 2) buffer C2 { vec2 c2[]; }; // written
layout(push_constant) uniform P { uint n; };

void main()
{
    const uint i = gl_GlobalInvocationID.x; // of 2
    const vec4 v = a4[i];
    for (uint k = 0u; k < 4u; ++k) b[4u * i + k] = v[k] + a[4u * i + k];
    barrier();
    if (i == 0u) {
        c2[1].y = c[3] + 10.0;
        turn[0] = vec2(6.0, 6.0) * a4[0].xy;
        lengths[4] = float(a4.length());
        if (n != uint(lengths.length()) + 3u) b[0] = -1.0;
    }
}
