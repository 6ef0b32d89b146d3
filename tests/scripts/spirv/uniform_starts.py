#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops that begin at their workgroup's place (ir/pass/device/uniform_starts.c): the programs of
text/device/uniform_starts.vyre and their gradients have the same bits as with starts of their own,
in the interpreter and on the device, for domains of several workgroups, of less than one, and of
one invocation.
"""
import json
import os
import re
import subprocess
import sys

ROOT, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
SOURCE = os.path.join(ROOT, "tests", "text", "device", "uniform_starts.vyre")
SIZES = ((2, 11), (1, 70), (2, 130), (3, 1), (1, 64))
CASES = [(name, gradient) for name in ("suffix", "before", "pairs", "columns", "nested") for gradient in (False, True)
         if (name, gradient) != ("before", True)]  # which adds atomically, in any order
PLAIN = {("nested", True)}  # it has none; the gradient of columns counts iterations from there (loop_ranges.c)


def vyre(*arguments):
    return subprocess.run([VYRE, *arguments], capture_output=True, text=True, timeout=300)


def written(name, gradient, way):
    file = "%s_%s_%s.vyre" % (name, gradient, way)
    verb = ("grad", SOURCE, "-p", name, "--seed", "buffer") if gradient else ("compile", SOURCE, "-p", name)
    done = vyre(*verb, "--precise", "--for", way, "-o", file)
    if done.returncode:
        sys.exit("%s: %s" % (file, done.stderr))
    return file


def outputs(file, name, size, engine):
    data = ["--in", "x[%d,%d,3]=uniform:-1:1:1" % size]
    if name.endswith("_grad"):
        data += ["--in", "grad_y[%d,%d]=uniform:-1:1:2" % size]
    done = vyre("run", file, "-p", name, *data, "--engine", engine, "--precise", "--json")
    return json.loads(done.stdout)["outputs"] if done.returncode == 0 else done.stderr


def nest(depth):
    """Loops in each other, each of which would become two constructs."""
    loops = "".join("for a%d in i..T { s += x[h, a%d, 1]; " % (k, k) for k in range(depth))
    return ("program nest(x: in f32[H, T, 3], y: out f32[H, T], H: u32, T: u32) over(h: H, i: T) {\n"
            "var s = 0.0; %s %s y[h, i] = s; }\n" % (loops, "}" * depth))


def begins_in_nest(depth):
    with open("nest.vyre", "w", encoding="utf-8") as f:
        f.write(nest(depth))
    done = vyre("compile", "nest.vyre", "--for", "gpu", "-o", "nest_gpu.vyre")
    with open("nest_gpu.vyre", encoding="utf-8") as f:
        return done.returncode == 0 and "wid." in f.read()


def main():
    """Stops at the first program with a finding."""
    wrong = 0
    if not begins_in_nest(4) or begins_in_nest(70):
        wrong += 1
        print("nests of 4 loops begin at their workgroup, deep ones do not")
    for name, gradient in CASES:
        if wrong:
            break
        plain, common = (written(name, gradient, way) for way in ("any", "gpu"))
        with open(common, encoding="utf-8") as f:
            if bool(re.search(r"\bwid\.", f.read())) == ((name, gradient) in PLAIN):
                wrong += 1
                print("%s: %s" % (common, "begins at its workgroup" if (name, gradient) in PLAIN else "does not"))
        entry = name + "_grad" * gradient
        for size in SIZES:
            expected = outputs(plain, entry, size, "eval")
            for engine in ("eval", "vulkan"):
                got = outputs(common, entry, size, engine)
                if isinstance(got, str) or got != expected:
                    wrong += 1
                    print("%s at %s, %s: %s" % (entry, size, engine, got if isinstance(got, str) else "other numbers"))
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
