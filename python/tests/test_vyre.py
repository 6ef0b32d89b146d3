# SPDX-License-Identifier: MIT
"""The package as its users see it."""
import gc
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import vyre

MODEL = """
program model(w: in f32[D], x: in f32[N, D], y: in f32[N], loss: out f32[1], N: u32, D: u32) over(i: N) {
    let e = sum(k in 0..D: w[k] * x[i, k]) - y[i];
    atomic_add(loss[0], e * e);
}
"""


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 3)).astype("f4")
    return {"w": np.array([0.5, -1, 2], "f4"), "x": x, "y": rng.standard_normal(20).astype("f4")}


def by_hand(d):
    e = d["x"].astype("f8") @ d["w"] - d["y"]
    return (e * e).sum(), 2 * d["x"].T.astype("f8") @ e


# ------------------------------------------------------------------------------------------- runs
def test_batches(device, data):
    g = vyre.load(MODEL).grad(wrt=["w"], batches=3)
    assert "pipeline" in g.text and "batch" in g.text
    np.testing.assert_allclose(g(**data).grad_w, by_hand(data)[1], rtol=1e-4)
    with pytest.raises(OverflowError, match="batches"):
        vyre.load(MODEL).grad(wrt=["w"], batches=2 ** 32)


def test_values_and_gradients(device, data):
    loss, slope = by_hand(data)
    p = vyre.load(MODEL)
    np.testing.assert_allclose(p(**data).loss, [loss], rtol=1e-5)
    r = p.grad(wrt=["w"], with_value=True)(**data)
    assert sorted(r) == ["grad_w", "loss"] and len(r) == 2 and r.milliseconds > 0
    np.testing.assert_allclose(r["loss"], [loss], rtol=1e-5)
    np.testing.assert_allclose(r.grad_w, slope, rtol=1e-4)
    assert "grad_w" in dir(r) and "grad_w" in repr(r)
    with pytest.raises(AttributeError, match="grad_w, loss|loss, grad_w"):
        r.grad_q


def test_interpreter(data):
    dev = vyre.Device("interpreter")
    assert dev.name == "interpreter" and dev.is_cpu
    r = vyre.load(MODEL).grad(wrt="w")(device=dev, **data)
    np.testing.assert_allclose(r.grad_w, by_hand(data)[1], rtol=1e-4)


def test_forward_and_second_order(device, data):
    p = vyre.load(MODEL)
    v = np.array([1, 2, -1], "f4")
    r = p.jvp(wrt=["w"])(**data, dot_w=v)
    np.testing.assert_allclose(r.dot_loss, [by_hand(data)[1] @ v], rtol=1e-4)
    hessian = 2 * data["x"].T @ data["x"]
    hv = p.grad(wrt=["w"]).jvp(wrt=["w"], of=["grad_w"])(**data, dot2_w=v)
    np.testing.assert_allclose(hv.dot2_grad_w, hessian @ v, rtol=1e-4)
    twice = p.grad(wrt=["w"]).grad(wrt=["w"], of=["grad_w"], seed=True)
    names = [q.name for q in twice.parameters if q.role == "cotangent"]
    vh = twice(**data, **{names[0]: v})
    np.testing.assert_allclose(vh[[n for n in vh][-1]], hessian @ v, rtol=1e-4)
    assert p.grad(wrt=["w"], order=2).parameters


def test_fields_of_structs(device):
    p = vyre.load("""
struct P { pos: vec3; n: i32; mass: f32; }
program f(w: in f32[N], p: in P[N], y: out f32[N], N: u32) over(i: N) { y[i] = w[i] * p[i].pos.x * p[i].mass; }
pipeline g(w: in f32[N], p: in P[N], y: out f32[N], N: u32) { f(w, p, y); }
""", program="f")
    d = {"w": np.array([1, 2], "f4"), "p.pos": np.array([[1, 0, 0], [3, 0, 0]], "f4"), "p.mass": np.array([4, 5], "f4"),
         "p.n": np.zeros(2, "i4")}
    r = p.grad(wrt=["p"])(**d)  # all that can have a gradient
    assert sorted(r) == ["grad_p.mass", "grad_p.pos"]
    np.testing.assert_array_equal(r["grad_p.mass"], [1, 6])
    np.testing.assert_array_equal(r["grad_p.pos"][:, 0], [4, 10])
    assert sorted(p.grad(wrt=["p.mass", "w"])(**d)) == ["grad_p.mass", "grad_w"]
    tangents = {"dot_p.pos": d["p.pos"], "dot_p.mass": d["p.mass"]}
    np.testing.assert_array_equal(p.jvp(wrt=["p"])(**d, **tangents).dot_y, [8, 60])
    for wrong in ("p.n", "q", "p.", "po"):
        with pytest.raises(vyre.Error, match="E050"):
            p.grad(wrt=[wrong])


def test_nothing_of_an_earlier_call_stays(device, data):
    g = vyre.load(MODEL).grad(wrt=["w"])
    first = g(**data).grad_w
    other = {**data, "y": np.zeros(20, "f4")}
    np.testing.assert_allclose(g(**other).grad_w, by_hand(other)[1], rtol=1e-4)
    with pytest.raises(vyre.Error, match="y has no data") as e:
        g(w=data["w"], x=data["x"])
    assert e.value.code == "E0805" and e.value.fix
    seeded = vyre.load(MODEL).grad(wrt=["w"], seed=True)
    np.testing.assert_allclose(seeded(**data, grad_loss=np.array([3], "f4")).grad_w, 3 * first, rtol=1e-4)
    np.testing.assert_allclose(seeded(**data).grad_w, first, rtol=1e-4)  # ones again
    np.testing.assert_array_equal(first, g(**data).grad_w)


def test_other_sizes(device):
    g = vyre.load("program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }").grad()
    for n in (1, 5, 300, 2, 0, 7):
        x = np.arange(n, dtype="f4")
        np.testing.assert_array_equal(g(x=x).grad_x, 2 * x)


def test_in_place_and_open_shapes(device):
    p = vyre.load("program f(x: inout f32[N], N: u32) over(i: N) { x[i] = x[i] * 3.0; }")
    x = np.ones(4, "f4")
    for _ in range(2):  # each call begins with what it is given
        np.testing.assert_array_equal(p(x=x).x, 3 * x)
    q = vyre.load("program f(x: in f32[N], y: out f32[?], N: u32) over(i: N) { y[2 * i] = x[i]; }")
    np.testing.assert_array_equal(q(x=x, y=(8,)).y, [1, 0, 1, 0, 1, 0, 1, 0])
    np.testing.assert_array_equal(q(x=x, y=np.zeros(8)).y, [1, 0, 1, 0, 1, 0, 1, 0])


def test_types(device):
    text = "program f(%s) over(i: N) { %s }"
    for name, dtype in [("f16", "f2"), ("f32", "f4"), ("i32", "i4"), ("u32", "u4"), ("i64", "i8"), ("u64", "u8")]:
        p = vyre.load(text % ("x: in %s[N], y: out %s[N], N: u32" % (name, name), "y[i] = x[i] + x[i];"))
        x = np.arange(5).astype(dtype)
        try:
            y = p(x=x).y
        except vyre.Error as e:  # the device lacks it
            assert e.code == "E0903"
            y = p(device=vyre.Device("interpreter"), x=x).y
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, 2 * x)
    p = vyre.load(text % ("x: in bool[N], y: out bool[N], N: u32", "y[i] = !x[i];"))
    x = np.array([True, False, True])
    np.testing.assert_array_equal(p(x=x).y, ~x)


def test_conversions(device):
    p = vyre.load("program f(x: in f32[N], k: in u32[N], y: out f32[N], N: u32, s: f32) over(i: N) { y[i] = x[i] * s + f32(k[i]); }")
    want = [3.0, 5.0]
    for x in (np.array([1, 2], "f8"), np.array([1, 2], "f2"), np.array([9, 1, 9, 2], "f4")[1::2], [1.0, 2.0], memoryview(np.array([1, 2], "f4"))):
        for k in ([1, 1], np.array([1, 1], "i8"), np.array([True, True])):
            np.testing.assert_array_equal(p(x=x, k=k, s=2).y, want)
    with pytest.raises(TypeError, match="x is f32, but int64"):
        p(x=np.array([1, 2]), k=[1, 1], s=2)
    with pytest.raises(TypeError, match="k is u32, but float64"):
        p(x=[1.0, 2.0], k=[1.0, 1.0], s=2)
    with pytest.raises(OverflowError, match="value -1"):
        p(x=[1.0, 2.0], k=[-1, 1], s=2)
    with pytest.raises(vyre.Error, match="E0806"):
        p(x=[1.0, 2.0, 3.0], k=[1, 1], s=2)
    with pytest.raises(vyre.Error, match="axes"):
        p(x=np.ones((2, 2), "f4"), k=[1, 1], s=2)
    with pytest.raises(TypeError, match="has no parameter z; it has x, k, y, N, s"):
        p(x=[1.0], k=[1], s=2, z=1)


def test_groups(device):
    p = vyre.load("program f(y: out f32[16], n: u32) workgroup(4) { y[gid.x] = f32(wid.x); }")
    np.testing.assert_array_equal(p(groups=(3,), n=1).y, np.repeat([0, 1, 2, 0], 4))
    with pytest.raises(vyre.Error, match="workgroups"):
        p(n=1)


def test_threads(device, data):
    g = vyre.load(MODEL).grad(wrt=["w"])
    wrong = []

    def work(k):
        d = {**data, "y": data["y"] + np.float32(k)}
        for _ in range(20):
            if not np.allclose(g(**d).grad_w, by_hand(d)[1], rtol=1e-3):
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ------------------------------------------------------------------------------------------- programs
def test_texts_and_code(data):
    g = vyre.load(MODEL).grad(wrt=["w"])
    assert g.name == "model_grad" and "program model_grad(" in g.text and "model_grad" in repr(g)
    again = vyre.load(g.text)
    assert again.text == g.text
    words, manifest, header = g.compile()
    assert words[:4] == b"\x03\x02\x23\x07" and words == g.spirv == g.spirv
    assert manifest["name"] == "model_grad" and "model_grad" in header
    roles = {p.name: (p.role, p.of, p.access, p.type, p.rank) for p in g.parameters}
    assert roles["grad_w"] == ("gradient", "w", "out", "f32", 1) and roles["N"][0] == "scalar"


def test_files(device, tmp_path, example):
    x = np.array([1, 2, 3], "f4")
    (tmp_path / "lib.vyre").write_text("fn cube(v: f32) -> f32 { return v * v * v; }\n")
    path = tmp_path / "f.vyre"
    path.write_text('import "lib.vyre";\nconst K: f32 = 1.0;\n'
                    "program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = K * cube(x[i]); }\n"
                    "program g(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }\n")
    np.testing.assert_allclose(vyre.load(path, program="f", define={"K": 2.5})(x=x).y, 2.5 * x ** 3, rtol=1e-6)
    np.testing.assert_allclose(vyre.load(str(path), program="f").grad()(x=x).grad_x, 3 * x ** 2, rtol=1e-6)
    with pytest.raises(vyre.Error, match="E0803"):
        vyre.load(path)
    shader = tmp_path / "s.comp"
    shader.write_text("#version 450\nlayout(local_size_x = 64) in;\n"
                      "layout(binding = 0) buffer A { float a[]; };\nlayout(binding = 1) buffer B { float b[]; };\n"
                      "void main() { uint i = gl_GlobalInvocationID.x; if (i < a.length()) b[i] = SCALE * a[i] * a[i]; }\n")
    p = vyre.load(shader, define={"SCALE": "2.0"})
    np.testing.assert_allclose(p.grad(wrt=["a"])(a=x, b=(3,)).grad_a, 4 * x, rtol=1e-6)
    (tmp_path / "s.spv").write_bytes(p.spirv)
    assert vyre.load(tmp_path / "s.spv").parameters
    assert vyre.load(example("heat.vyre"), program="plate").parameters


def test_errors(tmp_path):
    with pytest.raises(vyre.Error) as e:
        vyre.load("program f(y: out f32[N], N: u32) over(i: N) {\n    y[i] = z;\n}")
    assert (e.value.code, e.value.line, e.value.column) == ("E0201", 2, 12)
    assert "y[i] = z;" in str(e.value) and e.value.fix and isinstance(e.value, RuntimeError)
    with pytest.raises(vyre.Error, match="cannot open"):
        vyre.load("nothing.vyre")
    with pytest.raises(vyre.Error, match="E0501"):
        vyre.load(MODEL).grad(wrt=["v"])
    with pytest.raises(vyre.Error, match="E0803"):
        vyre.load(MODEL, program="nothing")
    with pytest.raises(ValueError, match="accumulate"):
        vyre.load(MODEL).grad(accumulate="somehow")
    with pytest.raises(vyre.Error, match="E0903"):
        vyre.Device("no such device")
    with pytest.raises(TypeError):
        vyre.load(3)


def test_explain(example):
    found = vyre.load(MODEL).explain(wrt=["w"])
    assert [(g["name"], g["of"], g["sum"]) for g in found["gradients"]] == [("grad_w", "w", "atomic")]
    gathered = vyre.load(MODEL).explain(wrt=["w"], accumulate="gather")
    assert gathered["gradients"][0]["sum"] == "gather"
    heat = vyre.load(example("heat.vyre"), program="heat").explain()
    assert heat["gradients"] and heat["workspaces"] and "conditions" in heat
    with pytest.raises(vyre.Error, match="E0501"):
        vyre.load(MODEL).explain(wrt=["q"])


def test_check(data):
    assert vyre.load(MODEL).check(wrt=["w"], **data)
    wrong = vyre.load("""
fn rule(x: f32, ct: f32) -> f32 { return ct; }
@vjp(rule) fn twice(x: f32) -> f32 { return 2.0 * x; }
program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = twice(x[i]); }""")
    found = wrong.check(x=np.ones(3, "f4"))
    assert not found and "expected 2" in repr(found)
    assert [r.buffer for r in found.rows if r.test == "differences"] == ["grad_x"]
    with pytest.raises(vyre.Error, match="E0805"):
        vyre.load(MODEL).check(w=data["w"])


def test_gradcheck(device, data):
    assert vyre.gradcheck(vyre.load(MODEL), data, wrt=["w"])
    wrong = vyre.load("""
fn rule(x: f32, ct: f32) -> f32 { return ct; }
@vjp(rule) fn twice(x: f32) -> f32 { return 2.0 * x; }
program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = twice(x[i]); }""")
    with pytest.raises(AssertionError, match="by differences"):
        vyre.gradcheck(wrong, {"x": np.ones(3, "f4")})
    assert not vyre.gradcheck(wrong, {"x": np.ones(3, "f4")}, raise_exception=False)


# ------------------------------------------------------------------------------------------- training
def test_fit(device, data):
    data["y"] = data["x"] @ np.array([1, -2, 0.5], "f4")
    p = vyre.load(MODEL)
    seen = []
    f = vyre.fit(p, params=["w"], data=data, steps=250, lr=0.1, progress=lambda *a: seen.append(a), window=40)
    np.testing.assert_allclose(f.params["w"], [1, -2, 0.5], atol=1e-3)
    assert f.steps == 250 == len(f.losses) and f.losses[0] > 1 and f.losses[-1] < 1e-4
    assert [s[:2] for s in seen] == [(k, 250) for k in (40, 80, 120, 160, 200, 240, 250)] and seen[-1][2] == f.losses[-1]
    whole = vyre.fit(p, params=["w"], data=data, steps=250, lr=0.1)
    np.testing.assert_allclose(whole.losses, f.losses, rtol=1e-3, atol=1e-6)  # windows change nothing
    for optimizer in ("sgd", "momentum", "lbfgs"):
        g = vyre.fit(p, params=["w"], data=data, steps=60, optimizer=optimizer, lr=None if optimizer == "lbfgs" else 0.002)
        assert g.losses[-1] < 0.3 * g.losses[0], optimizer
    h = vyre.fit(p, params=["w"], data=data, steps=200, lr="cosine:0.2:0.001", batch=(["x", "y"], 10), seed=4)
    assert h.losses[-1] < 1e-2
    short = vyre.fit(p, params=["w"], data=data, steps=2000, lr=0.1, tolerance=1e-4)
    assert short.steps < 2000 and len(short.losses) == short.steps


def test_fit_names(device):
    """The program has the names that a training would like."""
    p = vyre.load("""
program f(w: in f32[1], step: in f32[N], losses: in f32[N], loss: out f32[1], N: u32, count: u32) over(i: N) {
    let e = w[0] * step[i] - losses[i] * f32(count);
    atomic_add(loss[0], e * e);
}""")
    given = {"w": np.zeros(1, "f4"), "step": np.array([1, 2, 3], "f4"), "losses": np.array([2, 4, 6], "f4"), "count": 3}
    f = vyre.fit(p, params=["w"], data=given, steps=95, lr="step:0.5:0.5:40", window=30)
    assert f.steps == 95 == len(f.losses)
    np.testing.assert_allclose(f.params["w"], [6], rtol=2e-2)


class Threads:
    """Ranks that are threads: what `fit` needs of a communicator."""

    def __init__(self, size):
        self.size, self.barrier, self.given = size, threading.Barrier(size, timeout=60), {}

    def of(self, rank):
        class Comm:
            size = self.size

            def allreduce(_, array):
                self.given[rank] = array
                self.barrier.wait()
                total = np.sum([self.given[k].astype("f8") for k in range(self.size)], axis=0)
                self.barrier.wait()
                return total
        comm = Comm()
        comm.rank = rank
        return comm


def on_threads(size, **arguments):
    """What each rank's fit returns or raises; a device each, as a run keeps it to itself."""
    threads, found = Threads(size), [None] * size

    def one(rank):
        try:
            found[rank] = vyre.fit(comm=threads.of(rank), device=vyre.Device(), **arguments)
        except Exception as e:  # pylint: disable=broad-except
            found[rank] = e
    running = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return found


def test_fit_ranks(data):
    data["y"] = data["x"] @ np.array([1, -2, 0.5], "f4")
    p = vyre.load(MODEL.replace("e * e", "e * e / f32(N)"))
    given = {"params": ["w"], "data": data, "steps": 40, "lr": 0.05}
    alone = vyre.fit(p, **given)
    for found in on_threads(3, program=p, shard=["x", "y"], **given):
        assert isinstance(found, type(alone)), found
        np.testing.assert_allclose(found.params["w"], alone.params["w"], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-3, atol=1e-5)
        assert found.steps == 40
    for found in on_threads(2, program=p, shard=["x", "y"], sums=True, **given):  # it is a mean
        assert isinstance(found, vyre.Error) and found.code == "E0806", found

    class Broken:
        rank, size = 0, 2

        def allreduce(self, array):
            raise OSError("no network")
    with pytest.raises(vyre.Error, match="no network") as e:
        vyre.fit(p, comm=Broken(), shard=["x", "y"], **given)
    assert e.value.code == "E0905"
    for wrong, word in (({"comm": Broken()}, "needs shard"), ({"shard": ["x"]}, "need comm"), ({"deadline": 1}, "need comm"), ({"comm": Broken(), "shard": ["x"], "deadline": 1}, "only mpi4py"),
                        ({"comm": Broken(), "shard": ["x", "w"]}, "other rows"), ({"comm": Broken(), "shard": ["z"]}, "z"),
                        ({"comm": object(), "shard": ["x"]}, "rank")):
        with pytest.raises((ValueError, TypeError, AttributeError), match=word):
            vyre.fit(p, **wrong, **given)


def test_fit_mpi(tmp_path):
    """The same with mpi4py, whose processes share nothing."""
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    probe = subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("there is no mpi4py")
    script = tmp_path / "train.py"
    script.write_text("""
import numpy as np, vyre
from mpi4py import MPI
p = vyre.load("program f(w: in f32[1], x: in f32[N], loss: out f32[1], N: u32) over(i: N)"
              " { let e = w[0] - x[i]; atomic_add(loss[0], e * e / f32(N)); }")
f = vyre.fit(p, params=["w"], data={"w": np.zeros(1, "f4"), "x": np.arange(7, dtype="f4")}, steps=200, lr=0.1, comm=MPI.COMM_WORLD,
             shard=["x"], deadline=60)
if MPI.COMM_WORLD.rank == 0:
    print(float(f.params["w"][0]), f.steps, flush=True)
    try:  # the other rank has left
        vyre.fit(p, params=["w"], data={"w": np.zeros(1, "f4"), "x": np.arange(7, dtype="f4")}, steps=2, lr=0.1, comm=MPI.COMM_WORLD,
                 shard=["x"], deadline=0.2)
    except vyre.Error as e:
        print(e.code, "has not answered for 0.2 s" in e.text, flush=True)
MPI.COMM_WORLD.Barrier()
""")
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    done = subprocess.run(["mpirun", "-n", "2", sys.executable, str(script)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    w, steps, *late = done.stdout.split()
    assert abs(float(w) - 3) < 0.05 and steps == "200" and late == ["E0905", "True"]


def test_fit_errors(device, data):
    p = vyre.load(MODEL)
    with pytest.raises(FloatingPointError, match="at step"):
        vyre.fit(p, params=["w"], data=data, steps=400, optimizer="sgd", lr=1e6)
    with pytest.raises(vyre.Error, match="E0501"):
        vyre.fit(p, params=["v"], data=data, steps=4)
    with pytest.raises(ValueError, match="cosine"):
        vyre.fit(p, params=["w"], data=data, steps=4, lr="linear:1")
    with pytest.raises(TypeError, match="no parameter q"):
        vyre.fit(p, params=["w"], data={**data, "q": 1}, steps=4)
    with pytest.raises(ValueError, match="steps"):
        vyre.fit(p, params=["w"], data=data, steps=0)
    for rate in (0, -1.0, "cosine:0"):
        with pytest.raises(vyre.Error, match="learning rate must be positive"):
            vyre.fit(p, params=["w"], data=data, steps=4, lr=rate)


def test_no_value(device):
    p = vyre.load("program f(x: in f32[N], y: out f32[N], s: f32, N: u32) over(i: N) { y[i] = x[i] * s; }")
    x = np.ones(3, "f4")
    with pytest.raises(TypeError, match="s is a number, f32, but NoneType is given"):
        p(device=device, x=x, s=None)
    with pytest.raises(TypeError, match="x is f32, but object is given"):
        p(device=device, x=None, s=2.0)
    g = p.grad(wrt=["x"], seed="buffer")
    with pytest.raises(vyre.Error, match="grad_y is .* as .2., but is .3."):
        g(device=device, x=x, s=2.0, grad_y=np.ones(2, "f4"))
    assert p(device=device, x=x, s=np.float64(2), N=3.0).y.tolist() == [2, 2, 2]


# ------------------------------------------------------------------------------------------- the package
def test_lifetimes(device, data):
    def made():
        dev = vyre.Device("interpreter")
        return vyre.load(MODEL).grad(wrt=["w"]), dev
    g, dev = made()
    gc.collect()
    r = g(device=dev, **data).grad_w
    del g, dev
    gc.collect()
    np.testing.assert_allclose(r, by_hand(data)[1], rtol=1e-4)


def test_import_alone():
    """It needs NumPy only, and imports nothing slow."""
    code = "import sys, vyre; print(*(m for m in ('torch', 'tqdm', 'jax') if m in sys.modules), vyre.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == [vyre.__version__] == [vyre._core.version()]
