#version 450
// As vkrt_affine, with the parameters in a storage buffer of another set and an f64 among them.
layout(local_size_x = 64) in;
layout(set = 1, binding = 3) readonly buffer X { float x[]; };
layout(set = 1, binding = 7) buffer Y { float y[]; };
layout(set = 2, binding = 1, std430) readonly buffer P { uint n; uint base_x; double a; };
void main()
{
    uint i = gl_GlobalInvocationID.x + base_x * gl_WorkGroupSize.x;
    if (i < n) y[i] = float(a * double(x[i])) + 1.0;
}
