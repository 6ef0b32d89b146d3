// Flat indices that are proved to be those of a shape get it: then gradients are gathered as those of a program that
// was written so.  Strides are scalars, sums of them, products; borders are left out or guarded.
//
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(
    @binding(0) a: in f32[M, K],
    @binding(1) b: in f32[K, N],
    @binding(2) c: out f32[M, N],
    @offset(0) M: u32,
    @offset(4) N: u32,
    @offset(8) K: u32)
    workgroup(4, 4) over(j: M, i: N)
{
    var s = 0.0;
    for k in 0..K {
        s += a[j, k] * b[k, i];
    }
    c[j, i] = s;
}
*/
// RUN: vyre-grad grad %s
// NOT: atomic_add
// RUN: vyre-grad check %s --set M=3 --set N=4 --set K=2 --engine {eval,vulkan}
// CONTAINS: ok:
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set M=2 --set N=2 --set K=3 --in a=1,2,3,4,5,6 --in b=1,0,0,1,2,3
// EXPECT: c f32[2, 2] = [7, 11, 16, 23]
// EXPECT: grad_a f32[2, 3] = [1, 1, 5, 1, 1, 5]
// EXPECT: grad_b f32[3, 2] = [5, 5, 7, 7, 9, 9]
//
// The same numbers as with flat buffers, by atomics.
// RUN: vyre-grad grad %s --shape "a=?" --shape "b=?" --shape "c=?"
// CONTAINS: atomic_add
// RUN: vyre-grad run %s --grad --engine eval,vulkan --set M=2 --set N=2 --set K=3 --in a=1,2,3,4,5,6 --in b=1,0,0,1,2,3 --shape "a=?" --shape "b=?" --shape "c=?" --in c[4]=zeros
// EXPECT: c f32[4] = [7, 11, 16, 23]
// EXPECT: grad_a f32[6] = [1, 1, 5, 1, 1, 5]
// EXPECT: grad_b f32[6] = [5, 5, 7, 7, 9, 9]
//
// Data of another length is refused: an index might leave it, or have wrapped.
// RUN: vyre-grad run %s --set M=2 --set N=2 --set K=3 --in a=1,2,3,4,5 --in b=1,0,0,1,2,3
// STATUS: 1
// ERROR: a has 5 elements, but its declaration says [2, 3], with M = 2 by --set, N = 2 by --set, K = 3 by --set [E0806]
//
// RUN: vyre-grad print %s -D PICTURE
/* EXPECT
@shader program main(
    @binding(0) a: in f32[2, h, w],
    @binding(1) b: in f32[n * 2, r, r],
    @binding(2) c: out f32[n, h, w],
    @offset(0) w: i32,
    @offset(4) h: i32,
    @offset(8) n: i32,
    @offset(12) r: i32)
    workgroup(4, 4) over(k: n, j: h, i: w)
{
    let at = ivec2(bitcast_i32(i), bitcast_i32(j));
    var s = 0.0;
    for z in 0i32..2 {
        for u in 0..r {
            for v in 0..r {
                let v1 = at.y + u;
                let v2 = r / 2;
                let y = v1 - v2;
                let x = at.x + v - v2;
                var v3 = y < 0 || x < 0;
                let v4 = !v3;
                if v4 {
                    v3 = h <= y;
                }
                let v5 = !v3;
                if v5 {
                    v3 = w <= x;
                }
                let v6 = !v3;
                if v6 {
                    let v7 = a[z, u + i32(j) - v2, v + i32(i) - v2];
                    s += v7 * b[z + i32(k) * 2, u, v];
                }
            }
        }
    }
    let v8 = s * s;
    c[i32(k), i32(j), i32(i)] = v8;
}
*/
// RUN: vyre-grad explain %s --shape "c=?"
// CONTAINS: shapes of flat indices
// CONTAINS:   a  f32[M, K]
// CONTAINS:   b  f32[K, N]
// NOT:   c  f32
// RUN: vyre-grad grad %s -D PICTURE
// NOT: atomic_add
// RUN: vyre-grad check %s -D PICTURE --set w=5 --set h=4 --set n=2 --set r=3 --engine {eval,vulkan}
// CONTAINS: ok:
//
// Not: rows overlap, nothing bounds the row, data decide.
// RUN: vyre-grad print %s -D OVERLAP
// CONTAINS: @binding(0) a: in f32[?],
// CONTAINS: @binding(1) b: in f32[?],
// CONTAINS: @binding(2) c: out f32[M, N],
// RUN: vyre-grad check %s -D OVERLAP --set M=3 --set N=4 --set K=2 --in a[7]=normal:0:1:1 --in b[9]=normal:0:1:2 --allow out-of-range
// CONTAINS: ok:
//
// RUN: vyre-grad print %s --shape "a=M,K+1" --shape "b=N*K"
// CONTAINS: a: in f32[M * (K + 1)],
// CONTAINS: b: in f32[N * K],
// RUN: vyre-grad print %s --shape "z=M"
// STATUS: 1
// ERROR: it has no buffer z [E0122]
// RUN: vyre-grad print %s --shape "a=M/2"
// STATUS: 1
// ERROR: the shape of a cannot be read: M/2 [E0122]
#version 450
layout(local_size_x = 4, local_size_y = 4) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };

#ifdef PICTURE
// A convolution: signed, zero beyond the border, weights [n, 2, r, r]; x is [2, h, w].
layout(push_constant) uniform P { int w, h, n, r; };

void main()
{
    ivec3 at = ivec3(gl_GlobalInvocationID);
    if (at.x >= w || at.y >= h || at.z >= n) return;
    float s = 0.0;
    for (int z = 0; z < 2; z++)
        for (int u = 0; u < r; u++)
            for (int v = 0; v < r; v++) {
                int y = at.y + u - r / 2, x = at.x + v - r / 2;
                if (y < 0 || x < 0 || y >= h || x >= w) continue;
                s += a[(z * h + y) * w + x] * b[((at.z * 2 + z) * r + u) * r + v];
            }
    c[(at.z * h + at.y) * w + at.x] = s * s;
}
#else
layout(push_constant) uniform P { uint M, N, K; };

void main()
{
    uint row = gl_GlobalInvocationID.y, col = gl_GlobalInvocationID.x;
    if (row >= M || col >= N) return;
    float s = 0.0;
    for (uint k = 0; k < K; k++) {
#ifdef OVERLAP
        s += a[row * K + k + 1] * b[(k + row) * N + col + k];
#else
        s += a[row * K + k] * b[k * N + col];
#endif
    }
    c[row * N + col] = s;
}
#endif
