# SPDX-License-Identifier: MIT
"""Random programs of layers: local rows that loops fill at their own counter, and work on in inner loops.

ir/pass/scalar/row_copies.c gives a row an array of its own while a loop only works on it at inner
counters and constants, and back what was stored; ir/pass/scalar/equal_carries.c carries one of the
variables that are always equal.  Some loops also name an element by their own counter or by data,
some are left early, work on a part of the row, backwards or in steps, store under conditions or not
at all, run a few times or none; some rows have two axes.  make(seed) is a program of f64.
"""
from rounds import Named, Program

E = 9  # too many iterations for loops to be unrolled at -O2


class Maker(Named):
    def row(self):
        return self.r.choice("abc")

    def outer(self):
        return self.r.choice(("0..%d" % E,) * 5 + ("rev(0..%d)" % E,) * 2 + ("0..T", "0..T + 4", "1..%d" % E, "0..2", "0..%d step 2" % E))

    def inner(self):
        return self.r.choice(("0..%d" % E,) * 6 + ("rev(0..%d)" % E,) * 2 + ("1..%d" % E, "0..%d step 2" % E, "0..2", "0..%d" % (E - 1)))

    def work(self, o, to):
        """What an inner loop does; o: the counter around."""
        r, k, a, b = self.r, self.name("k"), self.row(), self.row()
        w = "w[%s %% %d, %s]" % (o, E, k)
        body = r.choice((
            "s += %s * %s[%s];" % (w, a, k), "s += %s * %s[%s];" % (w, a, k), "%s[%s] += v * %s;" % (a, k, w), "%s[%s] += v * %s;" % (a, k, w),
            "%s[%s] = sin(%s[%s] + %s);" % (a, k, b, k, w), "s = max(s, %s[%s] * %s);" % (a, k, w), "s += m[1, %s] * %s[%s];" % (k, a, k),
            "m[%d, %s] += v * %s;" % (r.randrange(2), k, w), "if %s > 0.2 { %s[%s] = v; }" % (w, a, k), "s += %s[%s] * %s[0];" % (a, k, b)))
        if r.random() < 0.12:
            body += " " + r.choice(("s += %s[%s %% %d] * 0.1;" % (to, o, E), "%s[2] = s;" % a, "if s > 3.0 { s = 0.5; }", "m[0, 3] = v;"))
        return "for %s in %s { %s }" % (k, self.inner(), body)

    def layer(self):
        r, o, to = self.r, self.name("o"), self.row()
        at = "%s %% %d" % (o, E)
        out = ["var s = %s;" % r.choice(("0.0f64", "x[i, %s]" % at, "0.1 * f64(%s)" % o)),
               "let v = %s;" % r.choice(("%s[%s]" % (to, at), "x[i, %s]" % at, "tanh(%s[%s] * z)" % (to, at), "m[1, %s]" % at))]
        out += [self.work(o, to) for _ in range(r.choice((1, 1, 1, 2)))]
        out.append(r.choice(("%s[%s] = tanh(s);" % (to, at),) * 3 + (
            "y[i, %s] += s;" % at, "%s[%s] += 0.2 * s;" % (to, at), "u += s;", "m[0, %s] = s * 0.3;" % at, "if x[i, %s] > 0.0 { %s[%s] = s; }" % (at, to, at),
            "atomic_add(g[%s], s * %s[1]);" % (at, to))))
        if r.random() < 0.12:
            out.insert(r.randrange(2, len(out) + 1), "if s > %s { break; }" % r.choice(("0.4", "1.5")))
        return ["for %s in %s {" % (o, self.outer())] + ["    " + line for line in out] + ["}"]

    def equals(self):
        """Variables that are equal, or nearly so."""
        r, o, n = self.r, self.name("o"), self.name("q")
        first = r.choice(("0u", "1u", "u32(x[i, 0] > 0.0)"))
        step = r.choice(("{v} |= u32(a[{o} % 6] > 0.1);", "{v} = {v} * 3 + {o};", "{v} = {v} + u32(z > 0.3) * 2;"))
        names = [n + letter for letter in "abc"]
        body = [step.replace("{v}", name).replace("{o}", o) for name in names]
        begin = [first] * 3
        if r.random() < 0.5:
            k = r.randrange(3)
            if r.random() < 0.5:
                begin[k] = "2u"
            else:
                body[k] = body[k].replace("0.1", "0.2").replace("* 3", "* 5").replace("* 2", "* 4")
        return ["var %s = %s;" % pair for pair in zip(names, begin)] + ["for %s in 0..T + 3 {" % o] + ["    " + line for line in body] + [
            "}", "u += %s;" % " + ".join("f64(%s %% 7) * x[i, %d]" % (name, k) for k, name in enumerate(names))]

    def item(self, depth):
        r, kind = self.r, self.r.random()
        if kind < 0.62:
            return self.layer()
        if kind < 0.72:
            return self.equals()
        if kind < 0.8 and depth:
            t = self.name("t")
            return ["for %s in 0..%s {" % (t, r.choice("T23"))] + ["    " + line for line in self.item(depth - 1) + self.item(depth - 1)] + ["}"]
        k, a, b = self.name("k"), self.row(), self.row()
        return [r.choice(("for %s in 0..%d { %s[%s] = x[i, %s]; }" % (k, E, a, k, k), "%s[u32(x[i, 1] * x[i, 1] * 3.0) %% %d] = u;" % (a, E),
                          "u = tanh(u + %s[3]) + %s[u32(x[i, 0] * x[i, 0] * 2.0) %% %d];" % (a, b, E), "%s[1] = %s[4] * u;" % (a, b),
                          "for %s in 0..%d { m[1, %s] = %s[%s]; }" % (k, E, k, a, k)))]


def make(seed):
    maker = Maker(seed)
    body = ["for k in 0..%d { a[k] = x[i, k]; b[k] = 0.3 * x[i, k]; c[k] = z; m[1, k] = x[i, k] * z; }" % E]
    for _ in range(maker.r.randrange(2, 6)):
        body += maker.item(1)
    body.append("for k in 0..%d { y[i, k] += a[k] + b[k] * c[k] + m[0, k] * m[1, k] + u; }" % E)
    return Program("// set: N=3 T=%d\n// seed: %d\nprogram p(x: in f64[N, %d], w: in f64[%d, %d], zs: in f64[N], g: inout f64[%d], y: inout f64[N, %d],\n"
                   "          N: u32, T: u32) over(i: N)\n{\n    let z = zs[i];\n    var u = 0.1f64;\n    local a: f64[%d];\n    local b: f64[%d];\n"
                   "    local c: f64[%d];\n    local m: f64[2, %d];\n    %s\n}\n" % (
                       maker.r.choice((0, 1, 3, 5)), seed, E, E, E, E, E, E, E, E, E, "\n    ".join(body)))
