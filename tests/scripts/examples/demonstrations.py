#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""The demonstrations of examples/ do what their head comments say.

The commands of such a comment are run, the training with fewer steps.  The loss must fall below a
fraction of the first one.  Each picture that a command writes must hold the values that the same
command prints as JSON, as bytes, and the last one must be near its target.

A run takes every sixth one, which the seed chooses; VYRE_SHARE=1 takes all.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
import pictures  # noqa: E402
import shares  # noqa: E402
from demonstration import check, commands, failures, has_device, run  # noqa: E402

# Steps of the training; most of the last loss, as a fraction of the first; the picture that is
# made, its target, and the most that they may differ, on average over all values (0 … 1).  There is
# no target where the loss is the distance from a place, or how improbable the right digits are.
DEMONSTRATIONS = {
    "heat": (80, 0.02, "heat.png", "plate.png", 0.07),
    "image": (250, 0.1, "drawn.png", "scene.png", 0.1),
    "line": (120, 1e-4, "line.png", "least.png", 1e-3),
    "mass_spring": (12, 0.1, None, None, None),
    "mpm": (12, 0.4, None, None, None),
    "smoke": (20, 0.15, "smoke.png", "heart.png", 0.07),
    "splats": (100, 0.05, "splats.png", "sunset.png", 0.07),
    "transformer": (60, 0.25, None, None, None),
    "wave": (100, 0.1, "wave.png", "ground.png", 0.05),
}


def distance(path, target):
    a, b = pictures.read(path), pictures.read(target)
    check(a[:3] == b[:3], path, a[:3], target, b[:3])
    values = list(zip(b"".join(a[3]), b"".join(b[3])))
    return sum(abs(x - y) for x, y in values) / len(values) / 255


def demonstrate(name, steps, fraction, picture, target, most):
    start, kinds = time.monotonic(), []
    for words in commands(name):
        result = run(words, steps)
        kinds.append(words[0])
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
    if not has_device():
        print("no Vulkan device")
        return 77
    for name, row in shares.drawn(DEMONSTRATIONS.items(), 6):
        demonstrate(name, *row)
    return 1 if failures else 0


sys.exit(main())
