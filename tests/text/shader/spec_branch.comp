// Specialisation constants that branches, a switch, a loop and an array depend on, also by expressions of them.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,-3 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [9, -28.5]
// EXPECT: grad_x f32[2] = [12.5, 27.5]
//
// RUN: vyre-grad run %s --engine eval,vulkan --spec SQUARE=true --spec MODE=2 --in x=2,-3 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [20, 90]
// EXPECT: grad_x f32[2] = [36, -114]
//
// RUN: vyre-grad run %s --engine eval,vulkan --spec 1=3 --spec SLOPE=-1 --in x=2,-3 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [113, -2217]
// EXPECT: grad_x f32[2] = [451, 5106]
//
// RUN: vyre-grad check %s --spec MODE={1,2,3} --spec SQUARE=true --in x=2,-3 --in y[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(constant_id = 0) const bool SQUARE = false;
layout(constant_id = 1) const int MODE = 1;
layout(constant_id = 2) const float SLOPE = 0.5;
const int ODD = 2 * MODE + 1;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float v = x[i], powers[ODD];
    if (SQUARE) v *= v;
    else if (MODE > 2) v = 7.0 - v;
    switch (MODE) {
    case 1: v *= SLOPE; break;
    case 2: v += 1.0; break;
    default: v *= 3.0 * SLOPE;
    }
    for (int k = 0; k < ODD; ++k) powers[k] = k == 0 ? x[i] : x[i] * powers[k - 1];
    y[i] = SQUARE && ODD > 4 ? v * powers[MODE - 1] : v + powers[ODD - 1];
}
