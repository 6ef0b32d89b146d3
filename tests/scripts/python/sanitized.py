#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SANITIZED
"""Bad input never ends the interpreter: tests of it and of arrays with the extension of the sanitizer build.

The interpreter is an ordinary one, so AddressSanitizer's runtime is loaded before it.  Every object of Python has
memory of its own (PYTHONMALLOC), or a freed one would not be noticed; what CPython itself never frees is no leak of ours.
"""
import json
import os
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]


def skip(why):
    print(why)
    sys.exit(77)


def interpreter():
    path = os.path.join(BUILD, "python", "interpreter")
    if not os.path.exists(path):
        skip("no package for Python in this build: no headers (python3-dev)")
    with open(path, encoding="utf-8") as f:
        python = f.read().strip()
    for module in ("numpy", "pytest"):
        if subprocess.run([python, "-c", "import " + module], capture_output=True, check=False).returncode:
            skip("%s has no %s (python3-%s)" % (python, module, module))
    return python


def runtime():
    """The sanitizers' shared library of the compiler that built."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as f:
        command = json.load(f)[0]["command"].split()
    compiler = next(word for word in command if not word.endswith("ccache"))
    name = "libclang_rt.asan-%s.so" % os.uname().machine if "clang" in compiler else "libasan.so"
    path = subprocess.run([compiler, "-print-file-name=" + name], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.exists(path):
        skip("%s has no %s" % (compiler, name))
    return path


def main():
    python, library = interpreter(), runtime()
    path = subprocess.run([sys.executable, os.path.join(SRC, "python", "path"), BUILD], capture_output=True, text=True,
                          check=True).stdout.strip()
    env = {**os.environ, "PYTHONPATH": path, "LD_PRELOAD": library, "PYTHONMALLOC": "malloc", "PYTHONDONTWRITEBYTECODE": "1",
           "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"}
    return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-s", "-k", "not what_a_call_adds",  # a time
                           *(os.path.join(SRC, "python", "tests", name) for name in ("test_bad_input.py", "test_arrays.py"))], env=env, check=False).returncode


sys.exit(main())
