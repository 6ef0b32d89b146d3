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
import json
import os
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import nests  # noqa: E402
from harness import Harness  # noqa: E402


def jammed(folder, text):
    """The program as the pass leaves it, with marks; and does the pass take a loop of it?"""
    path = os.path.join(folder, "p.vyre")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    texts = []
    for name in ("select_factors", "jam_loops"):
        done = subprocess.run([os.environ["VYRE_GRAD"], "compile", path, "--precise", "--no-validate", "--for", "lavapipe", "-o", path + ".spv", "--dump-after", name],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr, False
        texts.append(done.stderr.split("\n", 1)[1])
    return texts[1], texts[0] != texts[1]


def main():
    seed, count = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]), int(os.environ.get("VYRE_COUNT") or 800 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k jam_loops" % (seed, count))
    wrong, taken = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        session = Harness([os.path.join(BUILD, "tests", "session_run")], folder, dict(os.environ))
        for number in range(seed, seed + count):
            text, launches = nests.make(number)
            other, some = jammed(folder, text)
            taken += some
            ways = [(text, "eval"), (other, "eval")] + [(text, "vulkan")] * (some and number % 8 == 0)
            for launch in launches:
                said = []
                for what, engine in ways:
                    line, trouble = session.ask("p", "\n".join(launch + ["--precise", "--engine", engine, "--runs", "1"]) + "\n\n" + what)
                    said.append(trouble or line)
                if '"error"' in said[0] or any(json.loads(line) != json.loads(said[0]) if line[:1] == "{" else True for line in said):
                    wrong += 1
                    print("VYRE_SEED=%d: %s\n%s\n%s\n%s" % (number, " ".join(launch), text, other, "\n".join(line[:600] for line in said)))
                    break
            if wrong > 3:
                break
        status, trouble = session.close()
    print("%d wrong; taken of %d: %d" % (wrong, count, taken))
    if status or trouble:
        print("session_run ended with status %s: %s" % (status, trouble))
    return bool(wrong or trouble or status or taken < count // 8)


if __name__ == "__main__":
    sys.exit(main())
