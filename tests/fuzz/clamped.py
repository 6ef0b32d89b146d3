# SPDX-License-Identifier: MIT
"""Random gathers of pictures that are padded by their edges: coordinates along one to four axes, each a
number minus an offset that only the launch knows, clamped to bounds of the launch.

    x[min(max(i - left, 0), w - 1), max(min(j + k - top, h), lo)]

The walk over what reaches an element is then one loop along each axis, between ends that the
element has (autodiff/affine/clamped.c).  Bounds are in order or not, on one side alone, those of
the buffer or not, or products of scalars; several loads of one buffer may differ in their bounds alone.  make(seed) is a program
of f64 with its launches.
"""
import random

SCALARS = ("w", "h", "d", "c", "left", "top", "lo", "hi", "ks", "pitch", "cstep")
SIZES = ("N", "M", "L", "R", "P", "Q", "V")
VALUES = {"N": (0, 1, 4, 6), "M": (1, 3, 5), "L": (1, 2, 3), "R": (1, 2), "P": (1, 3, 5), "Q": (1, 2, 4), "V": (1, 6, 20, 40),
          "w": (0, 1, 2, 4, 6, -2, 46341), "h": (1, 2, 3, 0, 46341), "d": (1, 2, 3), "c": (1, 2), "left": (0, 1, 2, -1, 5, -7), "top": (0, 1, -1, 9),
          "lo": (0, 0, 1, -1, 2, 7), "hi": (0, 1, 2, 3, -1, 9), "ks": (0, 1, 3, -2), "pitch": (1, 3, 4, 6), "cstep": (1, 6, 8, 20)}
FIRST = "N=4 M=3 L=2 R=2 P=4 Q=3 V=20 w=4 h=3 d=2 c=2 left=1 top=1 lo=0 hi=2 ks=3 pitch=4 cstep=12"
PLACES = ("%(v)s - %(l)s", "%(v)s - %(l)s", "%(v)s + %(l)s", "%(l)s - %(v)s", "%(v)s * 2 - %(l)s", "%(v)s / 2 - %(l)s", "%(v)s * 4 + 1 - %(l)s", "%(v)s",
          "%(v)s - %(l)s + dk", "%(l)s - %(v)s * 2 + dk")
PRODUCTS = ("w * h - 1", "w * hi", "w * h * c", "(w * h + 3) / 4")  # autodiff/gather/gather_multiplied.c
CLAMPS = ("min(max(%(x)s, %(lo)s), %(hi)s)",) * 4 + ("max(min(%(x)s, %(hi)s), %(lo)s)", "clamp(%(x)s, %(lo)s, %(hi)s)", "min(%(x)s, %(hi)s)", "max(%(x)s, %(lo)s)",
          "min(%(hi)s, max(%(lo)s, %(x)s))", "i32(min(u32(max(%(x)s, 0)), u32(%(hi)s)))", "min(max(%(x)s, %(lo)s), %(hi)s) + 0 * lo")


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rank = self.r.choice((1, 2, 2, 3, 3, 4))
        self.flat = self.r.random() < 0.5
        self.loop = self.r.random() < 0.35
        self.axes = ["i32(%s)" % v for v in "ijkl"[:self.rank]]

    def coordinate(self, k):
        # along the flat axes from the innermost: w, h, d, c
        size = ("w", "h", "d", "c")[self.rank - 1 - k if self.flat else k]
        x = self.r.choice(PLACES) % {"v": self.axes[k], "l": self.r.choice(("left", "top", "left", "1", "0", "ks"))}
        x = x.replace("dk", self.r.choice(("i32(a)", "i32(a) * 2")) if self.loop else "lo")
        parts = {"x": x, "lo": self.r.choice(("0", "0", "0", "0", "lo", "1", "-1")), "hi": self.r.choice((size + " - 1",) * 4 + (size, "hi", "lo + 1", "2") + PRODUCTS)}
        return self.r.choice(CLAMPS) % parts if self.r.random() < 0.9 else self.axes[k]

    def load(self):
        at = [self.coordinate(k) for k in range(self.rank)]
        if not self.flat:
            return "x[%s]" % ", ".join(at)
        if self.rank > 1 and self.r.random() < 0.5:
            index = "(%s) * cstep" % at[0]
            rows = at[1:]
        else:
            index, rows = "", at
        inner = rows[0]
        for size, x in zip(("w", "h", "d", "c")[len(rows) - 2::-1] if len(rows) > 1 else (), rows[1:]):
            inner = "(%s) * %s + %s" % (inner, size, x)
        return "x[%s]" % (index + " + " + inner if index else inner)

    def value(self):
        x, y, own = self.load(), self.load(), "y[%s]" % ", ".join("ijkl"[:self.rank])
        if self.r.random() < 0.3:  # the same but for a bound
            y = x.replace("w - 1", "h - 1").replace("lo)", "1)")
        return self.r.choice(("%s * %s" % (x, own), "%s * %s" % (x, own), "%s * %s" % (x, y), "%s * %s - %s" % (x, own, y), "sin(%s)" % x))

    def program(self):
        at, extents = ", ".join("ijkl"[:self.rank]), list(SIZES[:self.rank])
        body = ["let s = %s;" % self.value()]
        if self.loop:
            body = ["var s = f64(0.0);", "for a in %s { s += %s; }" % (self.r.choice(("0..3", "0..ks", "-1..2")), self.value())]
        store = self.r.choice(("o[%s] = s;" % at, "o[%s] = s;" % at, "o[%s] = s * s;" % at, "if i32(i) < hi { o[%s] = s; }" % at))
        shape = ["V"] if self.flat else self.r.choice((["P", "Q", "L", "R"][:self.rank], extents))
        of = ", ".join(extents)
        return "program p(x: in f64[%s], y: in f64[%s], o: out f64[%s], %s: u32, %s: i32) over(%s) {\n    %s\n    %s\n}\n" % (
            ", ".join(shape), of, of, ": u32, ".join(SIZES), ": i32, ".join(SCALARS), ", ".join("%s: %s" % p for p in zip("ijkl", extents)), "\n    ".join(body), store)

    def launch(self):
        return " ".join("%s=%d" % (n, self.r.choice(VALUES[n])) for n in SIZES + SCALARS)


def make(seed):
    m = Maker(seed)
    text = m.program()
    return "// only: ways\n// set: %s\n%s%s" % (FIRST, "".join("// launch: %s\n" % m.launch() for _ in range(4)), text)
