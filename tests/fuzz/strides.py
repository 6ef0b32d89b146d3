# SPDX-License-Identifier: MIT
"""Random programs whose loops are controlled by integers that other loops compute: strides,
counters, and values derived from them.

What constants determine, the compiler follows iteration by iteration
(ir/pass/scalar/constant_trips.c, unrolling, trip counts): what holds in one iteration of an outer
loop does not hold in the next, and what holds in a loop does not hold after it.  make(seed) is a
program of f64.
"""
from rounds import Named, Program

# Initial value, condition, update: {} is the counter.  The loop also ends after some iterations
# whatever the condition.
STRIDES = (("0", "{} < 3", "{} += 1;"), ("0", "{} < 2", "{} += 1;"), ("1", "{} <= 4", "{} += 2;"), ("1", "{} < 9", "{} *= 2;"),
           ("8", "{} > 0", "{} /= 2;"), ("3", "{} != 0", "{} -= 1;"), ("6", "{} >= 1", "{} = {} * 2 / 5;"), ("2", "{} < 12", "{} = {} * {} + 1;"),
           ("n[i]", "{} > 0", "{} -= 1;"), ("0", "{} < T", "{} += 1;"), ("0", "{} < n[i]", "{} += 1;"), ("T", "{} < 4", "{} += 1;"))


class Maker(Named):
    def whole(self, ints, depth=2):
        """An integer of constants and what is in scope: small, and of either sign."""
        r = self.r
        if depth == 0 or r.random() < 0.3:
            return r.choice(ints[-3:] * 3 + ["T", "1", "2", "3"])
        a, b = self.whole(ints, depth - 1), self.whole(ints, depth - 1)
        return r.choice(("(%s + %s)", "(%s - %s)", "(%s * %s %% 5)", "min(%s, %s)", "max(%s, %s)", "(%s & %s)")) % (a, b)

    def condition(self, ints):
        r = self.r
        return "%s %s %s" % (self.whole(ints), r.choice(("==", "!=", "<", ">", "<=", "==")),
                             r.choice(("0", "1", "2", "3", "4", self.whole(ints, 1))))

    def place(self, ints):
        return self.r.choice(("z[i, %s & 3]", "z[i, %s & 3]", "a[%s & 3]")) % self.whole(ints, 1)

    def work(self, ints):
        r, v = self.r, self.r.choice("vw")
        return r.choice((
            lambda: "%s = tanh(%s * 0.7 + %s);" % (v, v, self.place(ints)),
            lambda: "%s = sin(%s) * 0.8 + x[i] * 0.1;" % (self.place(ints), v),
            lambda: "%s = 0.5;" % self.place(ints),
            lambda: "%s *= 0.7;" % self.place(ints),
            lambda: "%s = %s * 0.6 + sin(f64(%s)) * x[i];" % (v, v, self.whole(ints)),
            lambda: "if i32(i) < T { %s += 0.3 * x[u32(%s & 1) * u32(T) + i]; }" % (v, self.whole(ints, 1)),
            lambda: "%s = select(%s, %s, sin(%s));" % (v, self.condition(ints), v, v)))()

    def loop(self, ints, depth):
        """A counted loop of some form, perhaps with a further condition."""
        r, h = self.r, self.name("h")
        if r.random() < 0.25:
            low, high = self.whole(ints, 1), self.whole(ints, 1)
            head, step = "for %s in %s" % (h, r.choice(("i32(%s)..%s", "rev(i32(%s)..%s)", "i32(%s)..%s + 2")) % (low, high)), ""
            out = []
        else:
            start, test, step = (s.replace("{}", h) for s in r.choice(STRIDES))
            out = ["var %s = i32(%s);" % (h, start)]
            if r.random() < 0.5:
                test = r.choice(("%s && %s", "%s && (%s)", "(%s) && !(%s)")) % (test, self.condition(ints + [h] * r.randrange(2)))
            head = "while " + test
            if r.random() < 0.2:
                head, step = "while true", step + " if !(%s) { break; }" % test
        inside = self.block(ints + [h], depth + 1)
        first = r.random() < 0.5 or head == "while true" and step
        if r.random() < 0.15:
            inside.insert(r.randrange(len(inside) + 1), "if %s { break; }" % self.condition(ints + [h]))
        out += [head + " {"] + ([step] if first else []) + inside + ([] if first else [step]) + ["}"]
        if not head.startswith("for"):
            ints.append(h)
        return out

    def statement(self, ints, depth):
        r, kind = self.r, self.r.random()
        if kind < 0.3 and depth < 3:
            return self.loop(ints, depth)
        if kind < 0.42 and depth < 4:
            return ["if %s {" % self.condition(ints)] + self.block(list(ints), depth + 1) + (
                ["} else {"] + self.block(list(ints), depth + 1) if r.random() < 0.4 else []) + ["}"]
        if kind < 0.55:
            return ["m = %s;" % r.choice(("m * 3 %% 7", "m + 1", "%s", "m - 1", "(m + %s) %% 4")).replace("%s", self.whole(ints)).replace("%%", "%")]
        return [self.work(ints)]

    def block(self, ints, depth):
        ints = list(ints) if depth else ints
        out = []
        for _ in range(self.r.randrange(1, 4)):
            out += self.statement(ints, depth)
        return out


def make(seed):
    maker = Maker(seed)
    ints = ["m"]
    body = maker.loop(ints, 0) + maker.block(ints, 0) + maker.loop(ints, 0)
    return Program("// set: N=%d T=%d\n// seed: %d\nprogram p(x: in f64[N], n: in i32[N], z: inout f64[N, 4], y: out f64[N], N: u32, T: i32)"
                   " over(i: N)\n{\n    local a: f64[4];\n    var v = x[i];\n    var w = 0.2f64;\n    var m = 1;\n    %s\n"
                   "    y[i] = v + w * 0.5 + a[0] + a[2] + f64(m) * 0.1;\n}\n" % (
                       maker.r.choice((1, 2, 3)), maker.r.choice((0, 1, 2, 3)), seed, "\n    ".join(body)))
