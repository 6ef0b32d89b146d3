#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
# TIMEOUT: 600
"""Our own shaders are read, run as they do unread, have gradients that pass `check`: no fewer than tests/corpus.txt says.

tools/corpus does it, which is run on public repositories by hand.
"""
import os
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.exit(subprocess.run([
    os.path.join(SRC, "tools", "corpus"), "--build", BUILD, "--elements", "64", "--seconds", "300", "--floor",
    os.path.join(SRC, "tests", "corpus.txt"), os.path.join(SRC, "shaders"), os.path.join(SRC, "tests", "text", "shader")
], check=False).returncode)
