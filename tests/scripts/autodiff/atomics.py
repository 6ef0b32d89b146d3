#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""How many float additions by atomics the derivatives of a table of programs have, at each order.

A sum that one order gathers must not be added by atomics in the next one.  tests/atomics.txt has,
for each program, the places that add by atomics to a float buffer: of `grad`, of `grad --order 2`
and `--order 3`, and of `grad` and `jvp` of the printed gradient.  An addition to a buffer that has,
in every access, an axis for each domain variable is none: the optimiser makes it plain
(ir/pass/sums/mark_owned.c).

More than the table says is a loss, and fewer an improvement: BLESS=1 writes the table anew.  A run
takes every VYRE_SHARE-th row, beginning with one that the seed chooses, and BLESS=1 all.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
TABLE = os.path.join(SRC, "tests", "atomics.txt")
WAYS = (("grad",), ("grad --order 2",), ("grad --order 3",), ("grad", "grad"), ("grad", "jvp"))
FLOATS = r"(\w+): (?:in|out|inout) (?:f16|f32|f64)"


def closed(text, at, brackets):
    """The place behind the bracket that is open at `at`."""
    depth = 1
    while depth:
        depth += (text[at] in brackets[0]) - (text[at] in brackets[1])
        at += 1
    return at


def split(text):
    """What stands between the commas that are in no brackets."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [s.strip() for s in out]


def accesses(body, name):
    return [split(body[m.end():closed(body, m.end(), ("[", "]")) - 1])
            for m in re.finditer(r"(?<![\w.])%s\[" % re.escape(name), body)]


def is_owned(body, name, variables):
    all_of_it = accesses(body, name)
    return bool(variables) and all(
        any(all(index[k] == v for index in all_of_it) for k in range(len(all_of_it[0]))) for v in variables)


def count(text):
    """The places of all programs in the text that add to a float parameter by atomics."""
    n = 0
    for m in re.finditer(r"^(?:@\w+(?:\([^)]*\))?\s+)*program \w+.*?^\}", text, re.M | re.S):
        head, body = m.group(0).split("{", 1)
        over = re.search(r"over\((.*?)\)\s*$", head, re.S)
        variables = [v.split(":")[0] for v in split(over.group(1))] if over else []
        floats = set(re.findall(FLOATS, head))
        for name in re.findall(r"atomic_add\((\w+)\[", body):
            n += name in floats and not is_owned(body, name, variables)
    return n


def derived(path, program, way):
    text = None
    for command in way:
        verb, *options = command.split()
        if text is None:
            options += ["-p", program]
        done = subprocess.run([VYRE, verb, path if text is None else "-", *options], input=text,
                              capture_output=True, text=True)
        if done.returncode:
            return None
        text = done.stdout
    return text


def measure(row):
    path, program = row
    counts = []
    for way in WAYS:
        text = derived(os.path.join(SRC, path), program, way)
        counts.append("-" if text is None else str(count(text)))
    return counts


def rows():
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                path, program, *counts = line.split()
                yield (path, program), counts


def write(table):
    with open(TABLE, encoding="utf-8") as f:
        head = [line for line in f if line.startswith("#")]
    with open(TABLE, "w", encoding="utf-8") as f:
        f.writelines(head)
        for (path, program), counts in table:
            f.write("%-44s %-14s %s\n" % (path, program, " ".join("%3s" % c for c in counts)))


def main():
    table = list(rows())
    if os.environ.get("BLESS") != "1":
        share = int(os.environ.get("VYRE_SHARE", "1"))
        table = table[int(os.environ.get("VYRE_FRESH_SEED", "0")) % share::share]
    with ThreadPoolExecutor(2) as pool:
        now = list(pool.map(measure, [row for row, _ in table]))
    if os.environ.get("BLESS") == "1":
        write(list(zip([row for row, _ in table], now)))
        return 0
    bad = 0
    for (row, before), after in zip(table, now):
        if before == after:
            continue
        bad += 1
        print("%s %s: %s in tests/atomics.txt, now %s" % (*row, " ".join(before), " ".join(after)))
    print("%d programs, %d changed" % (len(table), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
