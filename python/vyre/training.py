# SPDX-License-Identifier: MIT
"""Training with one call."""
from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from .device import Device, default_device
from .program import Program, names
from .task import Task


class Fit(NamedTuple):
    """What `fit` found: arrays of the parameters by name, the loss of each step, how many steps."""
    params: Dict[str, np.ndarray]
    losses: np.ndarray
    steps: int


def _bar(progress, steps: int):
    """(update, close) of tqdm, of a function that gets (step, steps, loss), or of nothing."""
    if not progress:
        return (lambda n, loss: None), (lambda: None)
    if callable(progress):
        done = [0]

        def call(n, loss):
            done[0] += n
            progress(done[0], steps, loss)
        return call, (lambda: None)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _plain_bar(steps), (lambda: print(file=sys.stderr))
    bar = tqdm(total=steps, unit="step")

    def update(n, loss):
        bar.set_postfix(loss="%.6g" % loss, refresh=False)
        bar.update(n)
    return update, bar.close


def _plain_bar(steps: int):
    done, start = [0], time.monotonic()

    def update(n, loss):
        done[0] += n
        rate = done[0] / max(time.monotonic() - start, 1e-9)
        print("\rstep %d of %d, loss %.6g, %.0f steps per second" % (done[0], steps, loss, rate), end="", file=sys.stderr)
    return update


def _schedule(lr: Union[None, float, str], optimizer: Optional[str], steps: int) -> Tuple[float, int, float, float, int]:
    """(first rate, schedule, last, factor, period) of 0.01, "cosine:0.1:0.001" or "step:0.1:0.5:100"."""
    if not isinstance(lr, str):
        return (float(lr) if lr is not None else 0.0), 0, 0.0, 0.0, 0
    kind, *numbers = lr.split(":")
    try:
        if kind == "cosine" and len(numbers) in (1, 2):
            return float(numbers[0]), 1, float(numbers[1]) if len(numbers) == 2 else 0.0, 0.0, steps
        if kind == "step" and len(numbers) == 3:
            return float(numbers[0]), 2, 0.0, float(numbers[1]), int(numbers[2])
    except ValueError:
        pass
    raise ValueError("lr=%r: a number, \"cosine:FIRST[:LAST]\" or \"step:FIRST:FACTOR:STEPS\"" % lr)


def fit(program: Program, *, params: Sequence[str], data: Mapping[str, Any], steps: int, loss: str = "loss",
        optimizer: Optional[str] = None, lr: Union[None, float, str] = None, batch: Optional[Tuple[Sequence[str], int]] = None,
        seed: int = 0, tolerance: float = 0.0, deterministic: bool = False, window: Optional[int] = None,
        progress: Union[bool, Callable[[int, int, float], None]] = False, device: Optional[Device] = None,
        comm: Any = None, shard: Sequence[str] = (), sums: bool = False, deadline: Optional[float] = None) -> Fit:
    """Minimises the output `loss` (one float) of a program over its inputs `params`.

    data has all inputs, the parameters' first values among them, and scalars that shapes do not decide.  optimizer: adam,
    sgd, momentum or lbfgs.  lr: the learning rate, "cosine:FIRST[:LAST]" or "step:FIRST:FACTOR:STEPS"; None: one that
    suits the optimizer.  batch: (names of buffers whose first axis counts rows, rows in a batch).  tolerance: ends where
    the loss no longer changes by more than that, relatively.  window: steps between two reports.  progress: True (tqdm if it
    is installed), or a function of (step, steps, loss).  All steps of a window run on the device one after another.
    A loss that is no finite number raises FloatingPointError.

    comm: an mpi4py communicator, or an object with rank, size and allreduce(array), through which several processes train
    together; each makes this call with the same arguments and takes its rows of the arrays that `shard` names.  The loss is
    the mean over rows, with `sums` it adds up.  All get the same result; progress is reported by rank 0.  device: this
    process's.  A process that raises leaves the others waiting, unless the communicator ends them (python -m mpi4py does), or
    for `deadline` seconds: of mpi4py, a sum that takes longer is an error then.
    """
    if steps < 1:
        raise ValueError("steps=%d: at least 1" % steps)
    device = device or default_device()
    module, name = program._result()
    window = min(steps, window or max(1, min(100, steps // 10)))
    rate, schedule, last, factor, period = _schedule(lr, optimizer, steps)
    rows = (names(batch[0]), int(batch[1])) if batch else (None, 0)
    training = (loss, names(params), optimizer, _rate(optimizer) if lr is None else rate, window, rows[0], rows[1], seed, float(tolerance),
                schedule, last, factor, period)
    ranks = None
    if comm is not None:
        from .ranks import spread
        ranks, data = spread(comm, names(shard) or (), sums, data, deadline)
        progress = progress if ranks[0] == 0 else False
    elif shard or deadline is not None:
        raise ValueError("shard= and deadline= need comm=, through which processes train together")
    task = Task(device._session.fit(module, {"program": name, "deterministic": deterministic}, training, ranks), device,
                binds=ranks is None)
    task.give_all(name, data)
    return _run(task, names(params) or [], steps, window, progress)


def _rate(optimizer: Optional[str]) -> float:
    from . import _core
    return _core.learning_rate(optimizer or "adam")


def _run(task: Task, params: Sequence[str], steps: int, window: int, progress) -> Fit:
    update, close = _bar(progress, steps)
    losses, done = [], 0
    losses_of, step_of, count_of = task.task.fit_names()
    try:
        while done < steps:
            now = min(window, steps - done)
            if now != window:
                task.task.set_int(count_of, now)
            found, _ = task.run()
            seen = found[losses_of].reshape(-1)[:now]
            losses.append(seen)
            if not np.isfinite(seen).all():
                step = done + int(np.argmin(np.isfinite(seen)))
                raise FloatingPointError("the loss is %s at step %d: try a smaller learning rate" % (seen[step - done], step))
            done += now
            update(now, float(seen[-1]))
            if int(found[step_of].reshape(-1)[0]) < done:
                break  # by `tolerance`
    finally:
        close()
    found = task.fetch(on_device=False)
    count = min(done, int(found[step_of].reshape(-1)[0]))
    return Fit({name: found[name] for name in params}, np.concatenate(losses)[:count], count)
