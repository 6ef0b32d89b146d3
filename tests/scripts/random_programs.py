#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""Random programs past every oracle (tests/fuzz).

First those that once failed (tests/fuzz/found).  Then new ones, from a fresh seed that the first
line prints, half of them of independent invocations and half of interacting ones, for 45 seconds of
processor time (90 with VYRE_SHARE=1); VYRE_SEED and VYRE_COUNT override.  A failing program is
printed reduced, with the command that makes it again.
"""
import os
import random
import sys
import time

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import oracle  # noqa: E402


fresh = random.Random(time.time_ns()).randrange(10 ** 9)
seed = int(os.environ.get("VYRE_SEED") or fresh)
count = int(os.environ.get("VYRE_COUNT") or 0)
seconds = "90" if os.environ.get("VYRE_SHARE", "1") == "1" else "45"
print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k random_programs --build %s" % (seed, count, BUILD))
sys.stdout.flush()
FOUND = os.path.join(SRC, "tests", "fuzz", "found")
if oracle.main(["--build", BUILD, "--replay"]
               + [os.path.join(FOUND, f) for f in sorted(os.listdir(FOUND))]):
    sys.exit(1)
sys.exit(oracle.main(["--build", BUILD, "--seed", str(seed), "--count", str(count or 10 ** 6), "--device", "0.02",
                      "--cpu-seconds", "1e9" if count else seconds, "--stop", "--shrink-seconds", "40",
                      "--shrink-each", "1"]))
