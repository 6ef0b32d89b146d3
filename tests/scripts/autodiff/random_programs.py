#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""Random programs past every oracle (tests/fuzz).

First those that once failed (tests/fuzz/found).  Then new ones, from a fresh seed that the first
line prints, half of them of independent invocations and half of interacting ones: 120, or as many
as 20 seconds of processor time allow (with VYRE_SHARE=1 three times that); VYRE_SEED and VYRE_COUNT
override.  A failing program is printed reduced, with the command that makes it again.
"""
import os
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import oracle  # noqa: E402


seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
whole = 3 if os.environ.get("VYRE_SHARE", "1") == "1" else 1
count = int(os.environ.get("VYRE_COUNT") or 120 * whole)
seconds = "1e9" if os.environ.get("VYRE_COUNT") else str(20 * whole)
print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k random_programs --build %s" % (seed, count, BUILD))
sys.stdout.flush()
FOUND = os.path.join(SRC, "tests", "fuzz", "found")
if oracle.main(["--build", BUILD, "--replay"]
               + [os.path.join(FOUND, f) for f in sorted(os.listdir(FOUND))]):
    sys.exit(1)
sys.exit(oracle.main(["--build", BUILD, "--seed", str(seed), "--count", str(count), "--device", "0.02",
                      "--cpu-seconds", seconds, "--stop", "--shrink-seconds", "40", "--shrink-each", "1"]))
