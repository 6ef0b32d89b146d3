#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
"""Random rows of loops, some of which can be fused (ir/pass/scalar/fuse_loops.c) and some of whose
additions can be merged into a later one (ir/pass/sums/merge_additions.c), compute with -O2 what
they do with -O0, in the interpreter.

All numbers are integers: every order of additions gives the same bits, so that only a wrong order
of accesses shows.  VYRE_SEED overrides the seed.
"""
import os
import random
import subprocess
import sys
import tempfile

COUNT = 60
seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
print("VYRE_SEED=%d" % seed)
pick = random.Random(seed)
ELEMENTS = ["x[i, %s]", "y[i, %s]", "t[i, %s]", "v[%s]"]


def index(k):
    return pick.choice([k, k, k, "C - 1 - " + k, k + " + 1", "2", "i"])


def value(k, sums):
    terms = [pick.choice(ELEMENTS) % index(k) for _ in range(pick.randint(1, 2))]
    if pick.random() < 0.3:
        terms.append(pick.choice(sums))
    return " + ".join(terms)


def statement(k, own, sums, depth):
    what = pick.random()
    if what < 0.35:
        return "%s += %s;" % (pick.choice(own), value(k, sums))
    if what < 0.6:
        return "%s = %s;" % (pick.choice(ELEMENTS[1:]) % index(k), value(k, sums))
    if what < 0.7:
        return "atomic_add(a[%s], %s);" % (pick.choice([k, "2", "i"]), value(k, sums))
    if what < 0.78:
        at = pick.choice([k, k, k, k + " + 1"])
        return "atomic_add(b[i, %s], %s);" % (at, value(k, pick.choice([sums, ["2"]])))
    if what < 0.79:
        return "%s += b[i, %s];" % (pick.choice(own), k)
    if what < 0.84:
        return "if %s != i { %s }" % (k, statement(k, own, sums, depth))
    if what < 0.88:
        return "if %s > 90 { break; }" % (pick.choice(ELEMENTS) % k)
    if depth:
        return "t[i, %s] += 1;" % k
    return loop("m", own, sums, 1) + " " + loop("m", own, sums, 1)


def loop(k, own, sums, depth=0):
    head = pick.choice(["0..C", "0..C", "0..C", "0..C", "rev(0..C)", "1..C"])
    body = " ".join(statement(k, own, sums, depth) for _ in range(pick.randint(1, 3)))
    return "for %s in %s { %s }" % (k, head, body)


def opposite(s, names):
    """A loop backwards after one forwards; mostly it only adds up, and in its own elements."""
    other = pick.choice(names)
    term = value("k", names if pick.random() < 0.2 else ["2u"])
    add = pick.choice(["{0} += {1};", "{0} -= {1};", "{0} = {1} + ({0} - 1);", "{0} = max({0}, {1});", "{0} = {1} - {0};"])
    body = add.format(other, term)
    if pick.random() < 0.4:
        body += " %s = %s;" % (pick.choice(ELEMENTS[1:]) % pick.choice(["k", "k", "2"]), pick.choice([other, term]))
    return "for k in 0..C { %s = %s * 3 + x[i, k]; }\n    for k in rev(0..C) { %s }" % (s, s, body)


def program():
    names = ["s%d" % n for n in range(pick.randint(2, 4))]
    lines = ["    var %s = %du;" % (s, n) for n, s in enumerate(names)]
    lines.append("    local v: u32[4];")
    for s in names:
        # Mostly a sum of its own, independent of the others: such loops can be fused.
        sums = [s] if pick.random() < 0.7 else names
        lines.append("    " + loop("k", [s] if pick.random() < 0.8 else names, sums))
        if pick.random() < 0.4:
            lines.append("    " + opposite(s, names))
        between = pick.random()
        if between < 0.2:
            lines.append("    let c_%s = %s * 2;\n    y[i, 0] += c_%s;" % (s, s, s))
        elif between < 0.4:
            lines.append("    let c_%s = %s;\n    %s = %s + c_%s;" % (
                s, pick.choice(ELEMENTS) % "1", pick.choice(names), pick.choice(names), s))
    lines.append("    y[i, 1] += %s;" % " + ".join(names))
    return """program p(x: in u32[N, 4], y: inout u32[N, 4], t: inout u32[N, 4], a: out u32[4], b: inout u32[N, 4], N: u32, C: u32)
    over(i: N)
{
%s
}
""" % "\n".join(lines)


def vyre(*arguments):
    run = subprocess.run([os.environ["VYRE_GRAD"], *arguments], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def results(path, *options):
    code, out, said = vyre("run", path, "--in", "x[3,4]=cycle:5", "--in", "y[3,4]=cycle:7", "--in", "t[3,4]=cycle:3",
                           "--in", "b[3,4]=cycle:2", "--set", "C=4", "--verbose", *options)
    return code, out if code == 0 else said


def count(path, after, what):
    """In the program after the last run of the pass."""
    said = vyre("compile", path, "-o", path + ".spv", "--no-validate", "--dump-after", after)[2]
    return said.rpartition("// after " + after)[2].count(what)


fused = sunk = turned = 0
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "p.vyre")
    for n in range(COUNT):
        text = program()
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
        want = results(file, "--engine", "eval", "-O0")
        have = results(file, "--engine", "eval", "-O2")
        if have != want or want[0]:
            print(text, want[1], "-O2:", have[1], sep="\n")
            sys.exit("program %d: -O0 and -O2 differ, or it does not run" % n)
        fused += count(file, "fuse_loops", "for ") < count(file, "scalarise", "for ")
        turned += count(file, "fuse_loops", "rev(0..C)") < count(file, "scalarise", "rev(0..C)")
        sunk += count(file, "merge_additions", "add(b[") < count(file, "ifconvert", "add(b[")
print("%d programs alike, loops fused in %d (in spite of their directions in %d), additions sunk in %d" % (COUNT, fused, turned, sunk))
if not fused or not turned:
    sys.exit("none of them has loops that can be fused, or none of opposite directions")
