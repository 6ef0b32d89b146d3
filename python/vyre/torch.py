# SPDX-License-Identifier: MIT
"""Programs as functions of torch tensors, differentiable any number of times."""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

import numpy as np
import torch

from .device import Device
from .program import Program, names


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.call = call
        ctx.save_for_backward(*tensors)
        found = call.program(device=call.device, **call.scalars, **dict(zip(call.inputs, map(_array, tensors))))
        return tuple(torch.from_numpy(np.asarray(found[name])) for name in call.outputs)

    @staticmethod
    def backward(ctx, *cotangents):
        call, tensors = ctx.call, ctx.saved_tensors
        wanted = [n for n, t, needs in zip(call.inputs, tensors, ctx.needs_input_grad[1:]) if needs and t.is_floating_point()]
        if not wanted:
            return (None, *[None] * len(tensors))
        gradient = call.gradient(tuple(wanted))
        given = dict(zip(call.inputs, tensors))
        given.update(zip(gradient.cotangents, cotangents))  # zeros where an output is not used
        found = dict(zip(gradient.outputs, gradient(**{n: given[n] for n in gradient.inputs})))
        return (None, *[found.get(gradient.of.get(n)) if n in wanted else None for n in call.inputs])


def _array(t: "torch.Tensor") -> np.ndarray:
    if t.device.type != "cpu":
        raise TypeError("a tensor is on %s: move it to the CPU, vyre runs on its own device" % t.device)
    return t.detach().contiguous().numpy()


class _Call:
    """A program as a function of tensors: positional by name, outputs in the order of its parameters."""

    def __init__(self, program: Program, outputs: Optional[Sequence[str]], device: Optional[Device], scalars: Dict[str, Any]):
        self.program, self.device, self.scalars = program, device, scalars
        parameters = program.parameters
        self.inputs = [p.name for p in parameters if p.role != "scalar" and p.is_input]
        floats = [p for p in parameters if p.role != "scalar" and p.access != "in" and p.type.startswith("f")]
        self.outputs = list(outputs) if outputs else [p.name for p in floats]
        self.cotangents = [p.name for p in parameters if p.role == "cotangent"]
        self.of = {p.of: p.name for p in parameters if p.role == "gradient"}
        self._gradients: Dict[tuple, _Call] = {}

    def gradient(self, wanted: tuple) -> "_Call":
        if wanted not in self._gradients:
            made = self.program.grad(wrt=list(wanted), of=self.outputs, seed=True)
            self._gradients[wanted] = _Call(made, [p.name for p in made.parameters if p.role == "gradient"], self.device,
                                            self.scalars)
        return self._gradients[wanted]

    def __call__(self, *positional, **tensors):
        tensors.update(zip(self.inputs, positional))
        missing = [n for n in self.inputs if n not in tensors]
        if missing:
            raise TypeError("%s needs %s" % (self.program.name, ", ".join(missing)))
        return _Function.apply(self, *[torch.as_tensor(tensors[n]) for n in self.inputs])


def function(program: Program, *, outputs: Optional[Sequence[str]] = None, device: Optional[Device] = None, **scalars: Any):
    """A function of tensors, by position or name, that torch differentiates by the program's own gradient.

    It returns the float outputs (or `outputs`, a list of names): a tensor for one, else a tuple.  scalars: those that
    shapes do not decide.  Tensors are on the CPU; the program runs on `device`.
    """
    call = _Call(program, names(outputs), device, scalars)

    def run(*positional, **tensors):
        found = call(*positional, **tensors)
        return found[0] if len(found) == 1 else found
    run.__name__ = program.name
    return run
