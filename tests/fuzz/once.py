# SPDX-License-Identifier: MIT
"""Small programs in which an invocation stores to many elements, to some of them more than once.

make(seed) is a program with the sizes to check it with.  Its stores are one after the other and in
loops, at sums of counters times constants and of what the loops leave or change, so that elements
may be stored to again by another iteration, by another store or by neither; and with barriers, by
another invocation.  An element has its cotangent from the last store alone.  Invocations store to
elements WIDTH apart, those of a workgroup with barriers within WIDTH.
"""
import random

WIDTH = 4096
VALUES = ("x[i] * f32(%s + 1)", "sin(x[i] * f32(%s))", "x[i] * x[i] + f32(%s)", "sqrt(x[i] * x[i] + f32(%s + 1))", "x[i] * x[(i + %s) %% N]")


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = 0
        self.loops = []

    def counter(self):
        self.n += 1
        return "k%d" % self.n

    def place(self):
        """A number below WIDTH, and what its value may depend on."""
        r, terms, left = self.r, [], WIDTH // 2
        room = 1
        for k, trips in r.sample(self.loops, len(self.loops)):
            by = r.choice((room, room, room + 1, 1, 2, 3, trips))
            if by * trips >= left:
                by = 0
            left -= by * trips
            room = max(room, by * trips)
            form = r.choice(("%(k)s * %(by)d", "%(by)d * %(k)s", "(%(last)d - %(k)s) * %(by)d", "%(k)s * %(by)d"))
            terms.append(form % {"k": k, "by": by, "last": trips - 1})
        if r.random() < 0.3:
            terms.append(r.choice(("M", "i % 3", "(i & 1) * 5", "c", *("%s %% 3" % k for k, _ in self.loops))))
        if r.random() < 0.6:
            terms.append("%d" % r.choice((0, 1, 2, 3, 5, 8, 200)))
        r.shuffle(terms)
        return " + ".join(terms) or "0"

    def store(self):
        e = self.r.choice(VALUES) % self.r.choice([k for k, _ in self.loops] + ["2"])
        at = "base + " + self.place() if self.r.random() < 0.5 else self.place() + " + base"
        if self.r.random() < 0.2:
            at = "u32(i32(%s))" % at
        text = "y[%s] = %s;" % (at, e)
        if self.r.random() < 0.15:
            text = "if %s { %s }" % (self.r.choice(("x[i] > 0.0", "i % 2 == 0", *("%s > 1" % k for k, _ in self.loops))), text)
        return text

    def statement(self, depth):
        r = self.r
        if depth == 3 or r.random() < 0.35:
            return self.store()
        k, trips = self.counter(), r.choice((2, 3, 5, 13, 20) if depth < 2 else (2, 3, 5))
        self.loops.append((k, trips))
        inner = " ".join(self.statement(depth + 1) for _ in range(r.choice((1, 1, 2))))
        self.loops.pop()
        if r.random() < 0.2:
            inner += " c = (c + 1) % 7;"
        bounds = r.choice(("0..%d", "rev(0..%d)", "0..%d step 1")) % trips
        return "for %s in %s { %s }" % (k, bounds, inner)


def make(seed):
    m = Maker(seed)
    r = m.r
    n = r.choice((1, 2, 5))
    barriers = r.random() < 0.25
    parts = [m.statement(0) for _ in range(r.choice((1, 1, 1, 2, 3)))]
    if barriers:  # lanes of a workgroup store next to each other, one phase after the other
        base = "let i = gid.x; var base = wid.x * %d + lid.x * %d; var c = 0u;" % (WIDTH, r.choice((1, 2, 37)))
        body = " barrier(); ".join("if lid.x == %d { %s }" % (r.randrange(4), part) if r.random() < 0.7 else
                                   "barrier(); ".join("if lid.x == %d { %s }" % (lane, part) for lane in range(4)) for part in parts)
        return ("// set: N=4 M=3\n// groups: 1,1,1\nprogram p(x: in f32[N], y: out f32[%d], N: u32, M: u32) workgroup(4) {\n    %s\n    %s\n}\n"
                % (WIDTH, base, body))
    return ("// set: N=%d M=3\nprogram p(x: in f32[N], y: out f32[N * %d], N: u32, M: u32) over(i: N) {\n"
            "    let base = i * %d; var c = 0u;\n    %s\n}\n" % (n, WIDTH, WIDTH, " ".join(parts)))
