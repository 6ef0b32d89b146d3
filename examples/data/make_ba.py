#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data for examples/ba.vyre as .npy files, with the derivatives that are to be found.

  make_ba.py tiny DIR                  examples/data/ba_tiny.json, with its exact Jacobian
  make_ba.py random DIR [N M P]        N cameras at the origin look along z at M points, P observations; default 4 9 36

Writes DIR/f32 and DIR/f64, each with cams X w feat camera point .npy and, as what is expected, e ew and the Jacobian
(grad_d: the 2×15 block of each observation, grad_t: ∂ew/∂w); `random` also f = ½ Σ|e|² and its grad_cams grad_X
grad_w.  Those are computed here, in double and derived by hand: they share nothing with Vyre.  Same arguments,
same bytes (but for the last bits of libm).  All inputs of `random` are f32 numbers.  Standard library only.
"""
import json
import math
import os
import sys

from make_gmm import HERE, flat, normal, uniform
from make_problems import draw, table, write, zeros_like


def times(A, B):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*B)] for row in A]


def cross(v):
    """[v]×"""
    return [[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]]


def rotation(r, v):
    """R = exp [r]× and ∂(R v)/∂r = −R [v]× (r rᵀ + (Rᵀ − 1) [r]×)/θ², −[v]× at r = 0."""
    one = [[float(i == j) for j in range(3)] for i in range(3)]
    squared = sum(x * x for x in r)
    if squared == 0.0:
        return [[a + b for a, b in zip(*rows)] for rows in zip(one, cross(r))], [[-x for x in row] for row in cross(v)]
    angle, K = math.sqrt(squared), cross(r)
    s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / squared
    R = [[o + s * k + c * q for o, k, q in zip(*rows)] for rows in zip(one, K, times(K, K))]
    turn = times([[R[j][i] - one[i][j] for j in range(3)] for i in range(3)], K)
    inner = [[(r[i] * r[j] + turn[i][j]) / squared for j in range(3)] for i in range(3)]
    return R, [[-x for x in row] for row in times(times(R, cross(v)), inner)]


def observation(camera, point, w, feat):
    """e and its 2×15 block: the chain q = f L a + (u0, v0), L = 1 + k1 s + k2 s², s = |a|², a = P.xy/P.z, P = R (X − C)."""
    f, u0, v0, k1, k2 = camera[6:]
    v = [x - c for x, c in zip(point, camera[3:6])]
    R, by_r = rotation(camera[:3], v)
    x, y, z = (sum(a * b for a, b in zip(row, v)) for row in R)
    a, b = x / z, y / z
    s = a * a + b * b
    L, slope = 1.0 + k1 * s + k2 * s * s, 2.0 * (k1 + 2.0 * k2 * s)
    by_a = [[w * f * (L + a * slope * a), w * f * a * slope * b], [w * f * b * slope * a, w * f * (L + b * slope * b)]]
    by_P = times(by_a, [[1.0 / z, 0.0, -a / z], [0.0, 1.0 / z, -b / z]])
    by_X = times(by_P, R)
    off = [f * L * a + u0 - feat[0], f * L * b + v0 - feat[1]]
    rows = [turned + [-g for g in moved] + [w * L * t, w * (k == 0), w * (k == 1), w * f * s * t, w * f * s * s * t]
            + moved + [off[k]]
            for k, (turned, moved, t) in enumerate(zip(times(by_P, by_r), by_X, (a, b)))]
    return [w * t for t in off], rows


def random_case(N=4, M=9, P=36):
    """Camera 0 does not turn: the other branch of Rodrigues' formula.  Features are some pixels off."""
    def scaled(seed, scale, *middle):
        rows = draw(seed, normal, (N, M)[seed == 2], len(middle))
        return [[s * x + m for s, x, m in zip(scale, row, middle)] for row in rows]

    cams = scaled(1, [0.15] * 3 + [1.0] * 3 + [50.0, 8.0, 8.0, 0.03, 0.01], *[0.0] * 6, 500.0, *[0.0] * 4)
    cams[0][:3] = [0.0] * 3
    X = scaled(2, [1.0, 1.0, 0.5], 0.0, 0.0, 8.0)
    d = {"cams": rounded(cams), "X": rounded(X), "w": draw(3, uniform, P),
         "camera": [i % N for i in range(P)], "point": [i % M for i in range(P)]}
    d["feat"] = rounded([[q + 10.0 * x for q, x in zip(observation(d["cams"][c], d["X"][j], 1.0, (0.0, 0.0))[0], noise)]
                         for (c, j), noise in zip(zip(d["camera"], d["point"]), draw(4, normal, P, 2))])
    rows = [observation(d["cams"][c], d["X"][j], w, feat)
            for c, j, w, feat in zip(d["camera"], d["point"], d["w"], d["feat"])]
    grad = {"grad_" + n: zeros_like(d[n]) for n in ("cams", "X", "w")}
    for i, (c, j, (e, block)) in enumerate(zip(d["camera"], d["point"], rows)):
        g = [sum(a * row[k] for a, row in zip(e, block)) for k in range(15)]  # Jᵀe of this observation
        for k in range(11):
            grad["grad_cams"][c][k] += g[k]
        for k in range(3):
            grad["grad_X"][j][k] += g[11 + k]
        grad["grad_w"][i] = g[14]
    return d, {"e": [e for e, _ in rows], "ew": [1.0 - w * w for w in d["w"]], "grad_d": [b for _, b in rows],
               "grad_t": [-2.0 * w for w in d["w"]], "f": [0.5 * math.fsum(x * x for e, _ in rows for x in e)], **grad}


def rounded(rows):
    """The same as f32 numbers."""
    return table(iter(flat(rows)), len(rows), len(rows[0]))


def tiny_case():
    """n cameras, m points and p observations that are all the same; the Jacobian holds the two rows of one and a weight's."""
    with open(os.path.join(HERE, "ba_tiny.json"), encoding="utf-8") as f:
        t = json.load(f)
    given, P = t["input"], t["input"]["p"]
    d = {"cams": [given["cam"]] * given["n"], "X": [given["x"]] * given["m"], "w": [given["w"]] * P,
         "feat": [given["feat"]] * P, "camera": [i % given["n"] for i in range(P)],
         "point": [i % given["m"] for i in range(P)]}
    J = t["jacobian31"]["vals"]
    return d, {"e": [t["objective"]["reproj_error"]["elements"]] * P, "ew": [t["objective"]["w_err"]["element"]] * P,
               "grad_d": [[J[:15], J[15:30]]] * P, "grad_t": J[30:] * P}


def main(argv):
    sizes = [int(a) for a in argv[3:]]
    if len(argv) < 3 or argv[1] not in ("tiny", "random") or len(sizes) not in (0, 3) or min(sizes, default=1) < 1:
        sys.exit(__doc__)
    write(argv[2], *(tiny_case() if argv[1] == "tiny" else random_case(*sizes)))


if __name__ == "__main__":
    main(sys.argv)
