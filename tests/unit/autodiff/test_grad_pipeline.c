// SPDX-License-Identifier: MIT
// test_grad_pipeline.c: gradients and tangents of pipelines against finite differences, dual numbers
// and each other, floats in double.
#include "tests/unit/autodiff/gradcheck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define SCALE                                                                                      \
    "program scale(x: in f32[N], k: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"              \
    "    y[i] = sin(x[i]) * k[i] + x[i];\n}\n"
#define TWO                                                                                        \
    "program two(a: in f32[N], b: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"                \
    "    y[i] = a[i] * a[i] * b[N - 1 - i];\n}\n"
#define MIX                                                                                        \
    "program mix(a: in f32[N], b: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"                \
    "    y[i] = sin(a[i]) * b[N - 1 - i] + 0.5 * b[i];\n}\n"
#define LOSS                                                                                       \
    "program loss(y: in f32[N], l: out f32[1], N: u32) over(one: 1) {\n"                           \
    "    var s = 0.0;\n    for i in 0..N { s += y[i] * y[i] * y[i]; }\n    l[0] = s;\n}\n"
#define IN_PLACE                                                                                   \
    "program grow(x: inout f32[N], k: in f32[N], N: u32) over(i: N) {\n"                           \
    "    x[i] = x[i] * x[i] * 0.3 + k[i];\n}\n"
#define STENCIL                                                                                    \
    "program step(u: in f32[N], k: in f32[N], v: out f32[N], N: u32) over(i: N) {\n"               \
    "    let l = u[max(i, 1u) - 1]; let r = u[min(i + 1, N - 1)];\n"                               \
    "    v[i] = u[i] + k[i] * (l - 2 * u[i] + r) * 0.1 + 0.01 * u[i] * u[i];\n}\n"
#define WAVE                                                                                       \
    "program advance(a: in f32[N], b: in f32[N], c: in f32[N], d: out f32[N], N: u32) over(i: N)"  \
    "{\n    let l = b[max(i, 1u) - 1]; let r = b[min(i + 1, N - 1)];\n"                            \
    "    d[i] = 2 * b[i] - a[i] + 0.1 * c[i] * c[i] * (l - 2 * b[i] + r) * b[i];\n}\n"
#define SCATTER                                                                                    \
    "program p2g(x: in f32[P], grid: inout f32[M], P: u32, M: u32) over(p: P) {\n"                 \
    "    atomic_add(grid[(p * 3) % M], x[p] * x[p]);\n}\n"                                         \
    "program g2p(x: inout f32[P], grid: in f32[M], P: u32, M: u32) over(p: P) {\n"                 \
    "    x[p] = x[p] + 0.1 * grid[(p * 3) % M] * x[p];\n}\n"
#define SCALED                                                                                     \
    "program scaled(x: in f32[N], y: out f32[N], s: f32, N: u32) over(i: N) {\n"                   \
    "    y[i] = sin(s * x[i]) + s * s;\n}\n"

typedef struct item {
    const char *name, *text;
    double T;
    const char *of, *wrt;
} item;

static const item items[] = {
    {"a chain",
     SCALE LOSS "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], N: u32) {\n"
                "    buffer h: f32[N]; buffer y: f32[N];\n"
                "    scale(x, k, h); scale(h, k, y); loss(y, l);\n}\n",
     0, NULL, NULL},
    {"one buffer for two parameters",
     TWO "pipeline f(x: in f32[N], y: out f32[N], N: u32) {\n    buffer h: f32[N];\n"
         "    two(x, x, h); two(h, x, y);\n}\n",
     0, NULL, NULL},
    {"an intermediate twice",
     TWO SCALE "pipeline f(x: in f32[N], k: in f32[N], y: out f32[N], z: out f32[N], N: u32) {\n"
               "    buffer h: f32[N];\n    scale(x, k, h); two(h, h, y); two(h, k, z);\n}\n",
     0, NULL, NULL},
    {"an intermediate twice in one dispatch, overwritten later",
     TWO SCALE "pipeline f(x: in f32[N], k: in f32[N], y: out f32[N], z: out f32[N], N: u32) {\n"
               "    buffer h: f32[N];\n    scale(x, k, h); two(h, h, y); scale(k, y, h);\n"
               "    scale(h, k, z);\n}\n",
     0, NULL, NULL},
    {"an intermediate of each iteration, twice in one dispatch",
     MIX SCALE
     "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n    repeat t in 0..T {\n"
     "        buffer h: f32[N];\n        scale(x, k, h); mix(h, h, x);\n    }\n}\n",
     3, NULL, NULL},
    {"an output that is read again",
     TWO SCALE "pipeline f(x: in f32[N], k: in f32[N], y: out f32[N], z: out f32[N], N: u32) {\n"
               "    scale(x, k, y); two(y, k, z);\n}\n",
     0, NULL, NULL},
    {"a buffer used again",
     SCALE "pipeline f(x: in f32[N], k: in f32[N], y: out f32[N], N: u32) {\n"
           "    buffer a: f32[N]; buffer b: f32[N];\n"
           "    scale(x, k, a); scale(a, k, b); scale(b, k, a); scale(a, k, y);\n}\n",
     0, NULL, NULL},
    {"in place",
     IN_PLACE LOSS SCALE "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], N: u32) {\n"
                         "    buffer h: f32[N];\n"
                         "    scale(x, k, h); grow(h, k); grow(h, x); grow(h, k); loss(h, l);\n}\n",
     0, NULL, NULL},
    {"an inout parameter",
     IN_PLACE
     "pipeline f(x: inout f32[N], k: in f32[N], N: u32) {\n    grow(x, k); grow(x, k);\n}\n",
     0, NULL, NULL},
    {"in place, repeated",
     IN_PLACE "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
              "    repeat t in 0..T { grow(x, k); }\n}\n",
     5, NULL, NULL},
    {"ping-pong",
     STENCIL LOSS SCALE
     "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer u: f32[2, N];\n    scale(x, k, u[0]);\n"
     "    repeat t in 0..T { step(u[t % 2], k, u[(t + 1) % 2]); }\n    loss(u[T % 2], l);\n}\n",
     5, NULL, NULL},
    {"ping-pong, no iteration",
     STENCIL LOSS SCALE
     "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer u: f32[2, N];\n    scale(x, k, u[0]);\n"
     "    repeat t in 0..T { step(u[t % 2], k, u[(t + 1) % 2]); }\n    loss(u[T % 2], l);\n}\n",
     0, NULL, NULL},
    {"a wave, all states kept",
     WAVE SCALE "pipeline f(x: in f32[N], c: in f32[N], s: out f32[T + 2, N], T: u32, N: u32) {\n"
                "    scale(x, c, s[0]); scale(x, x, s[1]);\n"
                "    repeat t in 0..T { advance(s[t], s[t + 1], c, s[t + 2]); }\n}\n",
     4, NULL, NULL},
    {"a wave with a loss",
     WAVE SCALE LOSS
     "pipeline f(x: in f32[N], c: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer s: f32[T + 2, N];\n    scale(x, c, s[0]); scale(x, x, s[1]);\n"
     "    repeat t in 0..T { advance(s[t], s[t + 1], c, s[t + 2]); }\n    loss(s[T + 1], l);\n}\n",
     4, NULL, NULL},
    {"particles and a grid",
     SCATTER "pipeline f(x: inout f32[P], T: u32, N: u32, P: u32) {\n"
             "    repeat t in 0..T { buffer grid: f32[N]; p2g(x, grid); g2p(x, grid); }\n}\n",
     4, NULL, NULL},
    {"slices of a parameter",
     SCALE "pipeline f(x: in f32[T, N], k: in f32[T + 1, N], y: out f32[T, N], T: u32, N: u32) {\n"
           "    repeat t in 0..T { scale(x[t], k[T - t], y[t]); }\n}\n",
     3, NULL, NULL},
    {"slices that meet",
     TWO "pipeline f(x: in f32[T, N], y: out f32[T, N], T: u32, N: u32) {\n"
         "    repeat t in 0..T { two(x[t], x[t / 2], y[t]); }\n}\n",
     4, NULL, NULL},
    {"whole and slices",
     SCALE
     "program all(s: in f32[T, N], l: out f32[1], T: u32, N: u32) over(one: 1) {\n"
     "    var v = 0.0; for t in 0..T { for i in 0..N { v += s[t, i] * s[t, i]; } } l[0] = v;\n"
     "}\n"
     "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer s: f32[T + 1, N];\n    scale(x, k, s[0]);\n"
     "    repeat t in 0..T { scale(s[t], k, s[t + 1]); }\n    all(s, l, T=T + 1);\n}\n",
     3, NULL, NULL},
    {"nested repeats",
     STENCIL LOSS SCALE
     "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer u: f32[N]; buffer v: f32[N];\n    scale(x, k, u);\n"
     "    repeat t in 0..T { repeat s in 0..t + 1 { step(u, k, v); step(v, k, u); } }\n"
     "    loss(u, l);\n}\n",
     3, NULL, NULL},
    {"an intermediate of an iteration",
     SCALE "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
           "    repeat t in 0..T { buffer h: f32[N]; scale(x, k, h); scale(h, k, x); }\n}\n",
     4, NULL, NULL},
    {"a checkpoint",
     SCALE LOSS "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], N: u32) {\n"
                "    buffer y: f32[N];\n"
                "    checkpoint { buffer h: f32[N]; scale(x, k, h); scale(h, k, y); }\n"
                "    loss(y, l);\n}\n",
     0, NULL, NULL},
    {"a checkpoint in a repeat",
     SCALE LOSS
     "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
     "    repeat t in 0..T { checkpoint { buffer h: f32[N]; scale(x, k, h); scale(h, k, x); } }\n"
     "}\n",
     4, NULL, NULL},
    {"ping-pong, √n states",
     STENCIL LOSS SCALE
     "pipeline f(x: in f32[N], k: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer u: f32[2, N];\n    scale(x, k, u[0]);\n"
     "    repeat t in 0..T checkpoint(sqrt) { step(u[t % 2], k, u[(t + 1) % 2]); }\n"
     "    loss(u[T % 2], l);\n}\n",
     10, NULL, NULL},
    {"in place, every third state, backwards",
     IN_PLACE "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
              "    repeat t in 1..T + 1 checkpoint(3) { grow(x, k); }\n}\n",
     7, NULL, NULL},
    {"states of several buffers, one of them read only after",
     STENCIL TWO
     "pipeline f(x: in f32[N], k: in f32[N], y: out f32[T, N], T: u32, N: u32) {\n"
     "    buffer u: f32[N]; buffer v: f32[N];\n    two(x, k, u);\n"
     "    repeat t in 0..T checkpoint(revolve, 2) { step(u, k, v); two(v, u, y[t]); step(v, x, u);"
     " }\n}\n",
     5, NULL, NULL},
    {"√n states of √n states, with intermediates",
     STENCIL SCALE
     "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
     "    repeat t in 0..T checkpoint(sqrt) { buffer h: f32[N];\n"
     "        repeat s in 0..t + 1 checkpoint(2) { step(x, k, h); scale(h, k, x); } }\n}\n",
     3, NULL, NULL},
    {"a wave, √n of its states",
     WAVE SCALE LOSS
     "pipeline f(x: in f32[N], c: in f32[N], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer s: f32[3, N];\n    scale(x, c, s[0]); scale(x, x, s[1]);\n"
     "    repeat t in 0..T checkpoint(sqrt) { advance(s[t % 3], s[(t + 1) % 3], c, s[(t + 2) % 3]); }\n"
     "    loss(s[(T + 1) % 3], l);\n}\n",
     6, NULL, NULL},
    {"some outputs and inputs",
     SCALE TWO "pipeline f(x: in f32[N], k: in f32[N], y: out f32[N], z: out f32[N], N: u32) {\n"
               "    scale(x, k, y); two(x, k, z);\n}\n",
     0, "z", "k"},
    {"an input of integers",
     "program pick(x: in f32[N], at: in u32[N], y: out f32[N], N: u32) over(i: N) {\n"
     "    y[i] = x[at[i] % N] * x[i];\n}\n"
     "pipeline f(x: in f32[N], at: in u32[N], y: out f32[N], N: u32) {\n    buffer h: f32[N];\n"
     "    pick(x, at, h); pick(h, at, y);\n}\n",
     0, NULL, NULL},
    {"a count from a buffer",
     STENCIL LOSS SCALE
     "pipeline f(x: in f32[N], k: in f32[N], n: in u32[1], l: out f32[1], T: u32, N: u32) {\n"
     "    buffer u: f32[T + 1, N];\n    scale(x, k, u[0]);\n"
     "    repeat t in 0..min(value(n[0]), T) { step(u[t], k, u[t + 1]); }\n"
     "    loss(u[min(value(n[0]), T)], l);\n}\n",
     5, NULL, NULL},
    {"a solver inside a loss, twice",
     STENCIL LOSS TWO
     "pipeline f(x: in f32[M, N], k: in f32[N], l: out f32[1], T: u32, N: u32, M: u32) {\n"
     "    buffer r: f32[M, N]; buffer m: f32[M, 1]; buffer s: f32[1];\n"
     "    repeat j in 0..M { solve(x[j], k, r[M - 1 - j], T=T); row(r[M - 1 - j], m[j / 2]); }\n"
     "    row(r[0], s); two(s, m[0], l);\n}\n"
     "pipeline row(a: in f32[N], l: out f32[1], N: u32) { loss(a, l); }\n"
     "pipeline solve(u: in f32[N], k: in f32[N], v: out f32[N], T: u32, N: u32) {\n"
     "    buffer h: f32[T + 1, N];\n    two(u, k, h[0]);\n"
     "    repeat t in 0..T checkpoint(sqrt) { step(h[t], k, h[t + 1]); }\n    two(h[T], u, v);\n}\n",
     3, NULL, NULL},
    {"a solver in place, whose output is written in pieces",
     IN_PLACE SCALE
     "pipeline f(x: inout f32[N], k: in f32[N], y: out f32[2, N], T: u32, N: u32) {\n"
     "    repeat t in 0..T { both(x, k, y); }\n}\n"
     "pipeline both(x: inout f32[N], k: in f32[N], y: out f32[2, N], N: u32) {\n"
     "    repeat i in 0..2 { grow(x, k); scale(x, k, y[i]); grow(y[i], x); grow(y[1 - i], k); }\n}\n",
     2, NULL, NULL},
    {"a size that each iteration computes",
     "program count(x: in f32[N], n: out u32[1], N: u32) over(i: 1) { n[0] = 1 + u32(abs(x[0])); }\n"
     "program rows(x: in f32[N], u: out f32[M, N], M: u32, N: u32) over(j: M, i: N) {\n"
     "    u[j, i] = sin(x[i] * f32(j + 1));\n}\n"
     "program sums(u: in f32[M, N], y: inout f32[N], M: u32, N: u32) over(i: N) {\n"
     "    for j in 0..M { y[i] = y[i] + u[j, i] * u[j, i]; }\n}\n"
     "pipeline f(x: in f32[N], y: inout f32[N], T: u32, N: u32) {\n"
     "    repeat t in 0..T { buffer n: u32[1]; count(x, n); buffer h: f32[value(n[0]), N];\n"
     "        rows(x, h); sums(h, y); }\n}\n",
     2, NULL, NULL},
    {"a repeat from another's counter on",
     IN_PLACE "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
              "    repeat t in 0..T { repeat s in t..T { grow(x, k); } grow(x, k); }\n}\n",
     3, NULL, NULL},
    {"only the size of what an iteration computes",
     "program count(x: in f32[N], n: out u32[1], N: u32) over(i: 1) { n[0] = 1 + u32(abs(x[0])); }\n"
     "program rows(x: in f32[N], u: out f32[M, N], M: u32, N: u32) over(j: M, i: N) {\n"
     "    u[j, i] = x[i] * f32(j + 1);\n}\n"
     "program sums(u: in f32[M, N], y: inout f32[N], M: u32, N: u32) over(i: N) {\n"
     "    for j in 0..M { y[i] = y[i] + u[j, i] * 0.3; }\n}\n"
     "pipeline f(x: in f32[N], y: inout f32[N], T: u32, N: u32) {\n"
     "    repeat t in 0..T { buffer n: u32[1]; count(x, n); buffer h: f32[value(n[0]), N];\n"
     "        rows(x, h); sums(h, y); }\n}\n",
     2, NULL, NULL},
    {"slices of slices that may meet",
     IN_PLACE "program sums(u: in f32[M, N], y: out f32[N], M: u32, N: u32) over(i: N) {\n"
              "    var s = 0.0; for j in 0..M { s += u[j, i] * u[j, i]; } y[i] = s;\n}\n"
              "pipeline f(u: inout f32[T, 2, N], k: in f32[N], y: out f32[N], T: u32, N: u32) {\n"
              "    repeat t in 0..T { grow(u[t, 0], k);\n"
              "        repeat s in 0..2 { grow(u[T - 1 - t, s], u[t / 2, 1 - s]); } }\n"
              "    sums(u[0], y, M=2); grow(u[T - 1, 0], y);\n}\n",
     3, NULL, NULL},
    {"slices in turn, three",
     MIX SCALE
     "pipeline f(x: in f32[N], k: in f32[N], y: out f32[N], T: u32, N: u32) {\n"
     "    buffer u: f32[3, N]; scale(x, k, u[0]); scale(k, x, u[1]); scale(k, k, u[2]);\n"
     "    repeat t in 0..T { scale(u[(t + 3) % 3], k, u[(t + 1) % 3]);\n"
     "        mix(u[t % 3], u[(t + 4) % 3], u[(t + 2) % 3]); mix(u[(t + 2) % 3], x, u[t % 3]);\n"
     "        mix(u[t % 3], u[(t + 3) % 3], u[(t + 1) % 3]); }\n"
     "    mix(u[T % 3], u[(T + 1) % 3], y);\n}\n",
     3, NULL, NULL},
    {"slices before and after",
     MIX SCALE "pipeline f(x: in f32[N], k: in f32[N], s: out f32[T + 2, N], T: u32, N: u32) {\n"
               "    scale(x, k, s[0]); scale(x, x, s[1]);\n"
               "    repeat t in 1..T + 1 { mix(s[t - 1], s[t], s[t + 1]); mix(s[t + 1], k, s[t]);\n"
               "        mix(s[t], s[t + 1], s[t - 1]); mix(s[t - 1], k, s[t + 1]);\n"
               "        mix(s[t + 1 - 2], s[t - 1], s[t]); }\n}\n",
     2, NULL, NULL},
    {"intermediates of two repeats",
     TWO SCALE IN_PLACE
     "pipeline f(x: inout f32[N], k: in f32[N], T: u32, N: u32) {\n"
     "    repeat t in 0..T { buffer h: f32[N]; scale(x, k, h);\n"
     "        repeat s in 0..t { buffer g: f32[N]; two(h, k, g); grow(h, g); } grow(x, h); }\n}\n",
     3, NULL, NULL},
    {"a slice whose number is a value",
     IN_PLACE SCALE
     "program count(x: in f32[N], n: out u32[1], N: u32) over(i: 1) { n[0] = 2; }\n"
     "pipeline f(x: in f32[N], k: in f32[N], y: out f32[T + 2, N], T: u32, N: u32) {\n"
     "    buffer n: u32[1]; count(x, n); scale(x, k, y[min(value(n[0]), T)]);\n"
     "    scale(x, k, y[0]); scale(k, x, y[1]);\n"
     "    repeat t in 0..min(value(n[0]), T) { grow(y[min(value(n[0]), T)], y[t]); }\n}\n",
     3, NULL, NULL},
    {"infinite derivatives of values that nothing uses",
     "program root(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sqrt(x[i] * 0.0); }\n"
     "program gate(x: in f32[N], y: in f32[N], z: out f32[N], N: u32) over(i: N) {\n"
     "    if y[i] > 0.5 { z[i] = y[i]; } else { z[i] = x[i]; }\n}\n"
     "pipeline f(x: in f32[N], z: out f32[N], N: u32) {\n"
     "    buffer y: f32[N]; root(x, y); gate(x, y, z);\n}\n",
     0, NULL, NULL},
    {"roots of what is constant",
     "program odd(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
     "    if i % 2 == 1 { y[i] = x[i] * x[i] + 1; }\n}\n"
     "program root(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sqrt(x[i]); }\n"
     "pipeline f(x: in f32[N], z: out f32[N], N: u32) {\n"
     "    buffer y: f32[N]; odd(x, y); root(y, z);\n}\n",
     0, NULL, NULL},
    {"a float scalar of several dispatches, repeated",
     SCALED "pipeline f(x: in f32[N], y: out f32[N], s: f32, T: u32, N: u32) {\n"
            "    buffer h: f32[N]; scaled(x, y, s=s);\n"
            "    repeat t in 0..T { scaled(y, h, s=s); scaled(h, y, s=0.5); }\n}\n",
     2, NULL, "s"},
    {"a float scalar of a pipeline that is dispatched",
     SCALED "pipeline g(x: in f32[N], y: out f32[N], a: f32, N: u32) {\n"
            "    buffer h: f32[N]; scaled(x, h, s=a); scaled(h, y, s=a);\n}\n"
            "pipeline f(x: in f32[N], y: out f32[N], s: f32, N: u32) {\n"
            "    buffer h: f32[N]; g(x, h, a=s); scaled(h, y, s=s);\n}\n",
     0, NULL, "s"},
    {"programs without a domain",
     "program part(x: in f32[N], y: inout f32[N], N: u32) workgroup(4) {\n"
     "    let i = wid.x * 4 + lid.x;\n    if i < N { y[i] = y[i] * x[i] + x[i]; }\n}\n"
     "pipeline f(x: in f32[N], y: inout f32[N], T: u32, N: u32) {\n"
     "    repeat t in 0..T { @groups((N + 3) / 4) part(x, y); }\n}\n",
     3, NULL, NULL},
};

static bool run(const item *i, vy_accumulate how, uint32_t N)
{
    const char *of = i->of, *wrt = i->wrt;
    const gradcheck c = {.text = i->text,
                         .scalars = {{"N", N}, {"T", i->T}, {"s", 0.7}, {"P", 7}, {"M", N}},
                         .of = {of},
                         .wrt = {wrt},
                         .seeded = how == VY_ACCUMULATE_AUTO,
                         .accumulate = how};
    const char *why = gradcheck_run(&c);
    if (why) print_error("%s, N = %u: %s\n", i->name, N, why);
    return why == NULL;
}

static void finite_differences(void **state)
{
    (void)state;
    bool ok = true;
    for (size_t k = 0; k < sizeof items / sizeof *items; k++) {
        ok &= run(&items[k], VY_ACCUMULATE_AUTO, 5);
        ok &= run(&items[k], VY_ACCUMULATE_ATOMIC, 4);
    }
    assert_true(ok);
    // Gradients of forward derivatives, which are second derivatives, were compared as well.
    assert_int_equal(gradcheck_transposed, 2 * sizeof items / sizeof *items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
