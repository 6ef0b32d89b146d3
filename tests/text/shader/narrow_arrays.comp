// Arrays of small numbers, of an invocation and of the workgroup, are of words in the program; they wrap as they are declared.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in y[2]=zeros --in x=1,2 --set at=2 --groups 1
// EXPECT: y f32[2] = [-56, 211]
//
// RUN: vyre-grad check %s --in y[2]=zeros --in x=1,2 --set at=2 --groups 1
// CONTAINS: ok:
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 2) in;
shared uint16_t tile[2];
shared f16vec2 halves[2];
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { uint at; };

void main()
{
    const uint i = gl_LocalInvocationID.x;
    int8_t table[4];
    for (uint k = 0u; k < 4u; ++k) table[k] = int8_t(100u * k); // 200 is -56
    tile[i] = uint16_t(65536u + 200u * i);
    halves[i] = f16vec2(x[i], 3.0);
    barrier();
    y[i] = i == 0u ? float(table[at & 3u]) : float(tile[1]) + float(halves[0].x) * 2.0 + 3.0 * float(halves[0].y);
}
