// Scans of other operations than sums, quads, ballots.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,1,2,0.5,4,1 --in "y[5,8]=zeros" --in "u[6,8]=zeros" --groups 1 --verbose
// EXPECT: y f32[5, 8] = [1, 2, 6, 6, 12, 6, 24, 24, -inf, 1, 2, 3, 3, 3, 3, 4, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 23, 21, 21, 22, 9, 6, 7, 5.5, inf, 2, 2, 2, 2, 2, 1, 1]
// EXPECT: u u32[6, 8] = [0, 1, 1, 2, 2, 3, 3, 4, 0, 1, 0, 1, 0, 1, 0, 1, 51004, 51004, 51014, 51014, 51024, 51024, 51034, 51034, 341, 340, 341, 340, 341, 340, 341, 340, 1000, 1001, 1003, 1007, 1015, 1031, 1063, 1127, 7, 7, 7, 7, 7, 7, 7, 7]
//
// RUN: vyre-grad check %s --in x=1,2,3,1.5,2,0.5,4,1 --in "y[5,8]=zeros" --in "u[6,8]=zeros" --groups 1 --verbose
// CONTAINS: ok:
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_quad : enable
#extension GL_KHR_shader_subgroup_vote : enable
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[][8]; };
layout(binding = 2) buffer U { uint u[][8]; };

void main()
{
    const uint i = gl_LocalInvocationIndex;
    const float v = x[i];
    const uvec4 odd = subgroupBallot((i & 1u) == 1u);
    y[0][i] = subgroupInclusiveMul(v);
    y[1][i] = subgroupExclusiveMax(v);
    y[2][i] = subgroupInclusiveMin(v);
    y[3][i] = subgroupQuadSwapVertical(v) + 10.0 * subgroupQuadBroadcast(v, 1u);
    y[4][i] = subgroupExclusiveMin(v * 2.0);
    u[0][i] = subgroupBallotInclusiveBitCount(odd);
    u[1][i] = uint(subgroupInverseBallot(odd));
    u[2][i] = subgroupBallotBitCount(odd) + subgroupBallotExclusiveBitCount(odd) * 10u;
    u[3][i] = uint(subgroupBallotBitExtract(odd, i ^ 1u)) + odd.x * 2u;
    u[2][i] += 1000u * subgroupBallotFindLSB(odd) + 10000u * subgroupBallotFindMSB(odd & uvec4(63u, 0u, 0u, 0u));
    u[4][i] = subgroupExclusiveOr(1u << i) + uint(subgroupAllEqual(i / 8u)) * 1000u;
    u[5][i] = subgroupInclusiveMax(7u - i) + uint(subgroupAllEqual(i));
}
