// Matrices of std140 blocks: columns of three are padded, rows where row_major says so, arrays in steps of 16 bytes.
// Their data have no padding and are by columns, whatever the block says.
//
// RUN: vyre-grad run %s --engine eval,vulkan --set a=1,2,0,0,1,3,2,0,1 --set b=1,0,0,1,1,2 --set w.0=2 --set w.2=1 --in r[2,2,3]=1,2,3,0,1,0,1,0,1,2,1,1 --in y[2,2]=zeros --groups 1 --grad --of y --wrt r,b.1,w.0,a.3
// EXPECT: y f32[2, 2] = [35, 51, 16, 21]
// EXPECT: grad_r f32[2, 2, 3] = [6, 20, 10, 3, 10, 5, 6, 20, 10, 3, 10, 5]
// EXPECT: grad_a.3 f32[1] = [6]
// EXPECT: grad_b.1 f32[1] = [24]
// EXPECT: grad_w.0 f32[1] = [46]
//
// RUN: vyre-grad info %s | grep 'strides\|offset.*\(a.6\|b.[12]\|w.2\)'
// EXPECT:   set 0 binding 1   in    r: f32[len(r), 2, 3]  storage from byte 0, strides 48, 4, 16
// EXPECT:   set 0 binding 0   offset 32   f32  a.6
// EXPECT:   set 0 binding 0   offset 64   f32  b.1
// EXPECT:   set 0 binding 0   offset 52   f32  b.2
// EXPECT:   set 0 binding 0   offset 112  f32  w.2
//
// RUN: vyre-grad check %s --wrt a.1,a.6,b.2,b.5,w.2,r --set a=1,2,0,0,1,3,2,0,1 --set b=1,0,0,1,1,2 --set w.0=2 --set w.2=1 --in r[2,2,3]=normal:0:1:3 --in y[2,2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std140, binding = 0) uniform M { mat3 a; layout(row_major) mat3x2 b; float w[3]; };
layout(std140, binding = 1) readonly buffer R { layout(row_major) mat2x3 r[]; };
layout(std430, binding = 2) writeonly buffer Y { vec2 y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const vec3 v = a * (r[i] * vec2(w[0], w[2]));
    y[i] = b * v;
}
