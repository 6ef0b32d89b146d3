// A shader that includes, for the compiler that asks for an extension.
//
// RUN: vyre-grad print %s
// STATUS: 1
// ERROR: '#include' : required extension not requested: GL_GOOGLE_include_directive [E0810]
// ERROR: fix: add `#extension GL_GOOGLE_include_directive : require` below #version, or compile it with `glslc -g` and give the .spv
//
// RUN: printf 'const float FACTOR = 3.0;\n' > %t/factor.h; vyre-grad run %s -DWITH=1 -I %t --in x=1,2 --in y[2]=zeros
// EXPECT: y f32[2] = [3, 6]
#version 450
#ifdef WITH
#extension GL_GOOGLE_include_directive : require
#endif
#include "factor.h"
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < x.length()) y[i] = FACTOR * x[i];
}
