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
// Loops in arms, of which each invocation runs as many iterations: within one another and other arms, in both arms,
// counted by strides, to bounds that arms compute.  Strides remain the same for all of a workgroup.
// RUN: vyre-grad run %s -D ROWS --set n=3 --in x[16]=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 --in y[16]=zeros --groups 1 --engine eval --subgroup-size 4
// CONTAINS: y f32[16] = [18, 20, 22, 24, 1.8984375, 2.0566406, 2.2148438, 2.3730469, 66, 68, 70, 72, 1.8984375, 2.0566406, 2.2148438, 2.3730469]
// RUN: vyre-grad run %s -D ROWS --set n=3 --in x[16]=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 --in y[16]=zeros --groups 1 --engine eval --subgroup-size 8
// CONTAINS: y f32[16] = [34, 36, 38, 40, 42, 44, 46, 48, 1.8984375, 2.0566406, 2.2148438, 2.3730469, 53.15625, 53.314453, 53.472656, 53.63086]
// RUN: vyre-grad check %s -D ROWS --set n={0,3} --in x[16]=normal:0:1:1 --in y[16]=zeros --groups 1 --engine {eval,vulkan}
// CONTAINS: ok:
// RUN: vyre-grad print %s -D ROWS | grep -A3 "var h"
/* EXPECT
        var h = 2u;
        for v3 in 0..2 {
            let h_2 = h / 2;
            let v4 = subgroup_shuffle_xor(v_2, h);
*/
// Loops that a subgroup runs alone, as often as others do not, or leaves: their number of iterations is its own.
// RUN: vyre-grad print %s -D LOOP={0,1,2}
// STATUS: 1
// ERROR: [E0302]
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#if !defined ARMS && !defined ROWS
layout(local_size_x = 32) in;
#endif
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
#if defined ARMS || defined ROWS
layout(local_size_x = 16) in;
layout(push_constant) uniform P { uint n; };
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
#elif defined ROWS
    if (gl_SubgroupID % 2 == 1) {
        v *= 0.5;
        for (uint k = 0; k < n + 1; k++) {
            for (uint h = 2; h > 0; h /= 2) v += subgroupShuffleXor(v, h) * 0.5;
            if (n > 1) v -= subgroupMin(v) * float(k);
        }
    } else {
        for (uint k = 0; k < n; k++) v += subgroupMax(v * 0.5 * float(k));
        v *= 2;
    }
    y[i] = v;
#elif defined LANES
    if (lane < 3) y[i] = subgroupAdd(v);
#elif defined LOOP
#if LOOP == 0
    for (uint k = gl_SubgroupID; k < 4; k++) v += subgroupAdd(v);
#elif LOOP == 1
    if (gl_SubgroupID > 0) for (uint k = 0; k < gl_SubgroupID; k++) v += subgroupAdd(v);
#else
    if (gl_SubgroupID > 0)
        for (uint k = 0; k < gl_NumWorkGroups.x; k++) {
            v += subgroupAdd(v);
            if (v > 3) break;
        }
#endif
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
