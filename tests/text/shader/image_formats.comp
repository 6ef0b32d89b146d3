// What a format cannot hold is rounded where it is stored, with the derivative of the number before; beyond the
// range of one with steps it has none.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=0.1625,-0.1,0.75,0.36 --set height_bytes=1 --set width_bytes=1 --set height_shorts=1 --set width_shorts=1 --set height_halves=1 --set width_halves=1 --set height_free=1 --set width_free=1 --set height_ten=1 --set width_ten=1 --groups 1 --grad
// EXPECT: bytes f32[1, 1, 4] = [0.3254902, 0, 1, 0.72156864]
// EXPECT: shorts f32[1, 1, 2] = [0.3249916, -0.1999878]
// EXPECT: halves f32[1, 1, 1] = [0.32495117]
// EXPECT: free f32[1, 1, 4] = [0.325, -0.2, 1.5, 0.72]
// EXPECT: ten f32[1, 1, 4] = [0.32453567, 0, 1, 0.6666667]
// EXPECT: grad_x f32[4] = [10, 4, 2, 6]
// TOL: 2e-7
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer X { vec4 x; };
layout(binding = 1, rgba8) writeonly uniform image2D bytes;
layout(binding = 2, rg16_snorm) writeonly uniform image2D shorts;
layout(binding = 3, r16f) writeonly uniform image2D halves;
layout(binding = 4) writeonly uniform image2D free;
layout(binding = 5, rgb10_a2) writeonly uniform image2D ten;

void main()
{
    const vec4 v = 2.0 * x;
    imageStore(bytes, ivec2(0), v);
    imageStore(shorts, ivec2(0), v);
    imageStore(halves, ivec2(0), v);
    imageStore(free, ivec2(0), v);
    imageStore(ten, ivec2(0), v);
}
