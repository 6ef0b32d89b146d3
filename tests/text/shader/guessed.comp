// What only a branch that is never taken does to variables is not done: x is `in`, n is no parameter, a is no array.
//
// RUN: vyre-grad print %s
// EXPECT: @shader program main(@binding(0) x: in f32[?], @binding(1) y: out f32[?], @offset(4) m: u32)
// EXPECT:     workgroup(64) over(i: m)
// EXPECT: {
// EXPECT:     y[i] = x[i] * 3.0;
// EXPECT: }
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const int MODE = 0;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { uint n, m; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= m) return;
    float a[4] = float[](1.0, 2.0, 3.0, 4.0);
    if (MODE == 1) {
        x[i] = a[(i + n) % 4];
    }
    y[i] = x[i] * a[2];
}
