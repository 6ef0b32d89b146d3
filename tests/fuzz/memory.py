# SPDX-License-Identifier: MIT
"""Random statements that write memory."""
import re

from expressions import MASKED
from tree import Buffer, E, S, Scope


class Memory:
    def place(self, c, b):
        text, exprs = self.indices(c, b)
        return "%s[%s]" % (b.name, text), exprs

    def stored(self, c, b, d):
        if b.t == "@F":
            e = self.number(c, "@F", d)
            return self.squash(e) if c.loops else e
        return self.second(c, 1) if b.t == "@G" else self.condition(c, 2) if b.t == "bool" else \
            self.integer(c, b.t, 2)

    def pick_store(self, c):
        b = [b for b in c.buffers if b.writable]
        f = [b_ for b_ in b if b_.t == "@F"]
        return self.r.choice(f if f and self.chance(0.8) else b)

    def s_store(self, c):
        b = self.pick_store(c)
        at, exprs = self.place(c, b)
        return [S("store", "%s = {%d};" % (at, len(exprs)), exprs + [self.stored(c, b, 3)])]

    def s_store_compound(self, c):
        b = self.pick_store(c)
        if not b.readable:
            return self.s_store(c)
        at, exprs = self.place(c, b)
        op, e = self.r.choice(("+=", "+=", "-=", "*=")), self.stored(c, b, 2)
        if b.t == "@F":
            e = E("@F", "squash", "(0.7 + sin({0}) * 0.2)" if op == "*=" else "(sin({0}) * 0.5)", e)
        elif b.t == "@G":
            op = "+="
        elif b.t == "bool":
            op = self.r.choice(("&=", "|=", "^="))
        else:
            op = self.r.choice(("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
        return [S("store compound", "%s %s {%d};" % (at, op, len(exprs)), exprs + [e])]

    def s_overwrite(self, c):  # a value used after its element was overwritten
        b = self.pick_store(c)
        if not b.readable or b.t != "@F":
            return self.s_store(c)
        name = c.name()
        at, exprs = self.place(c, b)
        n = len(exprs)
        out = [S("let", "let %s = %s;" % (name, at), exprs),
               S("overwrite", "%s = {%d};" % (at, n), exprs + [self.stored(c, b, 2)])]
        c.vars.append((name, "@F", False))
        return out + self.s_store(c)

    def s_store_and_read(self, c):
        b = self.pick_store(c)
        if b.t != "@F":
            return self.s_store(c)
        at, exprs = self.place(c, b)
        name = c.name()
        out = [S("store", "%s = {%d};" % (at, len(exprs)), exprs + [self.stored(c, b, 2)]),
               S("read back", "let %s = %s;" % (name, at), exprs)]
        c.vars.append((name, "@F", False))
        return out

    def s_local(self, c):
        n, t = self.r.choice((2, 3, 4)), "@F" if self.chance(0.85) else "i32"
        name = c.name("a")
        b = Buffer(name, t, "local", [], str(n), True, True)
        c.buffers.append(b)
        out = [S("local", "local %s: %s[%d];" % (name, t, n))]
        if self.chance(0.6):
            out += self.s_fill_local(c)
        return out

    def s_fill_local(self, c):
        b = [b for b in c.buffers if b.cls == "local"][-1]
        i = Scope(c)
        k = i.name("k")
        i.vars.append((k, "u32", False))
        i.loops += 1
        i.cost *= 4
        e = self.stored(i, b, 2)
        return [S("for", "for %s in 0u..%su" % (k, b.extent), [], [[
            S("store", "%s[%s] = {0};" % (b.name, k), [e])] + (self.block(i, 1) if self.chance(0.3) else [])])]

    def s_clear_local(self, c):  # zeroed again
        b = self.r.choice([b for b in c.buffers if b.cls == "local"])
        return [S("local again", "local %s;" % b.name)] if not b.name.startswith("q") else []

    def s_whole_local(self, c):  # not zeroed, but written before it is read
        n, name = self.r.choice((2, 3)), c.name("a")
        out = [S("local undefined", "local %s: @F[%d] undefined;" % (name, n))] + [
            S("store", "%s[%d] = {0};" % (name, k), [self.squash(self.number(c, "@F", 1))]) for k in range(n)]
        c.buffers.append(Buffer(name, "@F", "local", [], str(n), True, True))
        return out

    def s_atomic(self, c):
        return self.s_atomic_counter(c) if self.chance(0.3) else self.s_atomic_float(c)

    def s_atomic_float(self, c):
        accs = [b for b in self.atomics if b.cls == "acc"]
        if not accs:
            return self.s_let(c)
        b = self.r.choice(accs)
        op = "atomic_add" if self.chance(0.6) else "atomic_sub"
        e = self.number(c, "@F", 3)
        if self.chance(0.1):
            e = E("@F", "squash", "select({0} > 0.8, {0}, 0.0)", e)
        return [S(op, "%s(%s[{0}], {1});" % (op, b.name), [self.index(c, b.extent), e])]

    def s_atomic_counter(self, c, old=None):
        """Integers, on an element of this invocation's own: the old value is known."""
        found = [b for b in self.atomics if b.cls == "counter"]
        if not found:
            return self.s_let(c)
        b = self.r.choice(found)
        at, e = ", ".join(b.prefix), self.integer(c, b.t, 1)
        op = self.r.choice(("add", "sub", "min", "max", "and", "or", "xor", "exchange", "cas"))
        call, exprs = "atomic_%s(%s[%s], {0})" % (op, b.name, at), [e]
        if op == "cas":
            call, exprs = call[:-1] + ", {1})", [e, self.integer(c, b.t, 1)]
        if not old and (old is False or self.chance(0.7)):
            return [S("atomic integer", call + ";", exprs)]
        name = c.name("n")
        c.vars.append((name, b.t, False))
        return [S("atomic counter", "let %s = %s;" % (name, call), exprs)]

    def s_owned_atomic(self, c):
        """A float's old value, in a row of this invocation: a load, an operation and a store."""
        found = [b for b in c.buffers if b.t == "@F" and b.cls == "inout" and b.readable and b.writable
                 and all(re.fullmatch(r"[ijl]", word) for word in b.prefix)]
        if not found or c.returns is not None:
            return self.s_let(c)
        b = self.r.choice(found)
        at, exprs = self.place(c, b)
        name, e = c.name(), self.stored(c, b, 2)
        out = [S("owned atomic", "let %s = atomic_%s(%s, {%d});" % (
            name, self.r.choice(("add", "add", "min", "max")), at, len(exprs)), exprs + [self.squash(e)])]
        c.vars.append((name, "@F", False))
        return out

    def s_alias(self, c):  # aliasing indices in different forms, from one iteration to another
        v, a, n = self.named(c, "@F", True), c.name("a"), self.r.choice(("2", "3", "4"))
        c.buffers.append(Buffer(a, "@F", "local", [], n, True, True))
        i = Scope(c)
        k = i.name("k")
        i.vars.append((k, "u32", False))
        i.loops, i.cost = c.loops + 1, c.cost * 4
        steps = [S("store", a + "[{0}] = sin(%s + {1});" % v, [self.index(i, n), self.number(i, "@F", 1)]),
                 S("assign", "%s = tanh(%s[{0}] * %s + {1});" % (v, a, v),
                   [self.index(i, n), self.number(i, "@F", 1)])]
        if self.chance(0.3):
            steps.insert(1, S("store compound", a + "[{0}] += {1};",
                              [self.index(i, n), self.squash(self.number(i, "@F", 1))]))
        if self.chance(0.3):
            steps.reverse()
        head = "for %s in %s" % (k, self.r.choice(("0u..4u", "rev(0u..4u)", "1u..6u step 2u")))
        return [S("local", "local %s: @F[%s];" % (a, n)), S("for", head, [], [steps])]

    def s_again(self, c):
        """A construct that reads memory before a loop and in it, where the loop writes it as well."""
        b, v = self.pick_store(c), self.named(c, "@F", True)
        if not b.readable or b.t != "@F" or not v:
            return self.s_store(c)
        low, high, trips, t = self.bounds(c)
        r = Scope(c)
        k = r.name("k")
        looks = self.chance(0.3)
        if not looks:
            r.vars.append((k, t, False))
            r.loops, r.cost = c.loops + 1, c.cost * max(trips, 1)
        at, exprs = self.place(r, b)
        condition = self.condition(c, 1)

        def read(into):
            add = [S("compound", "%s += %s * 0.4;" % (into, at), exprs)]
            made = S("if", "if {0}", [condition], [add]) if looks else S("for", "for %s in {0}..{1}" % k, [low, high], [add])
            return [S("var typed", "var %s: @F;" % into), made]

        first, second = c.name(), c.name()
        i = Scope(c)
        low2, high2, trips2, t2 = self.bounds(i)
        iteration = i.name("k")
        i.vars.append((iteration, t2, False))
        i.loops, i.cost = c.loops + 1, c.cost * max(trips2, 1) * max(trips, 1)
        steps = [read(second) + [S("assign", "%s = tanh(%s * 0.8 + %s);" % (v, v, second))], self.s_store(i)]
        if self.chance(0.3):
            steps.reverse()
        around = "for %s in {0}..{1}" % iteration
        if self.chance(0.2):
            around = "for %s in rev({0}..{1})" % iteration
        out = read(first) + [S("for", around, [low2, high2], [sum(steps, [])])]
        return out + [S("assign", "%s = tanh(%s * 0.8 + %s);" % (v, v, first))]

    def s_scratch(self, c):  # an array of an iteration's own, partly stored
        v, a, n = self.named(c, "@F", True), c.name("a"), self.r.choice(("2", "3"))
        b = Buffer(a, "@F", "local", [], n, True, True)
        c.buffers.append(b)
        index = lambda: self.index(c, n)
        e = lambda: self.squash(self.number(c, "@F", 2))
        steps = [S("if", "if {0}", [self.condition(c, 1)], [[S("store", a + "[{0}] = {1};", [index(), e()])]]),
                 S("compound", "%s = tanh(%s * 0.8 + %s[{0}]);" % (v, v, a), [index()]),
                 S("store compound", a + "[{0}] += {1};", [index(), e()]),
                 S("compound", "%s += %s[{0}] * sin({1});" % (v, a), [index(), e()]),
                 S("store", "%s[{0}] = %s[{1}] * {2};" % (a, a), [index(), index(), e()]),
                 S("store", a + "[{0}] = %s;" % v, [index()])]
        self.r.shuffle(steps)
        return [S("local", "local %s: @F[%s];" % (a, n))] + steps[:self.r.randrange(3, 7)]
