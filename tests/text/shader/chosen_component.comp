// Components of vectors, columns of matrices and elements of local arrays that are chosen at run time, read and
// written.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x[4,3]=1,2,3,4,5,6,7,8,9,10,11,12 --in k=2,0,1,2 --in y[4,3]=zeros --groups 1 --grad --of y
// EXPECT: y f32[4, 3] = [12, 1, 20, 90, 40, 1, 1, 216, 1152, 264, 1, 490]
// EXPECT: grad_x f32[4, 3] = [10, 6, 7, 30, 24, 0, 0, 315, 152, 48, 24, 62]
//
// RUN: vyre-grad check %s --in x[4,3]=normal:0:1:5 --in k=2,0,1,2 --in y[4,3]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { vec3 x[]; };
layout(std430, binding = 1) readonly buffer K { uint k[]; };
layout(std430, binding = 2) writeonly buffer Y { vec3 y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x, c = k[i];
    vec3 v = x[i];
    v[c] *= v[(c + 1u) % 3u];
    mat3 m = mat3(v, 2.0 * v, 3.0 * v);
    m[c][i % 3u] = 10.0;
    vec3 list[2] = vec3[2](m[c], m[2]);
    list[i & 1u] += v;
    list[1].zx += list[0].xy;
    v = list[1];
    y[i][c] = v[c];
    y[i][(c + 1u) % 3u] = x[i][c] * m[1][1];
    y[i][(c + 2u) % 3u] = 1.0;
}
