// Structs with structs and arrays in them as values: given, returned, assigned whole or in part, compared.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,-3 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [138, 113]
// EXPECT: grad_x f32[2] = [30, 5]
//
// RUN: vyre-grad check %s --in x=2,-3 --in y[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
struct Part { vec2 at; float weights[2]; };
struct Whole { Part parts[2]; mat2 turn; float extra; };

Part part(float v)
{
    return Part(vec2(v, v * v), float[2](1.0, v));
}

Whole turned(Whole w)
{
    w.turn[1] = w.parts[0].at;
    w.parts[1] = w.parts[0]; // a copy
    w.parts[0].at.x = 100.0;
    w.extra += 1.0;
    return w;
}

float sum(Part p)
{
    return p.at.x * p.weights[0] + p.at.y * p.weights[1];
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const Whole before = Whole(Part[2](part(x[i]), part(2.0)), mat2(1.0), 3.0);
    const Whole after = turned(before);
    const float same = before.parts[0] == after.parts[1] && before != after ? 1.0 : -1.0;
    y[i] = same * sum(after.parts[1]) + after.turn[1].y * after.extra + before.parts[0].at.x + after.parts[0].at.x
        + sum(before.parts[1]);
}
