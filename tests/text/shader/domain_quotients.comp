// Extents that are quotients, and minima, of sums and products.  As the domain's extent nothing wraps; where that
// would show in the quotient, its launch is refused.
//
// RUN: for d in VECTORS ROUNDED SHIFTED LEAST NESTED SIGNED UNDER; do vyre-grad print %s -D $d | sed -n 's/.*workgroup/workgroup/p'; done
/* EXPECT
workgroup(8) over(i: (n + 3) / 4) assume(n + 3 <= 2147483647)
workgroup(8) over(i: (n + 3) / 4 * 4) assume(n + 3 <= 2147483647)
workgroup(8) over(i: (u + 3) / 4) assume(u + 3 <= 4294967295)
workgroup(8) over(i: min((n + m) / 2, n)) assume(n + m <= 2147483647)
workgroup(8) over(i: ((n * m + 1) / 2 + 3) / 4) assume(n * m + 1 <= 2147483647, (n * m + 1) / 2 + 3 <= 2147483647)
workgroup(8) over(i: m / 4 + n) assume(0 <= m)
workgroup(8) over(i: (u - 1) / 4 + 1) assume(u - 1 <= 4294967295, 0 <= u - 1)
*/
// RUN: for d in VECTORS ROUNDED SHIFTED LEAST NESTED SIGNED; do vyre-grad run %s -D $d --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=7 --set m=4 --set u=9 --grad --wrt x --quiet; done
/* EXPECT
y f32[12] = [2, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
grad_x f32[12] = [2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 0, 0, 0, 0]
y f32[12] = [2, 5, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1]
grad_x f32[12] = [2, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 1, 1, 1, 1, 1, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 0, 0, 0, 0, 0, 0, 0]
y f32[12] = [2, 5, 10, 17, 1, 1, 1, 1, 1, 1, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
grad_x f32[12] = [2, 4, 6, 8, 10, 12, 14, 16, 0, 0, 0, 0]
*/
// The original, launched by workgroups, does the same.
// RUN: for d in VECTORS ROUNDED SHIFTED LEAST NESTED SIGNED; do vyre-grad run %s -D $d --keep-domain --groups 2 --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=7 --set m=4 --set u=9 --quiet; done
/* EXPECT
y f32[12] = [2, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 1, 1, 1, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 1, 1, 1, 1, 1, 1, 1, 1]
y f32[12] = [2, 5, 10, 17, 26, 37, 50, 65, 1, 1, 1, 1]
*/
// A shift rounds down, an extent to zero: of -5 they differ.  And what wraps is not what it is as an extent.
// RUN: vyre-grad run %s -D SIGNED --in x=1,2,3,4,5,6 --in y[6]=ones --set n=5 --set m=-5
// STATUS: 1
// ERROR: main assumes 0 <= m, which does not hold (E0717)
// RUN: vyre-grad run %s -D SHIFTED --in x=1,2,3,4,5,6 --in y[6]=ones --set u=4294967295
// STATUS: 1
// ERROR: main assumes u + 3 <= 4294967295, which does not hold (E0717)
// RUN: vyre-grad run %s -D VECTORS --in x=1,2,3,4,5,6 --in y[6]=ones --set n=2147483647
// STATUS: 1
// ERROR: main assumes n + 3 <= 2147483647, which does not hold (E0717)
// RUN: vyre-grad run %s -D LEAST --in x=1,2,3,4,5,6 --in y[6]=ones --set n=2147483647 --set m=3
// STATUS: 1
// ERROR: main assumes n + m <= 2147483647, which does not hold (E0717)
// RUN: vyre-grad run %s -D UNDER --in x=1,2,3,4,5,6 --in y[6]=ones --set u=0
// STATUS: 1
// ERROR: main assumes 0 <= u - 1, which does not hold (E0717)
// Nothing is launched of what is less than zero.
// RUN: vyre-grad run %s -D VECTORS --in x=1,2,3 --in y[3]=ones --set n=-9 --quiet
// EXPECT: y f32[3] = [1, 1, 1]
//
// RUN: vyre-grad grad %s -D VECTORS | grep -c atomic || true
// EXPECT: 0
// RUN: for d in VECTORS ROUNDED NESTED; do vyre-grad check %s -D $d --in x=1,2,3,4,5,6,7,8,9,10,11,12 --in y[12]=ones --set n=7 --set m=4 | grep -c ^ok; done
/* EXPECT
1
1
1
*/
#version 450
layout(local_size_x = 8) in;
layout(push_constant) uniform P { int n; int m; uint u; } p;
layout(binding = 0) buffer Y { float y[]; };
layout(binding = 1) readonly buffer X { float x[]; };

void main()
{
    const int i = int(gl_GlobalInvocationID.x);
#if defined(VECTORS)
    if (i >= (p.n + 3) / 4) return;
#elif defined(ROUNDED)
    if (i >= (p.n + 3) / 4 * 4) return;
#elif defined(SHIFTED)
    if (gl_GlobalInvocationID.x >= (p.u + 3) >> 2) return;
#elif defined(LEAST)
    if (i >= min((p.n + p.m) / 2, p.n)) return;
#elif defined(NESTED)
    if (i >= ((p.n * p.m + 1) / 2 + 3) / 4) return;
#elif defined(SIGNED)
    if (i >= p.n + (p.m >> 2)) return;
#else
    if (gl_GlobalInvocationID.x > (p.u - 1) / 4) return;
#endif
    y[i] += x[i] * x[i];
}
