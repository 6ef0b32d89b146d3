#!/usr/bin/env python3
# DEVICE
# ONCE
"""docs/gallery: the pictures are those that the demonstrations make when they are trained to the end (tools/gallery),
and the document shows each of them.  The three cheapest are made anew in each run, one of the others in turns
(VYRE_SHARE=1: all)."""
import os
import re
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests"))
sys.dont_write_bytecode = True
import pictures  # noqa: E402
import shares  # noqa: E402

CHEAP, OTHERS = ["line", "heat", "wave"], ["splats", "smoke", "image", "mass_spring", "mpm"]
MOST = 0.03  # mean difference, of 0 … 1: sums are in another order on other devices and with atomics


def distance(a, b):
    (*shape, rows), (*other, others) = pictures.read(a), pictures.read(b)
    if shape != other:
        return 1
    values = list(zip(b"".join(rows), b"".join(others)))
    return sum(abs(x - y) for x, y in values) / len(values) / 255


def listed():
    with open(os.path.join(SRC, "docs", "gallery.md"), encoding="utf-8") as f:
        return re.findall(r'src="gallery/(\w+)\.png".*\[\1\.vyre\]', f.read())


def main():
    names = CHEAP + shares.drawn(OTHERS, len(OTHERS))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, os.path.join(SRC, "tools", "gallery"), "--build", BUILD, "--only", ",".join(names), "--to", folder],
                              capture_output=True, text=True, check=False)
        if "without libpng" in done.stderr:
            return 77
        if done.returncode:
            print(done.stderr)
            return 1
        for name in names:
            away = distance(os.path.join(folder, name + ".png"), os.path.join(SRC, "docs", "gallery", name + ".png"))
            print("%s: %.3g away" % (name, away))
            wrong += away > MOST
    if sorted(listed()) != sorted(CHEAP + OTHERS):
        print("docs/gallery.md shows %s" % listed())
        wrong += 1
    return wrong > 0


sys.exit(main())
