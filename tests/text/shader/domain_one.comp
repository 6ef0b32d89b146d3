// An axis of which the launch has one invocation: as a domain, all along it would store to one element.
// The shader keeps its own form.
//
// RUN: vyre-grad print %s
// CONTAINS: workgroup(4)
// RUN: vyre-grad check %s --set n=3 --set m=1 --in x=1,2,3,4 --in y[4]=zeros --groups 1,1
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint n; uint m; };

void main()
{
    uvec2 g = gl_GlobalInvocationID.xy;
    if (g.x >= n || g.y >= m) return;
    y[g.x] = x[g.x] * x[g.x] * float(g.y + 1u);
}
