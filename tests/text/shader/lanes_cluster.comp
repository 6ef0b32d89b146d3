// Sums of four lanes each.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,1,2,0.5,4,1 --in y[8]=zeros --groups 1 --grad --of y --wrt x --quiet
// EXPECT: y f32[8] = [7, 7, 7, 7, 7.5, 7.5, 7.5, 7.5]
// EXPECT: grad_x f32[8] = [4, 4, 4, 4, 4, 4, 4, 4]
#version 450
#extension GL_KHR_shader_subgroup_clustered : enable
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };

void main()
{
    const uint i = gl_LocalInvocationIndex;
    y[i] = subgroupClusteredAdd(x[i], 4u);
}
