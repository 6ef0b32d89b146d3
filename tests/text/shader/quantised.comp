// Storage of 8 and 16 bits, computed with in 32: quantised weights, activations in halves, results rounded to halves.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in q=-128,127,3,-4,0,100 --in h=1,0.5,-2 --in d=0.5,0.25 --in y[2]=zeros --in z[2]=zeros --groups 1 --grad --of y,z
// EXPECT: y f16[2] = [2013, 1998]
// EXPECT: z f32[2] = [-35.25, -51]
// EXPECT: grad_h f16[3] = [-130, 127, 53]
// EXPECT: grad_d f32[2] = [-141, -408]
//
// RUN: vyre-grad check %s --in q=-128,127,3,-4,0,100 --in h=1,0.5,-2 --in d=0.5,0.25 --in y[2]=zeros --in z[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer Q { int8_t q[]; };
layout(std430, binding = 1) readonly buffer H { float16_t h[]; };
layout(std430, binding = 2) readonly buffer D { float d[]; };
layout(std430, binding = 3) writeonly buffer Y { float16_t y[]; };
layout(std430, binding = 4) writeonly buffer Z { float z[]; };

void main()
{
    const uint row = gl_GlobalInvocationID.x;
    float s = 0.0;
    for (uint k = 0u; k < 3u; ++k) s += float(int(q[row * 3u + k])) * float(h[k]);
    y[row] = float16_t(s * d[row] + 2048.5);
    z[row] = s * d[row];
}
