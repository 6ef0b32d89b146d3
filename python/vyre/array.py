# SPDX-License-Identifier: MIT
"""Arrays that stay with a device, and what NumPy, DLPack and the buffer protocol make of values."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

import numpy as np

from . import _core

if TYPE_CHECKING:
    from .device import Device

# Element types of the language, and how NumPy stores them.
DTYPES: Dict[str, np.dtype] = {
    "bool": np.dtype(np.uint32), "i8": np.dtype(np.int8), "u8": np.dtype(np.uint8), "i16": np.dtype(np.int16),
    "u16": np.dtype(np.uint16), "i32": np.dtype(np.int32), "u32": np.dtype(np.uint32), "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
TYPES: Dict[np.dtype, str] = {**{dtype: name for name, dtype in DTYPES.items()}, np.dtype(np.bool_): "bool"}


def from_any(value: Any, name: str = "array") -> np.ndarray:
    """A NumPy array of what offers DLPack, the buffer protocol, or is a number or list; no copy where it is on the CPU."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Array):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        kind, _ = value.__dlpack_device__()
        if int(kind) != 1:
            raise TypeError("%s is on another device: move it to the CPU first (of torch: .cpu())" % name)
        if getattr(value, "requires_grad", False):
            value = value.detach()
        return np.from_dlpack(value) if hasattr(np, "from_dlpack") else np.asarray(value)
    return np.asarray(value)


def check_kind(name: str, type: str, value: np.ndarray) -> None:  # pylint: disable=redefined-builtin
    """Floats and integers do not become each other silently, and integers do not wrap."""
    want = DTYPES[type]
    kinds = {"f": "f", "i": "iu", "u": "iu", "b": "biu"}["b" if type == "bool" else want.kind]
    if value.dtype.kind not in kinds + ("b" if want.kind != "f" else ""):
        raise TypeError("%s is %s, but %s is given: convert it, as by .astype(%r)" % (name, type, value.dtype, want.name))
    if want.kind in "iu" and value.size and type != "bool":
        limits = np.iinfo(want)
        if value.min() < limits.min or value.max() > limits.max:
            raise OverflowError("%s is %s, which does not have the value %d" % (
                name, type, value.min() if value.min() < limits.min else value.max()))


def convert(name: str, type: str, value: np.ndarray) -> np.ndarray:  # pylint: disable=redefined-builtin
    """The values in the language's type, contiguous."""
    want = DTYPES[type]
    if value.dtype != want:
        check_kind(name, type, value)
    return np.ascontiguousarray(value != 0 if type == "bool" else value, dtype=want)


def type_for(values: Any, array: np.ndarray, dtype: Any) -> str:
    """The element type of a device array: `dtype`, a NumPy dtype or a name of the language, else that of the values.

    A list or a number, which has none, becomes f32 or i32 where these have its values.
    """
    if dtype is not None:
        return type_of(dtype)
    if isinstance(values, (list, tuple, int, float)):
        if array.dtype == np.float64:
            return "f32"
        if array.dtype == np.int64 and (not array.size or -2**31 <= array.min() and array.max() < 2**31):
            return "i32"
    return type_of(array.dtype)


def type_of(dtype: Any) -> str:
    """A string is a name of the language: NumPy's "i8" has 64 bits."""
    found = dtype if isinstance(dtype, str) and dtype in DTYPES else None
    if found is None and not isinstance(dtype, str):
        found = TYPES.get(np.dtype(dtype).newbyteorder("="))
    if found is None:
        raise TypeError("%s: the language has no such type; it has %s" % (dtype, ", ".join(DTYPES)))
    return found


class Array(_core.Array):
    """Values in a device's memory, made by `Device.array`, `Device.empty` and programs that are called `on_device`.

    A program that is given one reads and writes it there: nothing is copied.  Where the host sees the memory (`mapped`:
    devices on the CPU), `np.asarray(a)`, `memoryview(a)` and `np.from_dlpack(a)` are views of it; elsewhere they are copies
    (`memoryview` raises BufferError).  Leave a view alone while a program runs on the array.  `a.release()` gives the memory
    back early; views and programs that have it keep it alive.
    """

    def __new__(cls, device: "Device", type: str, shape: Tuple[int, ...]):  # pylint: disable=redefined-builtin
        made = super().__new__(cls, device._session, type, shape, device.is_cpu)
        made.device = device
        return made

    device: "Device"

    def assign(self, values: Any) -> None:
        """Copies values of its shape into it."""
        self._fill("array", from_any(values))

    def _fill(self, name: str, value: np.ndarray) -> None:
        """Once: into the memory itself where that is mapped, converted on the way."""
        if value.shape != self.shape:
            raise ValueError("%s has shape %s, but %s is given: make another array" % (name, self.shape, value.shape))
        if not self.mapped:
            self.write(convert(name, self.type, value))
            return
        if value.dtype != self.dtype:
            check_kind(name, self.type, value)
        np.copyto(np.asarray(self), value != 0 if self.type == "bool" else value, casting="unsafe")

    def numpy(self) -> np.ndarray:
        """A copy of its contents."""
        made = np.empty(self.shape, self.dtype)
        self.read_into(made)
        return made

    @property
    def values(self) -> np.ndarray:
        """Its contents, not to be changed: a view where the memory is mapped, else a copy."""
        found = np.asarray(self)
        found.flags.writeable = False
        return found

    @property
    def dtype(self) -> np.dtype:
        """How NumPy stores its elements; a bool takes 32 bits."""
        return DTYPES[self.type]

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if self.released or self.mapped and not copy:
            return np.asarray(memoryview(self), dtype=dtype)
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack__(self, **how: Any) -> Any:
        return np.asarray(self).__dlpack__(**how)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("it has no axis")
        return self.shape[0]

    def __repr__(self) -> str:
        return "vyre.Array(released)" if self.released else "vyre.Array(%r)" % (self.numpy(),)
