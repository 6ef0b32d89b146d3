#!/usr/bin/env python3
"""README.md and docs/shaders.md show the command's real output: each `$ vyre-grad …` and the lines below it.  Links in
the documents lead somewhere, the tests that docs/features.md and tests/README.md name exist, and
the index in the latter names every folder of text tests, unit test and script.
"""
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
with open(os.path.join(SRC, "docs", "shaders.md"), encoding="utf-8") as f:
    shaders = f.read()
command = re.compile(r"^```\n\$ vyre-grad ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
shown = command.findall(readme)
for words, expected in shown + command.findall(shaders):
    if words.startswith(("run", "fit")) and "features:" not in devices:
        continue
    got = subprocess.run([VYRE] + words.split(), cwd=SRC, capture_output=True, text=True).stdout
    number = re.compile(r"\d+\.\d+|\b\d+(?= words| instructions)")  # passes may change
    near = [[float(n) for n in number.findall(t) if "." in n] for t in (got, expected)]
    same = number.sub("#", got) == number.sub("#", expected) and all(
        abs(a - b) <= 4e-7 * max(1, abs(b)) for a, b in zip(*near))
    if not same:
        bad = 1
        print("vyre-grad %s\nprints\n%sthe document says\n%s" % (words, got, expected))
program = open(os.path.join(SRC, "examples", "model.vyre"), encoding="utf-8").read()
if program.split("\n", 1)[1] not in readme:
    bad = 1
    print("README.md shows another examples/model.vyre")
for file in ["README.md", "tests/README.md"] + sorted(glob.glob("docs/*.md", root_dir=SRC)):
    with open(os.path.join(SRC, file), encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"`[^`\n]*`|^    .*$", "", text, flags=re.M)  # code has no links: f32[2](1, 2)
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        if not os.path.exists(os.path.join(SRC, os.path.dirname(file), path)):
            bad = 1
            print("%s links to %s, which does not exist" % (file, path))
    for path in re.findall(r"\b((?:text|unit|scripts)/[a-z0-9_/]+)(?![A-Z])", text if "features" in file or "tests/" in file else ""):
        if not glob.glob(os.path.join(SRC, "tests", path + "*")):
            bad = 1
            print("%s names the test %s, which does not exist" % (file, path))


def tests():
    """What the index in tests/README.md must name: folders with text tests, unit tests, scripts."""
    top = os.path.join(SRC, "tests")
    for folder, folders, files in os.walk(os.path.join(top, "text")):
        folders[:] = [f for f in folders if f not in ("data", "input")]
        if files and os.path.basename(folder) != "grad":
            yield os.path.relpath(folder, top)
    yield from (path[:-2] for path in glob.glob("unit/*/test_*.c", root_dir=top))
    yield from (path for path in glob.glob("scripts/*/*", root_dir=top) if path.endswith((".py", ".sh")))


with open(os.path.join(SRC, "tests", "README.md"), encoding="utf-8") as f:
    index = f.read().partition("## Where is the test of X?")[2].partition("\n## ")[0]
named = set(re.findall(r"\b(?:text|unit|scripts)/[\w./]*\w", index))
for path in sorted(tests()):
    if not any(n == path or n.startswith(path + "/") for n in named):
        bad = 1
        print("the index in tests/README.md does not name %s" % path)
sys.exit(bad or (not shown and print("README.md shows no command") is None))
