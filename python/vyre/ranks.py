# SPDX-License-Identifier: MIT
"""Trainings whose rows are spread over several processes: what `fit` makes of comm= and shard=."""
from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np


def _wait(request: Any, deadline: float) -> None:
    start = time.monotonic()
    while not request.Test():
        spent = time.monotonic() - start
        if spent > deadline:
            raise TimeoutError("another rank has not answered for %g s (deadline)" % deadline)
        if spent > 1e-3:  # sums of small arrays take microseconds
            time.sleep(1e-4)


def _sum_of(comm: Any, deadline: Optional[float]) -> Callable[[np.ndarray], None]:
    """A function that replaces an array by its sum over the ranks."""
    if hasattr(comm, "Allreduce"):  # mpi4py
        from mpi4py import MPI
        if deadline is None:
            return lambda array: comm.Allreduce(MPI.IN_PLACE, array, op=MPI.SUM)
        return lambda array: _wait(comm.Iallreduce(MPI.IN_PLACE, array, op=MPI.SUM), deadline)
    if deadline is not None:
        raise TypeError("deadline=: comm=%r must end its own sums: only mpi4py's can be asked" % (comm,))
    if not callable(getattr(comm, "allreduce", None)):
        raise TypeError("comm=%r: an mpi4py communicator, or an object with rank, size and allreduce(array)" % (comm,))

    def add(array: np.ndarray) -> None:
        array[...] = comm.allreduce(array.copy())
    return add


def spread(comm: Any, shard: Sequence[str], sums: bool, data: Mapping[str, Any],
           deadline: Optional[float] = None) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """(what the extension takes, the data with this rank's rows)."""
    names: List[str] = list(shard)
    if not names:
        raise ValueError("comm= needs shard=: the names of arrays of which each rank takes its rows")
    rank, ranks, add = int(comm.rank), int(comm.size), _sum_of(comm, deadline)
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
