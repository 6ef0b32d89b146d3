#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""The faults of tests/fuzz/plant.py can still be planted: the text that each one replaces is in its
file, and one of them is noticed.

All of them take an hour (tests/README.md); trying one keeps the machinery from falling into
disrepair.  VYRE_PLANT=NUMBER chooses another.
"""
import os
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import plant  # noqa: E402


def main():
    missing = 0
    for n, (changed, _, old, _) in enumerate(plant.ALL):
        with open(os.path.join(SRC, changed), encoding="utf-8") as f:
            if old not in f.read():
                print("%d: %s no longer has: %s" % (n + 1, changed, old))
                missing += 1
    number = int(os.environ.get("VYRE_PLANT") or 17)
    print("VYRE_PLANT=%d tests/run -k planted" % number)
    sys.stdout.flush()
    sys.argv = ["plant.py", "--build", BUILD, "--only", str(number)]
    return 1 if plant.main() or missing else 0


if __name__ == "__main__":
    sys.exit(main())
