#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data for the examples nbody, conv2d, softmax, layernorm as .npy files, with the gradients to be found.

  make_layers.py nbody DIR [N]              bodies ~ N(0,1) of masses ~ U(0,1), softened by EPS; default 37
  make_layers.py conv2d DIR [B C H W O R S P]   images and filters ~ N(0,1); default 2 3 7 6 4 3 2 1
  make_layers.py softmax DIR [R C]          rows ~ 3 N(0,1); default 5 150
  make_layers.py layernorm DIR [R C]        rows ~ N(1,2), gain and bias ~ N(0,1); default 5 150

Writes DIR/f32 and DIR/f64, each with the inputs and, as what is expected, OUTPUT and the grad_INPUT of
Σ ct_OUTPUT · OUTPUT with random cotangents (nbody: of U alone, and of F as F_grad_p and F_grad_m).  All inputs are
f32 numbers.  What is expected is computed here, in double and with gradients derived by hand: it shares nothing
with Vyre.  Same arguments, same bytes (but for the last bits of libm).  Standard library only.
"""
import math
import sys

from make_gmm import normal, uniform
from make_problems import draw, write, zeros_like

EPS = 0.25          # length that softens nbody, an f32 number
VARIANCE_EPS = 0.5  # layernorm's: large, so that it matters


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def nbody(N=37):
    """With d = p_j − p_i, q = |d|² + eps²: ∂U/∂p_i = −F_i, and for φ = Σ λ_i · F_i the pair (i, j) adds
    m_i m_j q^{−3/2} (λ_i − 3 (λ_i·d) d / q) to p̄_j and takes it from p̄_i."""
    p, m, ct = draw(1, normal, N, 3), draw(2, uniform, N), draw(3, normal, N, 3)
    F, by_p, by_m, by_energy = zeros_like(p), zeros_like(p), zeros_like(m), zeros_like(m)
    U = []
    for i in range(N):
        for j in range(N):
            if i == j:
                continue
            d = [b - a for a, b in zip(p[i], p[j])]
            q = dot(d, d) + EPS * EPS
            U.append(-0.5 * m[i] * m[j] / math.sqrt(q))
            by_energy[i] -= m[j] / math.sqrt(q)
            s, along = q ** -1.5, dot(ct[i], d)
            for k in range(3):
                F[i][k] += m[i] * m[j] * s * d[k]
                g = m[i] * m[j] * s * (ct[i][k] - 3.0 * along * d[k] / q)
                by_p[j][k] += g
                by_p[i][k] -= g
            by_m[i] += m[j] * s * along
            by_m[j] += m[i] * s * along
    return {"p": p, "m": m, "ct_F": ct}, {
        "U": [math.fsum(U)], "grad_p": [[-f for f in row] for row in F], "grad_m": by_energy,
        "F": F, "F_grad_p": by_p, "F_grad_m": by_m}


def conv2d(B=2, C=3, H=7, W=6, O=4, R=3, S=2, P=1):
    """y = Σ w x, so w̄ += ȳ x and x̄ += ȳ w, wherever x is not padding."""
    rows, columns = (H + 2 * P - R) // S + 1, (W + 2 * P - R) // S + 1
    x, w, bias = draw(1, normal, B, C, H, W), draw(2, normal, O, C, R, R), draw(3, normal, O)
    ct = draw(4, normal, B, O, rows, columns)
    y, gx, gw, gb = zeros_like(ct), zeros_like(x), zeros_like(w), zeros_like(bias)
    for b, o, i, j in ((b, o, i, j) for b in range(B) for o in range(O) for i in range(rows) for j in range(columns)):
        bar, total = ct[b][o][i][j], bias[o]
        gb[o] += bar
        for c, u, v in ((c, u, v) for c in range(C) for u in range(R) for v in range(R)):
            row, column = i * S + u - P, j * S + v - P
            if 0 <= row < H and 0 <= column < W:
                total += w[o][c][u][v] * x[b][c][row][column]
                gw[o][c][u][v] += bar * x[b][c][row][column]
                gx[b][c][row][column] += bar * w[o][c][u][v]
        y[b][o][i][j] = total
    return {"x": x, "w": w, "bias": bias, "ct_y": ct}, {"y": y, "grad_x": gx, "grad_w": gw, "grad_bias": gb}


def softmax(R=5, C=150):
    """x̄ = y (ȳ − ȳ·y)"""
    x, ct, y, grad = [[3.0 * v for v in row] for row in draw(1, normal, R, C)], draw(2, normal, R, C), [], []
    for row, bar in zip(x, ct):
        e = [math.exp(v - max(row)) for v in row]
        y.append([v / math.fsum(e) for v in e])
        along = dot(bar, y[-1])
        grad.append([v * (g - along) for v, g in zip(y[-1], bar)])
    return {"x": x, "ct_y": ct}, {"y": y, "grad_x": grad}


def layernorm(R=5, C=150):
    """With h = (x − mean)/σ and t = ȳ gain: x̄ = (t − mean t − h mean(t h))/σ."""
    x, ct, y, grad = [[1.0 + 2.0 * v for v in row] for row in draw(1, normal, R, C)], draw(2, normal, R, C), [], []
    gain, bias = draw(3, normal, C), draw(4, normal, C)
    gains, biases = [0.0] * C, [0.0] * C
    for row, bar in zip(x, ct):
        mean = math.fsum(row) / C
        sigma = math.sqrt(math.fsum((v - mean) ** 2 for v in row) / C + VARIANCE_EPS)
        h = [(v - mean) / sigma for v in row]
        y.append([g * v + b for g, v, b in zip(gain, h, bias)])
        t = [g * v for g, v in zip(gain, bar)]
        first, second = math.fsum(t) / C, dot(t, h) / C
        grad.append([(a - first - v * second) / sigma for a, v in zip(t, h)])
        for c in range(C):
            gains[c] += bar[c] * h[c]
            biases[c] += bar[c]
    return ({"x": x, "gain": gain, "bias": bias, "ct_y": ct},
            {"y": y, "grad_x": grad, "grad_gain": gains, "grad_bias": biases})


PROBLEMS = {"nbody": nbody, "conv2d": conv2d, "softmax": softmax, "layernorm": layernorm}


def main(argv):
    make = PROBLEMS.get(argv[1]) if len(argv) > 2 else None
    sizes = [int(a) for a in argv[3:]]
    if not make or len(sizes) not in (0, make.__code__.co_argcount) or min(sizes, default=0) < 0:
        sys.exit(__doc__)
    write(argv[2], *make(*sizes))


if __name__ == "__main__":
    main(sys.argv)
