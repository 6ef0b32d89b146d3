// Vectors and arrays of vectors among the push constants: three components take 16 bytes in an array,
// 12 before a scalar.
//
// RUN: vyre-grad run %s --engine eval,vulkan --set from=1,2,3,0.5,-1,2 --set scale=2 --set n=2 --set lean=1,0,-1 --set last=3 --set ends=7,0.25,4,5 --in x[2,3]=1,2,4,0,1,2 --in y[2]=zeros --grad --of y --wrt x,from.0
// EXPECT: y f32[2] = [6.25, 13.75]
// EXPECT: grad_x f32[2, 3] = [0.5, 0, 2, -3.5, -4, -6]
// EXPECT: grad_from.0 f32[1] = [4]
//
// RUN: vyre-grad check %s --set from=1,2,3,0.5,-1,2 --set scale=2 --set n=2 --set lean=1,0,-1 --set last=3 --set ends=7,0.25,4,5 --in x[2,3]=1,2,4,0,1,2 --in y[2]=zeros --wrt x,from.1,from.5,lean.2,ends.2
// CONTAINS: ok:
//
// RUN: vyre-grad info %s | grep 'offset.*\(from.[03]\|scale\|lean.0\|last\|ends\)'
// EXPECT:   push constant     offset 0    f32  from.0
// EXPECT:   push constant     offset 16   f32  from.3
// EXPECT:   push constant     offset 32   f32  scale
// EXPECT:   push constant     offset 48   f32  lean.0
// EXPECT:   push constant     offset 60   f32  last
// EXPECT:   push constant     offset 68   f32  ends.1
// EXPECT:   push constant     offset 72   f32  ends.2
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { vec3 x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant, std430) uniform P { vec3 from[2]; float scale; uint n; vec3 lean; float last; vec2 ends[2]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    const vec3 to = x[i] - from[0];
    y[i] = scale * dot(to, to) + dot(lean, from[1] * x[i]) + last * ends[1].x - ends[0].y;
}
