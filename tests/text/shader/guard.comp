// A shader as the program: push constants are scalars, buffers have open lengths, calls are inlined.
//
// RUN: vyre-grad run %s --engine eval,vulkan --grad --in x=1,-2,3 --in y=0.5,1,2 --set n=3 --set a=2 --groups 1
// EXPECT: y f32[3] = [6.5, -5, 8]
// EXPECT: grad_x f32[3] = [6, 3, 2]
// EXPECT: grad_y f32[3] = [1, 1, 1]
//
// RUN: vyre-grad check %s --in x=1,-2,3 --in y=0.5,0.5,0.5 --set n=3 --set a=2 --groups 1
// CONTAINS: ok:
//
// RUN: vyre-grad grad %s --order 2 -o %t/x.spv && vyre-grad run %s --jvp --in x=1 --in y=0 --set n=1 --set a=2 --groups 1
// EXPECT: y f32[1] = [6]
// EXPECT: dot_y f32[1] = [7]
//
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(
    @binding(0) x: in f32[?],
    @binding(1) y: inout f32[?],
    @offset(0) n: u32,
    @offset(4) a: f32)
    workgroup(64) over(i: n)
{
...
*/
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint n; float a; } p;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };

float bent(float v)
{
    if (v < 0.0) return 0.5 * v;
    return v;
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= p.n) return;
    float s = 0.0;
    for (int k = 0; k < 4; k++) {
        if (k == 0) continue;
        s += bent(x[i]);
        if (s > 2.5) break;
    }
    y[i] = p.a * s + y[i];
}
