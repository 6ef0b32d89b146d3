# SPDX-License-Identifier: MIT
"""Random expressions: float ones are bounded and mostly smooth."""
from tree import E, INTS, Scope

# name → how to call it on any bounded float `{0}`
UNARY = {
    "sin": "sin({0})", "cos": "cos({0})", "tanh": "tanh({0})", "atan": "atan({0})",
    "asinh": "asinh({0})", "erf": "erf({0})", "erfc": "erfc({0})", "sigmoid": "sigmoid({0})",
    "softplus": "softplus(sin({0}))", "relu": "relu({0})", "abs": "abs({0})", "neg": "(-{0})",
    "sqrt": "sqrt(1.1 + {0} * {0})", "rsqrt": "rsqrt(1.2 + {0} * {0})", "exp": "exp(sin({0}))",
    "exp2": "exp2(cos({0}))", "expm1": "expm1(tanh({0}))", "log": "log(1.3 + {0} * {0})",
    "log2": "log2(1.4 + {0} * {0})", "log10": "log10(1.5 + {0} * {0})", "log1p": "log1p({0} * {0})",
    "tan": "tan(sin({0}))", "asin": "asin(sin({0}) * 0.8)", "acos": "acos(cos({0}) * 0.7)",
    "sinh": "sinh(tanh({0}))", "cosh": "cosh(sin({0}))", "acosh": "acosh(1.7 + {0} * {0})",
    "atanh": "atanh(tanh({0}) * 0.6)", "cbrt": "cbrt(1.6 + {0} * {0})",
    "recip": "recip(1.5 + {0} * {0})", "fract": "fract({0} * 0.4)", "floor": "floor({0})",
    "ceil": "ceil({0})", "round": "round({0})", "trunc": "trunc({0})", "sign": "sign({0})",
    "lgamma": "lgamma(1.9 + sin({0}))", "digamma": "digamma(1.8 + sin({0}))",
    "polygamma": "polygamma(1, 1.7 + tanh({0}))",
}
RARE = {"floor", "ceil", "round", "trunc", "sign", "lgamma", "digamma", "polygamma", "fract", "erfc"}
BINARY = {
    "div": "({0} / (1.5 + {1} * {1}))", "pow": "pow(1.2 + {0} * {0}, sin({1}))",
    "atan2": "atan2({0}, 1.3 + {1} * {1})", "hypot": "hypot({0}, 0.9 + {1} * {1})",
    "min": "min({0}, {1})", "max": "max({0}, {1})", "mod": "mod({0}, 1.4 + sin({1}) * 0.3)",
    "step": "step({0}, {1})", "soft": "({0} / sqrt(1 + {0} * {0} + {1} * {1}))",
    "smoothstep": "smoothstep(-1.3, 1.7, {0} + {1})",
    "fmod": "fmod({0} * 3.1, 1.4 + sin({1}) * 0.3)", "copysign": "copysign({0}, {1} - 0.2)",
    "ldexp": "ldexp(sin({0}), clamp(i32({1} * 2.3), -3, 1))",
}
SQUASH = ("tanh({0})", "sin({0})", "({0} / (1.5 + {0} * {0}))", "({0} / sqrt(1 + {0} * {0}))",
          "atan({0})", "(cos({0}) * 0.8)", "erf({0})", "(sigmoid({0}) * 1.4)")
# wrong where the condition does not hold: condition, value; {0} an expression of [-∞, ∞]
MASKED = (("{0} > 0.95", "sqrt({0} - 0.9)"), ("{0} > 0.9", "log({0} - 0.8)"),
          ("{0} < 0.7", "rsqrt(0.75 - {0})"), ("abs({0}) < 0.9", "asin({0})"),
          ("{0} > 1.1", "acosh({0})"), ("{0} >= 0.85", "pow({0} - 0.8, 1.5)"),
          ("abs({0} - 0.8) > 0.1", "(0.1 / ({0} - 0.8))"), ("abs({0}) < 0.85", "atanh({0})"))



REDUCTIONS = ("sum of", "prod of", "max of", "min of")


class Expressions:
    # ---- small things
    def chance(self, x):
        return self.r.random() < x

    def pick(self, weighted):
        """One of [(weight, value), …]."""
        at = self.r.random() * sum(w for w, _ in weighted)
        for w, v in weighted:
            at -= w
            if at < 0:
                return v
        return weighted[-1][1]

    def named(self, c, t, mutable=False):
        found = [v for v in c.vars if v[1] == t and (v[2] or not mutable)]
        if not found:
            return None
        if self.chance(0.5):
            found = found[-4:]
        return self.r.choice(found)[0]

    def lit(self, t):
        if t in INTS:
            v = self.r.choice((0, 1, 1, 2, 3, 4, 5, 7))
            return E(t, "literal", "%d%s" % (v, {"u32": "u"}.get(t, t)))
        if t == "bool":
            return E(t, "literal", self.r.choice(("true", "false")))
        v = "0.%02d" % self.r.randrange(5, 99) if self.chance(0.8) else "1.%d" % self.r.randrange(1, 7)
        return E(t, "literal", v + ("@S" if t == "@F" else "@G" if t == "@G" else t))

    # ---- integers
    def integer(self, c, t, d):
        r = self.r
        if d <= 0 or self.chance(0.3):
            name = self.named(c, t)
            kinds = [(3 if name else 0, "var"), (2, "lit"), (1.2, "load"), (1, "cast")]
            kind = self.pick(kinds)
            if kind == "var":
                return E(t, "variable", name)
            if kind == "load":
                b = [b for b in c.buffers if b.t == t and b.readable]
                if b:
                    return self.load(c, r.choice(b), d - 1)
            if kind == "cast" and d > -2:
                other = r.choice([x for x in INTS if x != t])
                return E(t, other + " to " + t, t + "({0})", self.integer(c, other, d - 2))
            return self.lit(t)
        a = lambda: self.integer(c, t, d - 1)
        kind = self.pick([(3, "+"), (2, "-"), (2, "*"), (2, "%"), (1, "/"), (1, "&"), (1, "|"),
                          (1, "^"), (0.6, "<<"), (0.6, ">>"), (0.5, "~"), (1, "min"), (1, "max"),
                          (1, "select"), (0.8, "?:"), (0.4, "popcount"), (0.3, "clz"), (0.3, "ctz"), (1.2, "of float"),
                          (0.5, "neg"), (0.4, "bitcast"), (0.4, "abs"), (0.4, "sign"), (0.4, "of bool"),
                          (0.3, "of second"), (0.3, "clamp"), (0.3, "reduce" if c.guard < 2 else "+")])
        if kind in ("min", "max"):
            return E(t, "integer " + kind, kind + "({0}, {1})", a(), a())
        if kind == "%":
            return E(t, "%", "({0} % {1})", a(), self.lit(t) if self.chance(0.7) else a())
        if kind in ("<<", ">>"):
            return E(t, kind, "({0} %s {1})" % kind, a(), E(t, "&", "({0} & %s)" % self.suffix(3, t),
                                                            a()))
        if kind == "~":
            return E(t, kind, "(~{0})", a())
        if kind == "neg":
            return E(t, "integer neg", "(-{0})", a())
        if kind in ("abs", "sign"):
            return E(t, "integer " + kind, kind + "({0})", a())
        if kind == "of bool":
            return E(t, "bool to " + t, t + "({0})", self.condition(c, 1))
        if kind == "of second":
            return E(t, "@G to " + t, t + "({0} * @G(1.7))", self.second(c, 0))
        if kind == "clamp":
            return E(t, "integer clamp", "clamp({0}, {1}, {2})", a(), self.lit(t), self.lit(t))
        if kind == "reduce":
            return self.reduce_integer(c, t, d)
        if kind == "select":
            return E(t, "integer select", "select({0}, {1}, {2})", self.condition(c, 1), a(), a())
        if kind == "?:":
            return E(t, "integer ?:", "({0} ? {1} : {2})", self.condition(c, 1), a(), a())
        if kind == "popcount" and t in ("u32", "i32"):
            return E(t, kind, "popcount({0})", a())
        if kind in ("clz", "ctz"):
            return E(t, kind, kind + "({0})", a())
        if kind == "of float":
            return E(t, "@F to " + t, t + "({0} * 2.3)", self.number(c, "@F", 1))
        if kind == "bitcast" and t in ("u32", "i32"):
            other = "i32" if t == "u32" else "u32"
            if self.chance(0.2):
                return E(t, "bitcast of float", "(bitcast_%s(f32({0})) >> 20u)" % t
                         if t == "u32" else "(bitcast_%s(f32({0})) / 65536)" % t, self.number(c, "@F", 1))
            return E(t, kind, "bitcast_%s({0})" % t, self.integer(c, other, d - 1))
        if kind not in "+-*/&|^":
            kind = "+"
        return E(t, "integer " + kind, "({0} %s {1})" % kind, a(), a())

    def suffix(self, n, t):
        return "%d%s" % (n, {"u32": "u"}.get(t, t))

    def index(self, c, extent):
        """An index along an axis; mostly in range."""
        n = self.p_extent(extent)
        loop = [v for v in c.vars if v[1] == "u32" and v[0][0] == "k"]
        k = "K" if extent == "K" else None
        var = self.r.choice(loop)[0] if loop else None
        kinds = [(2, "lit"), (1.5, "mod"), (0.5, "any"), (0.6, "at"), (0.3, "out"), (0.4, "i64")]
        if var:
            kinds += [(6, "k"), (1, "(k*1)%K"), (1.2, "rev"), (1, "next"), (0.7, "xor"), (0.8, "prev")]
        kind = self.pick(kinds)
        full = ("%s" % k) if k else "%du" % n
        v = E("u32", "variable", var) if var else None
        if kind == "k":
            return v
        if kind == "(k*1)%K":
            return E("u32", "index (k*1)%K", "({0} * 1u) %% %s" % full, v)
        if kind == "rev":
            return E("u32", "index K-1-k", "%s - 1u - {0}" % full, v)
        if kind == "next":
            return E("u32", "index (k+1)%K", "({0} + 1u) %% %s" % full, v)
        if kind == "xor":
            return E("u32", "index k^1", "{0} ^ 1u", v)
        if kind == "prev":  # out of range at 0
            return E("i32", "index k-1", "i32({0}) - 1", v)
        if kind == "mod":
            return E("u32", "index e%K", "{0} %% %s" % full, self.integer(c, "u32", 2))
        if kind == "any":
            return self.integer(c, self.r.choice(("i32", "u32", "u32", "i64")), 1)
        if kind == "i64":
            return E("i64", "index i64", "i64({0}) %% %di64" % n, self.integer(c, "u32", 1))
        if kind == "at":
            b = [b for b in c.buffers if b.name.startswith("at")]
            if b:
                return self.load(c, b[0], 0)
        if kind == "out":
            return E("i32", "index out of range", self.r.choice(("7", "-1", "i32(4)", "-3")))
        return E("u32", "literal", "%du" % self.r.randrange(n))

    def p_extent(self, extent):
        return int(self.p.sets.get(extent, 0) or (self.const_k if extent == "K" else extent))

    def indices(self, c, b):
        """Texts and expressions of an access to buffer b: its own row, or anywhere in `in`."""
        parts, exprs = [], []
        for prefix in b.prefix:
            if b.cls == "in" and self.chance(0.15):
                exprs.append(self.gather(c, prefix))
                parts.append("{%d}" % (len(exprs) - 1))
            else:
                parts.append(prefix)
        if b.extent is not None:
            exprs.append(self.index(c, b.extent))
            parts.append("{%d}" % (len(exprs) - 1))
        return ", ".join(parts), exprs

    def gather(self, c, prefix):
        ats = [b for b in c.buffers if b.name.startswith("at")]
        if ats and self.chance(0.5):
            return self.load(c, ats[0], 0)
        return self.r.choice((
            E("u32", "gather next", prefix + " + 1u"), E("i32", "gather previous", "i32(%s) - 1" % prefix),
            E("u32", "gather any", "{0}", self.integer(c, "u32", 1)), E("u32", "gather 0", "0u")))

    def load(self, c, b, d):
        text, exprs = self.indices(c, b)
        return E(b.t, "load " + b.cls, "%s[%s]" % (b.name, text), *exprs)

    # ---- conditions
    def condition(self, c, d):
        f = lambda: self.number(c, "@F", min(d, 1))
        kind = self.pick([(4, "float"), (3, "integer"), (1.2 * (d > 0), "&&"), (1.2 * (d > 0), "||"),
                          (0.6 * (d > 0), "!"), (0.8, "bool"), (0.3, "isnan"), (0.3, "isinf"),
                          (0.3, "lit"), (0.4 * (d > 0), "^"), (0.5, "even"), (0.3, "second"),
                          (0.4 * (d > 0), "bool =="), (0.3 * (d > 0), "bool &"), (0.5, "of integer"),
                          (0.5, "load"), (0.3 * (d > 0), "bool ?:"), (0.2, "of float")])
        if kind == "float":
            op = self.r.choice(("<", "<=", ">", ">=", "<", ">", "==", "!="))
            right = f() if self.chance(0.4) else E("@F", "literal", "%.3f@S" % self.r.uniform(0.2, 1.5))
            return E("bool", "float " + op, "({0} %s {1})" % op, f(), right)
        if kind == "integer":
            t = self.r.choice(("u32", "u32", "i32", "i64"))
            op = self.r.choice(("<", "<=", ">", ">=", "==", "!="))
            return E("bool", "integer " + op, "({0} %s {1})" % op, self.integer(c, t, 1), self.lit(t))
        if kind in ("&&", "||", "^"):
            return E("bool", kind, "({0} %s {1})" % kind, self.condition(c, d - 1),
                     self.condition(c, d - 1))
        if kind == "!":
            return E("bool", kind, "(!{0})", self.condition(c, d - 1))
        if kind == "second":
            op = self.r.choice(("<", "<=", ">", ">=", "==", "!="))
            return E("bool", "@G " + op, "({0} %s {1})" % op, self.second(c, 1), self.second(c, 0))
        if kind == "bool ==":
            op = self.r.choice(("==", "!="))
            return E("bool", "bool " + op, "({0} %s {1})" % op, self.condition(c, d - 1), self.condition(c, d - 1))
        if kind == "bool &":
            op = self.r.choice("&|")
            return E("bool", "bool " + op, "({0} %s {1})" % op, self.condition(c, d - 1), self.condition(c, d - 1))
        if kind == "bool ?:":
            form = self.r.choice(("select({0}, {1}, {2})", "({0} ? {1} : {2})"))
            return E("bool", "bool select" if form[0] == "s" else "bool ?:", form,
                     *[self.condition(c, d - 1) for _ in range(3)])
        if kind == "of integer":
            t = self.r.choice(INTS)
            return E("bool", t + " to bool", "bool({0} & %s)" % self.suffix(3, t), self.integer(c, t, 1))
        if kind == "of float":
            t = "@G" if self.p.has_second and self.chance(0.4) else "@F"
            return E("bool", t + " to bool", "bool(floor({0}))", self.number(c, t, 1))
        if kind == "load":
            b = [b for b in c.buffers if b.t == "bool" and b.readable]
            if b:
                return self.load(c, self.r.choice(b), 0)
        if kind in ("isnan", "isinf"):
            return E("bool", kind, kind + "({0})", f())
        if kind == "bool" and self.named(c, "bool"):
            return E("bool", "variable", self.named(c, "bool"))
        if kind == "lit":
            return self.lit("bool")
        return E("bool", "integer ==", "(({0} & 1u) == 0u)", self.integer(c, "u32", 1))

    # ---- floats
    def number(self, c, t, d):
        r = self.r
        if t == "@G":
            return self.second(c, d)
        wanted = self.force_value.pop() if self.force_value else None
        if not wanted and (d <= 0 or self.chance(0.12)):
            return self.float_leaf(c)
        d = max(d, 1)
        n = lambda k=1: self.number(c, "@F", d - k)
        kind = wanted or self.pick([
            (4, "*"), (4, "+"), (3, "-"), (6, "unary"), (4, "binary"), (1, "fma"), (1, "clamp"),
            (0.8, "mix"), (2, "select"), (2, "?:"), (1.4, "masked select"), (1, "masked ?:"),
            (0.6, "masked pick"),
            ((4 if c.guard else 2.2) if c.cost <= 24 and c.guard < 2 else 0, "reduce"), (2, "call"), (0.5, "of integer"),
            (1.2 if self.p.has_second else 0, "of second"), (0.3, "stop_grad"), (0.2, "bitcast"),
            (1, "tied"), (0.3, "len"), (0.2, "of bool"), (0.15, "kept"), (0.1, "straight")])
        if kind in ("+", "-", "*"):
            a, b = n(), n(r.choice((1, 2)))
            if kind == "*" and self.chance(0.5):
                b = E("@F", "sin", "sin({0})", b)
            if a.op == "literal" and not b.literal():  # literals adapt
                a = E(a.t, "literal", a.fmt.replace("@S", ""))
            return E("@F", kind, "({0} %s {1})" % kind, a, b)
        if kind == "unary":
            name = self.pick([(0.25 if k in RARE else 1, k) for k in UNARY])
            return E("@F", name, UNARY[name], n())
        if kind == "binary":
            name = self.pick([(0.3 if k in ("step", "mod", "fmod") else 1, k) for k in BINARY])
            return E("@F", name, BINARY[name], n(), n())
        if kind == "fma":
            return E("@F", kind, "fma({0}, sin({1}), {2})", n(), n(2), n())
        if kind == "clamp":
            return E("@F", kind, "clamp({0}, -0.6, 1.3)", n())
        if kind == "mix":
            return E("@F", kind, "mix({0}, {1}, sin({2}))", n(), n(), n(2))
        if kind == "select":
            return E("@F", kind, "select({0}, {1}, {2})", self.condition(c, 1), n(), n())
        if kind == "?:":
            return E("@F", kind, "({0} ? {1} : {2})", self.condition(c, 1), n(), n())
        if kind == "masked pick":  # where the first is NaN the second is taken
            return E("@F", kind, r.choice(("max(%s, 0.2)", "min(%s, 0.9)")) % r.choice(MASKED)[1], n(2))
        if kind.startswith("masked"):
            cond, value = r.choice(MASKED)
            form = "select(%s, %s, {1})" if kind == "masked select" else "(%s ? %s : {1})"
            return E("@F", kind, form % (cond, value), n(2), n())
        if kind == "reduce" or kind in REDUCTIONS:
            return self.reduce(c, d, kind.split()[0])
        if kind == "call":
            return self.call_value(c, d) or n()
        if kind == "of integer":
            i = r.choice(INTS)
            return E("@F", i + " to @F", "(@F({0} %% %s) * 0.3)" % self.suffix(5, i),
                     self.integer(c, i, 2))
        if kind == "of second":
            return E("@F", "@G to @F", "@F({0})", self.second(c, d - 1))
        if kind == "of bool":
            return E("@F", "bool to @F", "(@F({0}) * 0.4)", self.condition(c, 1))
        if kind == "kept":  # a constant to the derivative
            return E("@F", "stop_grad", "(stop_grad(round({0})) * 0.3)", n())
        if kind == "straight":  # its derivative is that of the value if both are the same
            return E("@F", "straight_through", "straight_through({0}, {0})", n())
        if kind == "stop_grad":
            return E("@F", kind, "stop_grad(floor({0}))", n())
        if kind == "bitcast":
            return E("@F", "bitcast_f32", "@F(bitcast_f32(1065353216u + ({0} & 4194303u)))",
                     self.integer(c, "u32", 1))
        if kind == "tied":
            e = n()
            return E("@F", "tied " + (m := r.choice(("min", "max"))), m + "({0}, {0})", e)
        if kind == "len":
            b = [b for b in c.buffers if b.cls in ("in", "inout", "out") and b.t == "@F"]
            if b:
                return E("@F", "len", "(@F(len(%s, 0)) * 0.1)" % r.choice(b).name)
        return n()

    def float_leaf(self, c):
        name = self.named(c, "@F")
        buffers = [b for b in c.buffers if b.t == "@F" and b.readable]
        kind = self.pick([(5 if name else 0, "var"), (4 if buffers else 0, "load"), (1, "lit"),
                          (0.2, "int")])
        if kind == "var":
            return E("@F", "variable", name)
        if kind == "load":
            own = [b for b in buffers if b.cls != "in"]
            return self.load(c, self.r.choice(own if own and self.chance(0.5) else buffers), 1)
        if kind == "int" and self.named(c, "u32"):
            return E("@F", "u32 to @F", "(@F({0} & 3u) * 0.3)",
                     E("u32", "variable", self.named(c, "u32")))
        return self.lit("@F")

    def second(self, c, d):
        b = [b for b in c.buffers if b.t == "@G" and b.readable]
        if self.named(c, "@G") and self.chance(0.3):
            return E("@G", "variable", self.named(c, "@G"))
        if b and (d <= 0 or self.chance(0.4)):
            return self.load(c, self.r.choice(b), d - 1)
        if d <= 0:
            return E("@G", "@F to @G", "@G({0})", self.float_leaf(c))
        n = lambda: self.second(c, d - 1)
        i = self.r.choice(INTS)
        return self.pick([(1, e) for e in (
            E("@G", "second *", "({0} * {1})", n(), n()), E("@G", "second sin", "sin({0})", n()),
            E("@G", "second +", "({0} + {1})", n(), n()), E("@G", "second tanh", "tanh({0})", n()),
            E("@G", "second max", "max({0}, {1})", n(), n()),
            E("@G", "@G select", "select({0}, {1}, {2})", self.condition(c, 1), n(), n()),
            E("@G", "@G ?:", "({0} ? {1} : {2})", self.condition(c, 1), n(), n()),
            E("@G", "@G unary", self.r.choice((
                "abs({0})", "min({0}, @G(0.9))", "sqrt(@G(1.1) + {0} * {0})", "exp(sin({0}))", "floor({0})",
                "({0} / (@G(1.5) + {0} * {0}))", "(-{0})", "sigmoid({0})")), n()),
            E("@G", i + " to @G", "(@G({0} %% %s) * @G(0.3))" % self.suffix(5, i), self.integer(c, i, 1)),
            E("@G", "bool to @G", "@G({0})", self.condition(c, 1)),
            E("@G", "@F to @G", "@G({0})", self.number(c, "@F", d - 1)))])

    def squash(self, e):
        return E("@F", "squash", self.r.choice(SQUASH), e)

    def reduce_integer(self, c, t, d):
        op, inner = self.r.choice(("sum", "prod", "max", "min")), Scope(c)
        name = inner.name("k")
        inner.vars.append((name, "u32", False))
        inner.guard, inner.cost = c.guard + 1, c.cost * 3
        e = E(t, "integer %s of" % op, "%s(%s in {0}..{1}: {2})" % (op, name), self.lit("u32"),
              E("u32", "literal", "%du" % self.r.randrange(1, 5)), self.integer(inner, t, d - 1))
        # an empty one is the largest or the least value
        return E(t, "%", "({0} %% %s)" % self.suffix(7, t), e) if op in ("max", "min") else e

    def reduce(self, c, d, op="reduce"):
        if op == "reduce":
            op = self.pick([(3, "sum"), (1.5, "prod"), (1.2, "max"), (1.2, "min")])
        inner = Scope(c)
        name = inner.name("k")
        later, self.force_value = self.force_value, []  # for the body, not the bounds
        low, high, trips, t = self.bounds(c)
        inner.vars.append((name, t, False))
        inner.cost, inner.guard = c.cost * max(trips, 1), c.guard + 1
        kids = [low, high]
        text = "%s(%s in {0}..{1}" % (op, name)
        if self.chance(0.2) and inner.cost <= 12:
            second = inner.name("k")
            low, high, trips, t = self.bounds(inner)
            kids += [low, high]
            text += ", %s in {2}..{3}" % second
            inner.vars.append((second, t, False))
            inner.cost *= max(trips, 1)
        self.force_value = later
        e = self.number(inner, "@F", d - 1)
        if op == "prod":
            e = E("@F", "squash", "(0.7 + sin({0}) * 0.4)", e)
        kids.append(e)
        fmt = text + ": {%d})" % (len(kids) - 1)
        if op in ("max", "min"):  # an empty one is infinite
            return E("@F", op + " of", "clamp(%s, -2.5, 2.7)" % fmt, *kids)
        return E("@F", op + " of", fmt, *kids)

    def call_value(self, c, d):
        f = [f for f in self.callable if len(f[2]) == 1 and f[4] is None and c.cost * f[3] <= 60]
        if not f or c.guard > 2:
            return None
        name, params, _, _, _ = self.r.choice(f)
        args = [self.argument(c, t, d - 1) for t in params]
        return E("@F", "call", "%s(%s)" % (name, ", ".join("{%d}" % k for k in range(len(args)))), *args)

    def argument(self, c, t, d):
        return self.number(c, t, d) if t == "@F" else self.condition(c, 1) if t == "bool" else \
            self.integer(c, t, 1)

    # ---- loops' bounds
    def bounds(self, c, loop=None):
        """(low, high, largest trip count, type).  loop: a kind of loop that needs a kind of bounds."""
        r, t = self.r, "u32"
        outer = [v for v in c.vars if v[1] == "u32" and v[0][0] == "k"]
        kind = self.pick([(4, "literal"), (5, "K"), (2 if outer else 0, "triangle"),
                          (1.5 if outer else 0, "rest"), (1, "scalar"), (self.wild, "data"),
                          (self.wild, "float"), (2.6, "signed"), (0.7, "i64"), (0.7, "empty"),
                          (self.wild, "variable")])
        if loop == "data loop":
            kind = r.choice(("data", "float", "variable"))
            if kind == "data" and not any(b.name.startswith("at") for b in c.buffers):
                kind = "float"
        elif loop == "triangular loop":
            kind = r.choice(("triangle", "rest"))
        elif loop:
            kind = r.choice(("signed", "i64")) if "signed" in loop else r.choice(("literal", "K"))
        lit = lambda n, t="u32": E(t, "literal", self.suffix(n, t))
        if kind == "K":
            return lit(r.choice((0, 0, 1)), t), E(t, "bound parameter", "K"), self.p_extent("K"), t
        if kind == "triangle":
            v = r.choice(outer)[0]
            return lit(0), E(t, "bound outer", r.choice(("%s", "%s + 1u")) % v), 5, t
        if kind == "rest":
            return E(t, "bound outer", r.choice(outer)[0]), lit(4), 4, t
        if kind == "scalar" and "m" in self.p.sets and c.returns is None:
            return lit(0), E(t, "bound scalar", "m"), 3, t
        if kind == "data":
            b = [b for b in c.buffers if b.name.startswith("at")]
            if b:
                at = self.load(c, b[0], 0)
                return lit(0), E(t, "bound data", "u32(clamp({0}, 0, 4))", at), 4, t
        if kind == "float":
            return lit(0), E(t, "bound float", "u32(clamp({0} * 2.3, 0, 4))", self.float_leaf(c)), 4, t
        if kind == "variable":
            return lit(0), E(t, "bound variable", "({0} % 4u)", self.integer(c, t, 1)), 4, t
        if kind == "signed":
            t = "i32"
            low = E(t, "literal", r.choice(("-2i32", "-1i32", "0i32")))
            if self.wild:
                low = E(t, "bound signed", "clamp({0}, -2, 1)", self.integer(c, t, 1))
            return low, lit(r.randrange(0, 3), t), 4, t
        if kind == "i64":
            return lit(0, "i64"), lit(r.randrange(1, 4), "i64"), 3, "i64"
        if kind == "empty":
            return lit(r.choice((2, 3))), lit(r.choice((0, 1, 2))), 0, t
        n = r.randrange(1, 5)
        return lit(r.choice((0, 0, 1))), lit(n), n, t
