#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""`vyre-grad fit` against the formulas of its optimisers, in double, and both engines.

The loss is a sum of a[i] * (w[i] - b[i])^2 whose gradient Python computes by itself.  Also: a batch
takes every row once in an epoch, an interrupt ends after a window and says how to go on, learning
rates follow their schedules, what cannot be written is refused at once.  Checkpoints: fit_resume.py.
"""
import json
import math
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
import pictures  # noqa: E402
from training import DEVICE, DOUBLE, GRAD, check, close, failures, fit, from_files, numbers, single  # noqa: E402

A, B, W0 = [1.0, 0.5, 2.0, 0.25], [1.0, -2.0, 0.5, 3.0], [0.3, 0.1, -0.7, 2.0]
PROGRAM = """
program bowl(a: in f32[N, M], b: in f32[N, M], w: in f32[N, M], loss: out f32[1], N: u32, M: u32)
    over(i: N, j: M)
{
    let e = w[i, j] - b[i, j];
    atomic_add(loss[0], a[i, j] * e * e);
}
program raised(a: in f32[N, M], b: in f32[N, M], w: in f32[N, M], loss: out f32[1], N: u32, M: u32)
    over(i: N, j: M)
{
    let e = w[i, j] - b[i, j];
    atomic_add(loss[0], a[i, j] * e * e + 0.25);
}
program rows(x: in f32[R, 2], k: in u32[R], w: in f32[1], loss: out f32[1], R: u32) over(i: R)
{
    atomic_add(loss[0], x[i, 0] + 0.0 * w[0] + f32(k[i]) - x[i, 1]);
}
"""
BOWL = ["-p", "bowl", "--of", "loss", "--params", "w"] + [
    word for name, v in (("a", A), ("b", B), ("w", W0))
    for word in ("--in", "%s[2,2]=%s" % (name, ",".join(map(repr, v))))]


def sgd(rates):
    w, losses = list(W0), []
    for lr in rates:
        losses.append(loss(w))
        w = [x - lr * g for x, g in zip(w, gradient(w))]
    return w, losses


def momentum(rates):
    w, v, losses = list(W0), [0.0] * 4, []
    for lr in rates:
        losses.append(loss(w))
        v = [single(0.9) * p + g for p, g in zip(v, gradient(w))]
        w = [x - lr * p for x, p in zip(w, v)]
    return w, losses


def adam(rates):
    """Kingma & Ba (2015), algorithm 1."""
    b1, b2, eps = single(0.9), single(0.999), single(1e-8)
    w, m, v, losses = list(W0), [0.0] * 4, [0.0] * 4, []
    for t, lr in enumerate(rates, 1):
        losses.append(loss(w))
        g = gradient(w)
        m = [b1 * p + (1 - b1) * q for p, q in zip(m, g)]
        v = [b2 * p + (1 - b2) * q * q for p, q in zip(v, g)]
        w = [x - lr * (p / (1 - b1 ** t)) / (math.sqrt(q / (1 - b2 ** t)) + eps)
             for x, p, q in zip(w, m, v)]
    return w, losses


def loss(w):
    return sum(a * (x - b) ** 2 for a, b, x in zip(A, B, w))


def gradient(w):
    return [2 * a * (x - b) for a, b, x in zip(A, B, w)]


def formulas():
    n = 25
    lr, last = single(0.05), single(0.01)
    constant = [lr] * n
    cosine = [last + (lr - last) * 0.5 * (1 + math.cos(single(math.pi) * min(k, 20) / 20))
              for k in range(n)]
    step = [lr * 0.5 ** (k // 10) for k in range(n)]
    for name, rule in ("sgd", sgd), ("momentum", momentum), ("adam", adam):
        for lr, rates in (("0.05", constant), ("cosine:0.05:0.01:20", cosine),
                          ("step:0.05:0.5:10", step)):
            args = BOWL + ["--optimizer", name, "--lr", lr, "--steps", str(n)]
            w, losses = rule(rates)
            got = fit(*args, *DOUBLE)
            check(close(got["outputs"]["w"]["data"], w, 1e-13), name, lr, got["outputs"], w)
            check(close(got["losses"]["data"], losses, 1e-13), name, lr, "losses")
            if lr != "0.05" or not DEVICE:
                continue
            device = fit(*args)
            check(close(device["outputs"]["w"]["data"], w, 2e-5), name, "device", device["outputs"])
            check(close(device["losses"]["data"], losses, 2e-5), name, "losses on the device")


def epochs():
    """The loss of a step is the sum of the numbers of its rows: each row once in an epoch."""
    rows = 12
    for size in 1, 4, 5:
        each = rows // size
        x = ",".join("%d,0" % 2 ** i for i in range(rows))
        got = fit("-p", "rows", "--of", "loss", "--params", "w", "--in", "x[%d,2]=%s" % (rows, x),
                  "--in", "k=" + ",".join(["0"] * rows), "--in", "w=0", "--batch",
                  "x,k:%d:3" % size, "--steps", str(3 * each), "--optimizer", "sgd", *DOUBLE)
        sums = [int(v) for v in got["losses"]["data"]]
        epochs_seen = [sums[k:k + each] for k in range(0, 3 * each, each)]
        for epoch in epochs_seen:
            check(all(bin(v).count("1") == size for v in epoch), "rows of a batch", size, epoch)
            check(bin(sum(epoch)).count("1") == size * each, "once in an epoch", size, epoch)
        check(epochs_seen[0] != epochs_seen[1] or size > 5, "another order", size, epochs_seen)


def interrupt():
    process = subprocess.Popen(
        [GRAD, "fit", "t.vyre", "--json", "--engine", "eval", *BOWL, "--steps", "4000000000",
         "--checkpoint-every", "2000000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    try:
        process.communicate(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    check(process.returncode == 0, "interrupted", process.returncode, err)
    got = json.loads(out)
    name = "bowl-%d.fit" % got["steps"]
    check(got["interrupted"] and 0 < got["steps"] < 4000000000, got["steps"])
    check(os.path.exists(name) and "--resume " + name in err, name, err)


def nowhere():
    """What cannot be written is refused before the training, which would take years here; where only
    the checkpoint of an interrupt cannot be, results are written all the same."""
    here = os.getcwd()
    forever = [GRAD, "fit", here + "/t.vyre", "--json", "--engine", "eval", *BOWL, "--steps",
               "4000000000"]
    for args in ["--out", "w=@none/w.npy"], ["--plot", "none/loss.png"], ["-o", "none/fit.json"]:
        done = subprocess.run(forever + args, capture_output=True, text=True, check=False, timeout=60)
        check(done.returncode == 2 and "E0902" in done.stderr, args, done.returncode, done.stderr)
        check("step " not in done.stderr, "it trained", args, done.stderr)
    gone = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh", *forever]
    done = subprocess.run(gone + ["--checkpoint-every", "5"], capture_output=True, text=True,
                          check=False, timeout=60)
    check(done.returncode == 2 and "E0902" in done.stderr, "a checkpoint", done.stderr)
    process = subprocess.Popen(gone + ["--out", "w=@%s/gone.npy" % here], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        process.communicate(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    check(process.returncode == 0 and json.loads(out)["interrupted"], process.returncode, err)
    check(os.path.exists("gone.npy") and "there is no checkpoint: cannot write" in err, err)


def written():
    """The pipeline as files: its text in the interpreter, the rest with nothing but Vulkan."""
    steps, args = 20, [*BOWL, "--lr", "0.1"]
    got = fit(*args, "--steps", str(steps), "--engine", "eval")
    data = {"a": A, "b": B, "w": W0, "w_mean": [0] * 4, "w_square": [0] * 4, "step": [0]}
    text, alone = from_files("bowl_fit", args, ["N=2", "M=2", "window=%d" % steps, "count=%d" % steps], data)
    check(numbers(text, "w") == got["outputs"]["w"]["data"], text)
    check(close(numbers(text, "losses"), got["losses"]["data"], 1e-6), text)
    if alone:
        check(close(numbers(alone, "w"), got["outputs"]["w"]["data"], 2e-5), alone)
        check(close(numbers(alone, "losses"), got["losses"]["data"], 2e-5), alone)


def settles():
    """--tolerance ends after 8 losses that are close enough, as the formula says, and for good."""
    args = ["-p", "raised", *BOWL[2:], "--lr", "0.05", "--tolerance", "1e-3", "--optimizer", "sgd"]
    w, losses, lr = list(W0), [], single(0.05)
    while len(losses) < 8 or max(losses[-8:]) - min(losses[-8:]) > single(1e-3) * max(losses[-8:]):
        losses.append(loss(w) + 1)
        w = [x - lr * g for x, g in zip(w, gradient(w))]
    steps = len(losses) - 1  # the last loss changes nothing
    for engine in [DOUBLE, ["--engine", "eval"]] + [[]] * DEVICE:
        got = fit(*args, "--steps", "1000", *engine)
        check(got["converged"] and got["steps"] == steps, engine, got["steps"], steps)
        check(close(got["losses"]["data"], losses, 1e-5), engine, got["losses"])
        check(close([loss(got["outputs"]["w"]["data"]) + 1], losses[-1:], 1e-5), engine, got["outputs"])
    whole = fit(*args, "--steps", "1000", "--engine", "eval")
    fit(*args, "--steps", "20", "--checkpoint-every", "20", "--engine", "eval")
    rest = fit(*args, "--steps", "1000", "--resume", "raised-20.fit", "--engine", "eval")
    check(rest["outputs"] == whole["outputs"] and rest["converged"], rest, whole)
    check(whole["losses"]["data"][20:] == rest["losses"]["data"], "losses of the rest")
    few = fit(*args, "--steps", "9", "--engine", "eval")
    check(not few["converged"] and few["steps"] == 9, few)


def plotted():
    """A loss that falls is drawn from the top left to the bottom right."""
    done = subprocess.run([GRAD, "fit", "t.vyre", "--quiet", *BOWL, "--engine", "eval", "--lr", "0.1",
                           "--steps", "40", "--plot", "loss.png"], capture_output=True, text=True,
                          check=False)
    if "without libpng" in done.stderr:
        return
    check(done.returncode == 0, done.stderr)
    width, height, channels, rows = pictures.read("loss.png")
    blue = [[y for y, row in enumerate(rows) if row[3 * x:3 * x + 3] == b"\x1f\x5f\xbf"]
            for x in range(len(rows[0]) // 3)]
    drawn = [x for x, ys in enumerate(blue) if ys]
    check((width, height, channels) == (640, 400, 3) and len(rows) == 400 and len(blue) == 640,
          width, height, channels, len(rows), len(blue))
    check(drawn == list(range(84, 628)), drawn[:1], drawn[-1:])
    check(min(blue[84]) == 12 and min(blue[627]) > 300, blue[84], blue[627])
    check(max(y for ys in blue for y in ys) == 376, "the least loss is on the axis")


def image():
    """examples/image.vyre learns a disc of 8 × 8 pixels, and draws it from its parameters."""
    file, places, disc = os.path.join(os.environ["SRC"], "examples", "image.vyre"), [], []
    for row in range(8):
        for column in range(8):
            x, y = (2 * column + 1) / 8 - 1, (2 * row + 1) / 8 - 1
            places += [x, y]
            disc.append(float(x * x + y * y < 0.5))
    at = "at=" + ",".join(map(repr, places))
    names = ("w1", "b1", "w2", "b2", "w3", "b3")
    start = ("w1[2,8]=normal:0:3:1", "b1=normal:0:1:2", "w2=normal:0:0.4:3", "b2=zeros",
             "w3=normal:0:0.3:4", "b3=zeros")
    done = subprocess.run([GRAD, "fit", file, "--engine", "eval", "--quiet", "--json", "--of", "loss",
                           "--params", ",".join(names), "--in", at, "--in",
                           "pixel=" + ",".join(map(repr, disc)), "--steps", "150", "--lr",
                           "cosine:0.05", *(v for s in start for v in ("--in", s)),
                           *(v for n in names for v in ("--out", "%s=@%s.npy" % (n, n)))],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    check(json.loads(done.stdout)["losses"]["data"][-1] < 0.01, "the loss of examples/image.vyre")
    done = subprocess.run([GRAD, "run", file, "-p", "picture", "--engine", "eval", "--verbose",
                           "--in", at, *(v for n in names for v in ("--in", "%s=@%s.npy" % (n, n)))],
                          capture_output=True, text=True, check=False)
    grey = numbers(done.stdout, "grey")
    check([float(v > 0.5) for v in grey] == disc, "the picture of examples/image.vyre", grey)


def from_c():
    """The example in C, which is the linear regression of text/cmd/fit."""
    if not DEVICE:
        return
    done = subprocess.run([os.environ["BUILD"] + "/examples/train"], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, done.stderr)
    found = [float(v) for v in done.stdout.split() if v[0].isdigit()]
    check(close(found, [1.9773810, 1.1166667, 0.0046577381], 1e-4), done.stdout)


def main():
    with open("t.vyre", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    formulas()
    epochs()
    interrupt()
    nowhere()
    written()
    settles()
    plotted()
    image()
    from_c()
    return 1 if failures else 0


sys.exit(main())
