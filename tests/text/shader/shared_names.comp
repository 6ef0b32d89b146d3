// A shared array that is called as the member of a block gives way.  Modules without names: scripts/spirv/nameless.py.
//
// RUN: vyre-grad print %s
// CONTAINS: shared shared_data: f32[4];
// RUN: vyre-grad run %s --engine eval,vulkan --in data[8]=iota --in b[8]=zeros --groups 2,1,1 --verbose
// EXPECT: b f32[8] = [0, 0, 12, 12, 40, 40, 84, 84]
// RUN: vyre-grad check %s --in data[8]=iota --in b[8]=zeros --groups 2,1,1
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer A { float data[]; } a;
layout(binding = 1) writeonly buffer B { float b[]; };
shared float data[4], twice[4];

void main()
{
    const uint l = gl_LocalInvocationID.x;
    data[l] = a.data[gl_GlobalInvocationID.x];
    twice[l] = 2.0 * data[l];
    barrier();
    b[gl_GlobalInvocationID.x] = data[l ^ 1u] * twice[l];
}
