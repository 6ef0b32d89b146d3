# SPDX-License-Identifier: MIT
"""Is a gradient right?"""
from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np

from .device import Device, from_any
from .program import Program


def gradcheck(program: Program, inputs: dict, *, eps: float = 1e-3, atol: float = 1e-3, rtol: float = 1e-2, wrt=None, of=None,
              device: Optional[Device] = None, raise_exception: bool = True, seed: int = 0, directions: int = 4) -> bool:
    """Compares a program's gradient with central differences along random directions, with torch's signature.

    inputs: those of a call.  For each of `directions` random directions v of all inputs the slope of the sum of the
    outputs, weighted at random, is compared with what the gradient says.  The interpreter's check, `vyre-grad check`, is
    stricter: it computes in double.
    """
    random = np.random.default_rng(seed)
    value, gradient = program, program.grad(wrt=wrt, of=of, seed=True)
    given: Dict[str, Any] = {k: from_any(v, k) for k, v in inputs.items()}
    outputs = value(device=device, **given)
    seeds: Dict[str, Any] = {}
    for p in gradient.parameters:
        if p.role == "cotangent":
            seeds[p.name] = np.asarray(random.standard_normal(outputs[str(p.of)].shape), p.dtype)
    of_seed = {str(p.of): seeds[p.name] for p in gradient.parameters if p.role == "cotangent"}
    found = gradient(device=device, **given, **seeds)
    slopes = {str(p.of): found[p.name] for p in gradient.parameters if p.role == "gradient"}

    def total(arrays) -> float:
        r = value(device=device, **arrays)
        return float(sum(np.sum(r[o].astype(np.float64) * s) for o, s in of_seed.items()))

    for _ in range(directions):
        v = {n: np.asarray(random.standard_normal(g.shape), given[n].dtype) for n, g in slopes.items()}
        ahead = total({**given, **{n: given[n] + np.asarray(eps, d.dtype) * d for n, d in v.items()}})
        behind = total({**given, **{n: given[n] - np.asarray(eps, d.dtype) * d for n, d in v.items()}})
        numeric = (ahead - behind) / (2 * eps)
        analytic = float(sum(np.sum(slopes[n].astype(np.float64) * d) for n, d in v.items()))
        if abs(numeric - analytic) > atol + rtol * max(abs(numeric), abs(analytic)):
            if raise_exception:
                raise AssertionError("the slope along a random direction is %.6g by differences, %.6g by the gradient" % (
                    numeric, analytic))
            return False
    return True
