// Loops that test at their end: `continue` goes to the test, a body runs once where it fails at once; one in another.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,-1,0.5 --in y[3]=zeros --groups 1 --grad --of y
// EXPECT: y f32[3] = [27, 3.5, 19.25]
// EXPECT: grad_x f32[3] = [20, 15.75, 21]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --engine eval --in x=2,-1,0.5 --in y[3]=zeros --groups 1 --grad --of y
// EXPECT: y f32[3] = [27, 3.5, 19.25]
// EXPECT: grad_x f32[3] = [20, 15.75, 21]
//
// RUN: vyre-grad check %s --in x=2,-1,0.5 --in y[3]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 3) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float s = 0.0, v = x[i];
    int k = 0, inner = 0;
    do {
        ++k;
        if ((k & 1) == 1) continue;
        s += v;
        v *= x[i];
        int down = k;
        do {
            ++inner;
            if (v > 6.0) break;
            v += 0.25;
        } while (--down > 2);
    } while (k < 7 && s < 5.0);
    y[i] = s * float(k) + float(inner);
}
