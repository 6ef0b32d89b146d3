# SPDX-License-Identifier: MIT
"""Small programs that store at strides which only the launch knows, beside what a gradient sums.

make(seed) is a program with the sizes to check it with.  Each invocation stores to o in a loop, at
rows or columns that are S elements apart, or at what a scalar chooses between these: once, in an arm, to
two neighbours, twice to one element, or also to what another of its iterations stores to; from an element
of y that all workgroups read.  So what the gradient of y sums is the cotangent that the caller gave, or
what another store has left of it.
No two invocations store to one element.
"""
import random

PLACES = ("%s * S + g", "%s + g * S")
LAYOUTS = "select(T > 3u, %s * S + g, %s + g * S)"  # of every fourth program: a launch has one of them
VALUES = ("x[c] * y[c]", "x[g] * y[c]", "m * y[c]", "x[g * %(w)du + l] * y[l] * m", "y[c] * y[l]", "sin(m * y[c]) + x[l]")
STEPS = (
    "o[%(p)s] = %(v)s;",
    "o[%(q)s] = 0.0; o[%(p)s] = %(v)s;",
    "o[%(p)s] = %(v)s; o[%(q)s] = 0.0;",
    "o[%(p)s] = %(v)s; o[%(q)s] = %(u)s;",
    "o[%(p)s] = %(v)s; o[%(p)s] = o[%(p)s] * 0.5 + %(u)s;",
    "if c %% 2u == 0u { o[%(q)s] = 1.0; } o[%(p)s] = %(v)s;",
    "if c %% 3u == T %% 2u { o[%(p)s] = %(v)s; }",
    "if c %% 3u == T %% 2u { o[%(p)s] = %(v)s; } else { o[%(p)s] = %(u)s; }",
    "o[(%(p)s) * 2u] = %(v)s; o[(%(p)s) * 2u + 1u] = %(u)s;")
SIZES = ({"N": 3, "M": 5, "S": 13, "T": 1}, {"N": 2, "M": 13, "S": 21, "T": 4}, {"N": 1, "M": 3, "S": 1, "T": 2}, {"N": 0, "M": 3, "S": 4, "T": 5},
         {"N": 4, "M": 9, "S": 17, "T": 7})


def make(seed):
    r = random.Random(seed)
    lanes, place = r.choice((4, 8)), r.choice(PLACES)
    place = LAYOUTS if seed % 4 == 3 else place
    v, u = (r.choice(VALUES).replace("%(w)d", str(lanes)) for _ in range(2))
    q = place.replace("%s", r.choice(("c", "(c + %du)" % lanes, "(c - %du)" % lanes)))
    step = r.choice(STEPS) % {"p": place.replace("%s", "c"), "q": q, "v": v, "u": u}
    made = "shared t: f32[%d]; t[l] = x[g * %du + l]; barrier(); let m = t[0] + t[%d];" % (lanes, lanes, lanes - 1) if r.random() < 0.7 else "let m = x[g] + 0.5;"
    used = " ".join("%s=%d" % item for item in {**r.choice(SIZES), "P": r.choice((64, 64, 29))}.items())
    return ("// set: %s\nprogram p(x: in f32[N * 8 + 16], y: in f32[M + 16], o: out f32[P], N: u32, M: u32, S: u32, T: u32, P: u32)\n"
            "    workgroup(%d) over(i: N * %d)\n{\n    let l = lid.x; let g = wid.x; %s\n"
            "    for c in l..M step %d { %s }\n}\n" % (used, lanes, lanes, made, lanes, step))
