// Matrices that are not square: products, sums, scalars with matrices, and the diagonal that a constructor fills.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in a[2,3]=1,2,3,-1,0,2 --in b[4,2]=1,0,2,1,-1,1,0,3 --in y[4,3]=zeros --groups 1 --grad --of y
// EXPECT: y f32[4, 3] = [-5, -6, -10, -16, -37, -60, 0, 0, -1, -35, -93, -197]
// EXPECT: grad_a f32[2, 3] = [-30, -30, -32, -50, -53, -50]
// EXPECT: grad_b f32[4, 2] = [-24, -4, -108, -18, -48, -8, -54, -9]
// TOL: 1e-6
//
// RUN: vyre-grad check %s --in a[2,3]=1,2,3,-1,0.5,2 --in b[4,2]=1,0,2,1,-1,1,0,3 --in y[4,3]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer A { mat2x3 a; };
layout(std430, binding = 1) readonly buffer B { mat4x2 b; };
layout(std430, binding = 2) writeonly buffer Y { mat4x3 y; };

void main()
{
    mat4x3 p = a * b;
    p += 2.0;
    p[1] *= 3.0;
    p /= 0.5;
    p = p - mat4x3(mat2(a[0].xy, a[1].zx)); // ones below on the diagonal
    p[3] = vec4(1.0, 2.0, 3.0, 4.0) * transpose(p) + (b[3] * transpose(a)).zxy;
    y = -p;
}
