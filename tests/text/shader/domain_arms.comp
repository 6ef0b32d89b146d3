// Guards around values: in the domain each has one arm, and its results are what that arm gives.
//
// RUN: vyre-grad run %s --engine eval,vulkan --grad --in x=1,-2,3 --set n=3 --in y[3]=zeros --groups 1
// EXPECT: y f32[3] = [2, 5, 10]
// EXPECT: grad_x f32[3] = [2, -4, 6]
//
// RUN: vyre-grad run %s --engine eval,vulkan --keep-domain --in x=1,-2,3 --set n=3 --in y[3]=zeros --groups 1
// EXPECT: y f32[3] = [2, 5, 10]
//
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(@binding(0) x: in f32[?], @binding(1) y: out f32[?], @offset(0) n: u32)
    workgroup(4) over(i: n)
{
    let v = x[i];
    let w = v * v;
    y[i] = w + 1.0;
}
*/
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float v, w, one = 7.0;
    if (i < n) {
        v = x[i];
        if (i >= n) one = 3.0;
        else one = 1.0;
    } else {
        v = 5.0;
    }
    if (i >= n) w = v * 9.0;
    else w = v * v;
    if (i < n) y[i] = w + one;
}
