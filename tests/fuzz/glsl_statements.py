# SPDX-License-Identifier: MIT
"""Random GLSL statements and functions: loops that end, switches that fall through, returns from anywhere."""
from glsl_expressions import OF_MATRIX, Expressions

LOCALS = ("float",) * 6 + ("vec2", "vec3", "vec4", "int", "int", "uint", "bool", "mat2", "mat3", "mat3x2", "ivec2", "uvec3",
                           "float[4]", "vec2[3]", "int[5]")


class Statements(Expressions):
    """Statements as lines; self.scope grows in a block and shrinks at its end."""

    def fresh(self, prefix="v"):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    def local_type(self):
        return self.r.choice(LOCALS + tuple(self.structs) * 2)

    # ---- blocks
    def block(self, count, depth, loop=False):
        """The lines of so many statements, in a scope of their own."""
        before, below = len(self.scope), dict(self.below)
        out = []
        for _ in range(count):
            out += self.statement(depth, loop)
        del self.scope[before:]
        self.below = below
        return ["    " + line for line in out]

    def statement(self, depth, loop=False):
        kinds = ["declare"] * 3 + ["assign"] * 5 + ["call"] * 2 + ["split"]
        if depth > 0:
            kinds += ["branch"] * 3 + ["count"] * 2 + ["loop", "do", "choose", "choose"]
        if loop:
            kinds += ["leave"] * 2
        if self.results is not None and depth < 3:
            kinds.append("early")
        return getattr(self, "s_" + self.r.choice(kinds))(depth, loop)

    def s_declare(self, depth, loop):
        t, name = self.local_type(), self.fresh()
        element, _, n = t.partition("[")
        line = "%s %s%s = %s;" % (element, name, "[" + n if n else "", self.expr(t, 2))
        self.scope.append((name, t, True))
        return [line]

    def s_assign(self, depth, loop):
        kinds = ["float"] * 4 + ["vec2", "vec3", "vec4", "int", "uint", "bool", "mat2", "mat3"] + list(self.structs)
        for t in self.r.sample(kinds, len(kinds)):
            there = self.places(t, assignable=True)
            if there:
                break
        else:
            return self.s_declare(depth, loop)
        place = self.indexed(self.r.choice(there))
        if t == "bool" or t in self.structs or self.r.random() < 0.5:
            return ["%s = %s;" % (place, self.expr(t, 3))]
        if t in ("int", "uint") and self.r.random() < 0.3:
            return [self.r.choice(("%s++;", "--%s;", "%s++;")) % place]
        op = self.r.choice(("+=", "-=", "*=") if t not in OF_MATRIX else ("+=", "-="))
        if t in ("int", "uint"):
            op = self.r.choice(("+=", "^=", "|=", "&=", "*="))
        scale = " * 0.25" if t[0] in "fvm" else ""  # loops must not let floats grow
        return ["%s %s %s%s;" % (place, op, "(%s)" % self.expr(t, 2), scale)]

    def s_split(self, depth, loop):
        """Two values of one: fraction and integer part, mantissa and exponent; not of what is likely to be an integer."""
        t, rest, part = self.r.choice(("float", "float", "vec2", "vec3", "vec4")), self.fresh(), self.fresh()
        how, other = self.r.choice((("modf", t), ("frexp", "i" + t if t != "float" else "int")))
        value = self.expr(t, 2)
        self.scope += [(rest, other, False), (part, t, True)]
        return ["%s %s;" % (other, rest), "%s %s = %s((%s) * 0.77, %s);" % (t, part, how, value, rest)]

    def s_branch(self, depth, loop):
        out = ["if (%s) {" % self.expr("bool", 2), *self.block(self.r.randrange(1, 4), depth - 1, loop)]
        while self.r.random() < 0.25:
            out += ["} else if (%s) {" % self.expr("bool", 1), *self.block(1, depth - 1, loop)]
        if self.r.random() < 0.5:
            out += ["} else {", *self.block(self.r.randrange(1, 3), depth - 1, loop)]
        return [*out, "}"]

    # ---- loops
    def trips(self):
        """A number of iterations, and the most that it can be."""
        uniform = [(n, most) for n, most in self.sizes.items()]
        if uniform and self.r.random() < 0.3:
            return self.r.choice(uniform)
        n = self.r.randrange(1, 6)
        return str(n), n

    def s_count(self, depth, loop):
        k = self.fresh("k")
        bound, most = self.trips()
        kind = self.r.randrange(5)
        t = "uint" if bound.endswith("u") or not bound.isdigit() else "int"
        bound = bound if t == "int" or not bound.isdigit() else bound + "u"
        head = "for (%s %s = 0; %s < %s; %s++) {" % (t, k, k, bound, k)
        if kind == 1 and t == "int":
            head = "for (int %s = %s - 1; %s >= 0; %s--) {" % (k, bound, k, k)
        if kind == 2:
            head = "for (%s %s = 0; %s < %s; %s += 2) {" % (t, k, k, bound, k)
        if kind == 3:
            head = "for (%s %s = 0; %s < %s; %s += %s) {" % (t, k, k, bound, k, "hop" if t == "int" else "leap")
        return [head, *self.body(k, t, most, depth), "}"]

    def body(self, k, t, most, depth):
        self.scope.append((k, t, False))
        self.below[k] = most
        out = self.block(self.r.randrange(1, 5), depth - 1, True)
        del self.below[k]
        self.scope.pop()
        return out

    def s_loop(self, depth, loop):
        k = self.fresh("k")
        n = self.r.randrange(1, 5)
        head, first = self.r.choice((("while (%s < %d) {" % (k, n), None),
                                     ("while (true) {", "if (%s >= %d) break;" % (k, n)),
                                     ("for (; %s < %d && %s;) {" % (k, n, self.expr("bool", 1)), None)))
        lines = self.body(k, "int", n + 1, depth)
        return ["int %s = 0;" % k, head, *(["    " + first] if first else []), "    %s++;" % k, *lines, "}"]

    def s_do(self, depth, loop):
        k = self.fresh("k")
        n = self.r.randrange(1, 5)
        also = " && %s" % self.expr("bool", 1) if self.r.random() < 0.4 else ""
        return ["int %s = 0;" % k, "do {", "    %s++;" % k, *self.body(k, "int", n + 1, depth),
                "} while (%s < %d%s);" % (k, n, also)]

    def s_leave(self, depth, loop):
        """On no counter of a loop: Mesa 22.3 guesses how often a loop runs, wrongly where `k + k == k` leaves it."""
        scope, below = self.scope, self.below
        self.scope, self.below = [s for s in scope if s[0][0] != "k"], {}
        condition = self.expr("bool", 2)
        self.scope, self.below = scope, below
        return ["if (%s) %s;" % (condition, self.r.choice(("break", "continue")))]

    # ---- switches
    def s_choose(self, depth, loop):
        t = self.r.choice(("int", "uint"))
        out = ["switch (%s & 3%s) {" % (self.expr(t, 2), "u" if t == "uint" else "")]
        cases = [str(n) for n in self.r.sample(range(4), self.r.randrange(1, 5))]
        if self.r.random() < 0.7:
            cases.insert(self.r.randrange(len(cases) + 1), "")
        for k, case in enumerate(cases):
            suffix = "u" if t == "uint" and case else ""
            out.append("case %s%s:" % (case, suffix) if case else "default:")
            last = k + 1 == len(cases)
            if self.r.random() < 0.15 and not last:
                continue  # two labels
            lines = self.block(self.r.randrange(1, 3), depth - 1, False)
            if loop and self.r.random() < 0.15:
                lines.append("    continue;")
            elif last or self.r.random() < 0.6:
                lines.append("    break;")
            out += ["    {", *lines, "    }"]
        return [*out, "}"]

    # ---- functions
    def s_early(self, depth, loop):
        result = " " + self.expr(self.results, 2) if self.results != "void" else ""
        return ["if (%s) return%s;" % (self.expr("bool", 2), result)]

    def s_call(self, depth, loop):
        if not self.functions:
            return self.s_assign(depth, loop)
        name, result, params = self.r.choice(self.functions)
        out, args, taken = [], [], set()
        for how, t in params:
            if how == "in":
                args.append(self.expr(t, 1))
                continue
            there = [p for p in self.places(t, assignable=True) if p.partition(".")[0].partition("[")[0] not in taken]
            if there and self.r.random() < 0.7:
                place = self.indexed(self.r.choice(there))
            else:
                place = self.fresh()
                element, _, n = t.partition("[")
                out.append("%s %s%s = %s;" % (element, place, "[" + n if n else "", self.expr(t, 0)))
                self.scope.append((place, t, True))
            taken.add(place.partition(".")[0].partition("[")[0])
            args.append(place)
        call = "%s(%s)" % (name, ", ".join(args))
        if result == "void":
            return [*out, call + ";"]
        kept = self.fresh()
        out.append("%s %s = %s;" % (result, kept, call))
        self.scope.append((kept, result, True))
        return out

    def plain(self, t):
        """A value of the type that reads nothing."""
        if t in self.structs:
            return "%s(%s)" % (t, ", ".join(self.plain(ft) for _, ft in self.structs[t]))
        if t.endswith("]"):
            element, _, n = t[:-1].partition("[")
            return "%s[](%s)" % (element, ", ".join(self.plain(element) for _ in range(int(n))))
        return self.leaf(t)

    def function(self):
        """One more function, which later ones call."""
        name, r = self.fresh("f"), self.r
        result = r.choice(("float", "float", "vec2", "vec3", "int", "void", "mat2", *self.structs))
        types = ("float", "float", "vec3", "int", "uint", "mat2", "float[4]", *self.structs)
        params = [(r.choice(("in", "in", "in", "out", "inout")), r.choice(types)) for _ in range(r.randrange(1, 4))]
        outer = self.scope, self.below
        self.scope, self.below, self.results = list(self.globals), {}, result
        head, lines = [], []
        for k, (how, t) in enumerate(params):
            p, (element, _, n) = "p%d" % k, t.partition("[")
            head.append("%s %s %s%s" % (how, element, p, "[" + n if n else ""))
            if how == "out":
                lines.append("    %s = %s;" % (p, self.plain(t)))
            self.scope.append((p, t, True))
        scope = list(self.scope)
        lines += self.block(r.randrange(2, 6), 2)
        self.scope = scope
        if result != "void":
            lines.append("    return %s;" % self.expr(result, 2))
        (self.scope, self.below), self.results = outer, None
        self.functions.append((name, result, params))
        return ["%s %s(%s)" % (result, name, ", ".join(head)), "{", *lines, "}", ""]
