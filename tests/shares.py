# SPDX-License-Identifier: MIT
"""Which rows of a long table a run takes: one of `parts`, and which one follows from the seed; all with VYRE_SHARE=1."""
import os
import subprocess


def whole():
    return os.environ.get("VYRE_SHARE", "1") == "1"


def drawn(rows, parts):
    """Every parts-th row, beginning with one that the seed chooses."""
    rows = list(rows)
    seed = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED") or 0)
    return rows if whole() else rows[seed % parts::parts]


def touched():
    """The files of the tree that its last 60 commits touched: a new file is seen by the run that
    lands it, not by a later one whose seed draws it."""
    top = os.environ["SRC"]
    try:
        log = subprocess.run(["git", "log", "-60", "--no-merges", "--diff-filter=AMR", "--name-only", "--format="],
                             cwd=top, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    except FileNotFoundError:  # no git: an archive of the sources has no commits either
        return set()
    return {os.path.join(top, path) for path in log.stdout.split("\n") if path}


def drawn_files(files, parts):
    """The same of files of the tree, and those of them that were touched lately."""
    files = list(files)
    if whole():
        return files
    few, lately = set(drawn(files, parts)), touched()
    return [path for path in files if path in few or os.path.join(os.environ["SRC"], path) in lately]
