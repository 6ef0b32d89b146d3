# SPDX-License-Identifier: MIT
"""Rows by Taichi's reverse mode, on the Vulkan device that the loader finds first: fields with `needs_grad`, the kernels
and then their `.grad()` in the other order.

Sums that a gradient goes through are fields to which every iteration adds: with a local variable before an inner loop, the
gradients of Taichi 1.7.4 are wrong without a message (matmul, nbody). What an in-kernel loop carries is a field with an
element a step for the same reason.
"""
import numpy as np
import taichi as ti

ti.init(arch=ti.vulkan, offline_cache=False, log_level=ti.ERROR)


def where() -> str:
    return "taichi, %s" % ti.lang.impl.current_cfg().arch.name


def field(shape, value=None):
    made = ti.field(ti.f32, shape=shape, needs_grad=True)
    if value is not None:
        made.from_numpy(value)
    return made


def plain(value):
    made = ti.field(ti.u32 if value.dtype == np.uint32 else ti.f32, shape=value.shape)
    made.from_numpy(value)
    return made


@ti.kernel
def clear(x: ti.template()):
    for at in ti.grouped(x):
        x[at] = 0.0


@ti.kernel
def copy(to: ti.template(), x: ti.template()):
    for at in ti.grouped(x):
        to[at] = x[at]


@ti.kernel
def find_largest(x: ti.template(), most: ti.template()):
    for r in most:
        found = x[r, 0]
        for c in range(x.shape[1]):
            found = ti.max(found, x[r, c])
        most[r] = found


class Largest:
    """The largest of each row, which is taken off before exponentials: any constant would do, so it has no gradient."""

    def __init__(self, x, most):
        self.fields = x, most

    def __call__(self):
        find_largest(*self.fields)

    def grad(self):
        pass


def matmul(i):
    a, b = field(i["a"].shape, i["a"]), field(i["b"].shape, i["b"])
    c = field(i["grad_c"].shape)
    size = a.shape[1]

    @ti.kernel
    def product():
        for x, y in c:
            for k in range(size):
                c[x, y] += a[x, k] * b[k, y]

    return {"a": a, "b": b}, [c], [product], c, i["grad_c"]


def softmax(i):
    rows = len(i["x"])
    x, e, y = field(i["x"].shape, i["x"]), field(i["x"].shape), field(i["x"].shape)
    most, total = ti.field(ti.f32, shape=rows), field(rows)

    @ti.kernel
    def exponentials():
        for r, c in x:
            e[r, c] = ti.exp(x[r, c] - most[r])
            total[r] += e[r, c]

    @ti.kernel
    def quotients():
        for r, c in x:
            y[r, c] = e[r, c] / total[r]

    return {"x": x}, [e, y, total], [Largest(x, most), exponentials, quotients], y, i["grad_y"]


def gmm(i):
    count, (size, dims) = len(i["x"]), i["mu"].shape
    alpha, mu, q, l = (field(i[key].shape, i[key]) for key in ("alpha", "mu", "q", "l"))
    x, beta, total, loss = plain(i["x"]), field((count, size)), field(count), field(())
    top, sum_alpha = ti.field(ti.f32, shape=count), field(())
    m, gamma = float(i["m"]), float(i["gamma"])
    column, row = np.triu_indices(dims, 1)  # below the diagonal, column by column
    place = {(int(r), int(c)): at for at, (c, r) in enumerate(zip(column, row))}

    @ti.kernel
    def terms():
        for n, k in beta:
            value = alpha[k]
            for r in ti.static(range(dims)):
                y = ti.exp(q[k, r]) * (x[n, r] - mu[k, r])
                for c in ti.static(range(r)):
                    y += l[k, place[r, c]] * (x[n, c] - mu[k, c])
                value += q[k, r] - 0.5 * y * y
            beta[n, k] = value

    @ti.kernel
    def exponentials():
        for n, k in beta:
            total[n] += ti.exp(beta[n, k] - top[n])

    @ti.kernel
    def logarithms():
        for n in range(count):
            loss[None] += top[n] + ti.log(total[n])

    @ti.kernel
    def weights():
        for k in range(size):
            sum_alpha[None] += ti.exp(alpha[k])

    @ti.kernel
    def prior():
        for k in range(size):
            value = 0.0
            for r in ti.static(range(dims)):
                value += m * q[k, r] - 0.5 * gamma * gamma * ti.exp(2.0 * q[k, r])
            for at in ti.static(range(dims * (dims - 1) // 2)):
                value -= 0.5 * gamma * gamma * l[k, at] * l[k, at]
            loss[None] += value

    @ti.kernel
    def end():
        for _ in range(1):
            loss[None] -= count * ti.log(sum_alpha[None])

    kernels = [terms, Largest(beta, top), exponentials, logarithms, weights, prior, end]
    return {"alpha": alpha, "mu": mu, "q": q, "l": l}, [beta, total, loss, sum_alpha], kernels, loss, None


def ode(i):
    count, steps = len(i["q"]), int(i["T"])
    q, v, stiffness = (field(i[key].shape, i[key]) for key in ("q", "v", "k"))
    a, b, loss = field((steps + 1, count)), field((steps + 1, count)), field(())

    @ti.kernel
    def begin():
        for n in range(count):
            a[0, n] = q[n]
            b[0, n] = v[n]

    @ti.kernel
    def walk():
        for n in range(count):
            for t in range(steps):
                b[t + 1, n] = b[t, n] - 0.01 * (stiffness[n] * ti.sin(a[t, n]) + 0.1 * b[t, n] * b[t, n] * b[t, n])
                a[t + 1, n] = a[t, n] + 0.01 * b[t + 1, n]

    @ti.kernel
    def end():
        for n in range(count):
            loss[None] += a[steps, n] * a[steps, n]

    return {"q": q, "v": v, "k": stiffness}, [a, b, loss], [begin, walk, end], loss, None


def nbody(i):
    count = len(i["p"])
    p, m, loss, eps = field(i["p"].shape, i["p"]), plain(i["m"]), field(()), float(i["eps"])

    @ti.kernel
    def energy():
        for a in range(count):
            for b in range(count):
                if a != b:
                    x, y, z = p[a, 0] - p[b, 0], p[a, 1] - p[b, 1], p[a, 2] - p[b, 2]
                    loss[None] -= 0.5 * m[a] * m[b] / ti.sqrt(x * x + y * y + z * z + eps * eps)

    return {"p": p}, [loss], [energy], loss, None


def hist(i):
    w, at, x = field(i["w"].shape, i["w"]), plain(i["idx"]), plain(i["x"])
    y = field(i["x"].shape)

    @ti.kernel
    def products():
        for n in y:
            y[n] = w[at[n]] * x[n]

    return {"w": w}, [y], [products], y, i["grad_y"]


def hashgrid(i):
    table, x = field(i["table"].shape, i["table"]), plain(i["x"])
    features = field(i["grad_features"].shape)
    entries, cells = i["table"].shape[1], [int(n) for n in i["cells"]]

    @ti.kernel
    def features_of():
        for n in range(x.shape[0]):
            for level in ti.static(range(len(cells))):
                at = ti.Vector([x[n, 0], x[n, 1], x[n, 2]]) * float(cells[level])
                low = ti.floor(at)
                frac = at - low
                cell = ti.cast(low, ti.u32)
                one, two = 0.0, 0.0
                for corner in ti.static(range(8)):
                    weight = 1.0
                    for k in ti.static(range(3)):
                        weight *= frac[k] if corner >> k & 1 else 1.0 - frac[k]
                    c = cell + ti.Vector([corner & 1, corner >> 1 & 1, corner >> 2], ti.u32)
                    e = ti.u32(0)
                    if ti.static((cells[level] + 1) ** 3 <= entries):
                        e = (c[2] * ti.u32(cells[level] + 1) + c[1]) * ti.u32(cells[level] + 1) + c[0]
                    else:
                        e = (c[0] ^ c[1] * ti.u32(2654435761) ^ c[2] * ti.u32(805459861)) % ti.u32(entries)
                    one += weight * table[level, e, 0]
                    two += weight * table[level, e, 1]
                features[n, level, 0] = one
                features[n, level, 1] = two

    return {"table": table}, [features], [features_of], features, i["grad_features"]


def mlp(i):
    count, size = i["x"].shape
    layers = len(i["w"])
    w, b = field(i["w"].shape, i["w"]), field(i["b"].shape, i["b"])
    x, t, loss = plain(i["x"]), plain(i["t"]), field(())
    h, z = [field((count, size)) for _ in range(layers + 1)], [field((count, size)) for _ in range(layers)]
    copy(h[0], x)

    def sums(layer):
        @ti.kernel
        def add():
            for n, o in z[layer]:
                for k in range(size):
                    z[layer][n, o] += w[layer, o, k] * h[layer][n, k]
        return add

    def activations(layer):
        @ti.kernel
        def apply():
            for n, o in z[layer]:
                h[layer + 1][n, o] = ti.tanh(z[layer][n, o] + b[layer, o])
        return apply

    @ti.kernel
    def end():
        for n in range(count):
            e = h[layers][n, 0] - t[n]
            loss[None] += e * e / count

    kernels = [kernel for layer in range(layers) for kernel in (sums(layer), activations(layer))]
    # The sums must start at zero; h[0] is data, but its gradient is added to.
    return {"w": w, "b": b}, [*z, *h[1:], loss], [*kernels, end], loss, None, [h[0]]


def prepare(name, _, inputs):
    wrt, made, kernels, out, cotangent, *others = globals()[name](inputs)
    seed = plain(cotangent) if cotangent is not None else None
    added = [*wrt.values(), *made, *(others[0] if others else [])]

    def run():
        for x in made:
            clear(x)
        for x in added:
            clear(x.grad)
        for kernel in kernels:
            kernel()
        if seed is None:
            out.grad[None] = 1.0
        else:
            copy(out.grad, seed)
        for kernel in reversed(kernels):
            kernel.grad()
        ti.sync()
        return lambda: {key: x.grad.to_numpy() for key, x in wrt.items()}

    return run
