# SPDX-License-Identifier: MIT
"""Rows by NVIDIA Warp's reverse mode on the CPU (one thread; its other devices are CUDA's): kernels recorded by a `Tape`.

A variable that a loop of dynamic length overwrites has a wrong gradient in Warp ("Dynamic Loops" of its manual), so what
such a loop carries is an array with an element a step.  Sums are fine, but not functions of them in the same kernel.
"""
import numpy as np
import warp as wp

wp.config.quiet = True
wp.config.verify_autograd_array_access = False
wp.init()


def where() -> str:
    return "warp %s, cpu" % wp.config.version


def array(value):
    kind = {np.dtype("u4"): wp.uint32, np.dtype("i4"): wp.int32}.get(value.dtype, wp.float32)
    return wp.array(value, dtype=kind, device="cpu", requires_grad=kind is wp.float32)


def zeros(shape):
    return wp.zeros(shape, dtype=wp.float32, device="cpu", requires_grad=True)


# ------------------------------------------------------------------------------------------ kernels
@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = float(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@wp.kernel(enable_backward=False)
def largest(x: wp.array2d(dtype=float), most: wp.array(dtype=float)):
    r = wp.tid()
    found = x[r, 0]
    for c in range(x.shape[1]):
        found = wp.max(found, x[r, c])
    most[r] = found


@wp.kernel
def exponentials(x: wp.array2d(dtype=float), most: wp.array(dtype=float), e: wp.array2d(dtype=float),
                 total: wp.array(dtype=float)):
    r = wp.tid()
    found = float(0.0)
    for c in range(x.shape[1]):
        value = wp.exp(x[r, c] - most[r])
        e[r, c] = value
        found += value
    total[r] = found


@wp.kernel
def quotients(e: wp.array2d(dtype=float), total: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    r, c = wp.tid()
    y[r, c] = e[r, c] / total[r]


DIMS = wp.constant(10)


@wp.kernel
def terms(alpha: wp.array(dtype=float), mu: wp.array2d(dtype=float), q: wp.array2d(dtype=float),
          l: wp.array2d(dtype=float), x: wp.array2d(dtype=float), beta: wp.array2d(dtype=float)):
    n, k = wp.tid()
    value = alpha[k]
    for r in range(DIMS):
        y = wp.exp(q[k, r]) * (x[n, r] - mu[k, r])
        for c in range(r):
            at = c * (2 * DIMS - c - 1) // 2 + r - c - 1  # below the diagonal, column by column
            y += l[k, at] * (x[n, c] - mu[k, c])
        value += q[k, r] - 0.5 * y * y
    beta[n, k] = value


@wp.kernel
def logarithms(most: wp.array(dtype=float), total: wp.array(dtype=float), scale: float, loss: wp.array(dtype=float)):
    n = wp.tid()
    wp.atomic_add(loss, 0, scale * (most[n] + wp.log(total[n])))


@wp.kernel
def weights_of(alpha: wp.array(dtype=float), total: wp.array(dtype=float)):
    found = float(0.0)
    for k in range(alpha.shape[0]):
        found += wp.exp(alpha[k])
    total[0] = found


@wp.kernel
def prior(q: wp.array2d(dtype=float), l: wp.array2d(dtype=float), m: float, gamma: float, loss: wp.array(dtype=float)):
    k = wp.tid()
    squares = float(0.0)
    for r in range(q.shape[1]):
        squares += m * q[k, r] - 0.5 * gamma * gamma * wp.exp(2.0 * q[k, r])
    for at in range(l.shape[1]):
        squares -= 0.5 * gamma * gamma * l[k, at] * l[k, at]
    wp.atomic_add(loss, 0, squares)


@wp.kernel
def begin(q: wp.array(dtype=float), v: wp.array(dtype=float), a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    n = wp.tid()
    a[n, 0] = q[n]
    b[n, 0] = v[n]


@wp.kernel
def walk(k: wp.array(dtype=float), a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    n = wp.tid()
    for t in range(a.shape[1] - 1):
        b[n, t + 1] = b[n, t] - 0.01 * (k[n] * wp.sin(a[n, t]) + 0.1 * b[n, t] * b[n, t] * b[n, t])
        a[n, t + 1] = a[n, t] + 0.01 * b[n, t + 1]


@wp.kernel
def end(a: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    n = wp.tid()
    last = a[n, a.shape[1] - 1]
    wp.atomic_add(loss, 0, last * last)


@wp.kernel
def energy(p: wp.array2d(dtype=float), m: wp.array(dtype=float), eps: float, loss: wp.array(dtype=float)):
    a = wp.tid()
    total = float(0.0)
    for b in range(p.shape[0]):
        if a != b:
            x = p[a, 0] - p[b, 0]
            y = p[a, 1] - p[b, 1]
            z = p[a, 2] - p[b, 2]
            total += 0.5 * m[a] * m[b] / wp.sqrt(x * x + y * y + z * z + eps * eps)
    wp.atomic_sub(loss, 0, total)


@wp.kernel
def scaled(w: wp.array(dtype=float), at: wp.array(dtype=wp.uint32), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    n = wp.tid()
    y[n] = w[int(at[n])] * x[n]


@wp.kernel
def features_of(table: wp.array3d(dtype=float), x: wp.array2d(dtype=float), cells: wp.array(dtype=wp.uint32),
                y: wp.array3d(dtype=float)):
    n, level = wp.tid()
    size = cells[level]
    entries = wp.uint32(table.shape[1])
    at = wp.vec3(x[n, 0], x[n, 1], x[n, 2]) * float(size)
    one = float(0.0)
    two = float(0.0)
    for corner in range(8):
        weight = float(1.0)
        c = wp.vec3ui(wp.uint32(at[0]), wp.uint32(at[1]), wp.uint32(at[2]))
        for k in range(3):
            frac = at[k] - wp.floor(at[k])
            if (corner >> k) & 1 == 1:
                weight *= frac
                c[k] = c[k] + wp.uint32(1)
            else:
                weight *= 1.0 - frac
        side = size + wp.uint32(1)
        e = (c[2] * side + c[1]) * side + c[0]
        if float(side) * float(side) * float(side) > float(entries):
            e = (c[0] ^ (c[1] * wp.uint32(2654435761)) ^ (c[2] * wp.uint32(805459861))) % entries
        one += weight * table[level, int(e), 0]
        two += weight * table[level, int(e), 1]
    y[n, level, 0] = one
    y[n, level, 1] = two


@wp.kernel
def layer_of(w: wp.array3d(dtype=float), b: wp.array2d(dtype=float), layer: int, h: wp.array2d(dtype=float),
             z: wp.array2d(dtype=float)):
    n, o = wp.tid()
    total = b[layer, o]
    for k in range(h.shape[1]):
        total += w[layer, o, k] * h[n, k]
    z[n, o] = total


@wp.kernel
def tanh_of(z: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    n, o = wp.tid()
    y[n, o] = wp.tanh(z[n, o])


@wp.kernel
def mean_square(h: wp.array2d(dtype=float), t: wp.array(dtype=float), loss: wp.array(dtype=float)):
    n = wp.tid()
    e = h[n, 0] - t[n]
    wp.atomic_add(loss, 0, e * e / float(t.shape[0]))


# --------------------------------------------------------------------------------------------- rows
# Each launches the kernels of its row and returns what is differentiated.
def matmul(i, _):
    c = zeros((i["a"].shape[0], i["b"].shape[1]))
    wp.launch(product, dim=c.shape, inputs=[i["a"], i["b"], c], device="cpu")
    return c


def softmax(i, _):
    shape = i["x"].shape
    most, total, e, y = zeros(shape[0]), zeros(shape[0]), zeros(shape), zeros(shape)
    wp.launch(largest, dim=shape[0], inputs=[i["x"], most], device="cpu")
    wp.launch(exponentials, dim=shape[0], inputs=[i["x"], most, e, total], device="cpu")
    wp.launch(quotients, dim=shape, inputs=[e, total, y], device="cpu")
    return y


def gmm(i, fixed):
    count, size = i["x"].shape[0], i["alpha"].shape[0]
    beta, e, most, total, loss = zeros((count, size)), zeros((count, size)), zeros(count), zeros(count), zeros(1)
    none, weights = zeros(1), zeros(1)
    wp.launch(terms, dim=beta.shape, inputs=[i["alpha"], i["mu"], i["q"], i["l"], i["x"], beta], device="cpu")
    wp.launch(largest, dim=count, inputs=[beta, most], device="cpu")
    wp.launch(exponentials, dim=count, inputs=[beta, most, e, total], device="cpu")
    wp.launch(logarithms, dim=count, inputs=[most, total, 1.0, loss], device="cpu")
    wp.launch(weights_of, dim=1, inputs=[i["alpha"], weights], device="cpu")
    wp.launch(logarithms, dim=1, inputs=[none, weights, -float(count), loss], device="cpu")
    wp.launch(prior, dim=size, inputs=[i["q"], i["l"], float(fixed["m"]), float(fixed["gamma"]), loss], device="cpu")
    return loss


def ode(i, fixed):
    count, steps = i["q"].shape[0], int(fixed["T"])
    a, b, loss = zeros((count, steps + 1)), zeros((count, steps + 1)), zeros(1)
    wp.launch(begin, dim=count, inputs=[i["q"], i["v"], a, b], device="cpu")
    wp.launch(walk, dim=count, inputs=[i["k"], a, b], device="cpu")
    wp.launch(end, dim=count, inputs=[a, loss], device="cpu")
    return loss


def nbody(i, fixed):
    loss = zeros(1)
    wp.launch(energy, dim=i["p"].shape[0], inputs=[i["p"], i["m"], float(fixed["eps"]), loss], device="cpu")
    return loss


def hist(i, _):
    y = zeros(i["x"].shape[0])
    wp.launch(scaled, dim=y.shape[0], inputs=[i["w"], i["idx"], i["x"], y], device="cpu")
    return y


def hashgrid(i, _):
    y = zeros((i["x"].shape[0], i["cells"].shape[0], 2))
    wp.launch(features_of, dim=y.shape[:2], inputs=[i["table"], i["x"], i["cells"], y], device="cpu")
    return y


def mlp(i, _):
    h, loss = i["x"], zeros(1)
    for layer in range(i["w"].shape[0]):
        z, y = zeros(h.shape), zeros(h.shape)
        wp.launch(layer_of, dim=h.shape, inputs=[i["w"], i["b"], layer, h, z], device="cpu")
        wp.launch(tanh_of, dim=h.shape, inputs=[z, y], device="cpu")
        h = y
    wp.launch(mean_square, dim=h.shape[0], inputs=[h, i["t"], loss], device="cpu")
    return loss


def prepare(name, row, inputs):
    arrays = {key: array(value) for key, value in inputs.items() if value.ndim and not key.startswith("grad_")}
    fixed = {key: value for key, value in inputs.items() if not value.ndim}
    seed = wp.array(inputs["grad_" + row.cotangent], dtype=wp.float32, device="cpu") if row.cotangent else None

    def run():
        for x in arrays.values():
            if x.grad is not None:
                x.grad.zero_()
        with wp.Tape() as tape:
            out = globals()[name](arrays, fixed)
        tape.backward(grads={out: seed} if seed is not None else {out: wp.ones_like(out, requires_grad=False)})
        return lambda: {key: arrays[key].grad.numpy() for key in row.wrt}

    return run
