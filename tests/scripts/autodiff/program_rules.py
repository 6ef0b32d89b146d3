#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Programs that state their derivative (@vjp, @jvp) against those that do not.

The dispatched programs of random pipelines (tests/fuzz/pipelines.py) get rules that state the exact
derivative: what `grad` and `jvp` print for them.  Gradients, tangents, gradients of tangents and
tangents of gradients of the pipeline must be the same numbers with the rules as without, whichever
of the two a program states.

From a fresh seed that is printed; VYRE_SEED sets it, VYRE_COUNT the number of pipelines.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

SRC, COMMAND = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import pipelines  # noqa: E402

FORMS = (("grad",), ("jvp",), ("grad", "jvp"))
ATTRIBUTE = {"grad": "vjp", "jvp": "jvp"}
# One mode, or the second one of what the first one prints.
WAYS = (("grad",), ("jvp",), ("grad", "jvp"), ("jvp", "grad"))
TOLERANCE = 1e-9


def vyre(*words, text=None):
    return subprocess.run([COMMAND, *words], input=text, capture_output=True, text=True, check=False)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def rule_of(path, name, mode):
    """The derivative that the tool makes of a program, as text; None: a rule cannot have that form."""
    seed = ("--seed", "buffer") if mode == "grad" else ()
    done = vyre(mode, path, "-p", name, *seed)
    text = re.sub(r"^@order\(1\)\n", "", done.stdout)
    return text if done.returncode == 0 and len(re.findall(r"^(?:program|pipeline) ", text, re.M)) == 1 else None


def with_rules(path, text, r, counts):
    """The pipeline with rules at the programs that may have them; None without any."""
    write(path, text)
    rules = []
    for name, head in re.findall(r"^program (\w+)\((.*)\) over", text, re.M):
        if "inout" in head or "s: f32" in head or name == "count":
            continue
        form = r.choice(FORMS)
        made = {mode: rule_of(path, name, mode) for mode in form}
        if None in made.values():
            continue
        marks = " ".join("@%s(%s_%s)" % (ATTRIBUTE[mode], name, mode) for mode in form)
        text = re.sub(r"^program %s\(" % name, "%s program %s(" % (marks, name), text, flags=re.M)
        rules += made.values()
        counts["+".join(ATTRIBUTE[mode] for mode in form)] += 1
    return text + "\n" + "\n".join(rules) if rules else None


def numbers(said):
    lists = re.findall(r" = \[(.*)\]$", said, re.M)
    return [float(x) for line in lists for x in re.split(r"[\[\],\s]+", line) if x]


def derive(path, way, words, inputs):
    """What the derivative computes; a string: why there is none."""
    first = []
    text = None
    for mode in way[:-1]:
        done = vyre(mode, path, "-p", "f", *words)
        if done.returncode:
            return done.stderr
        text, path = done.stdout, "-"
        first.append("f_%s" % mode)
    program = first[-1] if first else "f"
    done = vyre("run", path, "-p", program, "--" + way[-1], "--verbose", "--engine", "eval", "--eval-type", "f64", "--set", "N=4", "--set", "T=2",
                "--set", "sc=0.6", *([] if first else words), *inputs, text=text)
    return numbers(done.stdout) if done.returncode == 0 else done.stderr


def close(x, y):
    return x == y or (x != x and y != y) or abs(x - y) <= TOLERANCE * max(1.0, abs(x), abs(y))


def compare(path, plain, ruled, way, words, inputs, counts):
    """None where the two agree, else what differs."""
    write(path, plain)
    want = derive(path, way, words, inputs)
    if isinstance(want, str) or not want or any(x != x for x in want):
        counts["left out"] += 1
        return None
    write(path, ruled)
    have = derive(path, way, words, inputs)
    if isinstance(have, str):
        return have
    if len(want) == len(have) and all(map(close, want, have)):
        counts["compared"] += 1
        return None
    return "without rules %s\nwith rules    %s" % (want, have)


def one(path, seed, counts):
    r = random.Random(seed)
    plain = pipelines.make(seed)
    ruled = with_rules(path, plain, r, counts)
    if not ruled:
        return False
    head = re.search(r"^pipeline f\(([^)]*)\)", plain, re.M).group(1)
    given = re.findall(r"(\w+): (?:in|inout) f32\[", head)
    inputs = [w for k, name in enumerate(given) for w in ("--in", "%s=normal:0:1:%d" % (name, seed + k))]
    dots = ["dot_" + w if "=" in w else w for w in inputs]
    for way in WAYS:
        more = inputs + dots if way[0] == "jvp" and way[1:] else inputs
        why = compare(path, plain, ruled, way, ("--wrt", ",".join(given)), more, counts)
        if why:
            print("VYRE_SEED=%d, %s:\n%s\n%s" % (seed, " of ".join(reversed(way)), ruled, why))
            return True
    return False


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    number = int(os.environ.get("VYRE_COUNT") or 80 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k program_rules" % (seed, number))
    counts = dict.fromkeys(("compared", "left out", "vjp", "jvp", "vjp+jvp"), 0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vyre")
        bad = sum(one(path, at, counts) for at in range(seed, seed + number))
    print(counts)
    few = counts["compared"] < number
    if few:
        print("too few derivatives compared")
    return 1 if bad or few else 0


if __name__ == "__main__":
    sys.exit(main())
