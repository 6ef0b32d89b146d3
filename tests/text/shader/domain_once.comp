// Where dims is 1 all of a column would store to one element: one value, which none of them tells apart, so that the
// first one stores it for all. Not so where the value differs (VALUE, also through an array: ARRAY, or a loop that runs
// longer: TRIPS), where the memory is loaded (READ), and where an invocation stores to it otherwise, too (ORDER, or in another iteration:
// ARMS): such shaders keep their own form, or the store as it is.
//
// RUN: vyre-grad print %s | grep -c 'if j == 0 {'
// EXPECT: 1
// RUN: vyre-grad print %s -D RETURNS | grep -c 'if j == 0 {'
// EXPECT: 1
// RUN: for d in VALUE ARRAY TRIPS READ ORDER ARMS SOME; do vyre-grad print %s -D $d | grep -c 'j == 0'; done; true
/* EXPECT
0
0
0
0
0
0
0
*/
// What is granted for the rows of one place is a condition of the buffer, whatever the others need.
// RUN: vyre-grad explain %s
// CONTAINS: if h * w <= 1073741824, and likewise in the other case of scalars; else main_atomic adds atomically
// RUN: vyre-grad check %s --set dims=1 --set w=4 --set h=3 --in x[12]=normal:0:1:1 --in y[12]=zeros
// CONTAINS: ok:
// RUN: vyre-grad run %s --grad --set dims=1 --set w=4 --set h=3 --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=zeros --engine {eval,vulkan}
// CONTAINS: grad_x f32[12] = [2, 4, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0]
// RUN: vyre-grad run %s --grad --set dims=2 --set w=4 --set h=3 --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=zeros --engine {eval,vulkan}
// CONTAINS: grad_x f32[12] = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
// RUN: for dims in 1 2; do vyre-grad run %s -D RETURNS --grad --set dims=$dims --set w=4 --set h=3 --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=zeros --engine {eval,vulkan} | grep grad; done
/* EXPECT
grad_x f32[12] = [2, 4, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0]
grad_x f32[12] = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
*/
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { int dims; int w; int h; };

void main()
{
    ivec2 g = ivec2(gl_GlobalInvocationID.xy);
    if (g.x >= w || g.y >= h) return;
#if defined(ORDER)
    if (dims == 1) {
        y[(1 - g.y) * w + g.x] = 5.0 * x[g.x];
        y[g.x] = 3.0 * x[g.x];
    }
#elif defined(ARMS)
    for (int t = 0; t < 2; t++) {
        if (t == dims) y[g.x] = 3.0 * x[g.x];
        else y[(1 - g.y) * w + g.x] = 5.0 * x[g.x];
    }
#elif defined(RETURNS)
    if (dims == 1) {
        y[g.x] = x[g.x] * x[g.x];
        return;
    }
    y[g.y * w + g.x] = 3.0 * x[g.y * w + g.x];
#elif defined(SOME)
    if (dims == 1) {
        y[g.x] = x[g.x] * x[g.x];
        if (x[g.y * w + g.x] > 2.0) return;
    }
    y[g.y * w + g.x] = 3.0 * x[g.y * w + g.x];
#else
    if (dims == 1) {
        float v = x[g.x] * x[g.x];
#if defined(VALUE)
        v += float(g.y);
#elif defined(ARRAY)
        float a[3] = float[](0.0, 1.0, 2.0);
        a[g.y] = 7.0;
        v += a[dims];
#elif defined(TRIPS)
        for (int t = 0; t < g.y; t++) v += 1.0;
#elif defined(READ)
        v += y[w + g.x];
#endif
        y[g.x] = v;
    } else {
        y[g.y * w + g.x] = 3.0 * x[g.y * w + g.x];
    }
#endif
}
