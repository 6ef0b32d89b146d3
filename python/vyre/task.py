# SPDX-License-Identifier: MIT
"""A program on a device, with its data."""
from __future__ import annotations

import operator
import threading
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._core import Error
from .array import DTYPES, Array, convert, from_any
from .device import Device


class Parameter(NamedTuple):
    """Of a program: `role` is scalar, buffer, cotangent, gradient or tangent, `of` what it belongs to."""
    name: str
    role: str
    of: Optional[str]
    access: str  # in, out, inout
    type: str    # f32, u32, …
    rank: int

    @property
    def is_input(self) -> bool:
        return self.access != "out"

    @property
    def dtype(self) -> np.dtype:
        return DTYPES[self.type]


def _whole(value: Any) -> Optional[int]:
    """An integer of any kind; None: something else."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def overlapping(first: str, second: str) -> Error:
    """What a device says of one memory for two parameters."""
    e = Error("error: '%s' and '%s' are bound to memory that overlaps [E0706]\nfix: use separate arrays\n" % (first, second))
    e.code, e.text, e.fix = "E0706", "'%s' and '%s' are bound to memory that overlaps" % (first, second), "use separate arrays"
    e.file, e.line, e.column = "", 0, 0
    return e


class Task:
    """A program on one device, with what it was given last.

    On a Vulkan device all data are in `Array`s that the task has bound: the caller's, or `own` ones, into which values of
    the host are copied.  In the interpreter, which has no memory of its own, each run takes and returns contents.
    binds False: the task itself copies what it is given.
    """

    def __init__(self, task: Any, device: Device, binds: bool = True):
        self.task, self.device, self.binds = task, device, binds
        self.lock = threading.Lock()
        self.parameters = [Parameter(*row[:6]) for row in task.parameters()]
        self.in_place = binds and not device._interprets  # arrays are used where they are
        self.known = {p.name: p for p in self.parameters}
        self.results = [p for p in self.parameters if p.access != "in" and p.role != "scalar"]
        self.bound: Dict[str, Array] = {}  # that the task has; of the interpreter: that it is to read and fill
        self.own: Dict[str, Array] = {}    # of these, copies of what the host gave
        self.last: Dict[str, Any] = {}     # what a call gave that left nothing to copy in or out, and nothing changed since

    # -------------------------------------------------------------------------------------- data
    def give(self, p: Parameter, value: Any) -> None:
        if isinstance(value, Array) and self.binds:
            self.bind(p, value)
            return
        value = from_any(value, p.name)
        if not self.in_place:
            self.task.set(p.name, p.type, value.shape, convert(p.name, p.type, value))
            return
        own = self.own.get(p.name)
        if own is None or own.shape != value.shape:
            own = Array(self.device, p.type, value.shape)
        own._fill(p.name, value)
        self.bind(p, own)
        self.own[p.name] = own

    def bind(self, p: Parameter, array: Array) -> None:
        if array.released:
            raise ValueError("%s: the array was released: make another by Device.array" % p.name)
        if self.device._interprets:
            self.take(p, array)
        elif self.bound.get(p.name) is not array:
            self.expect(p, array)
            self.task.bind(p.name, array)
        self.bound[p.name] = array

    def expect(self, p: Parameter, array: Array) -> None:
        if array.device._session is not self.device._session:
            raise TypeError("%s is on another device: copy it there, dev.array(a.numpy())" % p.name)
        if array.type != p.type:
            raise TypeError("%s is %s, but an array of %s is given: dev.array(…, dtype=%r)" % (p.name, p.type, array.type, p.type))

    def take(self, p: Parameter, array: Array) -> None:
        self.expect(p, array)
        if p.access != "out":
            self.task.set(p.name, p.type, array.shape, array)
        elif p.role == "buffer":
            self.task.set(p.name, p.type, array.shape, None)

    def give_scalar(self, p: Parameter, value: Any) -> None:
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError
            whole = None if p.type.startswith("f") else _whole(value)
            number = float(value) if whole is None else whole
        except (TypeError, ValueError):
            raise TypeError("%s is a number, %s, but %s is given" % (p.name, p.type, type(value).__name__)) from None
        if whole is None:
            self.task.set_float(p.name, number)  # a fraction is refused where an integer is expected
        else:
            self.task.set_int(p.name, number)

    def give_all(self, program: str, data: Mapping[str, Any], groups: Optional[Sequence[int]] = None) -> None:
        self.last = {}
        for name, value in data.items():
            if isinstance(value, Array) and self.bound.get(name) is value and self.in_place and not value.released:
                continue  # as in the call before
            p = self.known.get(name)
            if p is None:
                raise TypeError("%s has no parameter %s; it has %s" % (program, name, ", ".join(self.known)))
            if p.role == "scalar":
                self.give_scalar(p, value)
            elif p.access == "out" and not isinstance(value, Array):
                self.shape_only(p, value)
            else:
                self.give(p, value)
        if groups is not None:
            x, y, z = (*groups, 1, 1)[:3] if not isinstance(groups, int) else (groups, 1, 1)
            self.task.set_groups(int(x), int(y), int(z))

    def shape_only(self, p: Parameter, value: Any) -> None:
        """Of an `out` buffer whose shape nothing decides: a shape, or an array that has it."""
        shape = value if isinstance(value, tuple) else np.shape(from_any(value, p.name))
        self.task.set(p.name, p.type, tuple(int(n) for n in shape), None)

    # -------------------------------------------------------------------------------------- runs
    def repeats(self, data: Mapping[str, Any]) -> bool:
        """Is this call like the last one, with the same arrays of the device, results among them?"""
        last = self.last
        return bool(last) and len(last) == len(data) and all(
            last.get(name) is value and (not isinstance(value, Array) or not value.released) for name, value in data.items())

    def remember(self, data: Mapping[str, Any]) -> None:
        """After a run: what another one needs not be given again."""
        here = self.in_place and not self.own and all(p.name in self.bound for p in self.results)
        self.last = dict(data) if here and all(isinstance(v, (Array, int, float)) for v in data.values()) else {}

    def again(self) -> Tuple[Dict[str, Any], float]:
        self.task.run()
        return {p.name: self.bound[p.name] for p in self.results}, self.task.stats()["milliseconds"]

    def check_apart(self) -> None:
        """The interpreter computes on copies, and could not tell that two parameters are one array of the caller's."""
        first: Dict[int, Parameter] = {}
        for name, array in self.bound.items():
            other, p = first.setdefault(id(array), self.known[name]), self.known[name]
            if other is not p and not other.access == p.access == "in":
                raise overlapping(other.name, p.name)

    def run(self, on_device: bool = False) -> Tuple[Dict[str, Any], float]:
        """(results by name, milliseconds)."""
        if self.device._interprets:
            self.check_apart()
        made = self.make_results() if on_device and not self.device._interprets else ()
        try:
            self.task.run()
            found = self.fetch(on_device)
        finally:
            for name in made:  # they are the caller's: the next run has memory of its own again
                self.task.unbind(name)
                del self.bound[name]
        return found, self.task.stats()["milliseconds"]

    def make_results(self) -> List[str]:
        """Binds new arrays for the results that have none."""
        self.task.prepare()  # their shapes are known then
        made = [(p, shape) for p, shape in self.shapes() if p.name not in self.bound]
        for p, shape in made:
            self.bind(p, Array(self.device, p.type, shape))
        return [p.name for p, _ in made]

    def shapes(self) -> List[Tuple[Parameter, Tuple[int, ...]]]:
        """Of the results, those whose shape is known."""
        rows = {row[0]: row[6] for row in self.task.parameters()}
        return [(p, rows[p.name]) for p in self.results if rows[p.name] is not None]

    def fetch(self, on_device: bool) -> Dict[str, Any]:
        """All results: arrays of the device that are the caller's, or become it; the others are read."""
        kept = {p.name: self.bound[p.name] for p in self.results if p.name in self.bound and (on_device or p.name not in self.own)}
        for name, array in kept.items():
            self.own.pop(name, None)
            if self.device._interprets:
                self.task.read_into(name, array.type, array)
        if len(kept) == len(self.results):
            return kept
        return {p.name: kept[p.name] if p.name in kept else self.read(p, shape, on_device) for p, shape in self.shapes()}

    def read(self, p: Parameter, shape: Tuple[int, ...], on_device: bool) -> Any:
        array = Array(self.device, p.type, shape) if on_device else np.empty(shape, p.dtype)
        self.task.read_into(p.name, p.type, array)
        return array.view(np.int32) != 0 if p.type == "bool" and not on_device else array
