# SPDX-License-Identifier: MIT
"""Random programs whose loops have loops inside: iterations that may run side by side, or may not.

ir/pass/target/jam_loops.c makes four or eight iterations of the outer loop one.  So: outer loops
forwards and backwards, in steps, of both types of integers, with numbers of iterations that are no
multiples, of none, from constants and from sizes; what they carry, used ahead of what computes it and
behind; inner loops whose bounds are the same in all iterations, or are not; local arrays and rows of
a buffer that iterations add to, store and load at indices of the outer counter, the inner one, the
number of the iteration, constants and data; arrays that are cleared; conditions, `while`, `break`,
atomics.  Sums are of f32 and round, so another order has other bits.  make(seed) is (text, launches)
for a device, with --precise.
"""
import random

SIZES = {"I": (1, 2, 3), "N": (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17), "M": (0, 1, 2, 3, 5, 8), "T": (0, 0, 1, 2, 5),
         "S": (1, 1, 1, 2, 3)}
OUTER = ("0..N", "0..N", "rev(0..N)", "T..N", "T..N step S", "rev(T..N) step S", "i..N step I", "rev(i..N) step I", "0..11", "rev(1..9)", "0..16 step 3")
SIGNED = ("0..i32(N)", "-2..i32(N)", "rev(-3..i32(N))", "-5..i32(N) step 2", "i32(T)..i32(N) step 3")
INNER = ("0..M", "0..M", "0..M", "rev(0..M)", "0..8", "T..M", "0..M step 2")
ODD = ("0..c % 4", "c..M", "0..u32(x[0])", "0..d", "rev(0..min(c, M))")


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.oddness = self.r.choice((0, 0.03, 0.06, 0.12, 0.25, 0.7))
        self.names = 0

    @property
    def plain(self):
        """Mostly what may run side by side, and now and then something that may not."""
        return self.r.random() >= self.oddness

    def fresh(self, stem):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def outer_index(self):
        return self.r.choice(("c", "c", "c + T", "c - T", "(c - T) / S", "c + %d" % self.r.randrange(3)) if self.plain else
                             ("c", "c + 1", "(c - T) / S", "c / 2", "c * 2", "c % 3", "T - c", "(c - i) / I", "c - T", "(c - 1) / S", "c + d"))

    def inner_index(self, counters):
        j = self.r.choice(counters)
        return j if self.plain or self.r.random() < 0.6 else self.r.choice((j + " + 1", j + " / 2", j + " + c", j + " * 2", j + " + d", "7 - " + j, j + " % 3"))

    def index(self, counters):
        r = self.r
        if counters and r.random() < 0.7:
            return self.inner_index(counters)
        if self.plain:
            return self.outer_index() if r.random() < 0.5 else str(r.randrange(8))
        return r.choice((self.outer_index(), str(r.randrange(8)), "d", "T", "0"))

    def load(self, counters):
        array = self.r.choice(("x[%s]", "x[%s]", "u[c, %s]", "u[c, %s]", "u[%s, c]") if self.plain else ("x[%s]", "x[%s]", "a[%s]", "b[%s]", "z[i, %s]", "u[c, %s]", "w[i, %s]"))
        return array % self.index(counters)

    def value(self, counters, names):
        r = self.r
        return r.choice(("{v} * 0.75 + {l}", "{l} * {v}", "{v} + {l}", "{l} - {v} * {v} * 0.01", "{v} * t + {l}", "max({v}, {l}) * 0.5")).format(v=r.choice(names), l=self.load(counters))

    def update(self, counters, names):
        """Adds to an element, or stores it."""
        r = self.r
        if self.plain and counters:
            # in the innermost of the loops, which then all have an index
            array, index = r.choice(("a", "b")), counters[-1]
            if len(counters) > 1:
                return "z[i, %s * 3 + %s] = %s;" % (counters[0], counters[1], self.value([], names)) if r.random() < 0.3 else "m[%s, %s] += %s;" % (counters[0], counters[1], self.value(counters, names))
        else:
            array, index = r.choice(("a[%s]", "b[%s]", "z[i, %s]", "w[i, %s]")), self.index(counters)
            array, index = array.split("[")[0], (array.split("[")[1][:-1] % index)
        return r.choice(("{a}[{i}] += {v};", "{a}[{i}] += {v};", "{a}[{i}] = {a}[{i}] * 0.5 + {v};", "{a}[{i}] = {v};")).format(a=array, i=index, v=self.value(counters, names))

    def odd(self, counters, names):
        v = self.r.choice(names)
        return self.r.choice((
            ["if %s > 0.3 { %s }" % (v, self.update(counters, names))],
            ["if c %% 2 == 0 { %s } else { %s }" % (self.update(counters, names), self.update(counters, names))],
            ["for e in 0..8 { a[e] = %s * 0.1; }" % v],
            ["for e in 0..c %% 5 { %s = %s + x[e]; if %s > 4.0 { break; } }" % (v, v, v)] if v not in ("t",) else [],
            ["atomic_add(n[%s], 1u);" % self.index(counters)],
            ["atomic_max(n[%s], u32(c));" % self.index(counters)],
            ["total = total + f32(atomic_add(o[i, %s], 1u)) * 0.1;" % self.index(counters)],
            ["last = last * 0.5 + %s;" % v],
        ))

    def inner(self, counters, names, depth):
        r, j = self.r, self.fresh("j")
        head = r.choice(INNER) if self.plain or r.random() < 0.8 else r.choice(ODD)
        s = self.fresh("s")
        own = [n for n in names if n != "t"] + [s]
        out = ["var %s: f32 = %s;" % (s, r.choice(("0.0", "t", "x[0]") if self.plain else ("0.0", "t", "total", "last"))), "for %s in %s {" % (j, head)]
        inside = counters + [j]
        for _ in range(r.choice((1, 1, 2, 3))):
            pick = r.random()
            if pick < 0.5:
                out.append("%s = %s;" % (s, self.value(inside, [s, s, "t"])))
            elif pick < 0.85:
                out.append(self.update(inside, own))
            elif depth < 1:
                out += self.inner(inside, own, depth + 1)
            elif not self.plain or r.random() < 0.2:
                out += self.odd(inside, own)
        if not self.plain and r.random() < 0.1:
            out.append("if %s > 9.0 { break; }" % s)
        return out + ["}", "%s = %s + %s;" % (("total", "total", s) if r.random() < 0.7 else ("last", s, "last * 0.25"))]

    def nest(self):
        r = self.r
        signed = r.random() < 0.15
        k = self.fresh("k") if signed else "c"
        out = ["for %s in %s {" % (k, r.choice(SIGNED if signed else OUTER))] + (["let c = u32(%s + 5);" % k] if signed else [])
        out.append("let t = f32(c) * 0.125 - 0.6;")
        if r.random() < 0.3:
            out.append("total = total * 0.9 + %s;" % r.choice(("t", "last", self.load([]))))
        was = self.fresh("was") if r.random() < 0.15 else ""
        if was:
            out.append("let %s = total;" % was)
        if r.random() < 0.12:
            h, j = self.fresh("h"), self.fresh("j")
            out += ["local %s: f32[8];" % h, "var %ss: f32 = 0.0;" % h, "for %s in %s {" % (j, r.choice(INNER)), "%s[%s] += x[%s] * t;" % (h, j, j)]
            out += r.choice((["%ss = %ss * 0.5 + %s[%s];" % (h, h, h, j), "}", "total = total * 0.5 + %ss;" % h], ["}", "total = total * 0.5 + %s[%d];" % (h, r.randrange(4))]))
        taped = self.outer_index() if r.random() < 0.4 else ""
        if taped:
            out.append("w[i, %s] = %s;" % (taped, r.choice(("t", "t * x[2]", "u[c, 1] + t"))))
        for _ in range(r.choice((1, 1, 2))):
            out += self.inner([], ["t"], 0)
            if taped and r.random() < 0.7:
                out.append("total = total * 0.75 + w[i, %s];" % (taped if self.plain else self.outer_index()))
            if r.random() < 0.3:
                out.append(self.update([], ["total", "t"]))
            if not self.plain and r.random() < 0.3:
                out += self.odd([], ["total", "t"])
        if r.random() < 0.08:
            out.append("if total > %s { break; }" % r.choice(("0.5", "2.0")))
        return out + ["last = %s;" % was] * bool(was) + ["}"]

    def text(self):
        r = self.r
        body = []
        for _ in range(r.choice((1, 1, 2))):
            body += self.nest()
        return ("program p(x: in f32[9], u: in f32[10, 9], z: inout f32[I, 26], w: inout f32[I, 20], n: out u32[12], o: out u32[I, 9], y: out f32[I, 20],\n"
                "          I: u32, N: u32, M: u32, T: u32, S: u32) over(i: I)\n{\n"
                "    let d = u32(abs(x[1] * 7.0));\n    var total: f32 = 0.5;\n    var last: f32 = 0.25;\n"
                "    local a: f32[8];\n    local b: f32[8];\n    local m: f32[8, 8];\n    %s\n"
                "    for e in 0..8 { y[i, e] = a[e]; y[i, e + 8] = b[e]; total = total * 0.5 + m[e, 7 - e] + m[e, 1] + m[0, e]; }\n"
                "    y[i, 16] = total;\n    y[i, 17] = last;\n    y[i, 18] = 0.0;\n    y[i, 19] = 0.0;\n}\n" % "\n    ".join(body))


def make(seed, launches=4):
    maker = Maker(seed)
    text, data = maker.text(), ["--in", "x=uniform:-1:1:1", "--in", "u=uniform:-1:1:2", "--in", "z=uniform:-1:1:3", "--in", "w=uniform:-1:1:4"]
    return text, [data + [word for name, some in SIZES.items() for word in ("--set", "%s=%d" % (name, maker.r.choice(some)))] for _ in range(launches)]
