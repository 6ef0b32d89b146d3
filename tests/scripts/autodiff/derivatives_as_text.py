#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""A derivative's text says all that its next derivative depends on (tests/unit/autodiff/derive_text.h).

derive_text differentiates each program of a file in each mode, and what results once more, as it is
and as it is printed and parsed: equal modules, equal derivatives.  It takes the examples and text
tests in an order that a fresh seed decides, and a random program and a random pipeline after each
file, until 60 seconds of processor time are used up (a share of them under VYRE_SHARE) and 100 pairs
compared; VYRE_SEED gives the seed, VYRE_COUNT=N takes N files whatever the time (all of them: 9999).  A file that takes
longer than 20 seconds is left there, with what it has found.  (Under sanitizers unit/autodiff/test_as_text does the
same with a few programs.)
"""
import os
import random
import resource
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import pipelines  # noqa: E402
from programs import make  # noqa: E402

LONGEST = 20


def files():
    for folder in ("examples", "tests/text"):
        for where, _, names in sorted(os.walk(os.path.join(SRC, folder))):
            yield from (os.path.join(where, n) for n in sorted(names) if n.endswith(".vyre"))


def used():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))


def differences(path):
    """(lines that name differences, how many derivatives were compared)"""
    done = subprocess.run([os.path.join(BUILD, "tests", "derive_text"), path], capture_output=True, text=True,
                          preexec_fn=limit)
    *found, last = done.stdout.splitlines() or [""]
    summary = last.split(" pairs of derivatives compared")
    if len(summary) == 1:
        found += [last] if last else []
        if done.returncode not in (-9, -24):  # the limit
            found.append("%s: derive_text ended with status %d" % (path, done.returncode))
        return found, 0
    return found, int(summary[0])


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    most = int(os.environ.get("VYRE_COUNT") or 9999)
    seconds = 1e9 if os.environ.get("VYRE_COUNT") else 60 / int(os.environ.get("VYRE_SHARE", "1"))
    print("VYRE_SEED=%d VYRE_COUNT=%d" % (seed, most))
    paths = list(files())
    random.Random(seed).shuffle(paths)
    compared, taken, bad = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths[:most]:
            if used() > seconds and compared >= 100:
                break
            made = [os.path.join(folder, n % (seed + taken)) for n in ("program%d.vyre", "pipeline%d.vyre")]
            texts = make(seed + taken).text(seed=seed % 2 ** 31), pipelines.make(seed + taken)
            for name, text in zip(made, texts):
                with open(name, "w", encoding="utf-8") as f:
                    f.write(text)
            for one, text in zip([path] + made, (None,) + texts):
                found, n = differences(one)
                compared += n
                bad += bool(found)
                if found:
                    print("\n".join(found))
                if found and text:
                    print(text)
            taken += 1
    print("%d files, as many random programs and pipelines, %d pairs of derivatives, %d files differ" % (taken, compared, bad))
    return 1 if bad or compared < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
