#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
# DEVICE
"""The network layers of examples/layers: value and gradient against textbook formulas, in the
interpreter and on the device, and the gradient against finite differences (`check`).

The formulas are written here in double from the layers' definitions, each gradient in the closed
form that papers and hand-written libraries use; they share nothing with Vyre.  Inputs are random
f32 numbers.  The only difference allowed is rounding in f32: 2e-6 of the largest element of each
buffer (found: below 4e-7).
"""
import glob
import json
import math
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
from textbook import dot, f32, product, softmax_back, softmax_row, transposed  # noqa: E402

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
TOLERANCE = 2e-6


# Each layer: (inputs, cotangent of its output) → (output, gradient by input).
def linear(d, ct):
    y = [[v + b for v, b in zip(row, d["b"])] for row in product(d["x"], transposed(d["w"]))]
    return y, {"x": product(ct, d["w"]), "w": product(transposed(ct), d["x"]), "b": [sum(c) for c in zip(*ct)]}


def relu_layer(d, ct):
    return [max(v, 0.0) for v in d["x"]], {"x": [c if v > 0 else 0.0 for v, c in zip(d["x"], ct)]}


def gelu(d, ct):
    def phi(v):
        return 0.5 * math.erfc(-v / math.sqrt(2))

    def density(v):
        return math.exp(-v * v / 2) / math.sqrt(2 * math.pi)
    return [v * phi(v) for v in d["x"]], {"x": [c * (phi(v) + v * density(v)) for v, c in zip(d["x"], ct)]}


def gelu_tanh(d, ct):
    k, y, g = math.sqrt(2 / math.pi), [], []
    for v, c in zip(d["x"], ct):
        t = math.tanh(k * (v + 0.044715 * v ** 3))
        y.append(0.5 * v * (1 + t))
        g.append(c * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * k * (1 + 3 * 0.044715 * v * v)))
    return y, {"x": g}


def softmax(d, ct):
    y = [softmax_row(row) for row in d["x"]]
    return y, {"x": [softmax_back(p, c) for p, c in zip(y, ct)]}


def layer_norm(d, ct):
    """grad x = (g − mean g − x̂ mean(g x̂)) / σ with g = ct γ."""
    y, gx, n = [], [], len(d["gamma"])
    ggamma, gbeta = [0.0] * n, [0.0] * n
    for row, c in zip(d["x"], ct):
        mean = sum(row) / n
        sigma = math.sqrt(sum((v - mean) ** 2 for v in row) / n + f32(1e-5))
        hat = [(v - mean) / sigma for v in row]
        g = [a * b for a, b in zip(c, d["gamma"])]
        y.append([h * a + b for h, a, b in zip(hat, d["gamma"], d["beta"])])
        gx.append([(v - sum(g) / n - h * dot(g, hat) / n) / sigma for v, h in zip(g, hat)])
        ggamma = [s + a * h for s, a, h in zip(ggamma, c, hat)]
        gbeta = [s + a for s, a in zip(gbeta, c)]
    return y, {"x": gx, "gamma": ggamma, "beta": gbeta}


def rms_norm(d, ct):
    """grad x = g/ρ − x (g·x) / (n ρ³) with g = ct γ."""
    y, gx, n = [], [], len(d["gamma"])
    ggamma = [0.0] * n
    for row, c in zip(d["x"], ct):
        rho = math.sqrt(dot(row, row) / n + f32(1e-6))
        g = [a * b for a, b in zip(c, d["gamma"])]
        y.append([v / rho * a for v, a in zip(row, d["gamma"])])
        gx.append([a / rho - v * dot(g, row) / (n * rho ** 3) for a, v in zip(g, row)])
        ggamma = [s + a * v / rho for s, a, v in zip(ggamma, c, row)]
    return y, {"x": gx, "gamma": ggamma}


def attention(d, ct):
    """With the full matrix of scores: P = softmax(q kᵀ/√D) below the diagonal; dV = Pᵀ dY, dP = dY Vᵀ,
    dS = softmax's gradient."""
    out, grads = [], {"q": [], "k": [], "v": []}
    for q, k, v, c in zip(d["q"], d["k"], d["v"], ct):
        scale, n = 1 / math.sqrt(len(q[0])), len(q)
        p = [softmax_row([dot(q[t], k[j]) * scale for j in range(t + 1)]) + [0.0] * (n - t - 1) for t in range(n)]
        dp = product(c, transposed(v))
        ds = [[s * scale for s in softmax_back(p[t], dp[t])] for t in range(n)]
        out.append(product(p, v))
        grads["v"].append(product(transposed(p), c))
        grads["q"].append(product(ds, k))
        grads["k"].append(product(transposed(ds), q))
    return out, grads


def rotary(d, ct):
    """A rotation as a complex factor; its adjoint is the conjugate."""
    def turned(x, sign):
        result = []
        for t, heads in enumerate(x):
            result.append([])
            for row in heads:
                n, rotated = len(row), []
                for i in range(0, n, 2):
                    angle = sign * t * 10000.0 ** (-i / n)
                    z = complex(row[i], row[i + 1]) * complex(math.cos(angle), math.sin(angle))
                    rotated += [z.real, z.imag]
                result[-1].append(rotated)
        return result
    return turned(d["x"], 1), {"x": turned(ct, -1)}


def residual(d, ct):
    pre = [[v + b for v, b in zip(row, d["b1"])] for row in product(d["x"], transposed(d["w1"]))]
    hidden = [[max(v, 0.0) for v in row] for row in pre]
    block = product(hidden, transposed(d["w2"]))
    y = [[a + b + c for a, b, c in zip(x, row, d["b2"])] for x, row in zip(d["x"], block)]
    back = [[g if v > 0 else 0.0 for g, v in zip(a, b)] for a, b in zip(product(ct, d["w2"]), pre)]
    through = product(back, d["w1"])
    return y, {"x": [[a + b for a, b in zip(c, t)] for c, t in zip(ct, through)],
               "w1": product(transposed(back), d["x"]), "b1": [sum(c) for c in zip(*back)],
               "w2": product(transposed(ct), hidden), "b2": [sum(c) for c in zip(*ct)]}


def cross_entropy(d, ct):
    n, loss, grad = len(d["label"]), 0.0, []
    for row, label in zip(d["logits"], d["label"]):
        p = softmax_row(row)
        loss -= math.log(p[label]) / n
        grad.append([ct[0] * (v - (c == label)) / n for c, v in enumerate(p)])
    return [loss], {"logits": grad}


# layer: (file, formula, shapes of inputs, output, its shape); shapes are odd on purpose.
LAYERS = {
    "linear": ("linear", linear, {"x": (5, 7), "w": (3, 7), "b": (3,)}, "y", (5, 3)),
    "relu_layer": ("relu", relu_layer, {"x": (67,)}, "y", (67,)),
    "gelu": ("gelu", gelu, {"x": (67,)}, "y", (67,)),
    "gelu_tanh": ("gelu", gelu_tanh, {"x": (67,)}, "y", (67,)),
    "softmax": ("softmax", softmax, {"x": (5, 11)}, "y", (5, 11)),
    "layer_norm": ("layer_norm", layer_norm, {"x": (5, 11), "gamma": (11,), "beta": (11,)}, "y", (5, 11)),
    "rms_norm": ("rms_norm", rms_norm, {"x": (5, 11), "gamma": (11,)}, "y", (5, 11)),
    "attention": ("attention", attention, {"q": (2, 9, 4), "k": (2, 9, 4), "v": (2, 9, 4)}, "y", (2, 9, 4)),
    "rotary": ("rotary", rotary, {"x": (7, 2, 6)}, "y", (7, 2, 6)),
    "residual": ("residual", residual, {"x": (5, 3), "w1": (6, 3), "b1": (6,), "w2": (3, 6), "b2": (3,)}, "y", (5, 3)),
    "cross_entropy": ("cross_entropy", cross_entropy, {"logits": (5, 7), "label": (5,)}, "loss", (1,)),
}


def flat(v):
    return [x for row in v for x in flat(row)] if isinstance(v, list) else [v]


def nested(values, shape):
    if not shape:
        return next(values)
    return [nested(values, shape[1:]) for _ in range(shape[0])]


def draw(rng, name, shape):
    count = math.prod(shape)
    values = [rng.randrange(7) if name == "label" else f32(rng.gauss(0, 1.5)) for _ in range(count)]
    return nested(iter(values), shape)


def spec(name, shape, value):
    return "%s[%s]=%s" % (name, ",".join(map(str, shape)), ",".join(map(repr, flat(value))))


def numbers(found):
    return [float(v) for v in found["data"]]


def largest(values):
    return max(abs(v) for v in values) or 1.0


def difference(found, expected):
    if len(found) != len(expected) or not all(math.isfinite(v) for v in found):
        return math.inf
    return max(abs(a - b) for a, b in zip(found, expected)) / largest(expected)


def compare(name, engines):
    """Largest difference of value and gradients; raises an error if something is wrong."""
    file, formula, shapes, out, out_shape = LAYERS[name]
    rng = random.Random("layers " + name)
    data = {k: draw(rng, k, s) for k, s in shapes.items()}
    ct = draw(rng, "ct", out_shape)
    value, grads = formula(data, ct)
    expected = {out: flat(value), **{"grad_" + k: flat(g) for k, g in grads.items()}}
    path = os.path.join(SRC, "examples", "layers", file + ".vyre")
    argv = [VYRE, "run", path, "-p", name, "--grad", "--json", "--ct", spec(out, out_shape, ct)]
    for k, s in shapes.items():
        argv += ["--in", spec(k, s, data[k])]
    worst = 0.0
    for engine in engines:
        done = subprocess.run(argv + ["--engine", engine], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError("%s: %s" % (engine, done.stderr))
        found = json.loads(done.stdout)["outputs"]
        missing = set(expected) - set(found)
        if missing:
            raise AssertionError("%s: no %s" % (engine, ", ".join(sorted(missing))))
        for k, e in expected.items():
            d = difference(numbers(found[k]), e)
            if not d <= TOLERANCE:
                raise AssertionError("%s: %s differs by %.3g" % (engine, k, d))
            worst = max(worst, d)
    return worst


def check(name, engines):
    path = os.path.join(SRC, "examples", "layers", LAYERS[name][0] + ".vyre")
    for engine in engines:
        done = subprocess.run([VYRE, "check", path, "-p", name, "--engine", engine], capture_output=True, text=True)
        if done.returncode or not re.search(r"^ok: ", done.stdout, re.M):
            raise AssertionError("check on %s:\n%s%s" % (engine, done.stdout, done.stderr))


def main():
    device = subprocess.run([VYRE, "devices"], capture_output=True).returncode == 0
    engines = ["eval", "vulkan"] if device else ["eval"]
    files = {os.path.basename(p)[:-5] for p in glob.glob(SRC + "/examples/layers/*.vyre")}
    wrong = ["%s.vyre: no formula here" % f for f in sorted(files - {v[0] for v in LAYERS.values()})]
    for name in LAYERS:
        try:
            print("%s: largest difference %.2g" % (name, compare(name, engines)))
            check(name, engines)
        except AssertionError as e:
            wrong.append("%s: %s" % (name, e))
    print("\n".join(wrong))
    print("engines: " + ", ".join(engines))
    return 1 if wrong else 0


sys.exit(main())
