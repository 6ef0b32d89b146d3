// mix, step, smoothstep, clamp, sign, fract, mod and trunc, between their kinks and at the ends of what they take.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=0.25,-1.75,3.5,0.625 --verbose --in y[6,4]=zeros --groups 1 --grad --of y
// EXPECT: y f32[6, 4] = [0.390625, -1.859375, 8.3125, 1.0351562, 0.04296875, 0, 2, 1.2319336, 1.25, -2, 3, 1.625, 0.5, -2.5, 7, 1.25, 0.25, 1.25, 0.5, 0.625, 0.25, -1.75, 10.5, 1.875]
// EXPECT: grad_x f32[4] = [6.953125, 4.625, 9.25, 9.457031]
// TOL: 4 ulp
//
// RUN: vyre-grad check %s --in x=0.25,-1.75,3.6,0.7 --in y[6,4]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer X { vec4 x; };
layout(std430, binding = 1) writeonly buffer Y { vec4 y[6]; };

void main()
{
    y[0] = mix(vec4(2.0) * x, x * x, vec4(0.25));
    y[1] = smoothstep(0.0, 2.0, x) + step(vec4(0.5), x);
    y[2] = clamp(x, -1.0, 2.0) + sign(x);
    y[3] = fract(x) * 2.0 + floor(x) + trunc(x);
    y[4] = mod(x, 1.5);
    y[5] = mix(x, 3.0 * x, greaterThan(x, vec4(0.3)));
}
