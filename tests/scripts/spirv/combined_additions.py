#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels as GPUs get them (`run --for gpu`) against the interpreter: random programs whose tiles
walk lists (tests/fuzz/splats.py), and their gradients, whose sums are exact, so that all bits are
the same.  VYRE_SEED sets the seed, VYRE_COUNT the number.
"""
import json
import os
import subprocess
import sys

ROOT, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(ROOT, "tests", "fuzz"))
sys.dont_write_bytecode = True
import splats  # noqa: E402


def run(*arguments):
    done = subprocess.run([VYRE, "run", "splats.vyre", "--json", "--verbose", *arguments], capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)["outputs"] if done.returncode == 0 else done.stderr


def is_exact(outputs):
    """Are the numbers below 2**24, as the generator's sums have to be for their order not to matter?"""
    return all(abs(v) < 1 << 24 for one in outputs.values() for v in one["data"] if isinstance(v, (int, float)))


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or -(-240 // int(os.environ.get("VYRE_SHARE", "1"))))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k combined_additions" % (seed, count))
    wrong = right = large = 0
    for n in range(seed, seed + count):
        program = splats.make(n)
        with open("splats.vyre", "w", encoding="utf-8") as f:
            f.write(program.text())
        for way in (), ("--grad", "--of", "v", "--wrt", "a", "--wrt", "own_of"):
            plain, gpu = (run(*program.data(), *way, *engine) for engine in (("--engine", "eval"), ("--for", "gpu")))
            if plain == gpu and not isinstance(plain, str):
                right += 1
                continue
            if isinstance(plain, dict) and isinstance(gpu, dict) and not is_exact(plain):
                large += 1 # products in nested loops
                continue
            wrong += 1
            print("VYRE_SEED=%d, %s differs, or fails:\n%s\n%s\n%s" % (n, " ".join(way) or "the program", program.text(), str(plain)[:300], str(gpu)[:300]))
    print("%d right, %d wrong, %d too large to be exact" % (right, wrong, large))
    return wrong > 0 or right < 10 * large or not right


if __name__ == "__main__":
    sys.exit(main())
