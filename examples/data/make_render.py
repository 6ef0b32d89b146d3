#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data for the examples bilinear, bilateral, hashgrid, compositing as .npy files, with the gradient to be found.

  make_render.py bilinear DIR [B C H W Y X]         images ~ U(0,1), places ~ U(−1.3,1.3); default 2 3 7 9 5 6
  make_render.py bilateral DIR [GH GW GD H W]       maps ~ N(0,1), guide ~ U(0,1); default 3 4 5 9 14
  make_render.py hashgrid DIR [N L S]               points of the unit cube, features ~ N(0,1); default 13 4 1021
  make_render.py compositing DIR [G H W]            Gaussians sorted into tiles of 16×16 pixels; default 40 20 24
  make_render.py scene DIR [G H W]                  the same of any size, the inputs alone; default 2000 128 128

Writes DIR/f32 and DIR/f64, each with the inputs, ct_OUTPUT ~ N(0,1) and, as what is expected, the output and
grad_INPUT of Σ ct · output.  All inputs are f32 numbers, so both folders hold the same ones (integers are u32 in
both).  What is expected is computed here, in double and with a gradient derived by hand: it shares nothing with
Vyre.  Same arguments, same bytes (but for the last bits of libm).  Standard library only.
"""
import math
import os
import sys

from make_gmm import flat, normal, save, uniform
from make_problems import draw, zeros_like


def spread(low, high):
    return lambda seed, count: [low + (high - low) * u for u in uniform(seed, count)]


def bilinear(B=2, C=3, H=7, W=9, Y=5, X=6):
    """With s = (1−fv)((1−fu) a + fu b) + fv((1−fu) c + fu d): ∂s/∂fu = (1−fv)(b − a) + fv(d − c), and ∂u/∂at = W/2."""
    image, at = draw(1, uniform, B, C, H, W), draw(2, spread(-1.3, 1.3), B, Y, X, 2)
    ct = draw(3, normal, B, C, Y, X)
    out, g_image, g_at = zeros_like(ct), zeros_like(image), zeros_like(at)
    for b in range(B):
        for y in range(Y):
            for x in range(X):
                u, v = ((at[b][y][x][0] + 1) * W - 1) / 2, ((at[b][y][x][1] + 1) * H - 1) / 2
                col, row = math.floor(u), math.floor(v)
                for r, wr, dr in ((row, 1 - (v - row), -1), (row + 1, v - row, 1)):
                    for c, wc, dc in ((col, 1 - (u - col), -1), (col + 1, u - col, 1)):
                        if not (0 <= r < H and 0 <= c < W):
                            continue
                        for k in range(C):
                            g, value = ct[b][k][y][x], image[b][k][r][c]
                            out[b][k][y][x] += wr * wc * value
                            g_image[b][k][r][c] += g * wr * wc
                            g_at[b][y][x][0] += g * wr * dc * value * W / 2
                            g_at[b][y][x][1] += g * dr * wc * value * H / 2
    return ({"image": image, "at": at, "ct_sampled": ct},
            {"sampled": out, "grad_image": g_image, "grad_at": g_at})


def bilateral(GH=3, GW=4, GD=5, H=9, W=14):
    """With A = Σ w_cell grid_cell, out = A (image, 1): cell's gradient is w ct (image, 1)ᵀ, the guide's
    Σ ∂w/∂z · ct · grid_cell (image, 1) with ∂z/∂guide = GD, the image's Aᵀ ct."""
    grid, guide = draw(1, normal, GH, GW, GD, 3, 4), draw(2, uniform, H, W)
    image, ct = draw(3, uniform, H, W, 3), draw(4, normal, H, W, 3)
    out, g_grid, g_guide, g_image = zeros_like(ct), zeros_like(grid), zeros_like(guide), zeros_like(image)

    def cells(place, n):
        low = math.floor(place)
        for k, weight, slope in ((low, 1 - (place - low), -1), (low + 1, place - low, 1)):
            yield min(max(k, 0), n - 1), weight, slope

    for y in range(H):
        for x in range(W):
            colour, g = image[y][x] + [1.0], ct[y][x]
            for j, wy, _ in cells((y + 0.5) * GH / H - 0.5, GH):
                for i, wx, _ in cells((x + 0.5) * GW / W - 0.5, GW):
                    for k, wz, dz in cells(guide[y][x] * GD - 0.5, GD):
                        for c in range(3):
                            row = grid[j][i][k][c]
                            value = sum(a * e for a, e in zip(row, colour))
                            out[y][x][c] += wy * wx * wz * value
                            g_guide[y][x] += wy * wx * dz * GD * g[c] * value
                            for e in range(4):
                                g_grid[j][i][k][c][e] += wy * wx * wz * g[c] * colour[e]
                                if e < 3:
                                    g_image[y][x][e] += wy * wx * wz * g[c] * row[e]
    return ({"grid": grid, "guide": guide, "image": image, "ct_mapped": ct},
            {"mapped": out, "grad_grid": g_grid, "grad_guide": g_guide, "grad_image": g_image})


def hashgrid(N=13, L=4, S=1021):
    """The corners' weights are products of f or 1−f per axis: a corner's gradient is weight · ct, a place's
    cells · ± the product of the other two · ct · feature."""
    x, table, ct = draw(1, uniform, N, 3), draw(2, normal, L, S, 2), draw(3, normal, N, L, 2)
    cells = [int(5 * 1.6 ** l) for l in range(L)]
    out, g_x, g_table = zeros_like(ct), zeros_like(x), zeros_like(table)
    for i in range(N):
        for l, n in enumerate(cells):
            low = [math.floor(v * n) for v in x[i]]
            f = [v * n - k for v, k in zip(x[i], low)]
            for corner in range(8):
                up = [corner >> a & 1 for a in range(3)]
                p = [k + u for k, u in zip(low, up)]
                e = (p[2] * (n + 1) + p[1]) * (n + 1) + p[0]
                if (n + 1) ** 3 > S:
                    e = (p[0] ^ p[1] * 2654435761 % 2**32 ^ p[2] * 805459861 % 2**32) % S
                w = [a if u else 1 - a for a, u in zip(f, up)]
                along = sum(a * b for a, b in zip(ct[i][l], table[l][e]))
                for k in range(2):
                    out[i][l][k] += math.prod(w) * table[l][e][k]
                    g_table[l][e][k] += math.prod(w) * ct[i][l][k]
                for a in range(3):
                    g_x[i][a] += n * (1 if up[a] else -1) * w[a - 1] * w[a - 2] * along
    return ({"x": x, "table": table, "cells": cells, "ct_features": ct},
            {"features": out, "grad_x": g_x, "grad_table": g_table})


class TooClose(Exception):
    """A decision that single precision could take otherwise."""


def apart(a, b):
    """a < b, if that is clear."""
    if abs(a - b) < 3e-4 * abs(b):
        raise TooClose
    return a < b


def pixel(d, entries, x, y, ct, out, grad):
    """One pixel forward, then from the back: S = Σ_{j>k} c_j α_j T_j + T_n · background is what lies behind k, and
    ∂image/∂α_k = c_k T_k − S/(1 − α_k)."""
    kept, through = [], 1.0
    for g in entries:
        a, b, c = d["conic"][g]
        dx, dy = d["mean"][g][0] - x, d["mean"][g][1] - y
        power = -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy
        faded = d["opacity"][g] * math.exp(power)
        capped = apart(0.99, faded)
        alpha = 0.99 if capped else faded
        if apart(alpha, 1 / 255):
            continue
        behind = through * (1 - alpha)
        if apart(behind, 1e-4):
            break
        kept.append((g, dx, dy, faded, alpha, capped, through))
        through = behind
    back = [through * v for v in d["background"]]
    for k in range(3):
        grad["background"][k] += ct[k] * through
    for g, dx, dy, faded, alpha, capped, before in reversed(kept):
        rest = alpha_bar = 0.0
        for k in range(3):
            colour = d["colour"][g][k]
            grad["colour"][g][k] += ct[k] * alpha * before
            alpha_bar += ct[k] * (colour * before - back[k] / (1 - alpha))
            back[k] += colour * alpha * before
        if capped:
            continue
        a, b, c = d["conic"][g]
        grad["opacity"][g] += alpha_bar * faded / d["opacity"][g]
        power_bar = alpha_bar * faded
        for k, v in enumerate((-0.5 * dx * dx, -dx * dy, -0.5 * dy * dy)):
            grad["conic"][g][k] += power_bar * v
        grad["mean"][g][0] -= power_bar * (a * dx + b * dy)
        grad["mean"][g][1] -= power_bar * (c * dy + b * dx)
    out[:] = back


def gaussians(seed, G, H, W, scale):
    """Means about the image, random covariances, and as many opaque ones as make some pixels end early."""
    def at(low, high):
        return lambda s, count: [low + (high - low) * u for u in uniform(s + seed * 1000003, count)]
    mean = [[W * u, H * v] for u, v in draw(1, at(-0.05, 1.05), G, 2)]
    shape = draw(2, at(0.0, 1.0), G, 3)
    conic, radius = [], []
    for s, t, turn in shape:
        wide, narrow = ((0.05 + k) * min(H, W) * scale for k in (0.35 * s, 0.2 * t))
        p, q, angle = 1 / wide ** 2, 1 / narrow ** 2, math.pi * turn
        co, si = math.cos(angle), math.sin(angle)
        conic.append([p * co * co + q * si * si, (p - q) * co * si, p * si * si + q * co * co])
        radius.append(3 * max(wide, narrow))
    opacity = [min(1.0, o) for o in draw(3, at(0.6, 1.2), G)]
    single = draw(4, lambda s, n: flat(mean) + flat(conic) + opacity, 6 * G)  # rounded to f32
    return {"mean": [single[2 * g:2 * g + 2] for g in range(G)],
            "conic": [single[2 * G + 3 * g:2 * G + 3 * g + 3] for g in range(G)],
            "opacity": single[5 * G:], "colour": draw(5, at(0.0, 1.0), G, 3),
            "background": draw(6, at(0.0, 1.0), 3)}, radius, draw(7, at(0.0, 1.0), G)


TILE = 16


def tiles(d, radius, depth, H, W):
    """For each tile the Gaussians that touch it, nearest first: where its entries begin, and all entries."""
    wide, tall = (W + TILE - 1) // TILE, (H + TILE - 1) // TILE
    lists = [[] for _ in range(wide * tall)]
    for g in sorted(range(len(radius)), key=lambda g: depth[g]):
        low, high = ([int((m + s * radius[g]) // TILE) for m in d["mean"][g]] for s in (-1, 1))
        for ty in range(max(low[1], 0), min(high[1], tall - 1) + 1):
            for tx in range(max(low[0], 0), min(high[0], wide - 1) + 1):
                lists[ty * wide + tx].append(g)
    first = [0]
    for entries in lists:
        first.append(first[-1] + len(entries))
    return {"first": first, "order": [g for entries in lists for g in entries]}


def compositing(G=40, H=20, W=24):
    for seed in range(1000):
        d, radius, depth = gaussians(seed, G, H, W, 1.0)
        ct, entries = draw(8, normal, H, W, 3), tiles(d, radius, depth, H, W)
        first, order = entries["first"], entries["order"]
        out, grad = zeros_like(ct), {n: zeros_like(v) for n, v in d.items()}
        try:
            for y in range(H):
                for x in range(W):
                    t = y // TILE * ((W + TILE - 1) // TILE) + x // TILE
                    pixel(d, order[first[t]:first[t + 1]], x, y, ct[y][x], out[y][x], grad)
        except TooClose:
            continue
        return ({**d, **entries, "ct_image": ct},
                {"image": out, **{"grad_" + n: g for n, g in grad.items()}})
    sys.exit("no seed keeps all decisions clear of rounding: fewer pixels")


def scene(G=2000, H=128, W=128):
    """Gaussians of such a size that some forty touch a pixel."""
    d, radius, depth = gaussians(0, G, H, W, min(1.0, math.sqrt(40 / G)))
    return {**d, **tiles(d, radius, depth, H, W)}, {}


def write(folder, arrays):
    for kind, code in (("f32", "f"), ("f64", "d")):
        place = os.path.join(folder, kind)
        os.makedirs(place, exist_ok=True)
        for name, value in arrays.items():
            shape, inner = [], value
            while isinstance(inner, list):
                shape.append(len(inner))
                inner = inner[0]
            save(os.path.join(place, name + ".npy"), flat(value), shape, "I" if isinstance(inner, int) else code)


def run(problems, argv, doc):
    make = problems.get(argv[1]) if len(argv) > 2 else None
    sizes = [int(a) for a in argv[3:]]
    if not make or len(sizes) not in (0, make.__code__.co_argcount) or min(sizes, default=2) < 1:
        sys.exit(doc)
    inputs, expected = make(*sizes)
    write(argv[2], {**inputs, **expected})


if __name__ == "__main__":
    run({"bilinear": bilinear, "bilateral": bilateral, "hashgrid": hashgrid, "compositing": compositing,
         "scene": scene},
        sys.argv, __doc__)
