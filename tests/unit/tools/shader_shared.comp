#version 450
// For test_shader.c: shared memory of several types, a subgroup operation, scalars of two types and sizes.
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32, local_size_y = 2) in;
layout(push_constant) uniform P { uint n; float scale; double wide; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 5) buffer Y { uint count; float y[]; };
struct Pair { vec2 a; uint b; }; // 12 bytes
shared Pair pairs[10];
shared float sums[3][64];
void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (gl_LocalInvocationIndex < 10) pairs[gl_LocalInvocationIndex].b = n;
    sums[gl_LocalInvocationIndex % 3][gl_LocalInvocationIndex] = subgroupAdd(x[i]);
    barrier();
    y[i] = sums[0][63 - gl_LocalInvocationIndex] * scale * float(wide) + float(pairs[i % 10].b);
}
