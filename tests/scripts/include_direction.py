#!/usr/bin/env python3
# ONCE
"""Include direction: tools → session → autodiff → ir ← spirv → spirv/kernel.h ← vkrt, and nothing else.

Includes of our own files are written from the top: "folder/file.h"; only a neighbour in the same
folder may be named without its folder.  What is outside the folder must be an installed header
for tools/ and session/, which are ordinary users of the libraries, and for an installed header itself.
"""
import json
import os
import re
import sys

ROOT, BUILD = os.environ["SRC"], os.environ["BUILD"]
MAY_USE = {
    "ir": ["ir/"],
    "autodiff": ["autodiff/", "ir/"],
    "spirv": ["spirv/", "ir/"],
    "vkrt": ["vkrt/", "spirv/kernel.h", "spirv/plan.h"],
    "session": ["session/", "ir/", "autodiff/", "spirv/", "vkrt/"],
    "tools": ["tools/", "session/", "ir/", "autodiff/", "spirv/", "vkrt/"],
}
ALONE = {"spirv/kernel.h": [], "spirv/plan.h": ["spirv/kernel.h"]}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

with open(os.path.join(BUILD, "meson-info", "intro-install_plan.json")) as f:
    installed = {os.path.relpath(p, ROOT) for p in json.load(f).get("headers", {})}

seen, wrong = 0, []
for folder, allowed in MAY_USE.items():
    for at, _, files in os.walk(os.path.join(ROOT, folder)):
        for file in sorted(f for f in files if f.endswith((".c", ".h", ".inc"))):
            name = os.path.relpath(os.path.join(at, file), ROOT)
            with open(os.path.join(ROOT, name), encoding="utf-8") as f:
                text = f.read()
            for match in INCLUDE.finditer(text):
                seen += 1
                target = match.group(1)
                if "/" not in target:
                    target = os.path.join(os.path.dirname(name), target)
                place = "%s:%d" % (name, text.count("\n", 0, match.start(1)) + 1)
                outside = not target.startswith(folder + "/")
                if not target.startswith(tuple(ALONE.get(name, allowed))):
                    wrong.append('%s: %s may not use "%s"' % (place, folder, target))
                elif name in installed and target not in installed:
                    wrong.append('%s: an installed header uses "%s", which is not' %
                                 (place, target))
                elif folder in ("session", "tools") and outside and target not in installed:
                    wrong.append('%s: %s/ uses "%s", which is private' % (place, folder, target))
if not seen:
    wrong.append("no include seen: is the test looking in the right place?")
print("\n".join(wrong))
sys.exit(bool(wrong))
