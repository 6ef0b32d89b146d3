// Structs copied whole between blocks of different layouts, shared memory and variables: member by member, or by
// OpCopyLogical where the module is of SPIR-V 1.4.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in a.s.at[2,3]=1,2,3,4,5,6 --in a.s.w[2]=7,8 --in a.m[2,2,2]=1,2,3,4,5,6,7,8 --in b.s.at[2,3]=zeros --in b.s.w[2]=zeros --in b.m[2,2,2]=zeros --groups 1
// EXPECT: b.s.at f32[2, 3] = [6, 4, 5, 3, 1, 2]
// EXPECT: b.s.w f32[2] = [8, 7]
// EXPECT: b.m f32[2, 2, 2] = [5, 48, 7, 8, 1, 14, 3, 4]
//
// RUN: glslangValidator -V --quiet --target-env vulkan1.2 -o %t/c.spv %s && vyre-grad run %t/c.spv --engine eval,vulkan --in a.s.at[2,3]=1,2,3,4,5,6 --in a.s.w[2]=7,8 --in a.m[2,2,2]=1,2,3,4,5,6,7,8 --in b.s.at[2,3]=zeros --in b.s.w[2]=zeros --in b.m[2,2,2]=zeros --groups 1
// EXPECT: b.s.at f32[2, 3] = [6, 4, 5, 3, 1, 2]
// EXPECT: b.s.w f32[2] = [8, 7]
// EXPECT: b.m f32[2, 2, 2] = [5, 48, 7, 8, 1, 14, 3, 4]
// RUN: vyre-grad run %s --engine eval,vulkan --in a.s.at[2,3]=1,2,3,4,5,6 --in a.s.w[2]=7,8 --in a.m[2,2,2]=1,2,3,4,5,6,7,8 --in b.s.at[2,3]=zeros --in b.s.w[2]=zeros --in b.m[2,2,2]=zeros --groups 1 --grad --of b.m --wrt a.s.w,a.m
// EXPECT: b.m f32[2, 2, 2] = [5, 48, 7, 8, 1, 14, 3, 4]
// EXPECT: grad_a.s.w f32[2] = [2, 6]
// EXPECT: grad_a.m f32[2, 2, 2] = [1, 7, 1, 1, 1, 8, 1, 1]
//
// RUN: vyre-grad check %s --in a.s.at[2,3]=1,2,3,4,5,6 --in a.s.w[2]=7,8 --in a.m[2,2,2]=1,2,3,4,5,6,7,8 --in b.s.at[2,3]=zeros --in b.s.w[2]=zeros --in b.m[2,2,2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
struct Inner { vec3 at; float w; };
struct Outer { Inner s; mat2 m; };
layout(std430, binding = 0) readonly buffer A { Outer a[]; };
layout(std140, binding = 1) writeonly buffer B { layout(row_major) Outer b[]; };
shared Outer tile[2];

void main()
{
    const uint i = gl_LocalInvocationID.x;
    tile[i] = a[i];
    barrier();
    Outer o = tile[1u - i];
    o.m[0].y *= o.s.w;
    o.s.at = o.s.at.zxy;
    b[i] = o;
}
