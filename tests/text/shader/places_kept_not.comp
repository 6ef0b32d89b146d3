// A push constant that is indexed at run time has no place that the text can say: bindings are numbered anew.
// RUN: vyre-grad print %s
/* EXPECT
program main(a: in f32[3], y: out f32[?], n: u32) workgroup(64) over(i: n) {
    y[i] = a[i % 3];
}
*/
#version 450
layout(local_size_x = 64) in;
layout(set = 1, binding = 2) buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; float a[3]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n) y[i] = a[i % 3];
}
