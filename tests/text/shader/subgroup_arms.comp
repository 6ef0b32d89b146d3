// Operations among lanes under conditions that entire subgroups decide alike, but not entire workgroups.
//
// Sums of two stages: each subgroup its own, then the first subgroup those of all.
// RUN: vyre-grad print %s
// CONTAINS: subgroup_add(
// RUN: vyre-grad check %s --in x[64]=normal:0:1:1 --in y[4]=zeros --groups 2 --engine {eval,vulkan}
// CONTAINS: ok:
// RUN: vyre-grad run %s --in x[64]=ones --in y[4]=zeros --groups 2 --engine eval --subgroup-size {4,8,16}
// CONTAINS: y f32[4] = [32, 32, 0, 0]
//
// In both arms, in arms within arms, with values that are used before and after, under results of other such operations.
// RUN: vyre-grad run %s -D ARMS --in x[16]=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 --in y[16]=zeros --groups 1 --engine eval --subgroup-size 4
// CONTAINS: y f32[16] = [12, 13, 14, 15, 9, 8, 7, 6, 36, 37, 38, 39, 17, 16, 15, 14]
// RUN: vyre-grad check %s -D ARMS --in x[16]=normal:0:1:1 --in y[16]=zeros --groups 1 --engine {eval,vulkan}
// CONTAINS: ok:
//
// Lanes that differ: some of a subgroup's do not take the arm.
// RUN: vyre-grad print %s -D LANES
// STATUS: 1
// ERROR: [E0302]
// A loop that a subgroup runs alone.
// RUN: vyre-grad print %s -D LOOP
// STATUS: 1
// ERROR: [E0302]
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#ifndef ARMS
layout(local_size_x = 32) in;
#endif
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
#if defined ARMS
layout(local_size_x = 16) in;
#elif !defined LANES && !defined LOOP
shared float part[32], total;
#endif

void main()
{
    uint i = gl_GlobalInvocationID.x, lane = gl_SubgroupInvocationID;
    float v = x[i];
#if defined ARMS
    float w;
    if (gl_SubgroupID % 2 == 0) {
        float first = x[i] * 2;
        v = subgroupMax(v) * 2;
        w = v + first - x[i] + subgroupMin(first) - 2 * subgroupMin(x[i]);
        if (gl_SubgroupID == 2 && subgroupAny(first > 0)) w += subgroupAdd(v) / gl_SubgroupSize - v;
        w += subgroupShuffle(v, 0) - v + 3 - v + v;
    } else {
        float least = subgroupMin(v) * 2;
        w = least - x[i] + 4;
    }
    y[i] = w;
#elif defined LANES
    if (lane < 3) y[i] = subgroupAdd(v);
#elif defined LOOP
    for (uint k = gl_SubgroupID; k < 4; k++) v += subgroupAdd(v);
    y[i] = v;
#else
    float sum = subgroupAdd(v);
    if (lane == 0) part[gl_SubgroupID] = sum;
    barrier();
    if (gl_SubgroupID == 0) {
        float all = 0;
        for (uint k = lane; k < gl_NumSubgroups; k += gl_SubgroupSize) all += part[k];
        all = subgroupAdd(all);
        if (lane == 0) total = all;
    }
    barrier();
    if (gl_LocalInvocationIndex == 0) y[gl_WorkGroupID.x] = total;
#endif
}
