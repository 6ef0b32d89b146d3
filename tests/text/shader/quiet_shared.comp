// Barriers in a loop that a number in shared memory ends: as nothing is stored to it between the barriers around the
// load, all invocations load the same.
//
// RUN: vyre-grad run %s --engine eval,vulkan --groups 1 --set most=9 --in x=1,2,3,4,0.5,1,1,1 --in y[8]=zeros --grad --of y --wrt x
// EXPECT: y f32[8] = [37.125, 40.5, 43.875, 47.25, 35.4375, 37.125, 37.125, 37.125]
// EXPECT: grad_x f32[8] = [23.375, 23.375, 23.375, 23.375, 23.375, 23.375, 23.375, 23.375]
// RUN: vyre-grad check %s --engine {eval,vulkan} --groups 1 --set most={0,3,9} --in x=1,2,3,4,0.5,1,1,1 --in y[8]=zeros
// CONTAINS: ok:
//
// Not so where another invocation may store before the load, after it, or in an arm that this one does not take; of
// elements that differ; of sums in place.
// RUN: vyre-grad print %s -D{BEFORE,AFTER,ARM,OWN,SUM,WIDE}
// STATUS: 1
// ERROR: [E0302]
#version 450
layout(local_size_x = 8) in;
layout(push_constant) uniform P { uint most; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
shared float part[8];
shared float total;
shared uint ends, each[8];

void main()
{
    const uint lane = gl_LocalInvocationIndex;
    float mine = x[lane], sum = 0.0;
    for (uint k = 0; true; k++) {
        barrier();
        part[lane] = mine;
        each[lane] = k;
        barrier();
        if (lane == 0) {
            total = 0.0;
            for (uint j = 0; j < 8; j++) total += part[j];
            ends = k >= most || total > 30.0 ? 1 : 0;
        }
#ifndef BEFORE
        barrier();
#endif
#ifdef OWN
        if (each[lane] > 2) break;
#elif defined(SUM)
        atomicAdd(ends, 1);
        if (ends > 2) break;
#elif defined(ARM)
        bool stop = false;
        if (lane == 0) ends = 0;
        else stop = ends != 0;
        if (stop) break;
#else
        if (ends != 0) break;
#endif
#ifdef AFTER
        ends = lane;
#endif
#ifdef WIDE
        if (lane == 3) ends = 1;
        if (k > 3 && ends != 0) break;
#endif
        sum += total;
        mine *= 1.5;
    }
    y[lane] = sum + 1.5 * mine;
}
