# SPDX-License-Identifier: MIT
"""Random gathers with clamped coordinates: pictures whose borders repeat, are mirrored or are left
out, along one to three axes, through one or two loops, with strides and offsets that only the launch
knows: `x[min(max(i - left, 0), w - 1), clamp(j * st + k - top, 0, h - 1)]`.

Where such an access is inverted, the walk has loops over what is beyond the border, for the elements
at the border alone (autodiff/affine/scan_tree.c).  Sizes are those of the picture or are not; some are
zero or negative, offsets exceed them, flat indices have pitches of their own.  make(seed) is a
program of f64 with its launches.
"""
import random
import re

PLACES = ("%(v)s - %(l)s", "%(v)s + %(l)s", "%(v)s * %(k)d - %(l)s", "%(v)s * st - %(l)s", "%(v)s / %(k)d - %(l)s", "%(l)s - %(v)s",
          "%(v)s - %(l)s + dk", "%(v)s * %(k)d + dk - %(l)s", "%(v)s * st + dk * dil - %(l)s", "%(v)s + dk - %(l)s", "-%(v)s + dk")
BORDERS = ("min(max(%s, 0), %s - 1)", "min(max(%s, 0), %s - 1)", "max(min(%s, %s - 1), 0)", "clamp(%s, 0, %s - 1)", "min(max(%s, lo), %s - 1)",
           "min(max(%s, 0), %s)", "max(%s, 0) + 0 * %s", "min(%s, %s - 1)", "select(%s >= 0, 0, 1) + 0 * %s", "min(max(%s, -1), %s + 1)",
           "abs(%s) + 0 * %s", "min(abs(%s), %s - 1)", "max(%s - %s, 0)")
SCALARS = ("w", "h", "d", "left", "top", "front", "st", "dil", "lo", "ks", "pitch")
SIZES = ("N", "M", "L", "P", "Q", "V")
VALUES = {"N": (0, 1, 3, 5, 8), "M": (1, 2, 4, 7), "L": (1, 2, 3), "P": (1, 3, 6), "Q": (1, 4, 5), "V": (1, 6, 20, 40), "w": (0, 1, 3, 5, 6, -2),
          "h": (1, 2, 4, 0), "d": (1, 2, 3), "left": (0, 1, 2, -1, 5, -7), "top": (0, 1, 2, -1, 9), "front": (0, 1, -1), "st": (1, 1, 2, 3, 0, -1),
          "dil": (1, 1, 2, 0, -1), "lo": (0, 0, 1, -1, 2), "ks": (0, 1, 3, 3, -2), "pitch": (1, 3, 6)}
FIRST = "N=4 M=3 L=2 P=4 Q=3 V=20 w=4 h=3 d=2 left=1 top=1 front=0 st=1 dil=1 lo=0 ks=3 pitch=3"
LOOPS = ("0..3", "0..ks", "-1..2", "-left..ks", "0..ks step 2", "rev(0..ks)", "max(0, left)..ks", "0..min(ks, w)")


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rank = self.r.choice((1, 2, 2, 2, 3))
        self.flat = self.r.random() < 0.3
        self.loops = ["da", "db"][:self.r.randrange(3)]
        self.axes = ["i32(%s)" % v for v in "ijk"[:self.rank]]

    def offset(self, text):
        """`dk` is one of the loops, or a number."""
        return re.sub(r"\bdk\b", lambda m: "i32(%s)" % self.r.choice(self.loops) if self.loops else self.r.choice(("0", "1", "dil")), text)

    def coordinate(self, k, axis):
        size = self.r.choice((("w", "h", "d")[k],) * 2 + ("w", "i32(len(x, %d))" % (0 if self.flat else k), "i32(N)"))
        left = self.r.choice((("left", "top", "front")[k],) * 2 + ("left", "1", "0", "2", "(1 + lo)"))
        place = self.r.choice(PLACES) % {"v": axis, "l": left, "k": self.r.randrange(1, 4)}
        return self.offset(self.r.choice(BORDERS) % (place, size))

    def load(self):
        at = [self.coordinate(k, self.r.choice(self.axes) if self.r.random() < 0.15 else axis) for k, axis in enumerate(self.axes)]
        if not self.flat or self.rank == 1:
            return "x[%s]" % ", ".join(at)
        if self.rank == 2:
            return "x[(%s) * %s + %s]" % (at[0], self.r.choice(("w", "h", "pitch")), at[1])
        return "x[((%s) * h + %s) * w + %s]" % tuple(at)

    def value(self):
        x, y, own = self.load(), self.load(), "y[%s]" % ", ".join("0" if self.r.random() < 0.2 else v for v in "ijk"[:self.rank])
        weight = "wt[i32(%s)]" % self.loops[0] if self.loops else "wt[0]"
        return self.r.choice(("%s * %s" % (x, weight), "%s * %s" % (x, y), "sin(%s)" % x, "%s * %s" % (x, own), x, "%s - %s" % (x, y), "max(%s, %s)" % (x, y)))

    def body(self):
        kind = self.r.choice(("sum", "sum", "sum", "max", "if"))
        if not self.loops:
            return ["let a = %s;" % self.value()]
        add = {"sum": "a += %s;", "max": "a = max(a, %s);"}.get(kind) or self.offset("if %s + dk - left >= 0 && %s + dk - left < w { a += %%s; }" % (self.axes[0], self.axes[0]))
        heads = ["for %s in %s {" % (name, self.r.choice(LOOPS)) for name in self.loops]
        return ["var a = f64(%s);" % ("-9.0" if kind == "max" else "0.0"), *heads, add % self.value(), "}" * len(heads)]

    def program(self):
        at, extents = ", ".join("ijk"[:self.rank]), list(SIZES[:self.rank])
        body = self.body()
        if self.r.random() < 0.3:
            body.append("if %s { return; }" % self.r.choice(("i > 3", "%s - left < 0" % self.axes[0], "%s >= w" % self.axes[-1])))
        own = "0.0" if self.flat else "x[%s]" % at
        body.append(self.r.choice(("o[%s] = a;" % at, "o[%s] = a;" % at, "o[%s] = a * a;" % at, "o[%s] = a + %s;" % (at, own), "atomic_add(z[0], a);",
                                   "atomic_add(z[%s], a * 0.5);" % self.coordinate(0, self.axes[0]) if not self.loops else "atomic_add(z[i], a);")))
        shape = ["V"] if self.flat else self.r.choice((["P", "Q", "L"][:self.rank], extents, ["P"] * self.rank))
        of = ", ".join(extents)
        return "program p(x: in f64[%s], y: in f64[%s], wt: in f64[5], o: out f64[%s], z: out f64[4], %s: u32, %s: i32) over(%s) {\n    %s\n}\n" % (
            ", ".join(shape), of, of, ": u32, ".join(SIZES), ": i32, ".join(SCALARS),
            ", ".join("%s: %s" % p for p in zip("ijk", extents)), "\n    ".join(body))

    def launch(self):
        return " ".join("%s=%d" % (n, self.r.choice(VALUES[n])) for n in SIZES + SCALARS)


def make(seed):
    m = Maker(seed)
    text = m.program()
    return "// only: ways\n// set: %s\n%s%s" % (FIRST, "".join("// launch: %s\n" % m.launch() for _ in range(3)), text)
