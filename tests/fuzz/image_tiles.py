# SPDX-License-Identifier: MIT
"""Small programs each of whose invocations stores a tile of a picture, at flat indices of scalar strides.

make(seed) is a program with the sizes to check it with.  Rows and planes just fit, are padded, or are so
short that what one invocation stores at two places is one element; then the later one has its
cotangent.  Conditions keep what is beyond the picture from being stored, or do not.  Different invocations
never store to one element (that would be a race): `run` is the program in Python, and sizes for which
they would are not used.
"""
import itertools
import random

LENGTH = 700  # of what is stored to
VALUES = ("%s * %s", "max(%s, 0.1)", "%s * abs(%s)", "sqrt(%s * %s + 1.0)")
INPUT = {"B": 24, "Y": 12, "X": 60}  # planes and rows of what is summed
STEPS = ("P", "P / 4", "Q", "2 * Q", "P / 2")  # from one channel of four to the next


class Tile:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.size = r.choice(((2, 2, 1, 4),) * 5 + ((2, 1, 2, 4), (2, 2, 2, 2), (1, 2, 2, 4)))
        self.guarded = r.random() < 0.8
        self.channels = r.random() < 0.6
        self.step = r.choice(STEPS)
        self.planes = r.choice(("P", "4 * Q", "P * 4"))
        self.row = r.choice(("W", "W", "R", "R + 1"))
        self.value = r.choice(VALUES)
        self.order = r.choice((False, False, True))
        self.kept = r.choice(("", "", "i32", "nest"))

    def index(self, c, dz, dy, dx):
        """Of channel c at (dz, dy, dx) of the tile, as text."""
        ax, ay, az, _ = self.size
        at = "(z * %d + %d) * (%s) + (y * %d + %d) * (%s) + x * %d + %d" % (az, dz, self.planes, ay, dy, self.row, ax, dx)
        return at + (" + %d * (%s)" % (c, self.step) if c else "")

    def conditions(self, c, dz, dy, dx):
        ax, ay, az, ac = self.size
        of = (("z", az, dz, "D"), ("y", ay, dy, "H"), ("x", ax, dx, "W"))
        text = ["%s * %d + %d < %s" % (v, n, d, e) for v, n, d, e in of if d]
        if self.channels and c:
            text.append("(z * %d + %d) * %d + %d < C" % (az, dz, ac, c))
        return text if self.guarded else []

    def places(self):
        ax, ay, az, ac = self.size
        all = list(itertools.product(range(ac), range(az), range(ay), range(ax)))
        if self.order:
            self.r.shuffle(all)
        return all

    def extents(self):
        ax, ay, az, _ = self.size
        return [("(%s + %d) / %d" % (e, n - 1, n) if n > 1 else e) for e, n in (("D", az), ("H", ay), ("W", ax))]


def value(text, names):
    return eval(text.replace("/", "//"), {}, names)  # no size is negative where something is stored


def run(tile, places, sizes):
    """Does every element have one invocation?"""
    owner = {}
    for z, y, x in itertools.product(*(range(max(value(e, sizes), 0)) for e in tile.extents())):
        names = dict(sizes, x=x, y=y, z=z)
        for p in places:
            if all(value(c, names) for c in tile.conditions(*p)):
                at = value(tile.index(*p), names)
                if owner.setdefault(at, (z, y, x)) != (z, y, x):
                    return False
    return True


def sizes_of(tile, places, r):
    for _ in range(60):
        w, h, d = r.choice((0, 1, 2, 3, 4, 5, 7)), r.choice((0, 1, 2, 3, 4)), r.choice((0, 1, 2, 3))
        row = r.choice((w, w, w + 1, 8, 1, max(w - 1, 1)))
        plane = r.choice((w * h, row * h, row * h + 3, 4 * row * h, 4 * w * h, 4 * w * h + 8, 1, 2))
        quarter = r.choice((row * h, w * h, plane // 4, 1, 2, row, 0))
        sizes = {"W": w, "H": h, "D": d, "R": row, "Q": quarter, "P": plane, "C": r.choice((4 * d, 4 * d - 1, 2 * d, 1)), "K": r.choice((0, 1, 2, 3)), **INPUT}
        if run(tile, places, sizes):
            return sizes
    return {"W": 1, "H": 1, "D": 1, "R": 1, "Q": 16, "P": 64, "C": 4, "K": 1, **INPUT}


def store(tile, p, name, r):
    conditions = tile.conditions(*p)
    value_text = tile.value.replace("%s", name)
    text = "o[%s] = %s;" % (tile.index(*p), value_text)
    if not conditions:
        return text
    if tile.kept == "nest":
        for c in conditions:
            text = "if %s { %s }" % (c, text)
        return text
    return "if %s { %s }" % (" && ".join(conditions), text)


def make(seed):
    tile = Tile(seed)
    r = tile.r
    ax, ay, az, ac = tile.size
    places = tile.places()
    sizes = sizes_of(tile, places, r)
    sums = sorted({(c, dz, dy, dx) for c, dz, dy, dx in places})
    body = "let z = i32(i); let y = i32(j); let x = i32(l);\n    "
    body += " ".join("var s%d%d%d%d = 0.1;" % s for s in sums)
    body += "\n    for k in 0..K {\n        "
    for c, dz, dy, dx in sums:
        body += "s%d%d%d%d += a[k * X + (y * %d + %d) * Y + x * %d + %d] * b[(z * %d + %d) * K + k + %d * B];\n        " % (
            c, dz, dy, dx, ay, dy, ax, dx, az, dz, c)
    body += "}\n    " + "\n    ".join(store(tile, p, "s%d%d%d%d" % p, r) for p in places)
    used = " ".join("%s=%d" % item for item in sizes.items())
    return ("// set: %s\n@shader program p(a: in f32[300], b: in f32[120], o: out f32[%d], %s) over(i: %s, j: %s, l: %s) {\n    %s\n}\n"
            % (used, LENGTH, ", ".join("%s: i32" % k for k in sizes), *tile.extents(), body))
