#!/usr/bin/env python3
"""What README.md shows is what comes out: each `$ vyre-grad …` and the lines behind it.  Links in the
documents lead somewhere, and the tests that docs/features.md names exist."""
import glob
import os
import re
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
with open(os.path.join(SRC, "README.md"), encoding="utf-8") as f:
    readme = f.read()
devices = subprocess.run([VYRE, "devices"], capture_output=True, text=True).stdout
bad = 0
shown = re.findall(r"^```\n\$ vyre-grad ([^\n]+)\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
for words, expected in shown:
    if words.startswith("run") and "features:" not in devices:
        continue
    got = subprocess.run([VYRE] + words.split(), cwd=SRC, capture_output=True, text=True).stdout
    number = re.compile(r"\d+\.\d+")
    near = [float(n) for n in number.findall(got)], [float(n) for n in number.findall(expected)]
    same = number.sub("#", got) == number.sub("#", expected) and all(
        abs(a - b) <= 4e-7 * max(1, abs(b)) for a, b in zip(*near))
    if not same:
        bad = 1
        print("vyre-grad %s\nprints\n%sREADME.md says\n%s" % (words, got, expected))
program = open(os.path.join(SRC, "examples", "model.vyre"), encoding="utf-8").read()
if program.split("\n", 1)[1] not in readme:
    bad = 1
    print("README.md shows another examples/model.vyre")
for file in ["README.md"] + sorted(glob.glob("docs/*.md", root_dir=SRC)):
    with open(os.path.join(SRC, file), encoding="utf-8") as f:
        text = f.read()
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        if not os.path.exists(os.path.join(SRC, os.path.dirname(file), path)):
            bad = 1
            print("%s links to %s, which does not exist" % (file, path))
    for path in re.findall(r"\b((?:text|unit|scripts)/[\w/]+)", text if "features" in file else ""):
        if not glob.glob(os.path.join(SRC, "tests", path + "*")):
            bad = 1
            print("%s names the test %s, which does not exist" % (file, path))
sys.exit(bad or (not shown and print("README.md shows no command") is None))
