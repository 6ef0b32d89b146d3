# SPDX-License-Identifier: MIT
"""Random programs whose invocations interact: they read each other's elements, add to the same
ones, and communicate through shared memory and subgroups (meetings.py).

Free of races by construction: an element is stored by the invocation that owns it (maps.py), or by
atomics only; what another invocation stored is read only after a barrier.  The same program is run
at several sizes (Program.launches): not a multiple of the workgroup, one, none.
"""
import re

from generate import PLACE, Maker
from maps import Maps, Table
from meetings import Meetings
from tree import E, Buffer, Program, S, Scope

LENGTHS = (3, 4, 5, 7, 9, 11, 13)  # of the first axis, where differences are taken of every element
DEVICE_LENGTHS = (5, 37, 67, 130)
WORKGROUPS = {1: ("8", "8", "4", "16", "32", "7", "1"), 2: ("4, 2", "8, 1", "4, 4", "3, 2", "1, 4"),
              3: ("2, 2, 2", "4, 1, 2", "3, 1, 1")}


BESIDE = ("load", "add", "other", "own")  # to a buffer of extrema, beside them


class Several(Maps, Meetings, Maker):
    def make(self):
        r, p = self.r, self.p
        self.style = self.pick([(5, "plain"), (3.5, "barrier"), (1.5, "subgroup")])
        nd = self.rank = self.pick([(6, 1), (3, 2), (1.3 if self.style == "plain" else 0.5, 3)])
        self.extents, self.over = ["N", "M", "L"][:nd], ["i", "j", "l"][:nd]
        self.const_k = r.choice((2, 3, 4))
        self.wild = 0.8 if self.chance(0.3) else 0
        p.has_second, p.second = False, "f64"
        p.consts.append("const K: u32 = %d;" % self.const_k)
        self.atomics, self.integers, self.extremes = [], [], []
        self.kinds_seen, self.arrays, self.shared_text, self.dirty = [], [], [], set()
        self.segment, self.rest_later = None, []
        self.choose_launch()
        c = Scope()
        self.declare(c)
        saved, self.atomics = self.atomics, []
        self.in_function = True
        for n in range(self.pick([(5, 0), (3, 1), (1, 2)])):
            self.function(n)
        self.in_function = False
        self.atomics = saved
        self.body(c)
        p.params = self.ins + self.rest + self.rest_later + self.scalars_text
        self.name_features()
        return p

    # ---- launch
    def choose_launch(self):
        r, p, nd = self.r, self.p, self.rank
        self.meets = self.style != "plain"
        self.free = self.chance(0.4 if nd == 1 else 0.2) if self.style != "plain" else self.chance(0.2)
        self.padded = not self.free and self.chance(0.12)  # domain larger than the arrays
        size = r.choice(WORKGROUPS[nd])
        if self.style == "subgroup":
            # A device may form subgroups by rows: only full subgroups are the same everywhere.
            size = {1: r.choice(("8", "16", "32")), 2: r.choice(("8, 1", "8, 2", "16, 1")), 3: "8, 2, 1"}[nd]
        elif self.meets:
            size = {1: r.choice(("4", "8", "8", "16", "6")), 2: r.choice(("4, 2", "2, 2", "4, 4", "3, 2")),
                    3: r.choice(("2, 2, 2", "4, 1, 2"))}[nd]
        self.size = [int(n) for n in size.split(", ")] + [1] * (3 - nd)
        self.lanes = self.size[0] * self.size[1] * self.size[2]
        if self.meets or self.free or self.chance(0.7):
            p.workgroup = " workgroup(%s)" % size
        else:  # the default
            self.size = ([64, 1, 1], [8, 8, 1], [4, 4, 4])[nd - 1]
        # the innermost axis is x
        along = {e: self.size[nd - 1 - n] for n, e in enumerate(self.extents)}
        small = {"N": LENGTHS, "M": (2, 3, 5), "L": (2, 3)}
        second = {"N": (along["N"] + 1, 2 * along["N"] + 3, along["N"] * 2, 19), "M": (3, 4, 6), "L": (1, 3)}
        odd = {"N": (0, 1, 1, along["N"]), "M": (0, 1, 1), "L": (0, 1)}
        device = {"N": DEVICE_LENGTHS, "M": (3, 9, 1), "L": (2, 5)}
        for sizes in (small, second, odd, device, device, device):
            self.p.launches.append(self.launch({e: min(r.choice(sizes[e]), 150) for e in self.extents}, along))
        p.sets = p.launches[0]["sets"]
        self.name_shapes(along)
        p.domain = "" if self.free else ", ".join("%s: %s" % (v, e) for v, e in zip(self.over, self.extents))
        if self.padded:
            p.domain = p.domain.replace("i: N", r.choice(("i: N + 3", "i: (N + 7) / 8 * 8")), 1)
        # Maps that hold only inside of the domain need a guard where more invocations run.
        self.guarded = self.free and not self.meets and self.chance(0.6)
        self.inside = not self.padded and (not self.free or self.guarded)
        self.permutation = "i" if self.inside and self.chance(0.5) else None

    def name_shapes(self, along):
        """What coverage.py counts of the launches."""
        shapes = self.p.shapes
        shapes.add("%d dimensions %s" % (self.rank, "without over" if self.free else "over"))
        for launch in self.p.launches:
            sets = launch["sets"]
            if 0 in sets.values():
                shapes.add("an empty domain")
            if all(n == 1 for n in sets.values()):
                shapes.add("one invocation")
            shapes.add("off the workgroup" if any(sets[e] % along[e] for e in along) else "whole workgroups")
            if self.free:
                need = [max(-(-sets[e] // along[e]), 1) for e in self.extents][::-1]
                more = [g - n for g, n in zip(launch["groups"], need)]
                shapes |= {"a group too many"} if max(more) > 0 else set()
                shapes |= {"too few groups"} if min(more) < 0 else set()
        if not self.p.workgroup:
            shapes.add("default workgroup")
        if self.padded:
            shapes.add("domain larger than the arrays")

    def launch(self, sets, along):
        """Sizes, and as many groups as they need, one more, or (rarely) one less."""
        if not self.free:
            return {"sets": sets}
        groups = [1, 1, 1]
        for n, e in enumerate(self.extents):
            g = -(-sets[e] // along[e]) + self.pick([(6, 0), (1, 1), (1, -1)])
            groups[self.rank - 1 - n] = max(g, 1)
        return {"sets": sets, "groups": groups}

    # ---- parameters
    def declare(self, c):
        r, p = self.r, self.p
        self.ins, self.rest = [], []
        if not self.free:
            c.vars += [(v, "u32", False) for v in self.over]
        if self.chance(0.35):
            c.vars += [(b, "u32", False) for b in r.sample(PLACE, r.randrange(1, 4))]
        self.inputs(c)
        self.outputs(c)
        self.accumulators()
        scalars = ["%s: u32" % e for e in self.extents]
        if self.chance(0.35):
            p.scalars["T"] = str(r.randrange(0, 8))
            scalars.append("T: u32")
            c.vars.append(("T", "u32", False))
        if self.chance(0.3):
            p.scalars["s"] = "0.%d" % r.randrange(3, 99)
            scalars.append("s: @F")
            c.vars.append(("s", "@F", False))
            if self.chance(0.4):
                p.wrt = ["s"]
        floats = [m.groups() for m in (re.match(r"(\w+): (in|inout|out) @F", q) for q in self.ins + self.rest) if m]
        if p.wrt or self.chance(0.12):
            p.wrt += [n for n, cls in floats if cls != "out" and self.chance(0.6)][:3]
        if self.chance(0.15):
            p.of = [n for n, cls in floats if cls != "in" and self.chance(0.7)][:4]
        self.scalars_text = scalars

    def given(self, c, name, axes, t="@F", flat=None):
        dims = " * ".join(n for n, _ in axes) if flat else ", ".join(n for n, _ in axes)
        self.ins.append("%s: in %s[%s]" % (name, t, dims))
        c.buffers.append(Table(name, t, "in", axes, flat=flat))

    def inputs(self, c):
        r, nd = self.r, self.rank
        whole = list(zip(self.extents, self.over))
        first = whole[0]
        if nd == 1:
            self.given(c, "x", self.pick([(5, [first]), (1, [("N + 2", "i")]), (1, [("2 * N", "i")]), (2, [first, ("K", None)])]))
        else:
            self.given(c, "x", self.pick([(4, whole), (1, [whole[1], whole[0]] + whole[2:])]))
        if self.chance(0.5):
            self.given(c, "w", [("5", None)])
        if self.chance(0.3):
            self.given(c, "one", [("1", None)])
        if self.chance(0.35):
            self.given(c, "row", [r.choice(whole)])
        if self.free and self.chance(0.35):  # length chosen by the caller
            groups = [("num_groups.x", "wid.x"), ("num_groups.y", "wid.y"), ("5", None)]
            self.given(c, "xg", r.sample(groups, r.choice((1, 2, 2))))
        if self.chance(0.3):  # flattened
            if nd == 1:
                self.given(c, "xf", [first, ("K", None)], flat="({0}) * K + ({1})")
            else:
                self.given(c, "xf", whole[:2], flat="({0}) * M + ({1})")
        if nd > 1 and self.chance(0.4):  # the factors of a product of matrices
            self.given(c, "a", [first, ("K", None)])
            self.given(c, "b", [("K", None), whole[1]])
        if self.chance(0.6):
            t = r.choice(("u32", "i32"))
            self.given(c, "at", [first], t)
            low = 0 if t == "u32" else -1
            self.p.data["at"] = [r.randrange(low, 9) for _ in range(r.randrange(3, 14))]
        if self.permutation:
            self.ins.append("pm: in u32[N]")
            self.p.permutations.append("pm")

    def outputs(self, c):
        """Buffers whose elements belong to one invocation each."""
        wanted = [("y", "out")] + [b for b in (("yo", "out"), ("z", "inout"), ("zz", "inout")) if self.chance(0.4)]
        for name, cls in wanted:
            rows = [self.owned(v, n, self.inside) for v, n in zip(self.over, self.extents)]
            shape, prefix = [x[2] for x in rows], [x[1] for x in rows]
            self.kinds_seen += [x[0] for x in rows]
            if self.rank > 1 and self.chance(0.3):  # transposed
                shape.reverse()
                prefix.reverse()
                self.kinds_seen.append("own [j, i]")
            extent, flat = None, None
            if self.rank == 1 and self.chance(0.3):
                shape, prefix, flat = ["N * K"], [], "i * K + {0}"
                self.kinds_seen.append("own i*K+k")
            elif self.chance(0.3):
                extent = "K"
                shape.append("K")
                self.kinds_seen.append("own row")
            self.rest.append("%s: %s @F[%s]" % (name, cls, ", ".join(shape)))
            if self.chance(0.3):
                self.p.owned.add(name)
                self.kinds_seen.append("@owned")
            # Reverse mode treats a buffer that is only stored or only read differently from one
            # with both.
            use = self.pick([(3, "both"), (2, "store"), (1 if cls == "inout" else 0, "load")])
            b = Table(name, "@F", cls, (), prefix, extent, False, use != "load", flat)
            b.use = use
            b.readable = cls == "inout" and use != "store"
            c.buffers.append(b)

    def accumulators(self):
        r = self.r
        shapes = [["5"], ["1"], ["N"], ["K"], ["2 * N"]] + ([["N", "M"], ["M"], ["M", "N"]] if self.rank > 1 else
                                                           [["N", "K"], ["K", "N"]])
        if self.free and self.chance(0.5):  # length chosen by the caller
            shapes = shapes[:4] + [["num_groups.x"], ["3", "num_groups.x"], ["num_groups.x", "num_groups.y"], ["num_groups.x", "5"]]
        variable = {"N": "i", "M": "j", "2 * N": "i", "?": "i", "num_groups.x": "wid.x", "num_groups.y": "wid.y"}
        for name in ("acc", "loss", "sums"):
            if self.chance(0.45):
                shape = ["1"] if name == "loss" else r.choice(shapes)
                if name != "loss" and self.chance(0.15):
                    shape = r.choice((["?"], ["?", "5"]))
                    self.kinds_seen.append("? sum")
                cls = r.choice(("out", "out", "inout"))
                self.rest.append("%s: %s @F[%s]" % (name, cls, ", ".join(shape)))
                b = Buffer(name, "@F", "acc", [], None, False, False)
                b.axes = [(n, variable.get(n)) for n in shape]
                self.atomics.append(b)
        if self.chance(0.2):
            t, shape = r.choice(("u32", "i32")), r.choice(shapes[:4])
            self.rest.append("hist: inout %s[%s]" % (t, shape[0]))
            b = Buffer("hist", t, "hist", [], None, False, False)
            b.axes, b.op = [(shape[0], variable.get(shape[0]))], r.choice(("add", "sub", "min", "max", "and", "or", "xor"))
            self.integers.append(b)
        if self.chance(0.12):
            shape = r.choice(shapes[:4] + [["?"]])
            b = Buffer("best", "@F", "best", [], None, False, False)
            b.axes, b.op = [(shape[0], variable.get(shape[0]))], r.choice(("min", "max"))
            self.choose_beside(b, shape[0])
            if shape == ["?"]:
                self.kinds_seen.append("? extreme")
            self.extremes.append(b)

    def choose_beside(self, b, n):
        """What else the program does with a buffer of extrema: to elements that differ, or each to its own."""
        b.beside = None if n == "?" or self.chance(0.4) else self.r.choice(BESIDE)
        if b.beside == "own" and (self.rank > 1 or self.free or b.axes[0][1] != "i"):
            b.beside = "load"
        flat = b.beside and self.chance(0.5)
        b.side = "{0}" if not b.beside else "2u * u32({0}) + %du" if flat else "{0}, %du"
        self.rest.append("best: inout @F[%s]" % ("2 * (%s)" % n if flat else n + ", 2" if b.beside else n))

    # ---- statements that several invocations share
    def statement(self, c):
        if c.returns is not None or getattr(self, "in_function", False) or not self.chance(0.4):
            return super().statement(c)
        small = c.cost <= 8
        kind = self.pick([
            (2, "stencil"), (1.5, "everybody"), (2.5 if self.atomics else 0, "scatter"),
            (1.5 if self.atomics and small else 0, "scatter loop"), (2.5 if self.integers else 0, "histogram"),
            (2.5 if self.extremes else 0, "extreme"), (1.5 if small else 0, "matrix"),
            (1.2 if c.cost <= 6 and not c.loops else 0, "all pairs"), (1 if small else 0, "rows")])
        return getattr(self, "s_" + kind.replace(" ", "_"))(c)

    def tables(self, c, rank=None):
        return [b for b in c.buffers if b.cls == "in" and b.t == "@F" and any(v for _, v in b.axes)
                and (rank is None or len(b.axes) == rank)]

    def read_at(self, b, texts):
        if b.flat:
            return "%s[%s]" % (b.name, b.flat.format(*["u32(%s)" % t for t in texts]))
        return "%s[%s]" % (b.name, ", ".join(texts))

    def s_stencil(self, c):
        """A weighted sum of neighbours along each axis; beyond the border zero, or clamped."""
        b, name = self.r.choice(self.tables(c)), c.name()
        border = self.r.choice(("zero", "clamped", "wrapped"))
        own = [v if v else "0u" for _, v in b.axes]
        words = ["0.%d@S * %s" % (self.r.randrange(3, 9), self.read_at(b, own))]
        for n, (extent, v) in enumerate(b.axes):
            for d in ((-1, 1) if v else ()):
                near = {"zero": "i32(%s) + %d" % (v, d), "clamped": "clamp(i32(%s) + %d, 0, i32(%s) - 1)" % (v, d, extent),
                        "wrapped": "(%s + %d) %% (%s)" % (v, 1 if d > 0 else 2, extent)}[border]
                words.append("0.%d@S * %s" % (self.r.randrange(1, 6), self.read_at(b, own[:n] + [near] + own[n + 1:])))
        c.vars.append((name, "@F", self.chance(0.5)))
        return [S("stencil %s %dd" % (border, len([v for _, v in b.axes if v])),
                  "%s %s = %s;" % ("var" if c.vars[-1][2] else "let", name, " + ".join(words)))]

    def s_everybody(self, c):
        b, name = self.r.choice(self.tables(c)), c.name()
        at = [self.r.choice(("0u", "%s - 1u" % (n if " " not in n else "(%s)" % n))) if v else "0u" for n, v in b.axes]
        e = self.number(c, "@F", 1)
        c.vars.append((name, "@F", False))
        return [S("everybody reads", "let %s = %s * {0};" % (name, self.read_at(b, at)), [e])]

    def place_in(self, c, b):
        exprs = [self.axis(c, n, v) for n, v in b.axes]
        return ", ".join("{%d}" % k for k in range(len(exprs))), exprs

    def atomic(self, c, b, op, e, kind):
        at, exprs = self.place_in(c, b)
        return S(kind, "atomic_%s(%s[%s], {%d});" % (op, b.name, at, len(exprs)), exprs + [e])

    def s_scatter(self, c):
        b = self.r.choice(self.atomics)
        op = "add" if self.chance(0.65) else "sub"
        return [self.atomic(c, b, op, self.number(c, "@F", 2), "atomic_" + op)]

    def s_atomic_float(self, c):
        return self.s_scatter(c) if self.atomics else self.s_let(c)

    def s_atomic(self, c):
        return self.s_atomic_float(c)

    def s_atomic_counter(self, c, old=None):
        return self.s_histogram(c) if self.integers else self.s_let(c)

    def s_scatter_loop(self, c):  # one invocation adds to many
        b, i = self.r.choice(self.atomics), Scope(c)
        k = i.name("k")
        i.vars.append((k, "u32", False))
        i.loops, i.cost = c.loops + 1, c.cost * 4
        body = self.atomic(i, b, "add", self.squash(self.number(i, "@F", 2)), "atomic_add")
        return [S("scatter loop", "for %s in 0u..%s" % (k, self.r.choice(("K", "2u", "4u"))), [], [[body]])]

    def s_histogram(self, c):
        b = self.r.choice(self.integers)
        return [self.atomic(c, b, b.op, self.integer(c, b.t, 1), "histogram " + b.op)]

    def s_extreme(self, c):
        b = self.r.choice(self.extremes)
        e = self.lit("@F") if self.chance(0.3) else self.number(c, "@F", 2)  # a candidate without derivative, too
        if b.beside and self.chance(0.5):
            self.kinds_seen.append("beside " + b.beside)
            return self.beside(c, b, e)
        at, exprs = self.place_in(c, b)
        at = b.side.replace("{0}", at) % ((0,) if b.beside else ())
        return [S("atomic_" + b.op, "atomic_%s(best[%s], {%d});" % (b.op, at, len(exprs)), exprs + [e])]

    def beside(self, c, b, e):
        at, exprs = ("i", []) if b.beside == "own" else self.place_in(c, b)
        at, n = b.side.replace("{0}", at) % 1, len(exprs)
        other = "max" if b.op == "min" else "min"
        if b.beside == "add":
            return [S("atomic_add", "atomic_add(best[%s], {%d});" % (at, n), exprs + [self.squash(e)])]
        if b.beside == "other":
            return [S("atomic_" + other, "atomic_%s(best[%s], {%d});" % (other, at, n), exprs + [e])]
        if b.beside == "own" and self.chance(0.6):
            op = self.r.choice((b.op, other))
            return [S("atomic_" + op, "atomic_%s(best[%s], {0});" % (op, at), [e])]
        if b.beside == "own" and self.chance(0.4):
            return [S("store", "best[%s] = {0};" % at, [self.squash(e)])]
        name = c.name()
        c.vars.append((name, "@F", False))
        return [S("load", "let %s = best[%s];" % (name, at), exprs)]

    def s_matrix(self, c):
        """A row times a column."""
        names = [b.name for b in c.buffers]
        v, k = c.name(), c.name("k")
        if "a" in names and "b" in names:
            c.vars.append((v, "@F", False))
            return [S("matrix product", "let %s = sum(%s in 0u..K: a[i, %s] * b[%s, j]);" % (v, k, k, k))]
        b = self.r.choice(self.tables(c))
        i = Scope(c)
        i.vars.append((k, "u32", False))
        i.cost, i.guard = c.cost * 4, c.guard + 1
        exprs = [self.load(i, b, 1), self.number(i, "@F", 1)]
        c.vars.append((v, "@F", False))
        return [S("windowed sum", "let %s = sum(%s in 0u..K: {0} * sin({1}));" % (v, k), exprs)]

    def s_all_pairs(self, c):
        b = self.r.choice(self.tables(c))
        n, k, v = b.axes[0][0], c.name("k"), c.name()
        at = [k] + [w if w else "0u" for _, w in b.axes[1:]]
        own = [w if w else "0u" for _, w in b.axes]
        c.vars.append((v, "@F", False))
        form = self.r.choice(("sum(%s in 0u..%s: sin(%s - %s) * 0.3)", "clamp(max(%s in 0u..%s: %s * cos(%s)), -2, 3)",
                              "tanh(sum(%s in 0u..%s: %s * %s * 0.2))"))
        return [S("all pairs", "let %s = %s;" % (v, form % (k, n, self.read_at(b, at), self.read_at(b, own))))]

    def s_rows(self, c):  # one invocation stores an entire row
        own = [b for b in c.buffers if b.writable and (b.extent == "K" or getattr(b, "flat", None)) and b.cls != "param"]
        if not own:
            return self.s_let(c)
        b, i = self.r.choice(own), Scope(c)
        k = i.name("k")
        i.vars.append((k, "u32", False))
        i.loops, i.cost = c.loops + 1, c.cost * 4
        at = b.flat.format(k) if b.flat else ", ".join(b.prefix + [k])
        return [S("row", "for %s in 0u..K" % k, [], [[S("store", "%s[%s] = {0};" % (b.name, at),
                                                       [self.squash(self.number(i, "@F", 2))])]])]

    def s_return(self, c):  # not before a barrier
        return self.s_let(c) if self.meets and c.returns is None else super().s_return(c)

    def leaving(self, c):
        return S("break", "break;") if self.meets else super().leaving(c)

    # ---- the program
    def body(self, c):
        r, p = self.r, self.p
        self.budget = r.choice((3, 5, 8, 11))
        start = []
        if self.free:
            for n, v in enumerate(self.over):
                start.append(S("id", "let %s = gid.%s;" % (v, "xyz"[self.rank - 1 - n])))
                c.vars.append((v, "u32", False))
        if self.guarded:
            start.append(S("outside", "if %s" % " || ".join("%s >= %s" % q for q in zip(self.over, self.extents)),
                           [], [[S("return", "return;")]]))
        p.body += start
        meetings = r.randrange(1, 4) if self.meets else 0
        while self.budget > 0 or meetings:
            self.budget -= 1
            if meetings and self.chance(0.4):
                meetings -= 1
                p.body += self.meeting(c)
            else:
                p.body += self.statement(c)
            if self.budget < -20:
                break
        self.finish(c)
        p.body[len(start):len(start)] = self.preamble()

    def finish(self, c):
        """Uses what was computed."""
        p = self.p
        names = [v[0] for v in c.vars if v[1] == "@F"][-6:] or ["0.5@S"]
        text = " + ".join("sin(%s)" % n for n in names)
        b = next(b for b in c.buffers if b.name == "y")
        if b.writable:
            at, exprs = self.place(c, b)
            p.body.append(S("store", "%s = {%d};" % (at, len(exprs)), exprs + [E("@F", "use", text)]))
        if self.atomics and self.chance(0.6):
            p.body.append(self.atomic(c, self.r.choice(self.atomics), "add", E("@F", "use", "(%s) * 0.3" % text), "atomic_add"))

    def name_features(self):
        """Features that a compiler may not support yet: features.py has a probe for each."""
        p, text = self.p, self.p.text()
        if self.free:
            p.features.add("without over")
        if re.search(r"\batomic_(min|max)\(best\[", text):
            p.features.add("atomic min, max")
        if "blk[" in text:
            p.features.add("min, max of workgroups")
        if any(k.startswith("beside ") for k in self.kinds_seen):
            p.features.add("min, max beside others")
        if re.search(r"\batomic_(min|max)\(t\d+\[", text):
            p.features.add("shared min, max")
        if "subgroup_" in text:
            p.features.add("subgroup")
        if re.search(r"shared \w+: f32", text):
            p.features.add("shared")
        if "barrier();" in text:
            p.features.add("barrier")
            for b in re.findall(r"(\w+): (?:in)?out f32", text):
                stores = len(re.findall(r"(?m)^ *%s\[.*\] = " % b, text))
                if 0 < stores < len(re.findall(r"\b%s[\[,]" % b, text.split("\n{\n", 1)[1])) or re.search(
                        r"(?m)^ *%s\[.*\] [-+*/]= " % b, text):
                    p.features.add("buffer with barriers")
        p.kinds = list(self.kinds_seen)


def make(seed):
    m = Several(seed)
    p = m.make()
    p.wild = m.wild > 0
    return p
