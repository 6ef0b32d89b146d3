# SPDX-License-Identifier: MIT
"""Random programs whose local arrays are filled several times, and copied whole.

autodiff/rewrite/array_versions.c gives each filling an array of its own and takes a copy for what it
is a copy of.  Some fillings are not whole, some go through the elements in another order, in two
stores, under a condition, in a loop that may not run, or read what they overwrite; some arrays are
written again after they were copied.  make(seed) is a program of f64.
"""
from rounds import Named, Program

E, F = 9, 10  # of arrays; too many iterations for loops to be unrolled


class Maker(Named):
    def array(self):
        return self.r.choice("abc")

    def value(self, k):
        """What an element is made of; k: the index."""
        r, b = self.r, self.array()
        return r.choice((
            "x[i, %s]" % k, "sin(x[i, %s] * 1.3 + z)" % k, "0.5 * %s[%s] + x[i, %s]" % (b, k, k),
            "sin(%s[%s])" % (b, k), "%s[%s] * %s[%s]" % (b, k, self.array(), k), "0.25", "z * x[i, 2]",
            "0.7 * sin(%s[(%s + 1) %% %d])" % (b, k, E), "tanh(sum(e in 0..%d: w[%s, e] * %s[e]) * 0.4)" % (E, k, b)))

    def copy(self):
        to, of, k = self.array(), self.array(), self.name("k")
        bounds, at, source = self.r.choice((
            ("0..%d" % E, k, k),) * 6 + (
                ("rev(0..%d)" % E, k, k), ("1..%d" % E, k, k), ("0..%d step 2" % E, k, k), ("0..%d" % (E - 1), k, k),
                ("0..%d" % E, "%d - %s" % (E - 1, k), k), ("0..%d" % E, k, "%d - %s" % (E - 1, k)), ("0..T", k, k)))
        extra = self.r.choice(("",) * 6 + ("%s[4] = 0.3;" % of, "%s[2] = z;" % to))
        return "for %s in %s { %s[%s] = %s[%s]; %s}" % (k, bounds, to, at, of, source, extra and extra + " ")

    def fill(self):
        to, k = self.array(), self.name("k")
        store = "%s[%s] = %s;" % (to, k, self.value(k))
        store = self.r.choice((store,) * 6 + (
            "if x[i, %s] > 0.1 { %s }" % (k, store), "%s %s[%s] = 0.9 * %s[%s];" % (store, to, k, to, k),
            "%s[%s] += 0.3 * x[i, %s];" % (to, k, k)))
        return "for %s in 0..%d { %s }" % (k, E, store)

    def table(self):
        """An array of two axes, filled in either order, some of it only."""
        j, k = self.name("j"), self.name("k")
        rows, columns = self.r.choice((F, F, F, F - 1)), self.r.choice((E, E, E, E - 2))
        loops = ["for %s in 0..%d {" % (j, rows), "for %s in 0..%d {" % (k, columns)]
        if self.r.random() < 0.5:
            loops.reverse()
        to, of = self.r.choice(("mn", "nm"))
        value = self.r.choice(("%s[%s, %s]" % (of, j, k),) * 2 + ("sin(%s[%s] + 0.2 * x[i, %s])" % (self.array(), k, j),))
        return "%s %s %s[%s, %s] = %s; } }" % (*loops, to, j, k, value)

    def use(self):
        b, c, k = self.array(), self.array(), self.name("k")
        return self.r.choice((
            "for %s in 0..%d { v += 0.2 * %s[%s] * %s[%s]; }" % (k, E, b, k, c, k),
            "v = tanh(v + %s[3] * %s[5]);" % (b, c), "y[i, 1] += %s[0] * v;" % b,
            "for %s in 0..%d { v += sin(m[1, %s]) * n[2, %s] * 0.1; }" % (k, E, k, k),
            "%s[u32(x[i, 0] * x[i, 0] * 3.0) %% %d] = v;" % (b, E), "%s[2] = sin(%s[6]);" % (b, c)))

    def item(self, depth):
        kind = self.r.random()
        if kind < 0.3:
            return self.copy()
        if kind < 0.6:
            return self.fill()
        if kind < 0.7:
            return self.table()
        if kind < 0.78:
            return "local %s;" % self.r.choice("abcmn")
        if kind < 0.92 or depth:
            return self.use()
        inside = " ".join(self.item(1) for _ in range(self.r.randrange(1, 4)))
        return self.r.choice(("if x[i, 1] > 0.0 { %s }", "for t in 0..T { %s }", "for t in 0..2 { %s }",
                              "if z > 0.5 { %s } else { v *= 0.9; }")) % inside


def make(seed):
    maker = Maker(seed)
    body = [maker.item(0) for _ in range(maker.r.randrange(5, 14))]
    body.append("for k in 0..%d { y[i, k] += v * a[k] + b[k] * c[k] + m[1, k] * n[0, k]; }" % E)
    return Program(
        "// set: N=%d T=%d\n// seed: %d\n"
        "program p(x: in f64[N, %d], w: in f64[%d, %d], y: out f64[N, %d], z: f64, N: u32, T: u32) over(i: N)\n{\n"
        "    local a: f64[%d];\n    local b: f64[%d];\n    local c: f64[%d];\n    local m: f64[%d, %d];\n"
        "    local n: f64[%d, %d];\n    var v = 0.4f64;\n    %s\n}\n" % (
            maker.r.choice((1, 2)), maker.r.choice((0, 1, 3)), seed, E, E, E, E, E, E, E, F, E, F, E, "\n    ".join(body)))
