#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""Iterations that run inner loops together (ir/pass/target/jam_loops.c): random programs
(tests/fuzz/nests.py) as they are written for a driver on a CPU against the programs themselves, bit
for bit: in the interpreter, which disproves marks that do not hold, and every eighth on the device,
at several sizes.  From a fresh seed that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number
of programs.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "fuzz"))
sys.dont_write_bytecode = True
import nests  # noqa: E402
import ways  # noqa: E402

taken = 0


def differ(run, seed):
    global taken
    text, launches = nests.make(seed)
    before, after = ways.after(run.folder, text, ("select_factors", "jam_loops"), "--precise", "--no-validate", "--for", "lavapipe")
    taken += before != after
    how = [(text, "eval"), (after, "eval")] + [(text, "vulkan")] * (before != after and seed % 8 == 0)
    found = run.difference(launches, [(what, ["--precise", "--engine", engine]) for what, engine in how])
    return found and "%s\n%s\n%s" % (found, text, after)


count, wrong = ways.compare("jam_loops", 800, differ)
print("taken of %d: %d" % (count, taken))
sys.exit(wrong or taken < count // 8)
