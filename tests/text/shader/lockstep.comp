// Loops that each invocation counts from its own number to its own end, with a barrier in every iteration: as the
// workgroup has to execute those together, all take as many as the first invocation does.
//
// RUN: vyre-grad print %s | grep -E "while|for"
/* EXPECT
        for t in v3..v4 step C {
            for j in 0..4 {
*/
// RUN: vyre-grad run %s --engine eval,vulkan --groups 4 --set batches=2 --set T=6 --set C=8 --set heads=2 --in k[48]=uniform:-1:1:1 --in v[48]=uniform:-1:1:2 --in y[48]=zeros --grad --seed ones
// TOL: 1e-5
// EXPECT: y f32[48] = [-0.058086794, 0.24622759, 0.043661837, 0.072127424, -0.15286593, 0.07022554, -0.0755381, -0.116243, -0.69100916, -0.5363799, 0.083908886, 0.3598776, 0.11139551, -0.04533758, 0.11134508, 0.04472676, …]
// EXPECT: grad_k f32[48] = [0.3238272, 1.538549, 0.3039141, -0.42905948, 0.3653376, -0.17837761, 0.8753668, -0.3624559, 0.0485432, 0.6713028, 1.3050004, -0.5062527, 0.2380804, -0.28983107, 0.22578987, -0.32103598, …]
// EXPECT: grad_v f32[48] = [0.16385072, 0.16385072, 0.16385072, 0.16385072, -0.20052125, -0.20052125, -0.20052125, -0.20052125, 0.6360258, 0.6360258, 0.6360258, 0.6360258, -0.14173159, -0.14173159, -0.14173159, -0.14173159, …]
// RUN: vyre-grad check %s --groups 4 --set batches=2 --set T=6 --set C=8 --set heads=2 --in k[48]=uniform:-1:1:1 --in v[48]=uniform:-1:1:2 --in y[48]=zeros
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint batches; uint T; uint C; uint heads; };
layout(binding = 0) readonly buffer K { float k[]; };
layout(binding = 1) readonly buffer V { float v[]; };
layout(binding = 2) writeonly buffer Y { float y[]; };
shared float keys[4];

void main()
{
    const uint batch = gl_WorkGroupID.x / heads, head = gl_WorkGroupID.x % heads, lane = gl_LocalInvocationID.x;
    if (batch >= batches) return;
    const uint tokens = T / batches;
    const uint first = batch * tokens * C + head * 4 + lane, end = (batch + 1) * tokens * C + head * 4 + lane;
    float state[4] = float[](0.0, 0.0, 0.0, 0.0);
    for (uint t = first; t < end; t += C) {
        barrier();
        keys[lane] = k[t];
        barrier();
        float sum = 0.0;
        for (uint j = 0; j < 4; j++) {
            state[j] = 0.5 * state[j] + keys[j] * v[t];
            sum += state[j] * keys[3 - j];
        }
        y[t] = sum;
    }
}
