// Images of an array that are chosen when the shader runs: each access is one of each image, where the index is its own;
// one that the array has not is 0.
//
// With --sampler linear,clamp --set n=3
// RUN: vyre-grad run %s --sampler linear,clamp --engine eval,vulkan --set n=3 --in page.0[1,3,1]=1,2,3 --in page.1[1,3,1]=3,4,5 --in page.2[1,4,1]=6,7,8,9 --in tile.0[1,2,4]=iota --in tile.1[1,1,4]=iota --in to.0[1,4,1]=zeros --in to.1[1,4,1]=zeros --in which=2,0,1,7 --in y[4]=zeros --grad --wrt page.0,page.2,tile.0 --of y,to.0,to.1
// EXPECT: y f32[4] = [19, 13, 14.5, 0]
// EXPECT: to.0 f32[1, 4, 1] = [0, 169, 0, 0]
// EXPECT: to.1 f32[1, 4, 1] = [0, 0, 210.25, 0]
// EXPECT: grad_page.0 f32[1, 3, 1] = [13.5, 42, 0.5]
// EXPECT: grad_page.2 f32[1, 4, 1] = [13.5, 16, 0.5, 0]
// EXPECT: grad_tile.0 f32[1, 2, 4] = [0, 13.5, 0, 0, 0, 13.5, 0, 0]
//
// RUN: vyre-grad check %s --sampler linear,clamp --set n=3 --in page.0[1,3,1]=1,2,3 --in page.1[1,3,1]=3,4,5 --in page.2[1,4,1]=6,7,8,9 --in tile.0[1,2,4]=iota --in tile.1[1,1,4]=iota --in to.0[1,4,1]=zeros --in to.1[1,4,1]=zeros --in which=2,0,1,7 --in y[4]=zeros
// CONTAINS: ok:
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint n; };
layout(binding = 0, r32f) uniform readonly image2D page[3];
layout(binding = 1) uniform sampler2D tile[2];
layout(binding = 2, r32f) uniform writeonly image2D to[2];
layout(binding = 3) readonly buffer W { uint which[]; };
layout(binding = 4) buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= 4) return;
    const uint k = which[i];
    float s = k < 3 ? imageLoad(page[nonuniformEXT(k)], ivec2(1, 0)).x + float(imageSize(page[nonuniformEXT(k)]).x) : 0.0;
    for (uint j = 0; j < n; j++)
        if (k < 3) s += imageLoad(page[j], ivec2(int(k), 0)).x * 0.5;
    if (k < 2) s += texture(tile[nonuniformEXT(k)], vec2(0.5)).y;
    y[i] = s;
    if (k < 2) imageStore(to[nonuniformEXT(k)], ivec2(int(i), 0), vec4(s * s));
}
