// Numbers of 64 bits: doubles of more digits than floats have, integers beyond 32 bits, conversions between them.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-3 --in big=4294967296,-8589934593 --in y[2]=zeros --in k[2]=zeros --groups 1 --grad --of y
// EXPECT: y f64[2] = [1000000001.5, -3000000010.5]
// EXPECT: grad_x f64[2] = [1000000001.5, 1000000003.5]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-3 --in big=4294967296,-8589934593 --in y[2]=zeros --in k[2]=zeros --groups 1
// EXPECT: y f64[2] = [1000000001.5, -3000000010.5]
// EXPECT: k i64[2] = [17884901884, -16474836482]
//
// RUN: vyre-grad check %s --in x=1,-3 --in big=4294967296,-8589934593 --in y[2]=zeros --in k[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { double x[]; };
layout(std430, binding = 1) readonly buffer B { int64_t big[]; };
layout(std430, binding = 2) writeonly buffer Y { double y[]; };
layout(std430, binding = 3) writeonly buffer K { int64_t k[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const dvec2 v = dvec2(x[i], 1.0e9lf);
    const double far = v.x * v.y + double(float(x[i])) * 0.5lf;
    y[i] = far + sqrt(v.x * v.x) * double(big[i] >> 32);
    k[i] = big[i] * 3l + int64_t(v.y) * 5l - (big[i] - big[i] / 7l * 7l) + int64_t(uint(big[i]));
}
