#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""Random programs past every oracle (tests/fuzz).

First those that once failed (tests/fuzz/found).  Then new ones, from a fresh seed that the first line
prints, half of them of independent invocations and half of invocations that meet; VYRE_SEED and VYRE_COUNT override.  A failing program comes out reduced, with the command that
makes it again.
"""
import json
import os
import random
import sys
import time

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import oracle  # noqa: E402


def sanitized():
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as f:
        return any(o["name"] == "b_sanitize" and o["value"] not in ("none", []) for o in json.load(f))


fresh = random.Random(time.time_ns()).randrange(10 ** 9)
seed = int(os.environ.get("VYRE_SEED") or fresh)
count = int(os.environ.get("VYRE_COUNT") or (24 if sanitized() else 160))
print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k random_programs --build %s" % (seed, count, BUILD))
sys.stdout.flush()
FOUND = os.path.join(SRC, "tests", "fuzz", "found")
if oracle.main(["--build", BUILD, "--replay"]
               + [os.path.join(FOUND, f) for f in sorted(os.listdir(FOUND))]):
    sys.exit(1)
sys.exit(oracle.main(["--build", BUILD, "--seed", str(seed), "--count", str(count), "--device", "0.2",
                      "--stop", "--shrink-seconds", "40", "--shrink-each", "1"]))
