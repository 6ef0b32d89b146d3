#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What random programs contain.  Those of independent invocations (generate.py): operations, types,
conversions, statements, and how often each construct occurs inside each other one.  Those of
several (several.py): index maps, ways to communicate, atomics, launches.

  coverage.py [--count N] [--first SEED] [--least K] [--all]
  coverage.py --ways N [--build DIR] [--least K] [--all]    what programs of places.py contain,
                           paired with each way in which their gradients are accumulated: atomics,
                           gathers, neither, a fixed order

Prints what occurs fewer than K times (default 50) in N programs (default 10,000) of a kind, --all
the entire tables; exit 1 if there is any such row.  The operations are read from ir/core/ops.h, so
a new row is reported until the generator makes it.
"""
import argparse
import collections
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import features  # noqa: E402
import generate  # noqa: E402
import oracle  # noqa: E402
import places  # noqa: E402
import several  # noqa: E402
from control import LOOPS, VALUES, WHILES  # noqa: E402
from generate import INSIDES, OUTSIDES, WILD  # noqa: E402
from maps import INSIDE, PERMUTED, READS, READS_IN_LOOPS, SAFE  # noqa: E402
from meetings import EXTREMES, MEETINGS, SHUFFLES, SUBGROUPS  # noqa: E402
from tree import INTS, walk  # noqa: E402

OPS = os.path.join(HERE, "..", "..", "ir", "core", "ops.h")
# Rows for programs of several invocations only.
PARALLEL = re.compile(r"BARRIER|SG_")
# Rows without a word of their own, and the pattern that shows them.
SHAPES = {
    "NEG": r"\(-[a-z(]", "NOT": r"[(~!]~|\(!", "CAST": r"\b[fiu](?:32|64)\(", "BITCAST": r"\bbitcast_",
    "LOAD": r"\w\[[^]]*\][^;=]*;", "STORE": r"(?m)^ +\w+\[[^]]*\] [-+*/%&|^<>]*= ",
    "ZERO": r"local \w+: ", "IF": r"\bif ", "ELSE": r"\} else", "ENDIF": r"\bif ", "LOOP": r"\bfor ",
    "WHILE": r"\bwhile ", "TEST": r"\bwhile ", "CARRY": r"\b(?:for|while) ", "ENDLOOP": r"\b(?:for|while) ",
    "CHECKPOINT": r"\bcheckpoint ", "ENDCHECKPOINT": r"\bcheckpoint ", "RESULT": r"\b(?:if|for|while) ",
    "ATOMIC_CAS": r"\batomic_cas\(",
}
INFIX = {"+": r" \+ ", "-": r" - ", "*": r" \* ", "/": r" / ", "%": r" % "}
BASE = ("@F", "@G", "bool") + INTS
BOUNDS = {"data loop": {"bound data", "bound float", "bound variable", "bound signed"},
          "triangular loop": {"bound outer"}}
OUTER = ("fn",) + OUTSIDES + WILD


def operations(parallel):
    """[(row, pattern in a program's text)]; parallel: rows for programs of several invocations only"""
    with open(OPS, encoding="utf-8") as f:
        rows = re.findall(r'^X\((\w+), +"([^"]*)", +(\w+)', f.read(), re.M)
    out = []
    for row, text, form in rows:
        if bool(PARALLEL.match(row)) != parallel:
            continue
        if row in SHAPES:
            pattern = SHAPES[row]
        elif form == "INFIX":
            pattern = INFIX.get(text, r" %s " % re.escape(text))
        else:
            pattern = r"\b%s\(" % re.escape(text)
        out.append((row, re.compile(pattern)))
    return out


class Table:
    def __init__(self):
        self.ops, self.rows, self.kinds, self.pairs, self.types = (collections.Counter() for _ in range(5))

    def expression(self, e, above):
        self.ops[e.op] += 1
        if e.op in VALUES:
            for a in above:
                self.pairs[a, e.op] += 1
            above = above | {e.op}
        for k in e.kids:
            self.expression(k, above)

    def also(self, s):
        """Kinds that a statement counts as, besides its own."""
        if s.kind not in LOOPS + WHILES:
            return set()
        out = {"leaving loop"} if s.kind != "while true" and leaves(s.blocks[0], False) else set()
        bounds = {e.op for e in s.exprs[:2]}
        return out | {k for k, ops in BOUNDS.items() if bounds & ops}

    def statement(self, s, above):
        kinds = {s.kind} | self.also(s)
        for k in kinds:
            self.kinds[k] += 1
        kinds = {"while" if k in WHILES and k != "do" else k for k in kinds}
        for k in kinds:
            for a in above:
                self.pairs[a, k] += 1
        inside = above | {k for k in kinds if k in OUTER} if s.blocks else above
        for e in s.exprs:
            self.expression(e, above)
        for b in s.blocks:
            for k in b:
                self.statement(k, inside)

    def program(self, p, patterns):
        for s in p.trees():
            self.statement(s, frozenset())
        text = p.text()
        for row, pattern in patterns:
            self.rows[row] += bool(pattern.search(text))
        for cls, t in re.findall(r": (in|out|inout) (\w+)\[", text.split("program p", 1)[1]):
            self.types[cls + " " + t] += 1
        for t in re.findall(r"\w: (\w+)[,)]", text.split("program p", 1)[1].split(")\n")[0] + ")"):
            self.types["scalar " + t] += 1


class Meetings:
    """What programs of several invocations hold: in how many of them each occurs."""
    STATEMENTS = tuple("stencil %s %dd" % (b, n) for b in ("zero", "clamped", "wrapped") for n in (1, 2, 3)) + (
        "everybody reads", "matrix product", "windowed sum", "all pairs", "row", "scatter loop", "atomic_add",
        "atomic_sub", "atomic_min", "atomic_max", "shared atomic_add", "shared atomic_sub", "shared atomic_min",
        "shared atomic_max", "barrier loop", "barrier while", "shared compound", "shared integer store",
        "segment store", "sum of shared", "map at[i]", "map at[i]+c") + tuple(
            "histogram " + op for op in ("add", "sub", "min", "max", "and", "or", "xor"))
    KINDS = ("own [j, i]", "@owned", "own i*K+k", "own row", "conditional shared store", "ping pong arrays", "own lane",
             "own last lane first", "own lane+c", "own lane^1", "own 3*lane", "? extreme", "? sum") + tuple(
                 "beside " + k for k in several.BESIDE) + tuple(
                     "shared extreme " + k for k in EXTREMES) + tuple(
                 "lane read " + k for k in ("shift", "mirror", "literal", "before", "half", "data", "k", "own"))
    LAUNCHES = tuple("%d dimensions %s" % (n, s) for n in (1, 2, 3) for s in ("over", "without over")) + (
        "an empty domain", "one invocation", "off the workgroup", "whole workgroups", "default workgroup",
        "domain larger than the arrays", "too few groups", "a group too many")

    def __init__(self):
        self.counts = collections.Counter()
        self.patterns = operations(True)

    def wanted(self):
        return tuple(r for r, _ in self.patterns) + self.STATEMENTS + self.KINDS + self.LAUNCHES + tuple(
            features.PROBES) + tuple("map " + row[1] for row in READS + READS_IN_LOOPS) + tuple(
                row[1] for row in SAFE + INSIDE + (PERMUTED,)) + tuple("meeting " + k for _, k in MEETINGS) + tuple(
                    "meeting subgroup " + k for _, k in SUBGROUPS + SHUFFLES)

    def program(self, p):
        text, found = p.text(), set(p.kinds) | p.features | set(p.shapes)
        for s in walk(p.trees()):
            found.add(s.kind)
            for e in s.exprs:
                self.expression(e, found)
        found |= {row for row, pattern in self.patterns if pattern.search(text)}
        self.counts.update(found)

    def expression(self, e, found):
        found.add(e.op)
        for k in e.kids:
            self.expression(k, found)


# What programs of places.py hold.
TRAITS = tuple("%d axes" % n for n in range(1, 6)) + tuple("index " + r[1] for r in places.READS + places.IN_LOOPS) + tuple(
    r[1] for r in places.CONDITIONS + places.OWN) + tuple("loop " + r[1] for r in places.LOOPS) + tuple(
        "uses " + b.split(".")[0] for b in places.BUILTINS) + tuple("workgroup " + s for s in (
            "default", "of more axes", "of fewer axes", "of as many axes")) + (
                "padded domain", "equal extents", "an empty domain", "?", "? out", "? inout", "flattened", "own flattened", "own transposed",
                "triangular", "data", "scatter", "integer output", "two float types", "builtin value", "scalar value", "while",
                "break", "deep ifs", "deep loops")


def leaves(block, deeper):
    for s in block:
        if s.kind == "return" or not deeper and s.kind in ("break", "continue"):
            return True
        if any(leaves(b, deeper or s.kind in LOOPS + WHILES) for b in s.blocks):
            return True
    return False


def wanted_pairs():
    for a in OUTER:
        for b in ("fn",) + INSIDES + WILD:
            kind = NAMES.get(b, b)
            if a == "fn" and b.startswith(("atomic", "typed")) or b == "fn":
                continue  # functions see no buffer to add to atomically, and do not nest
            if kind:
                yield a, kind
    for a in VALUES:
        for b in VALUES:
            yield a, b


# INSIDES that count under another name, or not (made of statements that are counted)
NAMES = {"alias": None, "scratch": None, "own condition": None, "fill local": None, "zero": "var typed",
         "clear local": "local again", "whole local": "local undefined"}
STATEMENTS = ("fn", "carried", "let typed", "var typed", "empty statement", "local again", "local undefined",
              "bool assign", "atomic counter", "owned atomic") + WHILES
LEAST_OPS = tuple("%s to %s" % (a, b) for a in BASE for b in BASE if a != b)
TYPES = tuple("%s %s" % (c, t) for c in ("in", "inout") for t in
              ("f16", "f32", "f64", "i64", "u64", "bool", "i8", "u8", "i16", "u16")) + (
                  "in i32", "in u32", "inout i32", "inout u32", "out f32", "out i32", "out u32",
                  "in Pack", "inout Pack", "out Pack", "in vec3", "inout vec3", "out vec3", "in vec4", "inout vec4",
                  "inout mat2x3", "in Cell", "inout Cell", "scalar f32", "scalar bool", "scalar i64", "scalar u64", "scalar i32", "scalar u32")


def ways(o):
    """Pairs each trait of N programs of places.py with each way; prints those below the least."""
    pairs, traits = collections.Counter(), set(TRAITS)
    with tempfile.TemporaryDirectory(prefix="vyre-coverage-") as temp:
        bench = oracle.Bench(os.path.abspath(o.build), temp)
        for seed in range(o.first, o.first + o.ways):
            p, bench.ways = places.make(seed), set()
            verdict = bench.ask(str(seed), "// only: ways\n" + p.text(double=True, seed=seed))
            if verdict and verdict[0] not in ("refused", "invalid"):
                print("seed %d fails: %s" % (seed, " ".join(verdict)))
            traits |= set(p.traits)
            pairs.update((t, w) for t in p.traits for w in bench.ways)
    rare = []
    for t in sorted(traits):
        if o.all:
            print("%-24s" % t + "".join("%8d %s" % (pairs[t, w], w) for w in oracle.WAYS))
        rare += ["%s, %s: %d" % (t, w, pairs[t, w]) for w in oracle.WAYS if pairs[t, w] < o.least]
    print("%d programs, %d traits in %d ways" % (o.ways, len(traits), len(oracle.WAYS)))
    print("\n".join(rare))
    print("%d occur fewer than %d times" % (len(rare), o.least))
    return 1 if rare else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--ways", type=int, default=0)
    parser.add_argument("--build", default=os.environ.get("BUILD") or os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--all", action="store_true")
    o = parser.parse_args()
    o.least = o.least or (3 if o.ways else 50)
    if o.ways:
        return ways(o)
    t, patterns, u = Table(), operations(False), Meetings()
    for seed in range(o.first, o.first + o.count):
        t.program(generate.make(seed), patterns)
        u.program(several.make(seed))
    pairs = list(dict.fromkeys(wanted_pairs()))
    asked = [("operation of ir/core/ops.h (programs with it)", t.rows, [r for r, _ in patterns]),
             ("conversion, expression", t.ops, LEAST_OPS + tuple(sorted(k for k in t.ops if k not in LEAST_OPS))),
             ("type of a parameter", t.types, TYPES),
             ("statement", t.kinds, tuple(dict.fromkeys(STATEMENTS + tuple(sorted(t.kinds)))))]
    asked += [("of several invocations:", u.counts, u.wanted())]
    rare = []
    for title, counts, keys in asked:
        rare += ["%s %s: %d" % (title.split(" (")[0], k, counts[k]) for k in keys if counts[k] < o.least]
        if o.all:
            print(title)
            for k in sorted(keys, key=lambda k: -counts[k]):
                print("  %8d  %s" % (counts[k], k))
    rare += ["%s in %s: %d" % (b, a, t.pairs[a, b]) for a, b in pairs if t.pairs[a, b] < o.least]
    if o.all:
        print("the first occurs somewhere inside the second")
        for a, b in pairs:
            print("  %8d  %s in %s" % (t.pairs[a, b], b, a))
    print("%d programs of each kind, %d operations, %d expressions, %d statements, %d pairs, %d ways to meet" % (
        o.count, len(patterns), len(asked[1][2]), len(asked[3][2]), len(pairs), len(asked[4][2])))
    print("\n".join(rare))
    print("%d occur fewer than %d times" % (len(rare), o.least))
    return 1 if rare else 0


if __name__ == "__main__":
    sys.exit(main())
