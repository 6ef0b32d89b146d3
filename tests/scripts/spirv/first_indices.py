#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""Loads whose first indices are surely in range, and whose others are not (spirv/facts/shared_places.c):
random programs (tests/fuzz/first_indices.py) on the device, with and without blocks of neighbours, against
the interpreter, bit for bit, at several sizes.  From a fresh seed that is printed; VYRE_SEED sets the seed,
VYRE_COUNT the number of programs.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "fuzz"))
sys.dont_write_bytecode = True
import first_indices  # noqa: E402
import ways  # noqa: E402

loads = 0


def differ(run, seed):
    global loads
    text, launches = first_indices.whole(seed)
    loads += ways.after(run.folder, text, ["mark_in_range"])[0].count("@in_range(")
    for k, launch in enumerate(launches):
        blocks = str((2, 4, 8)[(seed + k) % 3])
        how = (["--engine", "eval"], ["--engine", "vulkan"], ["--engine", "vulkan", "--coarsen", blocks])
        found = run.difference([launch], [(text, options) for options in how])
        if found:
            return "%s\n%s" % (found, text)
    return ""


count, wrong = ways.compare("first_indices", 240, differ)
print("%d loads have some indices in range" % loads)
sys.exit(wrong or loads < count)
