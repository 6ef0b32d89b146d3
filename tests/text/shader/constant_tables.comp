// Tables of constants, of numbers, vectors, structs and arrays, indexed at run time.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,3,-1,0.5,7 --in y[5]=zeros --groups 1 --grad --of y
// EXPECT: y f32[5] = [3, 11.75, 3, -30.875, -8.25]
// EXPECT: grad_x f32[5] = [8.25, 4.75, 24, -0.25, -4]
//
// RUN: vyre-grad check %s --in x=2,3,-1,0.5,7 --in y[5]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 5) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
struct Step { ivec2 by; float weight; };
const float TAPS[5] = float[](0.5, 1.0, 2.0, 1.0, 0.5);
const Step STEPS[3] = Step[3](Step(ivec2(-1, 0), 4.0), Step(ivec2(1, 1), -1.0), Step(ivec2(0, -1), 0.25));
const uint ROWS[2][3] = uint[2][3](uint[](0u, 2u, 1u), uint[](2u, 1u, 0u));

void main()
{
    const int i = int(gl_GlobalInvocationID.x);
    float s = 0.0;
    for (int k = 0; k < 3; ++k) {
        const Step step = STEPS[ROWS[i & 1][k]];
        const int from = clamp(i + step.by.x + k * step.by.y, 0, 4);
        s += step.weight * x[from] * TAPS[from] * float(k + 1);
    }
    y[i] = s;
}
