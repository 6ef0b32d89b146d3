// SPDX-License-Identifier: MIT
// A linear model, one invocation per sample: its squared error.
//   vyre-grad grad model.comp --wrt w
//   vyre-grad check model.comp --set N=5 --set D=4 --in w[4]=normal:0:1:1 --in x[5,4]=normal:0:1:2 --in y[5]=normal:0:1:3
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Weights { float w[]; };
layout(binding = 1) readonly buffer Inputs { float x[]; };
layout(binding = 2) readonly buffer Targets { float y[]; };
layout(binding = 3) writeonly buffer Errors { float error[]; };
layout(push_constant) uniform Sizes { uint N, D; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= N) return;
    float e = -y[i];
    for (uint k = 0; k < D; k++) e += x[i * D + k] * w[k];
    error[i] = e * e;
}
