// Small numbers in one: halves bit by bit, also subnormal ones, inf and NaN; norms are rounded and clamped.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-0.5,2,-3 --in u=2172649855,2147564544,0,1072693248 --groups 1
// EXPECT: packed u32[8] = [3087023104, 2172633215, 16711935, 2147598336, 65535, 1073788928, 1006633343, 129]
// EXPECT: y f32[10] = [1, 0.007874016, -1, -1, 0.003921569, -5.9604645e-8, 0.23437858, -1, 1, 1072693250]
//
// All halves there and back: 2046 of them are NaN.
// RUN: vyre-grad run %s --spec all=true --engine eval,vulkan --in x=1,-0.5,2,-3 --in u=0 --groups 1
// CONTAINS: packed u32[8] = [0, 2046, 0, 0, 0, 0, 0, 0]
//
// RUN: vyre-grad check %s --in x=1,-0.5,2,-3 --in u=2172649855,2147564544,0,1072693248 --groups 1
// CONTAINS: ok:
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(constant_id = 0) const bool all = false;
layout(std430, binding = 0) readonly buffer X { vec4 x; };
layout(std430, binding = 1) readonly buffer U { uint u[]; };
layout(std430, binding = 2) writeonly buffer P { uint packed[8]; };
layout(std430, binding = 3) writeonly buffer Y { float y[10]; };

void round_trip()
{
    uint wrong = 0u, nans = 0u;
    for (uint i = 0u; i < 32768u; ++i) {
        const uint bits = i << 16 | i | 0x8000u;
        const vec2 v = unpackHalf2x16(bits);
        if (isnan(v.y))
            nans += uint(isnan(v.x)) + 1u;
        else if (packHalf2x16(v) != bits)
            ++wrong;
    }
    packed[0] = wrong;
    packed[1] = nans;
}

void main()
{
    if (all) {
        round_trip();
        return;
    }
    packed[0] = packHalf2x16(x.xy);
    packed[1] = packSnorm4x8(x);
    packed[2] = packUnorm4x8(x);
    packed[3] = packSnorm2x16(x.yw);
    packed[4] = packUnorm2x16(x.xy);
    packed[5] = packFloat2x16(f16vec2(x.yz));
    packed[6] = pack32(u16vec2(u[0], u[1]));
    packed[7] = uint(unpack8(u[0]).w);
    const vec4 s = unpackSnorm4x8(u[0]);
    for (uint k = 0u; k < 4u; ++k) y[k] = s[k];
    y[4] = unpackUnorm4x8(u[0]).y;
    y[5] = unpackHalf2x16(u[1]).y;
    y[6] = unpackUnorm2x16(u[1]).x;
    y[7] = unpackSnorm2x16(u[1]).y;
    y[8] = float(packDouble2x32(uvec2(u[2], u[3])));
    y[9] = float(unpackDouble2x32(double(x.x)).y);
}
