#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""The demonstrations of examples/ do what their head comments say.

The commands of such a comment are run, the training with fewer steps.  The loss must fall below a
fraction of the first one.  Each picture that a command writes must hold the values that the same
command prints as JSON, as bytes, and the last one must be near its target.
"""
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
import pictures  # noqa: E402

GRAD, EXAMPLES = os.environ["VYRE_GRAD"], os.path.join(os.environ["SRC"], "examples")
# Steps of the training; most of the last loss, as a fraction of the first; the picture that is
# made, its target, and the most that they may differ, on average over all values (0 … 1).  Where
# the aim is a place, the loss is the distance from it, and there is no target.
DEMONSTRATIONS = {
    "heat": (80, 0.02, "heat.png", "plate.png", 0.07),
    "image": (250, 0.1, "drawn.png", "scene.png", 0.1),
    "mass_spring": (12, 0.1, None, None, None),
    "mpm": (12, 0.4, None, None, None),
    "smoke": (20, 0.15, "smoke.png", "heart.png", 0.07),
    "splats": (100, 0.05, "splats.png", "sunset.png", 0.07),
    "wave": (100, 0.1, "wave.png", "ground.png", 0.05),
}
failures = []


def check(ok, *what):
    if not ok:
        failures.append(what)
        print("FAILED", *what)


def commands(path):
    """The commands of a head comment: `//   vyre-grad …`, and lines that go on further right."""
    with open(path, encoding="utf-8") as f:
        head = re.match(r"(//[^\n]*\n)*", f.read()).group()
    joined = re.sub(r"\n//       +", " ", head)
    lines = re.findall(r"^//   vyre-grad (.*)$", joined, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def run(words, steps):
    """What a command prints as JSON."""
    words = [os.path.join(EXAMPLES, os.path.basename(w)) if w.startswith("examples/") else w
             for w in words]
    if words[0] == "fit":
        words[words.index("--steps") + 1] = str(steps)
    done = subprocess.run([GRAD, *words, "--json", "--quiet"], capture_output=True, text=True,
                          check=False)
    if "without libpng" in done.stderr:
        print("this vyre-grad was built without libpng")
        sys.exit(77)
    check(done.returncode == 0, words, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {"outputs": {}, "losses": None}


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


def distance(path, target):
    a, b = pictures.read(path), pictures.read(target)
    check(a[:3] == b[:3], path, a[:3], target, b[:3])
    values = list(zip(b"".join(a[3]), b"".join(b[3])))
    return sum(abs(x - y) for x, y in values) / len(values) / 255


def written_pictures(words):
    return [w for option, w in zip(words, words[1:]) if option == "--out" and w.endswith(".png")]


def demonstrate(name, steps, fraction, picture, target, most):
    start, kinds = time.monotonic(), []
    for words in commands(os.path.join(EXAMPLES, name + ".vyre")):
        result = run(words, steps)
        kinds.append(words[0])
        for written in written_pictures(words):
            buffer, path = written.split("=@")
            check(buffer in result["outputs"], name, "does not print", buffer)
            if buffer in result["outputs"]:
                same_values(path, result["outputs"][buffer])
        if words[0] == "fit" and result["losses"]:
            losses = result["losses"]["data"]
            check(losses[-1] < fraction * losses[0], name, "loss", losses[0], "to", losses[-1])
            print("%s: loss %.3g to %.3g" % (name, losses[0], losses[-1]))
    check("fit" in kinds, name, "has no training in its head comment", kinds)
    if target and not failures:
        away = distance(picture, target)
        check(away < most, picture, "is", away, "from", target)
        print("%s: %s is %.3g from %s" % (name, picture, away, target))
    print("%s: %.1f s" % (name, time.monotonic() - start))


def main():
    if "features:" not in subprocess.run([GRAD, "devices"], capture_output=True, text=True,
                                         check=False).stdout:
        print("no Vulkan device")
        return 77
    for name, row in DEMONSTRATIONS.items():
        demonstrate(name, *row)
    return 1 if failures else 0


sys.exit(main())
