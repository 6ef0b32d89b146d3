// Bits of floats: there and back is the float, with its derivative; keys that sort as floats do choose; a float of
// other bits than those it was taken from has no derivative.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-2,3,-0.5 --in y[4]=zeros --groups 1 --grad --of y
// EXPECT: y f32[4] = [-2, 13, 11, 2.5]
// EXPECT: grad_x f32[4] = [7, 3, 15, 3]
//
// RUN: vyre-grad check %s --in x=1,-2,3,-0.5 --in y[4]=zeros --groups 1
// CONTAINS: ok:
//
// RUN: vyre-grad grad %s -D OTHER
// STATUS: 1
// ERROR: error: a float that depends on the inputs returns to float through a bitcast, which has no derivative [E0502]
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

uint key(float v)
{
    const uint bits = floatBitsToUint(v);
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const float v = x[i], next = x[(i + 1u) % 4u];
    const float greater = key(v) > key(next) ? v : next;
    float s = greater * greater + uintBitsToFloat(floatBitsToUint(v));
    s += intBitsToFloat(0x40000000) * intBitsToFloat(floatBitsToInt(next));
#ifdef OTHER
    s += uintBitsToFloat(floatBitsToUint(v) ^ 0x80000000u);
#endif
    y[i] = s;
}
