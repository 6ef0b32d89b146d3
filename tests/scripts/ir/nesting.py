#!/usr/bin/env python3
# DEVICE
"""Nested conditions, as deep as the device supports: program and gradient against the interpreter
at a depth of 79, and refused at 80 where a driver computes wrong results from there on (lavapipe);
elsewhere both are computed.
"""
import json
import os
import subprocess
import sys

VYRE = os.environ["VYRE_GRAD"]
HEAD = "program p(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n    var s = x[i];\n"
DATA = "x=1,-0.5,1.25,0.75,-3,0.1"


def in_else(depth):
    """An `if` in each `else`, with something to do in every arm."""
    return "".join("if s < %d.0 { s += 0.5 * x[i]; } else {\n" % (-5 - k) for k in range(depth)), depth


def in_else_if(depth):
    """A chain of `else if`, which nests as deep."""
    chain = "".join(" else if s < %d.0 { s = s * 1.5; }\n" % (-6 - k) for k in range(depth - 1))
    return "if s < -5.0 { s += x[i]; }" + chain + " else {\n", 1


def after_loops(depth):
    """Two loops, and conditions in them."""
    loops = "".join("for k%d in 0..1 + u32(abs(x[i])) {\nif s > 1e20 { break; }\n" % k for k in range(2))
    text, ends = in_else(depth - 2)
    return loops + text, ends + 2


def run(*options):
    done = subprocess.run([VYRE, "run", "p.vyre", "--in", DATA, "--json", *options], capture_output=True, text=True)
    return (json.loads(done.stdout)["outputs"], "") if done.returncode == 0 else (None, done.stderr)


def differs(want, have):
    for name in want:
        for u, v in zip(want[name]["data"], have[name]["data"]):
            if not abs(u - v) <= 1e-4 * max(1, abs(u)):
                return "%s: %r, on the device %r" % (name, u, v)
    return None


def main():
    bad = 0
    for make in (in_else, in_else_if, after_loops):
        for depth in (79, 80):
            text, ends = make(depth)
            with open("p.vyre", "w", encoding="utf-8") as f:
                f.write(HEAD + text + "s = s * 0.75 + x[i] * x[i];\n" + "}" * ends + "\n    y[i] = s;\n}\n")
            for grad in ([], ["--grad"]):
                want, why = run("--engine", "eval", *grad)
                have, refused = run("--engine", "vulkan", *grad)
                if want is None:
                    wrong = why
                elif have is None:
                    deep = "are nested" in refused and "E0903" in refused
                    wrong = None if deep and (depth > 79 or grad) else refused
                else:
                    wrong = differs(want, have)
                how = "refused" if have is None else "same"
                print("%s %d %s: %s" % (make.__name__, depth, " ".join(grad), wrong or how))
                bad += wrong is not None
    return 1 if bad else 0


if __name__ == "__main__":
    if subprocess.run([VYRE, "devices"], capture_output=True).returncode:
        print("no device")
        sys.exit(77)
    sys.exit(main())
