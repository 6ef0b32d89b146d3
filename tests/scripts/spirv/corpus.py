#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
# TIMEOUT: 600
"""Our own shaders are read, run as they do unread, have gradients that pass `check`: no fewer than tests/corpus.txt says.

tools/corpus does it, which is run on public repositories by hand.  A run takes one shader in three, which the seed
chooses, and checks the gradients of one in eight on the device, those of the others in the interpreter (whether a
device computes what the interpreter does, the text tests find out); VYRE_SHARE=1 takes all, on the device.  Those of
shaders/gpu are left out: an interpreter takes minutes for the gradient of a gradient of attention in tiles.
"""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
import shares  # noqa: E402

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
SEED = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED") or 0)
ALL = shares.whole() or os.environ.get("BLESS") == "1"
sys.exit(subprocess.run([
    os.path.join(SRC, "tools", "corpus"), "--build", BUILD, "--elements", "64", "--seconds", "300", "--share",
    "0/1" if ALL else "%d/3" % SEED, "--device-checks", "0/1" if ALL else "%d/8" % SEED, "--floor",
    os.path.join(SRC, "tests", "corpus.txt"), *sorted(glob.glob(os.path.join(SRC, "shaders", "*.comp"))),
    os.path.join(SRC, "tests", "text", "shader")
], check=False).returncode)
