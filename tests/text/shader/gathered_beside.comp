// A shader's gradient is one module if it may be; but once x is gathered, the gain to whose elements all
// lanes add one after the other is, too.
// RUN: vyre-grad explain %s
// CONTAINS: grad_x  f32[n, w]  gathered:
// CONTAINS: grad_g  f32[?]     gathered:
// RUN: vyre-grad explain %s --wrt g
// CONTAINS: grad_g  f32[?]  atomic adds
// RUN: vyre-grad run %s --grad --accumulate {auto,atomic} --engine {eval,vulkan} --set n=2 --set w=3 --in x=1,2,3,4,5,6 --in g=1,2,3
// CONTAINS: grad_g f32[3] = [
// RUN: vyre-grad check %s --set n={0,1,5} --set w={1,4} --in g[4]=normal:0:1:2
// STATUS: 0
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer G { float g[]; };
layout(binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint n, w; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float mean = 0.0;
    for (uint k = 0; k < w; k++) mean += x[i * w + k];
    for (uint k = 0; k < w; k++) y[i * w + k] = (x[i * w + k] - mean / float(w)) * g[k] * x[(i / 2u) * w + k];
}
