// Indices of workgroups and places in them, along two axes and flat, are those of the domain's variables, and are
// inverted as such: where the last workgroups are not full, too.
//
// RUN: for d in ACROSS BACK FLAT PLANE; do vyre-grad explain %s -D $d | grep -oE "^  grad_x +f32[^ ]+ +(atomic adds|gathered)"; done
/* EXPECT
  grad_x  f32[?]  gathered
  grad_x  f32[?]  gathered
  grad_x  f32[?]  atomic adds
  grad_x  f32[?]  atomic adds
*/
// RUN: for d in ACROSS BACK FLAT PLANE; do vyre-grad run %s -D $d --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 --in y[5,11]=zeros --set w=11 --set h=5 --grad --wrt x --quiet; done
/* EXPECT
y f32[5, 11] = [1, 9, 25, 49, 25, 225, 625, 1225, 81, 729, 2025, 4, 36, 100, 196, 36, …]
grad_x f32[15] = [1230, 1804, 2124, 1976, 7220, 5412, 2422, 1056, 3600, 1820, 0, 0, 0, 0, 0]
y f32[5, 11] = [16, 36, 36, 16, 256, 441, 576, 625, 1296, 1936, 2500, 256, 225, 144, 49, 1600, …]
grad_x f32[15] = [388, 1272, 3918, 4328, 7240, 6480, 5810, 4992, 0, 4060, 3212, 2376, 0, 0, 0]
y f32[5, 11] = [1, 64, 441, 1600, 4, 100, 576, 1936, 9, 144, 729, 4, 144, 784, 2500, 16, …]
grad_x f32[15] = [138, 584, 2040, 4768, 5960, 6984, 7700, 5696, 2430, 3800, 4180, 0, 0, 0, 0]
y f32[5, 11] = [1, 4, 9, 16, 4, 9, 16, 25, 9, 16, 25, 25, 36, 49, 64, 36, …]
grad_x f32[15] = [6, 24, 54, 72, 80, 48, 84, 96, 72, 0, 0, 0, 0, 0, 0]
*/
// RUN: for d in ACROSS BACK FLAT PLANE; do vyre-grad run %s -D $d --keep-domain --groups 3,3 --in x=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 --in y[55]=zeros --set w=11 --set h=5 --quiet; done
/* EXPECT
y f32[55] = [1, 9, 25, 49, 25, 225, 625, 1225, 81, 729, 2025, 4, 36, 100, 196, 36, …]
y f32[55] = [16, 36, 36, 16, 256, 441, 576, 625, 1296, 1936, 2500, 256, 225, 144, 49, 1600, …]
y f32[55] = [1, 64, 441, 1600, 4, 100, 576, 1936, 9, 144, 729, 4, 144, 784, 2500, 16, …]
y f32[55] = [1, 4, 9, 16, 4, 9, 16, 25, 9, 16, 25, 25, 36, 49, 64, 36, …]
*/
// RUN: for d in ACROSS BACK FLAT PLANE; do vyre-grad check %s -D $d --in x=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 --in y[5,11]=zeros | grep -c ^ok; done
/* EXPECT
1
1
1
1
*/
#version 450
#ifdef FLAT
layout(local_size_x = 4) in;
#else
layout(local_size_x = 4, local_size_y = 2) in;
#endif
layout(push_constant) uniform P { int h; int w; } p;
layout(binding = 0) writeonly buffer Y { float y[]; };
layout(binding = 1) readonly buffer X { float x[]; };

void main()
{
    const uvec2 group = gl_WorkGroupID.xy, at = gl_LocalInvocationID.xy, i = gl_GlobalInvocationID.xy;
    if (i.x >= p.w || i.y >= p.h) return;
#if defined(ACROSS)
    const float v = x[at.x * 2 + group.y] * x[group.x * 4 + at.y];
#elif defined(PLANE)
    const float v = x[gl_LocalInvocationIndex + group.x];
#elif defined(BACK)
    const float v = x[group.x * 4 + 3 - at.x] * x[group.x + at.y * 3 + at.x];
#else
    const float v = x[gl_LocalInvocationIndex * 3 + group.x] * x[gl_LocalInvocationIndex + i.y];
#endif
    y[i.y * p.w + i.x] = v * v;
}
