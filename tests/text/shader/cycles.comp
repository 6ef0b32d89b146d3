// Modules whose types or constants consist of themselves: refused, without harm.
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/%Push = OpTypeStruct %uint %float/%Push = OpTypeStruct %uint %Push/' | spirv-as -o %t/t.spv - && vyre-grad print %t/t.spv
// STATUS: 1
// ERROR: error: it consists of a type that is not defined
// ERROR: [E0120]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/\(%[0-9a-zA-Z_]*\) = OpSpecConstantOp %uint IMul .*/\1 = OpSpecConstantOp %uint IMul \1 \1/' | spirv-as -o %t/s.spv - && vyre-grad print %t/s.spv
// STATUS: 1
// ERROR: error: constants consist of others, more than 400 deep (OpSpecConstantOp
#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const uint N = 3;
const uint M = N * 2u;
layout(push_constant) uniform Push { uint n; float x; };
layout(binding = 0) buffer Y { float y[]; };
void main()
{
    y[n] = x * float(M);
}
