# SPDX-License-Identifier: MIT
"""Random programs whose loops load neighbours: filters, differences, windows that begin outside of
the buffer, of buffers that the program writes to or not, over lengths that are computed.

A loop may keep what the next iteration loads again (ir/pass/scalar/sliding_loads.c), and what
computes the length of a buffer is that length (lengths.c); products on one condition may be of
selected factors (select_factors.c).  Some loops go backwards, begin late, take
steps, have loops inside, or no iteration at all.  make(seed) is a program of f64.
"""
from rounds import Named, Program

# Lengths of the rows, as a dimension, and as what code may compute: also what is only nearly it.
LENGTHS = (
    ("(2 * K + 5) / 2 + 1", ("u32((i64(K) * 2 + 5) / 2) + 1", "(2 * K + 5) / 2 + 1", "u32((i64(K) + 5 + i64(K)) / 2 + 1)", "K + 3")),
    ("K + 2 * T + 1", ("T + K + T + 1", "u32(i64(T) * 2 + i64(K)) + 1", "K + T + 1", "u32(i64(K) + i64(T) * 2)")),
    ("K * 3 - 2", ("K * 3 - 2", "u32(i64(K) * 3 - 2)", "K + 2 * K - 2", "K * 2")),
)


class Maker(Named):
    def __init__(self, seed):
        super().__init__(seed)
        self.dim, self.code = self.r.choice(LENGTHS)

    def bounds(self):
        n = self.r.choice(self.code + self.code[:1])
        return self.r.choice(("0..{n}", "0..{n}", "0..{n}", "1..{n}", "T..{n}", "rev(0..{n})", "0..{n} step 2", "-2..i32({n})",
                              "i32(T) - 3..i32({n}) - 1", "{n}..T", "0..4", "2..2", "0..({n} - 1)")).format(n=n)

    def place(self, c):
        """The index of a row that moves with the counter, without the neighbour's offset."""
        return self.r.choice(("u32({c})", "i32({c})", "i32({c}) - i32(T)", "i32({c}) + 1 - i32(i)", "u32({c}) + T", "(u32({c}) - 1)",
                              "i32(T) - i32({c})", "u32({c}) * 2")).format(c=c)

    def taps(self, c):
        r, place = self.r, self.place(c)
        first, out = r.randrange(-2, 2), []
        for d in range(first, first + r.choice((2, 2, 3, 3, 4))):
            if r.random() < 0.12:
                continue
            at = place if d == 0 else "%s %s %d" % (place, "+-"[d < 0], abs(d))
            buffer = r.choice(("x[i, %s]",) * 5 + ("v[%s]",) * 2 + ("z[i, %s]",)) % at
            out.append(r.choice(("%s", "0.3 * %s", "sin(%s)", "w * %s", "%s * %s" % (buffer, "%s"))) % buffer)
        return " + ".join(out) or "0.1f64"

    def terms(self, c):
        """Products of few factors that count under one condition, or nearly so."""
        r = self.r
        condition = r.choice(("%s %% 2 == 0" % c, "t > 0.4", "i > 0", "%s > 1" % c))
        left = ["w", "(t + 0.5)", "x[i, u32(%s)]" % c][:r.randrange(1, 4)]
        right = ["v[u32(%s)]" % c, "sin(t)", "x[i, u32(%s) + 1]" % c, "(w - 0.2)"][:r.randrange(1, 5)]
        out = ["let c_%s = %s;" % (self.name("c"), condition)]
        name = out[0].split()[1]
        for a in left:
            for b in right:
                where = r.choice((name,) * 8 + ("!%s" % name,))
                out.append("s += select(%s, %s * %s, %s);" % (where, a, b, r.choice(("0.0",) * 8 + ("-0.0", "1.0"))))
        return " ".join(out)

    def line(self, c):
        r = self.r
        if r.random() < 0.15:
            return self.terms(c)
        return r.choice(("s += {e};", "s += {e};", "s += {e};", "t = t * 0.5 + {e};", "s = max(s, {e});", "if {c} % 2 == 0 {{ s += {e}; }}",
                         "if t > 0.4 {{ t -= {e}; }}", "z[i, u32({c}) % 5] = s * 0.1;", "w = 0.5 * w + x[i, u32({c})];", "a[u32({c}) & 3] = {e};",
                         "s += a[(u32({c}) + 1) & 3] + a[u32({c}) & 3];")).format(e=self.taps(c), c=c)

    def loop(self, depth=0):
        c = self.name("j")
        out = ["for %s in %s {" % (c, self.bounds())]
        for _ in range(self.r.choice((1, 1, 2, 3))):
            out.append(self.line(c))
        if depth == 0 and self.r.random() < 0.3:
            out += self.loop(1)
            out.append(self.line(c))
        return out + ["}"]


def make(seed):
    maker = Maker(seed)
    r = maker.r
    body = maker.loop()
    for _ in range(r.randrange(0, 3)):
        body += maker.loop() if r.random() < 0.6 else [r.choice(("w = tanh(s);", "if T > 1 { s += t; }", "atomic_add(z[i, 0], s);"))]
    return Program("// set: N=%d K=%d T=%d\n// seed: %d\nprogram p(x: in f64[N, %s], v: in f64[%s], z: inout f64[N, 5], y: out f64[N],\n"
                   "          N: u32, K: u32, T: u32) over(i: N)\n{\n    local a: f64[4];\n    var s = 0.3f64;\n    var t = 0.2f64;\n    var w = 0.7f64;\n    %s\n"
                   "    y[i] = s + t * 0.5 + w;\n}\n" % (
                       r.choice((1, 2, 3)), r.choice((1, 2, 4)), r.choice((0, 1, 2)), seed, maker.dim, maker.dim, "\n    ".join(body)))
