// Variables of several types on one binding are one buffer of words; what is packed in it is exact.
//
// RUN: vyre-grad print %s
// CONTAINS: `s.d`: in u32[?]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in s.d=3113763330,4278321154,1065353216,305419896 --in y[12]=zeros --in x=2 --groups 1
// EXPECT: y f32[12] = [3.0039062, -0.69921875, 2, -1, 1, 1, 120, 4660, -1.25, 2, 1, 16]
//
// Gradients go around it: what it says is no float.
// RUN: vyre-grad check %s --in s.d=3113763330,4278321154,1065353216,305419896 --in y[12]=zeros --in x[1]=const:2 --groups 1
// CONTAINS: ok:
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
struct Block { float16_t d, m; uint8_t q[4]; float f; uint u; };
layout(std430, binding = 0) readonly buffer W { uint w[]; };
layout(std430, binding = 0) readonly buffer S { Block s[]; };
layout(std430, binding = 0) readonly buffer C { int8_t c[]; };
layout(std430, binding = 0) readonly buffer H { uint16_t h[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
layout(std430, binding = 2) readonly buffer X { float x[]; };

void main()
{
    y[0] = float(s[0].d) ;
    y[1] = float(s[0].m);
    y[2] = float(s[0].q[0]);
    y[3] = float(c[7]);
    y[4] = s[0].f;
    y[5] = float(s.length());
    y[6] = float(s[0].u & 255u);
    y[7] = float(h[7]);
    y[8] = float(unpackFloat2x16(w[0]).y) * 1.0 + float(c[4]) * 0.0 - 0.55078125;
    y[10] = s[0].q[0] == s[0].q[2] ? 1.0 : 0.0;
    y[11] = float(c.length());
    y[9] = x.length() > 0 ? x[0] : 2.0;
}
