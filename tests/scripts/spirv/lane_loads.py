#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# TIMEOUT: 400
"""What lanes load for each other (ir/pass/target/lane_loads.c, whole_domain.c): programs as the pass leaves
them, in the interpreter with subgroups of 8 to 64 and on the device, against the programs themselves, bit
for bit, at sizes that the pass would not choose, too.  And the device's roots (spirv/target/lavapipe_roots.c).
"""
import json
import os
import re
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(SRC, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

# name, options besides sizes, text.  M: the domain; N: what loops run over.  All arithmetic is exact.
PROGRAMS = (
    ("plain", "--in x[N]=cycle:11 --in k[M]=cycle:5", """(x: in u32[N], k: in u32[M], o: out u32[M], N: u32, M: u32) over(i: M)
{
    var s = 0u32;
    for j in 0..N { s = s * 3 + x[j] * k[i]; }
    o[i] = s;
}"""),
    ("back", "--in x[N]=cycle:7 --in a[M]=zeros", """(x: in u32[N], a: in u32[M], o: out u32[M], N: u32, M: u32) over(i: M)
{
    var s = i;
    var t = 1u32;
    for j in rev(0..N) step 3 {
        s = s * 3 + x[j + 1] + x[N - 1 - j];
        t = t * 5 + s;
    }
    o[i] = s + a[i] + t;
}"""),
    ("signs", "--set from=-3 --in x[N]=cycle:9 --in a[M]=zeros",
     """(x: in i32[N], a: in u32[M], o: out i32[M], N: u32, M: u32, from: i32) over(i: M)
{
    var s = i32(i + a[i]);
    for j in from..i32(N) step 2 {
        s = s * 5 + x[j + 2];
    }
    o[i] = s;
}"""),
    ("rows", "--in x[M,N]=cycle:4 --in a[L]=zeros", """(x: in f32[M, N], a: in f32[L], o: out f32[M, L], N: u32, M: u32, L: u32)
    workgroup(8, 8) over(i: M, j: L)
{
    var s = f32(j) + a[j];
    for k in 0..N { s = s * 0.5 + x[i, k]; }
    o[i, j] = s;
}"""),
    ("adds", "--in x[N]=cycle:6 --in a[M]=ones", """(x: in f32[N], a: in f32[M], o: out f32[2], g: out f32[N], N: u32, M: u32) over(i: M)
{
    var s = f32(i % 3);
    if N > 3 {
        for j in 0..N {
            s += x[j] * f32(j % 4);
            if i % 2 == 0 { atomic_add(g[j], x[j]); }
        }
    }
    atomic_add(o[i % 2], s * a[i]);
}"""),
    ("choices", "--in x[N]=cycle:13 --in a[M]=cycle:3",
     """(x: in u32[N], a: in u32[M], o: out u32[M], N: u32, M: u32) over(i: M)
{
    var s = 0u32;
    for j in 0..N {
        let v = x[min(j * 2, N - 1)];
        if j != i { s = s * 3 + v; } else { s += x[j]; }
    }
    o[i] = s + a[i];
}"""),
)
SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 63, 64, 65, 130)
TRIPS = (0, 1, 3, 7, 8, 9, 17, 63, 64, 65)


def run(*args, what=()):
    done = subprocess.run([VYRE, "run", *args, *what], capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit("vyre-grad run %s: status %d\n%s" % (" ".join([*args, *what]), done.returncode, done.stderr))
    return done


def options(given, m, n, l=5):
    words = re.sub(r"\b([MNL])\b(?=[,\]])", lambda x: str({"M": m, "N": n, "L": l}[x[1]]), given).split()
    return ["--set", "M=%d" % m, "--set", "N=%d" % n, "--verbose", *words]


def lowered(path, name, given, n):
    """The program as the pass leaves it for a domain that is whole workgroups: None where it does nothing."""
    done = run(path, *options(given, 512, n, 64), what=("--dump-after", "lane_loads", "--coarsen", "1"))
    text = done.stderr.partition("// after lane_loads\n")[2]
    if "subgroup_" not in text or not re.search(r"over\(.*/ (64|8) \* (64|8)\)", text):
        sys.exit("%s: the pass shares no load:\n%s" % (name, text))
    return text[: text.rindex("\n}\n") + 3]


def compare(name, path, low, given, sizes):
    for m, n in sizes:
        o = options(given, m, n)
        want = run(path, *o, what=("--engine", "eval")).stdout
        for size in (8, 16, 32, 64):
            got = run(low, *o, what=("--engine", "eval", "--subgroup-size", str(size))).stdout
            if got != want:
                sys.exit("%s, M=%d N=%d, interpreter, subgroups of %d:\n%s\n%s" % (name, m, n, size, got, want))
        for file in (path, low):
            got = run(file, *o).stdout
            if got != want:
                sys.exit("%s, M=%d N=%d, %s on the device:\n%s\n%s" % (name, m, n, file, got, want))


def check_lanes():
    """Lanes that a loop counts, of subgroups that the workgroup fills or does not (spirv/emit/emit_subgroup.c)."""
    for width in (8, 12, 20, 32):
        for lane in ("0..8: k", "0..9: k", "0..min(N, 8): k", "0..min(N, 9): k", "3..N: k", "rev(0..8) step 3: k", "0..8: k + (lane - lane % 8)",
                     "0..8: k + (lane - lane % 4)", "0..8: k + lane % 8", "0..8: k + 1"):
            bounds, which = lane.split(": ")
            with open("lanes.vyre", "w") as f:
                f.write("program lanes(x: in u32[M], o: out u32[M], M: u32, N: u32)\n    workgroup(%d) over(i: M)\n{\n    var s = 1u32;\n"
                        "    let v = x[i];\n    for k in %s { s = s * 3 + subgroup_shuffle(v, %s); }\n    o[i] = s;\n}\n" % (width, bounds, which))
            for n in (2, 8, 11):
                o = ("--in", "x=cycle:97", "--set", "M=%d" % (2 * width), "--set", "N=%d" % n)
                got, want = (run("lanes.vyre", *o, what=more).stdout for more in ((), ("--engine", "eval", "--subgroup-size", "8")))
                if got != want:
                    sys.exit("subgroups of a workgroup of %d, %s, N=%d:\n%s\n%s" % (width, lane, n, got, want))
                if "N" not in bounds:
                    break


def check_roots():
    with open("roots.vyre", "w") as f:
        f.write("program roots(x: in f32[N], r: out f32[N], s: out f32[N], N: u32) over(i: N)\n"
                "{\n    r[i] = rsqrt(x[i]);\n    s[i] = sqrt(x[i]);\n}\n")
    data = ("--in", "x=0,-0,inf,-inf,-1,-1e-30,nan,4,0.25,1e30,1e-30,3.4e38,-3.4e38", "--json", "--verbose")
    got, want = (json.loads(run("roots.vyre", *data, *more).stdout)["outputs"] for more in ((), ("--engine", "eval")))
    for name in "rs":
        for x, y in zip(got[name]["data"], want[name]["data"]):
            special = isinstance(x, str) or isinstance(y, str) or not y
            if str(x) != str(y) if special else abs(x - y) > 4e-7 * abs(y):
                sys.exit("%s: %s, and %s in the interpreter" % (name, got[name]["data"], want[name]["data"]))


LANES = (re.findall(r"subgroups of (\d+)", subprocess.run([VYRE, "devices"], capture_output=True, text=True).stdout) or ["0"])[0]
if "llvmpipe" not in subprocess.run([VYRE, "devices"], capture_output=True, text=True).stdout or LANES != "8":
    print("skipped: no llvmpipe with subgroups of 8")
    sys.exit(77)
sizes = [(m, n) for m in SIZES for n in TRIPS]
for name, given, text in PROGRAMS:
    with open(name + ".vyre", "w") as f:
        f.write("program " + name + text + "\n")
    with open(name + "_low.vyre", "w") as f:
        f.write(lowered(name + ".vyre", name, given, 64))
    compare(name, name + ".vyre", name + "_low.vyre", given, shares.drawn(sizes, 8))
check_roots()
check_lanes()
print("ok: %d programs share loads" % len(PROGRAMS))
