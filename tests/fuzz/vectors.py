# SPDX-License-Identifier: MIT
"""Random statements with vectors and structs: variables, parts on either side, operators, functions.

@V is the prefix of a vector's type: nothing or, for f64, `d`.  Values stay bounded: what is
assigned goes through tanh or sin.
"""
from tree import S

# Of three components each: {w} a vector variable, {0} a bounded float.
VALUES3 = (
    "cross({w}, {w}.yzx * {0})", "{w}.zxy * {0} + @Vvec3({0}, 0.3, {w}.y)", "@Vvec3({w}.xx, {0})",
    "reflect({w}, @Vvec3(0.6, {0}, 0.2))", "refract({w}, {w}.zxy, 0.6)", "-{w} / (1.5 + {0} * {0})",
    "normalize({w} + @Vvec3(0, {0}, 2.2))", "mix({w}, @Vvec3({0}), 0.3)", "clamp({w}, -0.9, {0} + 2)",
    "min({w}, {w}.bgr)", "faceforward({w}, {w}.yzx, {w}.zxy)", "({0} > 0.1 ? {w} : sin({w}.zyx))",
    "select({0} < 0.3, {w}, 1 - {w})", "atan2({w}, 1.3 + {w} * {w})", "stop_grad({w}) * {w}.yzx",
    "({w} == {w}.zyx ? @Vvec3({0}) : {w})", "sum({k} in 0..3: {w} * sin(@F({k}) + {0}))",
    "sum({k} in 0..3: {w}[{k}] * {w}.yzx[2 - {k}] * @Vvec3({0}, {w}[0], 1))",
    "outer({w}, {w}.zxy) * @Vvec3({0}, 0.2, 1)", "{w} * (@Vmat3({0}) + outer({w}.yzx, {w})) * transpose(@Vmat3({w}, {w}.zxy, {w}.yyx))",
    "inverse(@Vmat3(2.5) + outer(sin({w}), cos({w}.zxy * {0})) * 0.4) * {w}", "@Vmat2x3({w}, {w}.zyx)[u32({0} > 0.1)]",
)
SCALARS = (
    "dot({w}, {w}.yzx * {0})", "length({w})", "distance({w}, {w}.zxy + {0})", "{w}.y", "({w} + {0}).zx.y",
    "length({w}.xy - {w}.xy)", "normalize({w}.xz + 2.3).y", "dot(@Vvec2({0}, 0.4), {w}.yz)",
    "determinant(@Vmat2({w}.xy, {w}.z, {0}))", "(@Vmat2(2.1) * inverse(@Vmat2(2.5, {w}.x * 0.4, sin({0}) * 0.5, 2)))[1].x",
    "{w}[u32({0} > 0.2)]", "({w} * {0}).zx[i32({0} < 0.1)]", "{w}[i32({0} > 0.3) * 4 - 1]",
)
PARTS = (
    "{w} *= 0.7 + 0.3 * sin({0});", "{w}.xy += sin({w}.zx) * 0.4;", "{w}.z = tanh({0});",
    "{w}.zx = {w}.xz;", "{w}.gb -= cos({0}) * 0.3;", "{w} = sin({w} + {0});",
    "{w}[u32({0} > 0.1)] *= 0.8;", "{w}.zx[i32({0} < 0.2)] = sin({0});", "{w}[1] = {w}[2] * {0} * 0.2;",
    "{w}[i32({0} > 0.4) * 3] -= sin({w}.x);", "{w}.y--;", "++{w};", "--{w}[2];",
)
# Of a local array {w} of three vectors of two components.
ELEMENTS = (
    "{w}[u32({0} > 0.1)] = @Vvec2(sin({0}), {w}[2].x * 0.5);", "{w}[1].yx = tanh({w}[0] + {0});",
    "{w}[2][i32({0} > 0.3)] += sin({w}[1].y) * 0.4;", "{w}[0].xy[i32({0} < 0.2) * 2] = cos({0});",
    "for {k} in 0..3 {{ {w}[2 - {k}] = sin({w}[{k}].yx * {0} + 0.2); }}", "{w}[1] *= 0.8 + 0.1 * sin({0});",
    "{w}[u32({0} > 0.1)].x = {w}[0].y * {w}[1][u32({0} > 0.4)];",
)
ELEMENT_VALUES = ("dot({w}[0], {w}[u32({0} > 0)])", "{w}[1].y", "{w}[i32({0} > 0.2) * 3].x", "{w}[0][i32({0} > 0.1)]",
                  "sum({k} in 0..3: {w}[{k}] * {0}).y", "{w}[1].yx[u32({0} > 0.3)]")

# Of a struct {w}, tree.PACK; what is assigned is bounded, as above.
PACKS = (
    "{w}.v = tanh({w}.v.yzx * {0} + {w}.w[0]);", "{w}.w[u32({0} > 0.1)] = sin({w}.a + {0});",
    "{w}.w[1] *= 0.6 + {w}.v[i32({0} > 0.3) * 4 - 1] * 0.1;", "{w}.v.zx = {w}.v.xy;",
    "{w}.w = @F[2]({w}.w[1], tanh({0}));", "{w}.a = tanh({w}.a + dot({w}.v, {w}.v.zxy));",
    "{w} = {0} > 0.2 ? {w} : Pack {{ v: {w}.v.zxy, a: sin({0}), w: {w}.w }};",
    "for {k} in 0..2 {{ {w}.w[{k}] = sin({w}.w[1 - {k}] * {0} + {w}.a); }}",
)
PACK_VALUES = ("{w}.a", "dot({w}.v, {w}.v.yzx)", "{w}.w[u32({0} > 0.2)]", "sum({k} in 0..3: {w}.w[{k}] * {w}.v[{k}])",
               "({0} > 0 ? {w}.w : @F[2]({0}, {w}.a))[1]", "({w} == {w} ? {w}.a : {0})")

# Of a local array {w} of three structs, and of one of two matrices.
RECORDS = (
    "{w}[u32({0} > 0.1)] = Pack {{ a: sin({0}), v: tanh(@Vvec3(0.2, {0}, {w}[1].a)), w: {w}[2].w }};",
    "{w}[1].v.zx = tanh({w}[0].v.xy + {0});", "{w}[2].w[i32({0} > 0.3) * 2] = sin({w}[1].a + {0});",
    "{w}[0].a = tanh({w}[0].a + dot({w}[1].v, {w}[2].v.zxy));", "{w}[i32({0} > 0.2) * 3] = {w}[1];",
    "for {k} in 0..3 {{ {w}[2 - {k}].v[{k}] = sin({w}[{k}].w[1] * {0} + 0.3); }}", "{w}[1].v *= 0.7;",
)
RECORD_VALUES = ("{w}[1].v.y", "dot({w}[u32({0} > 0)].v, {w}[0].v)", "{w}[i32({0} > 0.2) * 3].a",
                 "sum({k} in 0..3: {w}[{k}].w[i32({0} > 0.1)])", "{w}[2].v.zx[i32({0} > 0.3) * 2]")
MATRICES = (
    "{w}[u32({0} > 0.1)] = @Vmat2(sin({0}), 0.3, {w}[1][0] * 0.5);", "{w}[1][0] = sin({w}[0] * @Vvec2({0}, 0.4) + 0.2);",
    "{w}[0][1][i32({0} > 0.2) * 2] = cos({0});", "{w}[1][i32({0} > 0.2)].yx *= 0.6;", "{w}[0] = transpose({w}[1]) * 0.8;",
)
MATRIX_VALUES = ("determinant({w}[0])", "({w}[1] * @Vvec2(0.3, {0})).x", "{w}[0][u32({0} > 0.1)].y", "{w}[1][0][i32({0} > 0)]")
ARRAYS = {"@E2": ("@Vvec2[3]", ELEMENTS, ELEMENT_VALUES), "@R": ("Pack[3]", RECORDS, RECORD_VALUES),
          "@M": ("@Vmat2[2]", MATRICES, MATRIX_VALUES)}


class Vectors:
    def vector(self, c):
        """A statement that declares one, if there is none; and the name of one."""
        found = self.named(c, "@V3", True)
        if found:
            return [], found
        return self.s_vector(c), c.vars[-1][0]

    def s_vector(self, c):
        parts = [self.number(c, "@F", 2) for _ in range(3)]
        name = c.name("w")
        c.vars.append((name, "@V3", True))
        return [S("vector", "var %s = @Vvec3({0}, {1}, {2});" % name, parts)]

    def s_vector_assign(self, c):
        out, w = self.vector(c)
        whole = self.chance(0.6)
        text = "{w} = tanh(%s);" % self.r.choice(VALUES3) if whole else self.r.choice(PARTS)
        return out + [S("vector assign", text.replace("{w}", w).replace("{k}", c.name("k")),
                        [self.number(c, "@F", 2)])]

    def s_vector_value(self, c):
        out, w = self.vector(c)
        e = self.number(c, "@F", 2)
        text, name = self.r.choice(SCALARS).replace("{w}", w), c.name()
        c.vars.append((name, "@F", False))
        return out + [S("vector value", "let %s = %s;" % (name, text), [e])]

    def pack(self, c):
        """As `vector`, of a struct."""
        found = self.named(c, "@Pack", True)
        if found:
            return [], found
        return self.s_struct(c), c.vars[-1][0]

    def s_struct(self, c):
        parts = [self.number(c, "@F", 2) for _ in range(3)]
        name = c.name("s")
        c.vars.append((name, "@Pack", True))
        if self.chance(0.2):
            return [S("struct", "var %s: Pack;" % name)]
        text = "var %s = Pack {{ w: @F[2](sin({0}), 0.4), a: sin({1}), v: @Vvec3(sin({2}), 0.3, -0.2) }};"
        return [S("struct", text % name, parts)]

    def s_struct_assign(self, c):
        out, w = self.pack(c)
        text = self.r.choice(PACKS).replace("{w}", w).replace("{k}", c.name("k"))  # ahead of those inside
        return out + [S("struct assign", text, [self.number(c, "@F", 2)])]

    def s_struct_value(self, c):
        out, w = self.pack(c)
        text, name = self.r.choice(PACK_VALUES).replace("{w}", w).replace("{k}", c.name("k")), c.name()
        e = self.number(c, "@F", 2)
        c.vars.append((name, "@F", False))
        return out + [S("struct value", "let %s = %s;" % (name, text), [e])]

    def s_element_assign(self, c, kind=None):
        kind = kind or self.r.choice(tuple(ARRAYS))
        name = self.named(c, kind, True)
        out = [] if name else [S("element", "local %s: %s;" % (c.name("l"), ARRAYS[kind][0]))]
        if not name:
            name = out[0].heads[0].split()[1][:-1]
            c.vars.append((name, kind, True))
        text = self.r.choice(ARRAYS[kind][1]).replace("{w}", name).replace("{k}", c.name("k"))
        return out + [S("element assign", text, [self.number(c, "@F", 2)])]

    def s_element_value(self, c):
        kind = self.r.choice(tuple(ARRAYS))
        out = [] if self.named(c, kind, True) else self.s_element_assign(c, kind)
        text = self.r.choice(ARRAYS[kind][2]).replace("{w}", self.named(c, kind, True)).replace("{k}", c.name("k"))
        name, e = c.name(), self.number(c, "@F", 2)
        c.vars.append((name, "@F", False))
        return out + [S("element value", "let %s = %s;" % (name, text), [e])]
