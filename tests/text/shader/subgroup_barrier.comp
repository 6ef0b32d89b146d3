// subgroupBarrier() becomes barrier(), which orders more.
//
// RUN: vyre-grad print %s
// CONTAINS: barrier();
// RUN: vyre-grad run %s --engine eval,vulkan --in a[8]=iota --in b[8]=zeros --groups 2,1,1 --verbose
// EXPECT: b f32[8] = [0, 0, 6, 6, 20, 20, 42, 42]
// RUN: vyre-grad check %s --in a[8]=iota --in b[8]=zeros --groups 2,1,1
// CONTAINS: ok:
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
shared float s[4];

void main()
{
    const uint l = gl_LocalInvocationID.x;
    s[l] = a[gl_GlobalInvocationID.x];
    subgroupBarrier();
    b[gl_GlobalInvocationID.x] = s[l ^ 1u] * s[l];
}
