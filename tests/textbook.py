# SPDX-License-Identifier: MIT
"""Linear algebra and softmax in double, as textbooks have them: lists of rows."""
import math
import struct


def f32(v):
    return struct.unpack("<f", struct.pack("<f", v))[0]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def transposed(m):
    return [list(row) for row in zip(*m)]


def product(a, b):
    """The matrix product a b."""
    columns = transposed(b)
    return [[dot(row, column) for column in columns] for row in a]


def softmax_row(row):
    top = max(row)
    e = [math.exp(v - top) for v in row]
    return [v / sum(e) for v in e]


def softmax_back(p, ct):
    """p ∘ (ct − p·ct)."""
    s = dot(p, ct)
    return [a * (c - s) for a, c in zip(p, ct)]
