# SPDX-License-Identifier: MIT
"""Random programs whose loops begin or end at the invocation's own place in the domain.

Such loops may begin at their workgroup's instead, with a condition on what they do
(ir/pass/device/uniform_starts.c): for starts at the variable of the domain or one beyond, in
reverse too, where rows are loaded.  Others look alike: starts at other values, in other types, in
steps, with exits.  Some loops make a sum of 18 products or two, and add to what they carry: several
of their iterations may become one (jam_iterations.c).  Workgroups are small, so that domains have several, the last of which is not
full.  make(seed) is a program of f64.
"""
from rounds import Named, Program

BOUNDS = ("{v}..N", "{v}..N", "{v} + 1..N", "rev(0..{v})", "rev(0..{v} + 1)", "rev({v}..N)", "0..{v} + 1", "rev({v} + 1..N)", "{v}..N step 2",
          "rev(0..{v} + 2)", "{v} * 2..N", "{v}..{v} + 3", "rev({v} / 2..{v})", "i32({v})..i32(N)", "{v} - 1..N")
SHAPES = ("", "", "workgroup(2)", "workgroup(4)", "workgroup(2, 2)", "workgroup(4, 2)", "workgroup(1, 2)")


class Maker(Named):
    def __init__(self, seed):
        super().__init__(seed)
        self.deep = self.r.random() < 0.6  # two variables of the domain

    def value(self, c, depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.35:
            first = "h" if self.deep else "0"
            return r.choice(("x[%s, %s, %s]" % (first, c, r.choice(("0", "1", "2"))), "x[%s, %s, %s %% 3]" % (first, c, c),
                             "x[%s, i, %s %% 3]" % (first, c), "w[%s]" % c, "w[i]", "w[(%s + i) %% N]" % c, "0.1 * f64(%s)" % c, "s"))
        a, b = self.value(c, depth - 1), self.value(c, depth - 1)
        return r.choice(("(%s + %s)", "%s * %s", "sin(%s - %s)", "max(%s, %s)", "select(%s > 0.2, %s, 0.5)")) % (a, b)

    def action(self, c):
        r, e = self.r, self.value(c)
        at = "z[%s, i]" % ("h" if self.deep else "0")
        return r.choice(("s += %s;", "s += %s;", "s = s * 0.7 + %s;", "t = max(t, %s);", "t = tanh(t + %s);", "m = m * 3 %% 7 + 1; t += %s;",
                         "if %s > 0.3 { s += t; }", "atomic_add(g[" + c + "], %s);", "atomic_add(g[i], %s);",
                         at + " = %s;", at + " += %s;", "if %s > 1.5 { break; }" if r.random() < 0.15 else "t -= %s;")) % e

    def long(self, c):
        """Straight code with long sums, whose carried values may change places."""
        r, sums, out = self.r, [], []
        first = "h" if self.deep else "0"
        for _ in range(r.choice((1, 1, 2))):
            sums.append(self.name("a"))
            rows = ["x[%s, %s, %d]" % (first, c, k) for k in range(3)]
            terms = ["%s * %s" % (rows[k % 3], r.choice(("x[%s, i, %d]" % (first, k % 3), "0.%d" % (k + 1), "x[0, i, %d]" % (k // 6))))
                     for k in range(18)]
            out.append("let %s = %s;" % (sums[-1], " + ".join(terms)))
        for _ in range(r.choice((1, 2, 3))):
            a, e = r.choice(sums), r.choice((self.value(c, 1), "x[%s, %s, 1]" % (first, c)))
            o = self.name("o")
            out.append(r.choice(("s += %s * %s;" % (a, e), "s = s * 0.7 + %s;" % a, "t = max(t, %s) + 0.1 * %s;" % (a, e),
                                 "m = m * 3 %% 7 + i32(%s); t += %s;" % (c, a), "let %s = s; s = t * 0.5 + %s; t = %s;" % (o, a, o))))
        return out

    def loop(self, depth=1):
        r, c = self.r, self.name("c")
        bounds = r.choice(BOUNDS).format(v="h" if self.deep and r.random() < 0.2 else "i")
        at = "u32(%s)" % c if bounds.startswith("i32") else c
        if r.random() < 0.3:
            return ["for %s in %s {" % (c, bounds)] + ["    " + line for line in self.long(at)] + ["}"]
        out = [self.action(at) for _ in range(r.choice((1, 1, 2, 3)))]
        if depth and r.random() < 0.25:
            out += self.loop(depth - 1)
        if depth and r.random() < 0.15:
            k = self.name("k")
            out.append("for %s in 0..%s %% 3 { s = sin(s) + w[%s] * x[0, %s, 1]; }" % (k, at, k, at))
        return ["for %s in %s {" % (c, bounds)] + ["    " + line for line in out] + ["}"]

    def statement(self):
        r = self.r
        if r.random() < 0.75:
            loop = self.loop()
            return ["if T > 0 {"] + loop + ["}"] if r.random() < 0.15 else loop
        return [r.choice(("s = tanh(s);", "t = t * 0.3;", "if i % 2 == 0 { s += 0.2; }", "if T == 1 { t += w[i]; }"))]


def make(seed):
    maker = Maker(seed)
    body = maker.loop()
    for _ in range(maker.r.randrange(0, 4)):
        body += maker.statement()
    domain = "over(h: H, i: N)" if maker.deep else "over(i: N)"
    return Program("// set: N=%d H=%d T=%d\n// seed: %d\nprogram p(x: in f64[H, N, 3], w: in f64[N], z: inout f64[H, N], g: inout f64[N],\n"
                   "          y: out f64[H, N], N: u32, H: u32, T: u32) %s %s\n{\n    var s = 0.3f64;\n    var t = 0.2f64;\n    var m = 1;\n    %s\n"
                   "    y[%s, i] = s + t * 0.5 + f64(m) * 0.1;\n}\n" % (
                       maker.r.choice((1, 2, 3, 4, 5, 9, 11)), maker.r.choice((1, 2, 3)) if maker.deep else 1, maker.r.choice((0, 1)), seed,
                       maker.r.choice(SHAPES), domain, "\n    ".join(body), "h" if maker.deep else "0"))
