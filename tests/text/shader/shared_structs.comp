// Structs in shared memory, copied whole: the largest value and where it was, by halving.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,5,2,4,3,-1,6,0 --in at[8,2]=iota --in y[2]=zeros --groups 2 --grad --of y --wrt x,at
// EXPECT: y f32[2] = [13, 85]
// EXPECT: grad_x f32[8] = [0, 2, 0, 0, 0, 0, 12, 0]
// EXPECT: grad_at f32[8, 2] = [0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0]
//
// RUN: vyre-grad check %s --in x=1,5,2,4,3,-1,6,0 --in at[8,2]=iota --in y[2]=zeros --groups 2
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
struct Found { float value; vec2 at; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer At { vec2 at[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
shared Found found[4];

void main()
{
    const uint i = gl_LocalInvocationID.x, at_first = gl_GlobalInvocationID.x;
    found[i] = Found(x[at_first], at[at_first]);
    barrier();
    for (uint by = 2u; by > 0u; by /= 2u) {
        if (i < by && found[i + by].value > found[i].value) found[i] = found[i + by];
        barrier();
    }
    const Found best = found[0];
    if (i == 0u) y[gl_WorkGroupID.x] = best.value * best.at.x + best.at.y;
}
