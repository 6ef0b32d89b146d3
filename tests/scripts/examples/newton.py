#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""examples/newton.vyre, the commands of its head comment, against Lloyd's algorithm in double.

The Hessian's diagonal is twice the number of points of each centre, exactly; along any direction v
it gives 2 n v, with nothing outside of it.  Newton's method ends where Lloyd's does, in as many
steps, also where a centre has no points.  Each pixel has the colour of its nearest centre.
"""
import json
import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
from demonstration import check, commands, EXAMPLES, failures, GRAD, has_device, run  # noqa: E402
from textbook import f32  # noqa: E402


def rows(found):
    values, width = [f32(float(x)) for x in found["data"]], found["shape"][1]
    return [values[i:i + width] for i in range(0, len(values), width)]


def nearest(centres, p):
    return min(range(len(centres)), key=lambda j: math.dist(centres[j], p))


def lloyd(points, centres):
    """The centres in the end, how many points each has, and the steps."""
    for steps in range(100):
        mine = [[] for _ in centres]
        for p in points:
            mine[nearest(centres, p)].append(p)
        means = [[sum(x) / len(m) for x in zip(*m)] if m else c for m, c in zip(mine, centres)]
        if max(abs(a - b) for m, c in zip(means, centres) for a, b in zip(m, c)) <= 1e-6:
            break
        centres = means
    return centres, [len(m) for m in mine], steps


def same_as_lloyd(what, found, points, start):
    centres, counts, steps = lloyd(points, start)
    away = max(map(math.dist, rows(found["C"]), centres))
    check(away <= 1e-6, what, "centres differ by", away)
    curvature = [[2.0 * n] * len(centres[0]) for n in counts]
    check(rows(found["h"]) == curvature, what, found["h"], counts)
    check(found["steps"]["data"] == [steps], what, "steps", found["steps"]["data"], steps)
    slope = max(abs(x) for row in rows(found["g"]) for x in row)
    check(slope < 1e-6 * 2 * len(points), what, "gradient in the end", slope)
    print("%s: %d steps, counts %s, centres differ by %.2g" % (what, steps, counts, away))


# ------------------------------------------------------------------------ the head comment's commands
def colour(points, centres, x, y):
    mine = nearest(centres, (x, y))
    at_point = min(math.dist(p, (x, y)) for p in points)
    at_centre = math.dist(centres[mine], (x, y))
    hue = [0.5 + 0.5 * math.cos(2 * math.pi * (mine / len(centres) + c / 3)) for c in range(3)]
    gap = sorted(math.dist(c, (x, y)) for c in centres)
    clear = min(gap[1] - gap[0], abs(at_point - 0.01), abs(at_centre - 0.025))
    return clear > 1e-5, [1.0 if at_centre < 0.025 else 0.7 * h if at_point < 0.01
                          else 0.4 + 0.5 * h for h in hue]


def same_picture(found, points, centres):
    height, width, _ = found["shape"]
    seen = 0
    for at in range(0, height * width, 7):
        y, x = (at // width + 0.5) / height, (at % width + 0.5) / width
        sure, want = colour(points, centres, x, y)
        got = found["data"][3 * at:3 * at + 3]
        check(not sure or max(abs(a - b) for a, b in zip(got, want)) < 1e-5, at, got, want)
        seen += sure
    check(seen > 2000, "pixels compared", seen)


def demonstration():
    found = [run(words)["outputs"] for words in commands("newton")]
    if failures:
        return
    points = rows(found[2]["P"])
    check(len(points) == 300, "points", len(points))
    # what `uniform:0.3:0.7:7` is, printed by a program that copies
    start = rows(on("copy", "vulkan", "--in", "x[5,2]=uniform:0.3:0.7:7")["y"])
    same_as_lloyd("head comment", found[3], points, start)
    same_picture(found[4]["picture"], points, rows(found[3]["C"]))


# ---------------------------------------------------------------------------------------- other data
def on(pipeline, engine, *words, file=os.path.join(EXAMPLES, "newton.vyre")):
    done = subprocess.run([GRAD, "run", file, "-I", ".", "-p", pipeline, "--engine", engine,
                           "--json", "--quiet", *words], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, pipeline, words, done.stderr)
    return json.loads(done.stdout)["outputs"]


def spec(name, values):
    return "%s[%d,%d]=%s" % (name, len(values), len(values[0]),
                             ",".join(str(x) for row in values for x in row))


def drawn(rng, count, dimensions):
    return [[rng.randrange(1 << 10) / (1 << 10) for _ in range(dimensions)] for _ in range(count)]


def other_points(engine):
    for n, k, d in (1, 1, 1), (40, 3, 2), (200, 7, 3), (30, 4, 5):
        rng = random.Random("points %d" % n)
        points, start = drawn(rng, n, d), drawn(rng, k, d)
        start[-1] = [9.0] * d if k > 1 else start[-1]  # none is near
        found = on("newton", engine, "--of", "C,g,h,steps", "--in", spec("P", points), "--in",
                   spec("start", start))
        same_as_lloyd("%s, %d points" % (engine, n), found, points, start)
        check(k == 1 or rows(found["C"])[-1] == start[-1], "a centre without points moved")
        along_directions(engine, points, start, rng)


def along_directions(engine, points, centres, rng):
    counts = lloyd_counts(points, centres)
    one = [[0.0] * len(c) for c in centres]
    one[0][-1] = 1.0
    for v in one, drawn(rng, len(centres), len(centres[0])):
        found = on("kmeans_grad_jvp", engine, "--of", "dot2_grad_C", "--in", spec("P", points),
                   "--in", spec("C", centres), "--in", spec("dot2_C", v), file="curvature.vyre")
        want = [[2 * n * x for x in row] for n, row in zip(counts, v)]  # exact: few bits
        check(rows(found["dot2_grad_C"]) == want, engine, "along", v, found, want)


def lloyd_counts(points, centres):
    mine = [nearest(centres, p) for p in points]
    return [mine.count(j) for j in range(len(centres))]


def main():
    if not has_device():
        print("no Vulkan device")
        return 77
    demonstration()
    for engine in () if failures else ("eval", "vulkan"):
        other_points(engine)
    return 1 if failures else 0


sys.exit(main())
