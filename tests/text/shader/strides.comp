// Strides that nothing but the launch relates to each other: rows padded to cstep or nb1, nb2 elements.  Gradients
// are gathered if rows do not overlap, else added atomically; which is decided when they are launched.
//
// RUN: vyre-grad grad %s --wrt a
/* CONTAINS
pipeline main_grad(
    a: in f32[?],
    grad_a: out f32[?],
    b: out f32[?],
    w: i32,
    h: i32,
    c: i32,
    cstep: i32,
    outcstep: i32)
{
    repeat once in 0..min(min(max(1073741825 - min(max(c, 0), 2147483648) * cstep, 0), 1), min(max(cstep + 1 - min(max(h, 0), 2147483648) * w, 0), 1)) {
        main_gather_a(a, grad_a, b, w=w, h=h, c=c, cstep=cstep, outcstep=outcstep);
    }
    repeat once in 0..1 - min(min(max(1073741825 - min(max(c, 0), 2147483648) * cstep, 0), 1), min(max(cstep + 1 - min(max(h, 0), 2147483648) * w, 0), 1)) {
        main_atomic(a, grad_a, b, w=w, h=h, c=c, cstep=cstep, outcstep=outcstep);
    }
}
*/
// RUN: vyre-grad explain %s --wrt a
// CONTAINS: gathered: main_gather_a sums what reaches each element
// CONTAINS: if h * w <= cstep; else main_atomic adds atomically
//
// Rows that just fit, padded rows, rows that overlap, one row for all.
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set w=2 --set h=2 --set c=2 --set cstep=4 --set outcstep=4 --in a=1,2,3,4,5,6,7,8 --in b[8]=zeros
// CONTAINS: grad_a f32[8] = [7, 10, 2, 5, 7, 10, 2, 5]
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set w=2 --set h=2 --set c=2 --set cstep=5 --set outcstep=4 --in a=1,2,3,4,5,6,7,8,9 --in b[8]=zeros
// CONTAINS: grad_a f32[9] = [7, 10, 2, 5, 0, 7, 10, 2, 5]
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set w=2 --set h=2 --set c=2 --set cstep=3 --set outcstep=4 --in a=1,2,3,4,5,6,7 --in b[8]=zeros
// CONTAINS: grad_a f32[7] = [7, 10, 2, 12, 10, 2, 5]
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set w=2 --set h=2 --set c=2 --set cstep=0 --set outcstep=4 --in a=1,2,3,4 --in b[8]=zeros
// CONTAINS: grad_a f32[4] = [14, 20, 4, 10]
// RUN: vyre-grad check %s --set w=3 --set h=2 --set c=2 --set cstep={7,5} --set outcstep=6 --in a[20]=normal:0:1:1 --in b[12]=zeros --engine eval
// CONTAINS: ok:
// More than 2³⁰ elements: the index wraps, the fifth plane is the first one again.
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set w=1 --set h=1 --set c=5 --set cstep=1073741824 --set outcstep=1 --in a=2 --in b[5]=zeros
// CONTAINS: grad_a f32[1] = [4]
//
// Four strides, each of the next greater one.
// RUN: vyre-grad explain %s -D FOUR --wrt a
// CONTAINS: if ne2 * nb2 <= nb3 && ne1 * nb1 <= nb2 && ne0 <= nb1; else main_atomic adds atomically
// RUN: vyre-grad check %s -D FOUR --set ne0=2 --set ne1=3 --set ne2=2 --set ne3=2 --set nb1={3,1} --set nb2=9 --set nb3=18 --in a[36]=normal:0:1:1 --in b[2,2,3,2]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
//
// The stride whose rows the index is in comes first, also if its scalar is declared last.
// RUN: vyre-grad explain %s -D EARLY --wrt a
// CONTAINS: if h * w <= cstep; else main_atomic adds atomically
//
// Of several places the greatest index counts: rows of 2 + 2 elements overlap in 3 and not in 4.
// RUN: vyre-grad explain %s -D TWO --wrt a
// CONTAINS: if w + 2 <= pitch; else main_atomic adds atomically
// RUN: vyre-grad run %s -D TWO --grad --engine eval,vulkan --set w=2 --set h=2 --set pitch=3 --in a=1,2,3,4,5,6,7 --in b[2,2]=zeros
// CONTAINS: grad_a f32[7] = [3, 5, 2, 8, 8, 5, 5]
// RUN: vyre-grad run %s -D TWO --grad --engine eval,vulkan --set w=2 --set h=2 --set pitch=4 --in a=1,2,3,4,5,6,7,8 --in b[2,2]=zeros
// CONTAINS: grad_a f32[8] = [3, 5, 2, 2, 7, 9, 6, 6]
//
// What the caller promises: one form is left, which assumes it.  What it promises of some strides is left out of the check.
// RUN: vyre-grad explain %s --wrt a --assume "h*w <= cstep"
// CONTAINS: main, reverse mode: 1 kernel main_grad
// CONTAINS: as h * w <= cstep (--assume)
// RUN: vyre-grad run %s --grad --engine eval,vulkan --assume "h * w <= cstep" --set w=2 --set h=2 --set c=2 --set cstep=5 --set outcstep=4 --in a=1,2,3,4,5,6,7,8,9 --in b[8]=zeros
// CONTAINS: grad_a f32[9] = [7, 10, 2, 5, 0, 7, 10, 2, 5]
// RUN: vyre-grad grad %s -D FOUR --wrt a --assume "ne2 * nb2 <= nb3" --assume "ne0 <= nb1"
// CONTAINS: repeat once in 0..min(min(max(1073741825 - min(max(ne3, 0), 2147483648) * nb3, 0), 1), min(max(nb2 + 1 - min(max(ne1, 0), 2147483648) * nb1, 0), 1)) {
// CONTAINS: over(k_2: ne3, k: ne2, j: ne1, i: ne0) assume(ne2 * nb2 <= nb3, ne0 <= nb1)
//
// A launch that breaks the promise is refused, by both engines; also where the promise is only that of the derivative's text.
// RUN: vyre-grad run %s --grad --engine eval --assume "cstep >= w * h" --set w=2 --set h=2 --set c=2 --set cstep=3 --set outcstep=4 --in a=1,2,3,4,5,6,7 --in b[8]=zeros
// STATUS: 1
// ERROR: main_grad assumes h * w <= cstep, which does not hold: 4 and 3 [E0717]
// RUN: vyre-grad run %s --grad --engine vulkan --assume "cstep >= w * h" --set w=2 --set h=2 --set c=2 --set cstep=3 --set outcstep=4 --in a=1,2,3,4,5,6,7 --in b[8]=zeros
// STATUS: 1
// ERROR: main_grad assumes h * w <= cstep, which does not hold (E0717): launch it with scalars for which it does; exceeded by: 1 of 1 [E0806]
// RUN: vyre-grad grad %s --wrt a --assume "h * w <= cstep" | vyre-grad run - --engine eval --set w=2 --set h=2 --set c=2 --set cstep=3 --set outcstep=4 --in a=1,2,3,4,5,6,7 --in b[8]=zeros
// STATUS: 1
// ERROR: main_grad assumes h * w <= cstep, which does not hold: 4 and 3 [E0717]
// Nor may the index wrap.
// RUN: vyre-grad run %s --grad --engine eval --assume "h * w <= cstep" --set w=1 --set h=1 --set c=5 --set cstep=1073741824 --set outcstep=1 --in a=2 --in b[5]=zeros
// STATUS: 1
// ERROR: main_grad assumes c * cstep <= 1073741824, which does not hold
// Of two conditions one is promised: the other one still chooses the form, and only the gather relies on the promise.
// RUN: vyre-grad run %s -D PAIR --grad --engine {eval,vulkan} --assume "w <= pitch" --set w=2 --set h=2 --set pitch=2 --set other=1 --in a=1,2,3,4 --in c=1,2,3,4 --in b[2,2]=zeros
// CONTAINS: grad_c f32[4] = [1, 5, 4, 0]
// What other engines have to check.
// RUN: vyre-grad grad %s --wrt a --assume "h * w <= cstep" -o x.json && cat x.json
// CONTAINS: "assumptions": ["c * cstep <= 1073741824", "h * w <= cstep"],
// CONTAINS: max(h*w-cstep, 0)
// RUN: vyre-grad grad %s --wrt a --assume "h * w <= cstep" -o x.h && cat x.h
// CONTAINS: max(h*w-cstep, 0)
//
// No condition of this gradient: another stride, a misspelt one, no gathers, forward mode.
// RUN: vyre-grad grad %s --wrt a --assume "h * w <= outcstep"
// STATUS: 1
// ERROR: no gradient is gathered under the condition `h * w <= outcstep` [E0507]
// ERROR: fix: leave it out; what can be assumed is `h * w <= cstep`
// RUN: vyre-grad explain %s -D FOUR --wrt a --assume "nb3 >= nb2 * ne2" --assume "ne1 * nb <= nb2"
// STATUS: 1
// ERROR: `ne1 * nb <= nb2` [E0507]
// ERROR: fix: leave it out; what can be assumed is `ne2 * nb2 <= nb3`, `ne1 * nb1 <= nb2`, `ne0 <= nb1`
// RUN: vyre-grad grad %s --wrt a --assume "h * w <= cstep" --accumulate atomic
// STATUS: 1
// ERROR: fix: leave it out
// RUN: vyre-grad jvp %s --wrt a --assume "h * w <= cstep"
// STATUS: 1
// ERROR: [E0507]
//
// Two buffers: both conditions count.
// RUN: vyre-grad check %s -D PAIR --engine eval --set w=2 --set h=2 --set pitch={1,2} --set other={1,2} --in a[4]=normal:0:1:1 --in c[4]=normal:0:1:2 --in b[2,2]=zeros
// CONTAINS: ok:
#version 450
layout(local_size_x = 4, local_size_y = 4) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };

#ifdef FOUR
layout(push_constant) uniform P { uint ne0, ne1, ne2, ne3, nb1, nb2, nb3; };

void main()
{
    uvec3 at = gl_GlobalInvocationID;
    if (at.x >= ne0 || at.y >= ne1 || at.z >= ne2) return;
    for (uint k = 0; k < ne3; k++) {
        float s = a[k * nb3 + at.z * nb2 + at.y * nb1 + at.x];
        b[((k * ne2 + at.z) * ne1 + at.y) * ne0 + at.x] = s * s;
    }
}
#elif defined TWO
layout(push_constant) uniform P { uint w, h, pitch; };

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    uint here = at.y * pitch + at.x;
    if (at.x < w && at.y < h) b[at.y * w + at.x] = a[here] * a[here + 2] + a[here + 1];
}
#elif defined PAIR
layout(binding = 2) readonly buffer C { float c[]; };
layout(push_constant) uniform P { uint w, h, pitch, other; };

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x < w && at.y < h) b[at.y * w + at.x] = a[at.y * pitch + at.x] * c[at.y * other + at.x];
}
#else
#ifdef EARLY
layout(push_constant) uniform P { int cstep, outcstep, h, c, w; };
#else
layout(push_constant) uniform P { int w, h, c, cstep, outcstep; };
#endif

void main()
{
    ivec3 at = ivec3(gl_GlobalInvocationID);
    if (at.x >= w || at.y >= h || at.z >= c) return;
    int here = at.z * cstep + at.y * w + at.x;
    float s = 2.0 * a[here];
    if (at.x + 1 < w) s += 3.0 * a[here + 1];
    if (at.y > 0) s += 5.0 * a[here - w];
    b[at.z * outcstep + at.y * w + at.x] = s;
}
#endif
