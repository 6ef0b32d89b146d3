// Samplers of images of one to three dimensions and with layers; gathers, offsets; integers, which have nothing between.
// With --sampler linear,repeat
//
// RUN: vyre-grad check %s --sampler repeat --in at[6,3]=normal:0.5:0.4:1 --in line[5,4]=normal:0:1:2 --in volume[2,3,4,4]=normal:0:1:3 --in sheets[2,3,4,4]=normal:0:1:4 --in labels[3,4,4]=iota --in y[6,4]=zeros
// CONTAINS: ok:
//
// RUN: vyre-grad run %s --engine eval,vulkan --in at[1,3]=0.5,0.5,0.9 --in line[2,4]=1,0,0,0,2,0,0,0 --in volume[2,1,1,4]=0,3,0,0,0,4,0,0 --in sheets[2,2,2,4]=iota --in labels[1,1,4]=0,0,0,5 --in y[1,4]=zeros --grad --wrt line,volume,sheets --verbose
// EXPECT: y f32[1, 4] = [31.5, 38, 22, 23]
// EXPECT: grad_sheets f32[2, 2, 2, 4] = [0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]
// EXPECT: grad_line f32[2, 4] = [0.5, 0, 0, 0, 0.5, 0, 0, 0]
// EXPECT: grad_volume f32[2, 1, 1, 4] = [0, 0, 0, 0, 0, 1, 0, 0]
// TOL: 1e-6
#version 450
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer At { vec3 at[]; };
layout(binding = 1) buffer Y { vec4 y[]; };
layout(binding = 2) uniform sampler1D line;
layout(binding = 3) uniform sampler3D volume;
layout(binding = 4) uniform sampler2DArray sheets;
layout(binding = 5) uniform usampler2D labels;

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= uint(at.length())) return;
    y[i] = textureGather(sheets, at[i], 2);
    y[i].x += texture(line, at[i].x).r + texture(volume, at[i]).g;
    y[i].y += textureLodOffset(sheets, vec3(at[i].xy, 0.0), 0.0, ivec2(1, 0)).x;
    y[i].w += float(texture(labels, at[i].xy).a);
}
