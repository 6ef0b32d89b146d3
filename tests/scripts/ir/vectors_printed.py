#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Vectors that survive are printed as vectors, and mean what they are: random programs of
tests/fuzz/vector_rows.py, a third of them without buffers of vectors, and their derivatives in
both modes.

Each is printed; the text printed again is the same, it computes the same numbers as what it was
printed from, and so do their derivatives, bit for bit.  A derivative has the numbers, to rounding,
that it has where no component was moved (-O0).  And vectors
are printed: in the derivatives there are more statements of vectors than of single components, and
in the programs more variables that loops and arms change are vectors than components of one.
From a fresh seed that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number of programs.
"""
import os
import re
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import vector_rows  # noqa: E402

COMMAND = os.environ.get("VYRE_COMMAND") or os.path.join(BUILD, "tools", "vyre-grad")
NUMBER = re.compile(r"-?(?:inf|nan|\d[\d.]*(?:e[-+]?\d+)?)")
OF_VECTORS = re.compile(r"^ *(?:let \w+ = .*vec[234]?\(|[\w`.]+\[[^]]*\] [-+*]?= |atomic_add\([^,]*\], |let \w+ = [\w`.]+\[[^]]*\];)", re.M)
CARRIED = re.compile(r"^ *var r\d*(?:_\d+)?(?: =|:)", re.M)
CARRIED_APART = re.compile(r"^ *var r\d*_[xyzw](?:_\d+)?(?: =|:)", re.M)
OF_COMPONENTS = re.compile(r"^ *(?:[\w`.]+\[[^]]*\]\.[xyzw] |atomic_add\([^,]*\]\.[xyzw]|let \w+ = [\w`.]+\[[^]]*\]\.[xyzw];)", re.M)


class Wrong(Exception):
    pass


def call(*words):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong("%s: %s" % (" ".join(words[:2]), done.stderr[:300]))
    return done.stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def inputs(text):
    ours = r"(?:^|[ (])`?((?:(?:dot|grad)_)?(?:p|w|u|a\.at|a|y|g|h))`?: (?:in|inout) \w+\["
    names = dict.fromkeys(re.findall(ours, re.sub(r"@\w+(?:\([^)]*\))? `?[\w.]+`?:", "", text), re.M))
    words, sizes = [], [("N", 3), ("M", 12), ("s", 0.7), ("t", 1.3)] + [("k" + m + c, 0.5 + v) for m in ("", "_") for v, c in enumerate("xyzw")]
    for name, value in sizes:
        words += ["--set", "%s=%s" % (name, value)] if re.search(r"\b%s: [fu]32[,)]" % name, text) else []
    for k, name in enumerate(names):
        words += ["--in", "%s=normal:0:1:%d" % (name, k + 1)]
    return words


def numbers(path, text):
    said = call("run", path, "--engine", "eval", "-O0", *inputs(text))
    return [(line.split("[")[0], [float(n) for n in NUMBER.findall(line.split("=", 1)[1])]) for line in said.splitlines() if "=" in line]


def same(a, b, scale):
    return len(a) == len(b) and all(
        n == m and len(x) == len(y) and all(u == v or u != u and v != v or abs(u - v) <= scale * (1 + abs(u)) for u, v in zip(x, y))
        for (n, x), (m, y) in zip(a, b))


def look_printed(path):
    """Where the printed form of the program in `path` is, and what it is."""
    once = call("print", path)
    again = write(path + ".1.vyre", once)
    if call("print", again) != once:
        raise Wrong("printed again it is another text")
    if not same(numbers(path, once), numbers(again, once), 0):
        raise Wrong("its text computes other numbers")
    return again, once


def derive(mode, path, *options):
    with open(path, encoding="utf-8") as f:
        wrt = "p,u,a" if "u: in f32" in f.read() else "p,w,a.at"
    return call(mode, path, "--wrt", wrt, *options, *(["--accumulate", "atomic"] if mode == "grad" else []))


def look(path, text, totals):
    again, once = look_printed(write(path, text))
    totals["carried"] += len(CARRIED.findall(once))
    totals["apart"] += len(CARRIED_APART.findall(once))
    for mode in ("grad", "jvp"):
        derived, plain = derive(mode, path), derive(mode, path, "-O0")
        d, _ = look_printed(write(path + ".d.vyre", derived))
        if not same(numbers(d, derived), numbers(write(path + ".t.vyre", derive(mode, again)), derived), 0):
            raise Wrong("%s: its text has another derivative" % mode)
        if not same(numbers(d, derived), numbers(write(path + ".o.vyre", plain), plain), 1e-3):
            raise Wrong("%s: it has other numbers at -O0" % mode)
        totals["vectors"] += len(OF_VECTORS.findall(derived))
        totals["components"] += len(OF_COMPONENTS.findall(derived))


def look_text(path):
    """What a derivative has beside its text decides nothing about its own derivatives; deterministic ones are lowered."""
    done = subprocess.run([os.path.join(BUILD, "tests", "derive_text"), path], capture_output=True, text=True, check=False)
    if not done.stdout.rstrip().endswith(" 0 differences"):
        raise Wrong(done.stdout[:300])


# Sums that --deterministic makes exact, added by workgroups that share rows of vectors.
SHARED = """program f(x: in vec3[N], at: in u32[N], y: inout vec4[4], loss: out f32[1], N: u32) over(i: N) {
    atomic_add(y[at[i] % 4], vec4(x[i] * x[i], x[i].x));
    atomic_add(loss[0], dot(x[i], x[i]));
}
program g(y: in vec4[4], z: out f32[4]) over(i: 4) { z[i] = dot(y[i], y[i]); }
"""


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or 54)
    totals, wrong = {"vectors": 0, "components": 0, "carried": 0, "apart": 0}, 0
    print("seed %d" % seed)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            try:
                make = vector_rows.make_flat if k % 3 == 2 else vector_rows.make
                look(os.path.join(folder, "f.vyre"), make(seed + k), totals)
                if k in (0, 2):  # one of each
                    look_text(os.path.join(folder, "f.vyre"))
                if k == 0:
                    look_text(write(os.path.join(folder, "shared.vyre"), SHARED))
            except Wrong as e:
                wrong += 1
                print("program %d: %s" % (seed + k, e))
    print("%d programs: %d wrong; statements of vectors %d, of components %d; variables carried whole %d, apart %d"
          % (count, wrong, *totals.values()))
    few = totals["vectors"] <= totals["components"] or totals["carried"] <= totals["apart"]
    return wrong > 0 or few


if __name__ == "__main__":
    sys.exit(main())
