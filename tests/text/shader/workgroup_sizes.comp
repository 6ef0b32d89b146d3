// A workgroup of three dimensions whose size is a specialisation constant; all that an invocation knows of where it is.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x[32]=iota --in y[32]=zeros --groups 1,2,1 --verbose
// EXPECT: y f32[32] = [0, 1, 2, 3, 40, 51, 62, 73, 4, 5, 6, 7, 124, 135, 146, 157, 8, 9, 10, 11, 208, 219, 230, 241, 0, 0, 0, 0, 0, 0, 0, 0]
//
// RUN: vyre-grad run %s --engine eval,vulkan --spec 7=4 --spec DEEP=1 --in x[32]=iota --in y[32]=zeros --groups 3,1,1 --verbose
// EXPECT: y f32[32] = [0, 1, 2, 3, 4, 6, 8, 10, 16, 19, 22, 25, 4, 5, 6, 7, 20, 22, 24, 26, 44, 47, 50, 53, 0, 0, 0, 0, 0, 0, 0, 0]
//
// RUN: vyre-grad check %s --in x[32]=iota --in y[32]=zeros --groups 1,2,1
// CONTAINS: ok:
#version 450
layout(constant_id = 8) const int DEEP = 3;
layout(local_size_x_id = 7, local_size_y = 2, local_size_z_id = 8) in;
layout(local_size_x = 2, local_size_z = 3) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uvec3 size = gl_WorkGroupSize, all = size * gl_NumWorkGroups;
    const uvec3 own = gl_LocalInvocationID, at = gl_GlobalInvocationID.zyx;
    const uint flat_at = (at.x * all.y + at.y) * all.x + at.z;
    const uint group = gl_WorkGroupID.x + 10u * gl_WorkGroupID.y;
    const bool agree = gl_GlobalInvocationID == gl_WorkGroupID * size + gl_LocalInvocationID
        && gl_LocalInvocationIndex == (own.z * size.y + own.y) * size.x + own.x;
    y[flat_at] = x[flat_at] * float(group) + float(gl_LocalInvocationIndex) + (agree ? 0.0 : 1000.0);
}
