# SPDX-License-Identifier: MIT
"""Trainings whose rows are spread over several processes: what `fit` makes of comm= and shard=."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

import numpy as np


def _sum_of(comm: Any) -> Callable[[np.ndarray], None]:
    """A function that replaces an array by its sum over the ranks."""
    if hasattr(comm, "Allreduce"):  # mpi4py
        from mpi4py import MPI
        return lambda array: comm.Allreduce(MPI.IN_PLACE, array, op=MPI.SUM)
    if not callable(getattr(comm, "allreduce", None)):
        raise TypeError("comm=%r: an mpi4py communicator, or an object with rank, size and allreduce(array)" % (comm,))

    def add(array: np.ndarray) -> None:
        array[...] = comm.allreduce(array.copy())
    return add


def spread(comm: Any, shard: Sequence[str], sums: bool, data: Mapping[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """(what the extension takes, the data with this rank's rows)."""
    names: List[str] = list(shard)
    if not names:
        raise ValueError("comm= needs shard=: the names of arrays of which each rank takes its rows")
    rank, ranks, add = int(comm.rank), int(comm.size), _sum_of(comm)
    rows = {}
    for name in names:
        if name not in data:
            raise TypeError("shard has %s, but data has not" % name)
        rows[name] = np.asarray(data[name])
        if not rows[name].ndim or len(rows[name]) != len(rows[names[0]]):
            raise ValueError("shard: %s has other rows than %s: shapes %s and %s" % (name, names[0], rows[name].shape, rows[names[0]].shape))
    count = len(rows[names[0]])
    if count < ranks:
        raise ValueError("shard: %s has %d rows, fewer than %d ranks" % (names[0], count, ranks))
    first = rank * (count // ranks) + min(rank, count % ranks)
    end = first + count // ranks + (rank < count % ranks)

    def add_view(view: memoryview, kind: str) -> None:
        add(np.frombuffer(view, dtype={"f32": np.float32, "f64": np.float64}[kind]))
    return (rank, ranks, names, bool(sums), add_view), {**data, **{name: a[first:end] for name, a in rows.items()}}
