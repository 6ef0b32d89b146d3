// Loops that do not count evenly: by factors, by floats, down to the wrap of an unsigned number, with two counters, and
// with a counter that the body changes.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2.25,-1.5 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [1534.1328, 34.0625]
// EXPECT: grad_x f32[2] = [1284, 62.25]
//
// RUN: vyre-grad check %s --in x=2.25,-1.5 --in y[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const float v = x[i];
    float s = 0.0, p = 1.0;
    for (uint k = 1u; k < 40u; k *= 3u) s += float(k) * v;
    for (float t = 0.0; t < 1.0; t += 0.25) s += t * v * v;
    for (uint k = 3u; k-- > i;) p *= v + float(k);
    for (int a = 0, b = 7; a < b; a += 2, --b) s += float(a * b) * v;
    for (int k = 0; k < 12; ++k) {
        if ((k & 1) == int(i)) k += 2;
        s += float(k) * p;
    }
    for (int k = 100; k > 0; k = k / 3 - 1) s += float(k);
    for (float far = v * v; far > 0.5; far *= 0.5) s += far;
    y[i] = s;
}
