# SPDX-License-Identifier: MIT
"""Random loops with computed bounds: minima, maxima, clamps and choices of data, scalars and
constants, counted up or down, by `for`, `while`, `do` and `break`, nested.

What a driver infers about a trip count decides how it unrolls the loop
(spirv/target/mesa_loops.c), so these programs compare a device with the interpreter: make(seed) is
one program of eight loops, each with a row of the output y.
"""
from rounds import Named

# Of small numbers, so that every loop ends after some dozen iterations: n is from -5 to 9, s is -2,
# u from 0 to 9, x from -3 to 4.
LEAVES = {"i32": ("n[i]", "s", "i32(x[i] * 2.0)", "i32(i) - 3", "i32(u[i])"), "u32": ("u[i]", "m", "i % 7u", "u32(max(n[i], 0))"),
          "f32": ("x[i]", "w", "f32(n[i])", "x[i] * 2.0 - 1.0")}
LOOPS = 8


class Maker(Named):
    def constant(self, t, low=-3, high=4):
        c = self.r.randrange(max(low, 0) if t == "u32" else low, high + 1)
        return {"i32": "%di32" % c, "u32": "%du" % c, "f32": "%.1f" % c}[t]

    def bound(self, t, depth=2):
        r, c = self.r, self.constant(t)
        if depth == 0 or r.random() < 0.15:
            return r.choice(LEAVES[t])
        e = self.bound(t, depth - 1)
        return r.choice((
            lambda: "min(%s, %s)" % (e, c), lambda: "min(%s, %s)" % (e, c), lambda: "min(%s, %s)" % (c, e), lambda: "max(%s, %s)" % (e, c), lambda: "select(%s < %s, %s, %s)" % (e, c, e, c),
            lambda: "select(%s > %s, %s, %s)" % (e, c, e, c), lambda: "clamp(%s, %s, %s)" % (e, self.constant(t, -3, 0), self.constant(t, 1, 4)),
            lambda: "min(%s, %s)" % (e, r.choice(LEAVES[t])), lambda: "(%s + %s)" % (e, self.constant(t, 0, 3))))()

    def ends(self, t):
        """(statement before, name or text): a bound, inline or in a variable."""
        e = self.bound(t)
        if self.r.random() < 0.6:
            return "", e
        b, c = self.name("b"), self.constant(t)
        return self.r.choice(("let %s = %s; " % (b, e), "var %s = %s; if %s < %s { %s = %s; } " % (b, c, e, c, b, e))), b

    def loop(self, depth=1):
        r, t = self.r, self.r.choice(("i32", "i32", "i32", "u32", "f32"))
        k, (before, end) = self.name("k"), self.ends(t)
        body = self.body(k, t, depth)
        kind = r.choice(("for", "rev", "rev", "rev", "up", "down", "down", "break up", "break down"))
        if kind == "rev" and t == "i32" and r.random() < 0.4:  # bounded by the constant
            c = r.randrange(-2, 4)
            near = r.choice(("min(%s, %di32)", "clamp(%s, -3i32, %di32)")) % (self.bound(t, 1), c)
            return "for %s in rev(%s..%di32) { %s }" % (k, near, c + r.randrange(1, 4), body)
        if kind in ("for", "rev") and t != "f32":
            low, high = r.choice(((end, self.constant(t, 2, 9)), (end, self.constant(t, 5, 9)), (self.constant(t), end), (end, end + " + " + self.constant(t, 0, 5))))
            step = r.choice(("", "", "", "", " step " + self.constant(t, 1, 3)))
            return "%sfor %s in %s%s { %s }" % (before, k, ("rev(%s..%s)" if kind == "rev" else "%s..%s") % (low, high), step, body)
        up = "up" in kind or kind == "for"
        start, one = self.constant(t, -5, 0) if up else self.constant(t, 3, 9), "1u" if t == "u32" else self.constant(t, 1, 2)
        on, other = (r.choice(("<", "<=")), ">") if up else (">" if t == "u32" else r.choice((">", ">=")), "<")
        test = r.choice(("%s %s %s" % (k, on, end), "%s %s %s" % (end, on.replace("<" if up else ">", other), k)))
        if t != "f32" and up and r.random() < 0.3:  # tested in the other sign, or until it is reached
            one = self.constant(t, 1, 1)
            test = r.choice(("%s != %s" % (k, self.constant(t, 0, 9)), "%s(%s) < %s(max(%s, %s))" % (("u32", k, "u32", end, self.constant(t, 0, 0)) if t == "i32" else ("i32", k, "i32", end, "0u"))))
        move = "%s %s= %s;" % (k, "+" if up else "-", one)
        head = "%svar %s = %s; " % (before, k, start)
        if "break" in kind:
            return head + r.choice(("while true { if !(%s) { break; } %s %s }" % (test, body, move), "while true { %s if !(%s) { break; } %s }" % (body, test, move),
                                    "for q%s in 0u..40u { %s if !(%s) { break; } %s }" % (k, body, test, move)))
        if r.random() < 0.3:
            test = r.choice(("{} && a < 40.0", "h % 97u != 5u && {}", "{} && x[i] < 3.5", "!(!({}) || u[i] > 8u)")).format(test)
        after = r.choice(("", " h = h * 5u + %s;" % {"i32": "u32(%s)", "u32": "%s", "f32": "u32(%s + 99.0)"}[t] % k))
        if r.random() < 0.2 and "!=" not in test.replace("% 97u !=", ""):  # the first one is not tested
            return "%sdo { %s } while %s;%s" % (head, body + " " + move if r.random() < 0.8 else move + " " + body, test, after)
        if r.random() < 0.2:  # an arm of its own goes on
            move = "if h %% 3u == 1u { %s continue; } h += 1u; %s" % (move, move)
        return "%swhile %s { %s %s }%s" % (head, test, body, r.choice((move, move + " h += 1u;")), after)

    def body(self, k, t, depth):
        r = self.r
        if r.random() < 0.35:  # drivers unroll short ones
            return r.choice(("a = a * 2.0 + 1.0;", "a = a * 0.5 + x[i];", "if x[i] > 0.5 { a *= 2.0; } else { a -= 0.5; }", "a = sum(z in 1u..m: a);",
                             "{ var t = 0.0; for z in 1u..m { t += a; } a = t + 1.0; }"))
        number = {"i32": "u32(%s + 9i32)", "u32": "%s", "f32": "u32((%s + 9.0) * 4.0)"}[t] % k
        parts = ["h = h * 3u + %s;" % number]
        parts += r.sample(("a = a * 0.5 + x[i];", "a = x[i] - a;", "if x[i] > 0.5 { a += 1.0; } else { a -= 0.5; }", "v[(%s) %% 4u] += 1.0; a += v[i %% 4u] * 0.125;" % number,
                           "a = x[(%s) %% N];" % number, "if (%s) %% 3u == 1u { continue_here }" % number,
                           "if h % 13u == 4u { break; }", "if x[(%s) %% N] > a + 2.0 { break; }" % number), r.randrange(0, 3))
        if depth and r.random() < 0.45:
            parts.insert(r.randrange(len(parts) + 1), r.choice((self.loop(depth - 1), "a = sum(z in 0u..m: a * 0.25 + f32(z));")))
        return " ".join(parts).replace("continue_here", "h += 7u;")

    def make(self):
        loops = ["{ var a = 0.5; var h = 1u; local v: f32[4]; %s y[%d, i] = a; hash[%d, i] = h; }" % (self.loop(), n, n) for n in range(LOOPS)]
        return ("program p(x: in f32[N], n: in i32[N], u: in u32[N], y: out f32[%d, N], hash: out u32[%d, N], N: u32, m: u32, s: i32, w: f32) "
                "over(i: N)\n{\n    %s\n}\n" % (LOOPS, LOOPS, "\n    ".join(loops)))


def make(seed):
    return Maker(seed).make()
