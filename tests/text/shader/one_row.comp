// With dims = 1 there is one row, which the shader's host knows: as if all rows stored to it, each another
// value, it has no domain.
//
// RUN: vyre-grad print %s
// CONTAINS:     workgroup(4, 4)
// RUN: vyre-grad run %s --groups 1,1 --engine eval,vulkan --set dims=2 --set w=2 --set h=2 --in x=1,2,3,4 --in y[4]=zeros --grad
// EXPECT: y f32[4] = [1, 4, 9, 16]
// EXPECT: grad_x f32[4] = [2, 4, 6, 8]
#version 450
layout(local_size_x = 4, local_size_y = 4) in;
layout(push_constant) uniform P { int dims, w, h; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    ivec2 g = ivec2(gl_GlobalInvocationID.xy);
    if (g.x >= w || g.y >= h) return;
    if (dims == 1) y[g.x] = float(g.y + 1) * x[g.x] * x[g.x];
    else y[g.y * w + g.x] = x[g.y * w + g.x] * x[g.y * w + g.x];
}
