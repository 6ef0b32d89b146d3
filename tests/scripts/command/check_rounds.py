#!/usr/bin/env python3
# ONCE
"""Faults that show only in the second workgroup, or in a partly filled one: `check FILE` finds them
with its default sizes, and would not at small sizes.

Each is a copy of one source file with a small change, linked ahead of libvyre.a into a vyre-grad of
its own, as tests/fuzz/plant.py does it for the fuzzer.
"""
import os
import shlex
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.path.abspath(os.environ["BUILD"])
LEAF = "autodiff/gather/gather_leaf.c"


def sums(value):
    return "program p(x: in f32[8], o: out f32[N], N: u32) over(i: N) { o[i] = %s*x[0]*x[1]; }" % value


PLANTS = (  # file, old, new, program, sizes that hide it
    (LEAF, "return vy_rem(c->b, global_id(c, axis), size);", "return global_id(c, axis);",
     sums("f32(lindex + 1)"), "N=5"),
    (LEAF, "case VY_WID: return group_id(c, l->axis).id;",
     "case VY_WID: return vy_zero(c->b, VY_U32).id;", sums("f32(wid.x + 1)"), "N=5"),
    (LEAF, "return vy_add(c->b, vy_div(c->b, vy_sub(c->b, n, one), size), one);", "return one;",
     sums("f32(num_groups.x)"), "N=5"),
    # along another axis
    (LEAF, "case VY_WID: return group_id(c, l->axis).id;",
     "case VY_WID: return vy_zero(c->b, VY_U32).id;",
     "program p(x: in f32[8], o: out f32[N, M], N: u32, M: u32) over(j: N, i: M) { o[j, i] = f32(wid.y + 1)*x[0]; }",
     "N=5 M=4"),
)


def link():
    """The command that links vyre-grad, run in BUILD."""
    said = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "tools/vyre-grad"], capture_output=True, text=True)
    return shlex.split(said.stdout.strip().splitlines()[-1]) if said.returncode == 0 else None


def planted(number, path, old, new):
    with open(os.path.join(SRC, path), encoding="utf-8") as f:
        text = f.read()
    if old not in text:
        sys.exit("%s no longer has: %s" % (path, old))
    source, out = os.path.abspath("plant%d.c" % number), os.path.abspath("wrong%d" % number)
    with open(source, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new, 1))
    subprocess.run(["cc", "-std=gnu11", "-O1", "-ffp-contract=off", "-fPIE", "-w", "-I" + SRC, "-I" + BUILD,
                    "-I" + os.path.join(SRC, os.path.dirname(path)), "-c", source, "-o", source + ".o"], check=True)
    words = link()
    at = words.index("-o")
    words[at + 1:at + 2] = [out, source + ".o"]
    subprocess.run(words, check=True, cwd=BUILD)
    return out


def check(command, *options):
    done = subprocess.run([command, "check", "p.vyre", "--engine", "eval", "--accumulate", "gather", *options],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    if not link():
        print("no ninja build at " + BUILD)
        return 77
    bad = 0
    for n, (path, old, new, program, sizes) in enumerate(PLANTS):
        with open("p.vyre", "w", encoding="utf-8") as f:
            f.write(program)
        right, said = check(os.environ["VYRE_GRAD"])
        if right or "several workgroups" not in said:
            print("without a fault: %s\n%s" % (program, said))
            bad += 1
        wrong = planted(n, path, old, new)
        hidden, _ = check(wrong, *(w for s in sizes.split() for w in ("--set", s)))
        status, said = check(wrong)
        if hidden or status != 3 or "in several workgroups, with" not in said:
            print("%s → %s\n%s\nsmall sizes %d, by itself %d\n%s" % (old, new, program, hidden, status, said))
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
