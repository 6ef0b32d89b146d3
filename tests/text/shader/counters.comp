// Atomic additions of integers and floats, to shared memory and to buffers: means of two classes.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-2,3,4,-1,-5,-2,2 --in y=10,20 --in total=0,1 --groups 2 --grad --of y --wrt x,y
// EXPECT: y f32[2] = [24, 32.666668]
// EXPECT: grad_x f32[8] = [0.6666667, -4, 2, 2.6666667, -0.6666667, -3.3333335, -1.3333334, 4]
// EXPECT: grad_y f32[2] = [1, 1]
// TOL: 1e-6
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-2,3,4,-1,-5,-2,2 --in y=10,20 --in total=0,1 --groups 2
// EXPECT: y f32[2] = [24, 32.666668]
// EXPECT: total i32[2] = [4, 5]
// TOL: 1e-6
//
// RUN: vyre-grad check %s --in x=1,-2,3,4,-1,-5,-2,2 --in y=10,20 --in total=0,1 --groups 2
// CONTAINS: ok:
#version 450
#extension GL_EXT_shader_atomic_float : require
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[2]; };
layout(std430, binding = 2) buffer T { int total[2]; };
shared uint count[2];
shared float sum[2];

void main()
{
    const uint i = gl_LocalInvocationID.x;
    const float v = x[gl_GlobalInvocationID.x];
    if (i < 2u) {
        count[i] = 0u;
        sum[i] = 0.0;
    }
    barrier();
    const uint bin = v > 0.0 ? 1u : 0u;
    atomicAdd(count[bin], 1u);
    atomicAdd(sum[bin], v * v);
    barrier();
    if (i < 2u) {
        atomicAdd(y[i], sum[i] / float(max(count[i], 1u)));
        atomicAdd(total[i], int(count[i]));
    }
}
