# SPDX-License-Identifier: MIT
"""The programs of a seed, of three kinds in turn: independent invocations (generate.py),
interacting invocations (several.py), which element an invocation reads, adds to and owns
(places.py).

  programs.py SEED [LAUNCH]    prints one
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import generate  # noqa: E402
import places  # noqa: E402
import several  # noqa: E402

KINDS = (generate, several, places)


def make(seed):
    return KINDS[seed % len(KINDS)].make(seed // len(KINDS))


def main():
    if len(sys.argv) in (2, 3) and all(a.isdigit() for a in sys.argv[1:]):
        sys.stdout.write(make(int(sys.argv[1])).text(launch=int((sys.argv[2:] or [0])[0])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
