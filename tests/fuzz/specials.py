# SPDX-License-Identifier: MIT
"""Random programs on data of special values, and a model of them and of their gradients.

Guards, selects, ties, products of 0 and inf, functions at the edges of their domains.  The model
executes a program statement by statement and notes each operation with its partials, in Python's
floats, so that it shares nothing with the compiler.  A cotangent is a number, or None: zero by a
rule of LANGUAGE.md 2 (an arm that was not taken, the loser of a minimum, abs at 0), which is
dropped and not multiplied.
"""
import math
import random
import struct

INF, NAN = math.inf, math.nan
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 40.0, INF, -INF, NAN]


class Model:
    """One run: of floats rounded to f32, or to f64 ("exact"), with functions a little off ("noisy"), with sums that
    are 0 of the other sign ("signs"), or with products that are 0 by a zero that was chosen ("zeros")."""

    def __init__(self, mode):
        self.mode, self.nodes, self.noise, self.extreme = mode, [], random.Random(5), False
        self.chosen = set()  # zeros that are one operand of a choice, and what is made of them

    def note(self, v):
        """Products within a rule of numbers that are not extreme are within f32; of others they may be 0 or infinite."""
        self.extreme |= math.isfinite(v) and v != 0 and not 1e-9 < abs(v) < 1e9

    def rounded(self, v):
        if self.mode == "exact" or v != v or math.isinf(v):
            return v
        try:
            return struct.unpack("f", struct.pack("f", v))[0]
        except OverflowError:
            return math.copysign(INF, v)

    def node(self, value, *parents, function=False, summed=False):
        """parents: (node, partial) where a partial is a function of the cotangent."""
        if function and self.mode == "noisy" and value not in (0.0, 1.0, -1.0):
            value *= 1 + self.noise.choice((-1, 1)) * 4e-7
        if summed and self.mode == "signs" and value == 0:
            value = -value
        self.note(value)
        n = [self.rounded(value), parents, None]
        self.nodes.append(n)
        return n

    def choose(self, n):
        """Where a driver sees by signs what a choice takes, min(sqrt(x), 0), it has a constant zero that
        spirv/target/lavapipe_zeros.c could not know."""
        if self.mode == "zeros" and n[0] == 0:
            self.chosen.add(id(n))
        return n

    def times(self, a, b):
        return 0.0 if id(b) in self.chosen else a * b[0]

    def forward(self, of, along):
        """The tangent of a node along an input; None: a tangent that is 0 meets an infinite or unknown partial, which
        docs/autodiff.md 14 has dropped in some places alone."""
        lucky = False
        for n in self.nodes:
            n[2] = 1.0 if n is along else None
            for parent, partial in n[1]:
                zero, add = not parent[2], partial(parent[2] or 0.0)
                lucky |= zero and add is not None and add != add
                if add is not None and parent[2] is not None:
                    self.note(add)
                    n[2] = self.rounded(add if n[2] is None else n[2] + add)
        return None if lucky else 0.0 if of[2] is None else of[2]

    def reverse(self, of):
        of[2] = 1.0
        for value, parents, g in reversed(self.nodes):
            for parent, partial in parents:
                add = None if g is None else partial(g)
                if add is not None:
                    self.note(add)
                    parent[2] = self.rounded(add if parent[2] is None else parent[2] + add)


def div(a, b):
    if b == 0:
        return NAN if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1, b)
    return a / b


def root(x):
    return NAN if x < 0 else x if x == 0 else math.sqrt(x)


def exp(x):
    return INF if x > 700 else math.exp(x)


def log(x):
    return -INF if x == 0 else NAN if x < 0 else math.log(x)


def sine(x):
    return NAN if math.isinf(x) else math.sin(x)


def cosine(x):
    return NAN if math.isinf(x) else math.cos(x)


def power(a, b):
    """C's pow."""
    odd = b % 2 == 1 if math.isfinite(b) else False
    try:
        return math.pow(a, b)
    except OverflowError:
        return -INF if a < 0 and odd else INF
    except ValueError:  # 0 to a negative power, or a negative base with an exponent that is no integer
        return NAN if a else math.copysign(INF, a) if odd else INF


def clamp(x, low, high):
    at_least = x if x > low else low
    return at_least if at_least < high else high


def clamped_to(x, low, high):
    """Which operand of clamp gets the derivative."""
    return (0 if x <= high else 2) if low <= x else (1 if low < high else 2)


# name → value and derivative: of g, x, y; None: zero by a rule
ONE = {
    "sqrt": (root, lambda g, x, y: div(g * 0.5, y)),
    "exp": (exp, lambda g, x, y: g * y),
    "log": (log, lambda g, x, y: div(g, x)),
    "sin": (sine, lambda g, x, y: g * cosine(x)),
    "cos": (cosine, lambda g, x, y: g * -sine(x)),
    "tanh": (math.tanh, lambda g, x, y: g * (1 - y * y)),
    "recip": (lambda x: div(1.0, x), lambda g, x, y: -g * y * y),
    "abs": (abs, lambda g, x, y: g if x > 0 else -g if x < 0 else None),
    "sign": (lambda x: float((x > 0) - (x < 0)), lambda g, x, y: None),
    "floor": (lambda x: x if math.isinf(x) or x != x else math.copysign(math.floor(x), x), lambda g, x, y: None),
    "relu": (lambda x: x if x > 0 else 0.0, lambda g, x, y: g if x > 0 else None),
    "-": (lambda x: -x, lambda g, x, y: -g),
    "stop_grad": (lambda x: x, lambda g, x, y: None),
}
TWO = {
    "+": (lambda a, b: a + b, lambda g, a, b: g, lambda g, a, b: g),
    "-": (lambda a, b: a - b, lambda g, a, b: g, lambda g, a, b: -g),
    "*": (lambda a, b: a * b, lambda g, a, b: g * b, lambda g, a, b: g * a),
    "/": (div, lambda g, a, b: div(g, b), lambda g, a, b: -div(g * div(a, b), b)),
    "min": (lambda a, b: a if a < b else b, lambda g, a, b: g if a < b else None,
            lambda g, a, b: None if a < b else g),
    "max": (lambda a, b: a if a > b else b, lambda g, a, b: g if a > b else None,
            lambda g, a, b: None if a > b else g),
    "step": (lambda a, b: 0.0 if b < a else 1.0, lambda g, a, b: None, lambda g, a, b: None),
    "pow": (power, lambda g, a, b: None if b == 0 else g * b * power(a, b - 1),
            lambda g, a, b: None if a < 0 or a == 0 < b else g * power(a, b) * log(a)),
    "hypot": (math.hypot, lambda g, a, b: None if a == 0 == b else g * div(a, math.hypot(a, b)),
              lambda g, a, b: None if a == 0 == b else g * div(b, math.hypot(a, b))),
    "atan2": (math.atan2, lambda g, a, b: None if a == 0 == b else div(g * div(b, math.hypot(a, b)), math.hypot(a, b)),
              lambda g, a, b: None if a == 0 == b else -div(g * div(a, math.hypot(a, b)), math.hypot(a, b))),
}
# Operations whose derivative is zero by a rule at some values, and what may have an infinite or unknown partial there.
DROPS = ("abs", "abs", "relu", "pow", "pow", "hypot", "atan2", "min", "max", "clamp", "select")
STEEP = ("sqrt", "sqrt", "recip", "log", "*", "*", "/", "pow")
COMPARE = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
           "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
CHOICES = ("min", "max", "relu", "step")
EXACT = ("abs", "sign", "floor", "relu", "-", "stop_grad", "+", "*", "/", "min", "max", "step")


class Program:
    """Statements: ("let", name, e), ("set", name, e), ("if", c, then, else), ("for", name, n, body)."""

    def __init__(self, seed):
        self.r, self.count = random.Random(seed), 0
        names = ["x", "z"]
        self.body = [("let", "a", self.expression(names, 2))]
        names.append("a")
        if seed % 2:  # nothing hides what is dropped
            self.result = self.dropping(names)
        else:
            self.body += self.statements(names, 3, 0)
            self.result = self.expression(names, 2)

    # ---- generation
    def expression(self, names, depth):
        r = self.r
        if depth == 2 and r.random() < 0.4:
            return self.dropping(names)
        kind = r.randrange(10) if depth else r.randrange(3)
        if kind == 0 and depth < 2:
            return ("const", r.choice((0.0, 1.0, 2.0, -1.0, 0.5)))
        if kind < 3:
            return ("name", r.choice(names))
        if kind < 5:
            return ("one", r.choice(list(ONE)), self.expression(names, depth - 1))
        if kind < 8:
            return ("two", r.choice(list(TWO) + ["*", "/", "*"]), self.expression(names, depth - 1),
                    self.expression(names, depth - 1))
        return (r.choice(("select", "choose")), self.condition(names, depth), self.expression(names, depth - 1),
                self.expression(names, depth - 1))

    def applied(self, f, argument):
        if f == "select":
            return ("select", (self.r.choice(("<", ">", "!=")), argument(), ("const", 0.0)), argument(), argument())
        if f == "clamp":
            return ("clamp", argument(), argument(), argument())
        return ("one", f, argument()) if f in ONE else ("two", f, argument(), argument())

    def dropping(self, names):
        """A derivative that is dropped at some values, of what is steep at some: abs(sqrt(x)), pow(x * z, a)."""
        def steep():
            some = self.r.random() < 0.2
            return self.expression(names, 0) if some else self.applied(self.r.choice(STEEP), lambda: self.expression(names, 0))
        return self.applied(self.r.choice(DROPS), steep)

    def condition(self, names, depth):
        op, left = self.r.choice(list(COMPARE)), self.expression(names, depth - 1)
        right = ("const", 0.0) if self.r.random() < 0.6 else self.expression(names, depth - 1)
        return (op, left, right)

    def statements(self, names, count, nest):
        made = []
        for _ in range(self.r.randint(1, count)):
            kind = self.r.randrange(6)
            if kind < 2:
                self.count += 1
                name = "v%d" % self.count
                made.append(("let", name, self.expression(names, 2)))
                names = names + [name]
            elif kind < 4 or nest == 2:
                made.append(("set", "a", self.expression(names, 2)))
            elif kind == 4:
                other = self.statements(names, 2, nest + 1) if self.r.random() < 0.4 else []
                made.append(("if", self.condition(names, 1), self.statements(names, 2, nest + 1), other))
            else:
                self.count += 1
                made.append(("for", "k%d" % self.count, self.r.randint(1, 3), self.statements(names, 2, nest + 1)))
        return made

    # ---- text
    def text_of(self, e):
        if e[0] == "const":
            return "%r" % e[1] if e[1] >= 0 else "(%r)" % e[1]
        if e[0] == "name":
            return {"x": "x[i]", "z": "z[i]"}.get(e[1], e[1])
        if e[0] == "one":
            return ("(-%s)" if e[1] == "-" else e[1] + "(%s)") % self.text_of(e[2])
        if e[0] == "two":
            a, b = self.text_of(e[2]), self.text_of(e[3])
            return "%s(%s, %s)" % (e[1], a, b) if e[1].isidentifier() else "(%s %s %s)" % (a, e[1], b)
        if e[0] == "clamp":
            return "clamp(%s)" % ", ".join(map(self.text_of, e[1:]))
        c, a, b = self.text_of_condition(e[1]), self.text_of(e[2]), self.text_of(e[3])
        return "select(%s, %s, %s)" % (c, a, b) if e[0] == "select" else "(%s ? %s : %s)" % (c, a, b)

    def text_of_condition(self, c):
        return "%s %s %s" % (self.text_of(c[1]), c[0], self.text_of(c[2]))

    def lines(self, body, indent):
        for s in body:
            if s[0] == "let":
                yield "%s%s %s: f32 = %s;" % (indent, "var" if s[1] == "a" else "let", s[1], self.text_of(s[2]))
            elif s[0] == "set":
                yield "%s%s = %s;" % (indent, s[1], self.text_of(s[2]))
            elif s[0] == "if":
                yield "%sif %s {" % (indent, self.text_of_condition(s[1]))
                yield from self.lines(s[2], indent + "    ")
                if s[3]:
                    yield indent + "} else {"
                    yield from self.lines(s[3], indent + "    ")
                yield indent + "}"
            else:
                yield "%sfor %s in 0..%d {" % (indent, s[1], s[2])
                yield from self.lines(s[3], indent + "    ")
                yield indent + "}"

    def text(self):
        return ("program p(x: in f32[N], z: in f32[N], y: out f32[N], N: u32) over(i: N) {\n%s\n    y[i] = %s;\n}\n"
                % ("\n".join(self.lines(self.body, "    ")), self.text_of(self.result)))

    # ---- meaning
    def value(self, m, e, env):
        if e[0] == "const":
            return m.node(e[1])
        if e[0] == "name":
            return env[e[1]]
        if e[0] == "one":
            a = self.value(m, e[2], env)
            f, d = ONE[e[1]]
            n = m.node(f(a[0]), function=e[1] not in EXACT)
            n[1] = ((a, lambda g: d(g, a[0], n[0])),)
            return m.choose(n) if e[1] in CHOICES or id(a) in m.chosen else n
        if e[0] == "two":
            a, b = self.value(m, e[2], env), self.value(m, e[3], env)
            f, da, db = TWO[e[1]]
            if e[1] == "*" and {id(a), id(b)} & m.chosen:
                return m.choose(m.node(0.0, (a, lambda g: m.times(g, b)), (b, lambda g: m.times(g, a))))
            n = m.node(f(a[0], b[0]), (a, lambda g: da(g, a[0], b[0])), (b, lambda g: db(g, a[0], b[0])), function=e[1] not in EXACT, summed=e[1] in "+-")
            return m.choose(n) if e[1] in CHOICES else n
        if e[0] == "clamp":
            of = [self.value(m, x, env) for x in e[1:]]
            to = clamped_to(*[n[0] for n in of])
            return m.choose(m.node(clamp(*[n[0] for n in of]), (of[to], lambda g: g)))
        taken = self.value(m, e[2] if self.holds(m, e[1], env) else e[3], env)
        return m.choose(m.node(taken[0], (taken, lambda g: g)))

    def holds(self, m, c, env):
        return COMPARE[c[0]](self.value(m, c[1], env)[0], self.value(m, c[2], env)[0])

    def execute(self, m, body, env):
        for s in body:
            if s[0] in ("let", "set"):
                env[s[1]] = self.value(m, s[2], env)
            elif s[0] == "if":
                self.execute(m, s[2] if self.holds(m, s[1], env) else s[3], env)
            else:
                for _ in range(s[2]):
                    self.execute(m, s[3], env)

    def run(self, mode, x, z):
        """y, grad_x, grad_z, dot_y along x"""
        m = Model(mode)
        env = {"x": m.node(x), "z": m.node(z)}
        inputs = (env["x"], env["z"])
        self.execute(m, self.body, env)
        last = self.value(m, self.result, env)
        result = m.node(last[0], (last, lambda g: g))
        m.reverse(result)
        slopes = [0.0 if n[2] is None else n[2] for n in inputs]
        found = [*slopes, m.forward(result, inputs[0])]
        return [result[0], *[None if m.extreme else v for v in found]]


def alike(a, b, tolerance=2e-3):
    if a != a or b != b:
        return a != a and b != b
    if math.isinf(a) or math.isinf(b):  # whose difference from anything is within any share of itself
        return a == b
    return a == b or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def expected(p, x, z, device):
    """What a run should give: y, grad_x, grad_z, dot_y; None for what rounding decides, on a device also the sign of a zero sum:
    −0 + 0 is −0 on lavapipe, and a product with a zero that was chosen."""
    ways = list(zip(*(p.run(mode, x, z) for mode in ("rounded", "exact", "noisy") + ("signs", "zeros") * device)))
    return [w[0] if None not in w and all(alike(w[0], v, 2e-4) for v in w) else None for w in ways]
