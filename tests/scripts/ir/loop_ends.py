#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
"""Loops whose trip counts drivers guess: random ones with computed bounds
(tests/fuzz/iterations.py), device against interpreter.

From a fresh seed that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number of programs of
eight loops.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import iterations  # noqa: E402

COMMAND = os.path.join(os.environ["BUILD"], "tools", "vyre-grad")
GIVEN = ["--set", "m=3", "--set", "s=-2", "--set", "w=0.5", "--in", "x=-3,-2,-1,-0.5,0,0.5,1,2,3,4", "--in", "n=-3,-2,-1,0,1,2,3,4,9,-5",
         "--in", "u=0,1,2,3,4,5,6,7,9,1"]


def run(path, engine, level):
    done = subprocess.run([COMMAND, "run", path, "--engine", engine, "--json", "--precise", level, *GIVEN], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr[:400] or done.stdout[:400]
    outputs = json.loads(done.stdout)["outputs"]
    width = len(outputs["y"]["data"]) // iterations.LOOPS
    return [outputs[name]["data"][k * width:(k + 1) * width] for k in range(iterations.LOOPS) for name in ("hash", "y")]


def same(x, y):
    return x == y or (isinstance(x, list) and isinstance(y, list) and len(x) == len(y) and
                      all(p == q or (isinstance(p, float) and abs(p - q) <= 1e-5 * max(1, abs(p))) for p, q in zip(x, y)))


def main():
    slow = os.environ.get("VYRE_SHARE", "1") != "1"
    seed, count = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]), int(os.environ.get("VYRE_COUNT") or (5 if slow else 40))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k loop_ends" % (seed, count))
    bad = right = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vyre")
        for at in range(seed, seed + count):
            text = iterations.make(at)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            here = run(path, "eval", "-O2")
            for engine, level in (("eval", "-O0"), ("vulkan", "-O0"), ("vulkan", "-O2")):
                there = run(path, engine, level)
                if isinstance(here, str) or isinstance(there, str):
                    bad += 1
                    print("VYRE_SEED=%d: %s\n%s\n%s" % (at, text, here if isinstance(here, str) else "", there if isinstance(there, str) else ""))
                    break
                for k, (x, y) in enumerate(zip(here, there)):
                    right += same(x, y)
                    if not same(x, y):
                        bad += 1
                        print("VYRE_SEED=%d: %s %s: %s\n  interpreter %s\n  there %s" % (at, engine, level, text.splitlines()[2 + k // 2].strip(), x, y))
    print("%d rows alike, %d wrong" % (right, bad))
    return 1 if bad or not right else 0


if __name__ == "__main__":
    sys.exit(main())
