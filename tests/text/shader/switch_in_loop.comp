// A switch in a loop, as an interpreter has it: cases that continue the loop, break out of the switch early, share a
// body or return.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,-3 --in code=1,0,2,7,3,1 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [61.5, 150]
// EXPECT: grad_x f32[2] = [-51.5, -52.5]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=2,6 --in code=3,1,4294967295,7 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [21.5, 57.5]
// EXPECT: grad_x f32[2] = [14.5, 15.5]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --engine eval --in x=2,-3 --in code=1,0,2,7,3,1 --in y[2]=zeros --groups 1 --grad --of y
// EXPECT: y f32[2] = [61.5, 150]
// EXPECT: grad_x f32[2] = [-51.5, -52.5]
//
// RUN: vyre-grad check %s --in x=2,-3 --in code=1,0,2,7,3,1 --in y[2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Code { uint code[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float top = x[i];
    for (uint at = 0u; at < code.length(); ++at) {
        switch (code[at]) {
        case 0u: continue;
        case 1u: top *= x[i]; break;
        case 2u:
        case 3u:
            top += float(code[at]);
            if (top > 8.0) break;
            top *= 2.0;
            break;
        case 0xffffffffu: y[i] = top; return;
        default: top = -top;
        }
        top += 0.5;
    }
    y[i] = top + 100.0;
}
