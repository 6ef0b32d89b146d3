// The domain comes from the guards: comparisons of both senses and signs, in one condition or in several,
// early or nested, with offsets, of flat ids or of their parts, against parameters, lengths and constants.
//
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(
    @binding(0) y: inout f32[h, w],
    @binding(1) x: in f32[h, w],
    @offset(0) w: i32,
    @offset(4) h: i32,
    @offset(8) n: u32)
    workgroup(8, 4) over(j: h, i: w)
{
    if n == 3 {
        let v1 = x[j, i];
        y[j, i] = v1 * v1 + y[j, i];
    }
}
*/
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6 --in y=1,1,1,1,1,1 --set w=3 --set h=2 --set n=3 --grad --wrt x
// EXPECT: y f32[2, 3] = [2, 5, 10, 17, 26, 37]
// EXPECT: grad_x f32[2, 3] = [2, 4, 6, 8, 10, 12]
//
// What the workgroups beyond it do is nothing, so that a launch by workgroups is the same.
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6 --in y=1,1,1,1,1,1 --set w=3 --set h=2 --set n=3 --groups 2,2
// EXPECT: y f32[6] = [2, 5, 10, 17, 26, 37]
//
// RUN: vyre-grad print %s --keep-domain | grep -A1 workgroup
// EXPECT:     workgroup(8, 4)
// EXPECT: {
//
// RUN: vyre-grad run %s --keep-domain --in x=1 --in y=1 --set w=1 --set h=1 --set n=3
// STATUS: 1
// ERROR: main has no `over`: how many workgroups? [E0805]
//
// RUN: vyre-grad check %s --in x=1,2,3,4,5,6 --in y=1,1,1,1,1,1 --set w=3 --set h=2 --set n=3
// CONTAINS: ok:
//
// RUN: vyre-grad print %s -D NESTED
/* EXPECT
@shader program main(
    @binding(0) y: inout f32[min(h - 1, n), w],
    @binding(1) x: in f32[min(h - 1, n), w],
    @offset(0) w: i32,
    @offset(4) h: i32,
    @offset(8) n: u32)
    workgroup(8, 4) over(j: min(n, h - 1), i: w + 1 - h)
{
    let v1 = x[j, i];
    y[j, i] = v1 * v1 + y[j, i];
}
*/
// RUN: vyre-grad print %s -D LENGTH
/* EXPECT
@shader program main(@binding(0) y: inout f32[?], @binding(1) x: in f32[len_x], len_x: u32)
    workgroup(8, 4) over(j: 1, i: len_x / 4)
{
    let v1 = x[i];
    y[i] = v1 * v1 + y[i];
}
*/
// RUN: vyre-grad run %s -D LENGTH --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9 --in y=1,1,1
// EXPECT: y f32[3] = [2, 5, 1]
#version 450
layout(local_size_x = 8, local_size_y = 4) in;
layout(push_constant) uniform P { int w; int h; uint n; } p;
layout(binding = 0) buffer Y { float y[]; };
layout(binding = 1) readonly buffer X { float x[]; };

void square(uint at) { y[at] += x[at] * x[at]; }

void main()
{
    const uvec2 g = gl_GlobalInvocationID.xy;
#ifdef NESTED
    const int row = int(gl_WorkGroupID.y * gl_WorkGroupSize.y + gl_LocalInvocationID.y);
    if (row < p.h - 1 && int(g.x) + p.h <= p.w) {
        if (p.n > g.y) square(g.y * p.w + g.x);
    }
#elif defined(LENGTH)
    if (g.y != 0) return;
    if (g.x < x.length() / 4) square(g.x);
#else
    if (int(g.x) >= p.w || g.y >= p.h) return;
    if (p.n != 3) return;
    square(g.y * p.w + g.x);
#endif
}
