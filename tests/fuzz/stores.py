# SPDX-License-Identifier: MIT
"""Small programs that store or add to elements about which the compiler must decide whether
different invocations access the same one.

make(seed) is (kind, text, text of the same program with indices that the compiler cannot analyse):
"sums" adds to an `out` buffer, which is accepted where each element belongs to one invocation
(E0304 otherwise); "stores" and "shared", to an array of the workgroup, are refused where two
invocations provably store to the same element (E0313).  What is accepted must not race, what is
refused must.  make_old(seed) uses the old values of atomics, which have a derivative where the
elements belong to one invocation each (E0502 otherwise): the gradient must be right.
make_rows(seed) stores, without a domain, what the invocations of a row compute together: one of the
stores has a derivative where they are proved to store one value (E0313 otherwise).
make_ordered(seed) adds floats by atomics, for --deterministic, which refuses (E0506) what depends on
the order of additions.
"""
import random

SIZES = ((1, 1), (2, 1), (4, 3), (5, 4), (8, 5), (9, 2), (17, 4))
PLACES = ["lid.x", "wid.x", "gid.x", "lindex", "lid.y"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rank = self.r.choice((1, 1, 2))
        self.kind = self.r.choice(("sums", "sums", "stores", "shared"))
        self.j = self.r.choice(("M", "M", "2", "3", "4"))
        self.loops = []  # (name, extent)
        self.two = self.kind != "shared" and self.rank == 2 and self.r.random() < 0.5  # axes of y

    def small(self):
        return "%du" % self.r.choice((0, 1, 1, 2, 3, 4, 5, 8))

    def variables(self):
        return ["i"] * 3 + ["j"] * 3 * (self.rank - 1) + [k for k, _ in self.loops] * 2

    def variable(self):
        return self.r.choice(self.variables() + PLACES * (self.kind != "sums"))

    def digit(self):
        """(from 0 to below, the extent)"""
        found = [("i", "N")] + [("j", self.j if self.j == "M" else self.j + "u")] * 2 * (self.rank - 1) + self.loops * 2
        found += [(self.small(), self.r.choice(("3u", "4u")))] * 2
        return self.r.choice(found)

    def digits(self):
        """high·extent + low; one in four is off."""
        r, (low, extent) = self.r, self.digit()
        if r.random() < 0.25:
            extent = r.choice(("N", "M", "2u", "3u", "4u", "K"))
        high = r.choice(self.variables() + [self.small()])
        if r.random() < 0.2:
            return "(%s + %s)" % (low, extent)
        product = r.choice(("%s * %s", "%s * %s", "(%s + 1u) * %s")) % (high, extent)
        if r.random() < 0.2 and extent[-1] == "u":
            product = "%s * %du + %s" % (r.choice(self.variables()), 3 * int(extent[:-1]), product)
        return "(%s + %s)" % tuple(r.sample((product, low), 2)) if r.random() < 0.85 else "(%s)" % product

    def index(self, depth=1):
        r = self.r
        pick = r.random()
        if pick < 0.3 or depth == 0:
            return self.variable() if r.random() < 0.9 else r.choice((self.small(), "M", "N"))
        if pick < 0.65 and self.kind == "sums":
            return self.digits()
        a, b = self.index(depth - 1), self.index(depth - 1)
        forms = [lambda: "(%s + %s)" % (a, self.small()), lambda: "(%s - 1u - %s)" % (r.choice("NM"), self.variable()), lambda: "(%s * %s)" % (a, self.small()),
                 lambda: "(%s + %s)" % (a, b), lambda: "(%s - %s)" % (a, b), lambda: "(%s * %s)" % (a, b), lambda: "u32(i32(%s) * 2 + 1)" % a, lambda: "u32(u64(%s) * 2u64)" % a]
        if self.kind != "sums":
            forms += [lambda: "(%s / %s)" % (a, r.choice(("2u", "4u", "8u"))), lambda: "(%s %% %s)" % (a, r.choice(("2u", "3u", "M"))), lambda: "(%s & %s)" % (a, r.choice(("2u", "~1u", "7u"))),
                      lambda: "min(%s, %s)" % (a, self.small()), lambda: "select(%s < %s, %s, %s)" % (a, self.small(), b, a), lambda: "(%s ^ 1u)" % a, lambda: "(%s >> 1u)" % a]
        return r.choice(forms)()

    def statement(self, depth=2):
        r = self.r
        pick = r.random() if depth else 1
        if pick < 0.3 and self.kind == "sums" or pick < 0.15:
            name, end = "k%d" % len(self.loops), r.choice(("2u", "3u", "4u", "M", "K", "N"))
            self.loops.append((name, end))
            body = self.statement(depth - 1)
            self.loops.pop()
            return "for %s in %s { %s }" % (name, r.choice(("0u..%s", "rev(0u..%s)", "1u..%s")[:2 + (self.kind == "sums")]) % end, body)
        if pick < 0.5:
            v = r.choice(("i", "j" if self.rank > 1 else "i", self.variable()))
            test = r.choice(("%s == 0u" % v, "%s == 0u" % v, "%s == 0u && M > 1u" % v, "%s < 3u" % v, "M > 2u", "K > 2u || %s == 1u" % v, "%s != 0u" % v))
            other = " else { %s }" % self.statement(depth - 1) if r.random() < 0.4 else ""
            return "if %s { %s }%s" % (test, self.statement(depth - 1), other)
        if pick < 0.6:
            return self.statement(depth - 1) + " " + self.statement(depth - 1)
        at = "%s + HIDDEN" % self.index() + (", %s + HIDDEN" % self.index() if self.two else "")
        return {"sums": "y[%s] += 1.0;", "shared": "t[%s] = f32(lindex);", "stores": "y[%s] = 1.0;"}[self.kind] % at

    def text(self):
        body = " ".join(self.statement() for _ in range(self.r.choice((1, 1, 2, 3))))
        group = self.r.choice(("2", "4", "64")) if self.rank == 1 else self.r.choice(("4", "2, 2", "8, 2"))
        head = "program p(z: inout u32[1], y: %s f32[%s], N: u32, M: u32, K: u32) workgroup(%s) over(%s) { " % (
            "inout" if self.kind == "stores" else "out", "30, 30" if self.two else "600", group, "i: N" if self.rank == 1 else "i: N, j: " + self.j)
        return head + "shared t: f32[600]; " * (self.kind == "shared") + body + " }\n"


def make(seed):
    """(kind, the program, the same with indices that the compiler cannot analyse)"""
    maker = Maker(seed)
    text = maker.text()
    return maker.kind, text.replace(" + HIDDEN", ""), text.replace("HIDDEN", "z[0]")


def make_old(seed):
    """A program that needs the old values of atomics."""
    maker = Maker(seed)
    maker.kind, r = "sums", maker.r
    extents = "N" if maker.rank == 1 else "N, " + maker.j
    own = "i" if maker.rank == 1 else "i, j"
    op, length = r.choice(("add", "add", "add", "max", "exchange")), r.choice(("N", "2 * N", "3 * N + 5", "N * M", "N + M", "600"))
    body = "let o = atomic_%s(z[%s], x[i] * 0.5); v += o * x[i];" % (op, maker.index())
    body += r.choice(("", "", " v += z[%s];", " let q = atomic_add(z[%s], x[i]); v += q * q;")).replace("%s", maker.index())
    if r.random() < 0.3:
        body = "if %s == %s { %s }" % (r.choice(own[-1:] + "i"), r.choice(("0u", "2u", "K")), body)
    return "program p(x: in f32[N], z: inout f32[%s], y: out f32[%s], N: u32, M: u32, K: u32) over(%s) { var v = x[i]; %s y[%s] = v; }\n" % (
        length, extents, "i: N" if maker.rank == 1 else "i: N, j: " + maker.j, body, own)


def make_ordered(seed):
    """(a program for --deterministic, whether it may be refused): sums of floats by atomics, and in
    some what depends on the order of additions: old values, other atomics on the same elements."""
    maker = Maker(seed)
    maker.kind, r = "sums", maker.r
    lines, odd, at = [], False, maker.index()
    for n in range(r.choice((1, 1, 2, 3))):
        at = at if r.random() < 0.6 else maker.index()
        value = r.choice(("x[i] * 0.7", "x[i] * x[i]", "sin(x[i]) * f32(i + 1)", "x[i] / 3.0"))
        way = r.choice(("add", "add", "add", "loop", "test", "old", "drop", "max", "min"))
        add = "atomic_add(z[%s], %s)" % (at, value)
        odd |= way in ("old", "max", "min")
        lines.append({"add": add + ";", "loop": "for k%d in 0u..%s { %s; }" % (n, r.choice(("2u", "M", "K")), add), "test": "if x[i] > 0.3 { %s; }" % add,
                      "old": "v += %s;" % add, "drop": "let o%d = %s; v += 0.0 * x[i];" % (n, add),
                      "max": "atomic_max(z[%s], %s);" % (at, value), "min": "atomic_min(z[%s], %s);" % (at, value)}[way])
    extents, own = ("N", "i") if maker.rank == 1 else ("N, " + maker.j, "i, j")
    text = "program p(x: in f32[N], z: inout f32[%s], y: out f32[%s], N: u32, M: u32, K: u32) over(%s) { var v = x[i]; %s y[%s] = v; }\n" % (
        r.choice(("N", "3", "M", "600")), extents, "i: N" if maker.rank == 1 else "i: N, j: " + maker.j, " ".join(lines), own)
    return text, odd


class Rows:
    """Values of lanes, most of them one value in a row of the workgroup, in a column, or in all of it."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.w, self.h = self.r.choice(((4, 2), (2, 4), (4, 1), (3, 2), (1, 4)))
        self.along = self.r.choice(("lid.y", "lid.x", ""))  # what values depend on
        self.groups = self.r.random() < 0.7  # do they depend on the workgroup?

    def odd(self):
        return self.r.random() < 0.04

    def load(self, loop):
        """An element of the tile s, or of x."""
        r, along = self.r, self.along if not self.odd() else self.r.choice(("lid.y", "lid.x", "lid.x + lid.y"))
        column, row = str(r.randrange(self.w)), str(r.randrange(self.h))
        if loop and r.random() < 0.6:
            return "s[%s, k]" % ("lid.y" if "lid.y" in along else row)
        pool = ["s[%s, %s]" % (row, column), "x[%d]" % r.randrange(9)]
        pool += ["s[lid.y, %s]" % column, "x[lid.y + 1]"] * ("lid.y" in along) + ["s[%s, lid.x]" % row, "x[lid.x]"] * ("lid.x" in along)
        pool += ["x[wid.x + 2 * wid.y]"] * (self.groups or self.odd())
        return r.choice(pool)

    def condition(self, loop):
        r = self.r
        pool = ["%s > 0.0" % self.load(loop), "x[3] > 0.2", "%s < 0.5" % self.load(loop)]
        return r.choice(pool + ["lid.y > 0"] * (self.along == "lid.y") + ["lid.x < 2"] * (self.along == "lid.x" or self.odd()) + ["wid.x == 0"] * self.groups)

    def statement(self, depth=2, loop=False):
        r = self.r
        kind = r.choice(("value", "value", "value", "array", "take", "loop", "if", "share") if depth else ("value", "array", "take"))
        if kind == "value":
            return r.choice(("v += %s;", "v = v * 0.5 + %s;", "v = sin(v + %s);", "v *= %s;")) % self.load(loop)
        if kind == "array":
            return "a[%s] = %s;" % ("k % 2" if loop and r.random() < 0.5 else r.choice(("0", "1", "n")), r.choice(("v", self.load(loop))))
        if kind == "take":
            return "v += a[%s];" % r.choice(("0", "1", "n"))
        if kind == "if":
            return "if %s { %s }" % (self.condition(loop), self.statement(0, loop))
        if kind == "loop" and not loop:
            return "for k in %s..%d { %s }" % (r.choice(("0", "0", "0", self.along or "n", "lid.x" if self.odd() else "0")), self.w, self.statement(depth - 1, True))
        if loop or depth < 2:
            return self.statement(0, loop)
        at = self.along if self.along and r.random() < 0.6 else "n"  # through shared memory; some without a barrier
        return "t[%s] = v; %s v += t[%s]; barrier();" % (at, "" if self.odd() else "barrier();", at if r.random() < 0.7 else "1")

    def text(self):
        r = self.r
        body = [self.statement() for _ in range(r.choice((1, 2, 3)))]
        at = {"lid.y": "%s", "lid.x": "%s", "": "0"}[self.along].replace("%s", self.along or "0")
        if self.groups:
            at = "(wid.y * 2 + wid.x) * 4 + " + at
        store = "y[%s] = v;" % at if r.random() < 0.7 else "for k in 0..2 { y[(%s) * 2 + k] = a[k] + v; }" % at
        if r.random() < 0.4:
            store = "if %s { %s }" % (self.condition(False), store)
        return ("program p(x: in f32[64], y: inout f32[64], n: u32) workgroup(%d, %d) { shared s: f32[%d, %d]; shared t: f32[4]; local a: f32[2]; s[lid.y, lid.x] = x[%s]; "
                "a[0] = 0.0; a[1] = x[1]; if lindex < 4 { t[lindex] = 0.5; } barrier(); var v = %s; %s %s }\n" % (
                    self.w, self.h, self.h, self.w, "gid.x * 8 + gid.y" if self.groups else "lid.x * 8 + lid.y", self.load(False), " ".join(body), store))


def make_rows(seed):
    return Rows(seed).text()
