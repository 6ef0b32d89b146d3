// An image is a buffer of its texels, rows first, then channels; its sizes are found in the data.  Texels that it
// has not are 0 where they are loaded, and are not stored, as everywhere.
//
// RUN: vyre-grad print %s
/* EXPECT
program main(
    picture: in vec4[height_picture, width_picture],
    weights: in vec4[height_weights, width_weights],
    sums: inout vec2[height_sums, width_sums],
    height_picture: u32,
    width_picture: u32,
    height_weights: u32,
    width_weights: u32,
    height_sums: u32,
    width_sums: u32)
    workgroup(8, 8) over(j: height_picture, i: width_picture)
{
    let at = ivec2(bitcast_i32(i), bitcast_i32(j));
    let v1 = at.y + -1;
    let w = vec2(weights[v1, at.x].x, weights[v1, at.x].y);
    let v2 = w * vec2(picture[at.y, at.x].x, picture[at.y, at.x].y);
    let s = v2.x + v2.y;
    let before = sums[at.y, at.x];
    sums[at.y, at.x] = vec2(s + before.x, before.y + s * 3.0);
}
*/
// RUN: vyre-grad run %s --engine eval,vulkan --in picture[2,2,4]=1,2,9,9,3,4,9,9,5,6,9,9,7,8,9,9 --in weights[1,2,4]=1,2,9,9,3,4,9,9 --in sums[2,2,2]=ones --grad --wrt picture,weights,sums
// EXPECT: sums f32[2, 2, 2] = [1, 1, 1, 1, 18, 52, 54, 160]
// EXPECT: grad_picture f32[2, 2, 4] = [0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 0, 0, 12, 16, 0, 0]
// EXPECT: grad_weights f32[1, 2, 4] = [20, 24, 0, 0, 28, 32, 0, 0]
// EXPECT: grad_sums f32[2, 2, 2] = [1, 1, 1, 1, 1, 1, 1, 1]
//
// RUN: vyre-grad check %s --in picture[3,2,4]=normal:0:1:1 --in weights[2,3,4]=normal:0:1:2 --in sums[3,2,2]=normal:0:1:3 --allow out-of-range
// CONTAINS: ok:
//
// RUN: vyre-grad run %s --in picture[2,2,3]=ones --in weights[1,2,4]=ones --in sums[2,2,2]=ones
// STATUS: 1
// ERROR: picture
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba32f) readonly uniform image2D picture;
layout(binding = 1) uniform sampler2D weights;
layout(binding = 2, rg32f) uniform image2D sums;

void main()
{
    const ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(picture)))) return;
    const vec2 w = texelFetchOffset(weights, at, 0, ivec2(0, -1)).rg;
    const float s = dot(w, imageLoad(picture, at).rg);
    const vec4 before = imageLoad(sums, at); // of two channels: the others are 0 and 1
    imageStore(sums, at, vec4(before.r + s, before.g + (1.0 + 2.0 * before.a + before.b) * s, 7.0, 8.0));
}
