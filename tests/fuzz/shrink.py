# SPDX-License-Identifier: MIT
"""Makes a failing program small: statements and arms are removed, blocks are unwrapped, expressions
become one of their operands or a literal, as long as the same oracle fails.
"""
import copy
import re
import sys

from tree import E, walk


def lists(p):
    yield p.functions
    yield p.body
    for s in walk(p.trees()):
        yield from s.blocks


def expressions(p):
    """The position of every expression: (list, index)."""
    def below(kids):
        for k, e in enumerate(kids):
            yield kids, k
            yield from below(e.kids)
    for s in walk(p.trees()):
        yield from below(s.exprs)


LITERALS = {"@F": "0.5@S", "@G": "0.5@G", "bool": "true", "u32": "1u", "i32": "1i32", "i64": "1i64",
            "u64": "1u64"}


def smaller(e):
    found = [k for k in e.kids if k.t == e.t]
    if e.fmt != LITERALS[e.t].replace("@G", ""):
        if e.op not in ("variable", "literal", "minimal"):
            for k in e.kids:
                found += [q for q in k.kids if q.t == e.t]
        if e.op != "minimal":
            found.append(E(e.t, "minimal", LITERALS[e.t].replace("0.5@G", "@G(0.5)")))
            if e.t == "bool":
                found.append(E(e.t, "minimal", "false"))
    return found


def shrink(p, fails, seconds, processor_time):
    """The smallest failing program found within that many seconds of processor_time()."""
    end = processor_time() + seconds
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 100000))  # deep nests are copied recursively
    p = copy.deepcopy(p)

    def attempt(holder, new):
        if processor_time() > end:
            return False
        old = list(holder)
        holder[:] = new
        if fails(p):
            return True
        holder[:] = old
        return False
    changed = True
    while changed and processor_time() < end:
        changed = False
        for part in (8, 4, 2, 1):  # statements, many at a time first
            for block in list(lists(p)):
                k = len(block) - part
                while k >= 0:
                    if attempt(block, block[:k] + block[k + part:]):
                        changed = True
                    k -= 1
                    k = min(k, len(block) - part)
        for block in list(lists(p)):  # a block instead of its construct
            k = 0
            while k < len(block):
                s = block[k]
                for inside in s.blocks if s.kind != "fn" else []:
                    if attempt(block, block[:k] + inside + block[k + 1:]):
                        changed = True
                        break
                else:
                    k += 1
        for s in list(walk(p.trees())):  # arms
            while len(s.blocks) > 1:
                heads, n = list(s.heads), len(s.blocks) - 1
                s.heads = heads[:n]
                if not attempt(s.blocks, s.blocks[:n]):
                    s.heads = heads
                    break
                changed = True
        if attempt(p.params, [q for q in p.params if re.search(
                r"\b%s\b" % q.split(":")[0], p.text().split("\nprogram", 1)[1].split("\n{\n", 1)[1] + p.domain)
                or any(q.split(":")[0] in o for o in p.params if o is not q)]):
            changed = True
        k = 0
        while True:  # expressions
            places = list(expressions(p))
            if k >= len(places) or processor_time() > end:
                break
            kids, at = places[k]
            for e in smaller(kids[at]):
                if attempt(kids, kids[:at] + [e] + kids[at + 1:]):
                    changed = True
                    break
            else:
                k += 1
    return p
