#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random normalisations of rows, whose gradients' sums an earlier loop can make
(ir/pass/sums/early_sums.c), have at -O2 the gradients that they have at -O0, in double.

Each has one to three sums over a row, of which later ones depend on what earlier ones decided, and
outputs that depend on all.  Rows of no elements are among them, of which a factor may be infinite.
VYRE_SEED overrides the seed.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

COUNT = 40
seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
print("VYRE_SEED=%d" % seed)
pick = random.Random(seed)
DECIDED = ["sqrt(%s * %s + 1.0)", "1.0 / (%s * %s + 0.5)", "tanh(%s) + 0.3 * %s", "%s / f32(C) + 0.1 * %s", "exp(-0.1 * %s) * %s",
           "(%s > 1.0 ? 2.0 : 0.7) * %s"]


def element(known):
    """A value of one element of the row, of inputs and of what is known of the row."""
    x = pick.choice(["x[r, c]", "x[r, c]", "x[r, c] * w[c]", "sin(x[r, c])", "w[c]"])
    for _ in range(pick.randint(0, 2)):
        k = pick.choice(known) if known else "0.5"
        x = pick.choice(["(%s - %s)", "(%s * %s)", "(%s / (%s + 9.0))", "(%s * %s + 0.25)", "(-%s * %s)"]) % (x, k)
    return pick.choice(["%s", "%s", "%s * %s", "%s * (%s + %s)"]).replace("%s", x)


def program():
    """Every second one scales a row by what one sum decided, as norms do."""
    known, lines = [], []
    norm = pick.random() < 0.5
    for n in range(1 if norm else pick.randint(1, 3)):
        s, k = "s%d" % n, "k%d" % n
        begin = pick.choice(["0.0", "0.0", "u[r]"])
        lines.append("    var %s = %s;\n    for c in 0..C { %s %s %s; }" % (s, begin, s, pick.choice(["+=", "+=", "-="]), element(known)))
        lines.append("    let %s = %s;" % (k, pick.choice(DECIDED) % (s, s)))
        known.append(k)
    out = "for c in 0..C { y[r, c] = %s * %s + w[c]; }" % (element([] if norm else known), known[-1])
    if not norm and pick.random() < 0.3:
        out = "z[r] = sum(c in 0..C: %s);\n    for c in 0..C { y[r, c] = x[r, c]; }" % element(known)
    lines.append("    " + out)
    if "z[r]" not in out:
        lines.append("    z[r] = %s;" % known[0])
    return """program p(x: in f32[R, C], w: in f32[C], u: in f32[R], y: out f32[R, C], z: out f32[R], R: u32, C: u32)
    over(r: R)
{
%s
}
""" % "\n".join(lines)


def vyre(*arguments):
    run = subprocess.run([os.environ["VYRE_GRAD"], *arguments], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def gradients(path, columns, *options):
    data = ["--in", "x[3,%d]=normal:0:1:%d" % (columns, seed % 1000), "--in", "w=uniform:0.5:2:2", "--in", "u=0.3,-0.4,1.1",
            "--ct", "y=normal:0:1:3", "--ct", "z=1,-2,0.5"]
    status, out, said = vyre("run", path, "--grad", "--wrt", "x,w,u", "--engine", "eval", "--eval-type", "f64", "--json", *options, *data)
    if status:
        sys.exit(open(path, encoding="utf-8").read() + said)
    return {n: o["data"] for n, o in json.loads(out)["outputs"].items()}


def number(v):
    return float("nan") if v is None else float(v)


def differ(a, b):
    a, b = number(a), number(b)
    return not (a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * (1 + abs(a)))


def flat(data):
    return [v for row in data for v in flat(row)] if isinstance(data, list) else [data]


def fires(path, *options):
    """Does the pass change the derived programs?"""
    counts = []
    for name in ("early_sums", "dce"):
        said = vyre("grad", path, "-o", path + ".out.vyre", "--wrt", "x,w,u", "--seed", "buffer", *options, "--dump-after", name)[2]
        said = said.rpartition("// after " + name)[2]
        counts.append((said.count("var "), said.count("for c")))
    return counts[0] != counts[1]


fired = 0
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "p.vyre")
    for n in range(COUNT):
        text = program()
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
        how = ("--accumulate", pick.choice(["auto", "atomic"]))
        for columns in (0, 1, 5):
            want, have = gradients(file, columns, "-O0", *how), gradients(file, columns, "-O2", *how)
            for name in want:
                for at, (a, b) in enumerate(zip(flat(want[name]), flat(have[name]))):
                    if differ(a, b):
                        print(text)
                        sys.exit("program %d, %d columns: %s[%d] is %s at -O0 and %s at -O2" % (n, columns, name, at, a, b))
        fired += fires(file, *how)
print("%d programs alike, sums moved in %d" % (COUNT, fired))
if not fired:
    sys.exit("none of them has sums that move")
