# SPDX-License-Identifier: MIT
"""Random GLSL expressions: of numbers, vectors, matrices and structs, without undefined behaviour.

Floats stay moderate (what grows is divided or bounded), integers wrap, divisors and shifts are made to fit, and
nothing depends on the order in which operands are evaluated.
"""
import re

SCALARS = ("float", "int", "uint", "bool")
VECTORS = {"float": "vec", "int": "ivec", "uint": "uvec", "bool": "bvec"}
OF_VECTOR = {p + str(n): (s, n) for s, p in VECTORS.items() for n in (2, 3, 4)}
OF_MATRIX = {"mat2": (2, 2), "mat3": (3, 3), "mat4": (4, 4), "mat2x3": (2, 3), "mat3x2": (3, 2), "mat4x2": (4, 2)}
LETTERS = "xyzw", "rgba"

# Without asin and acos, of which drivers have four digits (Mesa: 3.5e-4 at 0.9): what is left of a difference, or
# chosen by a comparison, would have none.  scripts/spirv/functions.py has them.
UNARY = ("sin(%s)", "cos(%s)", "tanh(%s)", "sqrt(abs(%s) + 0.25)", "exp(-abs(%s))", "abs(%s)", "atan(%s)",
         "inversesqrt(1.0 + %s * %s)", "log(1.5 + abs(%s))", "exp2(min(%s, 2.0))", "log2(2.0 + abs(%s))",
         "clamp(%s, -1.5, 1.5)", "smoothstep(-1.0, 1.0, %s)", "pow(abs(%s) + 0.5, $(1.5))", "-(%s)", "fract(%s * 0.37)",
         "floor(%s * 1.3)", "ceil(%s * 0.7)", "sign(%s)", "asinh(%s)", "step(0.3, %s)",
         "sinh(clamp(%s, -2.0, 2.0))", "radians(%s * 20.0)", "trunc(%s * 1.7)", "atan(%s, $(1.25))")
BINARY = ("(%s + %s)", "(%s - %s)", "(%s * %s)", "min(%s, %s)", "max(%s, %s)", "mod(%s, 1.0 + abs(%s))",
          "(%s / (1.0 + abs(%s)))")
WHOLE = ("(%s + %s)", "(%s - %s)", "(%s * %s)", "(%s & %s)", "(%s | %s)", "(%s ^ %s)", "min(%s, %s)", "max(%s, %s)")


def vector_of(scalar, n):
    return scalar if n == 1 else VECTORS[scalar] + str(n)


def literal(r, t):
    if t == "bool":
        return r.choice(("true", "false"))
    if t == "float":
        return r.choice(("0.5", "1.0", "-0.75", "0.25", "1.5", "-1.25", "0.125", "2.0", "0.3"))
    return "%d" % r.randrange(9) + ("u" if t == "uint" else "")


class Expressions:
    """Needs: self.r, self.scope [(name, type, assignable)], self.structs {name: [(field, type)]}, self.shared reads."""

    # ---- what is there
    def places(self, t, assignable=False):
        """Expressions of the type that name (part of) a variable; #3 is an index below 3."""
        out = []
        for name, of, may in self.scope:
            if may or not assignable:
                out += self.parts(name, of, t, 3)
        return out

    def parts(self, path, of, t, depth):
        if of == t:
            return [path]
        if depth == 0:
            return []
        if of in self.structs:
            return [p for f, ft in self.structs[of] for p in self.parts(path + "." + f, ft, t, depth - 1)]
        if of in OF_MATRIX:
            c, n = OF_MATRIX[of]
            return self.parts("%s[#%d]" % (path, c), "vec%d" % n, t, depth - 1)
        if of in OF_VECTOR:
            return self.components(path, of, t)
        if of.endswith("]"):
            element, _, n = of[:-1].partition("[")
            return self.parts("%s[#%s]" % (path, n), element, t, depth - 1)
        return []

    def components(self, path, of, t):
        scalar, n = OF_VECTOR[of]
        letters = self.r.choice(LETTERS)
        if t == scalar:
            return ["%s.%s" % (path, self.r.choice(letters[:n])), "%s[#%d]" % (path, n)]
        if OF_VECTOR.get(t, (0, 9))[0] == scalar and OF_VECTOR[t][1] <= n:
            return ["%s.%s" % (path, "".join(self.r.sample(letters[:n], OF_VECTOR[t][1])))]
        return []

    # ---- by type
    def expr(self, t, depth=2):
        here = self.places(t) if depth < 3 else []
        if here and self.r.random() < (0.8 if depth <= 0 else 0.3):
            return self.indexed(self.r.choice(here))
        reads = self.reads(t) if depth > 0 else None
        if reads and self.r.random() < 0.35:
            return self.r.choice(reads)
        if t in self.structs:
            return "%s(%s)" % (t, ", ".join(self.expr(ft, depth - 1) for _, ft in self.structs[t]))
        if t.endswith("]"):
            element, _, n = t[:-1].partition("[")
            return "%s[](%s)" % (element, ", ".join(self.expr(element, depth - 1) for _ in range(int(n))))
        if depth <= 0:
            return self.leaf(t)
        if self.r.random() < 0.08:
            return "(%s ? %s : %s)" % (self.expr("bool", depth - 1), self.expr(t, depth - 1), self.expr(t, depth - 1))
        if t in OF_MATRIX:
            return self.matrix(t, depth)
        scalar, n = OF_VECTOR.get(t, (t, 1))
        return getattr(self, "of_" + scalar)(t, n, depth)

    def reads(self, t):
        """Expressions of the type that read a buffer."""
        return None

    def leaf(self, t):
        scalar, n = OF_VECTOR.get(t, (t, 1))
        if t in OF_MATRIX:
            c, rows = OF_MATRIX[t]
            return "%s(%s)" % (t, ", ".join(literal(self.r, "float") for _ in range(c * rows)))
        if n == 1:
            return literal(self.r, t)
        return "%s(%s)" % (t, ", ".join(literal(self.r, scalar) for _ in range(self.r.choice((1, n)))))

    def of_float(self, t, n, depth):
        e = lambda of=t: self.expr(of, depth - 1)
        kind = self.r.randrange(12)
        if kind < 4:
            return self.r.choice(BINARY) % (e(), e())
        if kind < 7:
            f = self.r.choice(UNARY)
            x = e()
            return f.replace("$", t) % ((x,) * f.count("%s"))
        if kind == 7:
            return self.r.choice(("mix(%s, %s, %s)", "fma(%s, %s, %s)")) % (e(), e(), e())
        if n == 1:
            return self.scalar_float(depth)
        return self.vector_float(t, n, depth)

    def scalar_float(self, depth):
        e = lambda of: self.expr(of, depth - 1)
        v = "vec%d" % self.r.choice((2, 3, 4))
        k = self.r.randrange(9)
        if k == 0:
            return "dot(%s, %s)" % (e(v), e(v))
        if k == 1:
            return "length(%s)" % e(v)
        if k == 2:
            return "distance(%s, %s)" % (e(v), e(v))
        if k == 3:
            return "float(%s %% 17)" % self.natural(depth)
        if k == 4:
            return "float(%s)" % e("bool")
        if k == 5:
            m = self.r.choice(("mat2", "mat3"))
            return "determinant(%s(2.0) + %s)" % (m, e(m))  # of outerProduct alone it is rounding errors
        if k == 6:
            return "unpackHalf2x16(packHalf2x16(vec2(%s, 0.5))).x" % e("float")
        if k == 7:
            return "uintBitsToFloat(floatBitsToUint(%s))" % e("float")
        return "ldexp(%s, %d)" % (e("float"), self.r.randrange(-2, 3))

    def vector_float(self, t, n, depth):
        e = lambda of=t: self.expr(of, depth - 1)
        k = self.r.randrange(9)
        if k == 0:
            return "normalize(%s + %s(2.5))" % (e(), t)
        if k == 1 and n == 3:
            return "cross(%s, %s)" % (e(), e())
        if k == 2:
            return "reflect(%s, normalize(%s + %s(3.0)))" % (e(), e(), t)
        if k == 3:
            m = self.r.choice([m for m, (_, rows) in OF_MATRIX.items() if rows == n])
            return "(%s * %s)" % (self.closed(m, depth), self.closed("vec%d" % OF_MATRIX[m][0], depth))
        if k == 4:
            m = self.r.choice([m for m, (c, _) in OF_MATRIX.items() if c == n])
            return "(%s * %s)" % (self.closed("vec%d" % OF_MATRIX[m][1], depth), self.closed(m, depth))
        if k == 5:
            return "(%s * %s)" % (self.closed(t, depth), self.closed("float", depth))
        if k == 6:
            return "mix(%s, %s, %s)" % (e(), e(), self.expr("bvec%d" % n, depth - 1))
        if k == 7:
            return "unpackUnorm4x8(packUnorm4x8(%s))%s" % (e("vec4"), ("", ".yx", ".wxz", "")[n - 1] if n < 4 else "")
        return "%s(%s)" % (t, ", ".join(self.expr("float", depth - 1) for _ in range(n)))

    def closed(self, t, depth):
        return "(%s)" % self.expr(t, depth - 1)

    def matrix(self, t, depth):
        c, n = OF_MATRIX[t]
        k = self.r.randrange(6)
        if k == 0:
            return "(%s + %s)" % (self.expr(t, depth - 1), self.expr(t, depth - 1))
        if k == 1:
            return "(%s * %s)" % (self.closed(t, depth), self.closed("float", depth))
        if k == 2:
            return "outerProduct(%s, %s)" % (self.expr("vec%d" % n, depth - 1), self.expr("vec%d" % c, depth - 1))
        if k == 3:
            other = {v: m for m, v in OF_MATRIX.items()}.get((n, c))
            if other:
                return "transpose(%s)" % self.expr(other, depth - 1)
        if k == 4:
            return "matrixCompMult(%s, %s)" % (self.expr(t, depth - 1), self.expr(t, depth - 1))
        return "%s(%s)" % (t, ", ".join(self.expr("vec%d" % n, depth - 1) for _ in range(c)))

    def natural(self, depth):
        """An int that is not negative."""
        return "(%s & 0xffff)" % self.expr("int", depth - 1)

    def of_int(self, t, n, depth):
        return self.integer(t, n, "int", depth)

    def of_uint(self, t, n, depth):
        return self.integer(t, n, "uint", depth)

    def integer(self, t, n, scalar, depth):
        e = lambda of=t: self.expr(of, depth - 1)
        u = "u" if scalar == "uint" else ""
        k = self.r.randrange(14)
        if k < 5:
            return self.r.choice(WHOLE) % (e(), e())
        if k == 5:
            return "(%s %s %d%s)" % (e(), self.r.choice(("<<", ">>")), self.r.randrange(8), u)
        if k == 6:
            return "((%s & %s(0xffff)) %s %d%s)" % (e(), t, self.r.choice("%/"), self.r.randrange(1, 9), u)
        if k == 7:
            return "%s(bitCount(%s))" % (t, e())
        if k == 8:
            return self.r.choice(("bitfieldExtract(%s, 3, 7)", "bitfieldReverse(%s)", "(~%s)")) % e()
        if k == 9:
            return "bitfieldInsert(%s, %s, 4, 9)" % (e(), e())
        if k == 10:
            return "%s(%s(%s))" % (t, self.r.choice(("findMSB", "findLSB")), e())
        if k == 11:
            other = vector_of("int" if u else "uint", n)
            return "%s(%s)" % (t, self.expr(other, depth - 1))
        if k == 12:
            low = "0.0" if u else "-50.0"
            return "%s(clamp(%s * 7.3, %s, 50.0))" % (t, self.expr(vector_of("float", n), depth - 1), low)
        if n == 1:
            return "%s(%s)" % (t, self.expr("bool", depth - 1))
        return "%s(%s)" % (t, ", ".join(self.expr(scalar, depth - 1) for _ in range(n)))

    def of_bool(self, t, n, depth):
        e = lambda of: self.expr(of, depth - 1)
        k = self.r.randrange(6)
        of = vector_of(self.r.choice(("float", "int", "uint")), n)
        if n > 1:
            return "%s(%s, %s)" % (self.r.choice(("lessThan", "greaterThanEqual", "notEqual")), e(of), e(of))
        if k < 3:
            return "(%s %s %s)" % (e(of), self.r.choice(("<", ">", "<=", ">=") if of == "float" else
                                                        ("<", ">", "<=", ">=", "==", "!=")), e(of))
        if k == 3:
            return "(%s %s %s)" % (e("bool"), self.r.choice(("&&", "||", "^^")), e("bool"))
        if k == 4:
            return "!(%s)" % e("bool")
        return "%s(%s)" % (self.r.choice(("any", "all")), e("bvec%d" % self.r.choice((2, 3, 4))))

    # ---- indices
    def indexed(self, path):
        return re.sub(r"#(\d+)", lambda m: self.index(int(m.group(1))), path)

    def index(self, n):
        """An index below the number n."""
        known = [name for name, most in self.below.items() if most <= n]
        k = self.r.randrange(6)
        if known and k < 3:
            return self.r.choice(known)
        if k == 3:
            return "(%s) %% %du" % (self.expr("uint", 1), n)
        if k == 4:
            return "clamp(%s, 0, %d)" % (self.expr("int", 1), n - 1)
        return str(self.r.randrange(n))
