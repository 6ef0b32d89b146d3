#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Shaders whose names are stripped, as engines ship them, are read as with names: the program has as many statements.

Every fourth one of tests/text/shader, beginning with one that the seed chooses; VYRE_SHARE=1 takes all.
"""
import glob
import os
import re
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(SRC, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402


def printed(path):
    done = subprocess.run([VYRE, "print", path], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def shape(text):
    """Statements but `let`: which long values have a line of their own depends on names."""
    body = text.partition("{\n")[2]
    return len(re.findall(r"[;{]$", body, re.M)) - len(re.findall(r"^ *let ", body, re.M))


def main():
    wrong = compared = 0
    files = sorted(glob.glob(os.path.join(SRC, "tests", "text", "shader", "*.comp")))
    for path in shares.drawn_files(files, 4):
        with open(path, encoding="utf-8") as f:
            options = re.search(r"-S\w*|// With ", f.read())
        status, named, _ = printed(path)
        if status or options:  # what is refused, or needs options, has tests of its own
            continue
        subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.2", "-I" + os.path.dirname(path), "-o", "named.spv",
                        path], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["spirv-opt", "--strip-debug", "named.spv", "-o", "nameless.spv"], check=True)
        _, named, _ = printed("named.spv")
        status, nameless, said = printed("nameless.spv")
        compared += 1
        if status or shape(named) != shape(nameless):
            print("WRONG: %s without names:\n%s%d statements instead of %d" % (path, said, shape(nameless), shape(named)))
            wrong += 1
    print("%d shaders, %d wrong" % (compared, wrong))
    return 1 if wrong or not compared else 0


sys.exit(main())
