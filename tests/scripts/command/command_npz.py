#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Archives of arrays (.npz): as NumPy writes them, what they lack, and what is wrong with hostile ones.

Python's zipfile writes and reads them.  Sizes that an archive cannot hold are an error before memory
is taken; of archives with bytes changed at random each is read or refused.
"""
import json
import os
import random
import resource
import struct
import subprocess
import sys
import zipfile

GRAD = os.environ["VYRE_GRAD"]
SEED = int(os.environ.get("VYRE_FRESH_SEED", "1"))
with open(os.path.join(os.environ["BUILD"], "meson-info", "intro-buildoptions.json"), encoding="utf-8") as options:
    SANITIZED = next(o["value"] for o in json.load(options) if o["name"] == "b_sanitize") != "none"
bad = []


def npy(values, kind="<f4", shape=None):
    head = repr({"descr": kind, "fortran_order": False, "shape": shape or (len(values),)}).encode()
    head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<%d%s" % (len(values), {"4": "f", "8": "d"}[kind[-1]]), *values)


def archive(name, method=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(name, "w", method) as z:
        for key, data in members.items():
            z.writestr(key + ".npy", data)


def limit():
    """What is claimed must not be taken.  AddressSanitizer needs more for itself."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))


def run(want, *args, status=0):
    done = subprocess.run([GRAD, "run", "f.vyre", "--engine", "eval", *args], capture_output=True, text=True, preexec_fn=limit, check=False)
    if done.returncode != status or want not in (done.stdout if not status else done.stderr):
        bad.append("%s: status %d, %r, %r" % (args, done.returncode, done.stdout, done.stderr))


def changed(name, old, new, count=1):
    """data with bytes replaced, as many times as they must be there."""
    with open("good.npz", "rb") as f:
        data = f.read()
    if data.count(old) < count:
        bad.append("%s: %r is not in the archive" % (name, old))
    with open(name, "wb") as f:
        f.write(data.replace(old, new))


def reads():
    x, w = npy([1, 2, 3]), npy([2.0], "<f8")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive("good.npz", method, x=x, w=w, other=npy([10]))
        run("y f32[3] = [2, 4, 6]", "--in", "@good.npz")
        run("y f32[3] = [10, 20, 30]", "--in", "x=@good.npz", "--in", "w=@good.npz:other")
    archive("later.npz", w=npy([3]))
    os.makedirs("folder", exist_ok=True)
    with open("folder/x.npy", "wb") as f:
        f.write(npy([5, 6]))
    run("y f32[3] = [3, 6, 9]", "--in", "@good.npz", "--in", "@later.npz")  # the last that has it
    run("y f32[2] = [10, 12]", "--in", "@good.npz", "--in", "@folder/")
    run("y f32[3] = [4, 8, 12]", "--in", "@good.npz", "--in", "w=4")
    archive("zeros.npz", zipfile.ZIP_DEFLATED, x=npy([0.0] * 200000))  # as dense as deflate is
    run("y f32[200000] = [0, 0", "--in", "@zeros.npz", "--in", "w=4")
    archive("a:b.npz", x=npy([1]))
    run("y f32[1] = [4]", "--in", "x=@a:b.npz:x", "--in", "w=4")


def writes():
    run("", "--in", "@good.npz", "--out", "y=@r.npz", "--out", "s=@r.npz:total")
    if bad:
        return
    with zipfile.ZipFile("r.npz") as z:
        found = {i.filename: z.read(i) for i in z.infolist()}
        plain = all(i.compress_type == zipfile.ZIP_STORED for i in z.infolist())
    if sorted(found) != ["total.npy", "y.npy"] or not plain or found["y.npy"][-12:] != struct.pack("<3f", 2, 4, 6):
        bad.append("r.npz: %r" % found)
    kept = []
    for zone in ("UTC", "America/New_York"):
        done = subprocess.run([GRAD, "run", "f.vyre", "--engine", "eval", "--in", "@good.npz", "--out", "@all.npz"], env=dict(os.environ, TZ=zone),
                              capture_output=True, text=True, check=False)
        with open("all.npz", "rb") as f:
            kept.append((done.returncode, f.read()))
    if kept[0] != kept[1] or kept[0][0]:
        bad.append("two runs write other bytes: %r" % kept)
    run("y f32[3] = [4, 8, 12]", "--in", "x=@all.npz:y", "--in", "w=2")
    run("writes y into r.npz twice", "--in", "@good.npz", "--out", "y=@r.npz", "--out", "s=@r.npz:y", status=1)
    with zipfile.ZipFile("r.npz") as z:  # nothing was written
        if sorted(z.namelist()) != ["total.npy", "y.npy"]:
            bad.append("a failed run has replaced r.npz")


def refuses():
    run("there.npz has no array q", "--in", "x=@there.npz:q", "--in", "w=1", status=1)
    run("its arrays are: x, w", "--in", "x=@there.npz:q", "--in", "w=1", status=1)
    run("no data for w: only.npz has no such array", "--in", "@only.npz", status=1)
    run("cannot open none.npz", "--in", "x=@none.npz", "--in", "w=1", status=2)
    run("cannot open none.npz", "--in", "@none.npz", status=2)
    run("[E0808]", "--in", "x=@text.npz", "--in", "w=1", status=1)
    run("[E0808]", "--in", "x=@inner.npz", "--in", "w=1", status=1)
    run("compressed as NumPy does not", "--in", "x=@bzip.npz", "--in", "w=1", status=1)
    run("cannot be as long as it says", "--in", "x=@claim.npz", "--in", "w=1", status=1)
    run("[E0808]", "--in", "x=@shorter.npz", "--in", "w=1", status=1)
    run("[E0808]", "--in", "x=@sum.npz", "--in", "w=1", status=1)
    run("[E0808]", "--in", "x=@cut.npz", "--in", "w=1", status=1)
    run("[E0804]", "--in", "x=@good.npzz", "--in", "w=1", status=1)


def hostile():
    archive("there.npz", x=npy([1]), w=npy([1]))
    archive("only.npz", x=npy([1]))
    archive("inner.npz", x=b"no array")
    archive("bzip.npz", zipfile.ZIP_BZIP2, x=npy([1, 2, 3]))
    with open("text.npz", "wb") as f:
        f.write(b"x" * 500)
    x = npy([1, 2, 3])
    archive("good.npz", x=x)
    size = struct.pack("<I", len(x))
    changed("claim.npz", size * 2, size + struct.pack("<I", 0xF0000000), 2)  # 3.75 GiB of 140 bytes
    changed("shorter.npz", size * 2, size + struct.pack("<I", len(x) + 64), 2)
    changed("sum.npz", struct.pack("<3f", 1, 2, 3), struct.pack("<3f", 1, 2, 4))
    with open("good.npz", "rb") as f, open("cut.npz", "wb") as g:
        g.write(f.read()[:-30])


def mutated():
    """Bytes changed at random: read or refused, but never a crash."""
    rng = random.Random(SEED)
    archive("base.npz", zipfile.ZIP_DEFLATED, x=npy([1, 2, 3] * 9), w=npy([1]))
    with open("base.npz", "rb") as f:
        base = f.read()
    for k in range(60):
        data = bytearray(base)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        with open("m.npz", "wb") as f:
            f.write(data)
        done = subprocess.run([GRAD, "run", "f.vyre", "--engine", "eval", "--in", "@m.npz"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 2) or (done.returncode and "error: " not in done.stderr):
            bad.append("mutation %d of seed %d: %d %s" % (k, SEED, done.returncode, done.stderr[-300:]))


def main():
    with open("f.vyre", "w", encoding="utf-8") as f:
        f.write("program f(x: in f32[N], w: in f32[1], y: out f32[N], s: out f32[1], N: u32) over(i: N)\n"
                "{ y[i] = w[0] * x[i]; atomic_add(s[0], x[i]); }\n")
    archive("probe.npz", x=npy([1]), w=npy([1]))
    done = subprocess.run([GRAD, "run", "f.vyre", "--engine", "eval", "--in", "@probe.npz"], capture_output=True, text=True, check=False)
    if "E0802" in done.stderr:
        print("skipped: this build has no libzip")
        return 77 if "libzip-dev" in done.stderr else 1
    reads()
    writes()
    hostile()
    refuses()
    mutated()
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
