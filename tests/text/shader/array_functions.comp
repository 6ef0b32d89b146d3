// Arrays as values: a function takes one by value, changes it, returns it; arrays of arrays; comparison of arrays.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,-3 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [126, 183]
// EXPECT: grad_x f32[2] = [22, -62]
//
// RUN: vyre-grad check %s --in x=2,-3 --in y[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

float[3] shifted(float list[3], int by)
{
    float moved[3];
    for (int k = 0; k < list.length(); ++k) moved[(k + by) % 3] = list[k];
    list[0] = 1000.0; // its own
    return moved;
}

float sum(const vec2 rows[2][2])
{
    float s = 0.0;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) s += float(1 + 2 * i + j) * rows[i][j].x - rows[j][i].y;
    return s;
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float list[3] = float[](x[i], x[i] * x[i], 1.0);
    const float moved[3] = shifted(list, int(i) + 1);
    vec2 rows[2][2];
    rows[0] = vec2[2](vec2(moved[0], moved[1]), vec2(moved[2], list[0]));
    rows[1] = rows[0];
    rows[1][0] *= 3.0;
    y[i] = sum(rows) + (shifted(moved, 2 - int(i)) == list ? 100.0 : 0.0) + shifted(shifted(list, 1), 1)[0];
}
