#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Memory that loops read and write in turn: random programs of tests/fuzz/rounds.py, every level against -O0, and all gradients.

From a fresh seed that is printed; VYRE_SEED gives one, VYRE_COUNT says how many.
"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz"))
sys.dont_write_bytecode = True
import oracle  # noqa: E402
import rounds  # noqa: E402


def main():
    seed, count = int(os.environ.get("VYRE_SEED") or time.time_ns() % 10 ** 9), int(os.environ.get("VYRE_COUNT") or 1000)
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k memory_rounds" % (seed, count))
    right = bad = endless = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = oracle.Bench(os.path.abspath(os.environ["BUILD"]), folder)
        for at in range(seed, seed + count):
            found = bench.ask(str(at), rounds.make(at).text())
            if not found:
                right += 1
            elif "gave up after" in found[1]:  # a `while` whose counter a `continue` jumps over
                endless += 1
            else:
                bad += 1
                print("VYRE_SEED=%d: %s\n%s" % (at, " ".join(found)[:300], rounds.make(at).text()))
    print("%d right, %d wrong, %d without end" % (right, bad, endless))
    return 1 if bad or right < count * 0.95 else 0


if __name__ == "__main__":
    sys.exit(main())
