// A shared array that nothing needs goes away, which leaves the parameters as they are (crashed: `run` lost
// an output whose array the module declares behind it).
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2 --in y=3,4 --groups 1
// EXPECT: y f32[2] = [4, 6]
//
// RUN: vyre-grad check %s --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
shared float tile[2];
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    tile[i] = 1.0;
    y[i] += x[i];
}
