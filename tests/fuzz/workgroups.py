# SPDX-License-Identifier: MIT
"""Small programs in which a workgroup makes numbers together, and reads elements that others read, too.

make(seed) is a program with the sizes to check it with.  Its lanes store to a shared array, add that up
by a tree, in a loop or by operations among lanes, and use the sum, a neighbour's number or their own
beside elements of y: those that a column, a row, a lane or a workgroup names, in loops in which each
lane takes every W-th, in arms that are chosen by what was made, and between barriers inside loops.  So
the sums of the gradient of y are over workgroups, and what they are made of depends on shared memory.
"""
import random

MAKES = (  # m: of the workgroup
    "t[l] = %(v)s; barrier(); %(tree)s m = t[0]; barrier();",
    "t[l] = %(v)s; barrier(); for q in 0..%(w)d { m += t[q]; } barrier();",
    "t[l] = %(v)s; barrier(); m = t[(l + 1u) %% %(w)du]; barrier();",
    "t[l] = %(v)s; barrier(); if l == 0 { var s = 0.0; for q in 0..%(w)d { s += t[q] * t[q]; } t[0] = s; } barrier(); m = t[0] * 0.25; barrier();",
    "m = subgroup_add(%(v)s);",
    "m = subgroup_max(%(v)s) * 0.5;",
    "for r in 0..T %% 3u { t[l] = %(v)s + m; barrier(); m += t[(l + r) %% %(w)du] * 0.5; barrier(); }")
USES = (
    "for k in l..M step %(w)d { %(store)s m * y[k]%(more)s; }",
    "for k in l..M step %(w)d { %(store)s (x[k] - m) * y[k] + y[k + 1u]; }",
    "for k in 0..M { v += m * y[k]; }",
    "for k in 0..%(g)s + 1u { v += sin(m) * y[k]; }",
    "v += m * y[%(g)s];",
    "v += m * y[l] + m;",
    "v += m * m * y[%(i)s];",
    "v += y[%(i)s / 3u] * m;",
    "if m > 0.2 { v += m * y[%(i)s / 2u]; }",
    "if m > 0.2 { for k in 0..M { v += m * y[k]; } } else { v += y[0] * m; }",
    "if T > 5u { v += m * y[T]; barrier(); }",
    "let e = m > 0.1 ? y[l] : y[0]; v += e * m;",
    "for r in 0..T %% 4u { t[l] = y[r + l] * m; barrier(); v += t[(l + 1u) %% %(w)du] * x[r]; barrier(); }",
    "for r in 0..T %% 4u { let n = t[l]; barrier(); v += n * y[r]; t[l] = n * 0.5 + m; barrier(); }",
    "var c = 0u; while c < T %% 5u { v += m * y[c]; c += 1u; }",
    "let n = m + y[0]; barrier(); t[l] = n; barrier(); v += t[(l + 1u) %% %(w)du] * y[l]; barrier();")
SHAPES = (  # workgroup, its lanes, domain, its variable, the workgroup's number
    ("workgroup(4)", 4, "over(i: N * 4)", "i", "wid.x"),
    ("workgroup(8)", 8, "over(i: N * 8)", "i", "wid.x"),
    ("workgroup(4)", 4, "over(j: N, i: 4)", "(j * 4u + i)", "wid.y"),
    ("workgroup(4, 2)", 8, "over(j: N * 2, i: 4)", "(j * 4u + i)", "wid.y"),
    ("workgroup(2, 2, 2)", 8, "over(z: 2, j: N * 2, i: 2)", "((z * N * 2u + j) * 2u + i)", "wid.y"))
SIZES = ({"N": 5, "M": 4, "T": 6}, {"N": 1, "M": 1, "T": 2}, {"N": 2, "M": 13, "T": 11}, {"N": 3, "M": 5, "T": 7}, {"N": 7, "M": 9, "T": 4},
         {"N": 0, "M": 3, "T": 4})


def tree(lanes):
    return "for h in 0..%d { if l < %du >> (h + 1u) { t[l] += t[l + (%du >> (h + 1u))]; } barrier(); }" % (lanes.bit_length() - 1, lanes, lanes)


def make(seed):
    r = random.Random(seed)
    head, lanes, domain, i, g = r.choice(SHAPES)
    sizes = r.choice(SIZES)
    names = {"w": lanes, "i": i, "g": g, "tree": tree(lanes), "store": r.choice(("v +=", "v += 0.5 *")), "more": r.choice(("", " * y[k]", " + sin(y[k])"))}
    steps, uses = [], r.sample(USES, len(USES))  # each once: names are declared once
    for _ in range(r.choice((1, 1, 2))):
        names["v"] = r.choice(("x[%s] * y[%s %% M]" % (i, i), "x[%s]" % g, "y[l] * x[%s]" % g, "sin(x[%s]) + m" % i))
        steps.append(r.choice(MAKES) % names)
        steps.extend(uses.pop() % names for _ in range(r.choice((1, 1, 2))))
    body = "shared t: f32[%d]; let l = lindex; var m = 0.5; var v = 0.0; t[l] = 1.0; barrier(); %s" % (lanes, " ".join(steps))
    # Rows that a workgroup writes alone, as normalisation does; else one number of an invocation.
    if r.random() < 0.5:
        body += " for k in l..M step %d { o[%s, k] = v * y[k] + m; }" % (lanes, "wid.y, l" if "z:" in domain else g + ", 0")
        extent = "16, 8, 16" if "z:" in domain else "32, 1, 16"
        if "z:" in domain:
            body = body.replace("o[wid.y, l, k]", "o[wid.y * 2u + wid.z, l, k]")
    else:
        body += " o[%s, 0, 0] = v + m;" % i
        extent = "128, 1, 1"
    used = " ".join("%s=%d" % item for item in sizes.items())
    return ("// set: %s\nprogram p(x: in f32[N * 8 + 8], y: in f32[M + 64], o: out f32[%s], N: u32, M: u32, T: u32) %s %s {\n    %s\n}\n"
            % (used, extent, head, domain, body))
