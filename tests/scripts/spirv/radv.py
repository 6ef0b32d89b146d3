#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
"""AMD's compiler accepts every program of examples/ and tests/text, forward and gradient, optimised
as for a GPU: on three generations of chips, without the hardware.  No kernel is refused; none
spills registers or uses scratch memory except those of tests/radv.txt, which also gives the
amounts: exceeding them is a failure, and so is a line that no longer holds.  A run takes the files
of that table, of the others every fifth one, which the seed chooses, and those that changed lately;
VYRE_SHARE=1 takes all.

    radv.py                     navi21, vega10 and gfx1100 with the installed RADV (Mesa 22.3)
    VYRE_RADV=radv25:navi21,radv25:navi31,radv25:gfx1201 tests/run -k radv
                                others: failures, not amounts
"""
import glob
import os
import subprocess
import sys

ROOT = os.environ["SRC"]
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

CHIPS = "radv:navi21,radv:vega10,radv:gfx1100"
TABLE = os.path.join(ROOT, "tests", "radv.txt")


def read_table():
    """{(file, program, direction, kernel): (most spilled registers, most scratch bytes)}"""
    rows = {}
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                rows[tuple(words[:4])] = (int(words[4]), int(words[5]))
    return rows


def main():
    chosen = os.environ.get("VYRE_RADV") or CHIPS
    files = sorted(os.path.relpath(p, ROOT) for folder in ("examples", "tests/text")
                   for p in glob.glob(os.path.join(ROOT, folder, "**", "*.vyre"), recursive=True))
    table = read_table()
    named, others = {where[0] for where in table}, set(shares.drawn_files(files, 5))
    files = [f for f in files if f in named or f in others]
    done = subprocess.run([os.path.join(os.environ["BUILD"], "tests", "inspect_corpus"), chosen] + files,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode and "there is no such driver here" in done.stderr:
        print("RADV is not installed (mesa-vulkan-drivers)")
        sys.exit(77)
    bad, used, count = [], {}, 0
    if done.returncode:
        bad.append("exit status %d: %s" % (done.returncode, done.stderr[-2000:]))
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            print(line)
            continue
        chip, file, program, way, kernel, state = line.split("\t")[:6]
        where, count = (file, program, way, kernel), count + 1
        if state != "ok":
            bad.append("%s %s: %s" % (chip, " ".join(where), state))
            continue
        figures = line.split("\t")[6]
        spills = sum(int(figures.split("Spilled %s=" % r)[1].split()[0]) for r in ("SGPRs", "VGPRs"))
        scratch = int(figures.split("Scratch size=")[1].split()[0])
        if not spills and not scratch:
            continue
        most = table.get(where, (0, 0))
        used[where] = tuple(max(a, b) for a, b in zip(used.get(where, (0, 0)), (spills, scratch)))
        if chosen == CHIPS and (spills > most[0] or scratch > most[1]):
            bad.append("%s %s: %d spilled registers and %d bytes of scratch, %d and %d are expected"
                       % (chip, " ".join(where), spills, scratch, *most))
    for where in table:
        if chosen == CHIPS and where not in used:
            bad.append("tests/radv.txt: %s has neither spills nor scratch any more" % " ".join(where))
    if count < (3000 if shares.whole() else 600) and chosen == CHIPS:
        bad.append("%d kernels looked at: too few" % count)
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()
