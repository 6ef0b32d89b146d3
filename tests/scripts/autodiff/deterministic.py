#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
# DEVICE
"""--deterministic: the same bits over runs, workgroup sizes, threads of the driver, orders of the
interpreter, and, for programs made of + - * under --precise, over drivers; correctly rounded sums;
no float atomics left.

Each program below documents how the terms of its gradients are accumulated.  The reference is the
first run; results are compared byte for byte.  Sums of scattered terms are compared with exact
rational sums.
"""
import glob
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
from fractions import Fraction

VYRE, SRC = os.environ["VYRE_GRAD"], os.environ["SRC"]
sys.path.insert(0, os.path.join(SRC, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

SIZES = (32, 64, 128, 256)
LETTER = {"f16": "e", "f32": "f", "f64": "d"}
FORMAT = {"f16": (11, -24, 16), "f32": (24, -149, 128), "f64": (53, -1074, 1024)}
N = 3000
passed = failed = 0

# name: (program text with WG for the workgroup, options; "exact": made of + - * alone)
PROGRAMS = {
    "scalar": ("program p(w: in f32[1], x: in f32[N], y: out f32[N], N: u32) WG over(i: N)"
               " { y[i] = w[0] * x[i] * x[i]; }",
               "--wrt w --in w=0.7 --in x[3000]=normal:0:1:1", True),
    "sum": ("program p(x: in f32[N], s: out f32[1], N: u32) WG over(i: N)"
            " { atomic_add(s[0], x[i] * x[i] * x[i]); }",
            "--wrt x --in x[3000]=normal:0:100:1", True),
    "bias": ("program p(b: in f32[D], x: in f32[N, D], y: out f32[N, D], N: u32, D: u32) WG over(i: N)"
             " { for k in 0..D { let v = x[i, k] + b[k]; y[i, k] = v * v; } }",
             "--wrt b --in b=1,2,3,4,5 --in x[3000,5]=normal:0:1:1", True),
    "mixture": ("program p(m: in f32[K, D], x: in f32[N, D], s: out f32[1], N: u32, D: u32, K: u32)"
                " WG over(i: N) { var top = -inf; for k in 0..K { top = max(top, -sum(d in 0..D:"
                " (x[i, d] - m[k, d]) * (x[i, d] - m[k, d]))); } atomic_add(s[0], top + log(sum(k in 0..K:"
                " exp(-sum(d in 0..D: (x[i, d] - m[k, d]) * (x[i, d] - m[k, d])) - top)))); }",
                "--wrt m --in m[3,4]=normal:0:1:7 --in x[3000,4]=normal:0:1:1", False),
    "histogram": ("program p(w: in f32[M], idx: in u32[N], x: in f32[N], y: out f32[N], N: u32, M: u32)"
                  " WG over(i: N) { y[i] = w[idx[i]] * x[i]; }",
                  "--wrt w --in w[37]=ones --in idx[3000]=cycle:37 --in x=normal:0:1:1", True),
    "in_loop": ("program p(w: in f32[M], idx: in u32[N, 4], x: in f32[N], y: out f32[N], N: u32, M: u32)"
                " WG over(i: N) { var a = x[i]; for k in 0..4 { a = a * w[idx[i, k] % M] + x[i]; } y[i] = a; }",
                "--wrt w --in w[11]=uniform:0:1:1 --in idx[3000,4]=cycle:1009 --in x=normal:0:1:1", True),
    "sites": ("program p(w: in f32[M], idx: in u32[N], x: in f32[N], y: out f32[N], N: u32, M: u32)"
              " WG over(i: N) { let a = w[0] * x[i]; let b = w[idx[i]] * a;"
              " if x[i] > 0 { y[i] = b * w[1]; } else { y[i] = a * w[idx[N - 1 - i]]; } }",
              "--wrt w --in w[9]=normal:0:1:3 --in idx[3000]=cycle:9 --in x=normal:0:1:1", True),
    "stencil": ("program p(x: in f32[N], y: out f32[N], N: u32) WG over(i: N)"
                " { y[i] = x[i] * x[i + 1] + x[i + 2] * x[i]; }", "--wrt x --in x[3000]=normal:0:1:1", True),
    "matmul": ("program p(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], M: u32, K: u32, N: u32)"
               " WG over(i: M, j: N) { c[i, j] = sum(k in 0..K: a[i, k] * b[k, j]); }",
               "--wrt a,b --in a[19,23]=normal:0:1:1 --in b[23,70]=normal:0:1:2", True),
    # a workgroup for each element
    "channels": ("program p(b: in f32[O], x: in f32[O, M, N], y: out f32[O, M, N], O: u32, M: u32, N: u32)"
                 " WG over(o: O, i: M, j: N) { y[o, i, j] = x[o, i, j] * b[o] * b[o]; }",
                 "--wrt b --in b=1,2,3 --in x[3,17,70]=normal:0:1:1", True),
    "f16": ("program p(w: in f16[M], idx: in u32[N], x: in f16[N], y: out f16[N], N: u32, M: u32)"
            " WG over(i: N) { y[i] = w[idx[i]] * x[i]; }",
            "--wrt w --in w[37]=ones --in idx[3000]=cycle:37 --in x=normal:0:1:1", False),
    "f16_bias": ("program p(b: in f16[1], x: in f16[N], y: out f16[N], N: u32) WG over(i: N)"
                 " { y[i] = x[i] * b[0]; }", "--wrt b --in b=1 --in x[3000]=normal:0:0.5:1", False),
    "f64": ("program p(w: in f64[M], idx: in u32[N], x: in f64[N], y: out f64[N], N: u32, M: u32)"
            " WG over(i: N) { y[i] = w[idx[i]] * x[i]; }",
            "--wrt w --in w[37]=ones --in idx[3000]=cycle:37 --in x=normal:0:1:1", False),
    "inout": ("program p(w: in f32[M], idx: in u32[N], x: inout f32[N], N: u32, M: u32) WG over(i: N)"
              " { x[i] = x[i] * w[idx[i]]; x[i] = x[i] * w[idx[N - 1 - i]]; }",
              "--wrt w,x --in w[37]=uniform:0:1:2 --in idx[3000]=cycle:37 --in x=normal:0:1:1", True),
    # the same without programs over the elements of gradients
    "bias_terms": ("", "bias", True),
    "mixture_terms": ("", "mixture", False),
    "stencil_sums": ("", "stencil", True),
    "matmul_sums": ("", "matmul", True),
    # shared memory: these declare their workgroups, which their sums depend on
    "shared_histogram": ("program p(w: in f32[N], bin: in u32[N], x: in f32[N], y: out f32[16], N: u32)"
                         " workgroup(32) over(i: N) { shared h: f32[16]; if lindex < 16 { h[lindex] = 0.0; }"
                         " barrier(); atomic_add(h[bin[i] % 16], w[i] * x[i]); atomic_add(h[0], x[i]); barrier();"
                         " if lindex < 16 { atomic_add(y[lindex], h[lindex] * h[lindex]); } }",
                         "--wrt w,x --in w=normal:0:1:1 --in x=normal:0:1:2 --in bin[3000]=cycle:1009", True),
    "shared_tiles": ("program p(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N], M: u32, N: u32, K: u32)"
                     " workgroup(8, 8) over(i: (M + 7) / 8 * 8, j: (N + 7) / 8 * 8) {"
                     " shared ta: f32[8, 8]; shared tb: f32[8, 8]; var s = 0.0; for t in 0..(K + 7) / 8 {"
                     " ta[lid.y, lid.x] = a[i, t * 8 + lid.x]; tb[lid.y, lid.x] = b[t * 8 + lid.y, j]; barrier();"
                     " for k in 0..8 { s += ta[lid.y, k] * tb[k, lid.x]; } barrier(); } c[i, j] = s; }",
                     "--wrt a,b --in a[19,23]=normal:0:1:1 --in b[23,30]=normal:0:1:2", True),
    # too large for exact sums in shared memory; cleared by the workgroup, in a loop
    "shared_large": ("program p(w: in f32[N], bin: in u32[N], y: out f32[T, 256], N: u32, T: u32) workgroup(32) {"
                     " shared h: f32[256]; for t in 0..T { shared h; barrier();"
                     " for j in gid.x..N step num_groups.x * 32 { atomic_add(h[(bin[j] + t) % 256], w[j] * w[j]); }"
                     " barrier(); for k in lindex..256 step 32 { atomic_add(y[t, k], h[k] * h[255 - k]); }"
                     " barrier(); } }",
                     "--wrt w --in w[3000]=normal:0:1:1 --in bin=cycle:1009 --set T=2 --groups 3", True),
    "shared_max": ("program p(x: in f32[N], y: out f32[N], N: u32) workgroup(32) over(i: N) {"
                   " shared t: f32[2]; if lindex < 2 { t[lindex] = -inf; } barrier();"
                   " atomic_max(t[lindex % 2], x[i] * x[i]); barrier(); y[i] = t[0] * x[i] + t[1] * t[1]; }",
                   "--wrt x --in x[3000]=normal:0:1:1", True),
    "empty": ("program p(w: in f32[M], idx: in u32[N], x: in f32[N], y: out f32[N], N: u32, M: u32)"
              " WG over(i: N) { y[i] = w[idx[i]] * x[i] + w[0]; }",
              "--wrt w --in w=1,2 --in idx[0]=zeros --in x[0]=zeros", True),
}


PROGRAMS["scalar_lanes"] = (PROGRAMS["scalar"][0], "--accumulate gather " + PROGRAMS["scalar"][1], True)
for _name, (_, _of, _exact) in list(PROGRAMS.items()):
    if not PROGRAMS[_name][0]:
        PROGRAMS[_name] = (PROGRAMS[_of][0], "--accumulate atomic " + PROGRAMS[_of][1], _exact)


def tell(ok, what, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAILED", what, detail, flush=True)
    return ok


LACKING = set()  # types


class Lacking(Exception):
    """The device lacks what a program needs."""


def vyre(*words, env=None):
    done = subprocess.run([VYRE, *words], capture_output=True, text=True, env=dict(os.environ, **(env or {})))
    if done.returncode and "does not offer" in done.stderr:
        raise Lacking(done.stderr.strip())
    if done.returncode:
        raise RuntimeError("%s\n%s" % (" ".join(words), done.stderr))
    return done.stdout


def source(name, size):
    text = PROGRAMS[name][0]
    shape = "workgroup(%d)" % size if "j: N" not in text else "workgroup(%d, 4)" % (size // 4)
    path = "%s_%d.vyre" % (name, size)
    with open(path, "w") as f:
        f.write(text.replace("WG", shape))
    return path


def results(name, size, *extra, env=None):
    words = PROGRAMS[name][1].split()
    out = json.loads(vyre("run", source(name, size), "--grad", "--json", *words, *extra, env=env))["outputs"]
    return {k: v["data"] for k, v in out.items()}


def close(a, b, relative):
    """Within rounding of the largest elements."""
    for k in a:
        most = max([abs(float(v)) for v in a[k] + b[k]], default=0)
        if any(abs(float(x) - float(y)) > relative * most for x, y in zip(a[k], b[k])):
            return False
    return True


def dispatched(text):
    """Of a derivative's text what its last pipeline dispatches: the text also has what is differentiated in its
    place (@derive_as), which may have float atomics."""
    parts = re.split(r"^(?=(?:@\S+ )*(?:program|pipeline) )", text, flags=re.MULTILINE)
    last = [part for part in parts if re.match(r"(?:@\S+ )*pipeline ", part)]
    if not last:
        return text
    named = set(re.findall(r"^\s+(?:@groups\([^\n]*\) )?(\w+)\(", last[-1], re.MULTILINE))
    return "".join(part for part in parts for name in re.findall(r"\A(?:@\S+ )*program (\w+)\(", part) if name in named)


def check_program(name, runs):
    eval_, det = ("--engine", "eval"), "--deterministic"
    first = results(name, 64, det)
    # halves are added up as f32 and rounded once, so one unit in the last place
    tolerance = 2e-3 if name.startswith("f16") else 1e-12 if name == "f64" else 2e-5
    fast = results(name, 64)
    tell(close(first, fast, tolerance), name + ": near the fast mode", (first, fast))
    for k in range(runs):
        if not tell(results(name, 64, det) == first, "%s: run %d" % (name, k)):
            break
    for size in SIZES:
        tell(results(name, size, det) == first, "%s: workgroup %d" % (name, size))
    for threads in "012":
        tell(results(name, 64, det, env={"LP_NUM_THREADS": threads}) == first,
             "%s: %s threads" % (name, threads))
    exact = results(name, 64, det, *eval_)
    tell(close(first, exact, tolerance), name + ": near the interpreter")
    for seed in "123":
        tell(results(name, 32, det, *eval_, "--shuffle", seed) == exact, "%s: shuffled %s" % (name, seed))
    text = dispatched(vyre("grad", source(name, 64), "--deterministic", *PROGRAMS[name][1].split(" --in ")[0].split()))
    floats = set(re.findall(r"(\w+): (?:(?:inout|out) )?f\d\d\[", text))
    left = [b for b in re.findall(r"atomic_(?!max|min)\w+\((\w+)\[", text) if b in floats]
    tell(not left, name + ": no float atomic is left", left)


def check_drivers(second):
    """--precise: + - * are rounded alike everywhere, so the bits are the same everywhere."""
    for name in shares.drawn((name for name, (_, _, exact) in PROGRAMS.items() if exact), 3):
        how = ("--deterministic", "--precise")
        first = results(name, 64, *how)
        tell(results(name, 64, *how, "--engine", "eval") == first, name + ": --precise as the interpreter")
        if second:
            env = {"VK_DRIVER_FILES": second, "VK_ICD_FILENAMES": second, "VYRE_DEVICE": "",
                   "VYRE_VALIDATION": ""}
            tell(results(name, 64, *how, env=env) == first, name + ": --precise on SwiftShader")
            tell(close(results(name, 64, "--engine", "vulkan", env=env), first, 2e-5),
                 name + ": without float atomics on SwiftShader")


# ----------------------------------------------------------------------------- exact sums, all terms
def rounded(t, value):
    try:
        return struct.unpack(LETTER[t], struct.pack(LETTER[t], value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def exact_sum(t, terms):
    plus, minus = math.inf in terms, -math.inf in terms
    if any(map(math.isnan, terms)) or (plus and minus):
        return math.nan
    if plus or minus:
        return math.inf if plus else -math.inf
    total = sum(map(Fraction, terms), Fraction(0))
    if total == 0:
        return 0.0
    bits, least, most = FORMAT[t]
    size = abs(total)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** e > size:
        e -= 1
    unit = Fraction(2) ** max(e - bits + 1, least)
    value = round(size / unit) * unit  # ties to even
    return math.copysign(math.inf if value >= Fraction(2) ** most else float(value), 1 if total > 0 else -1)


def term(t, r):
    bits, least, most = FORMAT[t]
    kind = r.random()
    low, high = (least, most - 1) if kind < 0.3 else (-3, 3) if kind < 0.8 else (least, least + 20)
    value = rounded(t, r.choice((-1, 1)) * (1 + r.random()) * 2.0 ** r.randint(low, high))
    return value if math.isfinite(value) else 1.0


def terms_of(t, case, r):
    count = r.choice((1, 10, 300, 4000))
    terms = [term(t, r) for _ in range(count)]
    if case % 2:
        terms += [-v for v in terms[:count // 2]]
    top = rounded(t, 2.0 ** (FORMAT[t][2] - 1))
    terms += ([], [], [math.inf], [math.nan, -math.inf], [math.inf, -math.inf], [top] * 9 + [-top] * 8,
              [top] * 9, [0.0, -0.0])[case]
    r.shuffle(terms)
    return terms


def same(a, b):
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def scattered(t, terms, where, m, *extra):
    with open("sum.vyre", "w") as f:
        f.write("program s(x: in %s[N], idx: in u32[N], w: in %s[M], y: out %s[N], N: u32, M: u32)"
                " over(i: N) { y[i] = w[idx[i]]; }" % (t, t, t))
    with open("terms.bin", "wb") as f:
        f.write(struct.pack("%d%s" % (len(terms), LETTER[t]), *terms))
    with open("where.bin", "wb") as f:
        f.write(struct.pack("%dI" % len(where), *where))
    out = vyre("run", "sum.vyre", "--grad", "--wrt", "w", "--deterministic", "--json", "--ct", "y=@terms.bin",
               "--in", "idx=@where.bin", "--in", "x[%d]=zeros" % len(terms), "--in", "w[%d]=zeros" % m, *extra)
    return [rounded(t, float(v)) for v in json.loads(out)["outputs"]["grad_w"]["data"]]


def check_sums(seed):
    for t, case in shares.drawn(((t, case) for t in LETTER if t not in LACKING for case in range(8)), 3):
        r = random.Random("%s %s %d" % (seed, t, case))
        m = r.choice((1, 3, 40))
        terms = terms_of(t, case, r)
        where = [r.randrange(m) for _ in terms]
        want = [exact_sum(t, [v for v, w in zip(terms, where) if w == k]) for k in range(m)]
        for engine in ("eval", "vulkan"):
            got = scattered(t, terms, where, m, "--engine", engine)
            bad = [(k, w, g) for k, (w, g) in enumerate(zip(want, got)) if not same(w, g)]
            tell(not bad, "exact sums of %s, case %d, seed %s, %s" % (t, case, seed, engine), bad[:3])


def main():
    seed = os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"]
    print("VYRE_SEED=" + seed)
    for name in shares.drawn(PROGRAMS, int(os.environ.get("VYRE_SHARE", "1"))):
        try:
            check_program(name, (100 if shares.whole() else 25) if name == "sites" else 2)
        except Lacking as why:
            print("skipped: %s: %s" % (name, why))
            LACKING.update(re.findall(r"\bf(?:16|64)\b", PROGRAMS.pop(name)[0]))
    check_sums(seed)
    found = subprocess.run([os.path.join(SRC, "tools", "swiftshader"), "--cached"], capture_output=True,
                           text=True)
    second = found.stdout.strip()
    check_drivers(second)
    print("%d compared, %d differ%s" % (passed, failed, "" if second else
                                        "; not on a second driver: " + found.stderr.strip()))
    return failed > 0


sys.exit(main())
