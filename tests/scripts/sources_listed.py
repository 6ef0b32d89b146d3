#!/usr/bin/env python3
# ONCE
"""Every C file of the product and every unit test is in a meson.build: none is forgotten."""
import glob
import json
import os
import sys

ROOT, BUILD = os.environ["SRC"], os.environ["BUILD"]
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
sys.exit(bool(wrong))
