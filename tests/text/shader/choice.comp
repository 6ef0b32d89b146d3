// A switch with a case that goes on into the next one, and one that returns.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6 --in y[6]=zeros --groups 1 --grad
// EXPECT: y f32[6] = [11, 24, 30, 0, 5, 6]
// EXPECT: grad_x f32[6] = [11, 12, 10, 0, 1, 1]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --engine eval --in x=1,2,3,4,5,6 --in y[6]=zeros --groups 1 --grad
// EXPECT: y f32[6] = [11, 24, 30, 0, 5, 6]
// EXPECT: grad_x f32[6] = [11, 12, 10, 0, 1, 1]
#version 450
layout(local_size_x = 6) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float s = 0.0;
    switch (int(i)) {
    case 0: s += x[i];
    case 2: s += 10.0 * x[i]; break;
    case 1: s += 12.0 * x[i]; break;
    case 3: return;
    default: s = x[i];
    }
    y[i] = s;
}
