#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
"""`--for gpu`: every gradient that `grad` writes it writes with blocks of neighbours, too, and
spirv-val passes it; products, a convolution and sums of squares have the same bits as without, with
blocks inside the domain, at its end, and none inside.  What tests of gradients check passes `check
--for gpu` on the device, too.  A run takes every tenth file, and every sixtieth of these checks, which
the seed chooses; VYRE_SHARE=1 takes all.
"""
import glob
import os
import re
import shlex
import subprocess
import sys

ROOT, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

SQUARES = """
program squares(x: in f32[N, K], w: in f32[M, K], y: out f32[N, M], N: u32, M: u32, K: u32) over(i: N, j: M)
{
    y[i, j] = sum(k in 0..K: (x[i, k] - w[j, k]) * (x[i, k] - w[j, k]));
}
"""
CONV = "x[2,3,%d,%d] w[5,3,3,3] bias[5] grad_y[2,5,%d,%d]"
# Extents are of SIZES; those after the first two are longer by the last of these.
SAME = [("matmul", "examples/matmul.vyre", "a[%d,%d] b[%d,%d] grad_c[%d,%d]", (0, 1, 1, 2, 0, 2), (), 0),
        ("conv2d", "examples/conv2d.vyre", CONV, (0, 2, 0, 2), ("--set", "P=1"), 0),
        ("conv2d", "examples/conv2d.vyre", CONV, (0, 2, 0, 2), ("--set", "P=4"), 6),
        ("squares", "squares.vyre", "x[%d,%d] w[%d,%d] grad_y[%d,%d]", (0, 1, 2, 1, 0, 2), (), 0)]
SIZES = [(26, 9, 26), (13, 10, 21), (1, 5, 1), (32, 7, 16), (8, 1, 9)]
FAILURES = []


def vyre(*arguments):
    return subprocess.run([VYRE, *arguments], capture_output=True, text=True)


def valid():
    """How many gradients were written both ways."""
    files = sorted(os.path.relpath(p, ROOT) for folder in ("examples", "tests/bench", "tests/text/grad")
                   for p in glob.glob(os.path.join(ROOT, folder, "**", "*.vyre"), recursive=True))
    written = 0
    for file in shares.drawn_files(files, 10):
        path = os.path.join(ROOT, file)
        with open(path, encoding="utf-8") as f:
            names = re.findall(r"^(?:@\w+ )*(?:program|pipeline) (\w+)", f.read(), re.M)
        for name in names:
            plain = vyre("grad", path, "-p", name, "--seed", "buffer", "-o", "plain.spv")
            blocks = vyre("grad", path, "-p", name, "--seed", "buffer", "--for", "gpu", "-o", "blocks.spv")
            if plain.returncode != blocks.returncode:
                FAILURES.append("%s, %s: exit status %d, --for gpu %d: %s" %
                                (file, name, plain.returncode, blocks.returncode, blocks.stderr[:300]))
            written += blocks.returncode == 0
    return written


def same(name, file, buffers, at, options, longer):
    with open("squares.vyre", "w") as f:
        f.write(SQUARES)
    path = os.path.join(ROOT, file) if os.path.dirname(file) else file
    texts = []
    for way in "any", "gpu":
        done = vyre("grad", path, "--seed", "buffer", "--for", way, "-o", way + ".vyre")
        with open(way + ".vyre", encoding="utf-8") as f:
            texts.append(f.read())
        if done.returncode:
            FAILURES.append("%s, --for %s: %s" % (name, way, done.stderr))
    if texts[0] == texts[1] or " / 8" not in texts[1]:
        FAILURES.append("%s: --for gpu has no blocks of 8" % name)
    for size in SIZES:
        data = []
        for seed, buffer in enumerate((buffers % tuple(size[k] + longer * (n > 1) for n, k in enumerate(at))).split()):
            data += ["--in", "%s=normal:0:1:%d" % (buffer, seed)]
        out = [vyre("run", way + ".vyre", *data, *options, "--engine", "eval", "--report", "--verbose") for way in ("any", "gpu")]
        if out[0].returncode or out[0].stdout != out[1].stdout:
            FAILURES.append("%s at %s: other numbers with blocks: %s" % (name, size, out[0].stderr + out[1].stderr))
        if name != "conv2d" and not re.search(r": 0 data races, 0 accesses out of range, 0 reads", out[1].stderr):
            FAILURES.append("%s at %s: %s" % (name, size, out[1].stderr))


def checks():
    """(file, options) of the checks of text tests; the first of alternatives."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "text", "grad", "**", "*.vyre"), recursive=True)):
        with open(path, encoding="utf-8") as f:
            for options in re.findall(r"^// RUN: vyre-grad check %s([^|&\n]*)$", f.read(), re.M):
                yield path, re.sub(r" --engine \S+", "", re.sub(r"(?<!\S)\{([^},]*)[^}]*\}", r"\1", options))


def as_on_gpu():
    """How many checks passed."""
    passed = 0
    for path, options in shares.drawn(checks(), 60):
        words = [*shlex.split(options), "--engine", "vulkan"]
        done = vyre("check", path, *words, "--for", "gpu")
        passed += done.returncode == 0
        if done.returncode and not vyre("check", path, *words).returncode:
            FAILURES.append("check %s %s --for gpu: %s" % (path, options, done.stdout[-300:] + done.stderr[-300:]))
    return passed


written = valid()
for case in SAME:
    same(*case)
checked = as_on_gpu()
if written < (1300 if shares.whole() else 30):
    FAILURES.append("%d gradients written: too few" % written)
if checked < (300 if shares.whole() else 2):
    FAILURES.append("%d checks: too few" % checked)
print("%d gradients, %d checks" % (written, checked))
print("\n".join(FAILURES))
sys.exit(1 if FAILURES else 0)
