// Specialisation constants by name, where several have it: the number says which is meant.
//
// RUN: vyre-grad run %s --spec LEFT=3 --engine eval,vulkan --in y[2]=zeros --groups 1
// EXPECT: y f32[2] = [3, 2]
// RUN: vyre-grad run %s --spec 7=5 --spec LEFT=3 --engine eval,vulkan --in y[2]=zeros --groups 1
// EXPECT: y f32[2] = [3, 5]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/"RIGHT"/"LEFT"/' | spirv-as --preserve-numeric-ids -o %t/u.spv - && vyre-grad run %t/u.spv --spec LEFT=3 --engine eval --in y[2]=zeros --groups 1
// STATUS: 1
// ERROR: two specialisation constants are called LEFT: 4 and 7 [E0122]
// ERROR: fix: give its SpecId in place of the name
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/"RIGHT"/"LEFT"/' | spirv-as --preserve-numeric-ids -o %t/u.spv - && vyre-grad run %t/u.spv --spec 4=3 --spec 7=5 --engine eval,vulkan --in y[2]=zeros --groups 1
// EXPECT: y f32[2] = [3, 5]
//
// A name that is another constant's number is the number.
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/"RIGHT"/"4"/' | spirv-as --preserve-numeric-ids -o %t/u.spv - && vyre-grad run %t/u.spv --spec 4=3 --engine eval --in y[2]=zeros --groups 1
// EXPECT: y f32[2] = [3, 2]
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Y { float y[]; };
layout(constant_id = 4) const float LEFT = 1.0;
layout(constant_id = 7) const float RIGHT = 2.0;

void main()
{
    y[0] = LEFT;
    y[1] = RIGHT;
}
