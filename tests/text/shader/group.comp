// Shared memory and barriers; a specialisation constant as the number of rounds.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4 --in y[1]=zeros --groups 1 --grad
// EXPECT: y f32[1] = [30]
// EXPECT: grad_x f32[4] = [2, 4, 6, 8]
//
// RUN: vyre-grad run %s --engine eval --spec POWER=1 --in x=1,2,3,4 --in y[1]=zeros --groups 1
// EXPECT: y f32[1] = [10]
//
// RUN: vyre-grad run %s --engine eval --spec 3=1 --in x=1,2,3,4 --in y[1]=zeros --groups 1
// EXPECT: y f32[1] = [10]
//
// RUN: vyre-grad check %s --groups 1
// CONTAINS: ok:
//
// RUN: vyre-grad print %s --spec ROUNDS=1
// STATUS: 1
// ERROR: it has no specialisation constant ROUNDS [E0122]
//
// RUN: vyre-grad print %s --spec POWER=many
// STATUS: 1
// ERROR: constant POWER: `many` is no u32
//
// RUN: vyre-grad print %s --entry other
// STATUS: 1
// ERROR: it has no compute entry point other [E0122]
//
// RUN: vyre-grad print %s --spec POWER
// STATUS: 1
// ERROR: --spec POWER: expected NAME=VALUE [E0801]
#version 450
layout(local_size_x = 4) in;
layout(constant_id = 3) const uint POWER = 2;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
shared float part[4];

void main()
{
    const uint i = gl_LocalInvocationIndex;
    float v = 1.0;
    for (uint k = 0u; k < POWER; k++) v *= x[gl_GlobalInvocationID.x];
    part[i] = v;
    barrier();
    for (uint by = 2u; by > 0u; by >>= 1u) {
        if (i < by) part[i] += part[i + by];
        barrier();
    }
    if (i == 0u) y[gl_WorkGroupID.x] = part[0];
}
