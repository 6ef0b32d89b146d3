# SPDX-License-Identifier: MIT
"""Engines that run programs, and arrays that stay with them."""
from __future__ import annotations

import itertools
import os
import threading
from typing import Any, Dict, Optional

import numpy as np

from . import _core

# Element types of the language, and how NumPy stores them.
DTYPES: Dict[str, np.dtype] = {
    "bool": np.dtype(np.uint32), "i8": np.dtype(np.int8), "u8": np.dtype(np.uint8), "i16": np.dtype(np.int16),
    "u16": np.dtype(np.uint16), "i32": np.dtype(np.int32), "u32": np.dtype(np.uint32), "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def from_any(value: Any, name: str = "array") -> np.ndarray:
    """A NumPy array of what offers DLPack, the buffer protocol, or is a number or list; no copy where it is on the CPU."""
    if isinstance(value, Array):
        return value.values
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        kind, _ = value.__dlpack_device__()
        if int(kind) != 1:
            raise TypeError("%s is on another device: move it to the CPU first (of torch: .cpu())" % name)
        if getattr(value, "requires_grad", False):
            value = value.detach()
        return np.from_dlpack(value) if hasattr(np, "from_dlpack") else np.asarray(value)
    return np.asarray(value)


class Array:
    """Values that a device keeps: passed to a program again, they are not copied again.

    Change them by `assign`; `values` is what was assigned last.
    """
    _versions = itertools.count(1)

    def __init__(self, values: Any):
        self.assign(values)

    def assign(self, values: Any) -> None:
        self.values = np.array(from_any(values))  # a copy of our own
        self.values.flags.writeable = False
        self.version = next(Array._versions)

    @property
    def shape(self):
        return self.values.shape

    @property
    def dtype(self):
        return self.values.dtype

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __dlpack__(self, **how):
        return np.array(self.values).__dlpack__(**how)

    def __dlpack_device__(self):
        return (1, 0)

    def __repr__(self):
        return "vyre.Array(%r)" % (self.values,)


class Device:
    """A Vulkan device by a part of its name or its index, else $VYRE_DEVICE, else the best; or the interpreter.

    `Device("interpreter")` computes in the reference interpreter, slowly.  Threads may share a device.
    """

    def __init__(self, name: Optional[str] = None):
        interpreter = name == "interpreter"
        self._session = _core.Session(None if interpreter or name is None else str(name), interpreter)

    @property
    def name(self) -> str:
        return self._session.name()

    @property
    def is_cpu(self) -> bool:
        return self._session.is_cpu()

    def array(self, values: Any) -> Array:
        """Values that stay on the device over many calls."""
        return Array(values)

    def __repr__(self):
        return "vyre.Device(%r)" % self.name


_default: Optional[Device] = None
_default_lock = threading.Lock()
_default_pid = 0


def default_device() -> Device:
    """The device of programs that are called without one; opened once in a process."""
    global _default, _default_pid
    with _default_lock:
        if _default is None or _default_pid != os.getpid():  # Vulkan does not survive a fork
            _default, _default_pid = Device(), os.getpid()
        return _default
