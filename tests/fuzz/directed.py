# SPDX-License-Identifier: MIT
"""Small programs that together exercise every way of accumulating gradients: gathers, their walks
and stored values, trees for outputs with few elements, terms, exact sums, counted loops, stages.

plant.py runs them against faults in these parts (gradcheck_file): each fault must make one of them
fail.  They are few and small, so that a fault costs seconds; it is checked first that they pass
without a fault.
"""


def program(text, settings, data=""):
    return "// set: %s\n%s%s\n" % (settings, data and "// data: %s\n" % data, text)


PROGRAMS = (
    # built-ins: those of the point, not of the gather's invocation
    program("program p(x: in f32[8], o: out f32[N], N: u32) workgroup(3) over(i: N)"
            " { o[i] = f32(lid.x + 1)*x[0] + f32(wid.x + 1)*x[1] + f32(num_groups.x)*x[2] + f32(lindex + 1)*x[3]; }",
            "N=7"),
    program("program p(x: in f32[M], o: out f32[M, N], M: u32, N: u32) workgroup(4, 2) over(j: M, i: N)"
            " { o[j, i] = f32(gid.x + 2*gid.y)*x[j] + f32(lid.y + num_groups.y)*x[0]; }", "M=5 N=3"),
    program("program p(x: in f32[8], o: out f32[2, 3, N, 2], N: u32) over(a: 2, b: 3, i: N, j: 2)"
            " { o[a, b, i, j] = f32(gid.z + 1)*x[b]; }", "N=2"),
    program("program p(x: in f32[N], y: in f32[M], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M)"
            " { o[i, j] = x[i]*y[j]*f32(lane + 1); }", "N=3 M=4"),
    program("program p(x: in f32[N], o: out f32[M, N], M: u32, N: u32) over(j: M, i: N)"
            " { if gid.x > 1 { o[j, i] = x[gid.x - 1]*x[i]; } }", "M=3 N=5"),
    # partial sums: of more points than shares, of two loops, into what an earlier stage left
    program("program p(x: in f32[32], y: in f32[N], o: out f32[N, 32], N: u32) over(i: N, k: 32)"
            " { o[i, k] = x[k]*x[k]*y[i]; }", "N=70"),
    program("program p(x: in f32[32], y: in f32[N], o: out f32[N, M, 32], N: u32, M: u32) over(i: N, j: M, k: 32)"
            " { o[i, j, k] = x[31 - k]*sin(x[31 - k]*y[i]); }", "N=9 M=10"),
    # an infinite derivative of what is added to memory and loaded in vain
    program("// of: y\nprogram p(x: in f32[N], h: inout f32[N], y: out f32[N], N: u32) over(i: N)"
            " { atomic_add(h[i], asin(x[i] / x[i])); if h[i] < -9.0 { y[i] = h[i]; } }", "N=3"),
    # remainders, quotients, steps
    program("program p(x: in f32[N], o: out f32[N, M], N: u32, M: u32, T: u32) over(i: N, j: M)"
            " { if T % 4u > 1u { o[i, j] = x[i]; } }", "N=1 M=1 T=2"),
    program("program p(x: in f32[N], o: out f32[N, M], N: u32, M: u32, T: u32) over(i: N, j: M)"
            " { if j % 2u == T % 2u { o[i, j] = x[i]*x[j / 2u]; } }", "N=5 M=4 T=7"),
    program("program p(x: in f32[N], o: out f32[N], N: u32) over(i: N)"
            " { var s = 0.0; for k in 0..N step 3 { s += x[k]; } o[i] = s*x[i & 3u]; }", "N=8"),
    program("program p(x: in f32[N], o: out f32[M], N: u32, M: u32) over(i: M)"
            " { if 3u*i + 1u < N { o[i] = x[3u*i + 1u]*x[(i + 2u) / 3u]; } }", "N=11 M=6"),
    program("program p(x: in f32[N], o: out f32[N], N: u32) over(i: N) { o[i] = x[(i + 1) % N]*x[(i + N - 1) % N]; }",
            "N=5"),
    program("program p(x: in f32[N], o: out f32[N, N], N: u32) over(i: N, j: N)"
            " { if i != j { o[i, j] = x[i]*x[j]; } if i <= j { o[i, j] = x[j]*x[j]; } }", "N=4"),
    # loops alike in all but one respect: bounds, step, type, arm, condition, what is left early, nests
    program("program p(w: in f32[N], x: in f32[N], o: out f32[M], N: u32, M: u32) over(i: M) { var s = 0.0;"
            " for j in 0..N { s += w[j]*x[j]; } for j in 0..N { s += w[j]*cos(x[j]); }"
            " for j in 1..N { s += 2.0*w[j]*x[j]; } for j in 0..N step 2 { s += 3.0*w[j]*x[j]; }"
            " for j in 0..N - 2 { s += w[j]*5.0*x[j]; } for j in 0..N - 2 { s += w[j + 2]*7.0*x[j]; }"
            " for j in 0..i32(N) { s += 11.0*w[j]*x[j]; } o[i] = s; }", "N=7 M=3"),
    program("program p(w: in f32[N], x: in f32[N], o: out f32[M], N: u32, M: u32) over(i: M) { var s = 0.0;"
            " for j in 0..N { if j > i { s += w[j]*x[j]; } else { s += 2.0*w[j]*sin(x[j]); } }"
            " for j in 0..N { if j > i + 1 { s += 3.0*w[j]*x[j]; } } for j in 0..N { if i > j { s += w[j]*5.0*x[j]; } }"
            " for j in 0..N { if x[j] > 0.6 { break; } s += 7.0*w[j]*x[j]; } for j in 0..N { s += 11.0*w[j]*x[j]; }"
            " for k in 0..N { for j in 0..k { s += w[j]*x[k]; } } for k in 0..N { for j in k..N { s += w[j]*x[k]; } }"
            " o[i] = s; }", "N=6 M=3"),
    # more than FEW walks that differ in constants alone (gather_shapes.c): of one and two axes, by stride, backwards,
    # of elements that have no other axis, in loops, of two shapes in one program
    program("program p(x: in f32[N + 40], z: in f32[2*N + 30], o: out f32[N], N: u32) over(i: N) { o[i] = "
            + " + ".join("%d.0*x[i + %d]*x[i + %d] + %d.0*z[2*i + %d]" % (c + 1, c, 39 - c, c + 2, c + 3)
                         for c in range(20))
            + "; }", "N=7"),
    program("program p(x: in f32[N, M], w: in f32[5, 5], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M) { o[i, j] = "
            + " + ".join("%d.0*x[i + %d, j + %d]*w[%d, %d]" % (a * 5 + b + 1, a, b, b, a)
                         for a in range(5) for b in range(5))
            + "; }", "N=6 M=7"),
    program("program p(x: in f32[2*N + 40], o: out f32[N], N: u32) over(i: N) { o[i] = "
            + " + ".join("%d.0*x[i + %d] + %d.0*x[2*i + %d]" % (c + 1, c, c + 2, c + 3) for c in range(20))
            + "; }", "N=7"),
    program("program p(x: in f32[2*N + 9, M + 9], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M) { o[i, j] = "
            + " + ".join("%d.0*x[i + %d, j + %d] + %d.0*x[2*i + %d, j + %d]" % (c + 1, c % 5, c // 5, c + 2, c // 5, c % 5)
                         for c in range(20))
            + "; }", "N=4 M=3"),
    program("program p(x: in f32[K + 40], o: out f32[N], N: u32, K: u32) over(i: N) { var s = 0.0;"
            + " ".join("for j in %d..K { s += %s; }" % (f, " + ".join("%d.0*x[j + %d]" % (c + f + 1, c) for c in range(20)))
                       for f in range(2))
            + " o[i] = s; }", "N=3 K=4"),
    program("program p(x: in f32[N], o: out f32[N], N: u32) over(i: N) { o[i] = "
            + " + ".join("%d.0*x[N - %du - i] + %d.0*x[i - %du]" % (c + 1, c, 2 * c + 3, c) for c in range(1, 20))
            + "; }", "N=9"),
    program("program p(x: in f32[N + 40], o: out f32[N], N: u32, K: u32) over(i: N)"
            " { var s = 0.0; for j in 0..K { for u in 0..3 { s += "
            + " + ".join("%d.0*x[i + %d*%s + %d]" % (c + 1, 1 + c % 2, "ju"[c % 3 == 0], c)
                         for c in range(40))
            + "; } } o[i] = s; }", "N=5 K=4"),
    # taps, with borders
    program("program p(x: in f32[N], w: in f32[3], o: out f32[N], N: u32) over(i: N) { var s = 0.0;"
            " for u in 0..3 { let k = i32(i + u) - 1; if k >= 0 && k < i32(N) { s += x[k]*w[u]; } } o[i] = s; }", "N=6"),
    program("program p(x: in f32[N, M], w: in f32[3, 3], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M) {"
            " o[i, j] = sum(u in 0..3, v in 0..3: x[i + u, j + v]*w[u, v]); }", "N=4 M=5"),
    # products; outputs with few elements, a workgroup for each
    program("program p(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], M: u32, K: u32, N: u32) over(i: M, j: N)"
            " { c[i, j] = sum(k in 0..K: a[i, k]*b[k, j]); }", "M=3 K=4 N=5"),
    program("program p(b: in f64[O], x: in f64[O, M, N], y: out f64[O, M, N], O: u32, M: u32, N: u32)"
            " over(o: O, i: M, j: N) { y[o, i, j] = x[o, i, j]*b[o]*b[o]; }", "O=2 M=19 N=21"),
    program("program p(b: in f64[1], x: in f64[N], y: out f64[N], N: u32) over(i: N) { y[i] = x[i]*b[0]; }", "N=700"),
    # conditions on data, in either arm; inner loops that are copied
    program("program p(x: in f32[N], y: in f32[M], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M)"
            " { if y[j] > 1.0 { o[i, j] = x[i]*y[j]; } else { o[i, j] = x[i]*x[i]; } }", "N=4 M=6"),
    program("program p(q: in f32[N, D], k: in f32[M, D], o: out f32[N, D], N: u32, M: u32, D: u32) over(i: N) {"
            " for d in 0..D { o[i, d] = 0.0; } for j in 0..M { let s = sum(d in 0..D: q[i, d]*k[j, d]); let e = exp(s*0.1);"
            " for d in 0..D { o[i, d] += e*k[j, d]; } } }", "N=3 M=4 D=3"),
    # values stored by the reverse: an adjoint that a loop carries, a row's sum, over two variables
    program("program p(x: in f32[N, M], w: in f32[M], o: out f32[N, M], N: u32, M: u32, T: u32) over(i: N, j: M) {"
            " var s = x[i, j]; for t in 0..T { s = sin(s)*w[j] + x[i, t]; } o[i, j] = s*s; }", "N=3 M=4 T=3"),
    program("program p(x: in f32[N], w: in f32[N], o: out f32[N], N: u32) over(i: N) {"
            " var s = 0.0; for k in 0..N { s += x[k]*w[i]; } o[i] = 0.0; for k in 0..N { o[i] += sin(s)*x[k]; } }", "N=5"),
    program("program p(x: in f32[N], w: in f32[K], o: inout f32[N], N: u32, K: u32) over(i: N) {"
            " for k in 0..K { o[i] = o[i]*w[k] + x[i]; } }", "N=4 K=3"),
    # several additions to one buffer: walks that follow each other; some that stay atomic
    program("program p(x: in f32[N], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M)"
            " { o[i, j] = x[i]*x[j] + x[(i + j) % N]; }", "N=4 M=4"),
    program("program p(x: in f32[N], at: in u32[N], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M)"
            " { o[i, j] = x[i]*x[at[j]]*x[j]; }", "N=5 M=5", "at=0,3,1,3,4"),
    # terms of all invocations, and exact sums, in double
    program("program p(b: in f64[D], x: in f64[N, M, D], y: out f64[N, M, D], N: u32, M: u32, D: u32)"
            " over(i: N, j: M) { for k in 0..D { let v = x[i, j, k] + b[k]; y[i, j, k] = v*v*b[0]; } }",
            "N=13 M=29 D=3"),
    program("program p(s: in f64[1], x: in f64[N], y: out f64[N], N: u32) over(i: N)"
            " { var v = x[i]; for k in 0..3 { if k < i { v = v*s[0] + x[i]; } } y[i] = v; }", "N=40"),
    program("program p(w: in f64[M], at: in u32[N], x: in f64[N], y: out f64[N], N: u32, M: u32) over(i: N)"
            " { y[i] = x[i] - w[at[i] % M]*x[i] + 0.5*w[at[(i + 1) % N] % M]; }", "N=60 M=7", "at=0,3,1,3,6,5,2,11"),
    program("program p(w: in f32[M], at: in u32[N], x: in f32[N], y: out f32[N], N: u32, M: u32) over(i: N)"
            " { y[i] = w[at[i] % M]*x[i]; }", "N=60 M=2", "at=0,3,1,3,6,5,2,11"),
    # accumulators in a row: of open length, of as many dimensions as there are
    program("program p(w: in f64[?], at: in i32[N], x: in f64[N], y: inout f64[?], N: u32) over(i: N)"
            " { atomic_add(y[at[i]], x[i]*w[at[(i + 1) % N]]*w[0]); }", "N=60", "at=0,3,1,3,4,5,-1,2"),
    program("program p(w: in f64[%s3, 4], at: in u32[N], x: in f64[N], y: out f64[N], N: u32) over(i: N)"
            " { y[i] = x[i]*w[%sat[i], at[(i + 1) %% N]]; }" % ("1, " * 30, "0, " * 30), "N=60", "at=0,5,1,3,2,1,1,2"),
    # buffers of open length; data-dependent counts over several blocks
    program("program p(x: in f32[?], w: in f32[1], o: out f32[N], N: u32) over(i: N) { o[i] = x[i]*w[0]; }", "N=5"),
    program("program p(x: in f64[N], w: in f64[1], o: out f64[N], N: u32) over(i: N)"
            " { var v = x[i] + f64(i % 5u); while v > 1.0 { v = v*0.5*w[0] + 0.01; } o[i] = v; }", "N=70"),
    program("program p(x: in f32[?], best: out f32[1], o: out f32[N], N: u32) over(i: N)"
            " { atomic_max(best[0], x[i]*x[i]); o[i] = x[i]; }", "N=5"),
    program("program p(x: in f64[N], best: inout f64[1], y: inout f64[?], z: out f64[?], N: u32) over(i: N)"
            " { atomic_max(best[0], x[i]); atomic_min(y[i % 3], x[i]*x[i]);"
            " for k in 0..2 { atomic_max(z[i % 4], x[i]*x[(i + k) % N]); } }", "N=13"),
    program("program p(x: inout f32[N], w: in f32[1], N: u32) workgroup(2, 3) over(i: N) { x[i] = x[i]*w[0]; }", "N=5"),
    # an addition in the second arm of a condition on the point; windows of a scalar's length
    program("program p(x: in f32[N], o: out f32[N, M], N: u32, M: u32) over(i: N, j: M)"
            " { if i < j { o[i, j] = x[i]*x[i]; } else { o[i, j] = x[j]*x[i]; } }", "N=5 M=4"),
    program("program p(x: in f32[N + K], o: out f32[N], N: u32, K: u32) over(i: N)"
            " { o[i] = sum(k in 0..K: x[i + k]*x[k]); }", "N=6 K=3"),
    # a loop that is copied whole, whose iterations have an order
    program("program p(x: in f32[M], w: in f32[K], y: in f32[N], o: out f32[N, M], N: u32, M: u32, K: u32)"
            " over(i: N, j: M) { var s = x[j]; var a = 0.0; for t in 0..K { a += s*w[t]; s = w[t] - s; } o[i, j] = a*y[i]; }",
            "N=4 M=3 K=4"),
    # terms for elements that constants name
    program("program p(w: in f64[3], x: in f64[N], y: out f64[N], N: u32) over(i: N)"
            " { y[i] = x[i]*w[0] + sin(w[1])*w[2]; }", "N=300"),
    # a walk that begins at the element less a constant
    program("program p(x: in f32[N + 2], y: in f32[M], o: out f32[N, M], N: u32, M: u32)"
            " over(i: N, j: M) { if j >= i { o[i, j] = x[i + 2]*y[j]; } }", "N=4 M=5"),
    # a row that a loop adds to beside a scatter, where lanes leave the loop at different iterations
    program("program p(x: in f64[M], at: in u32[N], o: out f64[N], M: u32, N: u32) over(i: N) { var s = x[at[i] % M];"
            " for k in 0..N { for j in 0..40 { s = s*x[j]; } if s > 3.0 { break; } } o[i] = s; }", "N=4 M=44",
            "at=0,3,1,3"),
    # additions to elements: beside a load, with an old value, in two loops, with an alias, to rows
    program("program p(x: in f32[N], o: inout f32[N], z: out f32[N, M], N: u32, M: u32) over(i: N)"
            " { for k in 0..M { atomic_add(o[i], x[i]*x[i]); z[i, k] = o[i]*x[i]; } }", "N=3 M=4"),
    program("program p(x: in f32[N], k: inout u32[N], z: out f32[N, M], N: u32, M: u32) over(i: N)"
            " { for t in 0..M { let old = atomic_add(k[i], 2u); z[i, t] = f32(old)*x[i]; } }", "N=3 M=4"),
    program("program p(x: in f32[N], o: out f32[N, M], N: u32, M: u32) over(i: N)"
            " { for t in 0..M { for k in 0..M { atomic_add(o[i, k], x[i]*x[i]); } } }", "N=3 M=4"),
    program("program p(x: in f32[N], z: inout f32[N, 2], N: u32, J: u32) over(i: N)"
            " { let a = z[i, 0]; z[i, J] = x[i]*x[i]; z[i, 0] = a + x[i]*z[i, J]; }", "N=3 J=0"),
    # strides that are scalars: where rows overlap, beside a buffer of two axes, in arms
    program("program p(x: in f32[n], w: in f32[n], v: in f32[N, T], o: out f32[N, M], N: u32, M: u32, T: u32, n: u32)"
            " over(i: N, j: M) { o[i, j] = x[i*M + j]*x[i*M + (j + 1u) % M] + w[i*T + j]*w[i*T + j + 1u]*v[i, 0]; }",
            "N=3 M=4 T=2 n=9"),
    program("program p(x: in f32[n], z: in f32[n, M], y: in f32[M, M], o: out f32[N, M], N: u32, M: u32, n: u32)"
            " over(i: N, j: M) { var s = 0.0; for k in 0..M { s += (x[i*M + k] + z[i, k])*y[j, k]; } o[i, j] = s; }",
            "N=3 M=4 n=7"),
    program("program p(x: in f32[H*W], o: out f32[H, W], H: u32, W: u32) over(r: H, c: W) { var s = 0.0;"
            " if r > 0 && c > 0 { s = x[(r - 1u)*W + c - 1u]; } if r + 1u < H { s += x[(r + 1u)*W + c]; } o[r, c] = s*s; }",
            "H=4 W=5"),
    program("program p(x: in f32[16], z: inout f32[N, 16], o: out f32[N], N: u32, M: u32) over(i: N) { for j in 0..M {"
            " var s = 0.0; for c in 0..16 { s += z[i, c]; } for c in 0..12 { z[i, c] += x[c]*x[c]*s; } o[i] = s; } }",
            "N=3 M=2"),
)
