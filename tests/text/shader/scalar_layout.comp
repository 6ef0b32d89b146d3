// Blocks of scalar layout: nothing is padded.
//
// RUN: vyre-grad info %s | grep 'strides\|offset.*\(one\|more\)'
// EXPECT:   set 0 binding 0   in    x.at: f32[len(x.at), 3]  storage from byte 0, strides 20, 4
// EXPECT:   set 0 binding 0   in    x.w: f32[len(x.w), 2]  storage from byte 12, strides 20, 4
// EXPECT:   push constant     offset 12   f32  one
// EXPECT:   push constant     offset 28   f32  more.3
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x.at[2,3]=1,2,3,4,5,6 --in x.w[2,2]=1,2,3,4 --in y[2]=zeros --set turn=1,2,3 --set one=2 --set more.3=5 --groups 1 --grad --of y --wrt x.at,x.w,more.3
// EXPECT: y f32[2] = [38, 158]
// EXPECT: grad_x.at f32[2, 3] = [2, 4, 6, 4, 8, 12]
// EXPECT: grad_x.w f32[2, 2] = [10, 14, 10, 32]
// EXPECT: grad_more.3 f32[1] = [8]
// RUN: vyre-grad check %s --in x.at[2,3]=1,2,3,4,5,6 --in x.w[2,2]=1,2,3,4 --in y[2]=zeros --set turn=1,2,3 --set one=2 --set more.3=5 --groups 1 --wrt x.at,x.w,turn.1,more.3
// CONTAINS: ok:
#version 450
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 2) in;
struct X { vec3 at; vec2 w; };
layout(scalar, binding = 0) readonly buffer Xs { X x[]; };
layout(scalar, binding = 1) writeonly buffer Y { float y[]; };
layout(scalar, push_constant) uniform P { vec3 turn; float one; vec3 more[2]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    y[i] = dot(x[i].at, turn) * x[i].w.y + one * more[1].x * x[i].w.x;
}
