// inverse, determinant, transpose, outerProduct and matrixCompMult, of matrices of two and three columns.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in m[2,2]=2,1,0,4 --in t[3,3]=1,0,0,2,1,0,0,3,2 --in y[4]=zeros --groups 1 --grad --of y --wrt m,t
// EXPECT: y f32[4] = [10, 16, 202, 2]
// EXPECT: grad_m f32[2, 2] = [107, 0, -2.75, 2.5]
// EXPECT: grad_t f32[3, 3] = [16, -32, 48, 1, 218, -1, 0, 0, 8]
// TOL: 1e-5
//
// RUN: vyre-grad check %s --in m[2,2]=2,1,0.5,4 --in t[3,3]=1,0,0.5,2,1,0,0,3,2 --in y[4]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer M { mat2 m; };
layout(std430, binding = 1) readonly buffer T { mat3 t; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };

void main()
{
    const vec2 u = inverse(m) * vec2(8.0, 16.0);
    y[0] = u.x + 2.0 * u.y;
    y[1] = determinant(t) * determinant(m);
    const mat3x2 o = outerProduct(m[0], t[1]);
    y[2] = o[0].y + 10.0 * o[2].x + 100.0 * o[1].x;
    const mat3 c = matrixCompMult(t, transpose(t));
    y[3] = dot(transpose(t)[0], inverse(t) * vec3(1.0, 0.0, 2.0)) + c[2][1] + c[1][1];
}
