# SPDX-License-Identifier: MIT
"""The rows of tools/peers: what is differentiated, and on which numbers."""
import os
from typing import Any, Callable, Dict, List, NamedTuple

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


class Row(NamedTuple):
    text: str  # of what is computed, for the table
    file: str  # our program
    program: str
    wrt: List[str]
    inputs: Callable[[np.random.Generator], Dict[str, Any]]  # arrays and scalars by parameter
    cotangent: str = ""  # the output that has one, `grad_…` among the inputs; else 1


def f4(values) -> np.ndarray:
    return np.asarray(values, "f4")


def matmul(rng, n=512):
    return {"a": f4(rng.normal(size=(n, n))), "b": f4(rng.normal(size=(n, n))), "grad_c": f4(rng.normal(size=(n, n)))}


def softmax(rng, n=1000):
    return {"x": f4(rng.normal(size=(n, n))), "grad_y": f4(rng.normal(size=(n, n)))}


def gmm(rng, n=1000, k=25, d=10):
    return {"alpha": f4(rng.normal(size=k)), "mu": f4(rng.normal(size=(k, d))), "q": f4(0.3 * rng.normal(size=(k, d))),
            "l": f4(0.3 * rng.normal(size=(k, d * (d - 1) // 2))), "x": f4(rng.normal(size=(n, d))),
            "m": np.int32(0), "gamma": np.float32(1)}


def ode(rng, n=2000, steps=1000):
    return {"q": f4(rng.uniform(-1, 1, n)), "v": f4(rng.uniform(-1, 1, n)), "k": f4(rng.uniform(0.5, 2, n)),
            "T": np.uint32(steps)}


def nbody(rng, n=4096):
    return {"p": f4(rng.normal(size=(n, 3))), "m": f4(rng.uniform(0, 1, n)), "eps": np.float32(0.1)}


def hist(rng, n=1000000, m=1000):
    return {"w": f4(rng.normal(size=m)), "idx": rng.integers(0, m, n, dtype="u4"), "x": f4(rng.normal(size=n)),
            "grad_y": f4(rng.normal(size=n))}


def hashgrid(rng, n=65536, levels=8, entries=16384):
    cells = np.array([16 << level for level in range(levels)], "u4")
    return {"x": f4(rng.uniform(0, 1, (n, 3))), "table": f4(rng.normal(size=(levels, entries, 2))), "cells": cells,
            "grad_features": f4(rng.normal(size=(n, levels, 2)))}


def mlp(rng, n=10000, e=32):
    return {"w": f4(rng.normal(size=(3, e, e)) / np.sqrt(e)), "b": f4(0.1 * rng.normal(size=(3, e))),
            "x": f4(rng.normal(size=(n, e))), "t": f4(rng.normal(size=n))}


def example(name: str) -> str:
    return os.path.join(ROOT, "examples", name)


ROWS = {
    "matmul": Row("a b, 512³, ∂/∂a, ∂/∂b", example("matmul.vyre"), "matmul", ["a", "b"], matmul, "c"),
    "softmax": Row("softmax of 1000 rows of 1000", example("softmax.vyre"), "softmax", ["x"], softmax, "y"),
    "gmm": Row("Gaussian mixture, N=1,000 K=25 D=10", example("gmm.vyre"), "gmm", ["alpha", "mu", "q", "l"], gmm),
    "ode": Row("1,000 steps of 2,000 pendulums", os.path.join(HERE, "ode.vyre"), "ode", ["q", "v", "k"], ode),
    "nbody": Row("energy of 4,096 bodies", example("nbody.vyre"), "energy", ["p"], nbody),
    "hist": Row("w[idx[i]] x[i], a million into 1,000", os.path.join(os.path.dirname(HERE), "hist.vyre"), "hist", ["w"], hist,
                "y"),
    "hashgrid": Row("hash grid, 65,536 points, 8 levels", example("hashgrid.vyre"), "hashgrid", ["table"], hashgrid,
                    "features"),
    "mlp": Row("three layers of 32, 10,000 samples", os.path.join(HERE, "mlp.vyre"), "mlp", ["w", "b"], mlp),
}


def inputs_of(name: str) -> Dict[str, Any]:
    """The same for every peer."""
    return ROWS[name].inputs(np.random.default_rng(1))
