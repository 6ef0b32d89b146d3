#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""`vyre-grad fit --optimizer lbfgs` against L-BFGS in Python.

`minimise` follows Nocedal & Wright, Numerical Optimization (2006): algorithms 7.4 (two-loop
recursion) and 7.5 (L-BFGS), 3.5 and 3.6 (line search).  It computes in double, as the interpreter
does with --eval-type f64, so that losses and parameters agree step by step.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
import training  # noqa: E402
from training import DEVICE, DOUBLE, check, close, failures, from_files, numbers, single, text  # noqa: E402

TEXT = os.path.join(os.environ["SRC"], "shaders", "optimisers", "lbfgs.vyre")
PROGRAMS = """
program bowl(a: in f32[N, M], b: in f32[N, M], w: in f32[N, M], v: in f32[K], c: in f32[1],
             loss: out f32[1, 1], N: u32, M: u32, K: u32) over(i: N, j: M)
{
    let e = w[i, j] - b[i, j];
    let f = v[(i * M + j) % K] + c[0] * e;
    atomic_add(loss[0, 0], a[i, j] * e * e + 0.5 * f * f);
}
program quadratic(a: in f32[N], w: in f32[N], loss: out f32[1], N: u32) over(i: N)
{
    let left = i == 0 ? 0.0 : w[max(i, 1u) - 1u];
    let e = w[i] - 0.3 * left - 1.0;
    atomic_add(loss[0], a[i] * e * e);
}
program rosenbrock(x: in f32[N], loss: out f32[1], N: u32) over(i: N - 1)
{
    let p = x[i + 1] - x[i] * x[i];
    let q = 1.0 - x[i];
    atomic_add(loss[0], 100.0 * p * p + q * q);
}
program barrier_of(w: in f32[N], loss: out f32[1], N: u32) over(i: N)
{
    atomic_add(loss[0], w[i] - log(w[i]));
}
program slope(w: in f32[1], loss: out f32[1]) over(i: 1) { loss[i] = 1.0 - 0.5 * w[i]; }
program cliff(w: in f32[1], loss: out f32[1]) over(i: 1) { loss[i] = w[i] > 2.0 ? 3.5 - w[i] : -w[i]; }
program hill(w: in f32[1], loss: out f32[1]) over(i: 1) { loss[i] = -0.5 * w[i] * w[i]; }
program traps(w: in f32[1], loss: out f32[1]) over(i: 1)
{
    let free = w[i] == 2.0 || w[i] == 1.0 || w[i] == 0.5;
    loss[i] = w[i] * w[i] + (free ? 0.0 : 100.0);
}
program rounded(w: in f32[1], loss: out f32[1]) over(i: 1)
{
    loss[i] = w[i] * w[i] + (w[i] == 0.0009765625 ? 1000.0 : 1000.0001);
}
program raised(w: in f32[N], loss: out f32[1], N: u32) over(i: N)
{
    let e = w[i] - f32(i + 1);
    atomic_add(loss[0], 250.0 + f32(i + 1) * e * e);
}
program corner(w: in f32[1], loss: out f32[1]) over(i: 1) { loss[i] = sqrt(w[i]) + 1.0; }
"""


def fit(*args, status=0):
    return training.fit("--of", "loss", "--optimizer", "lbfgs", *args, status=status)


C1, C2, ROUNDING, CURVED, TENTH = map(single, (1e-4, 0.9, 2e-7, 1e-6, 0.1))


# ------------------------------------------------------------------------------- L-BFGS in Python
def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def direction(g, pairs):
    """Algorithm 7.4; pairs from the oldest to the newest."""
    q, alphas = list(g), []
    for s, y in reversed(pairs):
        alphas.append(dot(s, q) / dot(s, y))
        q = [a - alphas[-1] * b for a, b in zip(q, y)]
    if pairs:
        s, y = pairs[-1]
        q = [dot(s, y) / dot(y, y) * a for a in q]
    for (s, y), alpha in zip(pairs, reversed(alphas)):
        beta = dot(y, q) / dot(s, y)
        q = [a + (alpha - beta) * b for a, b in zip(q, s)]
    return [-a for a in q]


def cubic(a, b):
    """(3.59), at least a tenth of the interval away from its ends."""
    (x, fx, mx), (z, fz, mz) = a, b
    if not (math.isfinite(fz) and math.isfinite(mz)):
        return x + TENTH * (z - x)
    d1 = mx + mz - 3 * (fx - fz) / (x - z)
    d2 = math.copysign(math.sqrt(max(d1 * d1 - mx * mz, 0)), z - x)
    near, below = TENTH * abs(z - x), mz - mx + 2 * d2
    if below == 0:
        return 0.5 * (x + z)
    return min(max(z - (z - x) * (mz + d2 - d1) / below, min(x, z) + near), max(x, z) - near)


def line_search(phi, f0, m0, t):
    """Algorithms 3.5 and 3.6; None: there is no length."""
    a, b = (0.0, f0, m0), None
    for count in range(25):
        f, m = phi(t)
        fell = math.isfinite(f) and f <= f0 + C1 * t * m0
        level = math.isfinite(f) and f <= f0 + ROUNDING * abs(f0) and m <= (2 * C1 - 1) * m0
        if (fell or level) and abs(m) <= -C2 * m0:
            return t
        if not fell or (f >= a[1] and count > 0):
            b = (t, f, m)
        else:
            if m >= 0 if b is None else m * (b[0] - a[0]) >= 0:
                b = a
            a = (t, f, m)
        t = cubic(a, b) if b else 4 * t
    return a[0] or None


def minimise(function, x, steps, rate=1.0):
    """Algorithm 7.5.  function(x): loss and gradient.  Also: how often it was called."""
    pairs, losses, calls = [], [], [0]

    def called(at):
        calls[0] += 1
        return function(at)
    for _ in range(steps):
        f, g = function(x)
        losses.append(f)
        p = direction(g, pairs)
        m0 = dot(p, g)
        if m0 == 0:
            continue

        def phi(t, x=x, p=p):
            f, g = called([a + t * b for a, b in zip(x, p)])
            return f, dot(p, g)
        t = line_search(phi, f, m0, rate) if m0 < 0 else None
        if t is None:
            pairs = []
            continue
        fresh = [a + t * b for a, b in zip(x, p)]
        s = [a - b for a, b in zip(fresh, x)]
        y = [a - b for a, b in zip(function(fresh)[1], g)]
        if dot(s, y) > CURVED * math.sqrt(dot(s, s)) * math.sqrt(dot(y, y)):
            pairs = (pairs + [(s, y)])[-10:]
        x = fresh
    return x, losses, calls[0]


# --------------------------------------------------------------------------------------- functions
def rosenbrock(x):
    f, g = 0.0, [0.0] * len(x)
    for i in range(len(x) - 1):
        p, q = x[i + 1] - x[i] * x[i], 1 - x[i]
        f += 100 * p * p + q * q
        g[i] += -400 * p * x[i] - 2 * q
        g[i + 1] += 200 * p
    return f, g


def quadratic(a):
    def value(w):
        f, g, c = 0.0, [0.0] * len(w), single(0.3)
        for i, x in enumerate(w):
            e = x - c * (w[i - 1] if i else 0) - 1
            f += a[i] * e * e
            g[i] += 2 * a[i] * e
            if i:
                g[i - 1] -= 2 * a[i] * e * c
        return f, g
    return value


def barrier_of(w):
    if min(w) <= 0:
        return math.nan, [math.nan] * len(w)
    return sum(x - math.log(x) for x in w), [1 - 1 / x for x in w]


def bowl(a, b, k):
    """Of w, then v, then c."""
    def value(x):
        n = len(a)
        w, v, c, f, g = x[:n], x[n:n + k], x[n + k], 0.0, [0.0] * len(x)
        for i in range(n):
            e = w[i] - b[i]
            h = v[i % k] + c * e
            f += a[i] * e * e + 0.5 * h * h
            g[i] += 2 * a[i] * e + h * c
            g[n + i % k] += h
            g[n + k] += h * e
        return f, g
    return value


# ------------------------------------------------------------------------------------------- tests
WHERE = [single(v) for v in (-1.2, 1, 0.4, -0.3, 1.1, 0.9, -0.7, 0.2, 1.5, 0.6)]
ROSENBROCK = ["-p", "rosenbrock", "--params", "x"]


def compare(name, args, function, start, steps, found, bound=1e-9, rate=1.0, first=4):
    """Step by step: the interpreter in double, and the first steps of the device."""
    x, losses, _ = minimise(function, start, steps, rate)
    got = fit(*args, "--steps", str(steps), *DOUBLE)
    check(close(got["losses"]["data"], losses, bound), name, got["losses"], losses)
    check(close(found(got["outputs"]), x, bound), name, found(got["outputs"]), x)
    if DEVICE and first:
        x, losses, _ = minimise(function, start, first, rate)
        got = fit(*args, "--steps", str(first))
        check(close(got["losses"]["data"], losses, 1e-4), name, "device", got["losses"], losses)
        check(close(found(got["outputs"]), x, 1e-4), name, "device", got["outputs"], x)


def formulas():
    compare("rosenbrock 2", [*ROSENBROCK, "--in", "x=" + text(WHERE[:2])], rosenbrock, WHERE[:2], 32,
            lambda o: o["x"]["data"], 1e-7)
    compare("rosenbrock 10", [*ROSENBROCK, "--in", "x=" + text(WHERE)], rosenbrock, WHERE, 24,
            lambda o: o["x"]["data"], 1e-7)
    for rate in 0.125, 4.0:
        compare("--lr %g" % rate, [*ROSENBROCK, "--in", "x=" + text(WHERE), "--lr", repr(rate)],
                rosenbrock, WHERE, 14, lambda o: o["x"]["data"], 1e-7, rate)
    a, b = [1.0, 0.5, 2.0, 0.25, 3.0, 1.5], [1.0, -2.0, 0.5, 3.0, -1.0, 0.25]
    w, v, c = [0.5, 0.25, -0.75, 2.0, 1.0, 0.0], [0.5, -0.5, 1.0, 2.0], [0.75]
    compare("three buffers", [
        "-p", "bowl", "--params", "c,w,v", "--in", "a[2,3]=" + text(a), "--in", "b[2,3]=" + text(b),
        "--in", "w[2,3]=" + text(w), "--in", "v=" + text(v), "--in", "c=" + text(c)],
            bowl(a, b, 4), w + v + c, 20,
            lambda o: o["w"]["data"] + o["v"]["data"] + o["c"]["data"])
    # A straight line: every pair has y = 0, and none is kept.
    compare("a line", ["-p", "slope", "--params", "w", "--in", "w=0"],
            lambda x: (1 - 0.5 * x[0], [-0.5]), [0.0], 2, lambda o: o["w"]["data"],
            first=1)
    compare("a cliff", ["-p", "cliff", "--params", "w", "--in", "w=0"],
            lambda x: (3.5 - x[0] if x[0] > 2 else -x[0], [-1.0]), [0.0], 2, lambda o: o["w"]["data"],
            first=2)
    # A pair of a hill has s·y < 0.
    compare("a hill", ["-p", "hill", "--params", "w", "--in", "w=0.5"],
            lambda x: (-0.5 * x[0] * x[0], [-x[0]]), [0.5], 3, lambda o: o["w"]["data"], first=0)
    # No length leads on from 1; without the pair that led there, the first one leads to 0.5.
    compare("traps", ["-p", "traps", "--params", "w", "--in", "w=2", "--lr", "0.25"],
            lambda x: (x[0] ** 2 + (0 if x[0] in (2, 1, 0.5) else 100), [2 * x[0]]), [2.0], 4,
            lambda o: o["w"]["data"], rate=0.25)
    # The loss rises by a ten-millionth where the slope falls by half: that is rounding.
    compare("rounded", ["-p", "rounded", "--params", "w", "--in", "w=0.0009765625", "--lr", "0.25"],
            lambda x: (x[0] ** 2 + (1000 if x[0] == 2 ** -10 else single(1000.0001)), [2 * x[0]]),
            [2 ** -10], 3, lambda o: o["w"]["data"], 1e-12, 0.25, 0)
    compare("a barrier", ["-p", "barrier_of", "--params", "w", "--in", "w=0.0625,7,0.5"],
            barrier_of, [0.0625, 7.0, 0.5], 12, lambda o: o["w"]["data"])


def converges():
    """To 1e-5: a quadratic in about as many steps as it has dimensions, Rosenbrock's function."""
    for n in 1, 4, 9:
        a = [1.0 + i for i in range(n)]
        best, most = [], n + 8
        for i in range(n):
            best.append(1 + single(0.3) * (best[i - 1] if i else 0))
        for engine in [DOUBLE, ["--engine", "eval"]] + [[]] * DEVICE:
            got = fit("-p", "quadratic", "--params", "w", "--in", "a=" + text(a), "--in",
                      "w[%d]=zeros" % n, "--steps", str(most), *engine)
            check(close(got["outputs"]["w"]["data"], best, 1e-5), n, engine, got["outputs"], best)
    for n, steps in (2, 45), (10, 110):
        for engine in [DOUBLE, ["--engine", "eval"]] + [[]] * DEVICE:
            got = fit(*ROSENBROCK, "--in", "x=" + text([-1.2, 1.0] * (n // 2)), "--steps", str(steps),
                      *engine)
            x, loss = got["outputs"]["x"]["data"], got["losses"]["data"][-1]
            check(close(x, [1] * n, 1e-4) and loss < 1e-8, n, engine, x, loss)
    # Its first step leaves the domain of the logarithm: such a loss is a worse one.
    got = fit("-p", "barrier_of", "--params", "w", "--in", "w=0.05,7,0.5", "--steps", "30", *DOUBLE)
    check(close(got["outputs"]["w"]["data"], [1, 1, 1], 1e-5), got)


def rounding():
    """Losses near 1000 tell parameters apart by some 1e-2 in f32; their slopes lead on."""
    for engine in [["--engine", "eval"]] + [[]] * DEVICE:
        got = fit("-p", "raised", "--params", "w", "--in", "w=0.5,0,7,1", "--steps", "30", *engine)
        check(close(got["outputs"]["w"]["data"], [1, 2, 3, 4], 1e-5), engine, got["outputs"])


def stops():
    got = fit(*ROSENBROCK, "--in", "x=" + text(WHERE), "--steps", "1000", "--engine", "eval")
    check(got["converged"] and got["steps"] < 200, got["steps"])
    check(close(got["outputs"]["x"]["data"], [1] * len(WHERE), 1e-3) or got["losses"]["data"][-1] < 5, got)
    got = fit("-p", "barrier_of", "--params", "w", "--in", "w=-1,2", "--steps", "9", *DOUBLE, status=3)
    check(got["steps"] == 0, got)
    got = fit("-p", "corner", "--params", "w", "--in", "w=0", "--steps", "9", *DOUBLE, status=3)
    check(got["steps"] == 1, got)
    bad = fit("-p", "quadratic", "--params", "w", "--in", "a=1,2", "--in", "w=0,0", "--batch", "a:1",
              status=1)
    check(bad["error"]["code"] == "E0505" and "batches" in bad["error"]["text"], bad)


def resumes():
    base = [*ROSENBROCK, "--engine", "eval"]
    start = ["--in", "x=" + text(WHERE)]
    whole = fit(*base, *start, "--steps", "30")
    half = fit(*base, *start, "--steps", "17", "--checkpoint-every", "17")
    rest = fit(*base, "--steps", "30", "--resume", "rosenbrock-17.fit")
    check(rest["outputs"] == whole["outputs"], "resumed", rest["outputs"], whole["outputs"])
    check(half["losses"]["data"] + rest["losses"]["data"] == whole["losses"]["data"], "losses")
    # Windows of another length, and a text of one's own.
    again = fit(*base, *start, "--steps", "30", "--checkpoint-every", "1")
    check(again["losses"] == whole["losses"], "windows of one step")
    own = training.fit("--of", "loss", "--optimizer", TEXT, "--lr", "1", *base, *start, "--steps", "30")
    check(own["losses"] == whole["losses"] and own["outputs"] == whole["outputs"], "as a file")


def written():
    """The pipeline as files: its text in the interpreter, the rest with nothing but Vulkan."""
    steps, n = 6, len(WHERE)
    got = fit(*ROSENBROCK, "--in", "x=" + text(WHERE), "--steps", str(steps), "--engine", "eval")
    own = {"loss": 1, "gradient": n, "s": 10 * n, "y": 10 * n, "rho": 10, "gamma": 1, "kept": 1}
    data = {"x": WHERE, "step": [0], "recent_losses": [0] * 8, "ended": [0],
            **{"lbfgs_" + k: [0] * v for k, v in own.items()}}
    lines, alone = from_files("rosenbrock_fit", ["--of", "loss", "--optimizer", "lbfgs", *ROSENBROCK],
                              ["N=%d" % n, "window=%d" % steps, "count=%d" % steps, "begin=1"], data)
    for printed, bound in ((lines, 1e-6), (alone, 1e-3)):
        if printed is not None:
            check(close(numbers(printed, "x"), got["outputs"]["x"]["data"], bound), printed)
            check(close(numbers(printed, "losses"), got["losses"]["data"], bound), printed)


def own_texts():
    """Texts that search, but not as optimisers do."""
    with open(TEXT, encoding="utf-8") as f:
        whole = f.read()
    for was, becomes, why in (("pipeline accept(", "pipeline accepted(", "no pipeline `accept`"),
                              ("pipeline accept(", "pipeline accept(e: in i32[n], ",
                               "`e` of `accept`"),
                              ("rate: in f32[1], searching: inout u32[1], s:",
                               "rate: in f32[1], searching: inout u32[1], k: u32, s:",
                               "`the scalars` of `propose`")):
        with open("own.vyre", "w", encoding="utf-8") as f:
            f.write(whole.replace(was, becomes))
        bad = training.fit("--of", "loss", "--optimizer", "own.vyre", *ROSENBROCK, "--in", "x=0,0", status=1)
        check(why in bad["error"]["text"], why, bad)


def main():
    with open("t.vyre", "w", encoding="utf-8") as f:
        f.write(PROGRAMS)
    formulas()
    converges()
    rounding()
    stops()
    resumes()
    written()
    own_texts()
    return 1 if failures else 0


sys.exit(main())
