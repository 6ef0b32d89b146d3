// A scalar of the shader may have the name that its length would get.
//
// RUN: vyre-grad run %s --in x=1,2,3 --set len_x=2 --in y[3]=zeros --engine {eval,vulkan}
// EXPECT: y f32[3] = [2, 8, 18]
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { uint len_x; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= x.length()) return;
  y[i] = x[i] * x[i] * float(len_x);
}
