// Rows of workgroups that are counted by the invocations' blocks: (4 * row + part) / 4 is the row where the part is
// below 4, so that all of a workgroup leave together, and may meet at barriers.
//
// RUN: vyre-grad run %s --engine eval,vulkan --groups 2 --set rows={3,4} --set n=3 --in x[96]=iota --in y[12]=zeros --grad --of y --wrt x | grep ^y
// EXPECT: y f32[12] = [28, 92, 156, 220, 284, 348, 412, 476, 540, 604, 668, 732]
// RUN: vyre-grad check %s --groups 2 --set rows=4 --set n=3 --in x[96]=normal:0:1:1 --in y[12]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
//
// Not where the part carries, or the rest is no multiple.
// RUN: vyre-grad print %s -D{CARRY,ODD,SUM,TWO}
// STATUS: 1
// ERROR: [E0302]
#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform P { uint rows; uint n; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
shared float part[32];

void one(uint row)
{
    const uint lane = gl_LocalInvocationID.x;
#ifdef CARRY
    const uint block = row * 4 + lane / 4;
#elif defined(ODD)
    const uint block = row * 6 + lane / 8;
#elif defined(TWO)
    const uint block = row * 4 + 2 + lane / 8;
#elif defined(SUM)
    const uint block = row * 4 + rows + lane / 8;
#else
    const uint block = row * 4 + lane / 8;
#endif
    if (block / 4 >= n) return;
    part[lane] = x[block * 8 + lane % 8];
    barrier();
    for (uint s = 4; s > 0; s >>= 1) {
        if (lane % 8 < s) part[lane] += part[lane + s];
        barrier();
    }
    if (lane % 8 == 0) y[block] = part[lane];
}

void main()
{
    for (uint row = gl_WorkGroupID.x; row < rows; row += gl_NumWorkGroups.x) one(row);
}
