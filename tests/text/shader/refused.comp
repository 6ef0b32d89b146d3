// What cannot be read: the instruction, its line, and what to do.
//
// RUN: vyre-grad print %s
// STATUS: 1
// ERROR: %s:20: error: a variable of this kind (an array of blocks, a ray tracing structure) cannot be read (OpAccessChain) [E0121]
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
layout(binding = 0) buffer B { float x; } several[2];
void main()
{
    several[1].x = 1.0;
#ifdef WRONG
    undeclared = 1;
#endif
}
