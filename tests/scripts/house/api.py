#!/usr/bin/env python3
# ONCE
"""docs/api.md is what tools/gen/gen_api.py makes of the installed headers, and has every function that the libraries
export.  BLESS=1 writes it."""
import json
import os
import re
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
TABLES = ("ir/diag_codes.h", "session/codes.h")  # rows of X(…)
PATH = os.path.join(SRC, "docs", "api.md")


def headers():
    with open(os.path.join(BUILD, "meson-info", "intro-installed.json"), encoding="utf-8") as f:
        installed = [os.path.relpath(path, os.path.realpath(SRC)) for path in json.load(f) if path.endswith(".h")]
    return sorted(h for h in installed if h.count("/") == 1 and h not in TABLES and h != "session/all.h")


def exported():
    for name in ("libvyre.so", "vkrt/libvkrt.so", "session/libvyre-session.so"):
        listed = subprocess.run(["nm", "-D", "--defined-only", os.path.join(BUILD, name)], check=True, capture_output=True, text=True).stdout
        yield from re.findall(r" [TW] ((?:vy|vys|vkrt)_\w+)", listed)


def main():
    made = subprocess.run([sys.executable, os.path.join(SRC, "tools", "gen", "gen_api.py"), SRC, *headers()],
                          check=True, capture_output=True, text=True).stdout
    if os.environ.get("BLESS"):
        with open(PATH, "w", encoding="utf-8") as f:
            f.write(made)
    with open(PATH, encoding="utf-8") as f:
        current = f.read() == made
    if not current:
        print("docs/api.md is not what the headers say: BLESS=1 SRC=$PWD BUILD=build tests/scripts/house/api.py")
    names = set(exported())
    missing = sorted(name for name in names if 'id="%s"' % name not in made)
    for name in missing:
        print("%s is exported, but not in the reference: no installed header declares it so that gen_api.py finds it" % name)
    if len(names) < 100:
        print("only %d functions are exported" % len(names))
    return not current or bool(missing) or len(names) < 100


sys.exit(main())
