# SPDX-License-Identifier: MIT
"""Random programs that fill shared arrays lane by lane, with the expected result of each size of
the domain.

make(seed) has the program's text and launches; a launch has its sizes, and either the outputs or
None, where an invocation reads an element that only invocations outside of the domain would have
stored.  The model here shares no code with the compiler: it simulates every lane of every workgroup
in Python.
"""
import collections
import random

MASK = 0xffffffff
Program = collections.namedtuple("Program", "text launches")
# sure: plans must refuse the sizes where `outputs` is None (spirv/facts/whole.c claims nothing about
# what depends on data, nor about missing corners where the last workgroup is partial on both axes).
Launch = collections.namedtuple("Launch", "sets outputs sure")
Index = collections.namedtuple("Index", "text value")  # value(lane): a number of 32 bits
Lane = collections.namedtuple("Lane", "x y linear i j data k n inside")


def binary(form, a, b, value):
    return Index(form % (a.text, b.text), lambda l: value(a.value(l), b.value(l)) & MASK)


def number(n):
    return Index("%du" % n, lambda l: n)


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.plane = self.r.random() < 0.4
        self.workgroup = self.r.choice(((4, 4), (8, 2), (2, 4)) if self.plane else ((4, 1), (8, 1), (16, 1), (6, 1), (8, 2), (4, 3)))
        w, h = self.workgroup
        self.count = w * h * self.r.choice((1, 1, 2))
        self.sure = True

    # ---- indices
    def leaf(self, loop):
        w, h = self.workgroup
        leaves = [Index("lindex", lambda l: l.linear), Index("lid.x", lambda l: l.x), Index("lid.y", lambda l: l.y),
                  Index("(lid.y * %du + lid.x)" % w, lambda l: l.y * w + l.x)]
        if self.plane:
            leaves += [Index("(j %% %du)" % w, lambda l: l.j % w), Index("(i %% %du * %du + gid.x %% %du)" % (h, w, w), lambda l: l.i % h * w + l.j % w)]
        else:
            leaves += [Index("(i %% %du)" % w, lambda l: l.i % w), Index("(gid.x %% %du)" % w, lambda l: l.i % w)]
        if loop and self.r.random() < 0.6:
            return Index("k", lambda l: l.k)
        if self.r.random() < 0.05:  # known modulo the workgroup only
            self.sure = False
            return Index("(gid.x %% %du)" % (2 * w), lambda l: (l.j if self.plane else l.i) % (2 * w))
        return self.r.choice(leaves)

    def index(self, loop, depth=2):
        r, w = self.r, self.workgroup[0]
        a = self.leaf(loop)
        if depth == 0 or r.random() < 0.35:
            return a
        b = self.index(loop, depth - 1) if r.random() < 0.4 else number(r.choice((1, 2, 3, w - 1, w, self.count - 1)))
        c = r.choice((w, self.count, 4))
        return r.choice((
            lambda: binary("(%s + %s)", a, b, lambda x, y: x + y), lambda: binary("(%s ^ %s)", a, b, lambda x, y: x ^ y),
            lambda: binary("(%s - %s)", b, a, lambda x, y: x - y), lambda: binary("(%s * %s)", a, b, lambda x, y: x * y),
            lambda: binary("((%s + %s) %% {}u)".format(c), a, b, lambda x, y: ((x + y) & MASK) % c),
            lambda: binary("min(%s, %s)", a, b, min), lambda: binary("(%s / 2u + %s)", a, b, lambda x, y: x // 2 + y)))()

    def condition(self):
        r = self.r
        a, c = self.leaf(False), r.choice((1, 2, 3, self.workgroup[0] - 1))
        return r.choice((("%s < %du" % (a.text, c), lambda l: a.value(l) < c), ("%s >= %du" % (a.text, c), lambda l: a.value(l) >= c),
                         ("%s %% 2u == %du" % (a.text, c % 2), lambda l: a.value(l) % 2 == c % 2)))

    # ---- statements: text, and the elements that a lane accesses in order
    def loop(self):
        """A loop: what it ranges over, and its values in a lane; None: no loop."""
        r, w = self.r, self.workgroup[0]
        n, m = r.choice((1, 2, 3, w)), r.choice((2, w))
        return r.choice((
            None, None, ("0u..%du" % n, lambda l: range(n)), ("lid.x..%du" % w, lambda l: range(l.x, w)),
            ("rev(0u..lid.x + 1u)", lambda l: range(l.x, -1, -1)), ("lid.x..%du step %du" % (self.count, m), lambda l: range(l.x, self.count, m))))

    def open_iterations(self):
        """Loops whose iterations depend on data or sizes."""
        return self.r.choice((("0u..u32(d) % 3u", lambda l: range(l.data % 3)), ("0u..min(%du, N)" % self.workgroup[0], lambda l: range(min(self.workgroup[0], l.n)))))

    def wrap(self, text, places, loop, conditions):
        if loop:
            inner = places
            text = "for k in %s { %s }" % (loop[0], text)
            places = lambda l: [p for k in loop[1](l) for p in inner(l._replace(k=k))]
        for said, holds in conditions:
            text, places = "if %s { %s }" % (said, text), (lambda l, f=places, h=holds: f(l) if h(l) else [])
        return text, places

    def store(self):
        loop = self.loop()
        at = self.index(loop)
        said = [self.condition()] if self.r.random() < 0.3 else []
        text, places = self.wrap("t[%s] = f32(%s) + 1.0;" % (at.text, at.text), lambda l: [at.value(l)], loop, said)
        return text, places

    def read(self):
        loop, said = self.loop(), []
        if self.r.random() < 0.15:
            loop, self.sure = self.open_iterations(), False
        at = self.index(loop)
        if self.r.random() < 0.3:
            said.append(self.condition())
        if self.r.random() < 0.15:
            said.append(("d > 3.0", lambda l: l.data > 3))
            self.sure = False
        return self.wrap("v += t[%s];" % at.text, lambda l: [at.value(l)], loop, said)

    # ---- the model
    def lanes(self, group, n, m):
        w, h = self.workgroup
        for linear in range(w * h):
            x, y = linear % w, linear // w
            j, i = group[0] * w + x, group[1] * h + y
            if not self.plane:
                inside, i, j = j < n and y == 0, j, 0
            else:
                inside = i < n and j < m
            yield Lane(x, y, linear, i, j, i * m + j if self.plane else i, 0, n, inside)

    def launch(self, stores, reads, n, m):
        """Outputs, or None; KeyError: an element is read that no lane of a full workgroup fills."""
        w, h = self.workgroup
        groups = [(gx, gy) for gy in range(-(-n // h) if self.plane else 1) for gx in range(-(-(m if self.plane else n) // w))]
        out, missing = {}, False
        for group in groups:
            lanes = list(self.lanes(group, n, m))
            everyone = [l for l in lanes if self.plane or l.y == 0]
            filled = {p for l in lanes if l.inside for s in stores for p in s(l)}
            whole = {p for l in everyone for s in stores for p in s(l)}
            for l in lanes:
                if not l.inside:
                    continue
                v = 0
                for p in (p for s in reads for p in s(l)):
                    if p >= self.count:
                        continue
                    if p not in whole:
                        raise KeyError(p)
                    missing |= p not in filled
                    v += p + 1
                out[l.data] = v
        return None if missing else [float(out[k]) for k in sorted(out)]

    def make(self):
        r = self.r
        stores, reads = [self.store() for _ in range(r.choice((1, 1, 2)))], [self.read() for _ in range(r.choice((1, 2)))]
        head = "program p(x: in f32[N, M], y: out f32[N, M], N: u32, M: u32) workgroup(%d, %d) over(i: N, j: M)" if self.plane else \
            "program p(x: in f32[N], y: out f32[N], N: u32) workgroup(%d, %d) over(i: N)"
        element = "i, j" if self.plane else "i"
        text = head % self.workgroup + " { shared t: f32[%d]; let d = x[%s]; var v = 0.0; %s barrier(); %s y[%s] = v; }" % (
            self.count, element, " ".join(s for s, _ in stores), " ".join(s for s, _ in reads), element)
        w, h = self.workgroup
        launches = []
        sizes = {(n, m) for n in ((1, h, h + 1, 2 * h, 2 * h + 1) if self.plane else (1, 3, w - 1, w, w + 1, 2 * w, 2 * w + 3))
                 for m in ((1, w - 1, w, w + 1, 2 * w) if self.plane else (1,))}
        for n, m in r.sample(sorted(sizes), 4):
            values = self.launch([f for _, f in stores], [f for _, f in reads], n, m)
            whole = not self.plane or (n >= h and m >= w and (n % h == 0 or m % w == 0))
            launches.append(Launch({"N": n, "M": m} if self.plane else {"N": n}, values, self.sure and whole))
        return Program(text, launches)


def make(seed):
    """The first program from `seed` on in which full workgroups fill all elements that are read."""
    for iteration in range(10000):
        try:
            return Maker("%d %d" % (seed, iteration)).make()
        except KeyError:
            continue
    raise AssertionError("no program")
