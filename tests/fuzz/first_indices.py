# SPDX-License-Identifier: MIT
"""Random programs whose loads differ in first indices that are surely in range, while the others,
which they share, are not: in loops and arms, near the ends of rows and beyond, of rows that are
empty, in domains of which an invocation computes several elements.

The device then computes the address in two parts (spirv/facts/shared_places.c), and the marks
`@in_range(n)` say how many indices are surely in range.  make(seed) is a program of f64 for
gradcheck_file; whole(seed) is (text, launches) of one whose numbers are exact, for a device.
"""
from rounds import Named, Program

EXTENTS = ("B", "O", "3", "H", "W")
SHAPES = (("B", "H"), ("B", "W"), ("3", "H"), ("B", "O", "H"), ("B", "H", "W"), ("3", "B", "W"), ("O", "B", "H", "W"), ("B", "3", "O", "W"), ("H", "B", "W"))
SIZES = {"B": (1, 2, 3, 5, 9, 17), "O": (1, 2, 3, 4), "H": (0, 1, 2, 3, 5, 8), "W": (0, 1, 2, 4, 7), "I": (1, 2, 4, 9), "T": (0, 1, 2, 5, 70), "S": (-9, -2, -1, 0, 1, 2, 6)}


class Maker(Named):
    def __init__(self, seed, kept, factors, small=False):
        super().__init__(seed)
        self.kept, self.factors, self.small = kept, factors, small
        self.shapes = self.r.sample(SHAPES, self.r.randrange(2, 5))
        # by extent: what is surely below it
        self.below = {"B": ["b", "b", "B - 1 - b", "(b + 1) % B", "min(b + T, B - 1)"], "3": ["0", "1", "2", "b % 3", "(i + 2) % 3"], "O": ["O - 1", "i % O"], "H": [], "W": []}

    def anywhere(self, counters):
        """An index of which nothing is known."""
        d = self.r.randrange(-2, 4)
        return self.r.choice(["i32(i) + %d" % d, "i32(b) * 2 - %d" % abs(d), "S", "S + i32(i)", "i + T", "i", "T", "b + i"] + [
            form % (c, d) for c in counters[-2:] for form in ("i32(%s) + %d", "i32(%s) - i32(i) + %d", "i32(%s) + S + %d")])

    def known(self, extent):
        return self.r.choice(self.below[extent])

    def loads(self, counters):
        """Loads of one buffer: first indices of each, the others of all."""
        r = self.r
        n = r.randrange(len(self.shapes))
        shape = self.shapes[n]
        first = 0
        while first + 1 < len(shape) and self.below[shape[first]]:
            first += 1
        if first > 1 and r.random() < 0.3:
            first -= 1
        lines, rest = [], []
        for extent in shape[first:]:
            text = self.anywhere(counters)
            if self.below[extent] and r.random() < 0.4:  # only half of it is known
                text = "i32(%s) %s" % (self.known(extent), r.choice(("- 1", "- 2", "+ 1", "- i32(T)")))
            if r.random() < 0.5:
                rest.append(self.name("p"))
                lines.append("let %s = %s;" % (rest[-1], text))
            else:
                rest.append(text)
        some = []
        for k in range(r.choice((1, 2, 2) if self.small else (1, 2, 2, 3, 4))):
            index = [self.known(e) for e in shape[:first]]
            some.append("x%d[%s] * %s" % (n, ", ".join(index + rest), self.factors[k]))
        lines.append("s = %s + %s;" % (self.kept, " + ".join(some)))
        return lines

    def loop(self, depth, counters):
        c, extent = self.name("k"), self.r.choice(("B", "O", "3", "H", "I"))
        head = self.r.choice(("0..%s", "0..%s", "rev(0..%s)", "1..%s", "0..%s step 2", "T..%s")) % extent
        more = c if extent in self.below else None
        if more:
            self.below[extent].extend([c, c, c])
        body = self.block(depth + 1, counters + [c])
        if more:
            del self.below[extent][-3:]
        return ["for %s in %s {" % (c, head)] + body + ["}"]

    def arm(self, depth, counters):
        """What is known inside of it alone."""
        extent, test, known = self.r.choice((("B", "b + 1 < B", "b + 1"), ("B", "b > 0", "b - 1"), ("O", "T < O", "T"), ("H", "i < H", "i"), ("B", "b + i < B", "b + i"),
                                             ("W", "S >= 0 && S < i32(W)", "S"), ("B", "i >= 2 && i < B", "i - 2")))
        self.below[extent].extend([known, known])
        inside = self.block(depth + 1, counters)
        del self.below[extent][-2:]
        return ["if %s {" % test] + inside + (["} else {"] + self.block(depth + 1, counters) if self.r.random() < 0.4 else []) + ["}"]

    def block(self, depth, counters):
        out = []
        deepest = 1 if self.small else 2
        for _ in range(self.r.choice((1, 1, 2) if self.small else (1, 1, 2, 3))):
            kind = self.r.random()
            out += self.loop(depth, counters) if kind < 0.3 and depth < deepest else self.arm(depth, counters) if kind < 0.5 and depth < deepest else self.loads(counters)
        return out

    def sizes(self):
        return {name: self.r.choice(some) for name, some in SIZES.items()}


def written(maker, t, start):
    body = maker.block(0, []) + ([] if maker.small else maker.block(0, []))
    order = maker.r.choice(("b: B, i: I", "b: B, i: I", "i: I, b: B"))
    shape = maker.r.choice(("", "", "workgroup(8) ", "workgroup(4, 2) "))
    ins = ", ".join("x%d: in %s[%s]" % (n, t, ", ".join(shape)) for n, shape in enumerate(maker.shapes))
    return ("program p(%s, y: out %s[B, I],\n          B: u32, O: u32, H: u32, W: u32, I: u32, T: u32, S: i32) %sover(%s)\n{\n"
            "    var s = %s;\n    %s\n    y[b, i] = s;\n}\n" % (ins, t, shape, order, start, "\n    ".join(body)))


def make(seed):
    maker = Maker(seed, "s * 0.5", ("0.7", "sin(s)", "0.3"), small=True)
    text = written(maker, "f64", "0.3f64")
    return Program("// set: %s\n// seed: %d\n%s" % (" ".join("%s=%d" % item for item in maker.sizes().items()), seed, text))


def whole(seed, launches=4):
    """Integers; every third one of floats that are whole numbers, with its gradient: sums are the same in any order."""
    if seed % 3 == 0:
        maker = Maker(seed, "s", ("2.0", "x0[b % 3, i]", "3.0"), small=True)
        maker.shapes[0] = ("3", "H")
        text, given = written(maker, "f32", "1.0"), ["--grad"]
    else:
        maker, given = Maker(seed, "s * 3", "2345"), []
        t = maker.r.choice(("u32", "i32"))
        text = written(maker, t, "1" + t)
    for n in range(len(maker.shapes)):
        given += ["--in", "x%d=cycle:%d" % (n, 11 + 2 * n)]
    return text, [given + [word for item in maker.sizes().items() for word in ("--set", "%s=%d" % item)] for _ in range(launches)]
