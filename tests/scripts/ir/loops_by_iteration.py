#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Passes that reason about single iterations of loops: random programs, every level against -O0 and
all ways to the gradient.

Memory that loops both read and write (tests/fuzz/rounds.py), and loops controlled by integers that
other loops compute (strides.py); local arrays that loops fill several times (refills.py), or from what
they have filled (rewinds.py), and rows of layers (layers.py); rows that invocations walk (walks.py);
neighbours that loops load (windows.py); lists that they walk with ifs (lists.py); those that begin
or end at the invocation (triangles.py), and loads that differ in first indices (first_indices.py),
or are taps around the invocation (taps.py).  Those that take longer are fewer.  From a fresh seed
that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number of each.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import first_indices  # noqa: E402
import layers  # noqa: E402
import lists  # noqa: E402
import oracle  # noqa: E402
import refills  # noqa: E402
import rewinds  # noqa: E402
import rounds  # noqa: E402
import strides  # noqa: E402
import taps  # noqa: E402
import triangles  # noqa: E402
import walks  # noqa: E402
import windows  # noqa: E402


# Of these there are fewer: by what part.
SLOW = ((windows, 2), (layers, 2), (triangles, 4), (first_indices, 8), (taps, 16))


def wrong_of(bench, maker, seeds):
    """How many of a maker's programs are wrong, or too rarely run to their end."""
    right = wrong = endless = 0
    for seed in seeds:
        program = maker.make(seed)
        found = bench.ask(str(seed), program.text())
        if not found:
            right += 1
        elif "gave up after" in found[1]:  # a `while` whose counter a `continue` jumps over
            endless += 1
        else:
            wrong += 1
            print("VYRE_SEED=%d: %s\n%s" % (seed, " ".join(found)[:300], program.text()))
    print("%s: %d right, %d wrong, %d without end" % (maker.__name__, right, wrong, endless))
    return wrong or right < len(seeds) * 0.95


def main():
    seed, count = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]), int(os.environ.get("VYRE_COUNT") or 700 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k loops_by_iteration" % (seed, count))
    seeds = range(seed, seed + count)
    with tempfile.TemporaryDirectory() as folder:
        bench = oracle.Bench(os.path.abspath(os.environ["BUILD"]), folder)
        return any([wrong_of(bench, maker, seeds) for maker in (rounds, strides, refills, rewinds, walks, lists)] +
                   [wrong_of(bench, maker, seeds[:-(-count // part)]) for maker, part in SLOW])


if __name__ == "__main__":
    sys.exit(main())
