# SPDX-License-Identifier: MIT
"""Runs `vyre-grad fit` on t.vyre, and reads what it reports."""
import json
import os
import struct
import subprocess

from demonstration import GRAD, check, failures, has_device  # noqa: F401

DOUBLE = ["--engine", "eval", "--eval-type", "f64"]
DEVICE = has_device()


def fit(*args, status=0):
    """What it prints as JSON."""
    done = subprocess.run([GRAD, "fit", "t.vyre", "--quiet", "--json", *args], capture_output=True,
                          text=True, check=False)
    check(done.returncode == status, args, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def single(x):
    """What a constant of type f32 is: the interpreter computes in double with it."""
    return struct.unpack("f", struct.pack("f", x))[0]


def close(x, y, bound):
    return len(x) == len(y) and all(abs(p - q) <= bound * max(1, abs(q)) for p, q in zip(x, y))


def text(values):
    return ",".join(map(repr, values))


def numbers(lines, name):
    """Of the line `name = 1 2 3`, or `name f32[3] = [1, 2, 3]`."""
    line = next((v for v in lines.splitlines() if v.split()[:1] == [name]), name + " = nan")
    return [float(v) for v in line.partition("=")[2].strip(" []").replace(",", " ").split()]


def from_files(name, args, sizes, data):
    """The training written as files, run by the interpreter from its text and, where there is a
    device, by vulkan_only from the rest.  What both print; None: there is no device."""
    done = subprocess.run([GRAD, "fit", "t.vyre", *args, "--write-pipeline", "p"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    values = ["%s=%s" % (k, text(v)) for k, v in data.items()]
    ran = subprocess.run([GRAD, "run", "p/%s.vyre" % name, "--engine", "eval", "--verbose",
                          *(v for s in sizes for v in ("--set", s)),
                          *(v for s in values for v in ("--in", s))],
                         capture_output=True, text=True, check=False)
    check(ran.returncode == 0, ran.stderr)
    if not DEVICE:
        return ran.stdout, None
    alone = subprocess.run([os.environ["BUILD"] + "/examples/vulkan_only", "p/%s.spv" % name,
                            "p/%s.json" % name, *sizes, *values], capture_output=True, text=True,
                           check=False)
    check(alone.returncode == 0, alone.stderr)
    return ran.stdout, alone.stdout
