// The four invocations of a row compute its outputs together, and each stores all of them: one is counted.
//
// RUN: vyre-grad grad %s --wrt x
// CONTAINS: lid.x == 0 && wid.x == 0 && wid.z == 0;
// RUN: vyre-grad run %s --grad --engine eval,vulkan --groups 1,2 --set n=3 --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in w=1,0,0,1,1,1,2,1 --in y[6]=zeros
// EXPECT: y f32[6] = [12, 9, 28, 21, 44, 33]
// EXPECT: grad_x f32[12] = [1, 1, 2, 3, 1, 1, 2, 3, 1, 1, 2, 3]
// EXPECT: grad_w f32[8] = [15, 15, 18, 18, 21, 21, 24, 24]
// RUN: vyre-grad check %s --groups {1,2},2 --set n=3 --in x[12]=normal:0:1:3 --in w[8]=normal:0:1:4 --in y[6]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
#version 450
layout(local_size_x = 4, local_size_y = 2) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer W { float w[]; };
layout(binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; };
shared float row[2][4];

void main()
{
    const uint at = gl_WorkGroupID.y * 2 + gl_LocalInvocationID.y;
    const bool inside = at < n;
    float sum[2];
    row[gl_LocalInvocationID.y][gl_LocalInvocationID.x] = inside ? x[at * 4 + gl_LocalInvocationID.x] : 0.0;
    barrier();
    for (uint d = 0; d < 2; d++) sum[d] = 0.0;
    for (uint c = 0; c < 4; c++)
        for (uint d = 0; d < 2; d++) sum[d] += row[gl_LocalInvocationID.y][c] * w[c * 2 + d];
    if (inside)
        for (uint d = 0; d < 2; d++) y[at * 2 + d] = sum[d];
}
