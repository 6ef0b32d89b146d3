"""One array passed for several parameters: an error unless all of these are read only.

Random programs of two to five buffers, and random arrays for them, on the device and in the
interpreter, which computes on copies and so would not notice.
"""
import random

import numpy as np
import pytest

import vyre

ELEMENTS = 6


def program(r):
    """(text, access by name): each buffer that is written takes a sum of those that are read."""
    names = ["a", "b", "c", "d", "e"][:r.randrange(2, 6)]
    access = {n: r.choice(("in", "in", "out", "inout")) for n in names}
    access[r.choice(names)] = "in"
    if set(access.values()) == {"in"}:
        access[names[0]] = r.choice(("out", "inout"))
    read = [n for n in names if access[n] == "in"] or ["0.5"]
    body = "".join("    %s[i] %s %s;\n" % (n, "=" if access[n] == "out" else "+=", " + ".join("%s[N - 1 - i] * %d.0" % (m, k + 2) for k, m in enumerate(read)))
                   for n in names if access[n] != "in")
    return "program f(%s, N: u32) over(i: N) {\n%s}\n" % (", ".join("%s: %s f32[N]" % (n, access[n]) for n in names), body), access


def by_hand(access, given):
    total = sum(given[n].astype("f8")[::-1] * (k + 2) for k, n in enumerate(n for n in access if access[n] == "in"))
    return {n: total + (given[n] if access[n] == "inout" else 0) for n in access if access[n] != "in"}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("interpreted", (False, True))
def test_random_arrays(device, seed, interpreted):
    r = random.Random(seed)
    dev = vyre.Device("interpreter") if interpreted else device
    text, access = program(r)
    f = vyre.load(text)
    for _ in range(5):
        values = [np.arange(ELEMENTS, dtype="f4") + 3 * k for k in range(len(access))]
        arrays = [dev.array(v) for v in values]
        chosen = {n: r.randrange(len(access)) if r.random() < 0.6 else k for k, n in enumerate(access)}
        uses = {k: [access[n] for n in access if chosen[n] == k] for k in chosen.values()}
        wrong = any(len(u) > 1 and set(u) != {"in"} for u in uses.values())
        given = {n: arrays[k] for n, k in chosen.items()}
        if wrong:
            with pytest.raises(vyre.Error, match="memory that overlaps") as e:
                f(device=dev, **given)
            assert e.value.fix
            for array, value in zip(arrays, values):
                np.testing.assert_array_equal(array.numpy(), value)
            continue
        r1 = f(device=dev, **given)
        for n, want in by_hand(access, {n: values[k] for n, k in chosen.items()}).items():
            np.testing.assert_array_equal(given[n].numpy(), want)
        assert r1 is not None
        # What is copied cannot overlap: the same arrays of the host.
        host = {n: values[k] for n, k in chosen.items() if access[n] != "out"}
        again = f(device=dev, **host)
        for n, want in by_hand(access, {n: values[k] for n, k in chosen.items()}).items():
            np.testing.assert_array_equal(again[n], want)
