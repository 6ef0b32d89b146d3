# SPDX-License-Identifier: MIT
"""Engines that run programs."""
from __future__ import annotations

import os
import threading
from typing import Any, Optional, Sequence, Union

from . import _core
from .array import Array, from_any, type_for

class Device:
    """A Vulkan device by a part of its name or its index, else $VYRE_DEVICE, else the best; or the interpreter.

    `Device("interpreter")` computes in the reference interpreter, slowly.  Threads may share a device.
    """

    def __init__(self, name: Optional[str] = None):
        interpreter = name == "interpreter"
        self._session = _core.Session(None if interpreter or name is None else str(name), interpreter)
        self._interprets = interpreter

    @property
    def name(self) -> str:
        return self._session.name()

    @property
    def is_cpu(self) -> bool:
        return self._session.is_cpu()

    def array(self, values: Any, dtype: Any = None) -> Array:
        """A copy of the values in the device's memory, where programs read and write it.

        It has the values' type, or `dtype`: of NumPy, or a name of the language.  Lists become f32 or i32.
        """
        found = from_any(values)
        made = Array(self, type_for(values, found, dtype), found.shape)
        made.assign(found)
        return made

    def empty(self, shape: Union[int, Sequence[int]], dtype: Any = "f32") -> Array:
        """An array whose contents are not set: for results."""
        lengths = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
        return Array(self, type_for((), None, dtype), lengths)

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
