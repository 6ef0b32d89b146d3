#!/usr/bin/env python3
"""Whatever file or arguments it is given, the command ends with a diagnostic and status 1 or 2."""
import os
import random
import subprocess
import sys

GRAD = os.environ["VYRE_GRAD"]
PROGRAM = b"program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }\n"
bad = []


def run(*args, data=None, timeout=2400):  # on the clock: only what waits for ever
    done = subprocess.run([GRAD, *args], input=data, capture_output=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def refused(name, *args, data=None, status=(1,)):
    got, out, err = run(*args, data=data)
    if got not in status or b"error: " not in err or out:
        bad.append("%s: status %s, stdout %r, stderr %r" % (name, got, out[:200], err[:400]))


def file(name, data):
    with open(name, "wb") as f:
        f.write(data)
    return name


refused("empty", "print", file("empty.vyre", b""))
refused("zeros", "print", file("zeros.vyre", bytes(1000)))
refused("binary", "print", file("binary.vyre", random.Random(1).randbytes(100000)))
refused("bad utf-8", "print", file("utf8.vyre", b"program \xff\xfe"))
refused("no end", "print", file("end.vyre", PROGRAM[:-3]))
refused("directory", "print", ".", status=(2,))
refused("absent", "print", "absent.vyre", status=(2,))
if os.geteuid():
    os.chmod(file("secret.vyre", PROGRAM), 0)
    refused("unreadable", "print", "secret.vyre", status=(2,))
refused("through a file", "print", "empty.vyre/x.vyre", status=(2,))
refused("long name", "print", "x" * 5000 + ".vyre", status=(2,))
refused("deep parentheses", "print", file("deep.vyre", PROGRAM.replace(
    b"x[i] * x[i]", b"(" * 200000 + b"x[i]" + b")" * 200000)))
refused("deep blocks", "print", file("blocks.vyre", PROGRAM.replace(
    b"y[i] =", b"{" * 100000 + b"y[i] =")))
refused("huge literal", "print", file("literal.vyre", PROGRAM.replace(
    b"x[i] * x[i]", b"x[i] * " + b"9" * 100000)))
with open("large.vyre", "wb") as f:  # 100 MB of nothing sensible
    f.write(b"@" * (100 << 20))
refused("100 MB", "print", "large.vyre")
with open("larger.vyre", "wb") as f:
    f.truncate((256 << 20) + 1)
refused("over the limit", "print", "larger.vyre")
refused("endless", "print", "/dev/zero")
for name in ("large.vyre", "larger.vyre"):
    os.unlink(name)

# SPIR-V is known by its first word, in either order of bytes
for data in (b"\x03\x02\x23\x07" + bytes(40), b"\x07\x23\x02\x03" + bytes(40)):
    for args, given in ((("grad", "-"), data), (("grad", file("module", data)), None)):
        got, out, err = run(*args, data=given)
        if got != 1 or b"E0120" not in err:
            bad.append("SPIR-V as %s: status %s, %r" % (args[1], got, err[:200]))

# every truncation of a program, as text and in binary form
file("f.vyre", PROGRAM)
run("print", "f.vyre", "-o", "f.vyb")
with open("f.vyb", "rb") as f:
    binary = f.read()
for size in range(1, len(PROGRAM) - 2, 3):
    refused("cut at %d" % size, "print", "-", data=PROGRAM[:size])
for size in range(0, len(binary), max(1, len(binary) // 40)):
    refused("binary cut at %d" % size, "print", "-", data=binary[:size])
for at in range(0, len(binary), max(1, len(binary) // 40)):
    refused("binary bit at %d" % at, "print", "-",
            data=binary[:at] + bytes([binary[at] ^ 64]) + binary[at + 1:])

# arguments
for i in range(1, 300):
    words = random.Random(i).choices(
        ["run", "grad", "f.vyre", "--in", "x=1,2", "--in=x", "--set", "N=2", "-o", "--of", "y", "--wrt",
         "x", "--grad", "--ct", "y=@no.npy", "--engine", "eval", "--json", "-O", "-O2", "--", "-", "",
         "=", "[", "x[=", "x[1]=ones", "--groups", "1,1,1,1", "-p", "f", "--no-such", "-x", "--set=",
         "x[99999999999999999999]=1", "--color", "always", "--tape-limit", "-1", "--order", "3"],
        k=random.Random(-i).randrange(1, 9))
    got, out, err = run(*words, data=PROGRAM)
    if got not in (0, 1, 2) or (got and b"error: " not in err):
        bad.append("%s: status %s, stderr %r" % (words, got, err[:400]))

print("\n".join(bad))
sys.exit(bool(bad))
