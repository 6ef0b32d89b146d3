// An addition of floats by atomicCompSwap on their bits: computed, and not differentiated, as the old value depends on
// the order of invocations.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4 --in y[1]=zeros --groups 1
// EXPECT: y f32[1] = [22]
//
// RUN: vyre-grad run %s --engine eval --in x=1,2,3,4 --in y[1]=zeros --groups 1 --grad
// STATUS: 1
// ERROR: error: the reverse needs the old value of atomic_cas, which depends on the order of invocations [E0502]
// ERROR: found = atomicCompSwap(bits, before, floatBitsToUint(uintBitsToFloat(before) + x[i]));
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
shared uint bits;

void main()
{
    const uint i = gl_LocalInvocationID.x;
    if (i == 0u) bits = floatBitsToUint(1.0);
    barrier();
    uint before = floatBitsToUint(7.0), found; // not what is there
    for (;;) {
        found = atomicCompSwap(bits, before, floatBitsToUint(uintBitsToFloat(before) + x[i]));
        if (found == before) break;
        before = found;
    }
    barrier();
    if (i == 0u) y[0] = 2.0 * uintBitsToFloat(bits);
}
