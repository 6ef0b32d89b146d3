#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data for the examples det, kmeans, llsq, lse, lstm as .npy files, with the gradient to be found.

  make_problems.py det DIR [N ORDER]     square matrices ~ N(0,1); default 5 8
  make_problems.py kmeans DIR [N K D]    points and centres ~ N(0,1); default 60 7 3
  make_problems.py llsq DIR [N]          128 coefficients ~ N(0,1) for N points; default 50
  make_problems.py lse DIR [N R]         columns ~ 4 N(0,1); default 40 6
  make_problems.py lstm DIR [L T S]      weights ~ U(−1,1), bits of even chance; default 2 12 3

Writes DIR/f32 and DIR/f64, each with the inputs and, as what is expected, the value and grad_INPUT of its
sum.  All inputs are f32 numbers, so both folders hold the same ones.  What is expected is computed here, in
double (det: exactly) and with a gradient derived by hand: it shares nothing with Vyre.  Same arguments, same
bytes (but for the last bits of libm).  Standard library only.
"""
import math
import os
import struct
import sys
from fractions import Fraction

from make_gmm import flat, lse, normal, save, uniform


def table(values, *shape):
    """f32 numbers from an iterator as nested lists."""
    if not shape:
        return struct.unpack("<f", struct.pack("<f", next(values)))[0]
    return [table(values, *shape[1:]) for _ in range(shape[0])]


def draw(seed, draws, *shape):
    return table(iter(draws(seed << 32, math.prod(shape))), *shape)


def zeros_like(v):
    return [zeros_like(x) for x in v] if isinstance(v, list) else 0.0


def det(N=5, ORDER=8):
    """∂ det A/∂A is the matrix of cofactors, det A · A⁻ᵀ: elimination in exact fractions."""
    A, d, grad = draw(1, normal, N, ORDER, ORDER), [], []
    for matrix in A:
        n = len(matrix)
        rows = [[Fraction(x) for x in r] + [Fraction(int(i == j)) for j in range(n)]
                for i, r in enumerate(matrix)]
        value = Fraction(1)
        for c in range(n):
            pivot = next(i for i in range(c, n) if rows[i][c])
            if pivot != c:
                rows[c], rows[pivot] = rows[pivot], rows[c]
                value = -value
            value *= rows[c][c]
            rows[c] = [x / rows[c][c] for x in rows[c]]
            for i in range(n):
                if i != c and rows[i][c]:
                    rows[i] = [x - rows[i][c] * y for x, y in zip(rows[i], rows[c])]
        d.append(float(value))
        grad.append([[float(value * rows[j][n + i]) for j in range(n)] for i in range(n)])
    return {"A": A}, {"d": d, "grad_A": grad}


def kmeans(N=60, K=7, D=3):
    """With c(i) the centre nearest to P_i: C̄_j = 2 Σ_{c(i)=j} (C_j − P_i); ∂²f/∂C_j² = 2 Σ_{c(i)=j} 1."""
    P, C = draw(1, normal, N, D), draw(2, normal, K, D)
    f, grad, hessian = [], zeros_like(C), zeros_like(C)
    for p in P:
        squared, j = min((sum((a - b) ** 2 for a, b in zip(c, p)), j) for j, c in enumerate(C))
        f.append(squared)
        for k in range(D):
            grad[j][k] += 2.0 * (C[j][k] - p[k])
            hessian[j][k] += 2.0
    return {"C": C, "P": P}, {"f": [math.fsum(f)], "grad_C": grad, "grad2_C": hessian}


def llsq(N=50):
    """x̄_j = −Σ_i e_i t_i^j"""
    x = draw(1, normal, 128)
    y, grad = [], [[] for _ in x]
    for i in range(N):
        t = -1.0 + 2.0 * i / (N - 1)
        powers = [t ** j for j in range(len(x))]
        e = (t > 0) - (t < 0) - math.fsum(a * b for a, b in zip(x, powers))
        y.append(0.5 * e * e)
        for g, p in zip(grad, powers):
            g.append(-e * p)
    return {"x": x}, {"y": [math.fsum(y)], "grad_x": [math.fsum(g) for g in grad]}


def log_sum_exp(N=40, R=6):
    """x̄_ir = exp(x_ir − y_r).  `whole` is the same of all numbers as one vector."""
    x = [[4.0 * v for v in row] for row in draw(1, normal, N, R)]
    y = [lse(column) for column in zip(*x)]
    whole = lse(flat(x))
    return {"x": x}, {"y": y, "grad_x": [[math.exp(v - t) for v, t in zip(row, y)] for row in x],
                      "whole": [whole], "grad_whole": [[math.exp(v - whole) for v in row] for row in x]}


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def lstm_sequence(d, seq, scale, grad):
    """Adds one sequence's gradient of scale · loss to `grad`; returns that loss.

    Backwards through time, per step and bit: y from the softmax, then the layers from the last down, with h̄ and
    c̄ of the next step.  With g' = 1 − g², σ' = σ(1 − σ):
      ō = h̄ tanh c,  c̄ += h̄ o (1 − tanh² c),  f̄ = c̄ c₋,  ī = c̄ g,  ḡ = c̄ i,  c̄₋ = c̄ f.
    """
    (in_w, out_w, out_b), layers, bits = d["extra"], range(len(d["main"])), range(len(seq[0]))
    h, c = ([list(layer[k]) for layer in d["state"]] for k in (0, 1))
    loss, steps = 0.0, []
    for t in range(len(seq) - 1):
        kept, y = {}, []
        for j in bits:
            v = seq[t][j] * in_w[j]
            for l in layers:
                (wf, wi, wo, wg), (bf, bi, bo, bg) = ([g[j] for g in rows] for rows in d["main"][l])
                f, i = sigmoid(v * wf + bf), sigmoid(h[l][j] * wi + bi)
                o, g = sigmoid(v * wo + bo), math.tanh(h[l][j] * wg + bg)
                now = c[l][j] * f + i * g
                kept[l, j] = (v, h[l][j], c[l][j], f, i, o, g, math.tanh(now))
                c[l][j] = now
                v = h[l][j] = o * math.tanh(now)
            y.append(v * out_w[j] + out_b[j])
        total = 2.0 + sum(map(math.exp, y))
        loss -= scale * sum(s * (a - math.log(total)) for s, a in zip(seq[t + 1], y))
        steps.append((kept, [scale * (sum(seq[t + 1]) * math.exp(a) / total - s)
                             for s, a in zip(seq[t + 1], y)], [h[-1][j] for j in bits]))
    hb, cb = ([[0.0 for _ in bits] for _ in layers] for _ in range(2))
    for t in reversed(range(len(seq) - 1)):
        kept, yb, top = steps[t]
        for j in bits:
            grad["extra"][1][j] += yb[j] * top[j]
            grad["extra"][2][j] += yb[j]
            vb = yb[j] * out_w[j]
            for l in reversed(layers):
                v, h0, c0, f, i, o, g, th = kept[l, j]
                (wf, wi, wo, wg) = (row[j] for row in d["main"][l][0])
                hbar = hb[l][j] + vb
                cbar = cb[l][j] + hbar * o * (1.0 - th * th)
                ab = (cbar * c0 * f * (1.0 - f), cbar * g * i * (1.0 - i), hbar * th * o * (1.0 - o),
                      cbar * i * (1.0 - g * g))
                for gate, (a, x) in enumerate(zip(ab, (v, h0, v, h0))):
                    grad["main"][l][0][gate][j] += a * x
                    grad["main"][l][1][gate][j] += a
                hb[l][j], cb[l][j] = ab[1] * wi + ab[3] * wg, cbar * f
                vb = ab[0] * wf + ab[2] * wo
            grad["extra"][0][j] += vb * seq[t][j]
    for l in layers:
        for j in bits:
            grad["state"][l][0][j] += hb[l][j]
            grad["state"][l][1][j] += cb[l][j]
    return loss


def lstm(L=2, T=12, S=3):
    def even(seed, count):
        return [2.0 * u - 1.0 for u in uniform(seed, count)]

    def bit(seed, count):
        return [float(u < 0.5) for u in uniform(seed, count)]

    B = 14
    d = {"main": draw(1, even, L, 2, 4, B), "extra": draw(2, even, 3, B), "state": draw(3, even, L, 2, B)}
    grad = {name: zeros_like(v) for name, v in d.items()}
    d["seq"] = draw(4, bit, S, T, B)
    loss = [lstm_sequence(d, seq, 1.0 / ((T - 1) * B), grad) for seq in d["seq"]]
    return d, {"loss": [math.fsum(loss)], **{"grad_" + name: g for name, g in grad.items()}}


def write(folder, inputs, expected):
    """Every array into f32 and f64; those of integers are u32 in both."""
    for kind, code in (("f32", "f"), ("f64", "d")):
        place = os.path.join(folder, kind)
        os.makedirs(place, exist_ok=True)
        for name, value in {**inputs, **expected}.items():
            shape, inner = [], value
            while isinstance(inner, list):
                shape.append(len(inner))
                inner = inner[0]
            save(os.path.join(place, name + ".npy"), flat(value), shape, "I" if isinstance(inner, int) else code)


PROBLEMS = {"det": det, "kmeans": kmeans, "llsq": llsq, "lse": log_sum_exp, "lstm": lstm}


def main(argv):
    make = PROBLEMS.get(argv[1]) if len(argv) > 2 else None
    sizes = [int(a) for a in argv[3:]]
    if not make or len(sizes) not in (0, make.__code__.co_argcount) or min(sizes, default=2) < 1:
        sys.exit(__doc__)
    write(argv[2], *make(*sizes))


if __name__ == "__main__":
    main(sys.argv)
