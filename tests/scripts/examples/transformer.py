#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""examples/transformer.vyre against a transformer in double, written from its definition.

At small sizes, on both engines: attention weights and logits of `predict`; the loss; its gradient
against central differences of the one here; digits said one by one by `sort`.  The gradient with
and without `checkpoint` has the same bits (under `--deterministic`: sums by atomics vary); the
tangent of `jvp` is the gradient times the direction.  `check` finds no fault, and `lesson` gives
questions with their digits in order.
"""
import json
import math
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
from demonstration import check, EXAMPLES, failures, GRAD, has_device  # noqa: E402
from textbook import dot, f32, product, softmax_row, transposed  # noqa: E402

B, T, V, D, F, M, HEADS, DIGITS = 2, 6, 11, 4, 6, 2, 2, 10
L = T // 2
SHAPES = {"letter": (V, D), "place": (T, D), "gain": (M, 2, D), "bias": (M, 2, D),
          "w": (M, 4, D, D), "c": (M, 4, D), "w1": (M, F, D), "c1": (M, F), "w2": (M, D, F),
          "c2": (M, D), "go": (D,), "bo": (D,), "wo": (DIGITS, D), "co": (DIGITS,)}
PATH = os.path.join(EXAMPLES, "transformer.vyre")


# ------------------------------------------------------------------------- the definition, in double
def nested(values, shape):
    if not shape:
        return next(values)
    return [nested(values, shape[1:]) for _ in range(shape[0])]


def flat(v):
    return [x for row in v for x in flat(row)] if isinstance(v, list) else [v]


def linear(x, w, c):
    return [[a + b for a, b in zip(row, c)] for row in product(x, transposed(w))]


def normalised(x, gain, bias):
    out = []
    for row in x:
        mean = sum(row) / len(row)
        sigma = math.sqrt(sum((v - mean) ** 2 for v in row) / len(row) + f32(1e-5))
        out.append([(v - mean) / sigma * g + b for v, g, b in zip(row, gain, bias)])
    return out


def gelu(x):
    return [[v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in row] for row in x]


def sums(x, y):
    return [[a + b for a, b in zip(r, s)] for r, s in zip(x, y)]


def attention(x, w, c):
    """Weights by token, head and token; what the heads found, joined."""
    q, k, v = (linear(x, w[i], c[i]) for i in range(3))
    e, weights, found = D // HEADS, [], []
    for n, row in enumerate(q):
        heads = [slice(h * e, (h + 1) * e) for h in range(HEADS)]
        seen = [softmax_row([dot(row[h], k[j][h]) / math.sqrt(e) for j in range(n + 1)])
                for h in heads]
        weights.append([p + [0.0] * (len(x) - n - 1) for p in seen])
        found.append([dot(p, [v[j][d] for j in range(n + 1)])
                      for h, p in zip(heads, seen) for d in range(h.start, h.stop)])
    return weights, linear(found, w[3], c[3])


def predict(tokens, d):
    """Of one sequence: attention weights by block, and logits of its answer."""
    x = [[a + b for a, b in zip(d["letter"][t], place)] for t, place in zip(tokens, d["place"])]
    weights = []
    for m in range(M):
        gain, bias = d["gain"][m], d["bias"][m]
        p, found = attention(normalised(x, gain[0], bias[0]), d["w"][m], d["c"][m])
        x = sums(x, found)
        wide = linear(normalised(x, gain[1], bias[1]), d["w1"][m], d["c1"][m])
        x = sums(x, linear(gelu(wide), d["w2"][m], d["c2"][m]))
        weights.append(p)
    return weights, linear(normalised(x[L:], d["go"], d["bo"]), d["wo"], d["co"])


def loss(tokens, labels, d):
    total = 0.0
    for sequence, answer in zip(tokens, labels):
        for row, label in zip(predict(sequence, d)[1], answer):
            total -= math.log(softmax_row(row)[label])
    return total / (B * L)


def sorted_by(tokens, d):
    """What it says itself, and how much likelier than the rest."""
    said, margin = [], math.inf
    for sequence in tokens:
        mine = sequence[:L + 1] + [0] * (L - 1)
        for i in range(L):
            row = predict(mine, d)[1][i]
            best = max(range(DIGITS), key=row.__getitem__)
            margin = min(margin, row[best] - max(row[:best] + row[best + 1:]))
            said.append(best)
            if i + 1 < L:
                mine[L + 1 + i] = best
    return said, margin


# -------------------------------------------------------------------------------------- the program
def spec(name, shape, value):
    return "%s[%s]=%s" % (name, ",".join(map(str, shape)), ",".join(map(repr, flat(value))))


def inputs(tokens, labels, d):
    given = [spec("token", (len(tokens), T), tokens)] + [spec(n, SHAPES[n], d[n]) for n in SHAPES]
    given += [spec("label", (B, L), labels)] if labels else []
    return [word for one in given for word in ("--in", one)]


def run(path, pipeline, engine, *words):
    done = subprocess.run([GRAD, "run", path, "-p", pipeline, "--engine", engine, "--json",
                           "--quiet", *words], capture_output=True, text=True, check=False)
    if not check(done.returncode == 0, pipeline, engine, done.stderr):
        return None
    return {n: [float(x) for x in v["data"]]
            for n, v in json.loads(done.stdout)["outputs"].items()}


def near(what, got, want, tolerance):
    size = max(map(abs, want)) or 1.0
    away = max(abs(a - b) for a, b in zip(got, want)) / size if len(got) == len(want) else math.inf
    check(away <= tolerance, what, "differs by", away)
    return away


def same_predictions(engine, tokens, d):
    got = run(PATH, "predict", engine, *inputs(tokens, None, d))
    want = [predict(sequence, d) for sequence in tokens]
    p = [[w[m] for w, _ in want] for m in range(M)]
    worst = near(engine + ": p", got["p"], flat(p), 2e-6)
    return max(worst, near(engine + ": logit", got["logit"], flat([r for _, r in want]), 2e-6))


def same_gradient(engine, tokens, labels, d, got):
    """Some elements of each, by differences of the loss above."""
    rng, worst = random.Random("elements"), 0.0
    for name, shape in SHAPES.items():
        mine, values = got["grad_" + name], flat(d[name])
        for at in {rng.randrange(len(values)) for _ in range(4)} | {0}:
            def moved(by):
                other = values[:at] + [values[at] + by] + values[at + 1:]
                return loss(tokens, labels, {**d, name: nested(iter(other), shape)})
            want = (moved(1e-4) - moved(-1e-4)) / 2e-4
            away = abs(mine[at] - want) / max(map(abs, mine))
            check(away <= 1e-5, engine, name, at, mine[at], want)
            worst = max(worst, away)
    return worst


def same_without_checkpoint(engine, given):
    with open(PATH, encoding="utf-8") as f:
        text, n = re.subn(r"checkpoint \{([^}]*)\}", r"\1", f.read())
    check(n == 1, "checkpoints", n)
    with open("plain.vyre", "w", encoding="utf-8") as f:
        f.write(text.replace('"layers/', '"%s/layers/' % EXAMPLES))
    kept, again = (run(path, "transformer", engine, "--grad", "--deterministic", *given)
                   for path in ("plain.vyre", PATH))
    check(kept and kept == again, engine, "checkpoint")


def same_tangent(engine, given, got, d):
    rng, want = random.Random("direction"), 0.0
    words = []
    for name, shape in SHAPES.items():
        v = [f32(rng.gauss(0, 1)) for _ in flat(d[name])]
        want += dot(v, got["grad_" + name])
        words += ["--dot", spec(name, shape, nested(iter(v), shape))]
    tangent = run(PATH, "transformer", engine, "--jvp", *given, *words)["dot_loss"]
    near(engine + ": dot_loss", tangent, [want], 1e-5)


def same_answers(engine):
    tokens, _, d = drawn(random.Random("answers"), 12, 1.0)
    want, margin = sorted_by(tokens, d)
    got = run(PATH, "sort", engine, "--of", "answer,digits,map", *inputs(tokens, None, d))
    check(margin > 1e-4, "digits are equally likely", margin)
    check(got["answer"] == want, engine, "answers", got["answer"], want)
    columns = [s[:L] + [-1] + want[b * L:(b + 1) * L] for b, s in enumerate(tokens)]
    near(engine + ": digits", got["digits"], [f32((row[j // 8] + 1) / DIGITS) for row in columns
                                              for _ in range(8) for j in range(8 * (T + 1))], 1e-7)


def lessons(engine):
    got = run(PATH, "lesson", engine, "--of", "token,label", "--set", "B=50", "--set", "L=8",
              "--set", "seed=7")
    seen = set()
    for b in range(50):
        token, label = got["token"][16 * b:16 * b + 16], got["label"][8 * b:8 * b + 8]
        check(label == sorted(token[:8]) and token[8:] == [DIGITS] + label[:-1], token, label)
        seen |= set(label)
    check(seen == set(range(DIGITS)), "digits", seen)


def checked():
    rng = random.Random("check")
    tokens, labels, d = drawn(rng)
    done = subprocess.run([GRAD, "check", PATH, "-p", "transformer", *inputs(tokens, labels, d)],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and re.search("^ok: ", done.stdout, re.M), "check", done.stdout,
          done.stderr)


def drawn(rng, count=B, spread=0.6):
    questions = [[rng.randrange(DIGITS) for _ in range(L)] for _ in range(count)]
    labels = [sorted(q) for q in questions]
    tokens = [q + [DIGITS] + a[:-1] for q, a in zip(questions, labels)]
    centre = {"gain": 1.0, "go": 1.0}
    d = {n: nested((f32(rng.gauss(centre.get(n, 0.0), spread)) for _ in iter(int, 1)), s)
         for n, s in SHAPES.items()}
    return tokens, labels, d


def main():
    tokens, labels, d = drawn(random.Random("transformer"))
    given = inputs(tokens, labels, d)
    for engine in ["eval", "vulkan"] if has_device() else ["eval"]:
        got = run(PATH, "transformer", engine, "--grad", *given)
        near(engine + ": loss", got["loss"], [loss(tokens, labels, d)], 2e-6)
        print("%s: predictions %.2g, gradient %.2g" % (
            engine, same_predictions(engine, tokens, d),
            same_gradient(engine, tokens, labels, d, got)))
        same_without_checkpoint(engine, given)
        same_tangent(engine, given, got, d)
        same_answers(engine)
        lessons(engine)
    checked()
    return 1 if failures else 0


sys.exit(main())
