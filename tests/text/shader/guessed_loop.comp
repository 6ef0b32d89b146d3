// A value of a loop's header, square, that only a branch which is never taken uses behind the loop: the header remains its test (spirv/read/outlives.c).
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad print %t/o.spv
// EXPECT: @shader program main(
// EXPECT:     @binding(0) x: in f32[?],
// EXPECT:     @binding(1) y: out f32[?],
// EXPECT:     @offset(0) n: u32,
// EXPECT:     @offset(4) m: u32)
// EXPECT:     workgroup(64) over(i: m)
// EXPECT: {
// EXPECT:     var v1 = 0.0;
// EXPECT:     var v2 = 0u;
// EXPECT:     while v2 * v2 < n {
// EXPECT:         v1 += x[v2];
// EXPECT:         v2 += 1;
// EXPECT:     }
// EXPECT:     y[i] = v1;
// EXPECT: }
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --spec MODE=1 --engine eval --in x=1,2,4,8 --in y[1]=zeros --set n=9 --set m=1
// EXPECT: y f32[1] = [16]
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const int MODE = 0;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint n, m; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= m) return;
    float sum = 0.0;
    uint k = 0, square;
    for (; (square = k * k) < n; k++) sum += x[k];
    if (MODE == 1) sum += float(square);
    y[i] = sum;
}
