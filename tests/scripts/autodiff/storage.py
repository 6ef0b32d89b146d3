#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""However a derivative stores what it needs, its result is the same: bit for bit, except for a few
last places where recomputed values are in one loop with their adjoints and are simplified together.

Every program of tests/text/grad that a RUN line differentiates and that stores anything, in the
interpreter with doubles: everything on tapes; as little as possible, then segments of √n
iterations, then segments within segments (the steps of --tape-limit); --checkpoint sqrt.  And tapes
are as large as explain says, to the byte.  A run takes every fifth file, which the seed chooses;
VYRE_SHARE=1 takes all.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

SRC, GRAD = os.environ["SRC"], os.environ["VYRE_GRAD"]
EXAMPLES = os.path.join(SRC, "examples")
# rounded: results that differ in last places, since what is kept decides where sums are cut
bad, rounded = [], 0


def commands(path):
    """Programs and their data: arguments common to run, check and explain."""
    with open(path, encoding="utf-8") as f:
        lines = re.findall(r"^// RUN: (vyre-grad (?:run|check) .*)\n(?!// STATUS: 1|// ERROR)", f.read(), re.M)
    for line in lines:
        words = shlex.split(re.split(r" [>|] ?", line)[0])[2:]
        at = {w: k for k, w in enumerate(words)}
        for option in ("--engine", "--checkpoint", "--tape-limit", "--eval-type", "--out", "--order"):
            if option in at:
                words[at[option]] = words[at[option] + 1] = None
        words = [w for w in words if w not in (None, "--grad", "--verbose", "--report")]
        program = words[words.index("-p") + 1] if "-p" in words else None
        names = program.strip("{}").split(",") if program else [None]
        if any(re.search(r"[{}]", w) for w in words if w != program):
            continue
        for name in names:
            yield [path if w == "%s" else name if w == program else w.replace("%e", EXAMPLES)
                   for w in words]


def vyre(*arguments):
    return subprocess.run([GRAD, *arguments], capture_output=True, text=True, check=False)


def gradient(arguments, *options):
    """Outputs by name, or the bytes that the tapes would need, or None if it is refused."""
    done = vyre("run", *arguments, "--grad", "--engine", "eval", "--eval-type", "f64", "--json", *options)
    if done.returncode == 0:
        return json.loads(done.stdout)["outputs"]
    m = re.search(r"(?:keeps|need) (\d+) bytes", done.stdout + done.stderr)
    if not m and not re.search(r"E0[58]\d\d", done.stdout + done.stderr):
        bad.append("%s %s: %s" % (arguments, options, done.stderr or done.stdout))
    return int(m.group(1)) if m else None


def close(u, v):  # the JSON of a whole number has no fraction, whatever its type
    numbers = not isinstance(u, str) and not isinstance(v, str)
    return numbers and abs(u - v) <= 1e-14 * max(abs(u), abs(v))


def differs(a, b):
    """A difference that matters, or None."""
    global rounded
    if a.keys() != b.keys():
        return "outputs %s and %s" % (list(a), list(b))
    same = True
    for name in a:
        x, y = a[name]["data"], b[name]["data"]
        real = a[name]["type"] == "f64"
        for k, (u, v) in enumerate(zip(x, y)):
            if repr(u) != repr(v) and not (real and close(u, v)):
                return "%s[%d] is %r and %r" % (name, k, u, v)
            same &= repr(u) == repr(v)
    rounded += not same
    return None


def explained(arguments, *options):
    words = list(arguments)
    while "--ct" in words:
        k = words.index("--ct")
        words[k:k + 2] = []
        options += ("--seed", "buffer")
    done = vyre("explain", *words, "--json", *options)
    if "[E0502]" in done.stderr:
        return None  # the text states its gradient: nothing was chosen
    if done.returncode:
        bad.append("explain %s: %s" % (arguments, done.stderr))
        return None
    return json.loads(done.stdout)["workspace_bytes"].get("value")  # None: the run decides sizes


def compare(arguments):
    """How many other ways gave the same result as taping everything; None: nothing is stored."""
    what = " ".join(os.path.basename(w) for w in arguments)
    size, want = 1, gradient(arguments, "--checkpoint", "none", "--tape-limit", "1")
    while isinstance(want, int):  # a pipeline reports its intermediates one by one
        if want <= size:
            bad.append("%s: needs %d bytes, has %d" % (what, want, size))
            return None
        size, want = want, gradient(arguments, "--checkpoint", "none", "--tape-limit", str(want))
    if want is None or size == 1:
        return None
    if gradient(arguments, "--checkpoint", "none", "--tape-limit", str(size - 1)) != size and size > 1:
        bad.append("%s: fits %d bytes, but %d were requested" % (what, size - 1, size))
    said = explained(arguments, "--checkpoint", "none")
    if said is not None and said != size:
        bad.append("%s: explain says %d bytes, %d were requested" % (what, said, size))
    others = [("sqrt", gradient(arguments, "--checkpoint", "sqrt"))]
    limit = size - 1
    while limit > 1:
        got = gradient(arguments, "--tape-limit", str(limit))
        if not isinstance(got, dict):
            break
        others.append(("%d bytes" % limit, got))
        limit //= 2
    for how, got in others:
        wrong = differs(want, got) if isinstance(got, dict) else got
        if wrong or not isinstance(got, dict):
            bad.append("%s with %s: %s" % (what, how, wrong))
    return len(others)


def chosen():
    paths = sorted(glob.glob(os.path.join(SRC, "tests/text/grad/**/*.vyre"), recursive=True))
    seed = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED") or 0)
    return paths if os.environ.get("VYRE_SHARE", "1") == "1" else paths[seed % 5::5]


def main():
    kept, ways, seen = 0, 0, set()
    for path in chosen():
        for arguments in commands(path):
            if tuple(arguments) in seen:
                continue
            seen.add(tuple(arguments))
            n = compare(arguments)
            kept += n is not None
            ways += n or 0
    print("\n".join(bad))
    print("%d commands, %d keep something, %d other ways, %d rounded" % (len(seen), kept, ways, rounded))
    return 1 if bad or 8 * rounded > ways or kept < 12 or ways < kept + 9 else 0


if __name__ == "__main__":
    sys.exit(main())
