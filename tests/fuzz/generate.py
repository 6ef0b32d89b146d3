#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes valid Vyre programs from a seed, for tests/fuzz/oracle.py.

  generate.py SEED             prints one program
  generate.py --coverage N     counts operations, constructs and pairs of nested constructs in N
                               programs; exit 1 names what never occurred

Every program is deterministic and free of races: an invocation owns its rows of `out` and `inout`
buffers, atomics only add, and what is read from an `out` buffer was written before.  Float
expressions are bounded (arguments of sqrt, log, … are kept in their domains) and mostly smooth.

A program is a tree, which the shrinker edits: `E` an expression, `S` a statement with blocks of
statements, `Program` the whole.  In its text @F is the main float type (f32; f64 for comparison with
finite differences), @G a second one (f16 or f64), @S the suffix of float literals.
"""
import collections
import random
import re
import sys

INTS = ("u32", "i32", "i64", "u64")


class E:
    __slots__ = ("t", "op", "fmt", "kids")

    def __init__(self, t, op, fmt, *kids):
        self.t, self.op, self.fmt, self.kids = t, op, fmt, list(kids)

    def text(self):
        return self.fmt.format(*[k.text() for k in self.kids]) if self.kids else self.fmt

    def literal(self):
        return self.op == "literal" or bool(self.kids) and all(k.literal() for k in self.kids)


class S:
    """`heads[0] {block 0} heads[1] {block 1} …`, or a simple statement without blocks."""
    __slots__ = ("kind", "heads", "exprs", "blocks")

    def __init__(self, kind, heads, exprs=(), blocks=()):
        self.kind, self.exprs, self.blocks = kind, list(exprs), list(blocks)
        self.heads = [heads] if isinstance(heads, str) else list(heads)

    def lines(self, indent, out):
        words = [e.text() for e in self.exprs]
        heads = [h.format(*words) if words else h for h in self.heads]
        if not self.blocks:
            out.append(indent + heads[0])
            return
        for n, (head, block) in enumerate(zip(heads, self.blocks)):
            out.append("%s%s%s {" % (indent, "} " if n else "", head) if head else indent + "{")
            for s in block:
                s.lines(indent + "    ", out)
        out.append(indent + "}")


class Program:
    def __init__(self):
        self.params, self.functions, self.consts = [], [], []
        self.domain, self.workgroup = "", ""
        self.body, self.sets, self.data = [], {}, {}
        self.of, self.wrt = [], []
        self.second = "f64"

    def text(self, double=False, tolerance=None):
        out = []
        if self.sets:
            out.append("// set: " + " ".join("%s=%s" % i for i in self.sets.items()))
        if self.data:
            out.append("// data: " + " ".join("%s=%s" % (n, ",".join(map(str, v)))
                                              for n, v in self.data.items()))
        if self.of:
            out.append("// of: " + ",".join(self.of))
        if self.wrt:
            out.append("// wrt: " + ",".join(self.wrt))
        if tolerance:
            out.append("// tolerance: %g" % tolerance)
        out += self.consts
        for f in self.functions:
            f.lines("", out)
        out.append("program p(%s)%s over(%s)" % (", ".join(self.params), self.workgroup, self.domain))
        out.append("{")
        for s in self.body:
            s.lines("    ", out)
        out.append("}")
        main, second = ("f64", "f64") if double else ("f32", self.second)
        return "\n".join(out).replace("@F", main).replace("@G", second).replace("@S", main) + "\n"

    def trees(self):
        return self.functions + self.body


class Buffer:
    def __init__(self, name, t, cls, prefix, extent, readable, writable):
        self.name, self.t, self.cls = name, t, cls
        self.prefix = prefix  # indices of the row this invocation owns, or []
        self.extent = extent  # text of the last axis' extent, or None: the prefix is all
        self.readable, self.writable = readable, writable


class Scope:
    """What is visible at a place."""

    def __init__(self, parent=None):
        self.vars = list(parent.vars) if parent else []  # (name, type, mutable)
        self.buffers = list(parent.buffers) if parent else []
        self.next = parent.next if parent else 0
        self.cost = parent.cost if parent else 1      # how often the place runs, at most
        self.loops = parent.loops if parent else 0
        self.depth = parent.depth + 1 if parent else 0
        self.returns = parent.returns if parent else None  # None: program; else list of types
        self.guard = parent.guard if parent else 0    # inside reductions: no calls with loops

    def name(self, stem="v"):
        self.next += 1
        return "%s%d" % (stem, self.next)


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
}
SQUASH = ("tanh({0})", "sin({0})", "({0} / (1.5 + {0} * {0}))", "({0} / sqrt(1 + {0} * {0}))",
          "atan({0})", "(cos({0}) * 0.8)", "erf({0})", "(sigmoid({0}) * 1.4)")
# wrong where the condition does not hold: condition, value; {0} an expression of [-∞, ∞]
MASKED = (("{0} > 0.95", "sqrt({0} - 0.9)"), ("{0} > 0.9", "log({0} - 0.8)"),
          ("{0} < 0.7", "rsqrt(0.75 - {0})"), ("abs({0}) < 0.9", "asin({0})"),
          ("{0} > 1.1", "acosh({0})"), ("{0} >= 0.85", "pow({0} - 0.8, 1.5)"),
          ("abs({0} - 0.8) > 0.1", "(0.1 / ({0} - 0.8))"), ("abs({0}) < 0.85", "atanh({0})"))


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.p = Program()
        self.callable = []  # (name, parameter types, result types, cost, buffer class or None)
        self.budget = 0

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
                return E(t, "convert integer", t + "({0})", self.integer(c, other, d - 2))
            return self.lit(t)
        a = lambda: self.integer(c, t, d - 1)
        kind = self.pick([(3, "+"), (2, "-"), (2, "*"), (2, "%"), (1, "/"), (1, "&"), (1, "|"),
                          (1, "^"), (0.6, "<<"), (0.6, ">>"), (0.5, "~"), (1, "min"), (1, "max"),
                          (1, "select"), (0.8, "?:"), (0.4, "popcount"), (1.2, "of float"),
                          (0.5, "neg"), (0.4, "bitcast"), (0.4, "abs")])
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
        if kind == "abs" and t[0] == "i":
            return E(t, "integer abs", "abs({0})", a())
        if kind == "select":
            return E(t, "integer select", "select({0}, {1}, {2})", self.condition(c, 1), a(), a())
        if kind == "?:":
            return E(t, "integer ?:", "({0} ? {1} : {2})", self.condition(c, 1), a(), a())
        if kind == "popcount" and t in ("u32", "i32"):
            return E(t, kind, "popcount({0})", a())
        if kind == "of float":
            return E(t, "float to integer", t + "({0} * 2.3)", self.number(c, "@F", 1))
        if kind == "bitcast" and t in ("u32", "i32"):
            other = "i32" if t == "u32" else "u32"
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
                          (0.3, "lit"), (0.4 * (d > 0), "^"), (0.5, "even")])
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
        if d <= 0 or self.chance(0.12):
            return self.float_leaf(c)
        n = lambda k=1: self.number(c, "@F", d - k)
        kind = self.pick([
            (4, "*"), (4, "+"), (3, "-"), (6, "unary"), (4, "binary"), (1, "fma"), (1, "clamp"),
            (0.8, "mix"), (2, "select"), (2, "?:"), (1.4, "masked select"), (1, "masked ?:"),
            ((4 if c.guard else 2.2) if c.cost <= 24 and c.guard < 2 else 0, "reduce"), (2, "call"), (0.5, "of integer"),
            (1.2 if self.p.has_second else 0, "of second"), (0.3, "stop_grad"), (0.2, "bitcast"),
            (1, "tied"), (0.3, "len")])
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
            name = self.pick([(0.3 if k in ("step", "mod") else 1, k) for k in BINARY])
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
        if kind.startswith("masked"):
            cond, value = r.choice(MASKED)
            form = "select(%s, %s, {1})" if kind == "masked select" else "(%s ? %s : {1})"
            return E("@F", kind, form % (cond, value), n(2), n())
        if kind == "reduce":
            return self.reduce(c, d)
        if kind == "call":
            return self.call_value(c, d) or n()
        if kind == "of integer":
            i = r.choice(INTS)
            return E("@F", "integer to float", "(@F({0} %% %s) * 0.3)" % self.suffix(5, i),
                     self.integer(c, i, 2))
        if kind == "of second":
            return E("@F", "float to float", "@F({0})", self.second(c, d - 1))
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
            return E("@F", "integer to float", "(@F({0} & 3u) * 0.3)",
                     E("u32", "variable", self.named(c, "u32")))
        return self.lit("@F")

    def second(self, c, d):
        b = [b for b in c.buffers if b.t == "@G" and b.readable]
        if b and (d <= 0 or self.chance(0.4)):
            return self.load(c, self.r.choice(b), d - 1)
        if d <= 0:
            return E("@G", "float to float", "@G({0})", self.float_leaf(c))
        n = lambda: self.second(c, d - 1)
        return self.r.choice((
            E("@G", "second *", "({0} * {1})", n(), n()), E("@G", "second sin", "sin({0})", n()),
            E("@G", "second +", "({0} + {1})", n(), n()), E("@G", "second tanh", "tanh({0})", n()),
            E("@G", "second max", "max({0}, {1})", n(), n()),
            E("@G", "float to float", "@G({0})", self.number(c, "@F", d - 1))))

    def squash(self, e):
        return E("@F", "squash", self.r.choice(SQUASH), e)

    def reduce(self, c, d):
        op = self.pick([(3, "sum"), (1.5, "prod"), (1.2, "max"), (1.2, "min")])
        inner = Scope(c)
        name = inner.name("k")
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
        if not f or c.guard > 1:
            return None
        name, params, _, _, _ = self.r.choice(f)
        args = [self.argument(c, t, d - 1) for t in params]
        return E("@F", "call", "%s(%s)" % (name, ", ".join("{%d}" % k for k in range(len(args)))), *args)

    def argument(self, c, t, d):
        return self.number(c, t, d) if t == "@F" else self.condition(c, 1) if t == "bool" else \
            self.integer(c, t, 1)

    # ---- loops' bounds
    def bounds(self, c):
        """(low, high, most trips, type)."""
        r, t = self.r, "u32"
        outer = [v for v in c.vars if v[1] == "u32" and v[0][0] == "k"]
        kind = self.pick([(4, "literal"), (5, "K"), (2 if outer else 0, "triangle"),
                          (1.5 if outer else 0, "rest"), (1, "scalar"), (self.wild, "data"),
                          (self.wild, "float"), (2.6, "signed"), (0.7, "i64"), (0.7, "empty"),
                          (self.wild, "variable")])
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

    # ---- statements
    def block(self, c, most, needs=None):
        out = []
        for _ in range(self.r.randrange(1, most + 1)):
            if self.budget <= 0 and out:
                break
            self.budget -= 1
            out += self.statement(c)
        return out

    def statement(self, c):
        r = self.r
        f = self.named(c, "@F", True)
        stores = [b for b in c.buffers if b.writable]
        deep = c.depth > 6
        arrays = [b for b in c.buffers if b.cls == "local"]
        in_loop = c.loops > 0
        kind = self.pick([
            (2.5, "let"), (2.5, "var"), (6 if f else 0, "assign"), (4 if f else 0, "compound"),
            (3.5 if f else 0, "swap"), (0 if deep else 5, "if"),
            (5 if c.cost <= 30 and not deep else 0, "for"), (1.6 * (0.3 + self.wild) if c.cost <= 20 and not deep else 0, "while"),
            (0.8 if not deep else 0, "scope"), (4 if stores else 0, "store"), (2 if stores else 0, "store compound"),
            (1.2, "local"), (2 if arrays else 0, "fill local"), (1 if not deep else 0, "checkpoint"),
            (2 if in_loop else 0, "break"), (1.5 if in_loop else 0, "continue"), (0.6, "return"),
            (3 if self.atomics else 0, "atomic"), (1, "integer"), (0.8, "bool"),
            (2.2, "tuple"), (2.6, "procedure"), (2.2, "integer assign"), (3, "masked if"),
            (0.8 if f else 0, "own condition"), (0.9 if stores else 0, "overwrite"),
            (0.8 if stores else 0, "store and read"),
            (1.6 if f else 0, "masked twice"), (1.6 if f and c.cost <= 16 else 0, "alias"), (2 if f and in_loop else 0.5 if f else 0, "scratch")])
        return getattr(self, "s_" + kind.replace(" ", "_"))(c)

    def s_let(self, c):
        e = self.number(c, "@F", 3)
        name = c.name()
        c.vars.append((name, "@F", False))
        return [S("let", "let %s = {0};" % name, [e])]

    def s_var(self, c):
        e = self.number(c, "@F", 2)
        name = c.name()
        c.vars.append((name, "@F", True))
        return [S("var", "var %s = {0};" % name, [e])]

    def s_integer(self, c):
        t = self.r.choice(INTS + ("u32", "i32"))
        e = self.integer(c, t, 2)
        name = c.name("n")
        mutable = self.chance(0.6)
        c.vars.append((name, t, mutable))
        return [S("integer", "%s %s = {0};" % ("var" if mutable else "let", name), [e])]

    def s_bool(self, c):
        e = self.condition(c, 2)
        name = c.name("b")
        c.vars.append((name, "bool", False))
        return [S("bool", "let %s = {0};" % name, [e])]

    def s_integer_assign(self, c):
        found = [v for v in c.vars if v[1] in INTS and v[2]]
        if not found:
            return self.s_integer(c)
        name, t, _ = self.r.choice(found)
        op = self.r.choice(("=", "+=", "-=", "*="))
        return [S("integer assign", "%s %s {0};" % (name, op), [self.integer(c, t, 2)])]

    def s_assign(self, c):
        name = self.named(c, "@F", True)
        e = self.number(c, "@F", 3)
        if c.loops and self.chance(0.7):
            e = self.squash(e)
        elif c.loops:
            e = E("@F", "decay", "(%s * 0.6 + sin({0}))" % name, e)
        return [S("assign", "%s = {0};" % name, [e])]

    def s_compound(self, c):
        name = self.named(c, "@F", True)
        op = self.r.choice(("+=", "+=", "-=", "*=", "/="))
        e = self.number(c, "@F", 2)
        if op in ("*=", "/="):
            e = E("@F", "squash", "(%s + sin({0}) * 0.3)" % ("0.7" if op == "*=" else "1.4"), e)
        elif c.loops:
            e = E("@F", "squash", "(sin({0}) * 0.5)", e)
        return [S("compound", "%s %s {0};" % (name, op), [e])]

    def s_swap(self, c):
        found = [v[0] for v in c.vars if v[1] == "@F" and v[2]]
        out = []
        if len(found) < 2:
            out = self.s_var(c)
            found.append(c.vars[-1][0])
        a, b = self.r.sample(found, 2)
        t = c.name()
        return out + [S("swap", "let %s = %s;" % (t, a)), S("swap", "%s = %s;" % (a, b)),
                S("swap", "%s = %s;" % (b, t) if self.chance(0.7) else "%s = tanh(%s + %s);" % (b, t, a))]

    def inner(self, c, most=3, **changes):
        i = Scope(c)
        for k, v in changes.items():
            setattr(i, k, v)
        return self.block(i, most)

    def s_if(self, c):
        heads, exprs, blocks = ["if {0}"], [self.condition(c, 2)], [self.inner(c)]
        while self.chance(0.25) and len(blocks) < 4:
            heads.append("else if {%d}" % len(exprs))
            exprs.append(self.condition(c, 1))
            blocks.append(self.inner(c))
        if self.chance(0.5):
            heads.append("else")
            blocks.append(self.inner(c))
        return [S("if", heads, exprs, blocks)]

    def s_masked_if(self, c):
        cond, value = self.r.choice(MASKED)
        e, name = self.number(c, "@F", 1), self.named(c, "@F", True)
        if not name:
            return self.s_var(c)
        body = [S("assign", "%s = %s;" % (name, value), [e])]
        return [S("masked if", ["if " + cond] + ["else"][: self.r.randrange(2)], [e], [body, self.inner(c, 1)])] \
            if self.chance(0.4) else [S("masked if", "if " + cond, [e], [body])]

    def s_masked_twice(self, c):  # one bad value, used under several conditions
        cond, value = self.r.choice(MASKED)
        given, name, guard, bad = self.number(c, "@F", 1), self.named(c, "@F", True), c.name(), c.name()
        e = E("@F", "variable", guard)  # does not change with what it guards
        out = [S("let", "let %s = {0};" % guard, [given]),
               S("let", "let %s = %s;" % (bad, value), [e])]  # for masked uses only
        uses = [S("masked use", "%s = select(%s, %s, %s);" % (name, cond, bad, name), [e]),
                S("masked use", "%s = (%s ? %s : tanh(%s));" % (name, cond, bad, name), [e]),
                S("masked if", "if " + cond, [e], [[S("assign", "%s = sin(%s) * 0.9;" % (name, bad))]]),
                S("for", "for %s in 0u..u32(%s) * 2u" % (c.name("k"), cond), [e],
                  [[S("assign", "%s = %s;" % (name, bad))]])]
        if c.loops:
            out.append(S("masked use", "%s = select(%s, tanh(%s), 0.3);" % (name, cond, bad), [e]))
        return out + self.r.sample(uses, self.r.randrange(1, 4))

    def s_alias(self, c):  # stored and read under indices written differently, from one loop turn to another
        v, a, n = self.named(c, "@F", True), c.name("a"), self.r.choice(("2", "3", "4"))
        c.buffers.append(Buffer(a, "@F", "local", [], n, True, True))
        i = Scope(c)
        k = i.name("k")
        i.vars.append((k, "u32", False))
        i.loops, i.cost = c.loops + 1, c.cost * 4
        steps = [S("store", a + "[{0}] = sin(%s + {1});" % v, [self.index(i, n), self.number(i, "@F", 1)]),
                 S("assign", "%s = tanh(%s[{0}] * %s + {1});" % (v, a, v),
                   [self.index(i, n), self.number(i, "@F", 1)])]
        if self.chance(0.3):
            steps.insert(1, S("store compound", a + "[{0}] += {1};",
                              [self.index(i, n), self.squash(self.number(i, "@F", 1))]))
        if self.chance(0.3):
            steps.reverse()
        head = "for %s in %s" % (k, self.r.choice(("0u..4u", "rev(0u..4u)", "1u..6u step 2u")))
        return [S("local", "local %s: @F[%s];" % (a, n)), S("for", head, [], [steps])]

    def s_scratch(self, c):  # an array of an iteration's own, partly stored
        v, a, n = self.named(c, "@F", True), c.name("a"), self.r.choice(("2", "3"))
        b = Buffer(a, "@F", "local", [], n, True, True)
        c.buffers.append(b)
        index = lambda: self.index(c, n)
        e = lambda: self.squash(self.number(c, "@F", 2))
        steps = [S("if", "if {0}", [self.condition(c, 1)], [[S("store", a + "[{0}] = {1};", [index(), e()])]]),
                 S("compound", "%s = tanh(%s * 0.8 + %s[{0}]);" % (v, v, a), [index()]),
                 S("store compound", a + "[{0}] += {1};", [index(), e()]),
                 S("compound", "%s += %s[{0}] * sin({1});" % (v, a), [index(), e()]),
                 S("store", "%s[{0}] = %s[{1}] * {2};" % (a, a), [index(), index(), e()]),
                 S("store", a + "[{0}] = %s;" % v, [index()])]
        self.r.shuffle(steps)
        return [S("local", "local %s: @F[%s];" % (a, n))] + steps[:self.r.randrange(3, 7)]

    def s_own_condition(self, c):  # the branch overwrites what its condition was made of
        name = self.named(c, "@F", True)
        body = [S("assign", "%s = %s;" % (name, self.r.choice(("0.3 - sin({0})", "tanh({0}) - 1.2"))),
                  [E("@F", "variable", name)])] + self.inner(c, 2)
        return [S("if", ["if %s > 0.6" % name, "else"], [], [body, self.inner(c, 2)])]

    def s_for(self, c):
        low, high, trips, t = self.bounds(c)
        i = Scope(c)
        name = i.name("k")
        i.vars.append((name, t, False))
        i.cost, i.loops = c.cost * max(trips, 1), c.loops + 1
        head, kind, exprs = "{0}..{1}", "for", [low, high]
        if self.chance(0.4):
            head, kind = "rev(%s)" % head, "for rev"
        if self.chance(0.27):
            step = "{2}"
            outer = [v[0] for v in c.vars if v[1] == t and v[0][0] == "k"]
            exprs.append(E(t, "step outer", "(%s & %s) + %s" % (self.r.choice(outer), self.suffix(1, t), self.suffix(1, t)))
                         if outer and self.chance(0.4) else E(t, "literal", self.suffix(self.r.randrange(1, 4), t)))
            head += " step " + step
            kind += " step"
        elif t != "u32":
            kind += " signed"
        return [S(kind, "for %s in %s" % (name, head), exprs, [self.block(i, 4)])]

    def s_while(self, c):
        n = c.name("w")
        c.vars.append((n, "i32", False))  # visible, but nothing else assigns it
        most = self.r.randrange(1, 5)
        i = Scope(c)
        i.cost, i.loops = c.cost * most, c.loops + 1
        extra = self.condition(c, 1) if self.chance(0.4) else None
        start = [S("while", "var %s = 0;" % n)]
        step = S("while", "%s += 1;" % n)
        if self.chance(0.2):
            body = [step, S("break", "if %s > %d" % (n, most), [], [[S("break", "break;")]])]
            return start + [S("while", "while true", [], [body + self.block(i, 3)])]
        head = "while %s < %d" % (n, most)
        return start + [S("while", head + (" && {0}" if extra else ""), [extra] if extra else [],
                          [[step] + self.block(i, 3)])]

    def s_scope(self, c):
        return [S("scope", "", [], [self.inner(c)])]

    def s_checkpoint(self, c):
        return [S("checkpoint", "checkpoint", [], [self.inner(c, 4)])]

    def leave(self, c, kind, text, exprs=()):
        body = [S(kind, text, exprs)]
        if self.chance(0.04):
            return body  # without a condition: the rest of the block is dead
        if self.chance(0.3):
            body = self.inner(c, 1) + body
        return [S("if", "if {0}", [self.condition(c, 1)], [body])]

    def s_break(self, c):
        return self.leave(c, "break", "break;")

    def s_continue(self, c):
        return self.leave(c, "continue", "continue;")

    def s_return(self, c):
        if c.returns is None:
            return self.leave(c, "return", "return;")
        if not c.returns:
            return self.leave(c, "return", "return;")
        return self.leave(c, "return", *self.result(c))

    def result(self, c):
        values = [self.squash(self.number(c, "@F", 2)) for _ in c.returns]
        if len(values) == 1:
            return "return {0};", values
        return "return (%s);" % ", ".join("{%d}" % k for k in range(len(values))), values

    def place(self, c, b):
        text, exprs = self.indices(c, b)
        return "%s[%s]" % (b.name, text), exprs

    def stored(self, c, b, d):
        if b.t == "@F":
            e = self.number(c, "@F", d)
            return self.squash(e) if c.loops else e
        return self.second(c, 1) if b.t == "@G" else self.integer(c, b.t, 2)

    def pick_store(self, c):
        b = [b for b in c.buffers if b.writable]
        f = [b_ for b_ in b if b_.t == "@F"]
        return self.r.choice(f if f and self.chance(0.8) else b)

    def s_store(self, c):
        b = self.pick_store(c)
        at, exprs = self.place(c, b)
        return [S("store", "%s = {%d};" % (at, len(exprs)), exprs + [self.stored(c, b, 3)])]

    def s_store_compound(self, c):
        b = self.pick_store(c)
        if not b.readable:
            return self.s_store(c)
        at, exprs = self.place(c, b)
        op, e = self.r.choice(("+=", "+=", "-=", "*=")), self.stored(c, b, 2)
        if b.t == "@F":
            e = E("@F", "squash", "(0.7 + sin({0}) * 0.2)" if op == "*=" else "(sin({0}) * 0.5)", e)
        elif b.t == "@G":
            op = "+="
        return [S("store compound", "%s %s {%d};" % (at, op, len(exprs)), exprs + [e])]

    def s_overwrite(self, c):  # a value used after the element it came from was overwritten
        b = self.pick_store(c)
        if not b.readable or b.t != "@F":
            return self.s_store(c)
        name = c.name()
        at, exprs = self.place(c, b)
        n = len(exprs)
        out = [S("let", "let %s = %s;" % (name, at), exprs),
               S("overwrite", "%s = {%d};" % (at, n), exprs + [self.stored(c, b, 2)])]
        c.vars.append((name, "@F", False))
        return out + self.s_store(c)

    def s_store_and_read(self, c):
        b = self.pick_store(c)
        if b.t != "@F":
            return self.s_store(c)
        at, exprs = self.place(c, b)
        name = c.name()
        out = [S("store", "%s = {%d};" % (at, len(exprs)), exprs + [self.stored(c, b, 2)]),
               S("read back", "let %s = %s;" % (name, at), exprs)]
        c.vars.append((name, "@F", False))
        return out

    def s_local(self, c):
        n, t = self.r.choice((2, 3, 4)), "@F" if self.chance(0.85) else "i32"
        name = c.name("a")
        b = Buffer(name, t, "local", [], str(n), True, True)
        c.buffers.append(b)
        out = [S("local", "local %s: %s[%d];" % (name, t, n))]
        if self.chance(0.6):
            out += self.s_fill_local(c)
        return out

    def s_fill_local(self, c):
        b = [b for b in c.buffers if b.cls == "local"][-1]
        i = Scope(c)
        k = i.name("k")
        i.vars.append((k, "u32", False))
        i.loops += 1
        i.cost *= 4
        e = self.stored(i, b, 2)
        return [S("for", "for %s in 0u..%su" % (k, b.extent), [], [[
            S("store", "%s[%s] = {0};" % (b.name, k), [e])] + (self.block(i, 1) if self.chance(0.3) else [])])]

    def s_atomic(self, c):
        accs = self.atomics
        b = self.r.choice(accs) if accs else None
        if not b:
            return self.s_store(c) if any(b.writable for b in c.buffers) else self.s_let(c)
        if b.cls == "counter":
            e = self.integer(c, "u32", 1)
            name = c.name("n")
            c.vars.append((name, "u32", False))
            return [S("atomic counter", "let %s = atomic_add(%s[%s], {0});"
                      % (name, b.name, ", ".join(b.prefix)), [e])]
        op = "atomic_add" if self.chance(0.7) else "atomic_sub"
        e = self.number(c, "@F", 3)
        if self.chance(0.1):
            e = E("@F", "squash", "select({0} > 0.8, {0}, 0.0)", e)
        return [S(op, "%s(%s[{0}], {1});" % (op, b.name), [self.index(c, b.extent), e])]

    def s_tuple(self, c):
        f = [f for f in self.callable if len(f[2]) > 1 and c.cost * f[3] <= 60 and f[4] is None]
        if not f:
            return self.s_let(c)
        name, params, results, _, _ = self.r.choice(f)
        args = [self.argument(c, t, 2) for t in params]
        names = [c.name() for _ in results]
        c.vars += [(n, "@F", False) for n in names]
        return [S("tuple", "let (%s) = %s(%s);" % (", ".join(names), name, ", ".join(
            "{%d}" % k for k in range(len(args)))), args)]

    def s_procedure(self, c):
        """A call of a function that takes a buffer."""
        fs = [f for f in self.callable if f[4] is not None and c.cost * f[3] <= 60]
        if not fs:
            return self.s_store(c) if any(b.writable for b in c.buffers) else self.s_let(c)
        name, params, results, _, kind = self.r.choice(fs)
        rank, mode = kind
        options = [b for b in c.buffers if b.t == "@F" and b.extent is not None and len(b.prefix) == rank - 1
                   and (b.readable if mode == "in" else b.readable and b.writable)
                   and not (b.cls == "param")]
        if not options or (rank > 1 and c.returns is not None):
            return self.s_let(c)
        b = self.r.choice(options)
        args = [self.argument(c, t, 2) for t in params]
        words = [b.name] + list(b.prefix) + ["{%d}" % k for k in range(len(args))]
        call = "%s(%s)" % (name, ", ".join(words))
        if not results:
            return [S("call buffer", call + ";", args)]
        v = c.name()
        c.vars.append((v, "@F", False))
        return [S("call buffer", "let %s = %s;" % (v, call), args)]

    # ---- functions
    def function(self, number):
        r = self.r
        c = Scope()
        c.next = 20 * 0
        name, params, words = "f%d" % number, [], []
        kind = None
        if self.chance(0.4):
            rank = r.choice((1, 1, self.rank + 1))
            mode = r.choice(("in", "inout", "inout"))
            kind = (rank, mode)
            prefix = ["r%d" % k for k in range(rank - 1)]
            words.append("b: %s @F[%s]" % (mode, ", ".join("?" * rank)))
            words += ["%s: u32" % p for p in prefix]
            c.vars += [(p, "u32", False) for p in prefix]
            c.buffers.append(Buffer("b", "@F", "param" if mode != "in" else "param", prefix, "3", True,
                                    mode == "inout"))
        for k in range(r.randrange(1, 4)):
            t = "@F" if k == 0 else self.pick([(4, "@F"), (1, "u32"), (1, "i32"), (0.6, "bool")])
            params.append(t)
            words.append("q%d: %s" % (k, t))
            c.vars.append(("q%d" % k, t, False))
        results = [] if kind and self.chance(0.5) else ["@F"] * (1 if kind else self.pick([(3, 1), (2, 2), (0.6, 3)]))
        c.returns, c.depth = results, 1
        c.cost = 4
        self.budget = r.randrange(2, 7)
        body = self.block(c, 4)
        if results:
            body.append(S("return", *self.result(c)))
        back = "" if not results else " -> " + (results[0] if len(results) == 1 else "(%s)" % ", ".join(results))
        cost = 2 + sum(5 for s in walk(body) if s.kind.startswith(("for", "while")))
        self.p.functions.append(S("fn", "fn %s(%s)%s" % (name, ", ".join(words), back), [], [body]))
        self.callable.append((name, params, results, cost, kind))

    # ---- the program
    def make(self):
        r, p = self.r, self.p
        nd = self.rank = self.pick([(5, 1), (2, 2), (1, 3)])
        extents = ["N", "M", "L"][:nd]
        over = ["i", "j", "l"][:nd]
        p.has_second = self.chance(0.2)
        p.second = r.choice(("f16", "f64"))
        # Data-dependent trip counts: many a program with them is refused for now.
        self.wild = 1.4 if self.chance(0.3) else 0
        self.const_k = 3 if self.chance(0.5) else 4
        for n, e in enumerate(extents):
            p.sets[e] = (r.choice((2, 3, 4)), r.choice((1, 2, 3)), r.choice((1, 2)))[n]
        scalars = ["%s: u32" % e for e in extents]
        if self.chance(0.45):
            p.consts.append("const K: u32 = %d;" % self.const_k)
        else:
            p.sets["K"] = self.const_k
            scalars.append("K: u32")
        k_const = "K" not in p.sets
        if self.chance(0.4):
            p.sets["m"] = r.choice((0, 2, 3))
            scalars.append("m: u32")
        shape = ", ".join(extents)
        c = Scope()
        c.vars += [(v, "u32", False) for v in over]
        self.atomics = []
        ins, rest = [], []

        def row(name, t, cls, readable, writable, extent="K", reverse=True):
            prefix = list(over)
            if cls != "in" and reverse and self.chance(0.25):
                prefix[0] = r.choice(("N - 1u - i", "i + 1u", "(i + 2u) % N"))
            b = Buffer(name, t, cls, prefix, extent, readable, writable)
            words = shape + (", " + extent if extent else "")
            (ins if cls == "in" else rest).append("%s: %s %s[%s]" % (name, cls, t, words))
            c.buffers.append(b)
            return b
        row("x", "@F", "in", True, False)
        if self.chance(0.6):
            ins.append("w: in @F[5]")
            c.buffers.append(Buffer("w", "@F", "in", [], "5", True, False))
        if self.chance(0.4):
            ins.append("g: in @F[N]")
            c.buffers.append(Buffer("g", "@F", "in", ["i"], None, True, False))
        if self.chance(0.55):
            t = r.choice(("i32", "i32", "u32"))
            ins.append("at: in %s[N, 3]" % t)
            c.buffers.append(Buffer("at", t, "in", ["i"], "3", True, False))
            p.data["at"] = [r.choice((-1, 0, 0, 1, 1, 2, 2, 3, 4, 9)) if t == "i32" else
                            r.choice((0, 0, 1, 1, 2, 3, 4, 9)) for _ in range(11)]
        if p.has_second:
            row("h", "@G", "in", True, False)
            if self.chance(0.5):
                row("hz", "@G", "inout", True, True, reverse=False)
        if self.chance(0.1):
            ins.append("u: in @F[?]")
            c.buffers.append(Buffer("u", "@F", "in", [], "5", True, False))
        y = row("y", "@F", "out", False, True)
        if self.chance(0.45):
            row("yo", "@F", "out", False, True, None)
        if self.chance(0.6):
            row("z", "@F", "inout", True, True)
        if self.chance(0.25):
            row("zz", "@F", "inout", True, True, None)
        if self.chance(0.15):
            row("zr", "@F", "inout", True, False, reverse=False)
        if self.chance(0.35):
            row("c", r.choice(("i32", "u32")), r.choice(("out", "inout")), False, True, None, False)
        if self.chance(0.7):
            cls = r.choice(("out", "inout"))
            extent = r.choice(("K", "5", "1"))
            rest.append("acc: %s @F[%s]" % (cls, extent))
            self.atomics.append(Buffer("acc", "@F", "acc", [], extent, False, False))
        if self.chance(0.2):
            rest.append("cnt: inout u32[%s]" % shape)
            self.atomics.append(Buffer("cnt", "u32", "counter", list(over), None, False, False))
        if self.chance(0.5):
            p.sets["s"] = "0.%d" % r.randrange(3, 99)
            scalars.append("s: @F")
            c.vars.append(("s", "@F", False))
            if self.chance(0.4):
                p.wrt = ["s"]
        floats = [re.match(r"(\w+): (in|inout|out) @[FG]", q) for q in ins + rest]
        floats = [m.groups() for m in floats if m]
        if p.wrt or self.chance(0.15):
            p.wrt += [n for n, cls in floats if cls != "out" and self.chance(0.5)][:3]
        if self.chance(0.2):
            p.of = [n for n, cls in floats if cls != "in" and self.chance(0.6)][:4]
        p.params = ins + rest + scalars
        p.domain = ", ".join("%s: %s" % (v, e) for v, e in zip(over, extents))
        padding = self.chance(0.15)
        if padding:
            p.domain = p.domain.replace("i: N", r.choice(("i: N + 3", "i: (N + 7) / 8 * 8")), 1)
            y.prefix = list(over)
            for b in c.buffers:
                if b.cls in ("out", "inout"):
                    b.prefix = list(over)
            for b in self.atomics:
                if b.cls == "counter":
                    b.prefix = list(over)
        if nd == 1 and self.chance(0.5):
            p.workgroup = " workgroup(%d)" % r.choice((1, 7, 32, 64, 33))
        elif nd == 2 and self.chance(0.4):
            p.workgroup = " workgroup(%d, %d)" % (r.choice((4, 5, 16)), r.choice((3, 4)))
        # functions see module constants only
        saved, self.atomics = self.atomics, []
        k_in_functions = k_const
        self.in_function = True
        for n in range(self.pick([(3, 0), (3, 1), (3, 2), (2, 3)])):
            if not k_in_functions:
                p.sets.pop("K", None)
                self.bounds_plain = True
            self.function(n)
        self.in_function = False
        if not k_const:
            p.sets["K"] = self.const_k
        self.atomics = saved
        # the body
        self.budget = r.choice((6, 10, 14, 20, 30))
        if padding:
            p.body.append(S("if", "if i >= N", [], [[S("return", "return;")]]))
        if self.chance(0.6):  # y may be read from here on
            i = Scope(c)
            k = i.name("k")
            i.vars.append((k, "u32", False))
            i.loops, i.cost = 1, 4
            p.body.append(S("for", "for %s in 0u..K" % k, [], [[
                S("store", "y[%s, %s] = {0};" % (", ".join(y.prefix), k), [self.number(i, "@F", 2)])]]))
            y.readable = True
        while self.budget > 0 or len(p.body) < 4:
            self.budget -= 1
            p.body += self.statement(c)
        # what was computed is used
        for b in c.buffers:
            if b.writable and b.name in ("y", "yo", "z") and self.chance(0.8):
                at, exprs = self.place(c, b)
                names = [v[0] for v in c.vars if v[1] == "@F"][-6:] or ["0.5@S"]
                text = " + ".join("sin(%s)" % n for n in names)
                op = "+=" if b.readable else "="
                p.body.append(S("store", "%s %s {%d};" % (at, op, len(exprs)),
                                exprs + [E("@F", "use", text)]))
        return p


def fix_functions(p, k):
    """Functions see no scalars: K there is its value."""
    if "K" not in p.sets:
        return

    def fix(e):
        e.fmt = re.sub(r"\bK\b", "%du" % k, e.fmt)
        for kid in e.kids:
            fix(kid)
    for s in walk(p.functions):
        s.heads = [re.sub(r"\bK\b", "%du" % k, h) for h in s.heads]
        for e in s.exprs:
            fix(e)


def walk(statements):
    for s in statements:
        yield s
        for b in s.blocks:
            yield from walk(b)


def make(seed):
    m = Maker(seed)
    p = m.make()
    fix_functions(p, m.const_k)
    return p


# ------------------------------------------------------------------------------------------ coverage
REDUCTIONS = ("sum of", "prod of", "max of", "min of")
OUTER = ("fn", "if", "masked if", "for", "for rev", "for step", "for rev step", "for signed",
         "for rev signed", "while", "scope", "checkpoint") + REDUCTIONS + ("select", "?:", "call")


def count(p, ops, kinds, pairs):
    def expression(e, above):
        ops[e.op] += 1
        if e.op in OUTER:
            for a in above:
                pairs[a, e.op] += 1
            above = above | {e.op}
        for k in e.kids:
            expression(k, above)

    def statement(s, above):
        kinds[s.kind] += 1
        for a in above:
            pairs[a, s.kind] += 1
        inside = above | {s.kind} if s.kind in OUTER and s.blocks else above
        for e in s.exprs:
            expression(e, above)
        for b in s.blocks:
            for k in b:
                statement(k, inside)
    for s in p.trees():
        statement(s, frozenset())


def coverage(n, first=0, least=50):
    ops, kinds, pairs = (collections.Counter() for _ in range(3))
    for seed in range(first, first + n):
        count(make(seed), ops, kinds, pairs)
    print("operations")
    for k, v in sorted(ops.items(), key=lambda i: -i[1]):
        print("  %7d  %s" % (v, k))
    print("statements")
    for k, v in sorted(kinds.items(), key=lambda i: -i[1]):
        print("  %7d  %s" % (v, k))
    inner = sorted(k for k in kinds if k != "fn") + [o for o in OUTER if o not in kinds]
    rare = [k for c in (ops, kinds) for k, v in c.items() if v < least]
    rare += [k for k in list(UNARY) + list(BINARY) if ops[k] < least]
    for outer, insides in ((OUTER[:12], inner), (OUTER[12:], OUTER[12:])):
        print("pairs: how often the first is inside %s" % ", ".join(outer))
        for b in insides:
            print("  %-16s %s" % (b, " ".join("%6d" % pairs[a, b] for a in outer)))
            rare += ["%s in %s" % (b, a) for a in outer if pairs[a, b] < least
                     and not (a == "fn" and b.startswith("atomic"))]  # acc is no parameter
    print("fewer than %d times: %s" % (least, ", ".join(sorted(set(rare))) or "nothing"))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--coverage":
        coverage(int(sys.argv[2]))
    elif len(sys.argv) == 2 and sys.argv[1].isdigit():
        sys.stdout.write(make(int(sys.argv[1])).text())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
