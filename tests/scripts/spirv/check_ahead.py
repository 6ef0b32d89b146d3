#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""Loops whose checks are made ahead for the entire workgroup (ir/pass/device/check_ahead.c), and
addresses in parts (spirv/facts/steady_places.c); loops whose iterations are divided into those that
load in range and others (ir/pass/target/loop_ranges.c), and small sums: random programs
(tests/fuzz/taps.py: taps, and along rows), as they are written for a GPU, with the marks of what is
in range, against the program itself, bit for bit: in the interpreter, which disproves marks that do
not hold, and on the device, at several sizes.  From a fresh seed that is printed; VYRE_SEED sets the
seed, VYRE_COUNT the number of programs.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "fuzz"))
sys.dont_write_bytecode = True
import taps  # noqa: E402
import ways  # noqa: E402


def changed(before, after):
    return before != after


def divided(before, after):
    """One loop has become three."""
    return after.count("for ") >= before.count("for ") + 2


# Blocks of two, so that small domains have some that are inside.
KINDS = {"taps": (taps.whole, ("workgroup_planes", "check_ahead"), changed, []),
         "rows": (taps.rows, ("sliding_loads", "strip_mine"), divided, ["--coarsen", "2"])}
taken = dict.fromkeys(KINDS, 0)


def differ(run, seed):
    kind = list(KINDS)[seed // 4 % 2]
    make, passes, takes, options = KINDS[kind]
    text, launches = make(seed)
    before, after, last = ways.after(run.folder, text, passes + ("subgroup_runs",), "--precise", "--for", "gpu", *options)
    taken[kind] += takes(before, after)
    how = ((text, "eval"), (last, "eval"), (last, "vulkan"))
    found = run.difference(launches, [(what, ["--precise", "--engine", engine]) for what, engine in how])
    return found and "%s\n%s\n%s" % (found, text, last)


count, wrong = ways.compare("check_ahead", 600, differ)
print("taken of %d: %s" % (count, taken))
sys.exit(wrong or min(taken.values()) < count // 8)
