// Numbers taken apart and put together: frexp, modf and ldexp, of scalars and vectors, by a struct and by a pointer, to
// the ends of the range.
//
// RUN: vyre-grad run %s --engine eval,vulkan --grad --in x=3,-0.75,-2.5,1e-38 --in k=1,-140,130,3 --in y[4]=zeros --in z[4,3]=zeros --of y
// EXPECT: y f32[4] = [8, -1.875, -5, 0]
// EXPECT: grad_x f32[4] = [3.5, 3.5, 3.5, 3.5]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=3,-0.75,-2.5,1e-38 --in k=1,-140,130,3 --in y[4]=zeros --in z[4,3]=zeros --of z
// EXPECT: z f32[4, 3] = [6, 0.75, 2, -5.38e-43, -0.75, 0, -inf, -0.625, 2, 7.9999995e-38, 0.85070586, -126]
//
// RUN: vyre-grad check %s --in x=3.25,-0.7,-2.5,0.3 --in k=1,-1,2,3 --in y[4]=zeros --in z[4,3]=zeros
// CONTAINS: ok:
//
// In a loop, which carries what they store through a pointer.
// RUN: vyre-grad run %s -D LOOP --engine eval,vulkan --in x=3.25,-0.75,-2.5,1 --in y[4]=zeros
// EXPECT: y f32[4] = [5.75, -1.25, -0.5, 2]
#version 450
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer K { int k[]; };
layout(binding = 2) writeonly buffer Y { float y[]; };
layout(binding = 3) writeonly buffer Z { vec3 z[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= 4) return;
#ifdef LOOP
    int power = 0;
    float last = 0.0, sum = 0.0;
    for (int n = 0; n < 3; n++) {
        sum += last + modf(x[i] * float(n), last);
        sum += 0.0 * frexp(x[i], power);
    }
    y[i] = sum + float(power);
    return;
#endif
    int e;
    vec2 whole;
    ivec2 es;
    const float m = frexp(x[i], e);
    const vec2 fraction = modf(vec2(x[i], 2.0 * x[i]), whole);
    const vec2 ms = frexp(vec2(x[i], 5.0), es);
    y[i] = fraction.x + whole.x + 0.5 * whole.y + ms.y * float(es.y - 1) * fraction.y + (i == 0 ? ldexp(vec2(x[i], 0.5), ivec2(k[i], 2)).y : 0.0) + ms.x - m;
    z[i] = vec3(ldexp(x[i], k[i]), m, float(e));
}
