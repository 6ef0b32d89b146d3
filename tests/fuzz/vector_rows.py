# SPDX-License-Identifier: MIT
"""Random programs with buffers of vectors, for how vectors are printed.

Rows are read, computed with and written whole, by components and in another order of these; their
components are used alone, in loops and arms, with scalars and constants on either side, and combined
so that what looks like a vector is none (one component computed from another).  Variables of vectors
are carried by loops and yielded by arms: assigned whole, by some components, exchanged with each other,
with components exchanged, unchanged in one arm; next to scalars that are called like components.

The same with vectors that no buffer holds: `make_flat`, where each is made of scalars, of elements of
buffers or of parameters, and stored by components.
"""
import random
import re

TYPES = (("vec2", 2), ("vec3", 3), ("vec4", 4))
AXES = "xyzw"


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.type, self.n = self.random.choice(TYPES)
        self.vectors, self.scalars, self.count, self.lines = [], ["s", "t"], 0, []
        self.variables, self.numbers = [], []  # those that may be assigned

    def name(self, letter):
        self.count += 1
        return "%s%d" % (letter, self.count)

    def number(self):
        return "%.2f" % self.random.uniform(0.1, 1.9)

    def swizzle(self, n):
        return "".join(self.random.choice(AXES[:self.n]) for _ in range(n))

    def scalar(self, depth=2):
        pick = self.random.randrange(6 if depth else 3)
        if pick == 0:
            return self.random.choice(self.scalars)
        if pick == 1 and self.vectors:
            return "%s.%s" % (self.random.choice(self.vectors), self.random.choice(AXES[:self.n]))
        if pick <= 2:
            return self.number()
        if pick == 3:
            return "dot(%s, %s)" % (self.vector(depth - 1), self.vector(depth - 1))
        return "(%s %s %s)" % (self.scalar(depth - 1), self.random.choice("+-*"), self.scalar(depth - 1))

    def vector(self, depth=2):
        pick = self.random.randrange(12 if depth else 3)
        if pick == 0 or (pick == 1 and not self.vectors):
            return self.random.choice(("p[i]", "w[i]", "a[i].at"))
        if pick == 1:
            return self.random.choice(self.vectors)
        if pick == 2:
            return "%s(%s)" % (self.type, ", ".join(self.scalar(0) for _ in range(self.n)))
        if pick == 3:
            return "(%s %s %s)" % (self.scalar(depth - 1), self.random.choice("+-*"), self.vector(depth - 1))
        if pick == 4:
            return "(%s).%s" % (self.vector(depth - 1), self.swizzle(self.n))
        if pick == 5:
            return "%s(%s)" % (self.random.choice(("sin", "-", "abs", "stop_grad", "tanh")), self.vector(depth - 1))
        if pick == 6:
            return "max(%s, %s)" % (self.vector(depth - 1), self.random.choice((self.scalar(0), self.vector(depth - 1))))
        if pick == 7:
            return "select(%s > %s, %s, %s)" % (self.scalar(0), self.number(), self.vector(depth - 1), self.vector(depth - 1))
        return "(%s %s %s)" % (self.vector(depth - 1), self.random.choice("+-*"), self.vector(depth - 1))

    def let(self, indent):
        made = self.name("v")
        self.lines.append("%slet %s = %s;" % (indent, made, self.vector()))
        self.vectors.append(made)

    def change(self, indent):
        pick, part = self.random.randrange(5), self.random.choice(AXES[:self.n])
        scalar = self.scalar()
        self.lines.append(indent + (
            "y[i] += %s;" % self.vector(), "y[i] = sin(y[i]) * 0.5 + %s;" % self.vector(), "y[i].%s += %s;" % (part, scalar),
            "atomic_add(g[0], %s);" % self.vector(), "atomic_add(g[1].%s, %s);" % (part, scalar))[pick])

    def variable(self, indent):
        """Of a vector, or of a scalar that is called like a component of one."""
        if self.random.random() < 0.7:
            made = self.name("r")
            self.lines.append("%svar %s = %s;" % (indent, made, self.vector()))
            self.vectors.append(made)
            self.variables.append(made)
        else:
            made = self.name("q") + self.random.choice(("_", "__", "_y_")) + self.random.choice("xyz")
            self.lines.append("%svar %s = %s;" % (indent, made, self.scalar()))
            self.scalars.append(made)
            self.numbers.append(made)

    def assign(self, indent):
        r, pick = self.random.choice(self.variables), self.random.randrange(10)
        part = "".join(self.random.sample(AXES[:self.n], 2))
        if pick < 3:
            text = "%s = tanh(%s * p[i] + %s);" % (r, r, self.vector())
        elif pick == 3:
            text = "%s.%s = sin(%s);" % (r, part[0], self.scalar())
        elif pick == 4:
            text = "%s.%s = %s.%s * %s;" % (r, part, r, part[::-1], self.number())
        elif pick == 5:
            other = self.random.choice(self.variables)
            text = "let %s = %s; %s = %s; %s = sin(%s);" % (self.name("x"), other, other, r, r, "x%d" % self.count)
        elif pick == 6:
            text = "%s *= %s;" % (r, self.random.choice((self.number(), "sin(%s)" % self.vector(1), r + "." + part[0])))
        elif pick == 7:
            text = "%s = %s + %s(%s);" % (r, r, self.type, self.number())
        elif pick == 8:
            text = "%s = %s.%s * sin(%s);" % (r, r, self.random.choice(AXES[:self.n]), self.random.choice(self.vectors))
        else:  # what another variable held before
            x, other = self.name("x"), self.random.choice(self.variables)
            parts = ", ".join(self.random.choice((x + "." + a, "s")) for a in AXES[:self.n])
            text = "let %s = %s; %s = tanh(%s * p[i]); %s = tanh(%s * p[i] + %s(%s));" % (x, other, other, other, r, r, self.type, parts)
        self.lines.append(indent + text)
        if self.numbers and self.random.random() < 0.6:
            self.lines.append("%s%s = sin(%s);" % (indent, self.random.choice(self.numbers), self.scalar()))

    def construct(self, indent, left):
        k = self.name("k")
        kind = self.random.randrange(5)
        have = [len(x) for x in (self.vectors, self.scalars, self.variables, self.numbers)]
        head = ("for %s in 0..3 {" % k, "for %s in rev(0..2) {" % k, "if %s > %s {" % (self.scalar(), self.number()),
                "if %s > %s {" % (self.scalar(), self.number()), "while %s < 3u {" % k)[kind]
        if kind == 4:
            self.lines.append("%svar %s = 0u;" % (indent, k))
        self.lines.append(indent + head)
        for arm in range(2 if kind == 3 else 1):
            if arm:
                self.lines.append(indent + "} else {")
            self.block(indent + "    ", left - 1)
            for _ in range(self.random.randint(0, 2)):
                self.assign(indent + "    ")
            for x, n in zip((self.vectors, self.scalars, self.variables, self.numbers), have):
                del x[n:]
        if kind == 4:
            self.lines.append("%s    %s += 1;" % (indent, k))
        self.lines.append(indent + "}")

    def block(self, indent, left):
        for _ in range(self.random.randint(2, 5)):
            pick = self.random.randrange(12)
            if pick < 3:
                self.let(indent)
            elif pick == 3:
                self.variable(indent)
            elif pick < 6:
                self.assign(indent)
            elif pick < 9 or not left:
                self.change(indent)
            else:
                self.construct(indent, left)

    def text(self):
        self.lines.append("    var r = w[i];")
        self.vectors.append("r")
        self.variables.append("r")
        self.block("    ", 2)
        self.lines.append("    y[i] += r;")
        return ("struct At { at: %s; }\nprogram f(p: in %s[N], w: in %s[N], a: in At[N], y: inout %s[N], g: inout %s[2], s: f32, t: f32, N: u32) over(i: N) {\n%s\n}\n"
                % ((self.type,) * 5 + ("\n".join(self.lines),)))


def make(seed):
    return Maker(seed).text()


class Flat(Maker):
    def made(self, buffer, row="i"):
        if buffer == "k":
            return "%s(%s)" % (self.type, ", ".join("k." + a for a in AXES[:self.n]))
        return "%s(%s)" % (self.type, ", ".join("%s[%s, %d]" % (buffer, row, k) for k in range(self.n)))

    def strided(self):
        return "%s(%s)" % (self.type, ", ".join("u[%d * i%s]" % (self.n, " + %d" % k if k else "") for k in range(self.n)))

    def change(self, indent):
        pick, part = self.random.randrange(5), self.random.randrange(self.n)
        made, order = self.name("c"), self.random.sample(range(self.n), self.n)
        self.lines.append("%slet %s = %s;" % (indent, made, self.vector()))
        for k in order if self.random.random() < 0.3 else range(self.n):
            value = "%s.%s" % (made, AXES[k])
            self.lines.append(indent + (
                "y[i, %d] += %s;" % (k, value), "y[i, %d] = sin(y[i, %d]) * 0.5 + %s;" % (k, k, value),
                "y[i, %d] += %s;" % (part, value), "atomic_add(g[0, %d], %s);" % (k, value),
                "atomic_add(h[%d], %s);" % (k, value))[pick])

    def text(self):
        text = super().text()
        body = text[text.index("{\n", text.index("program")):]
        for name, made in (("p[i]", self.made("p")), ("w[i]", self.strided()), ("a[i].at", self.made("a"))):
            body = body.replace(name, made)
        body = body.replace("    y[i] += r;", "".join("    y[i, %d] += r.%s;\n" % (k, AXES[k]) for k in range(self.n)))
        # parameters that are a vector's components in a third of the programs, by one of the two names
        names = self.random.choice((("kx", "ky", "kz", "kw"), ("k_x", "k_y", "k_z", "k_w"), None))
        params = "".join(", %s: f32" % k for k in names[:self.n]) if names else ""
        if names:
            body = body.replace("{\n", "{\n    let k = %s(%s);\n" % (self.type, ", ".join(names[:self.n])), 1)
            body = re.sub(r"sin\((?=[vr]\d+\))", "sin(k * ", body)
        d = self.n
        return ("program f(p: in f32[N, %d], u: in f32[M], a: in f32[N, %d], y: inout f32[N, %d], g: inout f32[2, %d], h: inout f32[%d], s: f32, t: f32%s, N: u32, M: u32) over(i: N) %s"
                % (d, d, d, d, d, params, body))


def make_flat(seed):
    return Flat(seed).text()
