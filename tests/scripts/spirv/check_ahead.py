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
import json
import os
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import taps  # noqa: E402
from harness import Harness  # noqa: E402


def changed(before, after):
    return before != after


def divided(before, after):
    """One loop has become three."""
    return after.count("for ") >= before.count("for ") + 2


# Blocks of two, so that small domains have some that are inside.
KINDS = {"taps": (taps.whole, ("workgroup_planes", "check_ahead"), changed, []),
         "rows": (taps.rows, ("sliding_loads", "strip_mine"), divided, ["--coarsen", "2"])}


def for_gpu(folder, text, passes, takes, options):
    """The program as the last pass leaves it, with marks; and does the pass take it?"""
    path = os.path.join(folder, "p.vyre")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    texts = []
    for name in passes + ("subgroup_runs",):
        done = subprocess.run([os.environ["VYRE_GRAD"], "compile", path, "--precise", "--for", "gpu", "-o", path + ".spv", "--dump-after", name] + options,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr, False
        texts.append(done.stderr.split("\n", 1)[1])
    return texts[2], takes(texts[0], texts[1])


def main():
    seed, count = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]), int(os.environ.get("VYRE_COUNT") or 600 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k check_ahead" % (seed, count))
    wrong, taken = 0, dict.fromkeys(KINDS, 0)
    with tempfile.TemporaryDirectory() as folder:
        session = Harness([os.path.join(BUILD, "tests", "session_run")], folder, dict(os.environ))
        for number in range(seed, seed + count):
            kind = list(KINDS)[number // 4 % 2]
            make, passes, takes, options = KINDS[kind]
            text, launches = make(number)
            other, some = for_gpu(folder, text, passes, takes, options)
            taken[kind] += some
            for launch in launches:
                said = []
                for what, engine in ((text, "eval"), (other, "eval"), (other, "vulkan")):
                    line, trouble = session.ask("p", "\n".join(launch + ["--precise", "--engine", engine, "--runs", "1"]) + "\n\n" + what)
                    said.append(trouble or line)
                if '"error"' in said[0] or any(json.loads(line) != json.loads(said[0]) if line[:1] == "{" else True for line in said):
                    wrong += 1
                    print("VYRE_SEED=%d: %s\n%s\n%s\n%s" % (number, " ".join(launch), text, other, "\n".join(line[:600] for line in said)))
                    break
            if wrong > 3:
                break
        status, trouble = session.close()
    print("%d wrong; taken of %d: %s" % (wrong, count, taken))
    if status or trouble:
        print("session_run ended with status %s: %s" % (status, trouble))
    return bool(wrong or trouble or status or min(taken.values()) < count // 8)


if __name__ == "__main__":
    sys.exit(main())
