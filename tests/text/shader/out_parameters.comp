// Parameters `out` and `inout` are copied in and out: of components, columns and elements, also where the function
// reads or writes the same variable by its own name.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,3.5,-1,4 --in y[6]=zeros --groups 1 --grad --of y --wrt x
// EXPECT: y f32[6] = [12, 24, 32, 29, 10, 2]
// EXPECT: grad_x f32[4] = [62, 8, 1, 6.5]
//
// RUN: vyre-grad check %s --in x=2,3.5,-1,4 --in y[6]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
float total;

void swap(inout float a, inout float b)
{
    const float kept = a;
    a = b;
    b = kept;
}

bool split(float v, out float low, out vec2 high)
{
    low = v * v;
    high = vec2(v, 3.0 * low);
    v = -1.0; // its own
    return low > 5.0;
}

float add_to(inout float sum, float v)
{
    sum += v; // total is as it was until this returns
    const float seen = total;
    total = 1000.0; // and what is copied out goes over this
    return seen * v;
}

void main()
{
    float low, v = x[0];
    vec3 c = vec3(x[0], x[1], x[2]);
    mat2 m = mat2(0.0);
    float list[3] = float[3](x[0], x[1], x[3]);
    swap(c.x, c.z);
    swap(list[1u + min(uint(abs(x[1])), 1u)], list[0]);
    const bool large = split(v, low, m[1]);
    total = x[3];
    const float product = add_to(total, x[1]);
    y[0] = c.x + 2.0 * c.y + 3.0 * c.z;
    y[1] = list[0] + 10.0 * list[2];
    y[2] = large ? -1.0 : low * v + m[1].y * m[1].x + m[0].x;
    y[3] = product + 2.0 * total;
    y[4] = x[0];
    y[5] = 10.0;
    swap(y[4], y[5]);
}
