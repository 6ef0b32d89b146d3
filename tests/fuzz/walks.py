# SPDX-License-Identifier: MIT
"""Random programs whose invocations walk rows: sums, maxima and running values over them, elements
stored on the way, additions to what all rows share.

A workgroup may walk a row together (ir/pass/device/row_lanes.c): what an iteration does alone is
divided among its lanes, what depends on earlier iterations stays in order.  Some loops go backwards,
begin late or take steps, some have conditions and loops inside, some store where another iteration
or loop reads or stores.  make(seed) is a program of f64.
"""
from rounds import Named, Program

BOUNDS = ("0..M", "0..M", "0..M", "rev(0..M)", "1..M", "0..M step 2", "rev(1..M) step 3", "0..M - 1", "-1..i32(M) - 1")


class Maker(Named):
    def __init__(self, seed):
        super().__init__(seed)
        # Half of the programs only do what lanes may do, and store in one loop.
        self.tame, self.stored = self.r.random() < 0.5, False

    def value(self, c, depth=2):
        """Something of an iteration alone."""
        r = self.r
        if depth == 0 or r.random() < 0.3:
            some = ["x[i, %s]", "x[i, %s]", "w[%s]", "0.4f64", "0.1 * f64(%s)", "x[i, M - 1 - %s]", "s"]
            return r.choice(some[:-1] if self.tame else some).replace("%s", c)
        a, b = self.value(c, depth - 1), self.value(c, depth - 1)
        return r.choice(("(%s + %s)", "%s * %s", "sin(%s - %s)", "max(%s, %s)", "select(%s > 0.2, %s, 0.5)")) % (a, b)

    def step(self, c, v):
        """What depends on earlier iterations."""
        r = self.r
        return r.choice((
            "{v} += {e};", "{v} += {e};", "{v} = max({v}, {e});", "{v} = {v} * 0.7 + {e};", "{v} -= {e} * {v};",
            "if {e} > {v} {{ {v} = {e}; m = i32({c}); }}", "{v} = {e};", "{v} = tanh({v} + {e});", "m = m * 3 % 7 + 1; {v} += {e};",
            "if m % 2 == 0 {{ {v} += {e}; }}")).format(v=v, e=self.value(c), c=c)

    def effect(self, c):
        r = self.r
        if self.tame:
            some = ["z[i, %s] = %s;"] * 2 * (not self.stored) + ["atomic_add(g[%s], %s);", "atomic_add(g[%s %% 2], %s);"]
            chosen = r.choice(some)
            self.stored |= chosen.startswith("z")
            return chosen % (c, self.value(c))
        where = r.choice(("z[i, {c}]", "z[i, {c}]", "z[i, {c}]", "z[i, M - 1 - {c}]", "z[i, {c} / 2]", "z[i, ({c} + 1) % M]"))
        return r.choice((where + " = {e};", where + " = {e};", where + " += {e};", "atomic_add(g[{c}], {e});",
                         "atomic_add(g[{c} % 2], {e});", where + " = t;")).format(c=c, e=self.value(c))

    def loop(self):
        r, c = self.r, self.name("c")
        bounds = r.choice(BOUNDS)
        at = c if not bounds.startswith("-") else "(%s + 1)" % c
        if bounds.startswith("-"):
            at = "u32%s" % at
        out = []
        for _ in range(r.choice((1, 1, 2, 3))):
            kind = r.random()
            if kind < 0.5:
                out.append(self.step(at, r.choice("st")))
            elif kind < 0.8:
                out.append(self.effect(at))
            elif kind < 0.9:
                k, v = self.name("k"), self.name("v")
                out += ["var %s = %s;" % (v, self.value(at)), "for %s in 0..%s %% 3 { %s = sin(%s) + w[%s]; }" % (k, at, v, v, k), "t += %s;" % v]
            else:
                out.append("if %s > 0.3 { %s }" % (self.value(at, 1), self.effect(at)))
        return ["for %s in %s {" % (c, bounds)] + ["    " + line for line in out] + ["}"]

    def statement(self):
        r = self.r
        if r.random() < 0.7:
            loop = self.loop()
            return ["if T > 0 {"] + loop + ["}"] if r.random() < 0.15 else loop
        some = ("s = tanh(s);", "t = t * 0.3;", "atomic_add(g[0], s);", "if i % 2 == 0 { s += 0.2; }", "z[i, 0] = t;",
                "t += z[i, M - 1];")
        return [r.choice(some[:4] if self.tame else some)]


def make(seed):
    maker = Maker(seed)
    body = maker.loop()
    for _ in range(maker.r.randrange(1, 5)):
        body += maker.statement()
    return Program("// set: N=%d M=%d T=%d\n// seed: %d\nprogram p(x: in f64[N, M], w: in f64[M], z: inout f64[N, M], g: inout f64[M], y: out f64[N],\n"
                   "          N: u32, M: u32, T: u32) over(i: N)\n{\n    var s = 0.3f64;\n    var t = 0.2f64;\n    var m = 1;\n    %s\n"
                   "    y[i] = s + t * 0.5 + f64(m) * 0.1;\n}\n" % (
                       maker.r.choice((1, 2, 3)), maker.r.choice((4, 5, 7)), maker.r.choice((0, 1)), seed, "\n    ".join(body)))
