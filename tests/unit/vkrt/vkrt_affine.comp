#version 450
// y[i] = a x[i] + 1 over i: N
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; float a; uint base_x; };
void main()
{
    uint i = gl_GlobalInvocationID.x + base_x * gl_WorkGroupSize.x;
    if (i < n) y[i] = a * x[i] + 1.0;
}
