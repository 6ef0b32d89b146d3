// The size of the workgroup and the constant that the shader computes with share one number: a value that is given by
// the constant's name or by the number is that of both.
//
// RUN: vyre-grad run %s --engine eval,vulkan --spec {SIZE,0}=3 --in x=1,2,3,4,5,6,7,8 --in y[4]=zeros --groups 2 --grad --of y
// EXPECT: y f32[4] = [14, 77, 0, 0]
// EXPECT: grad_x f32[8] = [2, 4, 6, 8, 10, 12, 0, 0]
//
// RUN: vyre-grad check %s --spec SIZE=3 --in x=1,2,3,4,5,6,7,8 --in y[4]=zeros --groups 2
// CONTAINS: ok:
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint SIZE = 2u;
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
shared float part[SIZE];

void main()
{
    const uint i = gl_LocalInvocationID.x, at = gl_WorkGroupID.x * SIZE + i;
    part[i] = x[at] * x[at];
    barrier();
    float s = 0.0;
    for (uint k = 0u; k < SIZE; ++k) s += part[k];
    if (i == 0u) y[gl_WorkGroupID.x] = s;
}
