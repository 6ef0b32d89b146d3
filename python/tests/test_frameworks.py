# SPDX-License-Identifier: MIT
"""Examples beside torch and jax, where those are installed."""
import numpy as np
import pytest
from formulas import EXAMPLES

import vyre

IDS = [e[1] for e in EXAMPLES]


def arrays(given):
    return {k: v.astype("f4") for k, v in given.items()}


def close(got, want):
    want = np.asarray(want)
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5 * max(1, np.abs(want).max()))


@pytest.mark.parametrize("case", EXAMPLES, ids=IDS)
def test_torch(device, example, case):
    """Values, gradients, and the gradient of a function of the gradient, through torch.autograd."""
    torch = pytest.importorskip("torch")
    from vyre.torch import function
    file, name, given, scalars, output, formula = case
    run = function(vyre.load(example(file + ".vyre"), program=name), **scalars)
    ours = {k: torch.tensor(v, requires_grad=True) for k, v in arrays(given).items()}
    theirs = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in given.values()]
    weights = torch.tensor(np.random.default_rng(7).standard_normal(formula(torch, *theirs).shape))
    got, want = run(**ours), formula(torch, *theirs)
    close(got.detach().numpy(), want.detach().numpy())
    first = torch.autograd.grad((got * weights.float()).sum(), list(ours.values()), create_graph=True)
    expected = torch.autograd.grad((want * weights).sum(), theirs, create_graph=True)
    for a, b in zip(first, expected):
        close(a.detach().numpy(), b.detach().numpy())
    if name in ("matmul", "kmeans", "energy", "mse", "lse", "softmax", "layernorm"):
        second = torch.autograd.grad(sum((g * g).sum() for g in first), list(ours.values()), allow_unused=True)
        twice = torch.autograd.grad(sum((g * g).sum() for g in expected), theirs, allow_unused=True)
        for a, b in zip(second, twice):
            close(a.numpy() if a is not None else 0, b.numpy() if b is not None else 0)


@pytest.mark.parametrize("case", EXAMPLES, ids=IDS)
def test_jax(device, example, case):
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    jnp.amax, jnp.amin = getattr(jnp, "amax", jnp.max), getattr(jnp, "amin", jnp.min)
    file, name, given, scalars, output, formula = case
    p = vyre.load(example(file + ".vyre"), program=name)
    close(p(**arrays(given), **scalars)[output], formula(jnp, *given.values()))
    r = p.grad(of=[output])(**arrays(given), **scalars)
    slopes = jax.grad(lambda *a: jnp.sum(formula(jnp, *a)), argnums=tuple(range(len(given))))(*given.values())
    for key, slope in zip(given, slopes):
        close(r["grad_" + key], slope)


def test_torch_errors(device):
    torch = pytest.importorskip("torch")
    from vyre.torch import function
    run = function(vyre.load("program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }"))
    x = torch.ones(3)
    assert not run(x).requires_grad
    np.testing.assert_array_equal(run(x=x).numpy(), [1, 1, 1])
    with pytest.raises(TypeError, match="needs x"):
        run()
    with pytest.raises(TypeError, match="CPU"):
        run(torch.ones(3, device="meta"))
    x = torch.ones(3, requires_grad=True)
    y = torch.autograd.gradcheck(lambda v: run(v.float()).double(), (x.detach().double().requires_grad_(),), eps=1e-2, atol=1e-2)
    assert y
    z = vyre.load("program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }")
    np.testing.assert_array_equal(z(x=x.detach()).y, z(x=x).y)  # by DLPack, as any array


def test_progress_bar(device):
    pytest.importorskip("tqdm")
    p = vyre.load("program f(w: in f32[1], loss: out f32[1]) over(i: 1) { loss[0] = w[0] * w[0]; }")
    assert vyre.fit(p, params=["w"], data={"w": np.ones(1, "f4")}, steps=20, progress=True).steps == 20
