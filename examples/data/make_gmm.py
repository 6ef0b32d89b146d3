#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data for examples/gmm.vyre as .npy files, with the gradient that is to be found.

  make_gmm.py tiny DIR              examples/data/gmm_tiny.json, with its exact gradient
  make_gmm.py random DIR [N D K]    x, alpha, q, l ~ N(0,1), mu ~ U(0,1); default 1000 10 25

Writes DIR/f32 and DIR/f64, each with alpha mu q l x .npy and, as what is expected, err grad_alpha
grad_mu grad_q grad_l .npy.  `random` computes those here, in double and with a gradient derived by
hand: it shares nothing with Vyre.  Same arguments, same bytes (but for the last bits of libm).
f32 files hold the f64 numbers rounded.  Standard library only.
"""
import json
import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
NAMES = ("alpha", "mu", "q", "l", "x")


def splitmix64(state):
    """The generator of the command's SPECs: the output for this state."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(seed, count):
    return [splitmix64((seed + i) & MASK) * 2.0 ** -64 for i in range(count)]


def normal(seed, count):
    """Box–Muller on consecutive pairs."""
    u = uniform(seed, count + count % 2)
    out = []
    for a, b in zip(u[0::2], u[1::2]):
        radius = math.sqrt(-2.0 * math.log(a if a > 0.0 else 2.0 ** -64))
        out += [radius * math.cos(2.0 * math.pi * b), radius * math.sin(2.0 * math.pi * b)]
    return out[:count]


def flat(v):
    return [y for x in v for y in flat(x)] if isinstance(v, list) else [v]


def lse(v):
    top = max(v)
    return top + math.log(sum(math.exp(x - top) for x in v))


def solve(d, m, gamma):
    """Objective and gradient of examples/gmm.vyre by hand.

    With w = softmax_k(beta_i), v = x_i − mu_k, y = Q_k v:
      ∂beta/∂y = −y, ∂beta/∂mu = Qᵀ y, ∂beta/∂q_j = 1 − y_j exp(q_j) v_j, ∂beta/∂l_jc = −y_j v_c.
    """
    N, K, D = len(d["x"]), len(d["alpha"]), len(d["mu"][0])
    below = [(j, c) for c in range(D) for j in range(c + 1, D)]  # the order of l_k
    diagonal = [[math.exp(v) for v in q] for q in d["q"]]
    log_det = [sum(q) for q in d["q"]]
    grad = {"alpha": [0.0] * K}
    for name in ("mu", "q", "l"):
        grad[name] = [[0.0] * len(row) for row in d[name]]
    terms = []
    for x in d["x"]:
        vs, ys, beta = [], [], []
        for k in range(K):
            v = [x[j] - d["mu"][k][j] for j in range(D)]
            y = [diagonal[k][j] * v[j] for j in range(D)]
            for l, (j, c) in zip(d["l"][k], below):
                y[j] += l * v[c]
            vs.append(v)
            ys.append(y)
            beta.append(d["alpha"][k] + log_det[k] - 0.5 * sum(t * t for t in y))
        total = lse(beta)
        terms.append(total)
        for k in range(K):
            w, v, y = math.exp(beta[k] - total), vs[k], ys[k]
            grad["alpha"][k] += w
            gmu, gq, gl = grad["mu"][k], grad["q"][k], grad["l"][k]
            for j in range(D):
                gmu[j] += w * diagonal[k][j] * y[j]
                gq[j] += w * (1.0 - y[j] * diagonal[k][j] * v[j])
            for p, (j, c) in enumerate(below):
                gmu[c] += w * d["l"][k][p] * y[j]
                gl[p] -= w * y[j] * v[c]
    lse_alpha = lse(d["alpha"])
    n = D + m + 1
    log_gamma_d = 0.25 * D * (D - 1) * math.log(math.pi)
    log_gamma_d += sum(math.lgamma(0.5 * n - 0.5 * j) for j in range(D))
    terms += [-0.5 * N * D * math.log(2.0 * math.pi), -N * lse_alpha,
              K * (n * D * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma_d)]
    for k in range(K):
        grad["alpha"][k] -= N * math.exp(d["alpha"][k] - lse_alpha)
        squares = sum(v * v for v in diagonal[k]) + sum(v * v for v in d["l"][k])
        terms.append(m * log_det[k] - 0.5 * gamma * gamma * squares)
        for j in range(D):
            grad["q"][k][j] += m - gamma * gamma * diagonal[k][j] ** 2
        for p, l in enumerate(d["l"][k]):
            grad["l"][k][p] -= gamma * gamma * l
    return math.fsum(terms), grad


def random_case(N, D, K):
    def table(seed, rows, columns, draw=normal):
        values = draw(seed << 32, rows * columns)  # the seeds' sequences do not overlap
        return [values[i * columns:(i + 1) * columns] for i in range(rows)]

    d = {"alpha": normal(1 << 32, K), "mu": table(2, K, D, uniform), "q": table(3, K, D),
         "l": table(4, K, D * (D - 1) // 2), "x": table(5, N, D)}
    return (d,) + solve(d, 0, 1.0)


def tiny_case():
    with open(os.path.join(HERE, "gmm_tiny.json"), encoding="utf-8") as f:
        t = json.load(f)
    return t["input"], t["objective"], t["gradient"]


def save(path, values, shape, code):
    head = "{'descr': '<%s%d', 'fortran_order': False, 'shape': %r, }" % (
        "u" if code == "I" else "f", struct.calcsize(code), tuple(shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode("ascii"))
        f.write(struct.pack("<%d%s" % (len(values), code), *values))


def main(argv):
    sizes = [int(a) for a in argv[3:]] or [1000, 10, 25]
    if len(argv) < 3 or argv[1] not in ("tiny", "random") or len(sizes) != 3 or min(sizes) < 1:
        sys.exit(__doc__)
    d, err, grad = tiny_case() if argv[1] == "tiny" else random_case(*sizes)
    arrays = {n: d[n] for n in NAMES}
    arrays.update({"grad_" + n: grad[n] for n in NAMES if n in grad})
    arrays["err"] = [err]
    for folder, code in (("f32", "f"), ("f64", "d")):
        place = os.path.join(argv[2], folder)
        os.makedirs(place, exist_ok=True)
        for name, value in arrays.items():
            shape = [len(value)] + ([len(value[0])] if isinstance(value[0], list) else [])
            save(os.path.join(place, name + ".npy"), flat(value), shape, code)


if __name__ == "__main__":
    main(sys.argv)
