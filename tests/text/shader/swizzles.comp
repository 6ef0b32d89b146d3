// Components chosen by name: read twice, written in another order, of buffers, parameters and matrices' columns.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x[2,4]=1,2,3,4,5,6,7,8 --in y[2,4]=1,1,1,1,2,2,2,2 --groups 1 --grad --of y
// EXPECT: y f32[2, 4] = [10, 3, 8, 1, 94, 8, 88, 10]
// EXPECT: grad_x f32[2, 4] = [10, 1, 0, 4, 35, 1, 0, 22]
// EXPECT: grad_y f32[2, 4] = [0, 5, 4, 1, 0, 41, 40, 5]
//
// RUN: vyre-grad check %s --in x[2,4]=1,2,3,4,5,6,7,8 --in y[2,4]=1,1,1,1,2,2,2,2 --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { vec4 x[]; };
layout(std430, binding = 1) buffer Y { vec4 y[]; };

void rotate(inout vec3 v)
{
    v = v.yzx;
    v.zx += v.xx;
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    vec4 v = x[i].wwyx;
    v.yw = v.wy;
    rotate(v.xzw);
    mat2 m = mat2(v);
    m[1].yx *= m[0];
    y[i].xz = y[i].zy * m[1].x + v.ab;
    y[i].w *= m[0].t;
    v.xyz.y++;
    y[i].y += v.xyz.yx.x;
}
