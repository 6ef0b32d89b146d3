// Barriers behind guards that entire workgroups leave: of an axis that the workgroup does not have, and of more lanes
// than it has.
//
// RUN: vyre-grad print %s
// CONTAINS:     workgroup(4)
// CONTAINS:     let head = bitcast_i32(wid.z);
// CONTAINS:     if head < heads {
// NOT: lid.z
// NOT: 4 <=
// RUN: vyre-grad check %s --groups 2,1,3 --set heads=2 --set n=7 --in x[16]=normal:0:1:3 --in y[16]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
// RUN: vyre-grad run %s --engine eval,vulkan --groups 1,1,2 --set heads=1 --set n=3 --in x=1,2,3,4,5,6,7,8 --in y[8]=zeros --grad
// EXPECT: y f32[8] = [4, 3, 2, 1, 0, 0, 0, 0]
// EXPECT: grad_x f32[8] = [1, 1, 1, 1, 0, 0, 0, 0]
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform P { int heads, n; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
shared float tile[4];

void main()
{
    const int head = int(gl_GlobalInvocationID.z), lane = int(gl_LocalInvocationID.x);
    const uint at = head * gl_NumWorkGroups.x * 4 + gl_WorkGroupID.x * 4;
    if (head >= heads) return;
    if (lane >= 4 || gl_LocalInvocationID.y > 0) return;
    tile[lane] = x[at + lane];
    barrier();
    y[at + lane] = tile[n - lane & 3];
}
