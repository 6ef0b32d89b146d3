// A function with barriers that is called in a loop of the workgroup: prefix sums in two arrays that change places.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,-1,0,2,5 --in y[8]=zeros --groups 2 --grad --of y
// EXPECT: y f32[8] = [1, 10, 42, 120, 1, 2, 15, 120]
// EXPECT: grad_x f32[8] = [20, 36, 42, 32, -20, 0, 28, 40]
//
// RUN: vyre-grad check %s --in x=1,2,3,4,-1,0,2,5 --in y[8]=zeros --groups 2
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
shared float line[2][4];

uint scan_step(uint from, uint by)
{
    const uint i = gl_LocalInvocationID.x, to = 1u - from;
    line[to][i] = line[from][i];
    if (i >= by) line[to][i] += line[from][i - by];
    barrier();
    return to;
}

void main()
{
    const uint i = gl_LocalInvocationID.x, g = gl_GlobalInvocationID.x;
    uint now = 0u;
    line[now][i] = x[g] * x[g];
    barrier();
    for (uint by = 1u; by < 4u; by <<= 1) now = scan_step(now, by);
    y[g] = line[now][i] * float(i + 1u) + float(now);
}
