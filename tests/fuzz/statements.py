# SPDX-License-Identifier: MIT
"""Random statements without blocks: variables, calls."""
from tree import E, INTS, S


class Statements:
    # ---- statements
    def block(self, c, most, needs=None):
        out = self.forced(c, self.force.pop()) if self.force else []
        for _ in range(self.r.randrange(1, most + 1)):
            if self.budget <= 0 and out:
                break
            self.budget -= 1
            out += self.statement(c)
        return out

    def most_cost(self):
        return 600 if self.force_only else 60

    def statement(self, c):
        r = self.r
        f = self.named(c, "@F", True)
        stores = [b for b in c.buffers if b.writable]
        deep = c.depth > 6
        arrays = [b for b in c.buffers if b.cls == "local"]
        in_loop = c.loops > 0
        kind = self.pick([
            (2.5, "let"), (2.5, "var"), (6 if f else 0, "assign"), (4 if f else 0, "compound"),
            (3.5 if f else 0, "swap"), (0 if deep else 5, "if"),
            (5 if c.cost <= 30 and not deep else 0, "for"),
            (1.6 * (0.3 + self.wild) if c.cost <= 20 and not deep else 0, "while"),
            (0.8 if not deep else 0, "scope"), (1.2 if not deep else 0, "switch"),
            (0.8 * (0.3 + self.wild) if c.cost <= 20 and not deep else 0, "do"), (4 if stores else 0, "store"), (2 if stores else 0, "store compound"),
            (1.2, "local"), (2 if arrays else 0, "fill local"), (0.4 if arrays else 0, "clear local"),
            (0.3, "whole local"), (0.4, "zero"), (0.1, "nothing"), (1 if not deep else 0, "checkpoint"),
            (2 if in_loop else 0, "break"), (1.5 if in_loop else 0, "continue"), (0.6, "return"),
            (3 if self.atomics else 0, "atomic"), (1, "integer"), (0.8, "bool"),
            (2.2, "tuple"), (2.6, "procedure"), (2.2, "integer assign"), (3, "masked if"),
            (0.8, "vector"), (1.2, "vector assign"), (0.8, "vector value"),
            (0.4, "struct"), (0.9, "struct assign"), (0.5, "struct value"),
            (1.0, "changing call"), (0.9, "element assign"), (0.6, "element value"),
            (0.8, "library"), (6 if self.typed else 0, "typed assign"), (3 if self.typed else 0, "typed value"),
            (2.5 if self.typed else 0, "typed copy"), (3 if self.typed else 0, "typed call"),
            (3 if self.sums else 0, "typed atomic"),
            (0.8 if f else 0, "own condition"), (0.9 if stores else 0, "overwrite"),
            (0.8 if stores else 0, "store and read"), (0.7 if stores else 0, "owned atomic"),
            (1.6 if f else 0, "masked twice"), (1.6 if f and c.cost <= 16 else 0, "alias"), (2 if f and in_loop else 0.5 if f else 0, "scratch"),
            (1.6 if f and stores and c.cost <= 12 and not deep else 0, "again")])
        return getattr(self, "s_" + kind.replace(" ", "_"))(c)

    def s_let(self, c):
        second = self.p.has_second and self.chance(0.15)
        t = "@G" if second else "@F"
        e = self.number(c, t, 3)
        name = c.name()
        c.vars.append((name, t, False))
        if self.chance(0.15):
            return [S("let typed", "let %s: %s = {0};" % (name, t), [e])]
        return [S("let", "let %s = {0};" % name, [e])]

    def s_zero(self, c):
        name = c.name()
        c.vars.append((name, "@F", True))
        return [S("var typed", "var %s: @F;" % name)]

    def s_nothing(self, c):
        return [S("empty statement", ";")]

    def s_var(self, c):
        e = self.number(c, "@F", 2)
        name = c.name()
        c.vars.append((name, "@F", True))
        return [S("var", "var %s = {0};" % name, [e])]

    def s_integer(self, c):
        t = self.r.choice(INTS + ("u32", "i32"))
        e = self.integer(c, t, 2)
        name = c.name("n")
        mutable = self.chance(0.6)
        c.vars.append((name, t, mutable))
        return [S("integer", "%s %s = {0};" % ("var" if mutable else "let", name), [e])]

    def s_bool(self, c):
        found = [v[0] for v in c.vars if v[1] == "bool" and v[2]]
        e = self.condition(c, 2)
        if found and self.chance(0.7):
            return [S("bool assign", self.r.choice(("%s = {0};", "%s &= {0};", "%s |= {0};", "%s ^= {0};"))
                      % self.r.choice(found), [e])]
        name, mutable = c.name("b"), self.chance(0.8)
        c.vars.append((name, "bool", mutable))
        return [S("bool", "%s %s = {0};" % ("var" if mutable else "let", name), [e])]

    def s_integer_assign(self, c):
        found = [v for v in c.vars if v[1] in INTS and v[2]]
        if not found:
            return self.s_integer(c)
        name, t, _ = self.r.choice(found)
        op = self.r.choice(("=", "+=", "-=", "*=", "=", "+=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
        return [S("integer assign", "%s %s {0};" % (name, op), [self.integer(c, t, 2)])]

    def s_assign(self, c):
        name = self.named(c, "@F", True)
        e = self.number(c, "@F", 3)
        if c.loops and self.chance(0.7):
            e = self.squash(e)
        elif c.loops:
            e = E("@F", "decay", "(%s * 0.6 + sin({0}))" % name, e)
        return [S("assign", "%s = {0};" % name, [e])]

    def s_compound(self, c):
        name = self.named(c, "@F", True)
        op = self.r.choice(("+=", "+=", "-=", "*=", "/="))
        e = self.number(c, "@F", 2)
        if op in ("*=", "/="):
            e = E("@F", "squash", "(%s + sin({0}) * 0.3)" % ("0.7" if op == "*=" else "1.4"), e)
        elif c.loops:
            e = E("@F", "squash", "(sin({0}) * 0.5)", e)
        return [S("compound", "%s %s {0};" % (name, op), [e])]

    def s_swap(self, c):
        found = [v[0] for v in c.vars if v[1] == "@F" and v[2]]
        out = []
        if len(found) < 2:
            out = self.s_var(c)
            found.append(c.vars[-1][0])
        a, b = self.r.sample(found, 2)
        t = c.name()
        return out + [S("swap", "let %s = %s;" % (t, a)), S("swap", "%s = %s;" % (a, b)),
                S("swap", "%s = %s;" % (b, t) if self.chance(0.7) else "%s = tanh(%s + %s);" % (b, t, a))]
    def s_tuple(self, c):
        f = [f for f in self.callable if len(f[2]) > 1 and c.cost * f[3] <= self.most_cost() and f[4] is None]
        if not f:
            return self.s_let(c)
        name, params, results, _, _ = self.r.choice(f)
        args = [self.argument(c, t, 2) for t in params]
        names = [c.name() for _ in results]
        c.vars += [(n, "@F", False) for n in names]
        return [S("tuple", "let (%s) = %s(%s);" % (", ".join(names), name, ", ".join(
            "{%d}" % k for k in range(len(args)))), args)]

    def s_procedure(self, c):
        """A call of a function that takes a buffer."""
        fs = [f for f in self.callable if f[4] is not None and c.cost * f[3] <= self.most_cost()]
        if not fs:
            return self.s_store(c) if any(b.writable for b in c.buffers) else self.s_let(c)
        name, params, results, _, kind = self.r.choice(fs)
        rank, mode = kind
        options = [b for b in c.buffers if b.t == "@F" and b.extent is not None and len(b.prefix) == rank - 1
                   and (b.readable if mode == "in" else b.readable and b.writable)
                   and not (b.cls == "param")]
        if not options or (rank > 1 and c.returns is not None):
            return self.s_let(c)
        b = self.r.choice(options)
        args = [self.argument(c, t, 2) for t in params]
        words = [b.name] + list(b.prefix) + ["{%d}" % k for k in range(len(args))]
        call = "%s(%s)" % (name, ", ".join(words))
        if not results:
            return [S("call buffer", call + ";", args)]
        v = c.name()
        c.vars.append((v, "@F", False))
        return [S("call buffer", "let %s = %s;" % (v, call), args)]
