#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes valid Vyre programs from a seed, for tests/fuzz/oracle.py.

  generate.py SEED             prints one program

(coverage.py counts what occurs in many.)  Every program is deterministic and free of races: an
invocation owns its rows of `out` and `inout` buffers, float atomics only add, and an `out` buffer
is read only where it was written before.  Float expressions are bounded (arguments of sqrt, log, …
are kept in their domains) and mostly smooth.

Half of the programs are *wild*: they have `while` and loops whose bounds depend on data.  Besides
what is chosen at random, every program nests four pairs of constructs on purpose, so that all pairs
occur.
"""
import random
import re
import sys

from calls import Calls
from control import LOOPS, VALUES, Control
from expressions import Expressions
from memory import Memory
from statements import Statements
from tree import Buffer, E, Program, S, Scope, walk
from typed import Typed
from vectors import Vectors
from library import Library


OUTSIDES = LOOPS + ("if", "masked if", "scope", "checkpoint", "leaving loop", "triangular loop",
                    "switch", "do")
WILD = ("while", "data loop")
TYPED = ("typed assign", "typed value", "typed copy", "typed call", "typed atomic")
INSIDES = OUTSIDES + VALUES + (
    "assign", "compound", "swap", "let", "var", "zero", "integer", "integer assign", "bool", "local",
    "fill local", "clear local", "whole local", "store", "store compound", "overwrite", "read back",
    "masked use", "alias", "scratch", "own condition", "tuple", "call buffer", "break", "continue",
    "return", "atomic_add", "atomic_sub", "atomic integer", "atomic counter", "vector assign", "struct assign",
    "element assign", "changing call") + TYPED


# What is rare by chance is requested more often.
WEIGHT = dict.fromkeys(("for rev step", "for signed", "triangular loop", "atomic_add",
                        "atomic_sub", "tuple", "call buffer", "integer assign", "clear local", "zero", "bool",
                        "whole local", "return", "for step", "overwrite", "masked if", "scope"), 2)
WEIGHT.update({"for rev signed": 3, "triangular loop": 3, "typed atomic": 5, "typed call": 2.5, "atomic integer": 4, "atomic counter": 6, "while": 3, "data loop": 2, "tuple": 3,
               "call buffer": 3, "integer assign": 3})


PLACE = tuple("%s.%s" % (b, a) for b in ("gid", "lid", "wid", "num_groups") for a in "xyz") + ("lindex",)


class Maker(Expressions, Statements, Control, Memory, Vectors, Typed, Calls, Library):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.p = Program()
        self.typed, self.sums = [], []  # typed.py
        self.callable = []  # (name, parameter types, result types, cost, buffer class or None)
        self.budget = 0
        # What nest() makes next, last first: kinds of statements, and of values.
        self.force, self.force_value, self.force_only = [], [], False

    # ---- pairs of constructs
    def insides(self, outer):
        """What may be nested in a construct."""
        if outer in VALUES:
            return VALUES if self.callable else VALUES[:-1]
        found = INSIDES + (WILD if self.wild else ())
        if outer == "fn" or not self.callable:
            found = [k for k in found if k not in ("call", "tuple", "call buffer", "fn")]
        if outer == "fn" or not any(b.cls == "acc" for b in self.atomics):
            found = [k for k in found if k not in ("atomic_add", "atomic_sub")]
        if outer == "fn" or not any(b.cls == "counter" for b in self.atomics):
            found = [k for k in found if k not in ("atomic integer", "atomic counter")]
        if outer == "fn" or not self.typed:
            found = [k for k in found if k not in TYPED]
        if not self.sums:
            found = [k for k in found if k != "typed atomic"]
        return found

    def weighted(self, kinds):
        return self.pick([(WEIGHT.get(k, 1), k) for k in kinds])

    def nests(self, c):
        out = []
        for _ in range(4):
            outers = OUTSIDES + VALUES + (WILD if self.wild else ())
            outer = self.weighted(outers)
            if outer != "call" or self.callable:
                out += self.nest(c, outer, self.weighted(self.insides(outer)))
        return out

    # ---- functions
    def function(self, number):
        r = self.r
        c = Scope()
        name, params, words = "f%d" % number, [], []
        kind = None
        if self.chance(0.4):
            rank = r.choice((1, 1, self.rank + 1))
            mode = r.choice(("in", "inout", "inout", "out"))
            kind = (rank, mode)
            prefix = ["r%d" % k for k in range(rank - 1)]
            words.append("b: %s @F[%s]" % (mode, ", ".join("?" * rank)))
            words += ["%s: u32" % p for p in prefix]
            c.vars += [(p, "u32", False) for p in prefix]
            b = Buffer("b", "@F", "param", prefix, "3", mode != "out", mode != "in")
            c.buffers.append(b)
        for k in range(r.randrange(1, 4)):
            t = "@F" if k == 0 else self.pick([(4, "@F"), (1, "u32"), (1, "i32"), (0.6, "bool")])
            params.append(t)
            words.append("q%d: %s" % (k, t))
            c.vars.append(("q%d" % k, t, False))
        results = [] if kind and self.chance(0.5) else ["@F"] * (1 if kind else self.pick([(3, 1), (2, 2), (0.6, 3)]))
        c.returns, c.depth = results, 1
        c.cost = 4
        self.budget = r.randrange(2, 7)
        start = []
        if kind and kind[1] == "out":  # written before it is read
            start = [S("for", "for k0 in 0u..3u", [], [[S("store", "b[%s] = {0};" % ", ".join(
                prefix + ["k0"]), [self.number(c, "@F", 1)])]])]
            b.readable = True
        if self.chance(0.5):
            self.force = [self.weighted(self.insides("fn"))]
        body = start + self.block(c, 4)
        self.force, self.force_value = [], []
        if results:
            body.append(S("return", *self.result(c)))
        back = "" if not results else " -> " + (results[0] if len(results) == 1 else "(%s)" % ", ".join(results))
        cost = 2 + sum(5 for s in walk(body) if s.kind.startswith(("for", "while")))
        self.p.functions.append(S("fn", "fn %s(%s)%s" % (name, ", ".join(words), back), [], [body]))
        self.callable.append((name, params, results, cost, kind))

    # ---- the program
    def make(self):
        r, p = self.r, self.p
        nd = self.rank = self.pick([(5, 1), (2, 2), (1, 3)])
        extents = ["N", "M", "L"][:nd]
        over = ["i", "j", "l"][:nd]
        p.has_second = self.chance(0.2)
        p.second = r.choice(("f16", "f64"))
        self.wild = 1.4 if self.chance(0.5) else 0
        self.const_k = 3 if self.chance(0.5) else 4
        for n, e in enumerate(extents):
            p.sets[e] = (r.choice((2, 3, 4)), r.choice((1, 2, 3)), r.choice((1, 2)))[n]
        if nd == 1 and self.chance(0.04):
            p.sets["N"] = 37  # more than one workgroup, and more than one block of lanes of a tape
        scalars = ["%s: u32" % e for e in extents]
        if self.chance(0.45):
            p.consts.append("const K: u32 = %d;" % self.const_k)
        else:
            p.sets["K"] = self.const_k
            scalars.append("K: u32")
        k_const = "K" not in p.sets
        if self.chance(0.4):
            p.sets["m"] = r.choice((0, 2, 3))
            scalars.append("m: u32")
        shape = ", ".join(extents)
        c = Scope()
        c.vars += [(v, "u32", False) for v in over]
        if self.chance(0.35):  # its own position, and a scalar that is not a size
            c.vars += [(b, "u32", False) for b in r.sample(PLACE, r.randrange(1, 4))]
        if self.chance(0.35):
            p.sets["T"] = r.randrange(0, 8)
            scalars.append("T: u32")
            c.vars.append(("T", "u32", False))
        self.atomics = []
        ins, rest = [], []

        def row(name, t, cls, readable, writable, extent="K", reverse=True):
            prefix = list(over)
            if cls != "in" and reverse and self.chance(0.25):
                prefix[0] = r.choice(("N - 1u - i", "i + 1u", "(i + 2u) % N"))
            b = Buffer(name, t, cls, prefix, extent, readable, writable)
            words = shape + (", " + extent if extent else "")
            (ins if cls == "in" else rest).append("%s: %s %s[%s]" % (name, cls, t, words))
            c.buffers.append(b)
            return b
        row("x", "@F", "in", True, False)
        if self.chance(0.6):
            ins.append("w: in @F[5]")
            c.buffers.append(Buffer("w", "@F", "in", [], "5", True, False))
        if self.chance(0.4):
            ins.append("g: in @F[N]")
            c.buffers.append(Buffer("g", "@F", "in", ["i"], None, True, False))
        if self.chance(0.55):
            t = r.choice(("i32", "i32", "u32"))
            ins.append("at: in %s[N, 3]" % t)
            c.buffers.append(Buffer("at", t, "in", ["i"], "3", True, False))
            p.data["at"] = [r.choice((-1, 0, 0, 1, 1, 2, 2, 3, 4, 9)) if t == "i32" else
                            r.choice((0, 0, 1, 1, 2, 3, 4, 9)) for _ in range(11)]
        if p.has_second:
            row("h", "@G", "in", True, False)
            if self.chance(0.5):
                row("hz", "@G", "inout", True, True, reverse=False)
        for name, types in (("si", ("i8", "i16")), ("su", ("u8", "u16")), ("big", ("i64", "u64"))):
            if self.chance(0.12):  # storage-only types; 64-bit integers
                t = r.choice(types)
                b = row(name, t, r.choice(("in", "inout", "inout")), True, True)
                b.t = t if name == "big" else "i32" if name == "si" else "u32"
                b.writable = b.cls != "in"
        if self.chance(0.12):
            b = row("bb", "bool", r.choice(("in", "inout")), True, True)
            b.writable = b.cls != "in"
            p.data["bb"] = [r.randrange(2) for _ in range(7)]
        if self.chance(0.1):
            ins.append("u: in @F[?]")
            c.buffers.append(Buffer("u", "@F", "in", [], "5", True, False))
        y = row("y", "@F", "out", False, True)
        if self.chance(0.45):
            row("yo", "@F", "out", False, True, None)
        if self.chance(0.6):
            row("z", "@F", "inout", True, True)
        if self.chance(0.25):
            row("zz", "@F", "inout", True, True, None)
        if self.chance(0.15):
            row("zr", "@F", "inout", True, False, reverse=False)
        if self.chance(0.35):
            row("c", r.choice(("i32", "u32")), r.choice(("out", "inout")), False, True, None, False)
        if self.chance(0.7):
            cls = r.choice(("out", "inout"))
            extent = r.choice(("K", "5", "1"))
            rest.append("acc: %s @F[%s]" % (cls, extent))
            self.atomics.append(Buffer("acc", "@F", "acc", [], extent, False, False))
        if self.chance(0.65):
            t = r.choice(("u32", "i32"))
            rest.append("cnt: inout %s[%s]" % (t, shape))
            self.atomics.append(Buffer("cnt", t, "counter", list(over), None, False, False))
        for text, given in self.typed_rows(over, shape):
            (ins if given else rest).append(text)
        if self.chance(0.5):
            p.sets["s"] = "0.%d" % r.randrange(3, 99)
            scalars.append("s: @F")
            c.vars.append(("s", "@F", False))
            if self.chance(0.4):
                p.wrt = ["s"]
        if self.chance(0.2):
            t, v = r.choice((("bool", 1), ("i64", 3), ("u64", 2), ("i32", 2)))
            p.sets["sc"] = v
            scalars.append("sc: " + t)
            c.vars.append(("sc", t, False))
        p.params = ins + rest + scalars
        floats = [(name, cls) for name, cls, t, _ in p.buffers() if t in ("@F", "@G")]
        if p.wrt or self.chance(0.15):
            p.wrt += [n for n, cls in floats if cls != "out" and self.chance(0.5)][:3]
        if self.chance(0.2):
            p.of = [n for n, cls in floats if cls != "in" and self.chance(0.6)][:4]
        p.domain = ", ".join("%s: %s" % (v, e) for v, e in zip(over, extents))
        padding = self.chance(0.15)
        if padding:
            p.domain = p.domain.replace("i: N", r.choice(("i: N + 3", "i: (N + 7) / 8 * 8")), 1)
            y.prefix = list(over)
            for b in c.buffers:
                if b.cls in ("out", "inout"):
                    b.prefix = list(over)
            for b in self.atomics:
                if b.cls == "counter":
                    b.prefix = list(over)
        if nd == 1 and self.chance(0.5):
            p.workgroup = " workgroup(%d)" % r.choice((1, 7, 32, 64, 33))
        elif nd == 2 and self.chance(0.4):
            p.workgroup = " workgroup(%d, %d)" % (r.choice((4, 5, 16)), r.choice((3, 4)))
        # functions see module constants only
        saved = self.atomics, self.typed, self.sums
        self.atomics, self.typed, self.sums = [], [], []
        k_in_functions = k_const
        self.in_function = True
        for n in range(self.pick([(3, 0), (3, 1), (3, 2), (2, 3)])):
            if not k_in_functions:
                p.sets.pop("K", None)
                self.bounds_plain = True
            self.function(n)
        self.in_function = False
        if not k_const:
            p.sets["K"] = self.const_k
        self.atomics, self.typed, self.sums = saved
        # the body
        self.budget = r.choice((4, 6, 10, 14, 20))
        when = r.randrange(4)
        if padding:
            p.body.append(S("if", "if i >= N", [], [[S("return", "return;")]]))
        p.body += self.typed_start(c)
        if self.chance(0.6):  # y may be read from here on
            i = Scope(c)
            k = i.name("k")
            i.vars.append((k, "u32", False))
            i.loops, i.cost = 1, 4
            p.body.append(S("for", "for %s in 0u..K" % k, [], [[
                S("store", "y[%s, %s] = {0};" % (", ".join(y.prefix), k), [self.number(i, "@F", 2)])]]))
            y.readable = True
        while self.budget > 0 or len(p.body) < 4:
            self.budget -= 1
            p.body += self.statement(c)
            when -= 1
            if when == 0:
                p.body += self.nests(c)
        # use what was computed
        for b in c.buffers:
            if b.writable and b.name in ("y", "yo", "z") and self.chance(0.8):
                at, exprs = self.place(c, b)
                names = [v[0] for v in c.vars if v[1] == "@F"][-6:] or ["0.5@S"]
                text = " + ".join("sin(%s)" % n for n in names)
                op = "+=" if b.readable else "="
                p.body.append(S("store", "%s %s {%d};" % (at, op, len(exprs)),
                                exprs + [E("@F", "use", text)]))
        return p


def fix_functions(p, k):
    """Functions see no scalars: K there is its value."""
    if "K" not in p.sets:
        return

    def fix(e):
        e.fmt = re.sub(r"\bK\b", "%du" % k, e.fmt)
        for kid in e.kids:
            fix(kid)
    for s in walk(p.functions):
        s.heads = [re.sub(r"\bK\b", "%du" % k, h) for h in s.heads]
        for e in s.exprs:
            fix(e)



def make(seed):
    m = Maker(seed)
    p = m.make()
    p.wild = m.wild > 0
    fix_functions(p, m.const_k)
    return p


def main():
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        sys.stdout.write(make(int(sys.argv[1])).text())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
