// The first of several returns says what the domain is: what is done between it and the others is done
// in the domain, too.
//
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(
    @binding(1) y: inout f32[?],
    @binding(0) x: in f32[?],
    @offset(0) n: u32,
    @offset(4) eps: f32)
    workgroup(64) over(i: n)
{
    y[i] = 1.0;
    let a = x[i];
    var v1 = !(a < eps);
    if v1 {
        let b = 1.0 / a;
        if b < 0.5 {
            y[i] = -b;
            v1 = false;
        } else {
            y[i] = b;
            v1 = true;
        }
    }
    if v1 {
        y[i] = sqrt(a) + y[i];
    }
}
*/
// RUN: vyre-grad run %s --in x=4,0,1,3,0.25 --set n=4 --set eps=0.5 --in y[5]=zeros --engine {eval,vulkan} --grad
// EXPECT: y f32[5] = [-0.25, 1, 2, -0.33333334, 0]
// EXPECT: grad_y f32[5] = [0, 0, 0, 0, 1]
// EXPECT: grad_x f32[5] = [0.0625, 0, -0.5, 0.11111111, 0]
//
// RUN: vyre-grad check %s --in x=4,0,1,3,0.25 --set n=5 --set eps=0.5 --in y[5]=zeros
// CONTAINS: ok:
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; float eps; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    y[i] = 1.0;
    float a = x[i];
    if (a < eps) return;
    float b = 1.0 / a;
    if (b < 0.5) {
        y[i] = -b;
        return;
    } else {
        y[i] = b;
    }
    y[i] += sqrt(a);
}
