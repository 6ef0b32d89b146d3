// Variables outside of functions are each invocation's own, and functions that are called in turn see what others did.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,-3 --in y[3]=zeros --groups 1 --grad --of y
// EXPECT: y f32[3] = [364, 1236, -3292]
// EXPECT: grad_x f32[3] = [510, 1424, 2934]
//
// RUN: vyre-grad check %s --in x=1,2,-3 --in y[3]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 3) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
struct State { float total; vec2 seen[2]; };
float scale = 2.0; // with an initial value
uint calls = 0u;
State state;

void note(float v)
{
    state.total += scale * v;
    state.seen[calls & 1u] = vec2(v, state.total);
    ++calls;
}

float both(float v)
{
    note(v);
    scale = v;
    note(v * v);
    return float(calls);
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    state = State(0.0, vec2[2](vec2(0.0), vec2(0.0)));
    const float n = both(x[i]);
    if (i != 1u) note(5.0);
    y[i] = state.total + 10.0 * state.seen[0].x + 100.0 * state.seen[1].y + n * float(calls);
}
