#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SANITIZED
"""Same input, same bytes, whatever compiled Vyre: build (gcc) and build-sanitize (clang, -O1) derive the same programs
from examples/ and tests/text, as texts and in the binary form, in five modes (tests/derived_bytes.c).

It runs where both builds are there, of the same sources; a run takes every VYRE_SHARE-th file, from one on that the seed
chooses, VYRE_SHARE=1 takes all.  Where it fails, scripts/house/emission_order.py may have a gap: an expression in which
two calls emit, and whose order the compilers choose.
"""
import glob
import os
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
OTHER = os.path.join(SRC, "build")
TOOL = os.path.join("tests", "derived_bytes")


def derived(build, files):
    done = subprocess.run([os.path.join(build, TOOL), *files], stdout=subprocess.PIPE, text=True, cwd=SRC, check=True)
    return done.stdout.splitlines()


def newest(folder):
    """When its library was linked."""
    return os.path.getmtime(os.path.join(folder, TOOL))


def main():
    share = int(os.environ.get("VYRE_SHARE", "1"))
    seed = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED") or 0)
    if not os.path.exists(os.path.join(OTHER, TOOL)):
        print("there is no build/tests/derived_bytes to compare with")
        return 77
    if any(newest(OTHER) < os.path.getmtime(p) for folder in ("ir", "autodiff")
           for p in glob.glob(os.path.join(SRC, folder, "**", "*.[ch]"), recursive=True)):
        print("build/tests/derived_bytes is older than the sources")
        return 77
    files = sorted(os.path.relpath(p, SRC) for folder in ("examples", "tests/text")
                   for p in glob.glob(os.path.join(SRC, folder, "**", "*.vyre"), recursive=True))
    files = [f for k, f in enumerate(files) if (k + seed) % share == 0]
    ours, theirs = derived(BUILD, files), derived(OTHER, files)
    differ = [(a, b) for a, b in zip(ours, theirs) if a != b]
    for a, b in differ[:20]:
        print("%s\n    but in build: %s" % (a, b.split(" ", 3)[3]))
    print("VYRE_SEED=%d: %d files, %d derivatives, %d differ" % (seed, len(files), len(ours), len(differ)))
    return 1 if differ or len(ours) != len(theirs) or len(ours) < 3 * len(files) else 0


sys.exit(main())
