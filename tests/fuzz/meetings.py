# SPDX-License-Identifier: MIT
"""Random communication between the invocations of a workgroup: shared memory, barriers, subgroups.

Every meeting is a top-level sequence of phases with barriers between them.  In a phase an array is
either stored, by each lane in an element of its own, or read by all, or added to atomically.
`dirty` holds the arrays touched since the last barrier: a phase that needs one of them emits a
barrier first, so there are as few barriers as possible and each one matters.
"""
from tree import E, S, Scope

BARRIER = "barrier();"
# (weight, meeting); the tree needs a power of two of lanes
MEETINGS = ((3, "exchange"), (1.5, "rounds"), (2, "tree"), (1.6, "scan"), (1.5, "tiles"), (1.2, "ping pong"),
            (1.2, "shared atomic"), (1, "broadcast"), (1, "guarded"), (1.2, "integer exchange"), (1.2, "segment"),
            (0.8, "one for all"), (1.1, "shared extreme"), (0.8, "block extreme"), (1, "recounted"))
EXTREMES = ("all", "all", "arm", "twice", "own loop", "common loop", "lane loop", "lane loops", "own element", "beside a sum", "beside the other")
SUBGROUPS = ((3, "add"), (1, "min"), (1, "max"), (0.8, "mul"), (1.3, "inclusive_add"), (1.3, "exclusive_add"),
             (1, "any"), (1, "all"), (1.4, "bits"), (1, "loop"), (1, "first lane adds"))
SHUFFLES = ((1.2, "broadcast"), (1.2, "shuffle"), (1.2, "shuffle_xor"))


class Array:
    def __init__(self, name, lanes, dims, defined):
        self.name, self.lanes, self.dims = name, lanes, dims  # dims: [(size, this lane's coordinate)]
        self.defined = defined  # every element holds something before the first meeting


class Meetings:
    # ---- arrays
    def preamble(self):
        """Declarations of the shared arrays, and stores to all of those that are read entirely."""
        out = [S("shared", text) for text in self.shared_text]
        clears = [a for a in self.arrays if a.defined]
        if not clears:
            return out
        body = []
        for a in clears:
            if len(a.dims) == 1:
                body.append(S("for", "for q in 0u..%du" % a.dims[0][0], [], [[S("shared store", "%s[q] = %s;" % (
                    a.name, "0" if self.chance(0.5) else "0.4@S"))]]))
            else:
                body.append(S("for", "for q in 0u..%du" % a.dims[0][0], [], [[
                    S("for", "for q2 in 0u..%du" % a.dims[1][0], [], [[
                        S("shared store", "%s[q, q2] = 0;" % a.name)]])]]))
        return out + [S("shared clear", "if lindex == 0u", [], [body]), S("barrier", BARRIER)]

    def array(self, dims=None, defined=True):
        """One of the existing arrays, or a new one."""
        found = [a for a in self.arrays if (a.dims == dims if dims else a.lanes == self.lanes) and (a.defined or not defined)]
        if found and self.chance(0.4):
            return self.r.choice(found)
        if dims is None:
            dims = [(self.lanes, "lindex")]
            if self.rank == 2 and self.chance(0.5):
                dims = [(self.size[1], "lid.y"), (self.size[0], "lid.x")]
        lanes = 1
        for n, _ in dims:
            lanes *= n
        a = Array("t%d" % (len(self.arrays) + 1), lanes, dims, defined)
        self.arrays.append(a)
        self.shared_text.append("shared %s: @F[%s];" % (a.name, ", ".join(str(n) for n, _ in dims)))
        return a

    def barrier(self):
        self.dirty = set()
        return S("barrier", BARRIER)

    def sync(self, *names):
        return [self.barrier()] if self.dirty & set(names) else []

    # ---- places in arrays
    def lane_axis(self, n, v):
        """(kind, index) of a map that gives each of n lanes an element of its own."""
        rows = [(4, ("own lane", v)), (1, ("own last lane first", "%du - %s" % (n - 1, v))),
                (1, ("own lane+c", "(%s + %du) %% %du" % (v, self.r.randrange(1, 4), n)))]
        if n % 2 == 0:
            rows.append((1, ("own lane^1", "%s ^ 1u" % v)))
        if n in (4, 8, 16, 32):
            rows.append((1, ("own 3*lane", "%s * 3u %% %du" % (v, n))))
        return self.pick(rows)

    def own_place(self, a, plain=False):
        parts = []
        for n, v in a.dims:
            kind, text = ("own lane", v) if plain else self.lane_axis(n, v)
            self.kinds_seen.append(kind)
            parts.append(text)
        return "%s[%s]" % (a.name, ", ".join(parts))

    def any_place(self, c, a):
        """An element that any lane may have stored: (text, expressions)."""
        parts, exprs = [], []
        for n, v in a.dims:
            ats = [b for b in c.buffers if b.name == "at"]
            k = self.loop_variable(c)
            kind = self.pick([(3, "shift"), (1, "mirror"), (1, "literal"), (1, "before"), (0.7, "half"),
                              (1.2 if ats else 0, "data"), (2 if k else 0, "k"), (0.6, "own")])
            if kind == "data":
                exprs.append(self.axis_data(c))
                parts.append("{%d} %% %du" % (len(exprs) - 1, n))
            else:
                parts.append({"shift": "(%s + %du) %% %du" % (v, self.r.randrange(1, 5), n),
                              "mirror": "%du - %s" % (n - 1, v), "literal": "%du" % self.r.randrange(n),
                              "before": "i32(%s) - 1" % v, "half": "%s / 2u" % v, "own": v,
                              "k": "(%s + %s) %% %du" % (v, k, n)}[kind])
            self.kinds_seen.append("lane read " + kind)
        return "%s[%s]" % (a.name, ", ".join(parts)), exprs

    def axis_data(self, c):
        e = self.data_index(c, self.over[0])
        return e if e.t == "u32" else E("u32", "u32 of i32", "u32({0})", e)

    def read(self, c, a):
        """An expression of values that others stored."""
        if self.chance(0.25):
            i, k = Scope(c), None
            k = i.name("k")
            n, v = a.dims[-1]
            first = "" if len(a.dims) == 1 else self.r.choice((a.dims[0][1], "0u")) + ", "
            return E("@F", "sum of shared", "sum(%s in 0u..%du: %s[%s%s] * 0.3)" % (k, n, a.name, first, k))
        text, exprs = self.any_place(c, a)
        return E("@F", "load shared", text, *exprs)

    def take(self, c, exprs, form=None):
        """let v = …, of the values read."""
        name = c.name()
        mutable = self.chance(0.4)
        form = form or (" + ".join("{%d}" % k for k in range(len(exprs))) if self.chance(0.6) else
                        " * ".join("sin({%d})" % k for k in range(len(exprs))))
        c.vars.append((name, "@F", mutable))
        return S("take", "%s %s = %s;" % ("var" if mutable else "let", name, form), exprs)

    # ---- meetings
    def meeting(self, c):
        power = self.lanes & (self.lanes - 1) == 0 and self.lanes > 1
        if self.style == "subgroup" and self.chance(0.75):
            return self.m_subgroup(c)
        kind = self.pick([(0.2 if k == "tree" and not power else w, k) for w, k in MEETINGS])
        if kind == "block extreme" and (self.rank > 1 or self.free):
            kind = "shared extreme"
        return getattr(self, "m_" + kind.replace(" ", "_"))(c)

    def stored(self, c, a=None, d=2):
        if a is None or isinstance(a, Array):
            return self.squash(self.number(c, "@F", d))
        return super().stored(c, a, d)

    def m_exchange(self, c):
        a = self.array()
        out, at = self.sync(a.name), self.own_place(a)
        store = S("shared store", "%s = {0};" % at, [self.stored(c)])
        kind = self.pick([(5, "store"), (2, "conditional"), (1.5, "compound"), (1, "twice")])
        if kind == "conditional":
            store = S("if", "if {0}", [self.condition(c, 1)], [[store]])
            self.kinds_seen.append("conditional shared store")
        elif kind == "compound":
            op = self.r.choice(("+=", "-=", "*="))
            store = S("shared compound", "%s %s sin({0}) * 0.5;" % (at, op), [self.number(c, "@F", 1)])
        out.append(store)
        if kind == "twice":
            out.append(S("shared compound", "%s = %s * 0.6 + sin({0}) * 0.4;" % (at, at), [self.number(c, "@F", 1)]))
        out.append(self.barrier())
        out.append(self.take(c, [self.read(c, a) for _ in range(self.r.randrange(1, 4))]))
        self.dirty.add(a.name)
        return self.seen("exchange", out)

    def seen(self, kind, out):
        self.kinds_seen.append("meeting " + kind)
        return out

    def m_rounds(self, c):
        """A loop with barriers: in each iteration every lane reads from others and stores again."""
        a, at, v, k = self.array(), None, c.name(), c.name("k")
        out = self.sync(a.name)
        at = self.own_place(a)
        out += [S("shared store", "%s = {0};" % at, [self.stored(c)])]
        i = Scope(c)
        i.vars.append((k, "u32", False))
        i.loops, i.cost = 1, c.cost * 3
        n = i.name()
        text, exprs = self.any_place(i, a)
        trips = self.r.choice(("3u", "K", "2u", "1u", "0u", "w0"))
        body = [S("barrier", BARRIER), S("take", "let %s = %s;" % (n, text), exprs)]
        i.vars.append((n, "@F", False))
        body += [S("barrier", BARRIER), S("shared store", at + " = " + self.r.choice((
            "tanh(%s * 0.9 + {0} * 0.3);" % n, "sin(%s) * cos({0});" % n, "%s * 0.5 + {0} * 0.4;" % at)),
            [self.number(i, "@F", 1)])]
        if self.chance(0.2):
            body[-1] = S("if", "if {0}", [self.condition(i, 1)], [[body[-1]]])
        head = "for %s in 0u..%s" % (k, "min(N, 3u)" if trips == "w0" else trips)
        if self.chance(0.2):
            head = "for %s in rev(0u..3u)" % k
        out += [S("barrier loop", head, [], [body]), self.barrier(), self.take(c, [self.read(c, a)])]
        self.dirty.add(a.name)
        return self.seen("rounds", out)

    def m_recounted(self, c):
        """Barriers whose number follows from what an outer loop carries and computes by more than arithmetic."""
        a, t, k, m, n, w = self.array(), *(c.name(x) for x in "rkmnw")
        out = self.sync(a.name)
        at = self.own_place(a)
        i = Scope(c)
        i.loops, i.cost = 1, c.cost * 5
        v = i.name()
        text, exprs = self.any_place(i, a)
        rounds = [S("barrier", BARRIER), S("take", "let %s = %s;" % (v, text), exprs), S("barrier", BARRIER),
                  S("shared store", "%s = tanh(%s * 0.8 + %s * 0.3);" % (at, v, at))]
        meets = self.pick([(2, S("barrier loop", "for %s in 0u..%s %% 3u" % (k, n), [], [rounds])),
                           (2, S("barrier if", "if %s %% 2u == 0u" % n, [], [rounds])),
                           (1, S("barrier if", "if %s > %s %% 5u" % (n, w), [], [rounds]))])
        step = S("step", self.r.choice(("%s = %s * 3u %% 7u + %s;" % (n, n, m), "%s += %s + %s;" % (n, m, w),
                                        "if %s > 3u { break; } %s = (%s + %s) %% 9u;" % (m, n, n, w))))
        steps = [S("for", "for %s in 0u..%s" % (m, self.r.choice(("3u", t, "%s %% 4u" % n))), [], [[step]])]
        if self.chance(0.4):
            steps = [S("if", "if %s %% 3u > 0u" % w, [], [steps])]
        if self.chance(0.5):
            steps.append(S("step", "%s = %s * 5u %% 11u + %s %% 2u;" % (w, w, n)))
        if self.chance(0.3):
            steps = [S("if", "if %s > 40u" % n, [], [[S("step", "break;")]])] + steps
        out += [S("shared store", "%s = {0};" % at, [self.stored(c)]), S("var", "var %s = %du;" % (n, self.r.randrange(4))),
                S("var", "var %s = %du;" % (w, self.r.randrange(4))),
                S("barrier loop", "for %s in 0u..%s" % (t, self.r.choice(("3u", "4u", "K"))), [], [
                    [meets] + steps if self.chance(0.7) else steps + [meets]]),
                self.barrier(), self.take(c, [self.read(c, a)])]
        self.dirty.add(a.name)
        return self.seen("recounted", out)

    def m_tree(self, c):
        """Σ or another operation over the workgroup, in halves."""
        a, k = self.array([(self.lanes, "lindex")]), c.name("k")
        out = self.sync(a.name) + [S("shared store", "%s[lindex] = {0};" % a.name, [self.stored(c)])]
        op = self.r.choice(("{0} + {1}", "{0} + {1}", "{0} + {1}", "max({0}, {1})", "min({0}, {1})", "tanh({0} + {1} * 0.7)",
                            "{0} * (0.8 + {1} * 0.2)"))
        steps, half = max(self.lanes.bit_length() - 1, 1), self.lanes // 2
        form = self.pick([(2, "unrolled"), (3, "loop"), (2, "while")])
        if form == "loop":
            text = op.format("%s[lindex]" % a.name, "%s[lindex + h]" % a.name)
            body = [S("barrier", BARRIER), S("let", "let h = %du >> %s;" % (half, k)), S("if", "if lindex < h", [], [[
                S("shared store", "%s[lindex] = %s;" % (a.name, text))]])]
            out += [S("barrier loop", "for %s in 0u..%du" % (k, steps), [], [body])]
        elif form == "while":
            text = op.format("%s[lindex]" % a.name, "%s[lindex + %s]" % (a.name, k))
            body = [S("barrier", BARRIER), S("if", "if lindex < %s" % k, [], [[
                S("shared store", "%s[lindex] = %s;" % (a.name, text))]]), S("step", "%s = %s / 2u;" % (k, k))]
            out += [S("var", "var %s = %du;" % (k, half)), S("barrier while", "while %s > 0u" % k, [], [body])]
        else:
            h = half
            while h:
                text = op.format("%s[lindex]" % a.name, "%s[lindex + %du]" % (a.name, h))
                out += [S("barrier", BARRIER), S("if", "if lindex < %du" % h, [], [[
                    S("shared store", "%s[lindex] = %s;" % (a.name, text))]])]
                h //= 2
        out += [self.barrier()]
        if self.atomics and self.chance(0.5):
            b = self.r.choice(self.atomics)
            out.append(S("if", "if lindex == 0u", [], [[self.atomic(c, b, "add", E("@F", "load shared", a.name + "[0]"),
                                                                    "atomic_add")]]))
        else:
            out.append(self.take(c, [E("@F", "load shared", a.name + "[0]")]))
        self.dirty.add(a.name)
        return self.seen("tree", out)

    def m_scan(self, c):
        """Prefix sums over the workgroup: one array and two barriers a step, or two and one."""
        steps, k = max((self.lanes - 1).bit_length(), 1), c.name("k")
        if self.chance(0.5):
            a = self.array([(self.lanes, "lindex")])
            v = c.name()
            out = self.sync(a.name) + [S("shared store", "%s[lindex] = {0};" % a.name, [self.stored(c)])]
            body = [S("barrier", BARRIER), S("let", "let %s = lindex >= 1u << %s ? %s[lindex - (1u << %s)] * 0.7 : 0;" % (
                v, k, a.name, k)), S("barrier", BARRIER), S("shared compound", "%s[lindex] += %s;" % (a.name, v))]
            out += [S("barrier loop", "for %s in 0u..%du" % (k, steps), [], [body]), self.barrier(),
                    self.take(c, [self.read(c, a)])]
        else:
            a = self.array([(2, "0u"), (self.lanes, "lindex")])
            out = self.sync(a.name) + [S("shared store", "%s[0, lindex] = {0};" % a.name, [self.stored(c)])]
            n = a.name
            body = [S("barrier", BARRIER), S("shared store", "%s[(%s + 1u) %% 2u, lindex] = %s[%s %% 2u, lindex] + "
                    "(lindex >= 1u << %s ? %s[%s %% 2u, lindex - (1u << %s)] * 0.6 : 0);" % (n, k, n, k, k, n, k, k))]
            out += [S("barrier loop", "for %s in 0u..%du" % (k, steps), [], [body]), self.barrier(),
                    self.take(c, [E("@F", "load shared", "%s[%du, lindex]" % (n, steps % 2))])]
            self.kinds_seen.append("ping pong arrays")
        self.dirty.add(a.name)
        return self.seen("scan", out)

    def m_tiles(self, c):
        """Tiles of an input through shared memory, as in a product of matrices."""
        b = self.r.choice([t for t in self.tables(c) if not t.flat])
        a, v, k = self.array([(self.lanes, "lindex")]), c.name(), c.name("k")
        out = self.sync(a.name) + [S("var", "var %s = {0};" % v, [self.number(c, "@F", 1)])]
        extent = b.axes[0][0]
        rest = ["%s" % (w if w else "0u") for _, w in b.axes[1:]]
        i = Scope(c)
        q = i.name("k")
        body = [S("shared store", "%s[lindex] = %s;" % (a.name, "%s[%s]" % (b.name, ", ".join(
            ["%s * %du + lindex" % (k, self.lanes)] + rest)))), S("barrier", BARRIER),
            S("compound", "%s += sum(%s in 0u..%du: %s[%s] * sin({0} * 0.5)) * 0.2;" % (v, q, self.lanes, a.name, q),
              [self.float_leaf(i)]), S("barrier", BARRIER)]
        c.vars.append((v, "@F", True))
        trips = "((%s + %du) / %du)" % (extent, self.lanes - 1, self.lanes) if self.chance(0.7) else "2u"
        out += [S("barrier loop", "for %s in 0u..%s" % (k, trips), [], [body])]
        if trips == "2u":  # an empty input runs no iteration, and so no barrier
            self.dirty = set()
        return self.seen("tiles", out)

    def m_ping_pong(self, c):
        """Two arrays alternately, each computed from the other."""
        a, b = self.array(), self.array()
        if a is b:
            return self.m_exchange(c)
        k = c.name("k")
        out = self.sync(a.name, b.name) + [S("shared store", "%s = {0};" % self.own_place(a, True), [self.stored(c)])]
        i = Scope(c)
        i.vars.append((k, "u32", False))
        i.loops, i.cost = 1, 3
        (x, ex), (y, ey) = self.any_place(i, a), self.any_place(i, b)
        e = E("@F", "load shared", x, *ex)
        body = [S("barrier", BARRIER), S("shared store", "%s = tanh({0} * 0.8 + {1} * 0.3);" % self.own_place(b), [
            e, self.number(i, "@F", 1)]), S("barrier", BARRIER),
            S("shared store", "%s = sin({0});" % self.own_place(a), [E("@F", "load shared", y, *ey)])]
        out += [S("barrier loop", "for %s in 0u..%s" % (k, self.r.choice(("2u", "K", "3u"))), [], [body]), self.barrier(),
                self.take(c, [self.read(c, a), self.read(c, b)])]
        self.dirty |= {a.name, b.name}
        return self.seen("ping pong", out)

    def m_shared_atomic(self, c):
        """Several lanes add to one element of a shared array."""
        a = self.array([(self.lanes, "lindex")])
        out = self.sync(a.name) + [S("shared store", "%s[lindex] = %s;" % (a.name, self.r.choice(("0", "0.3@S"))))]
        out.append(self.barrier())
        place = self.r.choice(("lindex % 2u", "lindex / 2u", "0u", "(lindex * 3u) % 5u"))
        op = self.r.choice(("add", "add", "sub"))
        out += [S("shared atomic_" + op, "atomic_%s(%s[%s], {0});" % (op, a.name, place), [self.stored(c)]),
                self.barrier(), self.take(c, [self.read(c, a)])]
        self.dirty.add(a.name)
        return self.seen("shared atomic", out)

    def m_shared_extreme(self, c):
        """Candidates for an extremum: of all lanes, in an arm, several of a lane, in a loop of all or of each lane."""
        a, op = self.array([(self.lanes, "lindex")]), self.r.choice(("min", "max"))
        place = self.r.choice(("lindex % 2u", "0u", "lindex / 2u"))

        def candidate(scope, at):
            e = self.lit("@F") if self.chance(0.2) else self.number(scope, "@F", 2)
            return S("shared atomic_" + op, "atomic_%s(%s[%s], {0});" % (op, a.name, at), [e])

        out = self.sync(a.name) + [S("shared store", "%s[lindex] = {0};" % a.name, [self.stored(c)]), self.barrier()]
        form = self.r.choice(EXTREMES)
        if form.startswith("beside") and self.lanes < 2:
            form = "all"
        if form == "own element":  # others come after the next barrier
            out += [candidate(c, "lindex"), self.take(c, [E("@F", "load shared", a.name + "[lindex]")]),
                    S("shared compound", a.name + "[lindex] *= 0.5;")]
        elif form.startswith("beside"):
            other = "add" if form == "beside a sum" else "max" if op == "min" else "min"
            out += [candidate(c, "0u"), S("shared atomic_" + other, "atomic_%s(%s[%du], {0});" % (
                other, a.name, self.lanes - 1), [self.stored(c)]), candidate(c, "0u")]
        elif form == "arm":
            out.append(S("if", "if {0}", [self.condition(c, 1)], [[candidate(Scope(c), place)]]))
        elif form.startswith("lane loop"):  # which not all lanes run together, at elements that change
            k, trips = c.name("k"), self.r.choice(("lindex % 3u + 1u", "3u - lindex % 2u", "(lindex * 5u + 2u) % 4u"))
            i = Scope(c)
            i.vars.append((k, "u32", False))
            i.loops, i.cost = 1, c.cost * 3
            changing = ("%s %% %du" % (k, min(self.lanes, 2)), "(%s + lindex) %% %du" % (k, self.lanes))
            places = [self.r.choice(changing), self.r.choice(changing + (place,))]
            if form == "lane loops":
                self.r.shuffle(places)
            body = [candidate(i, at) for at in places[:2 if form == "lane loops" else 1]]
            if self.chance(0.3):
                body[-1] = S("if", "if {0}", [self.condition(i, 1)], [[body[-1]]])
            out.append(S("for", "for %s in 0u..%s" % (k, trips), [], [body]))
        elif form.endswith("loop"):
            k = c.name("k")
            i = Scope(c)
            i.vars.append((k, "u32", False))
            i.loops, i.cost = 1, c.cost * 3
            own = form == "own loop"
            out.append(S("for", "for %s in %s..3u" % (k, "lindex % 3u" if own else "0u"), [], [[
                candidate(i, place if own else "%s %% 2u" % k)]]))
        else:
            out += [candidate(c, place) for _ in range(2 if form == "twice" else 1)]
        out += [self.barrier(), self.take(c, [self.read(c, a)])]
        self.dirty.add(a.name)
        self.kinds_seen.append("shared extreme " + form)
        return self.seen("shared extreme", out)

    def m_block_extreme(self, c):
        """An extremum of each workgroup, in a buffer, that its lanes read."""
        if not any(t.startswith("blk:") for t in self.rest):
            self.rest.append("blk: inout @F[N]")
        op, at, out = self.r.choice(("min", "max")), "blk[wid.x]", self.sync("blk")
        if self.chance(0.5):
            out += [S("if", "if lindex == 0u", [], [[S("store", at + " = {0};", [self.stored(c)])]]), self.barrier()]
        update = S("atomic_" + op, "atomic_%s(%s, {0});" % (op, at), [self.number(c, "@F", 2)])
        if self.chance(0.4):
            update = S("if", "if {0}", [self.condition(c, 1)], [[update]])
        out += [update, self.barrier(), self.take(c, [E("@F", "load", at)])]
        self.dirty.add("blk")
        return self.seen("block extreme", out)

    def m_broadcast(self, c):
        """One lane broadcasts to the others."""
        a = self.array()
        lane = "lindex == %du" % (0 if self.chance(0.6) else self.r.randrange(self.lanes))
        at = "%s[%s]" % (a.name, ", ".join("%du" % self.r.randrange(n) for n, _ in a.dims))
        out = self.sync(a.name) + [S("if", "if " + lane, [], [[S("shared store", at + " = {0};", [self.stored(c)])]]),
                                   self.barrier(), self.take(c, [E("@F", "load shared", at), self.number(c, "@F", 1)])]
        self.dirty.add(a.name)
        return self.seen("broadcast", out)

    def m_one_for_all(self, c):
        """The first lane adds up what all stored, one by one."""
        a, s, q = self.array([(self.lanes, "lindex")]), c.name(), c.name("k")
        out = self.sync(a.name) + [S("shared store", "%s[lindex] = {0};" % a.name, [self.stored(c)]), self.barrier()]
        body = [S("var", "var %s = 0.1@S;" % s), S("for", "for %s in 0u..%du" % (q, self.lanes), [], [[
            S("compound", "%s = %s * 0.9 + %s[%s] * 0.5;" % (s, s, a.name, q))]]),
            S("shared store", "%s[0] = sin(%s);" % (a.name, s))]
        out += [S("if", "if lindex == 0u", [], [body]), self.barrier(),
                self.take(c, [E("@F", "load shared", a.name + "[0]"), self.number(c, "@F", 1)])]
        self.dirty.add(a.name)
        return self.seen("one for all", out)

    def m_guarded(self, c):
        """Reads only what a lane inside of the domain stored: no element needs an initial value."""
        if self.rank > 1 or self.padded:
            return self.m_exchange(c)
        a = self.array([(self.lanes, "lindex")], defined=False)
        d = self.r.randrange(1, 3)
        v = c.name()
        e = self.stored(c)
        out = self.sync(a.name) + [S("shared store", "%s[lindex] = {0};" % a.name, [e]), self.barrier()]
        form = self.r.choice(("let %s = i + %du < N && lindex + %du < %du ? %s[lindex + %du] : 0.3;" % (
            v, d, d, self.lanes, a.name, d), "let %s = lindex >= %du ? %s[lindex - %du] : 0.2;" % (v, d, a.name, d)))
        c.vars.append((v, "@F", False))
        self.dirty.add(a.name)
        return self.seen("guarded", out + [S("take", form)])

    def m_integer_exchange(self, c):
        """Indices through shared memory: integers have no derivative, what they select has."""
        name, v = "ti%d" % (len(self.shared_text) + 1), c.name()
        if "at" not in [b.name for b in c.buffers]:
            return self.m_exchange(c)
        self.shared_text.append("shared %s: u32[%d];" % (name, self.lanes))
        e = self.axis_data(c)
        shift = self.r.randrange(1, self.lanes + 1)
        b = self.r.choice([t for t in self.tables(c) if not t.flat])
        rest = [w if w else "0u" for _, w in b.axes[1:]]
        out = [S("shared integer store", "%s[lindex] = {0};" % name, [e]), self.barrier()]
        # A padding lane stores nothing: its element may hold anything, so it is not read.
        out.append(S("if", "if lindex + %du < %du && %s" % (shift, self.lanes, " && ".join(self.within(shift))), [], [[
            self.atomic(c, self.r.choice(self.atomics), "add", E("@F", "load in", "%s[%s] * 0.5" % (b.name, ", ".join(
                ["%s[lindex + %du]" % (name, shift)] + rest))), "atomic_add") if self.atomics else
            S("let", "let %s = 1;" % v)]]))
        return self.seen("integer exchange", out)

    def within(self, shift):
        """Conditions that the lane `shift` places further is inside of the domain."""
        if self.free:
            return ["true"]
        return ["i + %du < N" % shift] if self.rank == 1 and not self.padded else ["false"]

    def m_segment(self, c):
        """A buffer that the workgroup stores, and reads again after a barrier."""
        if self.rank > 1 or self.padded:
            return self.m_exchange(c)
        if not self.segment:
            self.segment = "seg"
            self.rest_later.append("seg: inout @F[N]")
        out = self.sync("seg") + [S("segment store", "seg[i] %s {0};" % self.r.choice(("=", "=", "+=")), [self.stored(c)]),
                                  self.barrier()]
        at = "wid.x * %du + %s" % (self.lanes, self.r.choice(("(lindex + 1u) %% %du" % self.lanes, "%du - lindex" % (
            self.lanes - 1), "0u", "lindex / 2u")))
        out.append(self.take(c, [E("@F", "load inout", "seg[%s]" % at), self.number(c, "@F", 1)]))
        self.dirty.add("seg")
        return self.seen("segment", out)

    # ---- subgroups
    def m_subgroup(self, c):
        inside = self.free or self.rank == 1 and not self.padded
        kind = self.pick(SUBGROUPS + (SHUFFLES if inside else ()))
        e = self.squash(self.number(c, "@F", 2))
        self.seen("subgroup " + kind, [])
        if kind in ("any", "all"):
            e, name = self.condition(c, 1), c.name("b")
            c.vars.append((name, "bool", False))
            return [S("subgroup_" + kind, "let %s = subgroup_%s({0});" % (name, kind), [e])]
        if kind == "bits":
            e, name, op = self.integer(c, "u32", 1), c.name("n"), self.r.choice(("and", "or", "xor"))
            c.vars.append((name, "u32", False))
            return [S("subgroup_" + op, "let %s = subgroup_%s({0});" % (name, op), [e])]
        if kind == "loop":
            v, k = c.name(), c.name("k")
            c.vars.append((v, "@F", True))
            return [S("var", "var %s = {0};" % v, [e]), S("subgroup loop", "for %s in 0u..%s" % (k, self.r.choice((
                "2u", "K"))), [], [[S("subgroup_add", "%s = tanh(%s * 0.7 + subgroup_add(%s) * 0.1);" % (v, v, v))]])]
        if kind == "first lane adds":
            v = c.name()
            if not self.atomics:
                return [S("subgroup_add", "let %s = subgroup_add({0}) * 0.2;" % v, [e])]
            return [S("subgroup_add", "let %s = subgroup_add({0}) * 0.2;" % v, [e]), S("if", "if lane == 0u", [], [[
                self.atomic(c, self.r.choice(self.atomics), "add", E("@F", "variable", v), "atomic_add")]])]
        v = c.name()
        c.vars.append((v, "@F", False))
        if kind == "mul":
            return [S("subgroup_mul", "let %s = subgroup_mul(0.9 + {0} * 0.2);" % v, [e])]
        if kind in ("broadcast", "shuffle", "shuffle_xor"):
            lane, other = self.r.randrange(4), "lane"
            if kind == "broadcast":
                call, other = "subgroup_broadcast({0}, %du)" % lane, "%du" % lane
            elif kind == "shuffle":
                other = self.r.choice(("(lane + %du) %% 8u" % (lane + 1), "lane / 2u", "7u - lane"))
                call = "subgroup_shuffle({0}, %s)" % other
            else:
                other, call = "(lane ^ %du)" % (lane + 1), "subgroup_shuffle_xor({0}, %du)" % (lane + 1)
            if self.free:
                return [S("subgroup_" + kind, "let %s = %s;" % (v, call), [e])]
            u = c.name()
            return [S("subgroup_" + kind, "let %s = %s;" % (u, call), [e]), S("let", "let %s = i - lane + %s < N ? %s : 0.3;" % (
                v, other, u))]
        scale = {"min": 0.8, "max": 0.8}.get(kind, 0.2)
        return [S("subgroup_" + kind, "let %s = subgroup_%s({0}) * %s;" % (v, kind, scale), [e])]
