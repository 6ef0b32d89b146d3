// A loop that ends at the lesser of a number and of what only the launch knows: how many rows it reaches is not the
// number, so that no shape is found whose rows a host might not have.
//
// RUN: vyre-grad print %s
// CONTAINS: x: in f32[?]
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set n=4 --set d=2 --set w=3 --in x=1,2,3,4,5,6 --in y[3]=zeros
// EXPECT: y f32[3] = [17, 29, 45]
// EXPECT: grad_x f32[6] = [2, 4, 6, 8, 10, 12]
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint n, d, w; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= w) return;
    float s = 0.0;
    for (uint k = 0; k < min(8u, n / d); k++) s += x[k * w + i] * x[k * w + i];
    y[i] = s;
}
