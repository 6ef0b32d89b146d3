// Barriers in branches that all invocations of a workgroup take together, and in a loop that ends for all at once.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in steps=0,3 --in y[8]=zeros --groups 2 --grad --of y
// EXPECT: y f32[8] = [16, 18, 12, 4, 12.75, 30, 48.75, 58]
// EXPECT: grad_x f32[8] = [8, 12, 12, 8, 5.75, 4, 5.25, 7.5]
//
// RUN: vyre-grad check %s --in x=1,2,3,4,5,6,7,8 --in steps=0,3 --in y[8]=zeros --groups 2
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Steps { int steps[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
shared float line[4];

void main()
{
    const uint i = gl_LocalInvocationID.x, g = gl_GlobalInvocationID.x, w = gl_WorkGroupID.x;
    float v = x[g];
    if (steps[w] > 0) {
        line[i] = v;
        barrier();
        for (int k = 0; k < steps[w]; ++k) {
            const float next = line[(i + 1u) % 4u] * 0.5;
            barrier();
            line[i] += next;
            barrier();
            if (k == 1) break;
        }
        v = line[i];
    } else if (w == 0u) {
        line[3u - i] = v * v;
        barrier();
        v = line[i];
    }
    y[g] = v * float(i + 1u);
}
