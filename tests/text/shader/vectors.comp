// Vectors among the scalars: set whole or by component; what nothing reads may be set, and does nothing.
//
// RUN: vyre-grad print %s | grep : | tr -d '\n'
// EXPECT:     @binding(0) y: out f32[?],    @offset(0) `shift.0`: f32,    @offset(8) `shift.2`: f32,    @offset(12) n: u32)    workgroup(1) over(i: n)
//
// RUN: vyre-grad run %s --engine eval,vulkan --set shift=1,2,4 --set n=2 --set unread=9 --set 'whole=1,2' --in y[2]=zeros
// EXPECT: y f32[2] = [5, 6]
// RUN: vyre-grad run %s --engine eval --set shift.2=4 --set shift.1=7 --set shift.0=1 --set n=1 --in y[1]=zeros --grad
// EXPECT: y f32[1] = [5]
//
// RUN: vyre-grad run %s --set shift=1,2 --set n=2 --in y[2]=zeros
// STATUS: 1
// ERROR: --set shift=1,2: shift has 3 components, but 2 are given [E0801]
// RUN: vyre-grad run %s --set shift=1,2,3,4 --set n=2 --in y[2]=zeros
// STATUS: 1
// ERROR: --set shift=1,2,3,4: shift has 3 components, but 4 are given [E0801]
// RUN: vyre-grad run %s --set shift=1,2,x --set n=2 --in y[2]=zeros
// STATUS: 1
// ERROR: --set shift=1,2,x: not a number (shift.2 is f32) [E0807]
// RUN: vyre-grad run %s --set shift=1,2,4 --set shift.0=1 --set n=2 --in y[2]=zeros
// STATUS: 1
// ERROR: --set gives shift.0 twice [E0801]
// RUN: vyre-grad run %s --set shift=1,2,4 --set n=2 --set other=1 --in y[2]=zeros
// STATUS: 1
// ERROR: --set other: main has no scalar of that name
#version 450
layout(local_size_x = 1) in;
layout(push_constant) uniform P { vec3 shift; uint n; float unread; vec2 whole; } p;
layout(binding = 0) buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i < p.n) y[i] = p.shift.x + p.shift.z + float(i);
}
