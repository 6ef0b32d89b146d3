# SPDX-License-Identifier: MIT
"""Twelve programs of examples/ as formulas of torch or jax.numpy, which share most names."""
import numpy as np


def normal(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape)


def lse(m, x):
    return m.log(m.sum(m.exp(x), axis=0))


def softmax(m, x):
    e = m.exp(x - m.amax(x, axis=1, keepdims=True))
    return e / m.sum(e, axis=1, keepdims=True)


def layernorm(m, x, gain, bias):
    d = x - m.mean(x, axis=1, keepdims=True)
    return gain * d / m.sqrt(m.mean(d * d, axis=1, keepdims=True) + 0.01) + bias


def conv2d(m, x, w, bias):
    if m.__name__ == "torch":
        return m.nn.functional.conv2d(x, w, bias, padding=1)
    import jax
    return jax.lax.conv_general_dilated(x, w, (1, 1), [(1, 1), (1, 1)]) + bias[None, :, None, None]


def mse(m, x, y, line):
    e = line[0] * x + line[1] - y
    return m.mean(e * e).reshape(1)


def least(m, x, y):
    n, sx, sy = x.shape[0], m.sum(x), m.sum(y)
    slope = (n * m.sum(x * y) - sx * sy) / (n * m.sum(x * x) - sx * sx)
    return m.stack([slope, (sy - slope * sx) / n])


def kmeans(m, C, P):
    d = C[None] - P[:, None]
    return m.sum(m.amin(m.sum(d * d, axis=2), axis=1)).reshape(1)


def inverse_distances(m, p):
    d = p[None] - p[:, None]
    return d, 1 / m.sqrt(m.sum(d * d, axis=2) + 0.25)


def energy(m, p, m_):
    _, r = inverse_distances(m, p)
    away = m_[:, None] * m_[None] * r
    return (-0.5 * (m.sum(away) - m.sum(m_ * m_ * 2))).reshape(1)


def forces(m, p, m_):
    d, r = inverse_distances(m, p)
    return m_[:, None] * m.sum((m_[None] * r ** 3)[:, :, None] * d, axis=1)


def attention(m, q, k, v):
    s = m.einsum("hid,hjd->hij", q, k) / 8
    later = m.triu(m.ones_like(s), 1)
    e = m.exp(s - 1e9 * later)
    return m.einsum("hij,hjd->hid", e / m.sum(e, axis=2, keepdims=True), v)


def det(m, A):
    return m.linalg.det(A)


def matmul(m, a, b):
    return a @ b


# file, program, inputs, scalars, output, formula
EXAMPLES = [
    ("lse", "lse", {"x": normal(7, 5)}, {}, "y", lse),
    ("softmax", "softmax", {"x": normal(4, 9)}, {}, "y", softmax),
    ("layernorm", "layernorm", {"x": normal(4, 9), "gain": normal(9), "bias": normal(9, seed=1)}, {"eps": 0.01}, "y", layernorm),
    ("matmul", "matmul", {"a": normal(5, 7), "b": normal(7, 6)}, {}, "c", matmul),
    ("conv2d", "conv2d", {"x": normal(2, 3, 6, 5), "w": normal(4, 3, 3, 3), "bias": normal(4)}, {"P": 1}, "y", conv2d),
    ("line", "mse", {"x": normal(8), "y": normal(8, seed=1), "line": normal(2)}, {}, "loss", mse),
    ("line", "least", {"x": normal(8), "y": normal(8, seed=1)}, {}, "line", least),
    ("kmeans", "kmeans", {"C": normal(3, 4), "P": normal(30, 4)}, {}, "f", kmeans),
    ("nbody", "energy", {"p": normal(9, 3), "m": 1 + normal(9) ** 2}, {"eps": 0.5}, "U", energy),
    ("nbody", "forces", {"p": normal(9, 3), "m": 1 + normal(9) ** 2}, {"eps": 0.5}, "F", forces),
    ("attention", "attention", {n: normal(2, 5, 64, seed=s) / 3 for s, n in enumerate("qkv")}, {}, "o", attention),
    ("det", "det", {"A": normal(3, 8, 8)}, {}, "d", det),
]
