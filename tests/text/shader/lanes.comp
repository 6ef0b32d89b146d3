// Sums, shuffles and votes among the lanes of a subgroup.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in y[4,8]=zeros --groups 1 --grad --of y --quiet
// EXPECT: y f32[4, 8] = [0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6, 7, 8, 0, …]
// EXPECT: grad_x f32[8] = [17, 10, 10, 10, 10, 10, 10, 9]
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[][8]; };

void main()
{
    const uint i = gl_LocalInvocationIndex;
    const float v = x[i], up = subgroupShuffleUp(v, 1u), down = subgroupShuffleDown(v, 1u);
    y[0][i] = i > 0u ? up : 0.0;
    y[1][i] = i < 7u ? down : 0.0;
    y[2][i] = subgroupAdd(v);
    y[3][i] = subgroupBroadcastFirst(v);
}
