#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
"""The package for Python: its tests (python/tests), from the build directory and as it is installed.

Needs the Python that it was built for, with NumPy and pytest.  Comparisons with torch and jax are skipped where those
are not installed.
"""
import os
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]


def skip(why):
    print(why)
    sys.exit(77)


def built_for():
    """The interpreter that meson built the extension for."""
    path = os.path.join(BUILD, "python", "interpreter")
    if not os.path.exists(path):
        skip("no package for Python in this build: no headers (python3-dev), or sanitizers")
    with open(path, encoding="utf-8") as f:
        return f.read().strip()


def tested(python, path, *arguments):
    return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *arguments], check=False,
                          env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}).returncode


def main():
    python = built_for()
    for module in ("numpy", "pytest"):
        if subprocess.run([python, "-c", "import " + module], capture_output=True, check=False).returncode:
            skip("%s has no %s (python3-%s)" % (python, module, module))
    tests = os.path.join(SRC, "python", "tests")
    done = subprocess.run([sys.executable, os.path.join(SRC, "python", "path"), BUILD], capture_output=True, text=True, check=True)
    if tested(python, done.stdout.strip(), tests):
        return 1
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--tags", "python-runtime", "--destdir", root],
                       check=True, stdout=subprocess.DEVNULL)
        found = [at for at, _, names in os.walk(root) if "__init__.py" in names]
        names = sorted(os.listdir(found[0])) if len(found) == 1 else []
        want = sorted(n for n in os.listdir(os.path.join(SRC, "python", "vyre")) if n != "__pycache__")
        if [n for n in names if not n.startswith("_core.cpython")] != want or len(names) != len(want) + 1:
            print("installed: %s\nof: %s" % (names, want))
            return 1
        return tested(python, os.path.dirname(found[0]), os.path.join(tests, "test_vyre.py"), "-k", "gradients or texts or import")


sys.exit(main())
