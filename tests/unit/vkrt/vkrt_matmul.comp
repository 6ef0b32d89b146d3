#version 450
// c[i, j] = sum(k in 0..K: a[i, k] b[k, j]) over i: M, j: N
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform P { uint m; uint n; uint k; uint base_x; uint base_y; };
void main()
{
    uint j = gl_GlobalInvocationID.x + base_x * 8;
    uint i = gl_GlobalInvocationID.y + base_y * 8;
    if (i >= m || j >= n) return;
    float sum = 0.0;
    for (uint t = 0; t < k; t++) sum += a[i * k + t] * b[t * n + j];
    c[i * n + j] += sum; // a second visit would show
}
