#!/usr/bin/env python3
# ONCE
"""debian/: each file that `meson install` installs is in exactly one package, and the version is the project's.  (The
packages themselves take minutes: dpkg-buildpackage -us -uc -b, then lintian.)"""
import fnmatch
import glob
import json
import os
import re
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]


def installed():
    """Paths as a package has them.  The package for Python is built by pyproject.toml."""
    with open(os.path.join(BUILD, "meson-info", "intro-installed.json"), encoding="utf-8") as f:
        paths = json.load(f).values()
    for path in paths:
        if "/python3" not in path and "/site-packages/" not in path and "/dist-packages/" not in path:
            path = re.sub(r"^/usr/local/", "usr/", path).lstrip("/")
            yield re.sub(r"^usr/lib(?:64)?/(?!\w+-linux-gnu/)", "usr/lib/any/", path)


def patterns():
    for path in glob.glob(os.path.join(SRC, "debian", "*.install")):
        with open(path, encoding="utf-8") as f:
            yield from ((os.path.basename(path), line) for line in f.read().split())


def main():
    rows, paths, wrong = list(patterns()), sorted(installed()), 0
    for path in paths:
        packages = {name for name, p in rows if fnmatch.fnmatch(path, p) or path.startswith(p + "/") or fnmatch.fnmatch(path, p + "/*")}
        if len(packages) != 1:
            print("%s is in %s" % (path, sorted(packages) or "no package: debian/*.install"))
            wrong += 1
    with open(os.path.join(SRC, "debian", "changelog"), encoding="utf-8") as f:
        version = re.match(r"vyre \((.*)-\d+\)", f.readline()).group(1)
    with open(os.path.join(SRC, "meson.build"), encoding="utf-8") as f:
        project = re.search(r"version: '([^']*)'", f.read()).group(1)
    if version != project:
        print("debian/changelog has %s, meson.build %s" % (version, project))
        wrong += 1
    if len(paths) < 20:
        print("only %d files are installed" % len(paths))
        wrong += 1
    return wrong > 0


sys.exit(main())
