// What is evaluated, and in which order: `&&` and `||` leave out their second operand, `?:` one of two calls.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1.25,-2,3.5,0.5 --in y[4]=zeros --groups 1 --grad --of y
// EXPECT: y f32[4] = [27103.25, -2716, 752078, 15770.75]
// EXPECT: grad_x f32[4] = [21948.5, 1392, 215630.5, 31398]
//
// RUN: vyre-grad check %s --in x=1.25,-2,3.5,0.5 --in y[4]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
float trace = 0.0;

bool above(float v, float least)
{
    trace = trace * 10.0 + least * v;
    return v > least;
}

float changed(float by)
{
    trace += by;
    return trace * by;
}

void main()
{
    const float v = x[gl_GlobalInvocationID.x];
    float s = 0.0;
    if (above(v, 0.0) && above(v, 2.0)) s += 1.0;
    if (above(v, 1.0) || above(v, -1.0)) s += v;
    if (v < 1.0 ^^ above(v, 3.0)) s += v * v;
    s += v > 0.75 ? changed(v) : changed(4.0) + changed(1.0);
    int n = 0;
    while (n++ < 3 && above(v, float(n))) s += 0.5 * v;
    y[gl_GlobalInvocationID.x] = s + trace + float(n);
}
