// Modules whose types or constants consist of themselves, or whose types do not fit: refused, without harm.
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/%Push = OpTypeStruct %uint %float/%Push = OpTypeStruct %uint %Push/' | spirv-as -o %t/t.spv - && vyre-grad print %t/t.spv
// STATUS: 1
// ERROR: error: it consists of a type that is not defined
// ERROR: [E0120]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/\(%[0-9a-zA-Z_]*\) = OpSpecConstantOp %uint IMul .*/\1 = OpSpecConstantOp %uint IMul \1 \1/' | spirv-as -o %t/s.spv - && vyre-grad print %t/s.spv
// STATUS: 1
// ERROR: error: constants consist of others, more than 400 deep (OpSpecConstantOp
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/OpLoad %float/OpLoad %Push/' | spirv-as -o %t/o.spv - && vyre-grad print %t/o.spv
// STATUS: 1
// ERROR: error: a load of a value of another type
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-dis %t/c.spv | sed 's/OpLoad %float/OpLoad %Y/; s/OpAccessChain %_ptr_PushConstant_float .*/OpCopyObject %_ptr_Uniform_Y %_/' | spirv-as -o %t/y.spv - && vyre-grad print %t/y.spv
// STATUS: 1
// ERROR: error: a load or store of what has no values
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
