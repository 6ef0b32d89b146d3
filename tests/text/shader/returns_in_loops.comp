// A function that returns from a loop in a loop, and one whose loop ends only so.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-2,3,2 --in limit=2.5,100,5.5 --in y[3,2]=zeros --groups 1 --grad --of y --wrt x
// EXPECT: y f32[3, 2] = [0.5, 4, 20, 128, 0.5, 8]
// EXPECT: grad_x f32[4] = [5.5, -0.5, 5.5, 73.5]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --engine eval --in x=1,-2,3,2 --in limit=2.5,100,5.5 --in y[3,2]=zeros --groups 1 --grad --of y --wrt x
// EXPECT: y f32[3, 2] = [0.5, 4, 20, 128, 0.5, 8]
// EXPECT: grad_x f32[4] = [5.5, -0.5, 5.5, 73.5]
//
// RUN: vyre-grad check %s --in x=1,-2,3,2 --in limit=2.5,100,5.5 --in y[3,2]=zeros --groups 1 --wrt x
// CONTAINS: ok:
#version 450
layout(local_size_x = 3) in;
layout(std430, binding = 0) readonly buffer X { float x[4]; };
layout(std430, binding = 1) readonly buffer L { float limit[]; };
layout(std430, binding = 2) writeonly buffer Y { vec2 y[]; };

float first_above(float least)
{
    float passed = 0.0;
    for (uint k = 0u; k < 4u; ++k) {
        for (uint j = 1u; j < 3u; ++j) {
            const float v = x[k] * float(j);
            if (v > least) return v * x[0] - passed;
            if (v < 0.0) break;
            passed += v;
        }
        passed += 0.5 * x[k];
    }
    return passed;
}

float doubled_until(float least)
{
    float v = x[3];
    for (;;) {
        if (v >= least) return v;
        v = max(2.0 * v, v + 1.0);
    }
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    y[i] = vec2(first_above(limit[i]), doubled_until(limit[i]));
}
