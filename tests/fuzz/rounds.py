# SPDX-License-Identifier: MIT
"""Random programs in which the same memory is read and written before, inside and after loops.

Passes that reuse, move or merge accesses must respect the back edge: what comes after a load in the
text may run before it.  Bounds are parameters, so that no loop is unrolled; constructs are repeated
word for word, so that there is something to reuse.  make(seed) is a program of f64.
"""
import random


class Named:
    """Random choices from a seed, and names that are not in use: what makers of programs begin with."""
    def __init__(self, seed):
        self.r, self.names = random.Random(seed), 0

    def name(self, letter):
        self.names += 1
        return "%s%d" % (letter, self.names)


class Maker(Named):
    def __init__(self, seed):
        super().__init__(seed)
        self.said = []  # constructs without side effects, with a hole for the result

    def index(self, counters):
        r = self.r
        whole = ["0u", "1u", "2u", "M - 1"] + ["(i + 1) % M"]
        for t in counters[-2:]:
            whole += ["%s %% M" % t, "(%s + 1) %% M" % t, "M - 1 - %s %% M" % t]
        return r.choice(whole + whole[-3:] * (2 if counters else 0))

    def place(self, counters):
        index = self.index(counters)
        return self.r.choice(("z[i, %s]", "z[i, %s]", "a[%s]", "g[i, %s]")) % (index if self.r.random() < 0.9 else "2u")

    def stored(self, counters):
        where = self.place(counters)
        while where.startswith("g"):
            where = self.place(counters)
        return where

    def bounds(self, counters):
        r = self.r
        some = ["0..M", "0..T", "1..M", "0..T + 1", "rev(0..M)", "rev(0..T)", "0..M step 2"]
        for t in counters[-1:]:
            some += ["%s..M" % t, "0..%s" % t, "0..%s + 1" % t]
        return r.choice(some)

    def value(self, counters):
        r = self.r
        return r.choice(("v", "w", "x[i]", "v * x[i]", "v - w", "0.5", "%s" % self.place(counters), "v + " + self.place(counters)))

    def condition(self, counters):
        r = self.r
        some = ["%s > 0.1" % self.place(counters), "v > w", "i % 2 == 0u", "T > 1u"]
        for t in counters[-2:]:
            some += ["%s %% 2 == 0u" % t, "%s > 0u" % t]
        return r.choice(some)

    def construct(self, counters):
        """A sum or a choice; its result is a new variable."""
        usable = [text for text, inside in self.said if all(t in counters for t in inside)]
        if usable and self.r.random() < 0.5:
            text = self.r.choice(usable)
        else:
            into, k = "HOLE", self.name("k")
            if self.r.random() < 0.65:
                text = "for %s in %s { %s += %s * 0.3; }" % (k, self.bounds(counters), into, self.place(counters + [k]))
            else:
                text = "if %s { %s = sin(%s); } else { %s = %s * 0.5; }" % (
                    self.condition(counters), into, self.place(counters), into, self.place(counters))
            self.said.append((text, [t for t in counters if t in text]))
        name, v = self.name("s"), self.r.choice("vw")
        return ["var %s = 0.0f64;" % name, text.replace("HOLE", name), "%s = tanh(%s * 0.6 + %s);" % (v, v, name)]

    def row(self):
        """A loop of constant length over a row, which also reads what its other counters write."""
        c = self.name("c")
        to, of = (self.r.choice(("C", "C", "C + 1", "12 - C", "2u")).replace("C", c) for _ in "ab")
        return ["for %s in 0..12 { h[i, %s] = 0.4 * h[i, %s] + 0.3 * sin(h[i, %s]); }" % (c, to, to, of)]

    def statement(self, counters, depth):
        r, v = self.r, self.r.choice("vw")
        kind = r.random()
        if r.random() < 0.06:
            return self.row()
        if kind < 0.3:
            return self.construct(counters)
        if kind < 0.4:
            return ["%s = tanh(%s * 0.7 + %s);" % (v, v, self.place(counters))]
        if kind < 0.62:
            return ["%s = sin(%s);" % (self.stored(counters), self.value(counters))]
        if kind < 0.7:
            return ["%s += 0.3 * sin(%s);" % (self.stored(counters), self.value(counters))]
        if kind < 0.73:
            return ["local a;"]
        if depth > 2:
            return ["%s = sin(%s);" % (v, self.value(counters))]
        if kind < 0.8:
            return ["if %s {" % self.condition(counters)] + self.block(counters, depth + 1) + (
                ["} else {"] + self.block(counters, depth + 1) if r.random() < 0.4 else []) + ["}"]
        t = self.name("t")
        if kind < 0.94:
            inside = self.block(counters + [t], depth + 1)
            if r.random() < 0.2:
                leaves = r.choice(("%s > 0.95" % v, "%s == 1u" % t)), r.choice(("break", "continue"))
                inside.insert(r.choice((0, len(inside))), "if %s { %s; }" % leaves)
            return ["for %s in %s {" % (t, self.bounds(counters))] + inside + ["}"]
        return ["var %s = 0u;" % t, "while %s < %s {" % (t, r.choice(("M", "T", "T + 1")))] + self.block(
            counters + [t], depth + 1) + ["%s += 1;" % t, "}"]

    def block(self, counters, depth):
        out = []
        for _ in range(self.r.randrange(1, 5 if depth < 2 else 4)):
            out += self.statement(counters, depth)
        return out


class Program:
    """The interface that oracle.py expects of programs."""
    has_second = False

    def __init__(self, words):
        self.words = words

    def text(self, **_):
        return self.words


def make(seed):
    maker = Maker(seed)
    body = maker.block([], 0) + maker.block([], 0)
    sizes = "N=%d M=%d T=%d" % (maker.r.choice((1, 2, 3)), maker.r.choice((3, 3, 4)), maker.r.choice((0, 1, 2, 3)))
    return Program(
        "// set: %s\n// seed: %d\n"
        "program p(x: in f64[N], g: in f64[N, M], z: inout f64[N, M], h: inout f64[N, 13], y: out f64[N], N: u32, M: u32,"
        " T: u32) over(i: N)\n{\n"
        "    local a: f64[4];\n    var v = x[i];\n    var w = 0.2f64;\n    %s\n"
        "    y[i] = v + w * 0.5 + a[0] + a[2] + h[i, 3];\n}\n" % (sizes, seed, "\n    ".join(body)))
