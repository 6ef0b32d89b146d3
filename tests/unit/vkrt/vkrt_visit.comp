#version 450
// Counts visits of each element of a d0 x d1 x d2 domain and notes the logical group counts.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(set = 0, binding = 0) buffer V { uint visits[]; };
layout(set = 0, binding = 1) buffer G { uint groups[]; };
layout(push_constant) uniform P { uint d0; uint d1; uint d2; uint base[3]; uint num[3]; };
void main()
{
    uvec3 id = gl_GlobalInvocationID + uvec3(base[0], base[1], base[2]) * 4;
    if (id.x < d2 && id.y < d1 && id.z < d0)
        atomicAdd(visits[(id.z * d1 + id.y) * d2 + id.x], 1 + id.x + 100 * id.y + 10000 * id.z);
    if (id == uvec3(0))
        for (int i = 0; i < 3; i++) groups[i] = num[i];
}
