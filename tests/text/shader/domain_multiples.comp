// Guards of multiples: an invocation has several elements, and what is guarded is the first one of them, the last
// one, or the elements of a workgroup.  The domain has as many invocations as there are first elements.
//
// RUN: for d in TILE SHIFT LAST GROUP PARTS ROWS LAST_SIGNED; do vyre-grad print %s -D $d | sed -n 's/.*workgroup/workgroup/p'; done
/* EXPECT
workgroup(4) over(i: (n + 3) / 4)
workgroup(4) over(i: (n + 3) / 4)
workgroup(4) over(i: n / 4)
workgroup(4) over(i: (n + 15) / 16 * 4)
workgroup(4) over(i: (n + 3) / 4)
workgroup(4) over(i: (m * w + 3) / 4) assume(m * w <= 2147483647)
workgroup(4) over(i: (m + 4 - w) / 4)
*/
// Of 10 elements the third invocation has two, or none, and of 8 there is no third one; beyond 10 nothing is stored.
// RUN: for d in TILE SHIFT GROUP PARTS ROWS; do vyre-grad run %s -D $d --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=10 --set m=5 --set w=2 --grad --wrt x --quiet; done
/* EXPECT
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 0, 0]
*/
// RUN: vyre-grad run %s -D LAST --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=11 --quiet
// EXPECT: y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
//
// The original, launched by workgroups, does the same.
// RUN: for d in TILE SHIFT LAST GROUP PARTS ROWS; do vyre-grad run %s -D $d --keep-domain --groups 1 --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=10 --set m=5 --set w=2 --quiet; done
/* EXPECT
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 1, 1]
*/
// With a signed offset, which may be less than zero.
// RUN: for w in -3 0 2; do vyre-grad run %s -D LAST_SIGNED --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set m=5 --set w=$w --quiet; done
/* EXPECT
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 122, 145]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 1, 1, 1, 1, 1, 1, 1, 1]
*/
// RUN: for w in -3 0 2; do vyre-grad run %s -D LAST_SIGNED --keep-domain --groups 1 --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set m=5 --set w=$w --quiet; done
/* EXPECT
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 82, 101, 122, 145]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 1, 1, 1, 1, 1, 1, 1, 1]
*/
// A product that wraps would let in fewer.
// RUN: vyre-grad run %s -D ROWS --in x=1 --in y=1 --set m=65536 --set w=65536
// STATUS: 1
// ERROR: main assumes m * w <= 2147483647, which does not hold (E0717)
//
// Its gradient has no atomics.
// RUN: vyre-grad grad %s -D TILE | grep -c atomic || true
// EXPECT: 0
// RUN: for d in TILE GROUP; do vyre-grad check %s -D $d --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=10 | grep -c ^ok; done
/* EXPECT
1
1
*/
// No multiple that has a domain: of a factor that is zero or negative, of ids that are not those of a workgroup
// that is that large, or that a remainder is taken of.
// RUN: for d in ZERO NEGATIVE LARGER WRAPS; do vyre-grad print %s -D $d | grep -c over; true; done
/* EXPECT
0
0
0
0
*/
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint n; int m; int w; } p;
layout(binding = 0) buffer Y { float y[]; };
layout(binding = 1) readonly buffer X { float x[]; };

void squares(uint first, uint end)
{
    for (uint k = first; k < min(first + 4, end); k++) y[k] += x[k] * x[k];
}

void main()
{
    const uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x, g = gl_WorkGroupID.x;
#if defined(TILE)
    const uint first = i * 4;
    if (first >= p.n) return;
    squares(first, p.n);
#elif defined(SHIFT)
    if ((i << 2) < p.n) squares(i << 2, p.n);
#elif defined(LAST)
    if (i * 4 + 3 >= p.n) return;
    squares(i * 4, p.n);
#elif defined(GROUP)
    if (g * 16 >= p.n) return;
    squares(i * 4, p.n);
#elif defined(PARTS)
    const uint first = (g << 4) + l * 4;
    if (first >= p.n) return;
    squares(first, p.n);
#elif defined(ROWS)
    const int first = int(i) * 4;
    if (first >= p.m * p.w) return;
    squares(uint(first), uint(p.m * p.w));
#elif defined(LAST_SIGNED)
    if (int(i) * 4 + p.w > p.m) return;
    squares(i * 4, 12);
#elif defined(ZERO)
    if (i * 0 + (i & 1) >= p.n) return;
    squares(i * 4, p.n);
#elif defined(NEGATIVE)
    if (int(i) * -4 >= p.m) return;
    squares(i * 4, p.n);
#elif defined(LARGER)
    if ((g << 5) + l * 4 >= p.n) return;
    squares((g << 5) + l * 4, p.n);
#else
    if (i * 4 + p.w >= p.n) return;
    squares(i * 4, p.n);
#endif
}
