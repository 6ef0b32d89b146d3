# SPDX-License-Identifier: MIT
"""Programs and their derivatives."""
from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from .array import Array
from .device import Device, default_device
from .task import Parameter, Task

Path = Union[str, "os.PathLike[str]"]


class Result(Mapping[str, np.ndarray]):
    """What a run computed: `r.grad_w`, `r["grad_w"]`; a mapping of arrays."""

    def __init__(self, arrays: Dict[str, np.ndarray], milliseconds: float):
        self._arrays = arrays
        self.milliseconds = milliseconds  # on the device

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.__dict__["_arrays"][name]
        except KeyError:
            raise AttributeError("no result %s; there are %s" % (name, ", ".join(self.__dict__.get("_arrays", ())))) from None

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __dir__(self):
        return [*super().__dir__(), *self._arrays]

    def __repr__(self):
        return "Result(%s)" % ", ".join("%s=%r" % item for item in self._arrays.items())


class CheckRow(NamedTuple):
    """One test of `Program.check`; got, expected and error are those of the worst element."""
    test: str
    buffer: Optional[str]
    verdict: str  # passed, failed, skipped
    compared: int
    failed: int
    got: float
    expected: float
    error: float
    note: str


class Check:
    """What `Program.check` found; true where the gradient is right."""

    def __init__(self, passed: bool, unverified: Optional[str], rows: List[CheckRow]):
        self.passed, self.unverified, self.rows = passed, unverified, rows

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self):
        wrong = ["%s %s: %g, expected %g %s" % (r.test, r.buffer, r.got, r.expected, r.note) for r in self.rows if r.verdict == "failed"]
        return "<vyre check: %s>" % ("; ".join(wrong) or ("nothing could be compared of " + self.unverified
                                                          if self.unverified else "%d tests passed" % len(self.rows)))


class Program:
    """A program, a pipeline, or a derivative; made by `vyre.load`, `grad` and `jvp`."""

    def __init__(self, module, name: str, settings: Dict[str, Any]):
        self._module = module        # what is differentiated
        self._source = name
        self._settings = settings    # of the last derivative, and of the code
        self._parameters: Optional[List[Parameter]] = None
        self._derived = None         # the module of the derivative, once its text is asked for
        self._tasks: Dict[Tuple[Device, frozenset], List[Task]] = {}
        self._latest: Optional[Task] = None  # for calls that repeat the last one
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------ derivatives
    def _is_derivative(self) -> bool:
        return bool(self._settings.get("order"))

    def _result(self):
        """(module, name) of this program as one of its own."""
        if not self._is_derivative():
            return self._module, self._source
        with self._lock:
            if self._derived is None:
                self._derived = self._module.derive({**self._settings, "program": self._source})
            return self._derived, self._derived.entry(None)

    def _derivative(self, **settings) -> "Program":
        module, name = self._result()
        code: Dict[str, Any] = {k: self._settings[k] for k in ("precise", "fast_math") if k in self._settings}
        given = {k: v for k, v in settings.items() if v is not None and v is not False}
        made = Program(module, name, {**code, **given})
        made.parameters  # an error about `of` or `wrt` is raised here
        return made

    def grad(self, wrt: Optional[Sequence[str]] = None, of: Optional[Sequence[str]] = None, *, order: int = 1,
             with_value: bool = False, seed: bool = False, deterministic: bool = False, accumulate: Optional[str] = None,
             keep: Optional[str] = None, tape_limit: Optional[int] = None, batches: Optional[int] = None,
             assume: Optional[Sequence[str]] = None, name: Optional[str] = None) -> "Program":
        """The gradient of outputs `of` (all floats) with respect to inputs `wrt` (all floats), by reverse mode.

        It takes the program's inputs and computes grad_x for each x.  seed: cotangents are inputs (grad_y, ct_x), else
        ones.  with_value: it computes the outputs, too.  deterministic: the same bits in each run on each device.
        accumulate: auto, atomic or gather.  keep: auto, all or sqrt, what is kept for the way back.  tape_limit: bytes of
        that.  batches: the number of parts in which the domain runs, one after the other, at least; by default as few as the
        limit allows.  Only programs whose invocations are independent have such parts.  assume: conditions on scalars that hold in every
        launch.  order: how many times.
        """
        return self._derivative(order=order, wrt=names(wrt), of=names(of), with_value=with_value, seed=seed,
                                deterministic=deterministic, accumulate=accumulate, keep=keep, tape_limit=tape_limit,
                                batches=batches, assume=names(assume), name=name)

    def jvp(self, wrt: Optional[Sequence[str]] = None, of: Optional[Sequence[str]] = None, *, with_value: bool = False,
            deterministic: bool = False, name: Optional[str] = None) -> "Program":
        """The derivative by forward mode: it takes dot_x beside each x, and computes dot_y."""
        return self._derivative(order=1, forward=True, wrt=names(wrt), of=names(of), with_value=with_value,
                                deterministic=deterministic, name=name)

    # ------------------------------------------------------------------------------ what it is
    @property
    def name(self) -> str:
        return self._result()[1]

    @property
    def text(self) -> str:
        """In the language, canonically; `vyre.load` takes it."""
        return self._result()[0].text()

    @property
    def parameters(self) -> List[Parameter]:
        if self._parameters is None:
            self._parameters = self._make(default_or_interpreter()).parameters
        return list(self._parameters)

    def compile(self) -> Tuple[bytes, Dict[str, Any], str]:
        """(SPIR-V, manifest, C header) for any Vulkan device."""
        module, name = self._result()
        words, manifest, header = module.compile(name, {k: v for k, v in self._settings.items() if k in ("precise", "fast_math")})
        return words, json.loads(manifest), header

    @property
    def spirv(self) -> bytes:
        return self.compile()[0]

    def __repr__(self):
        return "<vyre.Program %s>" % self.name

    # ------------------------------------------------------------------------------ runs
    def _make(self, device: Device) -> Task:
        return Task(device._session.task(self._module, {**self._settings, "program": self._source}), device)

    def _acquire(self, device: Device, given: frozenset) -> Task:
        """A task with its lock held, always given the same names in the same way: what an earlier call gave never stays."""
        with self._lock:
            tasks = self._tasks.setdefault((device, given), [])
            for task in tasks:
                if task.lock.acquire(blocking=False):
                    return task
        task = self._make(device)
        task.lock.acquire()
        with self._lock:
            tasks.append(task)  # one for each thread that calls at the same time
        return task

    def __call__(self, device: Optional[Device] = None, groups: Optional[Sequence[int]] = None, on_device: bool = False,
                 **data: Any) -> Result:
        """Runs with arrays for buffers and numbers for scalars; scalars that shapes decide may be left out.

        Arrays are NumPy's or what offers DLPack or the buffer protocol on the CPU, which are copied once, or a device's
        `Array`s, which are used where they are: an inout one is changed, and one given for a result (`grad_w=dev.empty(3)`)
        receives it.  Other results are NumPy arrays, or with on_device new `Array`s.  device: else that of an `Array`, else
        the default.  For an `out` buffer whose shape nothing decides a tuple gives it.  groups: workgroups in x, y, z of a
        program that leaves them open.
        """
        task = self._latest
        if task and not on_device and groups is None and device in (None, task.device) and task.lock.acquire(blocking=False):
            try:
                if task.repeats(data):
                    return Result(*task.again())
            finally:
                task.lock.release()
        device = device or next((a.device for a in data.values() if isinstance(a, Array)), None) or default_device()
        task = self._acquire(device, _given(data, groups))
        try:
            task.give_all(self._source, data, groups)
            found = Result(*task.run(on_device))
            if groups is None:
                task.remember(data)
                self._latest = task
            return found
        finally:
            task.lock.release()

    def explain(self, wrt: Optional[Sequence[str]] = None, of: Optional[Sequence[str]] = None, **settings) -> Dict[str, Any]:
        """How its gradient is computed: {"gradients": [{"name", "of", "sum", …}], "workspaces": […], "conditions": […]}.

        sum: zero, store, add, atomic, gather, both, terms, exact or wide; settings as of `grad`.  `vyre-grad explain` says more.
        """
        module, name = self._result()
        given = {"wrt": names(wrt), "of": names(of), **settings}
        return module.explain({**{k: v for k, v in given.items() if v is not None}, "program": name})

    def check(self, wrt: Optional[Sequence[str]] = None, of: Optional[Sequence[str]] = None, *, tolerance: float = 0.0,
              samples: int = 0, allow_out_of_range: bool = False, groups: Optional[Sequence[int]] = None, **data: Any) -> "Check":
        """Is its gradient right on this data?  Computed in double by the interpreter, against differences and more."""
        module, name = self._result()
        settings = {k: v for k, v in {"order": 1, "wrt": names(wrt), "of": names(of), "program": name}.items() if v is not None}
        task = Task(default_or_interpreter()._session.task(module, settings), default_or_interpreter())
        task.give_all(self._source, data, groups)
        passed, unverified, rows = task.task.check(tolerance, samples, allow_out_of_range)
        return Check(passed and unverified is None, unverified, [CheckRow(*row) for row in rows])


def _given(data: Mapping[str, Any], groups: Any) -> frozenset:
    """What calls must share to use one task: which parameters have arrays of a device, and which have others."""
    return frozenset([(name, isinstance(value, Array)) for name, value in data.items()] + [groups is not None])


def default_or_interpreter() -> Device:
    """For questions that need no device."""
    global _asked
    if _asked is None:
        _asked = Device("interpreter")
    return _asked


_asked: Optional[Device] = None


def names(given: Union[None, str, Sequence[str]]) -> Optional[List[str]]:
    return None if given is None else [given] if isinstance(given, str) else list(given)


def load(source: Path, *, program: Optional[str] = None, define: Optional[Mapping[str, Any]] = None,
         spec: Optional[Mapping[str, Any]] = None, sampler: Optional[Mapping[str, str]] = None,
         include: Union[None, str, Sequence[str]] = None, entry: Optional[str] = None, precise: bool = False,
         fast_math: bool = False) -> Program:
    """A program from a file (.vyre, .vyb, .spv, .comp, .glsl, .hlsl, .slang), or from its text.

    source with a line break or a brace in it is the text itself.  program: which one of the file.  define: constants of a
    text, macros of a shader.  spec: specialisation constants, sampler: "linear" …, entry: of a shader.  precise, fast_math:
    how floats are compiled.
    """
    given = os.fspath(source)
    inline = "\n" in given or "{" in given
    module = _core.Module.load("text" if inline else given, given.encode() if inline else None,
                               {k: plain(v) for k, v in (define or {}).items()}, {k: plain(v) for k, v in (spec or {}).items()},
                               dict(sampler or {}), names(include), entry)
    settings = {k: True for k, v in (("precise", precise), ("fast_math", fast_math)) if v}
    return Program(module, module.entry(program), settings)


def plain(value: Any) -> str:
    """A number as the language writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
