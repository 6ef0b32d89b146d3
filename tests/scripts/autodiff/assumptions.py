#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are promises about scalars worth what they cost, and is a broken one refused?

Random programs whose rows only the launch relates (scripts/autodiff/gathered.py, `padded` and `offsets`), each
with sizes for which rows fit, are padded, or overlap.  `explain` says under which conditions
gradients are gathered.  With all of them assumed (in other words: sides, factors, blanks)

  where they hold       the gradients are those without a promise
  where one does not    the run is refused, and names it (E0717), by the text of the derivative, too
  with one misspelt     the derivative is refused (E0507)

VYRE_SEED=S and VYRE_COUNT=N override.
"""
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import gathered  # noqa: E402

VYRE = os.environ["VYRE_GRAD"]


def run(*args, stdin=None):
    return subprocess.run([VYRE, *args], capture_output=True, text=True, input=stdin)


def conditions(path):
    """Those under which gradients of the program are gathered."""
    said = json.loads(run("explain", path, "--json").stdout)
    return sorted({c for g in said["gradients"] if g["assumes"] for c in g["assumes"].split(" && ")})


def reworded(r, condition):
    """The same in other words."""
    less, more = condition.split(" <= ")
    if not re.search(r"[-+(/%]", less):
        factors = less.split(" * ")
        r.shuffle(factors)
        less = "*".join(factors)
    return r.choice(("%s<=%s" % (less, more), "%s >= %s" % (more, less), " %s  <= %s" % (less, more)))


def numbers(text):
    """Gradients by name; none: the run failed."""
    outputs = json.loads(text)["outputs"] if text else {}
    return {name: o["data"] for name, o in outputs.items() if name.startswith("grad_")}


def close(a, b):
    return a.keys() == b.keys() and all(
        abs(x - y) <= 1e-4 * max(1, abs(x)) for k in a for x, y in zip(a[k], b[k], strict=True))


def check(r, path, sizes, given):
    """None, or what is wrong; whether the conditions hold."""
    data = ["--engine", "eval", "--json", *(w for k, v in sizes.items() for w in ("--set", "%s=%d" % (k, v))),
            "--in", "x=normal:0:1:1", "--in", "y=normal:0:1:2"]
    promise = [w for c in given for w in ("--assume", reworded(r, c))]
    holds = all(eval(c, {"min": min, "max": max}, dict(sizes)) for c in given)  # sums and products of names
    plain, promised = run("run", path, "--grad", *data), run("run", path, "--grad", *promise, *data)
    text = run("grad", path, *promise)
    typed = run("run", "-", *data, stdin=text.stdout)
    wrong = run("grad", path, *promise, "--assume", "N * M * S <= 1").stderr
    if "[E0507]" not in wrong or not all("`%s`" % c in wrong for c in given):
        return "a misspelt promise: " + wrong, holds
    if plain.returncode or not numbers(plain.stdout):
        return "without a promise: " + plain.stderr, holds
    for done in (promised, typed):
        if holds and (done.returncode or not close(numbers(plain.stdout), numbers(done.stdout))):
            return "%s holds: %s%s\nnot\n%s" % (given, done.stdout, done.stderr, plain.stdout), holds
        if not holds and (done.returncode != 1 or "[E0717]" not in done.stderr):
            return "%s does not hold: %s%s" % (given, done.stdout, done.stderr), holds
    return None, holds


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or (6 if os.environ.get("VYRE_SHARE", "1") != "1" else 40))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k assumptions" % (seed, count))
    r, table = random.Random(seed), [*gathered.padded(), *gathered.offsets()]
    bad, seen = 0, [0, 0]
    for k, (what, text) in enumerate(r.sample(table, len(table))):
        if sum(seen) >= count:
            break
        sizes = {n: int(v) for n, v in re.findall(r"(\w)=(-?\d+)", text.splitlines()[0])}
        path = "a%d.vyre" % k
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        given = conditions(path)
        if not given or seen[all(eval(c, {"min": min, "max": max}, dict(sizes)) for c in given)] > count // 2:
            continue
        wrong, holds = check(r, path, sizes, given)
        seen[holds] += 1
        if wrong:
            bad += 1
            print("%s: %s\n%s" % (what, wrong, text), flush=True)
    print("%d of %d wrong; a promise held in %d" % (bad, sum(seen), seen[True]))
    return 1 if bad or not all(seen) else 0


if __name__ == "__main__":
    sys.exit(main())
