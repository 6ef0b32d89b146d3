// Loops that each invocation counts from its own number to its own end, with a barrier in every iteration: as the
// workgroup has to execute those together, all take as many as the first invocation does.
//
// RUN: vyre-grad print %s | grep -E "while|for"
/* EXPECT
        for t in v3..v4 step C {
            for j in 0..4 {
*/
// RUN: vyre-grad run %s --engine eval,vulkan --groups 4 --set batches=2 --set T=6 --set C=8 --set heads=2 --in k[48]=uniform:-1:1:1 --in v[48]=uniform:-1:1:2 --in y[48]=zeros --grad --seed ones
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
