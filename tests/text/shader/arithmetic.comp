// Comparisons at ties and NaN, shifts of signed numbers, 8 and 16 bits, length at 0.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,0,nan --in y[12]=zeros --in bytes=200,3,0 --in small=-7,9,0 --groups 1
// EXPECT: y f32[12] = [0, 1, 1, 1, -2, 253, -56, -14, 2, 0, 40, 13107]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,0,0 --in y[12]=zeros --in bytes=200,3,0 --in small=-7,9,0 --groups 1 --grad --of y --wrt x --quiet
// CONTAINS: grad_x f32[4] = [0, 0, 0, 0]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(binding = 2) readonly buffer B { uint8_t bytes[]; };
layout(binding = 3) readonly buffer S { int16_t small[]; };

void main()
{
    y[0] = x[0] > x[0] ? 1.0 : 0.0;
    y[1] = x[1] > x[0] ? 1.0 : 0.0;
    y[2] = x[0] >= x[0] ? 1.0 : 0.0;
    y[3] = !(x[3] < x[0]) ? 1.0 : 0.0;
    const int s = int(small[0]);
    y[4] = float(s >> 2);
    y[5] = float(uint8_t(bytes[0] + uint8_t(53)));
    y[6] = float(int8_t(bytes[0]));
    y[7] = float(int16_t(small[0] * int16_t(2)));
    y[8] = float(small[1] >> int16_t(2));
    y[9] = length(vec3(x[2], x[2], x[2]));
    y[10] = float(uint8_t(bytes[0] * bytes[1] - uint8_t(48)));
    y[11] = float(uint(s) >> 3 & 13107u);
}
