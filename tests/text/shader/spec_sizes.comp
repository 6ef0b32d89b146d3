// Arrays that a host sizes, too large with the constants' defaults: the error names what to give.
//
// RUN: vyre-grad print %s
// STATUS: 1
// ERROR: error: with `kept` the local arrays take more than 65536 bytes [E0002]
// ERROR: fix: make the arrays smaller or use a buffer; constants size its arrays: give them as the host does, --spec TILE=V (now 256), --spec 0=V (now 1)
// NOT: UNUSED
//
// RUN: vyre-grad print %s --spec TILE=200
// STATUS: 1
// ERROR: give them as the host does, --spec 0=V (now 1)
//
// RUN: vyre-grad run %s --spec 0=128 --spec TILE=32 --groups 1 --grad --engine eval --in x=1,2,3 --in y[128]=zeros --set at=2 --verbose
// CONTAINS: grad_x f32[3] = [0, 128, 128]
//
// An array of no elements with the constants' defaults, which is no valid module.
// RUN: vyre-grad print %s --spec TILE=0
// STATUS: 1
// ERROR: error: extent 0 of array `kept` is not a positive constant [E0308]
// ERROR: fix: shared and local arrays need constant positive extents; constants size its arrays: give them as the host does, --spec 0=V (now 1)
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint TILE = 256;
layout(constant_id = 2) const uint UNUSED = 3;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint at; };
void main()
{
    float kept[TILE * TILE / gl_WorkGroupSize.x];
    for (uint k = 0; k < 3; k++) kept[k * at] = x[k];
    y[gl_LocalInvocationIndex] = kept[at] + kept[2 * at] + float(UNUSED);
}
