// Bit fields of vectors: offset and count are one for all components.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=4660,22136 --in y[2,2]=zeros --groups 1
// EXPECT: y i32[2, 2] = [35, 103, 4404, 20856]
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer X { ivec2 x; };
layout(binding = 1) buffer Y { ivec2 y[]; };

void main()
{
    y[0] = bitfieldExtract(x, 4, 8);
    y[1] = bitfieldInsert(x, ivec2(3, 4), 8, 4) - ivec2(512, 768);
}
