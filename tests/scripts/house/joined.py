#!/usr/bin/env python3
# ONCE
"""The joined sources of tools/quickstart (tools/gen/join_sources.py): each source of the command is in
one of them, they are the same in each run, and there is a small number of them.  That they compile is
seen by dist.sh, which builds the command from them."""
import glob
import os
import re
import subprocess
import sys

SRC = os.environ["SRC"]
MOST = 60 # compiled one by one, the sources are more than ten times as many
FOLDERS = ("ir", "autodiff", "spirv", "vkrt", "session", "tools")


def sources():
    """All of them but the benchmark's and those of modules; sources_listed.py compares them with what is built."""
    found = [path for folder in FOLDERS for path in glob.glob(f"{SRC}/{folder}/**/*.c", recursive=True)]
    return sorted(path for path in found if not path.endswith(("bench_compile.c", "mpi_comm.c", "npz_zip.c")))


def join(out, seed):
    run = subprocess.run([sys.executable, f"{SRC}/tools/gen/join_sources.py", SRC, out, *sources()],
                         env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
    lists = []
    for path in run.stdout.split():
        with open(path, encoding="utf-8") as file:
            lists.append(re.findall('#include "(.*)"', file.read()))
    return lists


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
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
