# SPDX-License-Identifier: MIT
"""Random statements that hold blocks, or leave them."""
from expressions import MASKED, REDUCTIONS
from tree import INTS, Buffer, E, S, Scope


LOOPS = ("for", "for rev", "for step", "for rev step", "for signed", "for rev signed")
WHILES = ("while", "while &&", "while true", "while {}", "while float", "do")
VALUES = REDUCTIONS + ("select", "?:", "call")  # constructs that are expressions
FORCED = {"atomic_add": "atomic float", "atomic_sub": "atomic float", "call buffer": "procedure",
          "read back": "store and read", "masked use": "masked twice", "atomic integer": "atomic counter"}


class Control:
    def inner(self, c, most=3, **changes):
        i = Scope(c)
        for k, v in changes.items():
            setattr(i, k, v)
        return self.block(i, most)

    def s_if(self, c):
        heads, exprs, blocks = ["if {0}"], [self.condition(c, 2)], [self.inner(c)]
        while self.chance(0.25) and len(blocks) < 4:
            heads.append("else if {%d}" % len(exprs))
            exprs.append(self.condition(c, 1))
            blocks.append(self.inner(c))
        if self.chance(0.5):
            heads.append("else")
            blocks.append(self.inner(c))
        return [S("if", heads, exprs, blocks)]

    def s_masked_if(self, c):
        cond, value = self.r.choice(MASKED)
        name = self.named(c, "@F", True)
        if not name:
            return self.s_var(c)
        e = self.number(c, "@F", 1)
        if self.force:  # the forced construct is in the other arm
            return [S("masked if", ["if " + cond, "else"], [e], [
                [S("assign", "%s = %s;" % (name, value), [e])], self.inner(c, 1)])]
        body = [S("assign", "%s = %s;" % (name, value), [e])]
        return [S("masked if", ["if " + cond] + ["else"][: self.r.randrange(2)], [e], [body, self.inner(c, 1)])] \
            if self.chance(0.4) else [S("masked if", "if " + cond, [e], [body])]

    def s_masked_twice(self, c):  # one bad value, used under several conditions
        cond, value = self.r.choice(MASKED)
        given, name, guard, bad = self.number(c, "@F", 1), self.named(c, "@F", True), c.name(), c.name()
        e = E("@F", "variable", guard)  # does not change with what it guards
        out = [S("let", "let %s = {0};" % guard, [given]),
               S("let", "let %s = %s;" % (bad, value), [e])]  # for masked uses only
        uses = [S("masked use", "%s = select(%s, %s, %s);" % (name, cond, bad, name), [e]),
                S("masked use", "%s = (%s ? %s : tanh(%s));" % (name, cond, bad, name), [e]),
                S("masked if", "if " + cond, [e], [[S("assign", "%s = sin(%s) * 0.9;" % (name, bad))]]),
                S("for", "for %s in 0u..u32(%s) * 2u" % (c.name("k"), cond), [e],
                  [[S("assign", "%s = %s;" % (name, bad))]])]
        if c.loops:
            out.append(S("masked use", "%s = select(%s, tanh(%s), 0.3);" % (name, cond, bad), [e]))
        return out + self.r.sample(uses, self.r.randrange(1, 4))

    def s_own_condition(self, c):  # the branch overwrites what its condition was made of
        name = self.named(c, "@F", True)
        body = [S("assign", "%s = %s;" % (name, self.r.choice(("0.3 - sin({0})", "tanh({0}) - 1.2"))),
                  [E("@F", "variable", name)])] + self.inner(c, 2)
        return [S("if", ["if %s > 0.6" % name, "else"], [], [body, self.inner(c, 2)])]

    def s_for(self, c, kind=None):
        """kind: one of LOOPS, or chosen here."""
        low, high, trips, t = self.bounds(c, kind)
        i = Scope(c)
        name = i.name("k")
        i.vars.append((name, t, False))
        i.cost, i.loops = c.cost * max(trips, 1), c.loops + 1
        head, exprs, reverse = "{0}..{1}", [low, high], self.chance(0.4)
        stepped = self.chance(0.27)
        if kind:
            reverse, stepped = "rev" in kind, "step" in kind
        if reverse:
            head = "rev(%s)" % head
        kind = "for rev" if reverse else "for"
        if stepped:
            outer = [v[0] for v in c.vars if v[1] == t and v[0][0] == "k"]
            exprs.append(E(t, "step outer", "(%s & %s) + %s" % (self.r.choice(outer), self.suffix(1, t), self.suffix(1, t)))
                         if outer and self.chance(0.4) else E(t, "literal", self.suffix(self.r.randrange(1, 4), t)))
            head += " step {2}"
            kind += " step"
        elif t != "u32":
            kind += " signed"
        start = [] if self.force_only else self.carried(i, 0.35)
        return [S(kind, "for %s in %s" % (name, head), exprs, [start + self.block(i, 4)])]

    def carried(self, c, chance):
        """A loop-carried value whose update needs the old value in the reverse: a tape."""
        v = self.named(c, "@F", True)
        if not v or not self.chance(chance):
            return []
        whole = [w[0] for w in c.vars if w[1] == "i32" and w[2]]
        if whole and self.chance(0.4):  # an induction variable, which the reverse needs but must not tape
            n = self.r.choice(whole)
            return [S("carried", "%s *= 0.9 + sin(@F(%s %% 5) * 0.4) * 0.3;" % (v, n)),
                    S("induction", "%s += %d;" % (n, self.r.randrange(1, 4)))]
        # of slopes below 1 or so: a chaotic map makes rounding errors large
        form = self.r.choice(("%s = tanh(%s * 0.9 + sin({0}) * 0.4);", "%s = sin(cos({0}) * 0.4 + %s * 0.9);",
                              "%s = 0.4 - %s * %s / (1 + %s * %s) + sin({0}) * 0.2;", "%s *= 0.8 + sin(%s) * 0.3;",
                              "%s = %s / (1.2 + %s * %s);"))
        return [S("carried", form % ((v,) * form.count("%s")), [self.number(c, "@F", 1)])]

    def s_while(self, c):
        n = c.name("w")
        c.vars.append((n, "i32", False))  # visible, but nothing else assigns it
        most = self.r.randrange(1, 5)
        i = Scope(c)
        i.cost, i.loops = c.cost * most, c.loops + 1
        kind = self.pick([(2, "while"), (1.2, "while &&"), (0.8, "while true"), (0.6, "while {}"),
                                  (0.8, "while float")])
        start, step = [S("while counter", "var %s = 0;" % n)], S("while counter", "%s += 1;" % n)
        head, exprs, body = "while %s < %d" % (n, most), [], [step] + self.carried(i, 0.5)
        v = self.named(c, "@F", True)
        if kind == "while float" and not v:
            kind = "while"
        if kind == "while true":
            head = kind
            body.insert(1, S("break", "if %s > %d" % (n, most), [], [[S("break", "break;")]]))
        elif kind == "while {}":
            t = i.name()  # visible in the body too
            head = "while { let %s = {0}; %s < %d && %s < 1.4 }" % (t, n, most, t)
            exprs = [self.number(c, "@F", 1)]
        elif kind == "while &&":
            head += " && {0}"
            exprs = [self.condition(c, 1)]
        elif kind == "while float":  # goes on until a value has come close
            head += " && abs(%s - {0}) > 0.15" % v
            exprs = [E("@F", "literal", "0.%02d@S" % self.r.randrange(10, 90))]
            body.append(S("carried", "%s = %s * 0.6 + sin({0}) * 0.4;" % (v, v), [self.number(i, "@F", 1)]))
        return start + [S(kind, head.replace("{ ", "{{ ").replace(" }", " }}") if exprs else head, exprs,
                          [body + self.block(i, 3)])]

    def s_do(self, c):
        n, most = c.name("w"), self.r.randrange(1, 5)
        c.vars.append((n, "i32", False))
        i = Scope(c)
        i.cost, i.loops = c.cost * most, c.loops + 1
        tail = "while %s < %d" % (n, most) + self.r.choice(("", " && {0}", " && {0}"))
        body = [S("while counter", "%s += 1;" % n)] + self.carried(i, 0.5) + self.block(i, 3)
        return [S("while counter", "var %s = 0;" % n), S("do", ["do", tail + ";"], [self.condition(c, 1)], [body])]

    def s_switch(self, c):
        numbers, cases = self.r.sample(range(-1, 4), self.r.randrange(1, 5)), []
        while numbers:
            many = 2 if self.chance(0.3) else 1
            some, numbers = numbers[:many], numbers[many:]
            cases.append(self.case(c, "case " + ", ".join(map(str, some))))
        if self.chance(0.6):
            cases.insert(self.r.randrange(len(cases) + 1), self.case(c, "default"))
        return [S("switch", "switch {0}", [self.integer(c, "i32", 1)], [cases])]

    def case(self, c, label):
        body = self.inner(c)
        if self.chance(0.3):
            i = Scope(c)
            i.next = c.next + 50  # beyond the names in the body
            body.insert(self.r.randrange(len(body) + 1), S("if", "if {0}", [self.condition(i, 1)], [[S("switch break", "break;")]]))
        return S("case", label, [], [body])

    def s_scope(self, c):
        return [S("scope", "", [], [self.inner(c)])]

    def s_checkpoint(self, c):
        return [S("checkpoint", "checkpoint", [], [self.inner(c, 4)])]

    # ---- one construct inside another, on purpose
    def nest(self, c, outer, inside):
        """A construct of kind `outer` with one of kind `inside` in it; forced, whatever the place."""
        out = [] if self.named(c, "@F", True) else self.s_var(c)
        self.force = [inside]
        out += self.forced(c, outer)
        self.force, self.force_value = [], []
        return out

    def forced(self, c, kind):
        out = []
        if kind in VALUES:
            self.force_value = [kind] + ([self.force.pop()] if self.force else [])
            self.force_value.reverse()
            name = c.name()
            out = [S("let", "let %s = {0};" % name, [self.number(c, "@F", 3)])]
            c.vars.append((name, "@F", False))
            return out
        if not self.named(c, "@F", True):
            out += self.s_var(c)
        if not any(b.cls == "local" for b in c.buffers):
            out += self.s_local(c)
        if kind == "integer assign" and not any(v[1] in INTS and v[2] for v in c.vars):
            name = c.name("n")
            c.vars.append((name, "i32", True))
            out.append(S("integer", "var %s = 3i32;" % name))
        self.force_only = True
        if kind.startswith("for"):
            out += self.s_for(c, kind)
        elif kind in ("data loop", "triangular loop"):
            if kind[0] == "d" or any(v[1] == "u32" and v[0][0] == "k" for v in c.vars):
                out += self.s_for(c, kind)
            else:  # it needs a loop around it
                i = Scope(c)
                name = i.name("k")
                i.vars.append((name, "u32", False))
                i.loops, i.cost = c.loops + 1, c.cost * 3
                out.append(S("for", "for %s in 0u..3u" % name, [], [self.s_for(i, kind)]))
        elif kind in ("break", "continue") and not c.loops:
            self.force.append(kind)
            out += self.s_for(c, self.r.choice(LOOPS))
        elif kind == "leaving loop":
            later, self.force = self.force, []
            out += self.s_for(c, self.r.choice(LOOPS))
            self.force = later
            body = out[-1].blocks[0]
            i = Scope(c)
            i.loops, i.next = c.loops + 1, c.next + 100  # beyond the names in the body
            if later:
                body += self.forced(i, later.pop())
            v, early = self.named(c, "@F", True), Scope(c)
            early.next = c.next + 200
            body.insert(self.r.randrange(len(body) + 1), S("if", "if " + self.r.choice(
                ("%s > 0.7" % v, "%s < 0.9" % v, "{0}")), [self.condition(early, 1)], [[self.leaving(c)]]))
        elif kind.startswith("atomic ") and any(b.cls == "counter" for b in self.atomics):
            out += self.s_atomic_counter(c, kind == "atomic counter")
        else:
            out += getattr(self, "s_" + FORCED.get(kind, kind).replace(" ", "_"))(c)
        self.force_only = False
        return out

    def leaving(self, c):
        if self.chance(0.2) and not c.returns:
            return S("return", "return;")
        return S("break", "break;") if self.chance(0.6) else S("continue", "continue;")

    def leave(self, c, kind, text, exprs=()):
        body = [S(kind, text, exprs)]
        if self.chance(0.04):
            return body  # without a condition: the rest of the block is dead
        if self.chance(0.3):
            body = self.inner(c, 1) + body
        return [S("if", "if {0}", [self.condition(c, 1)], [body])]

    def s_break(self, c):
        return self.leave(c, "break", "break;")

    def s_continue(self, c):
        return self.leave(c, "continue", "continue;")

    def s_return(self, c):
        if c.returns is None:
            return self.leave(c, "return", "return;")
        if not c.returns:
            return self.leave(c, "return", "return;")
        return self.leave(c, "return", *self.result(c))

    def result(self, c):
        values = [self.squash(self.number(c, "@F", 2)) for _ in c.returns]
        if len(values) == 1:
            return "return {0};", values
        return "return (%s);" % ", ".join("{%d}" % k for k in range(len(values))), values
