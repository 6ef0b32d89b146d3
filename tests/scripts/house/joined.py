#!/usr/bin/env python3
# ONCE
"""The joined sources of tools/quickstart (tools/gen/join_sources.py): each source of the command is in
one of them, they compile, they are the same in each run, and there is a small number of them."""
import glob
import os
import re
import shutil
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
MOST = 60 # compiled one by one, the sources are more than ten times as many
FOLDERS = ("ir", "autodiff", "spirv", "vkrt", "session", "tools")


def sources():
    """All of them but the benchmark's; sources_listed.py compares them with what is built."""
    found = [path for folder in FOLDERS for path in glob.glob(f"{SRC}/{folder}/**/*.c", recursive=True)]
    return sorted(path for path in found if not path.endswith("bench_compile.c"))


def join(out, seed):
    run = subprocess.run([sys.executable, f"{SRC}/tools/gen/join_sources.py", SRC, out, *sources()],
                         env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
    lists = []
    for path in run.stdout.split():
        with open(path, encoding="utf-8") as file:
            lists.append(re.findall('#include "(.*)"', file.read()))
    return lists


def compile_all(out):
    """What the compiler says about the joined files; quickstart builds them with clang where it is."""
    compiler = shutil.which("clang") or shutil.which("gcc")
    files = sorted(glob.glob(f"{out}/joined_*.c"))
    run = subprocess.run([compiler, "-fsyntax-only", "-std=gnu11", "-DHAVE_PNG", "-I", SRC, "-I", BUILD, *files],
                         capture_output=True, text=True, check=False)
    return [line for line in run.stderr.splitlines() if "error:" in line] or ["failed"] * bool(run.returncode)


def main():
    lists = join("joined", "1")
    wrong = [] if join("again", "2") == lists else ["two runs join differently"]
    joined = sorted(path for one in lists for path in one)
    if joined != sources():
        wrong.append("not each source is in one file: " + " ".join(sorted(set(joined) ^ set(sources()))))
    if [f"{SRC}/vkrt/loader.c"] not in lists:
        wrong.append("vkrt/loader.c, for which a header holds functions, is not alone")
    if len(lists) > MOST:
        wrong.append(f"{len(lists)} joined files")
    wrong += compile_all("joined")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
