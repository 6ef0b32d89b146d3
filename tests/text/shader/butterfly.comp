// A butterfly of shuffles: each lane exchanges with those whose number differs in one bit, and a Haar transform of it.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in y[8]=zeros --in z[8]=zeros --groups 1 --grad --of y,z
// EXPECT: y f32[8] = [204, 408, 612, 816, 1020, 1224, 1428, 1632]
// EXPECT: z f32[8] = [0, 0, 0, -64, 0, -48, -28, 288]
// EXPECT: grad_x f32[8] = [108, 148, 224, 272, 376, 424, 500, 612]
//
// RUN: vyre-grad check %s --in x=1,2,3,4,5,6,7,8 --in y[8]=zeros --in z[8]=zeros --groups 1
// CONTAINS: ok:
#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) writeonly buffer Z { float z[]; };

void main()
{
    const uint i = gl_SubgroupInvocationID;
    float sum = x[i] * x[i], walsh = x[i];
    for (uint bit = 1u; bit < 8u; bit *= 2u) {
        sum += subgroupShuffleXor(sum, bit);
        const float other = subgroupShuffleXor(walsh, bit);
        walsh = (i & bit) == 0u ? walsh + other : other - walsh;
    }
    y[i] = sum * float(i + 1u);
    z[i] = subgroupShuffle(walsh, 7u - i) * x[i];
}
