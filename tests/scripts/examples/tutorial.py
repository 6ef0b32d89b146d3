#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
"""docs/tutorial.md is true: its files are written, its commands run, and they print what it shows.

In a block ```console a line `$ COMMAND` is run by the shell in a folder of its own; the lines below it are what it
prints, where `…` alone stands for any lines and at the end of a line for any rest.  Numbers may differ in their last
digits.  ```LANGUAGE FILE is a file.
"""
import os
import re
import subprocess
import sys
import tempfile

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")


def same(want, got):
    if want.endswith("…"):
        return got.startswith(want[:-1])
    if NUMBER.sub("#", want) != NUMBER.sub("#", got):
        return False
    return all(abs(float(a) - float(b)) <= 2e-3 * max(abs(float(a)), 1e-6) for a, b in zip(NUMBER.findall(want), NUMBER.findall(got)))


def matches(want, got):
    if not want:
        return not got
    if want[0] == "…":
        return any(matches(want[1:], got[k:]) for k in range(len(got) + 1))
    return bool(got) and same(want[0], got[0]) and matches(want[1:], got[1:])


def main():
    with open(os.path.join(SRC, "docs", "tutorial.md"), encoding="utf-8") as f:
        text = f.read()
    commands = wrong = 0
    environment = {**os.environ, "PATH": os.path.dirname(VYRE) + os.pathsep + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as folder:
        for language, name, body in BLOCK.findall(text):
            if name:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(body)
            if language != "console":
                continue
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, env=environment, check=False)
                commands += 1
                if done.returncode or not matches(shown.splitlines(), done.stdout.splitlines()):
                    wrong += 1
                    print("$ %s\nstatus %d\n%s%s\nthe tutorial has\n%s" % (command, done.returncode, done.stdout, done.stderr, shown))
    if commands < 8:
        print("only %d commands were found" % commands)
        wrong += 1
    return wrong


sys.exit(min(main(), 1))
