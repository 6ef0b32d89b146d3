#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which of equal candidates has the derivative: workgroups that find it themselves, in a shared array
(docs/autodiff.md 8.2), against programs that find it in a buffer (8.1), which share no code.

Small integers as data, so that most candidates are equal.  From a fresh seed that is printed;
VYRE_SEED sets the seed, VYRE_COUNT the number of programs.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

COMMAND = os.path.join(os.environ["BUILD"], "tools", "vyre-grad")
SHARED = """program f(x: in f32[N], z: in f32[4], y: out f32[4], N: u32) workgroup(8) over(i: 8)
{
    shared t: f32[4];
    if lindex < 4 { t[lindex] = z[lindex]; }
    barrier();
%s    barrier();
    if i < 4 { y[i] = t[i]; }
}
"""
BUFFER = """program f(x: in f32[N], t: inout f32[4], N: u32) workgroup(8) over(i: 8)
{
%s}
"""
LOOPS = ("for k in lindex..N", "for k in 0..lindex % 3 + 1", "for k in lindex..N step 3", "for k in 0..select(x[i] > 1, 3, 0)",
         "for k in rev(lindex..N)")
PLACES = ("0", "1", "k % 4", "k % 2", "(k + lindex) % 4", "lindex % 2", "u32(x[k]) % 4")
VALUES = ("x[k]", "x[i]", "x[(k + 1) % N]", "x[7 - i]", "x[k] * x[i]", "2")


def body(rnd):
    """Statements with one kind of atomic: loops of lanes, some in an arm, and atomics beside them."""
    op, out = rnd.choice(("min", "max")), []

    def one(inside):
        at = rnd.choice(PLACES if inside else [p for p in PLACES if "k" not in p])
        v = rnd.choice(VALUES if inside else [v for v in VALUES if "k" not in v])
        s = "atomic_%s(t[%s], %s);" % (op, at, v)
        return s if rnd.random() < 0.7 else "if x[%s] > 0 { %s }" % (rnd.choice("ki") if inside else "i", s)

    for _ in range(rnd.randrange(1, 4)):
        s = one(False)
        if rnd.random() < 0.7:
            s = "%s { %s }" % (rnd.choice(LOOPS), " ".join(one(True) for _ in range(rnd.randrange(1, 4))))
        out.append("    %s\n" % (s if rnd.random() < 0.7 else "if x[i] > 0 { %s }" % s))
    return "".join(out)


def gradients(path, text, x, start, names):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([COMMAND, "run", path, "--grad", "--json", "--engine", "eval", "--in", "x=" + x, "--in", start,
                           "--ct", names[0] + "=1,10,100,1000"], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stdout + done.stderr
    outputs = json.loads(done.stdout)["outputs"]
    return [outputs[n]["data"] for n in names]


def main():
    seed, count = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]), int(os.environ.get("VYRE_COUNT") or 100)
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k extrema_ties" % (seed, count))
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="vyre-ties-") as folder:
        for at in range(seed, seed + count):
            rnd = random.Random(at)
            text, top = body(rnd), rnd.choice((2, 3, 4))
            x, z = (",".join(str(rnd.randrange(top)) for _ in range(n)) for n in (8, 4))
            here = gradients(os.path.join(folder, "s.vyre"), SHARED % text, x, "z=" + z, ("y", "grad_x", "grad_z"))
            there = gradients(os.path.join(folder, "b.vyre"), BUFFER % text, x, "t=" + z, ("t", "grad_x", "grad_t"))
            if here != there or isinstance(here, str):
                wrong += 1
                print("VYRE_SEED=%d VYRE_COUNT=1: x=%s z=%s\n%s  shared %s\n  buffer %s" % (at, x, z, text, here, there))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
