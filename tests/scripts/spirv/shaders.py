#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
# DEVICE
"""Gradients by hand (shaders/*.plan, shaders/gpu/*.plan) compute what ours do, at each of their TEST sizes.  A run takes every other
plan, which the seed chooses; VYRE_SHARE=1 takes all.

The comparison is the command's own (tests/scripts/command/against.py has wrong gradients, which it must
refuse).  The runner looks for messages of the validation layers; every module passes spirv-val and
is named by a plan.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

SRC, BUILD, VYRE = (os.environ[k] for k in ("SRC", "BUILD", "VYRE_GRAD"))


PLANS = sorted(glob.glob(SRC + "/shaders/**/*.plan", recursive=True))


def directives(path, word):
    with open(path, encoding="utf-8") as f:
        return re.findall(r"^// %s\b[^:\n]*: *(.*)$" % word, f.read(), re.M)


def bench(plan, program, options):
    argv = [VYRE, "bench", os.path.join(SRC, program[0]), *program[1:], "--against", plan, "--runs", "1",
            "--json", *options]
    return subprocess.run(argv, capture_output=True, text=True)


def make_data(plan, options):
    """What `@NAME/…` in options stands for, from the plan's `DATA NAME:`."""
    with open(plan, encoding="utf-8") as f:
        for name, command in re.findall(r"^// DATA (\w+): *(.*)$", f.read(), re.M):
            script, problem, *sizes = shlex.split(command)
            if "@%s/" % name in options and not os.path.exists(name):
                subprocess.run([os.path.join(SRC, script), problem, name, *sizes], check=True)


def check(plan):
    """The number of tests run; raises an error if one is wrong."""
    programs, tests = directives(plan, "PROGRAM"), directives(plan, "TEST")
    if len(programs) != 1 or not tests or not directives(plan, "BENCH"):
        raise AssertionError("needs one PROGRAM, and at least one TEST and one BENCH")
    for test in tests:
        make_data(plan, test)
        done = bench(plan, shlex.split(programs[0]), shlex.split(test))
        if done.returncode:
            raise AssertionError("%s\n%s" % (test, done.stderr))
        against = json.loads(done.stdout)["against"]
        print("%s: %s: difference %.2g" % (os.path.relpath(plan, SRC + "/shaders"), test, against["difference"]))
    return len(tests)


def unlisted():
    """Shaders that no plan dispatches, and invalid ones."""
    text = "".join(open(p, encoding="utf-8").read() for p in PLANS)
    wrong = []
    for path in sorted(glob.glob(SRC + "/shaders/**/*.comp", recursive=True)):
        name = os.path.basename(path)[:-len(".comp")]
        if not re.search(r"^program %s\(" % name, text, re.M):
            wrong.append(name + ".comp: no plan has a program of this name")
        module = os.path.join(BUILD, "shaders", name + ".spv")
        if not os.path.exists(module):
            wrong.append(name + ".comp: shaders/meson.build does not list it")
        elif subprocess.run(["spirv-val", "--target-env", "vulkan1.3", module]).returncode:
            wrong.append(module + ": invalid")
    return wrong


def main():
    devices = subprocess.run([VYRE, "devices", "--json"], capture_output=True, text=True)
    if devices.returncode:
        print("no Vulkan device: " + devices.stderr.strip())
        return 77
    lanes = next((d["subgroup_size"] for d in json.loads(devices.stdout)["devices"] if d["default"]), 0)
    if lanes < 8:
        print("shaders by hand are written for subgroups of eight lanes or more, the device has %d" % lanes)
        return 77
    wrong, count = unlisted(), 0
    for plan in shares.drawn(PLANS, 2):
        try:
            count += check(plan)
        except AssertionError as e:
            wrong.append("%s: %s" % (os.path.relpath(plan, SRC + "/shaders"), e))
    for line in wrong:
        print(line)
    print("%d plans, %d tests" % (len(PLANS), count))
    return 1 if wrong or not count else 0


sys.exit(main())
