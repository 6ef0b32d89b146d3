# SPDX-License-Identifier: MIT
"""Which rows of a long table a run takes: one of `parts`, and which one follows from the seed; all with VYRE_SHARE=1."""
import os


def whole():
    return os.environ.get("VYRE_SHARE", "1") == "1"


def drawn(rows, parts):
    """Every parts-th row, beginning with one that the seed chooses."""
    rows = list(rows)
    seed = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED") or 0)
    return rows if whole() else rows[seed % parts::parts]
