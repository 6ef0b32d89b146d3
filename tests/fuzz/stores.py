# SPDX-License-Identifier: MIT
"""Small programs that store or add to elements, of which the compiler says that invocations meet there or do not.

make(seed) is (kind, text, text of the same program whose indices the compiler cannot see through, N, M…):
"sums" adds to an `out` buffer, which is accepted where each element is one invocation's own (E0304 otherwise);
"stores" are refused where two invocations surely meet (E0313).  What is accepted must not race, what is refused must.
"""
import random

SIZES = ((1, 1), (2, 1), (4, 3), (5, 4), (8, 5), (9, 2), (17, 4))


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rank = self.r.choice((1, 1, 2))
        self.kind = self.r.choice(("sums", "stores"))
        self.loops = []

    def small(self):
        return "%du" % self.r.choice((0, 1, 2, 3, 4, 5, 8))

    def variable(self):
        names = ["i"] * 3 + ["j"] * 2 * (self.rank - 1) + self.loops * 2
        return self.r.choice(names + (["lid.x", "wid.x", "gid.x", "lindex"] if self.kind == "stores" else []))

    def extent(self):
        return self.r.choice(("N", "M", "4u", "3u", "5u", "12u", "K"))

    def index(self, depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return self.variable() if r.random() < 0.85 else r.choice((self.small(), "M", "N"))
        a, b = self.index(depth - 1), self.index(depth - 1)
        forms = [lambda: "(%s + %s)" % (a, self.small()), lambda: "(%s * %s + %s)" % (a, self.extent(), b), lambda: "(%s * %s + %s)" % (a, self.extent(), self.small()),
                 lambda: "(%s + %s * %s)" % (b, self.extent(), a), lambda: "(%s + %s)" % (a, self.extent()), lambda: "(%s - 1u - %s)" % (r.choice("NM"), self.variable()),
                 lambda: "(%s * %s)" % (a, self.small()), lambda: "(%s + %s)" % (a, b), lambda: "u32(i32(%s) * 2 + 1)" % a, lambda: "u32(u64(%s) * 2u64)" % a]
        if self.kind == "stores":
            forms += [lambda: "(%s / %s)" % (a, r.choice(("2u", "4u", "8u"))), lambda: "(%s %% %s)" % (a, r.choice(("2u", "3u", "M"))), lambda: "(%s & %s)" % (a, r.choice(("2u", "~1u", "7u"))),
                      lambda: "min(%s, %s)" % (a, self.small()), lambda: "select(%s < %s, %s, %s)" % (a, self.small(), b, a), lambda: "(%s ^ 1u)" % a, lambda: "(%s >> 1u)" % a]
        return r.choice(forms)()

    def statement(self, depth=2):
        r = self.r
        pick = r.random() if depth else 1
        if pick < 0.2:
            name, end = "k%d" % len(self.loops), r.choice(("2u", "3u", "4u", "M", "K", "N"))
            self.loops.append(name)
            body = self.statement(depth - 1)
            self.loops.pop()
            return "for %s in %s { %s }" % (name, r.choice(("0u..%s", "rev(0u..%s)", "1u..%s")[:2 + (self.kind == "sums")]) % end, body)
        if pick < 0.5:
            test = r.choice(("%s == 0u" % self.variable(), "%s == 0u && M > 1u" % self.variable(), "%s < 3u" % self.variable(), "M > 2u", "K > 2u || %s == 1u" % self.variable()))
            other = " else { %s }" % self.statement(depth - 1) if r.random() < 0.3 else ""
            return "if %s { %s }%s" % (test, self.statement(depth - 1), other)
        if pick < 0.6:
            return self.statement(depth - 1) + " " + self.statement(depth - 1)
        return "y[%s + HIDDEN] %s 1.0;" % (self.index(), "+=" if self.kind == "sums" else "=")

    def text(self):
        body = " ".join(self.statement() for _ in range(self.r.choice((1, 1, 2, 3))))
        group = self.r.choice(("2", "4", "64")) if self.rank == 1 else self.r.choice(("4", "2, 2", "8, 2"))
        head = "program p(z: inout u32[1], y: %s f32[600], N: u32, M: u32, K: u32) workgroup(%s) over(%s) " % (
            "out" if self.kind == "sums" else "inout", group, "i: N" if self.rank == 1 else "i: N, j: M")
        return head + "{ " + body + " }\n"


def make(seed):
    """(kind, the program, the same with indices that are not seen through)"""
    maker = Maker(seed)
    text = maker.text()
    return maker.kind, text.replace(" + HIDDEN", ""), text.replace("HIDDEN", "z[0]")
