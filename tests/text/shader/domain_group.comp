// Guards and workgroups.  A guard ahead of all is that of the domain, whose padding takes part in barriers;
// one behind work for the workgroup stays, and the domain is whole workgroups; a guard of the workgroup's
// number counts workgroups.
//
// RUN: vyre-grad print %s -D EARLY
// CONTAINS: workgroup(4) over(i: n)
// RUN: vyre-grad run %s -D EARLY --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in y[8]=zeros --set n=8 --grad --quiet
// EXPECT: y f32[8] = [4, 6, 6, 4, 40, 42, 42, 40]
// EXPECT: grad_x f32[8] = [8, 6, 4, 2, 16, 14, 12, 10]
//
// RUN: vyre-grad print %s -D EARLY --keep-domain
// STATUS: 1
// ERROR: barrier() is not reached by all invocations of a workgroup
//
// RUN: vyre-grad print %s -D LATE
// CONTAINS: workgroup(4) over(i: (n + 3) / 4 * 4)
// RUN: vyre-grad run %s -D LATE --engine eval,vulkan --in x=1,2,3,4,5,6 --in y[6]=zeros --set n=6 --grad --quiet
// EXPECT: y f32[6] = [4, 6, 6, 4, 0, 0]
// EXPECT: grad_x f32[6] = [8, 6, 4, 2, 0, 0]
// RUN: vyre-grad run %s -D LATE --engine eval,vulkan --in x=1,2,3,4,5,6 --in y[6]=zeros --set n=6 --groups 3
// EXPECT: y f32[6] = [4, 6, 6, 4, 0, 0]
// RUN: vyre-grad check %s -D LATE
// CONTAINS: ok:
//
// RUN: vyre-grad print %s -D ROWS
// CONTAINS: workgroup(4) over(i: n * 4)
// RUN: vyre-grad run %s -D ROWS --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in y[2]=zeros --set n=2 --grad --quiet
// EXPECT: y f32[2] = [10, 26]
// EXPECT: grad_x f32[8] = [1, 1, 1, 1, 1, 1, 1, 1]
// RUN: vyre-grad check %s -D ROWS --in x=1,2,3,4,5,6,7,8 --set n=2
// CONTAINS: ok:
//
// Lanes beyond the guard give others what they have.
// RUN: vyre-grad print %s -D LANES
// CONTAINS: workgroup(4) over(i: (n + 3) / 4 * 4)
// RUN: vyre-grad run %s -D LANES --engine eval,vulkan --in x=1,2,3,4,5,6 --in y[6]=zeros --set n=6
// EXPECT: y f32[6] = [1, 1, 1, 1, -3, -3]
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint n; } p;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
shared float part[4];

void main()
{
    const uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
#ifdef EARLY
    if (i >= p.n) return;
    part[l] = x[i];
    barrier();
    y[i] = x[i] * part[3 - l];
#elif defined(LATE)
    part[l] = i < p.n ? x[i] : 0.0;
    barrier();
    if (i < p.n) y[i] = x[i] * part[3 - l];
#elif defined(LANES)
    const float least = subgroupMin(i < p.n ? x[i] : -3.0);
    if (i < p.n) y[i] = least;
#else
    const uint row = gl_WorkGroupID.x;
    if (row >= p.n) return;
    part[l] = x[row * 4 + l];
    barrier();
    if (l < 2) part[l] += part[l + 2];
    barrier();
    if (l == 0) y[row] = part[0] + part[1];
#endif
}
