# SPDX-License-Identifier: MIT
"""Rows by torch on the CPU: forward and backward."""
import numpy as np
import torch


def where() -> str:
    return "cpu, %d threads" % torch.get_num_threads()


def mlp(w, b, i):
    h = i["x"]
    for layer in range(3):
        h = torch.tanh(b[layer] + h @ w[layer].T)
    e = h[:, 0] - i["t"]
    return (e * e).mean()


def ode(q, v, k, steps):
    for _ in range(steps):
        v = v - 0.01 * (k * torch.sin(q) + 0.1 * v * v * v)
        q = q + 0.01 * v
    return (q * q).sum()


def nbody(p, i):
    d = p[None] - p[:, None]
    r = torch.rsqrt((d * d).sum(2) + float(i["eps"]) ** 2)
    return -0.5 * (i["m"][:, None] * i["m"][None] * r * (1 - torch.eye(len(p)))).sum()


FORWARD = {
    "matmul": lambda w, i: ((w["a"] @ w["b"]) * i["grad_c"]).sum(),
    "softmax": lambda w, i: (torch.softmax(w["x"], 1) * i["grad_y"]).sum(),
    "hist": lambda w, i: (w["w"][i["idx"]] * i["x"] * i["grad_y"]).sum(),
    "mlp": lambda w, i: mlp(w["w"], w["b"], i),
    "ode": lambda w, i: ode(w["q"], w["v"], w["k"], int(i["T"])),
    "nbody": lambda w, i: nbody(w["p"], i),
}


def prepare(name, row, inputs):
    given = {key: torch.from_numpy(value.astype("i8") if value.dtype == np.uint32 else value) if value.ndim else value
             for key, value in inputs.items()}
    wrt = {key: given[key].requires_grad_() for key in row.wrt}
    forward = FORWARD[name]  # KeyError: the row is not written for torch

    def run():
        for value in wrt.values():
            value.grad = None
        forward(wrt, given).backward()
        return lambda: {key: value.grad.numpy() for key, value in wrt.items()}

    return run
