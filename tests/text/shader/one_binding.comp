#version 450
// Two variables in one block, so of one binding: what is only read of it is not NonWritable, as the module
// writes to the memory behind it.
// RUN: vyre-grad run %s --engine {eval,vulkan} --set n=3 --in factor=2,3,4,5 --in x=1,2,3 --in bits[3]=zeros --groups 1
// CONTAINS: bits u32[3] = [1073741824, 1086324736, 1094713344]
// RUN: vyre-grad compile %s -o m.spv && spirv-dis m.spv | grep -o "%[a-z]* \(Aliased\|NonWritable\)" | sort | tr "\n" " "
// EXPECT: %bits Aliased %factor Aliased %x NonWritable
layout(local_size_x = 4) in;
layout(binding = 0) buffer Mixed { float factor[4]; uint bits[]; };
layout(binding = 1) readonly buffer Data { float x[]; };
layout(push_constant) uniform Size { uint n; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    bits[i] = floatBitsToUint(factor[i] * x[i]);
}
