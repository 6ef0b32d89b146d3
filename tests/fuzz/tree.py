# SPDX-License-Identifier: MIT
"""Programs as trees, which tests/fuzz/shrink.py edits: `E` an expression, `S` a statement with
blocks of statements, `Program` the entire program.  In its text @F is the main float type (f32; f64
for comparison with finite differences), @G a second one (f16 or f64), @S the suffix of float
literals, @V the prefix of a vector's type, @W that of one of @G.
"""
import re

PACK = "struct Pack { a: @F; v: @Vvec3; w: @F[2]; }"  # used by vectors.py
CELL = "struct Cell { p: Pack; n: i32; q: Pack[2]; on: bool; m: @Vmat2; }"  # used by typed.py
# The buffers that a buffer of such elements is: fields, their scalars, the axes behind the buffer's own.
FIELDS = {
    "@Vvec3": [("", "@F", "3")], "@Vvec4": [("", "@F", "4")], "@Vmat2x3": [("", "@F", "2, 3")],
    "Pack": [(".a", "@F", ""), (".v", "@F", "3"), (".w", "@F", "2")],
    "Cell": [(".p.a", "@F", ""), (".p.v", "@F", "3"), (".p.w", "@F", "2"), (".n", "i32", ""), (".q.a", "@F", "2"),
             (".q.v", "@F", "2, 3"), (".q.w", "@F", "2, 2"), (".on", "bool", ""), (".m", "@F", "2, 2")],
}
# Functions that are used by calls.py and library.py, with the tables that they read.
HELPERS = {
    "tap": "const TAPS: Tap[2] = Tap[2](Tap { v: @Vvec3(0.5, -0.25, 1), w: @F[2](0.75, -1) }, "
           "Tap { v: TURN * @Vvec3(1, 0.5, 0), w: @F[2](TURN[1].x, 0.25) }); "
           "const TURN: @Vmat3 = @Vmat3(@Vvec3(0, 1, 0), @Vvec3(-1, 0, 0.25), @Vvec3(0.5)); struct Tap { v: @Vvec3; w: @F[2]; } "
           "fn tap(k: i32, x: @F) -> @F { return TAPS[k].v[k] * sin(x) + dot(TURN[k + 1], TAPS[1 - k].v) * x * TAPS[0].w[k]; }",
    "trade": "fn trade(a: inout @F, b: inout @F) { let t = a; a = sin(b) * 0.9; b = t * 0.7; }",
    "blend": "fn blend(a: inout @F, b: out @F, w: @F) -> @F { b = tanh(a * w); "
             "if w > 0.2 { a = sin(a + w); return a * 0.5; } a *= 0.6; return b; }",
    "spin": "fn spin(v: inout @Vvec3, a: inout @F) { for k in 0..2 { if v[k] > 0.4 { a = tanh(a + v.x); return; } "
            "v = v.yzx * (0.8 + 0.1 * sin(a)); } a = cos(v.y) * 0.5; }",
    "bend": "fn bend(a: @F) -> @F { return sin(a * 1.3); } fn bend(v: @Vvec3) -> @Vvec3 { return tanh(v.zxy + bend(v.x)); } "
            "fn bend(a: @F, n: u32) -> @F { var b = a; for k in 0..n { b = bend(b) - bend(@Vvec3(a, b, 0.3)).y; } return b; }",
    "level": "fn level<T: float>(a: T[2], w: T) -> T { var b = a; for k in 0..2 { b[k] = tanh(b[1 - k] * w + T(0.3)); } "
             "return ease(b[0]) - b[1]; }",
    "ease": "fn ease<T: float>(x: T) -> T { if x > 0.4 { return sin(x); } return x * 0.9; }",
    "turn": "fn turn(p: Pack, w: @F) -> Pack { var q = p; q.v = tanh(p.v.yzx * w); q.a = sin(p.w[0] + w); "
            "if w > 0.3 { return q; } q.w[1] *= 0.5; return q; }",
    "pair": "fn pair(p: Pack, q: Pack) -> @F { return tanh(p.a * q.w[0] + dot(p.v, q.v.zyx)); }",
    "middle": "fn middle<T: float>(a: @Vvec3, b: @Vvec3, w: T) -> @Vvec3 { return mix(a, b, @F(w > 0.2 ? w : T(0.3))); }",
    "stir": "fn stir(b: inout Pack[?, ?], r: u32, w: @F) { for k in 0..len(b, 1) { b[r, k].v.zx = tanh(b[r, 0].v.xy + w); "
            "if w > 0.4 { b[r, k] = turn(b[r, len(b, 1) - 1 - k], w); } } }",
    "whirl": "fn whirl(b: inout @Vvec3[?, ?], r: u32, w: @F) { var v = b[r, 0]; for k in 0..len(b, 1) { let t = b[r, k]; "
             "b[r, k] = tanh(v.zxy + w); v.yx = t.xz; if v.x > 0.8 { return; } } }",
    "nudge": "fn nudge(p: inout Pack, w: @F) { trade(p.a, p.w[1]); p.v.zx = tanh(p.v.xy + w); p.w[0] = sin(p.a * w); }",
}
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
    """`heads[0] {block 0} heads[1] {block 1} … heads[n]`, or a simple statement without blocks."""
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
        out.append(" ".join([indent + "}"] + heads[len(self.blocks):]))


class Program:
    def __init__(self):
        self.params, self.functions, self.consts = [], [], []
        self.domain, self.workgroup = "", ""
        self.body, self.sets, self.data = [], {}, {}
        self.of, self.wrt = [], []
        self.second, self.has_second = "f64", False
        self.scalars = {}       # values of the scalars that are not sizes
        self.permutations = []  # integer buffers that hold one
        self.owned = set()      # parameters that are declared @owned
        # Programs of several invocations: sizes (and numbers of groups) to run at.  The first is
        # `sets`; then one for the types as written, an odd one, and those for the device.
        self.launches = []
        self.features, self.kinds, self.shapes = set(), [], set()  # for features.py, coverage.py
        self.traits = []        # what it holds, for coverage.py (places.py)

    def several(self):
        return bool(self.launches)

    def settings(self, launch=0):
        """(scalars, groups or None) of a launch."""
        if not self.launches:
            return self.sets, None
        chosen = self.launches[launch % len(self.launches)]
        return dict(chosen["sets"], **self.scalars), chosen.get("groups")

    def text(self, double=False, tolerance=None, seed=None, launch=0, more=False):
        """more: launches 1 and 2 too."""
        out = []
        sets, groups = self.settings(launch)
        if sets:
            out.append("// set: " + " ".join("%s=%s" % i for i in sets.items()))
        if groups:
            out.append("// groups: " + ",".join(map(str, groups)))
        for k in (1, 2) if more and self.launches else ():
            sets, groups = self.settings(k)
            out.append("// launch: " + " ".join("%s=%s" % i for i in sets.items()) + (
                " groups=" + ",".join(map(str, groups)) if groups else ""))
        if "subgroup" in self.features:
            out.append("// subgroup: 8")
        if self.permutations:
            out.append("// permutation: " + ",".join(self.permutations))
        if self.data:
            out.append("// data: " + " ".join("%s=%s" % (n, ",".join(map(str, v)))
                                              for n, v in self.data.items()))
        if self.of:
            out.append("// of: " + ",".join(self.of))
        if self.wrt:
            out.append("// wrt: " + ",".join(self.wrt))
        if seed is not None:
            out.append("// seed: %d" % seed)
        if tolerance:
            out.append("// tolerance: %g" % tolerance)
        out += self.consts
        for f in self.functions:
            f.lines("", out)
        over = " over(%s)" % self.domain if self.domain else ""
        out.append("program p(%s)%s%s" % (", ".join(
            "@owned " * (q.split(":")[0] in self.owned) + q for q in self.params), self.workgroup, over))
        out.append("{")
        for s in self.body:
            s.lines("    ", out)
        out.append("}")
        for _ in HELPERS:  # one may call another
            out += [text for name, text in HELPERS.items()
                    if text not in out and any(name + "(" in line for line in out)]
        for name, text in (("Cell", CELL), ("Pack", PACK)):
            if any(name in line for line in out):
                out.append(text)
        main, second = ("f64", "f64") if double else ("f32", self.second)
        return "\n".join(out).replace("@F", main).replace("@G", second).replace("@S", main).replace(
            "@V", "d" if double else "").replace("@W", "d" if second == "f64" else "h") + "\n"

    def trees(self):
        return self.functions + self.body

    def buffers(self):
        """[(name, class, type, dimensions)], each field of structs by itself."""
        out = []
        for q in self.params:
            m = re.match(r"(\w+): (in|inout|out) (@?\w+)\[(.*)\]", q)
            for field, t, axes in FIELDS.get(m.group(3), [("", m.group(3), "")]) if m else ():
                out.append((m.group(1) + field, m.group(2), t, m.group(4) + (", " + axes if axes else "")))
        return out


class Buffer:
    def __init__(self, name, t, cls, prefix, extent, readable, writable):
        self.name, self.t, self.cls = name, t, cls
        self.prefix = prefix  # indices of the row this invocation owns, or []
        self.extent = extent  # text of the last axis' extent, or None: the prefix is the full index
        self.readable, self.writable = readable, writable


class Scope:
    """What is visible at a position in the program."""

    def __init__(self, parent=None):
        self.vars = list(parent.vars) if parent else []  # (name, type, mutable)
        self.buffers = list(parent.buffers) if parent else []
        self.next = parent.next if parent else 0
        self.cost = parent.cost if parent else 1      # how often the position is executed, at most
        self.loops = parent.loops if parent else 0
        self.depth = parent.depth + 1 if parent else 0
        self.returns = parent.returns if parent else None  # None: program; else list of types
        self.guard = parent.guard if parent else 0    # inside reductions: no calls with loops

    def name(self, stem="v"):
        self.next += 1
        return "%s%d" % (stem, self.next)



def walk(statements):
    for s in statements:
        yield s
        for b in s.blocks:
            yield from walk(b)
