# SPDX-License-Identifier: MIT
"""Random programs whose loops load and select taps: places at a distance from the invocation's own,
which may be outside of what they load.

Where all taps of a workgroup are inside, its loops run without checks (ir/pass/device/check_ahead.c),
and loads are of parts that a loop leaves alone (spirv/facts/steady_places.c).  Conditions and indices
are linear in a variable of the domain, or look so: two variables, data, values that wrap around, of
other types.  Workgroups are small, so that some are inside and others at an edge.  make(seed) is a
program of f64 for gradcheck_file; whole(seed) is (text, launches) of one whose numbers are exact, for
a device.

rows(seed) is the same of loops along rows, which are in range in some of their iterations, anywhere
(ir/pass/target/loop_ranges.c): counters of both types, up to their limits, windows, loops back and in
steps, and small sums that begin at a place in the domain.
"""
import random

from rounds import Program

SHAPES = {1: ("", "workgroup(2) ", "workgroup(4) ", "workgroup(3) ", "workgroup(2, 1) "),
          2: ("workgroup(2) ", "workgroup(2, 2) ", "workgroup(4, 2) ", "workgroup(1, 4) ", "", "workgroup(1, 1) "),
          3: ("workgroup(2, 2) ", "workgroup(2, 2, 2) ", "", "workgroup(1, 2, 2) ", "workgroup(4) "),
          4: ("workgroup(2, 1, 2) ", "workgroup(1, 1, 4) ", "workgroup(1, 1, 2) ", "workgroup(1, 1, 3) ", "")}
LOOPS = ("0..O", "0..O", "0..O", "rev(0..O)", "1..O", "0..O step 2", "i..O")
FEW = ("0..3", "0..3", "0..2", "rev(0..3)", "1..4", "0..4 step 2", "0..1", "0..5", "0..T")
SIZES = {"B": (1, 2, 3), "O": (0, 1, 2, 5), "H": (0, 1, 3, 6, 9, 14), "W": (1, 3, 6, 9, 14), "I": (1, 2, 3, 5, 8, 9), "J": (1, 2, 4, 7, 8), "K": (1, 2, 3, 3), "L": (1, 2, 3, 3),
         "P": (-2, -1, 0, 1, 3, 2147483646, -2147483648), "Q": (0, 1, 2, 4, 4294967295, 4294967294, 2147483647), "T": (0, 1, 2, 4)}


class Maker:
    def __init__(self, seed, t, kept):
        self.r, self.t, self.kept = random.Random(seed), t, kept
        self.axes = self.r.choice((1, 2, 3, 4))
        self.variables = ("i", "j", "k", "l")[:self.axes]
        self.plain = self.r.random() < 0.5  # one tap, which decides alone whether checks are left out

    def constant(self, n):
        return "%d%s" % (n, "" if self.t in ("f32", "u32") else self.t) if self.t in ("u32", "i32") else "%d.0" % n

    def index(self, counters):
        r = self.r
        v, u, d = r.choice(self.variables[-2:] if self.plain else self.variables), counters[-1] if self.plain else r.choice(counters + ["1"]), r.randrange(0, 4)
        form = r.choice(("{v} + {u}", "{v} + {u}", "{v} + {d}", "{v}", "i32({v}) - {d} + P", "Q", "{v} * 2 + {u}", "P + {d} - i32({v})") if self.plain else ("i32({v}) - {d} + P", "{v} + Q - {u}", "{v} - {u}", "{v} + {u} - {d}", "i32({v}) - i32({u}) + {d}", "i32({v}) * 2 - i32({u})", "P - i32({v}) + {d}",
                         "{v} * 3 - {u}", "{v} + {d}", "i32({v} + Q) - {d}", "i32({u}) - i32({v})", "{v} + {w}", "({v} + {u}) % 3", "i64({v}) - {d}", "{v}", "u32(P) + {u}", "Q", "T", "{v} + {v} + {u}", "({v} - {u}) * 2 + {d}",
                         "min({v}, {u}) + Q", "{v} / 2 + {u}"))
        return form.format(v=v, u=u, d=d, w=r.choice(self.variables))

    def comparison(self, counters):
        r = self.r
        v, u, d = r.choice(self.variables[-2:] if self.plain else self.variables), counters[-1] if self.plain else r.choice(counters + ["T"]), r.randrange(0, 4)
        form = r.choice(("{v} >= {u}", "{v} >= {u}", "{v} < H", "{v} + {d} < W", "{v} >= {d}", "i32({v}) + P >= 0", "{v} + {u} < W", "{u} - {v} <= Q", "Q - {v} > {d}") if self.plain else ("{v} >= {u}", "{v} >= {d}", "{v} + {d} < H", "{v} - {u} < W", "i32({v}) + P < i32(H)", "i32({v}) + P >= 0", "{v} + Q <= W + {u}", "{u} <= {v} + Q", "P > 0",
                         "{u} < 2", "{v} < {w}", "x[0, 0, {v}] > " + self.constant(3), "{v} != {u}", "i32({u}) - i32({v}) < P", "{v} * 2 < H", "T + {v} < W", "{v} + {d} <= H",
                         "{v} < H", "{v} < W - 1", "{u} < {v} + {d}", "{v} + {u} < H", "i32({v}) - {d} > i32({u})", "{v} - {d} < H"))
        return form.format(v=v, u=u, d=d, w=r.choice(self.variables))

    def condition(self, counters):
        parts = [self.comparison(counters) for _ in range(1 if self.plain else self.r.choice((1, 2, 3)))]
        return " && ".join(parts) if self.plain else self.r.choice((" && ", " && ", " && ", " || ")).join(parts)

    def load(self, counters, c):
        index = ["0" if self.plain else self.r.choice(("o % B", "0", "B - 1")), self.index(counters), self.index(counters)]
        if c and self.r.random() < 0.4:
            index[1:] = ["select(%s, u32(%s), 0)" % (c, at) for at in index[1:]]
        return "x[%s]" % ", ".join(index)

    def term(self, counters, lines):
        r, c = self.r, ""
        if r.random() < 0.7:
            c = "c%d" % len(lines)
            lines.append("let %s = %s;" % (c, self.condition(counters)))
        load, other = self.load(counters, c), "v[o, %s %% 3]" % r.choice(counters)
        zero = self.constant(0 if r.random() < 0.85 else 1)
        value = r.choice((load, load + " * " + other, other, other))
        return r.choice(("select(%s, %s, %s)" % (c, value, zero), "select(%s, %s, %s) * %s" % (c, load, zero, other))) if c else value

    def taps(self, counters):
        lines = []
        terms = [self.term(counters, lines) for _ in range(1 if self.plain else self.r.choice((1, 2, 3)))]
        return lines + ["s = %s + %s;" % (self.kept, " + ".join(terms))]

    def inner(self, counters, depth):
        if depth == 1 if self.plain else self.r.random() < 0.3 or depth == 2:
            return self.taps(counters)
        u = "u%d" % depth
        signed = not self.plain and self.r.random() < 0.15
        head = "-1..2" if signed else self.r.choice(FEW[:5] if self.plain else FEW)
        body = self.inner(counters + ["u32(%s)" % u if signed else u], depth + 1)
        if self.plain or self.r.random() < 0.3:  # which is then not unrolled
            body.append("if s == %s { break; }" % self.constant(12345))
        if self.r.random() < 0.1:
            body.append("if %s > 1 { s = s + v[0, 0]; }" % (u if not signed else "u32(%s)" % u))
        return ["for %s in %s {" % (u, head)] + body + ["}"]

    def loop(self):
        body = self.inner(["o"], 0)
        if self.r.random() < 0.1:
            body.append("if o == 3 { break; }")
        return ["for o in %s {" % self.r.choice(LOOPS)] + body + ["}"]

    def body(self):
        out = self.loop()
        if self.r.random() < 0.3:
            out = ["if %s {" % self.condition(["T"])] + out + self.r.choice((["} else {"] + self.loop() + ["}"], ["}"]))
        if self.r.random() < 0.2:
            out += self.loop()
        return out

    def sizes(self):
        """Half of them small and close to one another: some workgroups are inside, and others just outside."""
        r, sizes = self.r, {name: self.r.choice(some) for name, some in SIZES.items()}
        if r.random() < 0.5:
            sizes.update(H=sizes[r.choice("IJ")] + r.randrange(-1, 5), W=sizes[r.choice("IJ")] + r.randrange(-1, 5), O=r.choice((1, 2, 5)),
                         P=r.choice((-1, 0, 0, 1, 2)), Q=r.choice((0, 0, 1, 2)), T=r.choice((0, 1, 2)))
        return sizes

    def text(self, start):
        extents = {"i": "I", "j": "J", "k": "K", "l": "L"}
        order = list(reversed(self.variables))
        return ("program p(x: in {t}[B, H, W], v: in {t}[O, 3], y: out {t}[{shape}],\n"
                "          B: u32, H: u32, W: u32, O: u32, I: u32, J: u32, K: u32, L: u32, P: i32, Q: u32, T: u32) {group}over({over})\n"
                "{{\n    var s = {start};\n    {body}\n    y[{at}] = s;\n}}\n").format(
                    t=self.t, shape=", ".join(extents[v] for v in order), group=self.r.choice(SHAPES[self.axes]),
                    over=", ".join("%s: %s" % (v, extents[v]) for v in order), start=start, body="\n    ".join(self.body()), at=", ".join(order))


def make(seed):
    maker = Maker(seed, "f64", "s * 0.5")
    text = maker.text("0.3f64").replace(" + v[", " + sin(s) * v[", 1)
    few = dict(maker.sizes(), I=maker.r.choice((1, 2, 4, 5)), J=maker.r.choice((1, 2, 4)), K=1, L=maker.r.choice((1, 2)), O=maker.r.choice((0, 1, 2)), W=maker.r.choice((1, 3, 5)))
    return Program("// set: %s\n// seed: %d\n%s" % (" ".join("%s=%d" % item for item in few.items()), seed, text))


class Rows(Maker):
    UP = ("0..W", "0..W + 5", "0..W + 5", "T..W + 9", "1..W", "0..O", "Q..Q + 17", "Q - 16..Q", "rev(0..W + 3)", "rev(T..W + 9)", "0..W step 2", "i..W", "0..19")
    SIGNED = ("0..i32(W) + 4", "-2..i32(W) + 3", "P..P + 16", "P - 16..P", "P - 3..P + i32(W)", "rev(-1..i32(W) + 3)", "rev(P..P + 15)", "i32(T)..i32(W)", "-1..i32(W) step 2", "i32(i)..i32(W)", "-9..19")
    FOLLOW = ("{c}", "{c} + Q", "{c} - Q", "{c} + {d}", "{c} + {d}", "{c} - {d}", "i32({c}) - P", "i32({c}) + P", "i32({c}) - {d} + P", "u32(i32({c}) - P) + {d}", "i32({c} + Q) - {d}", "T + {c}",
              "Q - {c}", "{c} * 2", "{c} % 3", "{c} - i", "u32(P) - Q + {c}")
    FOLLOW_SIGNED = ("{c}", "{c} - P", "{c} - P", "{c} + P", "{c} + {d}", "u32({c}) + Q", "u32({c} - P)", "u32({c} - P) + {d}", "u32({c}) - Q", "P - {c}", "{c} - P - {d}", "i32(u32({c}) - Q)")
    STAY = ("0", "0", "0", "0", "T", "T", "Q", "P", "i32(o) - P", "o", "o + T - 1", "{d}")

    def follow(self, signed):
        return self.r.choice(self.FOLLOW_SIGNED if signed else self.FOLLOW).format(c="c", d=self.r.randrange(0, 4))

    def stay(self):
        return self.r.choice(self.STAY).format(d=self.r.randrange(0, 3))

    def tap(self, signed, index):
        r = self.r
        at = [self.stay(), index if r.random() < 0.7 else self.follow(signed)]
        if r.random() < 0.15:
            at.reverse()
        elif r.random() < 0.1:
            at[0] = at[1]
        load = "x[%s, %s]" % (r.choice(("0", "0", "0", "0", "T", "o", "B - 1")), ", ".join(at))
        if r.random() < 0.05:
            load = "v[%s, %d]" % (at[1], r.randrange(0, 3))
        if r.random() < 0.1:
            load = "select(%s, %s, %s)" % (self.comparison(["o"]), load, self.constant(0))
        return load + r.choice(("", " * v[o, %d]" % r.randrange(0, 3), " * v[0, 1]"))

    def along(self):
        """A loop along rows: neighbours at one index, mostly."""
        r = self.r
        signed = r.random() < 0.4
        index = self.follow(signed)
        terms = [self.tap(signed, r.choice((index, index, "%s + %d" % (index, r.randrange(1, 3))))) for _ in range(r.choice((1, 1, 2, 3)))]
        lines = ["s = %s + %s;" % (self.kept, " + ".join(terms))]
        if r.random() < 0.1:
            lines.append(r.choice(("if s == %s { break; }" % self.constant(12345), "if s > %s { s = s + %s; }" % (self.constant(3), terms[0]))))
        return ["for c in %s {" % r.choice(self.SIGNED if signed else self.UP)] + lines + ["}"]

    def points(self):
        """Sums over points that a place in the domain begins."""
        r = self.r
        head = "%s..%s%s" % (r.choice(("i", "i", "i", self.variables[-1], "T", "0", "i + 1")), r.choice(("O", "O", "O", "min(O, W)", "T")), r.choice(("", " step 2", " step 3", " step 8", " step (T + 1)")))
        terms = ["v[n, %d]%s" % (r.randrange(0, 3), r.choice(("", " * v[n, 1]", " * v[0, 2]"))) for _ in range(r.choice((1, 2)))]
        return ["for n in %s {" % (head if r.random() < 0.9 else "rev(i..O)"), "s = s + %s;" % " + ".join(terms), "}"]

    def sizes(self):
        """Mostly rows with room for some iterations by fours, and offsets of a few elements."""
        r, sizes = self.r, super().sizes()
        if r.random() < 0.8:
            sizes.update(W=r.choice((5, 9, 14, 23)), H=r.choice((1, 2, 3, 5)), T=r.choice((0, 0, 1, 2)), O=r.choice((1, 2, 5)), P=r.choice((-3, -1, 0, 1, 2, 2147483640, -2147483640)), Q=r.choice((0, 1, 4, 4294967294, 4294967280)))
        return sizes

    def loop(self):
        if self.r.random() < 0.25:
            return self.points()
        return ["for o in 0..O {"] + self.along() + (self.along() if self.r.random() < 0.1 else []) + ["}"]


def rows(seed, launches=4):
    return whole(seed, launches, Rows)


def whole(seed, launches=4, make=Maker):
    """Of whole numbers, or of floats that are: sums are exact."""
    t = ("f32", "u32", "f32", "i32")[seed % 4]
    maker = make(seed, t, "s" if t == "f32" else "s * 3")
    data = ["--in", "x=cycle:13", "--in", "v=cycle:5"]
    text = maker.text("1.0" if t == "f32" else "1" + t)
    return text, [data + [word for item in maker.sizes().items() for word in ("--set", "%s=%d" % item)] for _ in range(launches)]
