# SPDX-License-Identifier: MIT
"""Random programs that walk a list of neighbours and add up in arms of ifs.

ir/pass/scalar/licm.c takes loads from the arms out of the loop, where they are proved in range;
ir/pass/scalar/fuse_loops.c joins the walk that a gradient repeats with its own, where the sums of
the latter may have any order (sum_order.c); equal_products.c makes one term of those of d · d · d.  Some sums are none, some loads are out of range, some
buffers are written meanwhile.  make(seed) is a program of f64.
"""
import random

from rounds import Program


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.sums = ["s%d" % k for k in range(self.r.choice((1, 2, 2, 3)))]

    def load(self):
        own = ("x[i]", "x[i]", "u[i, 0]", "u[i, 1]", "c[1]", "c[2]", "x[i + 1]", "c[M]", "h[i]", "z[i]")
        other = ("x[j]", "x[j]", "u[j, 1]", "c[j]", "h[j]")
        return self.r.choice(own if self.r.random() < 0.5 else other)

    def value(self, depth=0):
        r = self.r
        kind = r.random()
        if depth > 2 or kind < 0.4:
            return self.load()
        if kind < 0.5:
            return r.choice(("d", "d * d", "d * d * d", "x[j] * d * d * d", "0.25", "sin(d)"))
        if kind < 0.6:
            return "%s / (1.5 + d * d)" % self.value(depth + 1)
        return "%s %s %s" % (self.value(depth + 1), r.choice("*-+*"), self.value(depth + 1))

    def condition(self):
        s = self.r.choice(self.sums)
        return self.r.choice(("d < 0.5", "d < 0.5", "d > 0", "j != i", "j < i", "k % 2 == 0u", "x[i] > x[j]", "f",
                              "%s < 1.0" % s if self.r.random() < 0.3 else "d > -0.2"))

    def change(self):
        """One statement that changes what an iteration carries."""
        r, s = self.r, self.r.choice(self.sums)
        kind = r.random()
        if kind < 0.62:
            return "%s %s= (%s) * 0.3;" % (s, r.choice("++-"), self.value())
        if kind < 0.7:
            return "%s = select(%s, %s + %s * 0.5, %s);" % (s, self.condition(), s, self.load(), s)
        if kind < 0.76:
            return "%s = %s * (%s) * 0.2;" % (s, s, self.load())
        if kind < 0.8:
            return "%s = %s - %s;" % (s, self.load(), s)
        if kind < 0.84:
            return "%s += %s * 0.5;" % (s, r.choice(self.sums))
        if kind < 0.92:
            return r.choice(("f = true;", "f = f || d > 0.3;", "f = f && j < i;", "f = !f;"))
        return r.choice(("z[i] += 0.2 * d;", "z[i] = %s;" % self.load(), "atomic_add(t[j], d * 0.3);"))

    def statements(self, depth):
        out = []
        for _ in range(self.r.choice((1, 1, 2, 3))):
            if depth < 2 and self.r.random() < 0.6:
                out.append("if %s { %s }" % (self.condition(), self.statements(depth + 1)))
                if self.r.random() < 0.4:
                    out.append("else { %s }" % self.statements(depth + 1))
            else:
                out.append(self.change())
        return " ".join(out)

    def walk(self):
        r = self.r
        bounds = r.choice(("0..min(count[i], K)", "0..K", "0..K", "rev(0..K)", "1..K"))
        leaves = "if d > 0.9 { break; } " if r.random() < 0.1 else ""
        return "for k in %s { let j = near[i, k]; let d = x[i] - x[j] * 0.8; %s%s }" % (bounds, leaves, self.statements(0))

    def result(self):
        s = self.r.choice(self.sums)
        return self.r.choice(("%s / (1.2 + h[i] * h[i])" % s, "%s * h[i]" % s, "%s + (f ? h[i] : 0.5)" % s, "sin(%s)" % s,
                              "select(%s > 0.2, h[i], x[i])" % s))


def make(seed):
    m = Maker(seed)
    variables = " ".join("var %s = %s;" % (s, m.r.choice(("0.0f64", "h[i]"))) for s in m.sums)
    walks = [m.walk() for _ in range(m.r.choice((1, 1, 2)))]
    sizes = "N=%d K=%d M=%d" % (m.r.choice((1, 2, 5)), m.r.choice((0, 1, 4)), m.r.choice((1, 3)))
    return Program(
        "// set: %s\n// seed: %d\n"
        "program p(x: in f64[N], u: in f64[N, 2], c: in f64[3], h: in f64[N], near: in u32[N, K], count: in u32[N],\n"
        "          z: inout f64[N], t: inout f64[N], y: out f64[N], N: u32, K: u32, M: u32) over(i: N)\n{\n"
        "    %s\n    var f = false;\n    %s\n    y[i] = %s;\n}\n" % (
            sizes, seed, variables, "\n    ".join(walks), " + ".join(m.result() for _ in range(2))))
