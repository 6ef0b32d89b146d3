// Operations that GLSL does not write: unordered comparisons, an arithmetic shift of an unsigned number.
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/OpFOrdLessThan /OpFUnordLessThan /; s/OpFOrdGreaterThanEqual/OpFUnordGreaterThanEqual/; s/OpFOrdEqual/OpFUnordEqual/; s/OpShiftRightLogical/OpShiftRightArithmetic/' | spirv-as -o %t/u.spv - && vyre-grad run %t/u.spv --engine eval,vulkan --in x=1,nan --in u=4294967280 --in y[7]=zeros --groups 1
// EXPECT: y f32[7] = [1, 0, 1, 1, 1, 0, 4294967300]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,nan --in u=4294967280 --in y[7]=zeros --groups 1
// EXPECT: y f32[7] = [0, 0, 0, 1, 0, 0, 1073741800]
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer U { uint u[]; };
layout(binding = 2) buffer Y { float y[]; };

void main()
{
    y[0] = x[0] < x[1] ? 1.0 : 0.0;
    y[1] = x[0] < x[0] ? 1.0 : 0.0;
    y[2] = x[1] >= x[0] ? 1.0 : 0.0;
    y[3] = x[0] >= x[0] ? 1.0 : 0.0;
    y[4] = x[1] == x[0] ? 1.0 : 0.0;
    y[5] = x[0] == 2.0 * x[0] ? 1.0 : 0.0;
    y[6] = float(u[0] >> 2u);
}
