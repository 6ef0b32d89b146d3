# SPDX-License-Identifier: MIT
"""Rows by Dr.Jit's reverse mode on the CPU (its LLVM backend).

What its loops carry is kept for at most `max_iterations`; sums over a loop of indices need nothing kept.  A row that its
users would hand to another library (layers of matrix products) is not written.
"""
import drjit as dr
from drjit.llvm.ad import Array3f, Array3u, Float, TensorXf, UInt

import numpy as np


def where() -> str:
    return "drjit %s, llvm" % dr.__version__


def flat(value):
    return (UInt if value.dtype == np.uint32 else Float)(np.ascontiguousarray(value.ravel()))


def softmax(p, i):
    rows, columns = i["grad_y"].shape
    x = TensorXf(p["x"], (rows, columns))
    e = dr.exp(x - dr.detach(dr.max(x, axis=1)[:, None]))
    return (e / dr.sum(e, axis=1)[:, None]).array


def matmul(p, i):
    n, k, m = *i["a"].shape, i["b"].shape[1]
    return (TensorXf(p["a"], (n, k)) @ TensorXf(p["b"], (k, m))).array


def gmm(p, i):
    (count, dims), size = i["x"].shape, len(i["alpha"])
    x = flat(i["x"])
    n, k = dr.meshgrid(dr.arange(UInt, count), dr.arange(UInt, size), indexing="ij")
    column, row = np.triu_indices(dims, 1)  # below the diagonal, column by column
    place = {(int(r), int(c)): at for at, (c, r) in enumerate(zip(column, row))}
    beta = dr.gather(Float, p["alpha"], k)
    off = [dr.gather(Float, x, n * dims + r) - dr.gather(Float, p["mu"], k * dims + r) for r in range(dims)]
    for r in range(dims):
        q = dr.gather(Float, p["q"], k * dims + r)
        y = dr.exp(q) * off[r]
        for c in range(r):
            y += dr.gather(Float, p["l"], k * (dims * (dims - 1) // 2) + place[r, c]) * off[c]
        beta += q - 0.5 * y * y
    term = TensorXf(beta, (count, size))
    most = dr.detach(dr.max(term, axis=1))
    value = dr.sum((most + dr.log(dr.sum(dr.exp(term - most[:, None]), axis=1))).array)
    value -= count * dr.log(dr.sum(dr.exp(p["alpha"])))
    squares = dr.sum(dr.exp(2 * p["q"])) + dr.sum(dr.square(p["l"]))
    return value + float(i["m"]) * dr.sum(p["q"]) - 0.5 * float(i["gamma"]) ** 2 * squares


@dr.syntax
def walk(a: Float, b: Float, k: Float, steps: int):
    t = UInt(0)
    while dr.hint(t < steps, max_iterations=steps):
        b -= 0.01 * (k * dr.sin(a) + 0.1 * b * b * b)
        a += 0.01 * b
        t += 1
    return a


def ode(p, i):
    return dr.sum(dr.square(walk(Float(p["q"]), Float(p["v"]), p["k"], int(i["T"]))))


@dr.syntax
def pairs(p: Float, m: Float, eps: float, count: int):
    a = dr.arange(UInt, count)
    own, mass = dr.gather(Array3f, p, a), dr.gather(Float, m, a)
    b, total = UInt(0), Float(0)
    while dr.hint(b < count, max_iterations=-1):  # nothing is carried but the sum
        d = own - dr.gather(Array3f, p, b)
        total += dr.select(a == b, 0, mass * dr.gather(Float, m, b) * dr.rsqrt(dr.squared_norm(d) + eps * eps))
        b += 1
    return dr.sum(total)


def nbody(p, i):
    return -0.5 * pairs(p["p"], flat(i["m"]), float(i["eps"]), len(i["m"]))


def hist(p, i):
    return dr.gather(Float, p["w"], flat(i["idx"])) * flat(i["x"])


def hashgrid(p, i):
    count, (levels, entries, _) = len(i["x"]), i["table"].shape
    x, out = dr.gather(Array3f, flat(i["x"]), dr.arange(UInt, count)), []
    for level in range(levels):
        n = int(i["cells"][level])
        low, value = dr.floor(x * n), [Float(0), Float(0)]
        frac, low = x * n - low, Array3u(low)
        for corner in range(8):
            bit = [corner >> k & 1 for k in range(3)]
            weight = Float(1)
            for k in range(3):
                weight *= frac[k] if bit[k] else 1 - frac[k]
            c = low + Array3u(bit)
            if (n + 1) ** 3 <= entries:
                e = (c[2] * (n + 1) + c[1]) * (n + 1) + c[0]
            else:
                e = (c[0] ^ c[1] * 2654435761 ^ c[2] * 805459861) % entries
            value = [value[k] + weight * dr.gather(Float, p["table"], (e + level * entries) * 2 + k) for k in range(2)]
        out += value
    features, n = dr.empty(Float, count * 2 * levels), dr.arange(UInt, count)
    for at, value in enumerate(out):
        dr.scatter(features, value, n * (2 * levels) + at)
    return features


def prepare(name, row, inputs):
    if name not in globals():
        raise NotImplementedError("not written for Dr.Jit")
    p = {key: flat(inputs[key]) for key in row.wrt}
    seed = flat(inputs["grad_" + row.cotangent]) if row.cotangent else None

    def run():
        for x in p.values():
            dr.enable_grad(x)
            dr.clear_grad(x)
        out = globals()[name](p, inputs)
        dr.backward_from(out) if seed is None else dr.backward(dr.sum(out * seed))
        grads = {key: dr.grad(x) for key, x in p.items()}
        dr.eval(list(grads.values()))
        dr.sync_thread()
        return lambda: {key: grads[key].numpy().reshape(inputs[key].shape) for key in p}

    return run
