#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data for the examples attention and sph as .npy files, with the gradient to be found.

  make_pairs.py attention DIR [H T D]     queries, keys, values ~ N(0,1); default 2 19 64
  make_pairs.py sph DIR [N]               particles about the points of a cubic lattice; default 45
  make_pairs.py particles DIR [N]         the same, the inputs alone and with densities; default 1000

Folders, files and expectations as make_render.py says.  sph's scalars are SPH below; its gradients are of
Σ ct · acceleration, through the densities too (grad_x), with grad_density on the way.
"""
import math
import sys

from make_gmm import normal
from make_problems import draw, zeros_like
from make_render import run, spread

# powers of two where they can be: f32 and f64 programs compute with the same numbers
SPH = {"h": 0.25, "mass": 2.0, "stiffness": 1.5, "rest": 1000.0, "viscosity": 0.5, "gravity": -9.8125}


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def attention(H=2, T=19, D=64):
    """With p = softmax(s): v̄_j += p_j ō, s̄_j = p_j (ō · v_j − ō · o), q̄ = Σ s̄_j k_j/√D, k̄_j += s̄_j q/√D."""
    q, k, v, ct = (draw(seed, normal, H, T, D) for seed in (1, 2, 3, 4))
    out, g = zeros_like(q), {n: zeros_like(q) for n in "qkv"}
    for h in range(H):
        for i in range(T):
            s = [dot(q[h][i], k[h][j]) / math.sqrt(D) for j in range(i + 1)]
            top = max(s)
            e = [math.exp(x - top) for x in s]
            p = [x / math.fsum(e) for x in e]
            out[h][i] = o = [math.fsum(p[j] * v[h][j][c] for j in range(i + 1)) for c in range(D)]
            whole = dot(ct[h][i], o)
            for j in range(i + 1):
                s_bar = p[j] * (dot(ct[h][i], v[h][j]) - whole) / math.sqrt(D)
                for c in range(D):
                    g["v"][h][j][c] += p[j] * ct[h][i][c]
                    g["q"][h][i][c] += s_bar * k[h][j][c]
                    g["k"][h][j][c] += s_bar * q[h][i][c]
    return ({"q": q, "k": k, "v": v, "ct_o": ct}, {"o": out, **{"grad_" + n: x for n, x in g.items()}})


def place(N):
    """Places, velocities, and who may be nearer than h to whom: with a margin of a fifth, as lists are made that
    serve for several steps."""
    side, apart, reach = math.ceil(round(N ** (1 / 3), 9)), SPH["h"] / 2, 1.2 * SPH["h"]
    jitter, v = draw(1, spread(-0.3, 0.3), N, 3), draw(2, normal, N, 3)
    x = [[apart * (n // side ** a % side + u) for a, u in enumerate(jitter[n])] for n in range(N)]
    x = draw(3, lambda seed, count: [c for p in x for c in p], N, 3)  # rounded to f32
    cells = {}
    for n, p in enumerate(x):
        cells.setdefault(tuple(int(c // reach) for c in p), []).append(n)
    near = []
    for i, p in enumerate(x):
        a, b, c = (int(u // reach) for u in p)
        about = [j for k in range(27) for j in cells.get((a + k % 3 - 1, b + k // 3 % 3 - 1, c + k // 9 - 1), [])]
        near.append(sorted(j for j in about if j != i and math.dist(p, x[j]) < reach))
    return x, v, near


def kernels():
    h, mass = SPH["h"], SPH["mass"]
    return mass * 315 / (64 * math.pi * h ** 9), mass * 45 / (math.pi * h ** 6)


def densities(x, near):
    """And who is inside h."""
    h = SPH["h"]
    inside = [[j for j in row if math.dist(p, x[j]) < h] for p, row in zip(x, near)]
    return [kernels()[0] * (h ** 6 + math.fsum((h * h - math.dist(p, x[j]) ** 2) ** 3 for j in row))
            for p, row in zip(x, inside)], inside


def lists(near):
    most = max(map(len, near))
    return {"near": [row + [0] * (most - len(row)) for row in near], "count": list(map(len, near))}


def particles(N=1000):
    x, v, near = place(N)
    return {"x": x, "v": v, **lists(near), "density": densities(x, near)[0]}, {}


def sph(N=45):
    """With e = x_i − x_j, r = |e|, F_i = Σ_j A e + B (v_j − v_i), A = K (p_i + p_j)/2 (h − r)²/(ρ_j r),
    B = K μ (h − r)/ρ_j:  Ā = F̄ · e, B̄ = F̄ · (v_j − v_i), r̄ = −Ā A (2/(h − r) + 1/r) − B̄ B/(h − r)."""
    x, v, near = place(N)
    ct, h = draw(4, normal, N, 3), SPH["h"]
    poly6, spiky = kernels()
    rho, inside = densities(x, near)
    p = [SPH["stiffness"] * (d - SPH["rest"]) for d in rho]
    out, gx, gv, grho = zeros_like(x), zeros_like(x), zeros_like(x), [0.0] * N
    for i in range(N):
        force, fbar = [0.0] * 3, [c / rho[i] for c in ct[i]]
        for j in inside[i]:
            e, u, r = ([a - b for a, b in zip(x[i], x[j])], [b - a for a, b in zip(v[i], v[j])],
                       math.dist(x[i], x[j]))
            per = spiky * 0.5 * (h - r) ** 2 / (rho[j] * r)
            A, B = per * (p[i] + p[j]), spiky * SPH["viscosity"] * (h - r) / rho[j]
            a_bar, b_bar = dot(fbar, e), dot(fbar, u)
            r_bar = -a_bar * A * (2 / (h - r) + 1 / r) - b_bar * B / (h - r)
            for a in range(3):
                force[a] += A * e[a] + B * u[a]
                along = A * fbar[a] + r_bar * e[a] / r
                gx[i][a] += along
                gx[j][a] -= along
                gv[j][a] += B * fbar[a]
                gv[i][a] -= B * fbar[a]
            grho[i] += SPH["stiffness"] * a_bar * per
            grho[j] += SPH["stiffness"] * a_bar * per - (a_bar * A + b_bar * B) / rho[j]
        out[i] = [f / rho[i] for f in force]
        grho[i] -= dot(ct[i], force) / rho[i] ** 2
        out[i][2] += SPH["gravity"]
    for i in range(N):
        for j in inside[i]:
            slope = -6 * poly6 * (h * h - math.dist(x[i], x[j]) ** 2) ** 2 * grho[i]
            for a in range(3):
                gx[i][a] += slope * (x[i][a] - x[j][a])
                gx[j][a] -= slope * (x[i][a] - x[j][a])
    return ({"x": x, "v": v, **lists(near), "ct_acceleration": ct},
            {"density": rho, "acceleration": out, "grad_x": gx, "grad_v": gv, "grad_density": grho})


if __name__ == "__main__":
    run({"attention": attention, "sph": sph, "particles": particles}, sys.argv, __doc__)
