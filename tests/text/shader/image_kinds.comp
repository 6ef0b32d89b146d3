// Images of one to three dimensions, layers, texels of a buffer; of integers, with atomics; several in an array;
// without a sampler; given to a function; two variables on one binding.
//
// RUN: vyre-grad print %s
// CONTAINS: line: in vec4[width_line]
// CONTAINS: volume: out f32[depth_volume, height_volume, width_volume, 1]
// CONTAINS: sheets: in vec4[layers_sheets, height_sheets, width_sheets]
// CONTAINS: table: in vec4[width_table]
// CONTAINS: counts: inout u32[height_counts, width_counts, 1]
// CONTAINS: `pair.1`: in vec4[`height_pair.1`, `width_pair.1`]
// CONTAINS: left: inout vec2[height_left, width_left]
// NOT: pair.0
// NOT: right
//
// RUN: vyre-grad run %s --engine eval,vulkan --in line[2,4]=1,2,3,4,5,6,7,8 --in volume[2,1,2,1]=zeros --in sheets[2,1,2,4]=iota --in table[2,4]=iota --in counts[1,2,1]=3,4 --in pair.1[1,2,4]=iota --in left[2,2,2]=iota --grad --wrt line,sheets,table,pair.1,left --of volume,left
// EXPECT: volume f32[2, 1, 2, 1] = [0, 0, 64, 170]
// EXPECT: left f32[2, 2, 2] = [0, 1, 2, 3, 1, 0, 21, 0]
// EXPECT: grad_line f32[2, 4] = [2, 0, 0, 0, 2, 0, 0, 0]
// EXPECT: grad_table f32[2, 4] = [0, 1, 0, 0, 0, 1, 0, 0]
// EXPECT: grad_sheets f32[2, 1, 2, 4] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0]
// EXPECT: grad_left f32[2, 2, 2] = [3, 3, 9, 3, 0, 0, 0, 0]
// EXPECT: grad_pair.1 f32[1, 2, 4] = [0, 0, 0, 10, 0, 0, 0, 14]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in line[2,4]=zeros --in volume[2,1,2,1]=zeros --in sheets[2,1,2,4]=zeros --in table[2,4]=zeros --in counts[1,2,1]=3,4 --in pair.1[1,2,4]=zeros --in left[2,2,2]=zeros --of counts
// EXPECT: counts u32[1, 2, 1] = [5, 4]
#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 2) in;
layout(binding = 0) uniform sampler1D line;
layout(binding = 1, r32f) uniform image3D volume;
layout(binding = 2) uniform texture2DArray sheets;
layout(binding = 3) uniform samplerBuffer table;
layout(binding = 4, r32ui) uniform uimage2D counts;
layout(binding = 5) uniform sampler2D pair[2];
layout(binding = 6, rg32f) uniform image2D left;
layout(binding = 6, rg32f) writeonly uniform image2D right;

vec4 of(sampler2D t, int x) { return texelFetch(t, ivec2(x, 0), 0); }

void main()
{
    const int i = int(gl_GlobalInvocationID.x);
    if (i >= textureSize(line, 0)) return;
    float s = texelFetch(line, i, 0).x + texelFetch(table, i).y;
    const uint before = imageAtomicAdd(counts, ivec2(0, 0), 1u);
    s += float(imageLoad(counts, ivec2(i, 0)).y) + texelFetch(sheets, ivec3(i, 0, 1), 0).z * float(i + 3);
    const vec2 l = imageLoad(left, ivec2(i, 0)).rg;
    s += of(pair[1], i).w * (10.0 + 4.0 * float(i)) + float(textureSize(sheets, 0).z) * l.y;
    imageStore(volume, ivec3(i, 0, 1), vec4(s));
    imageStore(right, ivec2(i, 1), vec4(texelFetch(line, i, 0).x + l.x * (2.0 + 6.0 * float(i)), 0.0, 0.0, 0.0));
}
