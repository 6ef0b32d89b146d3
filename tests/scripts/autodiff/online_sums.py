#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradients of random programs with sums of exponentials below a maximum, which a driver for CPUs makes in one walk
(ir/pass/sums/online_sums.c), are on the device those that the interpreter has in double.

Softmaxes, logarithms of sums and mixtures, whose elements are loaded or computed by an inner loop, with weights; of rows of
no elements, of rising and falling ones, of elements far apart, of infinite ones and nan.  VYRE_SEED overrides the seed.
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

COUNT = 12
seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
print("VYRE_SEED=%d" % seed)
pick = random.Random(seed)


def element():
    """What the exponentials are of: (lines before it, value)."""
    simple = ["x[r, c]", "x[r, c] * w[c]", "x[r, c] - w[c]", "w[c] + x[r, c] * 0.5"]
    if pick.random() < 0.6:
        return "", pick.choice(simple)
    if pick.random() < 0.5:
        return "var q = w[c]; for j in 0..%s { q += x[r, j] * w[c]; }" % pick.choice(["c", "C", "3"]), "q * 0.25"
    return "var q = x[r, c]; if w[c] > 1.0 { q = w[c] * x[r, c]; }", "q"


def program():
    before, value = element()
    walk = pick.choice(["c in 0..C", "c in 0..C", "c in 1..C", "c in 0..C step 2"])
    lines = ["var top = -inf; for %s { %s top = max(top, %s); }" % (walk, before, value), "let m = stop_grad(top);"]
    term = "exp(%s - m)" % value
    kind = pick.choice(["softmax", "lse", "mixture", "weighted"])
    if kind == "softmax":
        lines.append("var s = 0.0; for %s { %s s += %s; }" % (walk, before, term))
        lines.append("for %s { %s y[r, c] = %s / s; }" % (walk, before, term))
    elif kind == "lse":
        lines.append("var s = 0.0; for %s { %s s += %s; }" % (walk, before, term))
        lines.append("z[r] = m + log(s);")
    elif kind == "mixture":
        lines.append("var s = 0.0; for %s { %s s += w[c] * %s; }" % (walk, before, term))
        lines.append("z[r] = s * u[r];")
    else:
        lines.append("var s = 0.0; var a = 0.0; for %s { %s let e = %s; s += e; a %s e * w[c] * u[r]; }"
                     % (walk, before, term, pick.choice(["+=", "-="])))
        lines.append("z[r] = a / s;")
    return """program p(x: in f32[R, C], w: in f32[C], u: in f32[R], y: out f32[R, C], z: out f32[R], R: u32, C: u32)
    over(r: R)
{
    %s
}
""" % "\n    ".join(lines)


def rows(columns):
    """Three rows of a kind."""
    kind = pick.choice(["normal", "normal", "far", "rising", "falling", "special"])
    if kind == "normal":
        return [pick.gauss(0, 1) for _ in range(3 * columns)]
    if kind == "far":
        return [pick.gauss(0, 60) for _ in range(3 * columns)]
    if kind == "special":
        return [pick.choice([-math.inf, -math.inf, 1.0, 2.5, -3.0, 90.0, math.inf if pick.random() < 0.1 else 0.5,
                             math.nan if pick.random() < 0.1 else 0.25]) for _ in range(3 * columns)]
    step = pick.choice([1e-3, 0.1, 0.99, 1.01, 20.0]) * (1 if kind == "rising" else -1)
    return [step * c for _ in range(3) for c in range(columns)]


def vyre(*arguments):
    run = subprocess.run([os.environ["VYRE_GRAD"], *arguments], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def gradients(path, data, *options):
    status, out, said = vyre("run", path, "--grad", "--wrt", "x,w,u", "--json", *options, *data)
    if status:
        sys.exit(open(path, encoding="utf-8").read() + said)
    return {n: o["data"] for n, o in json.loads(out)["outputs"].items() if n.startswith("grad_")}, said


def flat(data):
    return [v for row in data for v in flat(row)] if isinstance(data, list) else [float("nan") if data is None else float(data)]


def differ(a, b, scale):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return math.isfinite(a) != math.isfinite(b)
    return abs(a - b) > 1e-4 * (1 + scale)


fired = 0
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "p.vyre")
    for n in range(COUNT):
        text = program()
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
        for columns in (0, 1, pick.randint(2, 40)):
            x = "zeros" if not columns else ",".join("%r" % v for v in rows(columns))
            given = ["--in", "x[3,%d]=%s" % (columns, x), "--in", "w[%d]=uniform:0.5:2:2" % columns, "--in", "u=0.3,-0.4,1.1",
                     "--ct", "y=normal:0:1:3", "--ct", "z=1,-2,0.5"]
            want, _ = gradients(file, given, "--engine", "eval", "--eval-type", "f64", "-O0")
            have, said = gradients(file, given, "--engine", "vulkan", "--dump-after", "online_sums")
            fired += columns > 1 and "exp(select(" in said
            for name in want:
                a, b = flat(want[name]), flat(have[name])
                scale = max([abs(v) for v in a if math.isfinite(v)], default=0)
                for at, (v, w) in enumerate(zip(a, b)):
                    if differ(v, w, scale):
                        print(text, *given)
                        sys.exit("program %d, %d columns: %s[%d] is %s, on the device %s" % (n, columns, name, at, v, w))
print("%d programs alike, %d of them in one walk" % (COUNT, fired))
if not fired:
    sys.exit("none of them has a maximum and sums in one walk")
