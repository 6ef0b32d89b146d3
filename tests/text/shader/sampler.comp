// Samplers: between texels, and beyond the edges; derivatives with respect to texels and coordinates.
// With --sampler tiles=nearest,repeat --sampler waves=linear,mirror
//
// A ramp of four texels, 0 10 20 30: a coordinate is four texels wide; clamped beyond its ends.
// RUN: vyre-grad run %s --engine eval,vulkan --sampler tiles=nearest,repeat --sampler waves=mirror --in at[4,2]=0.25,0.5,0.5,0.5,2,0.5,-1,0.5 --in ramp[1,4,4]=0,0,0,0,10,0,0,0,20,0,0,0,30,0,0,0 --in tiles_of[1,2,4]=0,1,0,0,0,2,0,0 --in waves[1,2,4]=0,0,1,0,0,0,3,0 --in y[4,3]=zeros --grad
// EXPECT: y f32[4, 3] = [5, 1, 1, 15, 2, 2, 30, 1, 1, 0, 1, 3]
// EXPECT: grad_at f32[4, 2] = [44, 10, 44, 30, 0, 60, 0, 0]
// EXPECT: grad_ramp f32[1, 4, 4] = [1.5, 0, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0, 1, 0, 0, 0]
// EXPECT: grad_tiles_of f32[1, 2, 4] = [0, 3, 0, 0, 0, 1, 0, 0]
// EXPECT: grad_waves f32[1, 2, 4] = [0, 0, 2.5, 0, 0, 0, 1.5, 0]
//
// RUN: vyre-grad check %s --sampler tiles=nearest,repeat --sampler waves=mirror --in at[5,2]=normal:0.5:0.6:1 --in ramp[3,4,4]=normal:0:1:2 --in tiles_of[2,3,4]=normal:0:1:3 --in waves[4,3,4]=normal:0:1:4 --in y[5,3]=zeros
// CONTAINS: ok:
//
// RUN: vyre-grad run %s --sampler border --sampler b0_4=nearest --in at[1,2]=1,0.5 --in ramp[1,4,4]=ones --in tiles_of[1,2,4]=ones --in waves[1,2,4]=ones --in y[1,3]=zeros
// EXPECT: y f32[1, 3] = [0.5, 0, 0.5]
//
// RUN: vyre-grad run %s --sampler tiles=nearest --engine eval --in at[1,2]=1,0.5 --in ramp[1,4,4]=ones --in tiles_of[1,2,4]=ones --in waves[1,2,4]=ones --in y[1,3]=zeros
// STATUS: 0
// ERROR: samplers that --sampler does not describe are taken as linear,clamp
//
// RUN: vyre-grad run %s --sampler clamp,cubic
// STATUS: 1
// ERROR: `clamp,cubic` describes no sampler [E0122]
// ERROR: fix: write linear or nearest, and clamp, repeat, mirror or border
//
// RUN: vyre-grad run %s --sampler other=linear
// STATUS: 1
// ERROR: it has no sampler other [E0122]
#version 450
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer At { vec2 at[]; };
layout(binding = 1) buffer Y { vec3 y[]; };
layout(binding = 2) uniform sampler2D ramp;
layout(binding = 3) uniform texture2D tiles_of;
layout(binding = 4) uniform sampler tiles;
layout(binding = 5) uniform sampler2D waves;

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= uint(at.length())) return;
    const float smooth_one = textureLod(ramp, at[i], 0.0).r * at[i].y * 2.0;
    const float sharp = textureProj(sampler2D(tiles_of, tiles), vec3(at[i], 1.0)).g;
    y[i] = vec3(smooth_one, sharp, texture(waves, at[i]).b);
}
