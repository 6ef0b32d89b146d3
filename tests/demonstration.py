# SPDX-License-Identifier: MIT
"""Runs the commands in the head comment of an example, and compares the pictures that they write
with what they print."""
import json
import math
import os
import re
import shlex
import subprocess
import sys

import pictures

GRAD, EXAMPLES = os.environ["VYRE_GRAD"], os.path.join(os.environ["SRC"], "examples")
failures = []


def check(ok, *what):
    if not ok:
        failures.append(what)
        print("FAILED", *what)
    return ok


def has_device():
    done = subprocess.run([GRAD, "devices"], capture_output=True, text=True, check=False)
    return "features:" in done.stdout


def commands(name):
    """The commands of a head comment: `//   vyre-grad …`, and lines that go on further right."""
    with open(os.path.join(EXAMPLES, name + ".vyre"), encoding="utf-8") as f:
        head = re.match(r"(//[^\n]*\n)*", f.read()).group()
    joined = re.sub(r"\n//       +", " ", head)
    lines = re.findall(r"^//   vyre-grad (.*)$", joined, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def run(words, steps=None):
    """What a command prints as JSON; its pictures must hold the values printed."""
    argv = [os.path.join(EXAMPLES, os.path.basename(w)) if w.startswith("examples/") else w
            for w in words]
    if words[0] == "fit":
        argv[argv.index("--steps") + 1] = str(steps)
    done = subprocess.run([GRAD, *argv, "--json", "--quiet"], capture_output=True, text=True,
                          check=False)
    if "without libpng" in done.stderr:
        print("this vyre-grad was built without libpng")
        sys.exit(77)
    if not check(done.returncode == 0, words, done.stderr):
        return {"outputs": {}, "losses": None}
    result = json.loads(done.stdout) if "-o" not in words else {"outputs": {}}
    for written in written_pictures(words):
        buffer, path = written.split("=@")
        if check(buffer in result["outputs"], words, "does not print", buffer):
            same_values(path, result["outputs"][buffer])
    return result


def written_pictures(words):
    return [w for before, w in zip(words, words[1:]) if before == "--out" and w.endswith(".png")]


def byte(x):
    x = float(x)
    return 0.0 if math.isnan(x) else 255 * min(max(x, 0.0), 1.0)


def same_values(path, value):
    """A picture against the array that it was made from."""
    width, height, channels, rows = pictures.read(path)
    shape = [height, width] + [3] * (channels == 3)
    check(shape == value["shape"], path, shape, value["shape"])
    got, want = b"".join(rows), [byte(x) for x in value["data"]]
    worst = max((abs(a - b) for a, b in zip(got, want)), default=0)
    check(len(got) == len(want) and worst < 0.5001, path, "differs by", worst, "of 255")
