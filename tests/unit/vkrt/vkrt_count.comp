#version 450
// total[0] = number of positive x[i], over i: N
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer T { uint total[]; };
layout(push_constant) uniform P { uint n; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n && x[i] > 0.0) atomicAdd(total[0], 1);
}
