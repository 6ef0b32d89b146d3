// Integers in vectors: division, modulo, shifts, masks, wrapping, abs, sign, min, max and clamp, conversions.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in u[1,4]=7,4294967295,2147483648,100 --in s[1,4]=-7,2147483647,-2147483648,5 --in y[8,4]=zeros --groups 1 --verbose
// EXPECT: y i32[8, 4] = [-1, -1789569708, -357913942, 35, 3, 5, 2, 100, -57, -6, 1, 70, 52, -2147483646, 2147483646, -10005, 6, -2147483648, 2147483647, 6, 43, 2, 0, 103, 1, 206, 194, 105, 0, 18924699, 6241125, 0]
#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer U { uvec4 u[]; };
layout(std430, binding = 1) readonly buffer S { ivec4 s[]; };
layout(std430, binding = 2) writeonly buffer Y { ivec4 y[]; };

void main()
{
    const uvec4 a = u[0];
    const ivec4 b = s[0];
    y[0] = ivec4(a / 3u) + b / 2;
    y[1] = ivec4(a % uvec4(4u, 10u, 7u, 101u));
    y[2] = ivec4(a >> uvec4(1u, 31u, 30u, 2u)) + (b >> ivec4(1, 30, 31, 0)) + (b << 3);
    y[3] = ivec4(a * a + 1u) ^ ~b;
    y[4] = abs(b) + sign(b);
    y[5] = min(b, ivec4(3)) + ivec4(max(a, uvec4(50u)));
    y[6] = clamp(b, ivec4(-6), ivec4(6)) + ivec4(clamp(a, 5u, 200u));
    y[7] = ivec4(vec4(a) / 256.0) + ivec4(vec4(b) * 1.0e-3);
}
