#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
"""Shaders in Slang (tests/slang): read, and their gradients pass `check`, in the interpreter and on the device.

Needs Slang's compiler, `slangc`, on the path; Debian has no package of it.  PyPI's wheel `slangtorch` contains it:
`pip download --no-deps slangtorch`, and unpack slangtorch/bin.
"""
import os
import shutil
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
ROWS = "--in x[%s]=normal:0:1:1 --in y[%s]=zeros"
SHADERS = (  # name, arguments, what its text has
    ("springs", "--set n=5 --set rest=1 --set dt=0.125 --set gravity=0,0,-10 --in m.at[5,3]=normal:0:1:1 --in m.kg=1,2,1,3,1"
     " --in m.speed[5,3]=normal:0:1:2 --in m.pad[5]=zeros --in stiffness=10,20,30,40,50 --in speed[5,3]=zeros", "over(i: n)"),
    ("rms_norm", "--set columns=20 --set eps=0.01 --groups 3 " + ROWS % (60, 60), "barrier()"),
    ("nbody", "--set n=13 --set soft=0.1 --in body[13,4]=uniform:0.2:1:1 --in pull[13,3]=zeros", "shared tile"),
    ("matmul", "--set M=5 --set N=4 --set K=6 --in a[5,6]=normal:0:1:1 --in b[6,4]=normal:0:1:2 --in c[5,4]=zeros", "a: in f32[M, K]"),
    ("blur", "--set width=6 --set height=5 --in image[30]=normal:0:1:1 --in weight[9]=normal:0:1:2 --in result[30]=zeros", "over(i: width * height)"),
    ("density", "--set n=9 --set h=1.5 --in at[9,3]=uniform:0:1:1 --in mass[9]=uniform:0.5:1:2 --in density[9]=zeros", "over(i: n)"),
    ("soft_max", "--set rows=3 --set columns=5 " + ROWS % (15, 15), "over(i: rows)"),
    ("lanes", "--groups 2 " + ROWS % (64, 2), "subgroup_add("))


def run(*argv):
    done = subprocess.run([VYRE, *argv], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def troubles(name, arguments, has):
    path = os.path.join(SRC, "tests", "slang", name + ".slang")
    status, text = run("print", path)
    if status or has not in text:
        yield "print: %d, without `%s`:\n%s" % (status, has, text[:800])
    for engine in ("eval", "vulkan"):
        status, text = run("check", path, "--engine", engine, *arguments.split())
        if status or "\nok:" not in text:
            yield "check --engine %s: %d\n%s" % (engine, status, text)


def main():
    if not shutil.which("slangc"):
        print("slangc is not on the path: PyPI's wheel slangtorch has it in slangtorch/bin")
        return 77
    wrong = 0
    for row in SHADERS:
        for trouble in troubles(*row):
            wrong += 1
            print("%s: %s" % (row[0], trouble))
    print("%d shaders, %d wrong" % (len(SHADERS), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
