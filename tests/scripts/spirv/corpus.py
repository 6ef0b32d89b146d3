#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
# TIMEOUT: 600
"""Our own shaders are read, run as they do unread, have gradients that pass `check`: no fewer than tests/corpus.txt says.

tools/corpus does it, which is run on public repositories by hand.  A run takes one of the two folders, which the
seed chooses; VYRE_SHARE=1 takes both.
"""
import os
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
FOLDERS = [os.path.join(SRC, "shaders"), os.path.join(SRC, "tests", "text", "shader")]
if os.environ.get("VYRE_SHARE", "1") != "1" and os.environ.get("BLESS") != "1":
    FOLDERS = [FOLDERS[int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]) % 2]]
sys.exit(subprocess.run([
    os.path.join(SRC, "tools", "corpus"), "--build", BUILD, "--elements", "64", "--seconds", "300", "--floor",
    os.path.join(SRC, "tests", "corpus.txt"), *FOLDERS
], check=False).returncode)
