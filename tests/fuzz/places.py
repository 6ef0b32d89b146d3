# SPDX-License-Identifier: MIT
"""Small random programs about *which* element an invocation reads, adds to and owns, and about its
position: the index maps that a gathered gradient has to invert.

Domains of one to five axes under workgroups of one to three; extents that are zero, one, a prime, a
multiple of the workgroup; built-in values and scalars that are not dimensions as values, in
indices, conditions and bounds; periodic, mirrored, strided, flattened, triangular and red-black
indices; `?` buffers; stores that are shifted or scattered by affine maps; loops that lanes leave in
different iterations; occasionally very deep nests.

Free of races as the programs of several.py are: what is stored without an atomic is owned
(maps.py).  `traits` names what a program holds, for coverage.py, which counts each with each way of
accumulating.
"""
import re

from generate import Maker
from maps import Maps, Table
from tree import E, Buffer, S, Scope

AXES = ("i", "j", "l", "a", "b")
WORKGROUPS = ("", "", "1", "4", "7", "32", "64", "2, 2", "4, 2", "8, 8", "32, 2", "1, 4", "3, 5", "2, 2, 2", "4, 1, 2",
              "1, 1, 8", "8, 4, 2")
SIZES = {1: (3, 5, 7, 9), 2: (2, 3, 5), 3: (2, 3), 4: (1, 2, 3), 5: (1, 2)}
ODD = {1: (0, 1, 2), 2: (0, 1, 2), 3: (0, 1, 2), 4: (0, 1, 2), 5: (0, 1, 2)}
WIDE = {1: (8, 16, 33, 37), 2: (4, 8, 9), 3: (4, 5), 4: (2, 3), 5: (2, 3)}
BUILTINS = ("gid.x", "gid.y", "gid.z", "lid.x", "lid.y", "lid.z", "wid.x", "wid.y", "wid.z", "num_groups.x", "num_groups.y",
            "num_groups.z", "lindex", "lane", "subgroup_size")
# kind, type, text; {v} a domain variable, {n} its extent, {c} 1 … 3, {q} a scalar, {z} one of either
# sign, {b} a built-in value
READS = (
    (3, "plain", "u32", "{v}"), (2, "shifted", "u32", "{v} + {c}u"), (2, "shifted", "i32", "i32({v}) - {c}"),
    (2, "mirrored", "u32", "{n} - 1u - {v}"), (1, "mirrored", "i32", "abs(i32({v}) - {c})"),
    (2, "periodic", "u32", "({v} + {c}u) % {n}"), (1, "periodic", "u32", "({v} + {n} - 1u) % {n}"),
    (1.5, "strided", "u32", "2u * {v}"), (1, "strided", "u32", "{v} * {c}u + 1u"), (1, "halved", "u32", "{v} / 2u"),
    (1, "halved", "u32", "({v} + 1u) / {c}u"), (1, "remainder", "u32", "{v} % ({c}u + 1u)"),
    (1, "clamped", "u32", "min({v} + {c}u, {n} - 1u)"), (1, "clamped", "i32", "clamp(i32({v}) - {c}, 0, i32({n}) - 1)"),
    (1.5, "scalar", "u32", "{v} + {q}"), (1.5, "scalar", "u32", "{v} + {q} % 4u"), (1, "scalar", "u32", "({v} + {q}) % {n}"),
    (1, "scalar", "u32", "{v} % ({q} + 1u)"), (0.7, "scalar", "u32", "{q} % ({c}u + 1u)"), (0.7, "scalar", "i32", "i32({v}) - i32({q})"),
    (0.8, "scalar row", "u32", "{v} % {c}u * {q} + {v} / {c}u"), (0.6, "scalar", "u32", "{v} * {q}"), (0.6, "scalar", "u32", "({v} >> 1u) + ({q} >> 1u) % 3u"),
    (1.6, "builtin", "u32", "{b}"), (1, "builtin", "u32", "{v} + {b}"), (0.8, "builtin", "u32", "({v} + {b}) % {n}"),
    (0.8, "quotient", "i32", "(i32({v}) + {z}) / 2"), (0.8, "quotient", "i32", "(i32({v}) + {z}) % 3"),
    (0.6, "quotient", "i32", "((i32({v}) - {c}) >> 1) + ((i32({v}) - {c}) & 1)"),
    (0.6, "quotient", "i32", "select(((i32({v}) + {z}) % 3 ^ 3) < 0, 3, 0) + (i32({v}) + {z}) % 3"),
    (0.8, "quotient row", "i32", "i32({v}) % 3 * (({z} + 3) / 2) + i32({v}) / 3"), (0.6, "quotient row", "i32", "i32({v}) * ({z} / i32({q})) + i32({v}) % 2"),
    (0.8, "quotient row", "i32", "i32({v}) % (({z} + 3) / 2) * 3 + i32({v}) / (({z} + 3) / 2)"),
    (0.6, "builtin", "u32", "{n} - 1u - {b}"), (0.6, "constant", "u32", "0u"), (0.4, "constant", "u32", "{n} - 1u"))
IN_LOOPS = (
    (3, "loop", "u32", "{k}"), (2, "loop shifted", "u32", "{v} + {k}"), (1.5, "loop shifted", "i32", "i32({v}) - i32({k})"),
    (1, "loop periodic", "u32", "({v} + {k}) % {n}"), (1, "loop strided", "u32", "2u * {v} + {k}"),
    (1, "loop scalar", "u32", "{k} + {q} % 3u"), (1, "scalar row", "u32", "{k} * {q} + {v}"),
    (0.6, "scalar row", "u32", "{v} * {q} + min({k}, {q} - 1u)"), (0.8, "loop builtin", "u32", "{k} + {b}"))
CONDITIONS = (
    (2, "red-black", "{v} % 2u == {q} % 2u"), (2, "red-black", "({v} + {w}) % 2u == {q} % 2u"), (1, "red-black", "({v} + {w}) % 2u == 0u"),
    (1.5, "scalar condition", "{q} % 4u > 1u"), (1, "scalar condition", "{v} < {q}"), (1, "scalar condition", "{n} % 3u > {q} % 3u"),
    (1, "scalar condition", "({q} / 2u) % 2u == 1u"), (1, "scalar condition", "({q} >> 1u) % 3u > 0u"),
    (0.8, "scalar condition", "{q} % 5u > 1u && {q} % 5u < 4u"), (1.5, "builtin condition", "{b} % 2u == 0u"),
    (1, "builtin condition", "{b} < {c}u"), (1, "builtin condition", "{v} >= {b}"), (0.7, "builtin condition", "{b} == {q} % 3u"),
    (1, "triangle condition", "{v} <= {w}"), (0.8, "triangle condition", "{w} < {v}"), (1, "border condition", "{v} > 0u"),
    (0.8, "border condition", "{v} + 1u < {n}"), (0.8, "every third", "{v} % 3u == 1u"),
    (1, "wrapping condition", "i32({v}) * 4 < i32({q}) - {c}"), (0.8, "wrapping condition", "i32({v}) * 4 != i32({q}) - {c}"),
    (0.6, "wrapping condition", "i32({v}) * 4 + i32({q}) * 1073741823 < i32({q}) - {c}"))
# loops: kind, head with {k} the variable; trip counts differ between lanes
LOOPS = (
    (2, "for", "for {k} in 0u..{c}u"), (2, "suffix", "for {k} in {v}..{n}"), (2, "suffix reversed", "for {k} in rev({v}..{n})"),
    (2, "prefix", "for {k} in 0u..{v} + 1u"), (1, "prefix reversed", "for {k} in rev(0u..{v} + 1u)"),
    (1.5, "window", "for {k} in {v}..min({v} + {c}u, {n})"), (1, "stepped", "for {k} in 0u..{n} step 2u"),
    (1, "stepped", "for {k} in {v}..{n} step {c}u"), (1, "stepped", "for {k} in rev(0u..{n}) step 2u"),
    (1.5, "scalar bound", "for {k} in 0u..{q}"), (1.5, "scalar bound", "for {k} in {q} % 4u..{n}"), (1, "scalar bound", "for {k} in {v}..{v} + {q} % 3u"),
    (1.5, "lesser bound", "for {k} in 0u..min({c}u, {n} / ({q} + 1u) + {v} % 2u)"), (1, "lesser bound", "for {k} in 0u..min({n} % ({q} + 2u) + {v}, {c}u)"),
    (1, "builtin bound", "for {k} in 0u..{b} % 4u"), (1, "builtin bound", "for {k} in {b} % 3u..{n}"), (1, "whole", "for {k} in 0u..{n}"))
# what an invocation owns along an axis: kind, index, extent; `inside`: only where no invocation runs
# outside
OWN = ((3, "own", "{v}", "{n}", False), (1.5, "own mirrored", "{n} - 1u - {v}", "{n}", False), (1.5, "own shifted", "{v} + {c}u", "{n} + {c}", False),
       (1.5, "own scalar", "{v} + {q}", "{n} + 8", False), (1, "own strided", "2u * {v}", "2 * {n}", False), (1, "own strided", "{v} * 2u + 1u", "2 * {n}", False),
       (0.7, "own strided", "3u * {v} + 1u", "3 * {n}", False), (1.2, "own periodic", "({v} + {c}u) % {n}", "{n}", True),
       (1, "own periodic scalar", "({v} + {q}) % {n}", "{n}", True), (0.7, "own ^", "{v} ^ 1u", "{n} + 1", False))


class Places(Maps, Maker):
    def make(self):
        r, p = self.r, self.p
        nd = self.rank = self.pick([(6, 1), (5, 2), (2.5, 3), (1, 4), (0.7, 5)])
        self.traits, self.kinds_seen = {"%d axes" % nd}, []
        self.const_k, self.wild = r.choice((2, 3, 4)), 0.8 if self.chance(0.3) else 0
        p.has_second, p.second = self.chance(0.1), r.choice(("f16", "f64"))
        p.consts.append("const K: u32 = %d;" % self.const_k)
        self.atomics, self.callable = [], []
        self.choose_domain()
        c = Scope()
        self.scalars = ["T"] + (["U"] if self.chance(0.4) else [])
        c.vars += [(v, "u32", False) for v in AXES[:nd]] + [(q, "u32", False) for q in self.scalars]
        self.builtins = r.sample(BUILTINS, r.choice((1, 2, 3, 15)))
        if self.chance(0.6):
            c.vars += [(b, "u32", False) for b in self.builtins[:3]]
        self.ins, self.rest = [], []
        self.inputs(c)
        self.outputs(c)
        self.choose_launches()
        scalars = ["%s: u32" % e for e in self.names] + ["%s: u32" % q for q in self.scalars] + ["Z: i32"]
        if self.chance(0.25):
            p.scalars["s"] = "0.%d" % r.randrange(3, 99)
            scalars.append("s: @F")
            c.vars.append(("s", "@F", False))
            if self.chance(0.5):
                p.wrt = ["s"] + [m.group(1) for m in (re.match(r"(\w+): (?:in|inout) @F", q) for q in self.ins) if m][:2]
        self.body(c)
        p.params = self.ins + self.rest + scalars
        text = p.text()
        if re.search(r"\blane\b|\bsubgroup_size\b", text):
            p.features.add("subgroup")  # the same subgroup size on every engine
        for b in BUILTINS:
            if re.search(r"\b%s\b" % re.escape(b), text.split("\n{\n", 1)[1]):
                self.traits.add("uses " + b.split(".")[0])
        p.kinds, p.traits = list(self.traits), sorted(self.traits)
        return p

    # ---- domain
    def choose_domain(self):
        r, p = self.r, self.p
        self.names, self.extents = [], []
        for n in range(self.rank):
            name = r.choice(("N", "M", "L", "N")) if n else "N"
            if name not in self.names and (not n or self.chance(0.9)):
                self.names.append(name)
            elif name not in self.names:
                name = "K"
            self.extents.append(name)
        self.padded = self.chance(0.1)
        shape = r.choice(WORKGROUPS)
        self.size = [int(n) for n in shape.split(", ")] if shape else ([64], [8, 8], [4, 4, 4])[min(self.rank, 3) - 1]
        if shape:
            p.workgroup = " workgroup(%s)" % shape
        axes = shape.count(",") + 1
        self.traits.add("workgroup " + ("default" if not shape else "of more axes" if axes > self.rank else
                                        "of fewer axes" if axes < min(self.rank, 3) else "of as many axes"))
        over = ["%s: %s" % q for q in zip(AXES, self.extents)]
        if self.padded:
            over[0] = "i: " + r.choice(("N + 3", "(N + 7) / 8 * 8", "2 * N"))
            self.traits.add("padded domain")
        p.domain = ", ".join(over)
        if len(set(self.extents)) < self.rank:
            self.traits.add("equal extents")

    def choose_launches(self):
        r = self.r
        for sizes in (SIZES, WIDE, ODD, SIZES, WIDE, SIZES):
            sets = {e: r.choice(sizes[self.rank]) for e in self.names}
            if sizes is WIDE and self.rank < 3 and self.chance(0.4):
                sets["N"] = min(self.size[0] * (1 + (self.rank == 1)), 64 if self.rank == 1 else 16)
            sets.update({q: r.randrange(0, 8) for q in self.scalars}, Z=r.choice((-7, -1, 0, 1, 2, 3, 4, 5, 6, 7)))
            if 0 in [sets[e] for e in self.names]:
                self.traits.add("an empty domain")
            self.p.launches.append({"sets": sets})
        self.p.sets = self.p.launches[0]["sets"]

    # ---- parameters
    def given(self, c, name, axes, t="@F", flat=None, dims=None):
        self.ins.append("%s: in %s[%s]" % (name, t, dims or ", ".join(n for n, _ in axes)))
        c.buffers.append(Table(name, t, "in", axes, flat=flat))

    def inputs(self, c):
        r = self.r
        whole = list(zip(self.extents, AXES))
        some = r.sample(whole, r.randrange(1, min(self.rank, 3) + 1))
        self.given(c, "x", some if self.chance(0.7) else whole[:1])
        if self.chance(0.4):
            self.given(c, "w", [r.choice((("1", None), ("5", None), r.choice(whole)))])
        if self.chance(0.35):
            self.given(c, "v", [r.choice(whole)] if self.chance(0.6) else [("2 * N", "i")])
        if self.chance(0.35):
            rest = [("5", None)] if self.chance(0.4) else []
            self.given(c, "u", [("?", r.choice(AXES[:self.rank])), *rest])
            self.traits.add("?")
        if self.rank > 1 and self.chance(0.4):
            (n, a), (m, b) = r.sample(whole, 2)
            self.given(c, "f", [(n, a), (m, b)], flat="({0}) * %s + ({1})" % m, dims="%s * %s" % (n, m))
            self.traits.add("flattened")
        if self.chance(0.2):
            self.given(c, "tri", [("N", "i")], dims="N * (N + 1) / 2")
            c.buffers[-1].triangle = True
        if self.chance(0.25):
            t = r.choice(("u32", "i32"))
            self.given(c, "at", [("N", "i")], t)
            self.p.data["at"] = [r.randrange(0 if t == "u32" else -1, 9) for _ in range(r.randrange(3, 14))]
            self.traits.add("data")
        if self.p.has_second:
            self.ins.append("h: in @G[N]")
            c.buffers.append(Buffer("h", "@G", "in", ["i"], None, True, False))
            self.traits.add("two float types")

    def own_axis(self, v, n):
        rows = [(w, row) for w, *row in OWN if not (row[3] and self.padded)]
        kind, index, extent, _ = self.pick(rows)
        values = {"v": v, "n": n, "c": self.r.randrange(1, 4), "q": self.r.choice(self.scalars)}
        self.traits.add(kind)
        return index.format(**values), extent.format(**values)

    def outputs(self, c):
        r = self.r
        for name, cls, chance in (("o", "out", 1), ("z", "inout", 0.35), ("y", "out", 0.2)):
            if not self.chance(chance):
                continue
            open_ = self.rank == 1 and self.chance(0.25 if cls == "inout" else 0.15)
            rows = [self.own_axis(v, n) for v, n in zip(AXES, self.extents)]
            order = list(range(self.rank))
            if self.chance(0.3) and self.rank > 1:
                r.shuffle(order)
                self.traits.add("own transposed")
            flat = self.rank > 1 and not self.padded and self.chance(0.25)
            shape, prefix = [rows[k][1] for k in order], [rows[k][0] for k in order]
            if flat:
                text = "(%s)" % prefix[0]
                for q, n in zip(prefix[1:], shape[1:]):
                    text = "(%s) * (%s) + (%s)" % (text, n, q)
                shape, prefix = [" * ".join("(%s)" % n for n in shape)], [text]
                self.traits.add("own flattened")
            elif open_:
                shape = ["?"]
                self.traits.add("? " + cls)
            self.rest.append("%s: %s @F[%s]" % (name, cls, ", ".join(shape)))
            b = Table(name, "@F", cls, (), prefix, None, cls == "inout", True)
            c.buffers.append(b)
        if self.chance(0.3):
            shape = r.choice((["5"], ["1"], ["N"], ["K"], ["2 * N"], ["N", "K"], ["?"], ["?", "5"]))
            cls = r.choice(("out", "inout")) if shape[0] != "?" else "inout"
            self.rest.append("acc: %s @F[%s]" % (cls, ", ".join(shape)))
            b = Buffer("acc", "@F", "acc", [], None, False, False)
            b.axes = [(n, "i" if "N" in n or n == "?" else None) for n in shape]
            self.atomics.append(b)
            self.traits.add("scatter")
        if self.chance(0.2):
            t = r.choice(("u32", "i32"))
            self.rest.append("n: out %s[%s]" % (t, ", ".join(self.extents)))
            c.buffers.append(Table("n", t, "out", (), list(AXES[:self.rank]), None, False, True))
            self.traits.add("integer output")

    # ---- indices and conditions
    def fill(self, c, text, v=None, n=None):
        r = self.r
        at = r.randrange(self.rank)
        v, n = v or AXES[at], n or self.extents[at]
        if n == "?":
            n = "5u"
        values = {"v": v, "n": "(%s)" % n if " " in n else n + ("u" if n.isdigit() else ""), "c": r.randrange(1, 4), "q": r.choice(self.scalars), "z": "Z",
                  "b": r.choice(self.builtins), "w": r.choice(AXES[:self.rank]), "k": self.loop_variable(c) or "0u"}
        return text.format(**values)

    def axis(self, c, n, v):
        if v is None and n in ("K", "5", "1") and self.chance(0.6):
            return self.index(c, n)
        v = v or self.r.choice(AXES[:self.rank])
        rows = [(w, row) for w, *row in READS]
        if self.loop_variable(c):
            rows += [(w * 2, row) for w, *row in IN_LOOPS]
        if any(b.name == "at" for b in c.buffers):
            rows.append((2, None))
        row = self.pick(rows)
        if row is None:
            return self.data_index(c, "i")
        kind, t, text = row
        self.traits.add("index " + kind)
        return E(t, "place " + kind, self.fill(c, text, v, n))

    def indices(self, c, b):
        if getattr(b, "triangle", False):
            row, column = self.r.choice((("i", "{0}"), ("i", "i"), (AXES[self.rank - 1], "{0}")))
            self.traits.add("triangular")
            e = E("u32", "place column", self.r.choice(AXES[:self.rank] + (("0u",) if not self.loop_variable(c) else (self.loop_variable(c),))))
            return "%s * (%s + 1u) / 2u + %s" % (row, row, column), [e]
        return super().indices(c, b)

    def condition(self, c, d):
        if c.returns is None and self.chance(0.65):
            kind, text = self.pick([(w, row) for w, *row in CONDITIONS])
            self.traits.add(kind)
            return E("bool", "place " + kind, "(%s)" % self.fill(c, text))
        return super().condition(c, d)

    def number(self, c, t, d):
        if t == "@F" and self.chance(0.08):
            b = self.r.choice(self.builtins)
            self.traits.add("builtin value")
            return E("@F", "place value", "(@F(%s) * 0.3)" % b)
        if t == "@F" and self.chance(0.04):
            self.traits.add("scalar value")
            return E("@F", "place value", "(@F(%s %% 5u) * 0.2)" % self.r.choice(self.scalars))
        return super().number(c, t, d)

    # ---- statements
    def body(self, c):
        r, p = self.r, self.p
        self.budget = r.choice((0, 1, 2, 3, 5))
        if self.chance(0.25):
            p.body.append(S("let", "let c0 = %s;" % self.fill(c, r.choice(("{q} % 5u", "{b} % 3u", "{v} / 2u + {q} % 2u", "{q} % 2u")))))
            c.vars.append(("c0", "u32", False))
        while self.budget > 0:
            self.budget -= 1
            p.body += self.statement(c) if self.chance(0.5) else self.s_lanes(c)
        stores = [b for b in c.buffers if b.writable and b.cls != "local"]
        for b in stores:
            p.body += self.wrapped(c, lambda i, b=b: self.stores(i, b), 3)
        for b in self.atomics:
            p.body += self.wrapped(c, lambda i, b=b: self.adds(i, b), 3)

    def stores(self, c, b):
        at = "%s[%s]" % (b.name, ", ".join(b.prefix))
        if b.t != "@F":
            return [S("store", at + " = {0};", [self.integer(c, b.t, 2)])]
        names = [v[0] for v in c.vars if v[1] == "@F"][-3:]
        e = E("@F", "*", "({0} * {1})", self.number(c, "@F", 2), self.number(c, "@F", 1))
        if names:
            e = E("@F", "+", "({0} + {1})", e, E("@F", "use", " + ".join("sin(%s)" % n for n in names)))
        if b.readable and self.chance(0.5):
            return [S("store compound", at + " += {0};", [E("@F", "squash", "(sin({0}) * 0.5)", e)])]
        return [S("store", at + " = {0};", [self.squash(e) if c.loops else e])]

    def adds(self, c, b):
        exprs = [self.axis(c, n, v) for n, v in b.axes]
        return [S("atomic_add", "atomic_add(acc[%s], {%d});" % (", ".join("{%d}" % k for k in range(len(exprs))), len(exprs)),
                  exprs + [self.squash(self.number(c, "@F", 2))])]

    def s_atomic(self, c):
        return self.adds(c, self.atomics[0])

    s_atomic_float = s_atomic

    def s_atomic_counter(self, c, old=None):
        return self.adds(c, self.atomics[0]) if self.atomics else self.s_let(c)

    def wrapped(self, c, make, deep):
        """Statements, perhaps under a condition, in a loop, or very deep."""
        kind = self.pick([(5, "plain"), (3 if deep else 0, "if"), (1.5 if deep and c.cost < 20 else 0, "loop"), (0.25 if deep == 3 else 0, "abyss"),
                          (0.3 if deep == 3 else 0, "loops")])
        if kind == "plain":
            return make(c)
        i = Scope(c)
        if kind == "if":
            return [S("if", "if {0}", [self.condition(c, 1)], [self.wrapped(i, make, deep - 1)])]
        if kind == "loop":
            head, i = self.loop(c)
            return [S("for", head, [], [self.wrapped(i, make, deep - 1)])]
        if kind == "loops":  # four and more
            heads = []
            for _ in range(self.r.randrange(4, 7)):
                k = i.name("k")
                i.vars.append((k, "u32", False))
                i.loops, i.cost = i.loops + 1, i.cost * 2
                heads.append("for %s in 0u..%s" % (k, self.r.choice(("2u", "2u", "1u", "min(%s, 2u)" % self.extents[0]))))
            inside = make(i)
            for h in reversed(heads):
                inside = [S("for", h, [], [inside])]
            self.traits.add("deep loops")
            return inside
        inside, n = make(i), self.r.randrange(70, 110)
        for k in range(n):
            inside = [S("if", "if x[%s] > %d.%02d" % (", ".join(["0u"] * len(c.buffers[0].axes)), -k - 1, k % 100) if k % 3 else
                        "if %s < %du" % (AXES[0], 1000 + k), [], [inside])]
        self.traits.add("deep ifs")
        return inside

    def loop(self, c):
        kind, text = self.pick([(w, row) for w, *row in LOOPS])
        i = Scope(c)
        k = i.name("k")
        head = self.fill(c, text.replace("{k}", k))
        i.vars.append((k, "u32", False))
        i.loops, i.cost = c.loops + 1, c.cost * 6
        self.traits.add("loop " + kind)
        return head, i

    def s_lanes(self, c):
        """The result of a loop that lanes leave in different iterations."""
        r, v = self.r, c.name()
        if c.cost > 12:
            return self.s_let(c)
        out = [S("var", "var %s = {0};" % v, [self.number(c, "@F", 1)])]
        c.vars.append((v, "@F", True))
        form = r.choice(("{v} = {v} * 0.5 + {{0}} * 0.4;", "{v} = sin({{0}}) - {v} * 0.6;", "{v} += {{0}} * 0.3;", "{v} = tanh({v} * {{0}});",
                         "{v} = max({v} * 0.9, {{0}});", "{v} = max({v}, {{0}});"))
        if self.chance(0.2):
            w = c.name("w")
            c.vars.append((w, "u32", False))
            limit = self.fill(c, r.choice(("{v} % 4u", "{q} % 5u", "{b} % 3u + 1u", "3u")))
            i = Scope(c)
            i.loops, i.cost = c.loops + 1, c.cost * 4
            head = "while %s < %s" % (w, limit) + (" && %s < 1.3" % v if self.chance(0.6) else "")
            self.traits.add("while")
            return out + [S("while counter", "var %s = 0u;" % w), S("while", head, [], [[
                S("assign", form.format(v=v), [self.number(i, "@F", 1)]), S("while counter", "%s += 1u;" % w)]])]
        head, i = self.loop(c)
        body = [S("assign", form.format(v=v), [self.number(i, "@F", 1)])]
        if self.chance(0.45):
            self.traits.add("break")
            leave = [S("break", "break;")]
            test = S("if", "if {0}", [r.choice((E("bool", "float >", "(%s > 0.8)" % v), self.condition(i, 1)))], [leave])
            body.insert(r.randrange(2), test)
        if self.chance(0.2):
            body.insert(0, S("if", "if {0}", [self.condition(i, 1)], [[S("continue", "continue;")]]))
        return out + [S("for", head, [], [body])]


def make(seed):
    m = Places(seed)
    p = m.make()
    p.wild = m.wild > 0
    return p
