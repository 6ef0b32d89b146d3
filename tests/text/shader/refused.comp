// What cannot be read: the instruction, its line, and what to do.
//
// RUN: vyre-grad print %s
// STATUS: 1
// ERROR: %s:20: error: a variable of this kind (an image, a sampler, an array of blocks) cannot be read (OpLoad) [E0121]
// ERROR: fix: use storage buffers, uniform blocks and push constants of numbers
//
// RUN: vyre-grad print %s -DWRONG=1
// STATUS: 1
// ERROR: error: glslangValidator refuses
//
// RUN: printf 'aaaa' > %t/x.spv; printf '\003\002\043\007\000\000\001\000\000\000\000\000\010\000\000\000\000\000\000\000\021\000\011\000' > %t/y.spv; vyre-grad print %t/y.spv
// STATUS: 1
// ERROR: an instruction is longer than the module (word 5) [E0120]
#version 450
layout(local_size_x = 1) in;
layout(binding = 0, r32f) uniform image2D picture;
void main()
{
    imageStore(picture, ivec2(0), vec4(1.0));
#ifdef WRONG
    undeclared = 1;
#endif
}
