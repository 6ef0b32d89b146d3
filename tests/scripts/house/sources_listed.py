#!/usr/bin/env python3
# ONCE
"""Every C file of the product and every unit test is in a meson.build: none is forgotten.  What git has in the root of
the tree is listed here: nothing that a test left behind came in."""
import glob
import json
import os
import subprocess
import sys

ROOT, BUILD = os.environ["SRC"], os.environ["BUILD"]
TOP = {".ci", ".clang-format", ".gitattributes", ".gitignore", "CONTRIBUTING.md", "LICENSE", "README.md", "CHANGELOG.md", "autodiff", "debian", "docs", "editors", "examples", "ir",
       "meson.build", "meson_options.txt", "pyproject.toml", "python", "session", "shaders", "spirv", "tests", "tools", "vkrt"}
with open(os.path.join(BUILD, "meson-info", "intro-targets.json")) as f:
    built = {s for t in json.load(f) for part in t["target_sources"]
             for s in part.get("sources", [])}
wrong = [os.path.relpath(path, ROOT)
         for folder in ("ir", "autodiff", "spirv", "vkrt", "session", "tools", "tests/unit", "examples")
         for path in sorted(glob.glob(os.path.join(ROOT, folder, "**", "*.c"), recursive=True)) if path not in built]
for path in wrong:
    print("%s is not built: list it in %s" % (
        path, "tests/meson.build" if path.startswith("tests/")
        else path.split("/")[0] + "/meson.build"))
known = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False).stdout  # empty without git
strange = {path.split("/")[0] for path in known.splitlines()} - TOP
for name in sorted(strange):
    print("%s does not belong into the root of the tree" % name)
sys.exit(bool(wrong or strange))
