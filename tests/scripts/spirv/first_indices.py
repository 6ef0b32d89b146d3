#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""Loads whose first indices are surely in range, and whose others are not (spirv/facts/shared_places.c):
random programs (tests/fuzz/first_indices.py) on the device, with and without blocks of neighbours, against
the interpreter, bit for bit, at several sizes.  From a fresh seed that is printed; VYRE_SEED sets the seed,
VYRE_COUNT the number of programs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import first_indices  # noqa: E402
from harness import Harness  # noqa: E402


def marked(folder, text):
    """How many loads are known to have some of their indices in range."""
    path = os.path.join(folder, "p.vyre")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([os.environ["VYRE_GRAD"], "compile", path, "-o", path + ".spv", "--dump-after", "mark_in_range"],
                          capture_output=True, text=True, check=False)
    return len(re.findall(r"@in_range\(\d\)", done.stderr))


def main():
    seed, count = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]), int(os.environ.get("VYRE_COUNT") or 240 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k first_indices" % (seed, count))
    wrong = loads = 0
    with tempfile.TemporaryDirectory() as folder:
        session = Harness([os.path.join(BUILD, "tests", "session_run")], folder, dict(os.environ))
        for number in range(seed, seed + count):
            text, launches = first_indices.whole(number)
            loads += marked(folder, text)
            for k, options in enumerate(launches):
                said = []
                for way in (["--engine", "eval"], ["--engine", "vulkan"], ["--engine", "vulkan", "--coarsen", str((2, 4, 8)[(number + k) % 3])]):
                    line, trouble = session.ask("p", "\n".join(options + way + ["--runs", "1"]) + "\n\n" + text)
                    said.append(trouble or line)
                if '"error"' in said[0] or any(json.loads(line) != json.loads(said[0]) if line[:1] == "{" else True for line in said):
                    wrong += 1
                    print("VYRE_SEED=%d: %s\n%s\n%s" % (number, " ".join(options), text, "\n".join(line[:600] for line in said)))
                    break
            if wrong > 3:
                break
        status, trouble = session.close()
    print("%d wrong; %d loads have some indices in range" % (wrong, loads))
    if status or trouble:
        print("session_run ended with status %s: %s" % (status, trouble))
    return bool(wrong or trouble or status or loads < count)


if __name__ == "__main__":
    sys.exit(main())
