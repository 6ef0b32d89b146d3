# SPDX-License-Identifier: MIT
"""Rows by PyTorch on the CPU: what is differentiated, then `torch.autograd.grad`."""
import numpy as np
import torch


def where() -> str:
    return "torch %s, cpu" % torch.__version__


def gmm(p, i):
    x, mu, q = i["x"], p["mu"], p["q"]
    (n, d), k = x.shape, len(p["alpha"])
    column, row = np.triu_indices(d, 1)  # below the diagonal, column by column
    low = torch.zeros((k, d, d)).index_put((torch.arange(k)[:, None], torch.tensor(row), torch.tensor(column)), p["l"])
    off = x[:, None, :] - mu
    y = torch.exp(q) * off + torch.einsum("krc,nkc->nkr", low, off)
    beta = p["alpha"] + q.sum(1) - 0.5 * (y * y).sum(2)
    term = torch.logsumexp(beta, 1).sum() - n * torch.logsumexp(p["alpha"], 0)
    squares = torch.exp(2 * q).sum() + (p["l"] * p["l"]).sum()
    return term + float(i["m"]) * q.sum() - 0.5 * float(i["gamma"]) ** 2 * squares


def ode(p, i):
    a, b = p["q"], p["v"]
    for _ in range(int(i["T"])):
        b = b - 0.01 * (p["k"] * torch.sin(a) + 0.1 * b * b * b)
        a = a + 0.01 * b
    return (a * a).sum()


def nbody(p, i):
    d = p["p"][None] - p["p"][:, None]
    r = torch.rsqrt((d * d).sum(2) + float(i["eps"]) ** 2)
    return -0.5 * (i["m"][:, None] * i["m"][None] * r * (1 - torch.eye(len(i["m"])))).sum()


def entries_of(low, bit, n, entries):
    """The elements of one level's table at a corner of each cell; unsigned products of 32 bits are kept in 64."""
    c = [low[:, k] + bit[k] for k in range(3)]
    if (n + 1) ** 3 <= entries:
        return (c[2] * (n + 1) + c[1]) * (n + 1) + c[0]
    word = 0xffffffff
    return (c[0] ^ (c[1] * 2654435761 & word) ^ (c[2] * 805459861 & word)) % entries


def hashgrid(p, i):
    table, x, out = p["table"], i["x"], []
    for level, n in enumerate(int(n) for n in i["cells"]):
        at = x * float(n)
        low = torch.floor(at)
        frac, low = at - low, low.to(torch.int64)
        value = 0.0
        for corner in range(8):
            bit = [corner >> k & 1 for k in range(3)]
            weight = 1.0
            for k in range(3):
                weight = weight * (frac[:, k] if bit[k] else 1 - frac[:, k])
            value = value + weight[:, None] * table[level][entries_of(low, bit, n, table.shape[1])]
        out.append(value)
    return torch.stack(out, 1)


def mlp(p, i):
    h = i["x"]
    for layer in range(3):
        h = torch.tanh(p["b"][layer] + h @ p["w"][layer].T)
    return ((h[:, 0] - i["t"]) ** 2).mean()


ROWS = {
    "matmul": lambda p, i: p["a"] @ p["b"],
    "softmax": lambda p, i: torch.softmax(p["x"], 1),
    "hist": lambda p, i: p["w"][i["idx"]] * i["x"],
    "gmm": gmm, "ode": ode, "nbody": nbody, "hashgrid": hashgrid, "mlp": mlp,
}


def tensor(value):
    if not value.ndim or value.dtype == np.uint32 and value.size < 100:
        return value  # sizes, and cells of a level: numbers of the program
    return torch.tensor(value.astype("i8") if value.dtype == np.uint32 else value)


def prepare(name, row, inputs):
    given = {key: tensor(value) for key, value in inputs.items()}
    wrt = {key: given[key].requires_grad_() for key in row.wrt}
    seed = given["grad_" + row.cotangent] if row.cotangent else None

    def run():
        grads = torch.autograd.grad(ROWS[name](wrt, given), list(wrt.values()), seed)
        return lambda: {key: grad.numpy() for key, grad in zip(wrt, grads)}

    return run
