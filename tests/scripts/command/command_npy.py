#!/usr/bin/env python3
"""Data files: .npy in (versions, byte orders, Fortran order, other types) and out, raw .bin."""
import ast
import os
import struct
import subprocess
import sys

GRAD = os.environ["VYRE_GRAD"]
bad = []


def npy(name, descr, shape, data, fortran=False, version=1):
    head = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    size = 10 if version == 1 else 12
    head += b" " * (-(size + len(head) + 1) % 64) + b"\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY" + bytes([version, 0]) +
                struct.pack("<H" if version == 1 else "<I", len(head)) + head + data)


def read_npy(name):
    with open(name, "rb") as f:
        data = f.read()
    if data[:8] != b"\x93NUMPY\x01\x00" or (10 + struct.unpack("<H", data[8:10])[0]) % 64:
        bad.append("%s: malformed start" % name)
    end = 10 + struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:end].decode())
    return head, data[end:]


def run(want, *args, status=0):
    done = subprocess.run([GRAD, "run", "f.vyre", "--engine", "eval", *args], capture_output=True, text=True)
    if done.returncode != status or want not in (done.stdout if not status else done.stderr):
        bad.append("%s: status %d, %r %r" % (args, done.returncode, done.stdout, done.stderr))


with open("f.vyre", "w") as f:
    f.write("program f(x: in f32[M, N], y: out f32[M, N], M: u32, N: u32) over(i: M, j: N)\n"
            "{ y[i, j] = 2 * x[i, j]; }\n")
    f.write("program g(x: in i16[N], y: out i16[N], N: u32) over(i: N) { y[i] = x[i]; }\n")
six = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
result = "y f32[2, 3] = [2, 4, 6, 8, 10, 12]"
for version in (1, 2, 3):
    npy("a.npy", "<f4", (2, 3), six, version=version)
    run(result, "-p", "f", "--in", "x=@a.npy")
npy("b.npy", ">f4", (2, 3), struct.pack(">6f", 1, 2, 3, 4, 5, 6))
npy("c.npy", "<f4", (2, 3), struct.pack("<6f", 1, 4, 2, 5, 3, 6), fortran=True)
npy("d.npy", "<f8", (2, 3), struct.pack("<6d", 1, 2, 3, 4, 5, 6))
npy("e.npy", "|u1", (2, 3), bytes([1, 2, 3, 4, 5, 6]))
npy("f.npy", "<f2", (2, 3), struct.pack("<6e", 1, 2, 3, 4, 5, 6))
npy("g.npy", "<f4", (6,), six)  # flat
for name in "bcdef":
    run(result, "-p", "f", "--in", "x=@%s.npy" % name)
run(result, "-p", "f", "--in", "x[2,3]=@g.npy")
run(result, "-p", "f", "--in", "x=@g.npy", "--set", "M=2")
with open("h.bin", "wb") as f:
    f.write(six)
run(result, "-p", "f", "--in", "x[2,3]=@h.bin")
run(result, "-p", "f", "--in", "x=@h.bin", "--set", "N=3")
run("y f64[2, 3] = [2, 4, 6, 8, 10, 12]", "-p", "f", "--in", "x=@a.npy", "--eval-type", "f64")
run("y f64[2, 3] = [2, 4, 6, 8, 10, 12]", "-p", "f", "--in", "x[2,3]=@h.bin", "--eval-type", "f64")

# what does not fit is refused, never wrapped or cut
npy("i.npy", "<i4", (2,), struct.pack("<2i", 1, 32768))
run("element 1 of i.npy does not fit i16 of x [E0807]", "-p", "g", "--in", "x=@i.npy", status=1)
run("holds f32, but x is i16 [E0807]", "-p", "g", "--in", "x=@g.npy", status=1)
npy("j.npy", "<f4", (1, 2, 3), six)
run("x has 2 axes, but j.npy has 3 [E0806]", "-p", "f", "--in", "x=@j.npy", status=1)
with open("k.bin", "wb") as f:
    f.write(six[:-1])
run("23 bytes, which is not a multiple of the 4 of one f32 [E0807]", "-p", "f", "--in", "x[2,3]=@k.bin",
    status=1)
with open("l.npy", "wb") as f:
    f.write(b"no numpy")
run("l.npy is not a readable .npy file: it does not start as one [E0808]", "-p", "f",
    "--in", "x=@l.npy", status=1)
with open("m.npy", "wb") as f:
    f.write(open("a.npy", "rb").read()[:-1])
run("its shape needs more bytes than there are [E0808]", "-p", "f", "--in", "x=@m.npy", status=1)
npy("n.npy", "<f4", (1 << 40, 1 << 40), six)
run("its shape needs more bytes than there are [E0808]", "-p", "f", "--in", "x=@n.npy", status=1)

# out
run(result, "-p", "f", "--in", "x=@a.npy", "--grad", "--out", "y=@y.npy", "--out", "grad_x=@gx.bin")
head, data = read_npy("y.npy")
if head != {"descr": "<f4", "fortran_order": False, "shape": (2, 3)} or \
        data != struct.pack("<6f", 2, 4, 6, 8, 10, 12):
    bad.append("y.npy: %s %s" % (head, data))
if open("gx.bin", "rb").read() != struct.pack("<6f", *[2] * 6):
    bad.append("gx.bin is wrong")
run("", "-p", "g", "--in", "x=-1,2", "--out", "y=@z.npy")
head, data = read_npy("z.npy")
if head != {"descr": "<i2", "fortran_order": False, "shape": (2,)} or data != struct.pack("<2h", -1, 2):
    bad.append("z.npy: %s %s" % (head, data))
run("y i16[2] = [-1, 2]", "-p", "g", "--in", "x=@z.npy")
print("\n".join(bad))
sys.exit(bool(bad))
