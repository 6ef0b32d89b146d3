# SPDX-License-Identifier: MIT
"""What a user gets wrong is an exception that says how to put it right, and never the end of the interpreter.

tests/scripts/python/sanitized.py runs this file and test_arrays.py with the package of a build with AddressSanitizer.
"""
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import vyre
from vyre import _core

TEXT = "program f(x: in f32[N, D], k: in u32[N], y: out f32[N], N: u32, D: u32, s: f32) over(i: N) { y[i] = x[i, 0] * s + f32(k[i]); }"
X, K = np.arange(6, dtype="f4").reshape(3, 2), np.ones(3, "u4")
WANT = [1, 5, 9]


@pytest.fixture(scope="module")
def interpreter():
    return vyre.Device("interpreter")


@pytest.fixture(scope="module")
def f():
    return vyre.load(TEXT)


@pytest.mark.parametrize("wrong, error, words", [
    ({"x": X.astype("i8")}, TypeError, r"x is f32, but int64 is given: convert it, as by \.astype\('float32'\)"),
    ({"x": X.astype("c8")}, TypeError, "complex64"),
    ({"x": np.array([["a", "b"]] * 3)}, TypeError, "<U1"),
    ({"x": np.array([[object(), None]] * 3)}, TypeError, "object"),
    ({"k": [1.5, 1, 1]}, TypeError, "k is u32, but float64"),
    ({"k": [-1, 1, 1]}, OverflowError, "-1"),
    ({"k": [2 ** 40, 1, 1]}, OverflowError, str(2 ** 40)),
    ({"x": X[:, 0]}, vyre.Error, "axes"),
    ({"x": X[:2]}, vyre.Error, "E0806"),
    ({"x": np.zeros((1,) * 30, "f4")}, (vyre.Error, ValueError), "."),
    ({"x": [[1.0, 2.0], [3.0]]}, ValueError, "."),
    ({"s": "two"}, (TypeError, ValueError), "."),
    ({"s": X}, (TypeError, ValueError), "."),
    ({"s": "2"}, TypeError, "s is a number, f32, but str is given"),
    ({"s": None}, TypeError, "s is a number, f32, but NoneType is given"),
    ({"N": "3"}, TypeError, "N is a number, u32, but str is given"),
    ({"N": 3.5}, vyre.Error, "N is u32, which does not have the value 3.5"),
    ({"N": np.float32(np.nan)}, vyre.Error, "E0807"),
    ({"x": None}, TypeError, "object"),
    ({"N": 2 ** 70}, (OverflowError, TypeError, vyre.Error), "."),
    ({"N": 7}, vyre.Error, "E0806"),
    ({"y": (2 ** 62, 2 ** 62)}, (vyre.Error, OverflowError), "."),
    ({"q": 1}, TypeError, "has no parameter q; it has x, k, y, N, D, s"),
    ({"groups": (1, 1)}, vyre.Error, "leave the number of workgroups out"),
    ({"groups": "ab"}, (TypeError, ValueError), "."),
    ({"device": "cpu"}, (TypeError, AttributeError), "."),
])
def test_arguments(interpreter, f, wrong, error, words):
    given = {"device": interpreter, "x": X, "k": K, "s": 2.0, **wrong}
    with pytest.raises(error, match=words):
        f(**given)
    np.testing.assert_array_equal(f(device=interpreter, x=X, k=K, s=2.0).y, WANT)  # it still works


def test_layouts(interpreter, f):
    """Any layout is taken: what is not contiguous is copied."""
    wide = np.zeros((6, 4), "f4")
    wide[::2, ::2] = X
    for x in (np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1], X.astype(">f4"), np.broadcast_to(X[:1], (3, 2))):
        np.testing.assert_array_equal(f(device=interpreter, x=x, k=K, s=2.0).y, x[:, 0] * 2 + 1)


def test_freed_early(interpreter, f):
    """What was given may go at once: values are copied before the call returns, results are the caller's."""
    def given():
        store = bytearray(X.tobytes())
        return np.frombuffer(store, "f4").reshape(3, 2)
    results = [f(device=interpreter, x=given(), k=K, s=float(i)).y for i in range(5)]
    array = interpreter.array(given())
    gc.collect()
    np.testing.assert_array_equal(results, [X[:, 0] * i + 1 for i in range(5)])
    np.testing.assert_array_equal(f(device=interpreter, x=array, k=K, s=2.0).y, WANT)
    released = memoryview(bytearray(24))
    released.release()
    with pytest.raises((ValueError, TypeError)):
        f(device=interpreter, x=released, k=K, s=2.0)
    last = np.from_dlpack(array)  # a capsule's owner may go before what it gave
    del array
    gc.collect()
    np.testing.assert_array_equal(last, X)


class Elsewhere:
    """What a tensor on a CUDA device says of itself."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **how):
        raise AssertionError("nobody may ask for it")


def test_other_devices(interpreter, f):
    with pytest.raises(TypeError, match=r"x is on another device: move it to the CPU first \(of torch: .cpu\(\)\)"):
        f(device=interpreter, x=Elsewhere(), k=K, s=2.0)


def test_changed_while_it_runs(interpreter, f):
    """Threads that write to what is given change numbers at most."""
    x, stop = X.copy(), threading.Event()

    def write():
        while not stop.is_set():
            x[:] = 0
    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            assert f(device=interpreter, x=x, k=K, s=2.0).y.shape == (3,)
    finally:
        stop.set()
        thread.join()


def test_no_driver():
    code = "import vyre\ntry: vyre.Device()\nexcept vyre.Error as e: print(e.code, '|', e.fix)"
    env = {**os.environ, "VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0 and done.stdout.startswith("E09") and len(done.stdout.split("|")[1]) > 5, done


def test_texts():
    for text in ("program f(", "{", "\n", "program \0 f{", "program f() over(i: 1) { }" * 3, "{" * 10000):
        with pytest.raises((vyre.Error, ValueError)):
            vyre.load(text)
    for data in (b"\x03\x02\x23\x07", b"\x03\x02\x23\x07" * 50, bytes(range(256)) * 8):
        with pytest.raises(vyre.Error):
            _core.Module.load("x.spv", data, {}, {}, {}, None, None)


def test_core(interpreter):
    """The extension itself, called as the package never does."""
    module = _core.Module.load("text", TEXT.encode(), {}, {}, {}, None, None)
    task = interpreter._session.task(module, {})
    for make in (_core.Module, _core.Task):
        with pytest.raises(TypeError):
            make()
        with pytest.raises(TypeError):
            object.__new__(make)
    calls = [
        lambda: task.set("x", "f32", (3, 2), b"short"), lambda: task.set("x", "f99", (1,), None),
        lambda: task.set("x", "f32", (2 ** 63, 2 ** 63), b""), lambda: task.set("x", "f32", (-1,), None),
        lambda: task.set("x", "f32", (1,) * 99, None), lambda: task.set("\udcff", "f32", (1,), None),
        lambda: task.set("x", "f32", [1], None), lambda: task.set("x", "f32", ("a",), None),
        lambda: task.read_into("y", "f32", bytearray(1)), lambda: task.read_into("y", "f32", b"constant"),
        lambda: task.read_into("nothing", "f32", bytearray(4)), lambda: task.set_groups(-1, 0, 0),
        lambda: task.set_int("nothing", 1), lambda: task.run(), lambda: interpreter._session.task(module, {"wrt": ["x"], "order": -1}),
        lambda: interpreter._session.task(module, {"of": [1]}), lambda: interpreter._session.task(None, {}),
        lambda: interpreter._session.task(module, {"order": 10 ** 30}), lambda: _core.Session("nothing at all", False),
        lambda: module.derive({"order": 1, "wrt": ["nothing"]}), lambda: module.compile("nothing", {}),
        lambda: module.explain({"order": 1, "wrt": "z" * 10000}), lambda: _core.Module.load("no such file", None, {}, {}, {}, None, None),
    ]
    for call in calls:
        with pytest.raises((vyre.Error, TypeError, ValueError, OverflowError)):
            call()
    del interpreter, module  # the task keeps what it needs
    gc.collect()
    assert task.parameters()
