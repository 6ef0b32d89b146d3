# SPDX-License-Identifier: MIT
"""Random statements with buffers of structs, vectors and matrices, and with rows of others: elements
and parts of them on either side, copied, passed to functions by value and to be changed, added to
atomically.

A buffer of such elements is several buffers, or one of more axes, to everything behind the parser;
what it is in one place (the index of a part, what an assignment leaves alone) can go wrong in each.
An invocation owns its rows of them, as of other buffers; `sums` are added to by all.
"""
from tree import Buffer, S, Scope
from vectors import PACKS, PACK_VALUES, PARTS, SCALARS, VALUES3

# Of an element {w}; {0} is a bounded float, {k} a new name.  What is assigned is bounded.
QUADS = ("{w} = sin({w}.wzyx * {0} + 0.2);", "{w}.yw = tanh({w}.zx + {0});", "{w}[u32({0} > 0.1) * 3] *= 0.7;",
         "{w}.xyz = tanh(cross({w}.yzw, @Vvec3({0}, 0.2, {w}.x)));", "{w} = normalize({w} + @Vvec4({0}, 0, 0, 2.4)).zxwy;",
         "{w}.bgr *= 0.8;", "{w} = {0} > 0.3 ? {w}.yxwz : tanh({w} - {0});")
QUAD_VALUES = ("dot({w}, {w}.yzwx)", "{w}.w", "length({w}.zw + {0})", "{w}[i32({0} > 0.2) * 5]", "{w}.wz[u32({0} > 0)]")
MATRICES = (
    "{w} = @Vmat2x3(sin({w}[1] * {0}), tanh({w}[0].zxy + 0.2));", "{w}[1].zx = tanh({w}[0].xy + {0});",
    "{w}[u32({0} > 0.1)][1] = sin({0});", "{w}[0] = sin({w} * @Vvec2({0}, 0.4));", "{w} *= @Vmat2(0.6, 0.1, 0.2 * sin({0}), 0.7);",
    "{w} = outer(sin({w}[1] + {0}), @Vvec2(0.3, 0.6)) * 0.8;", "for {k} in 0..3 {{ {w}[0][{k}] = cos({w}[1][2 - {k}] * {0}); }}",
)
MATRIX_VALUES = ("({w} * @Vvec2({0}, 0.5)).y", "{w}[0].z", "{w}[u32({0} > 0.2)][2]", "dot({w}[0], {w}[1])",
                 "determinant(@Vmat2({w}[0].xy, {w}[1].zx + 0.3))", "(@Vvec3({0}, 0.2, 0.1) * {w}).x", "transpose({w})[1].y")
CELLS = (
    "{w}.q[u32({0} > 0.1)].v.zx = tanh({w}.p.v.xy + {0});", "{w}.p = {w}.q[i32({0} > 0.3) * 2];", "{w}.n += i32({0} * 2.3);",
    "{w}.q[{w}.n & 1].a = sin({w}.p.w[1] + {0});", "{w}.on = {w}.on ^ ({0} > 0.3);", "if {w}.on {{ {w}.p.v *= 0.7; {w}.n--; }}",
    "{w}.m[1] = tanh({w}.m * @Vvec2({0}, {w}.p.a));", "switch {w}.n {{ case 0 {{ {w}.p.a = tanh({0}); }} default {{ {w}.q[1].w = {w}.p.w; }} }}",
    "{w}.q[{w}.n].w[{w}.n - 1] = cos({0});", "{w}.q = {w}.on ? {w}.q : Pack[2]({w}.q[1], {w}.p);", "{w}.p = turn({w}.q[1], {0});",
    "for {k} in 0..2 {{ {w}.q[1 - {k}].w[{k}] = sin({w}.q[{k}].a * {0} + 0.1); }}",
)
CELL_VALUES = ("({w}.on ? {w}.p.a : {w}.q[{w}.n & 1].a)", "determinant({w}.m)", "pair({w}.p, {w}.q[u32({0} > 0.2)])",
               "sum({k} in 0..2: {w}.q[{k}].w[1 - {k}] * {w}.p.v[{k}])", "{w}.q[{w}.n].v.y", "({w}.p == {w}.q[0] ? {0} : {w}.m[1].x)")
ROWS = (
    "{w}[u32({0} > 0.1)] = tanh({w}[2] + {0});", "{w} = @F[3]({w}[1], sin({0}), 0.5 * {w}[2]);",
    "for {k} in 0..3 {{ {w}[2 - {k}] = sin({w}[{k}] * {0}); }}", "{w} = {0} > 0.2 ? {w} : @F[3](sin({0}), 0.1, {w}[0]);",
)
ROW_VALUES = ("{w}[0] * {w}[2]", "{w}[u32({0} > 0.2) * 2]", "sum({k} in 0..3: {w}[{k}] * 0.5)",
              "({w} == @F[3](0.1, {w}[1], 0.2) ? {0} : {w}[1])")
REST = {"@F3": ", 3"}  # of the buffer's sizes, where an element is a row
# type, statements, values, what an element begins as
KINDS = {
    "@Pack": ("Pack", PACKS, PACK_VALUES, "Pack {{ a: sin({0}), v: @Vvec3(0.4, sin({0}), 0.2), w: @F[2](0.3, 0.6) }}"),
    "@V3": ("@Vvec3", tuple("{w} = tanh(%s);" % v for v in VALUES3) + PARTS * 2, SCALARS, "@Vvec3(sin({0}), 0.4, 0.1)"),
    "@V4": ("@Vvec4", QUADS, QUAD_VALUES, "@Vvec4(0.3, sin({0}), 0.4, 0.1)"),
    "@M23": ("@Vmat2x3", MATRICES, MATRIX_VALUES, "@Vmat2x3(0.3, sin({0}), 0.4, 0.1, 0.7, 0.2)"),
    "@Cell": ("Cell", CELLS, CELL_VALUES, None),
    "@F3": ("@F", ROWS, ROW_VALUES, "@F[3](sin({0}), 0.4, 0.1)"),
}
# {v} a new name, {a} a float variable, {b} the buffer, {r} the indices of its row, {u} another element.
CALLS = {
    "@Pack": ("nudge({w}, {0});", "trade({w}.a, {a});", "trade({w}.w[u32({0} > 0.3)], {w}.v.y);", "{w} = turn({w}, {0});",
              "let {v} = pair({w}, {u}) * 0.5;", "{a} = tanh(pair(turn({w}, {0}), {u}));", "spin({w}.v.zxy, {w}.a);",
              "stir({b}, {r}, {0});", "let {v} = blend({w}.w[1], {u}.v.x, {0});", "let {v} = level({w}.w, {a});"),
    "@V3": ("spin({w}, {a});", "spin({w}.zxy, {u}.x);", "{w} = bend({w}.zyx * {0});", "trade({w}[i32({0} > 0.2) * 4], {w}.y);",
            "whirl({b}, {r}, {0});", "let {v} = middle({w}, {u}, {0}).y;"),
}
PARTS_OF = {"@Pack": (".a", ".v.y", ".w[1]", ".v[u32({0} > 0.2)]"), "@V3": (".z", "[i32({0} > 0.1)]"), "@V4": (".x", "[3]")}


class Typed:
    # ---- parameters
    def typed_rows(self, over, shape):
        """Parameters: [(text, whether it is an input only)]; fills self.typed and self.sums."""
        self.typed, self.sums, out = [], [], []
        for kind, (t, _, _, start) in KINDS.items():
            if self.chance(0.06 if kind == "@Cell" else 0.17):
                cls = self.r.choice(("in", "inout", "inout", "out") if start else ("in", "inout", "inout"))
                extent = None if kind == "@Cell" else "K"
                name = "trow" if kind in REST else "t" + t.split("vec")[-1].split("mat")[-1].lower()
                self.typed.append(Buffer(name, kind, cls, list(over), extent, cls != "out", cls != "in"))
                out.append(("%s: %s %s[%s]" % (
                    name, cls, t, shape + (", K" if extent else "") + REST.get(kind, "")), cls == "in"))
        if self.chance(0.22):
            kind = self.r.choice(tuple(PARTS_OF))
            self.sums.append(Buffer("ts", kind, "acc", [], "K", False, False))
            out.append(("ts: %s %s[K]" % (self.r.choice(("inout", "out")), KINDS[kind][0]), False))
        return out

    def typed_start(self, c):
        """Buffers that begin undefined get all their elements."""
        out = []
        for b in self.typed:
            if b.cls == "out":
                i, b.readable = Scope(c), True
                k = i.name("k")
                i.vars.append((k, "u32", False))
                i.loops, i.cost = 1, 4
                out.append(S("for", "for %s in 0u..K" % k, [], [[S("typed store", "%s[%s, %s] = %s;" % (
                    b.name, ", ".join(b.prefix), k, KINDS[b.t][3]), [self.number(i, "@F", 2)])]]))
        return out

    # ---- elements
    def some_typed(self, kinds=tuple(KINDS), write=False):
        found = [b for b in self.typed if b.t in kinds and (b.writable if write else b.readable)]
        return self.r.choice(found) if found else None

    def element(self, c, b, exprs):
        """The text of an element; its index is added to the expressions."""
        text, more = self.indices(c, b)
        for n in range(len(more) - 1, -1, -1):
            text = text.replace("{%d}" % n, "{%d}" % (n + len(exprs)))
        exprs += more
        return "%s[%s]" % (b.name, text)

    def about(self, c, b, text):
        """A template's text with an element of b, and its expressions."""
        text = text.replace("{k}", c.name("k"))  # ahead of those inside
        exprs = [self.number(c, "@F", 2)]
        return text.replace("{w}", self.element(c, b, exprs)), exprs

    def s_typed_assign(self, c):
        b = self.some_typed(write=True)
        return [S("typed assign", *self.about(c, b, self.r.choice(KINDS[b.t][1])))] if b else self.s_struct_assign(c)

    def s_typed_value(self, c):
        b = self.some_typed()
        if not b:
            return self.s_struct_value(c)
        text, exprs = self.about(c, b, self.r.choice(KINDS[b.t][2]))
        name = c.name()
        c.vars.append((name, "@F", False))
        return [S("typed value", "let %s = %s;" % (name, text), exprs)]

    def s_typed_copy(self, c):
        """Between elements and variables of one type."""
        b, exprs = self.some_typed(), []
        if not b:
            return self.s_struct_assign(c)
        source, name = self.element(c, b, exprs), self.named(c, b.t, True)
        to = [t for t in self.typed if t.t == b.t and t.writable]
        if to and self.chance(0.4):
            return [S("typed copy", "%s = %s;" % (self.element(c, self.r.choice(to), exprs), source), exprs)]
        if name and b.writable and self.chance(0.5):
            return [S("typed copy", "%s = %s;" % (source, name), exprs)]
        if name and self.chance(0.4):
            return [S("typed copy", "%s = %s;" % (name, source), exprs)]
        name = c.name("s")
        c.vars.append((name, b.t, True))
        return [S("typed copy", "var %s = %s;" % (name, source), exprs)]

    def s_typed_call(self, c):
        b = self.some_typed(tuple(CALLS), True)
        if not b:
            return self.s_changing_call(c)
        out = [] if self.named(c, "@F", True) else self.s_var(c)
        text, exprs = self.about(c, b, self.r.choice(CALLS[b.t]))
        if "{u}" in text:
            text = text.replace("{u}", self.element(c, self.some_typed((b.t,)), exprs))
        v = c.name()
        if "let {v}" in text:
            c.vars.append((v, "@F", False))
        rows = {1: "%s", 2: "0, %s", 3: "0, 0, %s"}[len(b.prefix)] % b.prefix[-1]
        if len(b.prefix) > 1:  # the functions take buffers of two dimensions
            text = text.replace("stir({b}, {r}, {0})", "{w} = turn({w}, {0})").replace("whirl({b}, {r}, {0})", "{w} *= 0.7")
            text = text.replace("{w}", self.element(c, b, exprs))
        for letter, name in (("v", v), ("a", self.named(c, "@F", True)), ("b", b.name), ("r", rows)):
            text = text.replace("{%s}" % letter, name)
        return out + [S("typed call", text, exprs)]

    def s_typed_atomic(self, c):
        if not self.sums:
            return self.s_atomic(c) if self.atomics else self.s_let(c)
        b, exprs = self.sums[0], [self.number(c, "@F", 2)]
        part = self.element(c, b, exprs) + self.r.choice(PARTS_OF[b.t])
        return [S("typed atomic", "atomic_%s(%s, {0});" % (self.r.choice(("add", "sub")), part), exprs)]
