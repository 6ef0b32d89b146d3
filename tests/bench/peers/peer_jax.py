# SPDX-License-Identifier: MIT
"""Rows by jax: jit of vjp or grad."""
import jax
import jax.numpy as jnp
import numpy as np


def where() -> str:
    return str(jax.devices()[0])


def gmm(p, x, m, gamma):
    alpha, mu, q, l = p["alpha"], p["mu"], p["q"], p["l"]
    (n, d), k = x.shape, len(alpha)
    column, row = np.triu_indices(d, 1)  # below the diagonal, column by column
    low = jnp.zeros((k, d, d)).at[:, row, column].set(l)
    off = x[:, None, :] - mu
    y = jnp.exp(q) * off + jnp.einsum("krc,nkc->nkr", low, off)
    beta = alpha + q.sum(1) - 0.5 * (y * y).sum(2)
    term = jax.nn.logsumexp(beta, axis=1).sum() - n * jax.nn.logsumexp(alpha)
    squares = jnp.exp(2 * q).sum() + (l * l).sum()
    return term + m * q.sum() - 0.5 * gamma * gamma * squares


def ode(p, steps):
    def step(_, state):
        a, b = state
        b = b - 0.01 * (p["k"] * jnp.sin(a) + 0.1 * b * b * b)
        return a + 0.01 * b, b

    a, _ = jax.lax.fori_loop(0, steps, step, (p["q"], p["v"]))
    return (a * a).sum()


def nbody(p, m, eps):
    d = p["p"][None] - p["p"][:, None]
    r = jax.lax.rsqrt((d * d).sum(2) + eps * eps)
    return -0.5 * (m[:, None] * m[None] * r * (1 - jnp.eye(len(m)))).sum()


def hashgrid(table, x, cells):
    levels, entries, _ = table.shape
    out = []
    for level in range(levels):
        n = int(cells[level])
        at = x * np.float32(n)
        low = jnp.floor(at)
        frac, low = at - low, at.astype(jnp.uint32)
        value = 0.0
        for corner in range(8):
            bit = [corner >> k & 1 for k in range(3)]
            weight = 1.0
            for k in range(3):
                weight = weight * (frac[:, k] if bit[k] else 1 - frac[:, k])
            c = [low[:, k] + np.uint32(bit[k]) for k in range(3)]
            if float(n + 1) ** 3 <= entries:
                e = (c[2] * np.uint32(n + 1) + c[1]) * np.uint32(n + 1) + c[0]
            else:
                e = (c[0] ^ c[1] * np.uint32(2654435761) ^ c[2] * np.uint32(805459861)) % np.uint32(entries)
            value = value + weight[:, None] * table[level, e]
        out.append(value)
    return jnp.stack(out, 1)


def mlp(p, x, t):
    h = x
    for layer in range(3):
        h = jnp.tanh(p["b"][layer] + h @ p["w"][layer].T)
    e = h[:, 0] - t
    return (e * e).sum() / len(t)


def loss_of(name, i):
    """What is differentiated, as a function of those of `wrt`."""
    ct = {"matmul": "grad_c", "softmax": "grad_y", "hist": "grad_y", "hashgrid": "grad_features"}.get(name)
    value = {
        "matmul": lambda p: p["a"] @ p["b"],
        "softmax": lambda p: jax.nn.softmax(p["x"], axis=1),
        "hist": lambda p: p["w"][i["idx"]] * i["x"],
        "hashgrid": lambda p: hashgrid(p["table"], i["x"], i["cells"]),
        "gmm": lambda p: gmm(p, i["x"], i["m"], i["gamma"]),
        "ode": lambda p: ode(p, int(i["T"])),
        "nbody": lambda p: nbody(p, i["m"], i["eps"]),
        "mlp": lambda p: mlp(p, i["x"], i["t"]),
    }[name]
    return (lambda p: (value(p) * i[ct]).sum()) if ct else value


def prepare(name, row, inputs):
    arrays = {key: jnp.asarray(value) if value.ndim else value for key, value in inputs.items()}
    fixed = {key: inputs[key] for key in ("cells", "T") if key in inputs}  # loops over them are unrolled or counted
    varied = {key: value for key, value in arrays.items() if key not in fixed and key not in row.wrt}
    grad = jax.jit(lambda p, v: jax.grad(loss_of(name, {**v, **fixed}))(p))
    wrt = {key: arrays[key] for key in row.wrt}

    def run():
        results = jax.block_until_ready(grad(wrt, varied))
        return lambda: results

    return run
