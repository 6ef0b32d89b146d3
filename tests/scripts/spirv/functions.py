#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Every function in every float mode and type on devices: special values, edges of domains, random
arguments.

The reference is the interpreter in f64.  The default mode and --precise keep tests/math/bounds.txt
(no bound there was measured on a device), special values exactly; --fast-math has the device's
functions, for which only what Vulkan guarantees in the middle of the domains is checked.
Derivatives at special values are of the same kind (nan, an infinity and its sign, zero, finite) as
the interpreter's in the same type, and near them where they are finite.  Runs on the default device
and on SwiftShader where tools/swiftshader has fetched it.  A run has f32 and either f16 or f64, each in one of the
modes, and half of the derivatives, as the seed says; VYRE_SHARE=1 has all.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys

VYRE, SRC = os.environ["VYRE_GRAD"], os.environ["SRC"]
sys.path.insert(0, os.path.join(SRC, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

INF, NAN = math.inf, math.nan
# letter of struct, digits, exponent of the least normal number, exponent of the largest
FORMAT = {"f16": ("e", 11, -14, 15), "f32": ("f", 24, -126, 127), "f64": ("d", 53, -1022, 1023)}
ONE = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid softplus "
       "cbrt rsqrt erf erfc lgamma digamma sqrt recip abs sign floor ceil trunc round fract relu").split()
TWO = "pow atan2 hypot min max step fmod copysign".split()
THREE = {"clamp(x[i], -1, z[i])": "clamp", "mix(x[i], z[i], 0.25)": "mix", "mod(x[i], z[i])": "mod",
         "smoothstep(0, z[i], x[i])": "smoothstep"}
# ULP of what bounds.txt does not have: / within 2.5, sqrt within 3, the rest is exact
ULP = {"sqrt": 3, "recip": 3}
ROUGH = ("mix", "mod", "smoothstep")  # quotients and sums of quotients: the kind of result only
REFERENCE_ULP = {"lgamma": 4, "digamma": 4}  # error of the reference, in ULP of f64
AT_ONCE = 8
passed = failed = 0


def tell(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok and failed <= 40:
        print("FAILED", what, flush=True)


def rounded(t, value):
    try:
        return struct.unpack(FORMAT[t][0], struct.pack(FORMAT[t][0], value))[0]
    except OverflowError:
        return math.copysign(INF, value)


def neighbours(t, value):
    """The adjacent numbers of the type."""
    _, digits, least, _ = FORMAT[t]
    step = 2.0 ** (max(math.frexp(value)[1] - 1, least) - digits + 1)
    return [rounded(t, value - step), rounded(t, value), rounded(t, value + step)]


def special(t):
    _, digits, least, most = FORMAT[t]
    big = rounded(t, 2.0 ** most * (2 - 2.0 ** (1 - digits)))
    some = [0.0, INF, NAN, 2.0 ** (least - digits + 1), 2.0 ** (least - 1), 2.0 ** least, 0.5, 2.0, 3.0, 1e-3, 7.5, 20.0,
            100.0, 1000.0, 4096.0, big, 2.0 ** (most - 1)]
    for edge in (1.0, math.pi / 2, math.pi, math.log(big), math.log(2) * least, 0.41421, 0.29289, 0.625):
        some += neighbours(t, edge)
    if t != "f16":
        some += [1e5, 3e9, 1e20, 1e30, 1e-20]
    return [rounded(t, s * v) for v in some for s in (1, -1)]


def arguments(t, seed):
    _, _, least, most = FORMAT[t]
    r = random.Random(seed)
    values = special(t)
    for low, high, count in ((-12, 12, 300), (-1, 1, 300), (0.4, 2.5, 300), (-100, 100, 200)):
        values += [rounded(t, r.uniform(low, high)) for _ in range(count)]
    values += [rounded(t, r.choice((-1, 1)) * 2.0 ** r.uniform(least, most + 1)) for _ in range(500)]
    return values


def pairs(t, seed):
    few = special(t)[::3] + [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -2.0, 3.0]
    r = random.Random(seed)
    both = [(a, b) for a in few for b in few]
    both += [(rounded(t, r.uniform(0, 4)), rounded(t, r.uniform(-20, 20))) for _ in range(600)]
    both += [(rounded(t, r.uniform(-3, 3)), rounded(t, r.uniform(-3, 3))) for _ in range(300)]
    return [a for a, _ in both], [b for _, b in both]


def bounds():
    """(name, type) → [(lo, hi, ulp, abs)]"""
    table = {}
    with open(os.path.join(SRC, "tests", "math", "bounds.txt"), encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if len(words) == 6 and words[0] != "#":
                table.setdefault((words[0], words[1]), []).append(tuple(map(float, words[2:])))
    return table


BOUNDS = bounds()


def run(text, data, options, env=None):
    with open("f.vyre", "w") as f:
        f.write(text)
    words = [VYRE, "run", "f.vyre", "--json", "--quiet", *options]
    for name, (t, values) in data.items():
        with open(name + ".bin", "wb") as f:
            f.write(struct.pack("%d%s" % (len(values), FORMAT[t][0]), *values))
        words += ["--in", "%s[%d]=@%s.bin" % (name, len(values), name)]
    done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, **(env or {})))
    if done.returncode:
        raise RuntimeError("%s\n%s\n%s" % (" ".join(words), text, done.stderr))
    out = json.loads(done.stdout, parse_int=float)["outputs"]
    return {k: [rounded(o["type"], float(v)) for v in o["data"]] for k, o in out.items()}


def program(t, calls):
    return "program p(x: in %s[N], z: in %s[N], %s, N: u32) over(i: N) { %s }" % (
        t, t, ", ".join("y%d: out %s[N]" % (k, t) for k in range(len(calls))),
        " ".join("y%d[i] = %s;" % (k, c) for k, c in enumerate(calls)))


def evaluate(t, calls, x, z, options, env=None):
    """One list of results per call."""
    results = []
    for at in range(0, len(calls), AT_ONCE):
        part = calls[at:at + AT_ONCE]
        out = run(program(t, part), {"x": (t, x), "z": (t, z)}, options, env)
        results += [out["y%d" % k] for k in range(len(part))]
    return results


def kind(v, least):
    if v != v:
        return "nan"
    if math.isinf(v):
        return "+inf" if v > 0 else "-inf"
    return "0" if abs(v) < 2.0 ** least else "finite"


def ulp_of(t, value):
    _, digits, least, _ = FORMAT[t]
    e = math.frexp(value)[1] - 1 if value else least
    return 2.0 ** (max(e, least) - digits + 1)


def limit(name, t, mode, args):
    """(ULP, absolute) of the type, for the arguments."""
    if t == "f16":  # computed in f32 and rounded
        return 1, 0
    if name in ULP or (name, "f32") not in BOUNDS:
        return ULP.get(name, 0), 0
    column = "plain" if t == "f32" and mode == "default" and (name, "plain") in BOUNDS else t
    fits = [b for b in BOUNDS[(name, column)] if all(b[0] <= a <= b[1] for a in args)]
    ulp, absolute = (max(b[2] for b in fits), max(b[3] for b in fits)) if fits else (0, 0)
    return ulp + (REFERENCE_ULP.get(name, 2) if t == "f64" else 0.01), absolute


def right(name, t, mode, args, got, want):
    _, digits, least, most = FORMAT[t]
    ulp, absolute = limit(name, t, mode, args)
    if want != want or got != got:
        return got != got and want != want
    if name in ROUGH:
        return math.isinf(want) == math.isinf(got) or all(0 < abs(a) < INF for a in args)
    if any(0 < abs(a) < 2.0 ** least for a in args) and abs(want) < 2.0 ** least and abs(got) < 2.0 ** least:
        return True
    unit = ulp_of(t, want) if not math.isinf(want) else 0
    top = 2.0 ** most * (2 - 2.0 ** -digits)
    if math.isinf(got) or math.isinf(want):
        return (got > 0) == (want > 0) and (got == want or abs(want) >= top - ulp * ulp_of(t, top) and (
            math.isinf(got) or abs(got) >= top - ulp * ulp_of(t, top)))
    if want == 0:  # also the sign
        return got == 0 and math.copysign(1, got) == math.copysign(1, want)
    if abs(want) < 2.0 ** least and got == 0:
        return True
    return abs(got - want) <= max(absolute, ulp * unit, unit / 2)


def flushed(t, v):
    return math.copysign(0.0, v) if v and abs(v) < 2.0 ** FORMAT[t][2] else v


def compare(t, mode, where, calls, names, x, z, options, env):
    """A subnormal argument may count as 0 of its sign."""
    got = evaluate(t, calls, x, z, options, env)
    reference = ("--engine", "eval")
    want = evaluate("f64", calls, x, z, reference)
    zeroed = evaluate("f64", calls, [flushed(t, v) for v in x], [flushed(t, v) for v in z], reference)
    for k, name in enumerate(names):
        bad, two = [], name not in ONE
        for i, v in enumerate(got[k]):
            args = (x[i], z[i]) if two else (x[i],)
            if not (right(name, t, mode, args, v, want[k][i]) or right(name, t, mode, args, v, zeroed[k][i])):
                bad.append("%s -> %r, exact %r" % (args, v, want[k][i]))
        tell(not bad, "%s %s %s on %s: %d of %d, %s" % (name, t, mode, where, len(bad), len(x), "; ".join(bad[:4])))


def fast(where, env):
    """The device's own functions, where Vulkan bounds them: mid-domain, to 2^-10."""
    r = random.Random(5)
    x = [rounded("f32", r.uniform(0.1, 0.9)) for _ in range(300)]
    z = [rounded("f32", r.uniform(0.1, 3)) for _ in range(300)]
    names = [n for n in ONE if n != "acosh"] + TWO[:3]
    calls = ["%s(x[i]%s)" % (n, ", z[i]" if n in TWO else "") for n in names]
    got = evaluate("f32", calls, x, z, ("--fast-math",), env)
    want = evaluate("f64", calls, x, z, ("--engine", "eval"))
    for k, name in enumerate(names):
        bad = [(x[i], g, w) for i, (g, w) in enumerate(zip(got[k], want[k]))
               if not abs(g - w) <= 2.0 ** -10 * max(1, abs(w))]
        tell(not bad, "%s f32 fast-math on %s: %s" % (name, where, bad[:4]))


def gradients(t, mode, where, options, env):
    least = FORMAT[t][2]
    x = [v for v in special(t) if not 0 < abs(v) < 2.0 ** least and not 2.0 ** 60 < abs(v) < INF]
    z = [1.5] * len(x)
    names = ONE + TWO[:3]
    calls = ["%s(x[i]%s)" % (n, ", z[i]" if n in TWO else "") for n in names]
    for at in range(0, len(calls), AT_ONCE):
        part = calls[at:at + AT_ONCE]
        for k, call in shares.drawn(enumerate(part), 2):
            text = program(t, [call])
            how = ("--grad", "--wrt", "x")
            got = run(text, {"x": (t, x), "z": (t, z)}, (*how, *options), env)["grad_x"]
            want = run(text, {"x": (t, x), "z": (t, z)}, (*how, "--engine", "eval"))["grad_x"]
            bad = [(v, g, w) for v, g, w in zip(x, got, want)
                   if kind(g, least) != kind(w, least) or kind(g, least) == "finite" and not abs(g - w) <= (
                       1e-3 if t == "f16" else 1e-5) * max(1, abs(w))]
            tell(not bad, "derivative of %s %s %s on %s: (x, got, wanted) %s" % (
                names[at + k], t, mode, where, bad[:4]))


def device(where, types, env):
    seed = os.environ.get("VYRE_SEED") or "1"
    for t in types:
        modes = ("default", ()), ("precise", ("--precise",))
        for mode, options in shares.drawn(modes, 2):
            x = arguments(t, "%s %s" % (seed, t))
            compare(t, mode, where, ["%s(x[i])" % n for n in ONE], ONE, x, x, options, env)
            x, z = pairs(t, "%s %s" % (seed, t))
            calls = ["%s(x[i], z[i])" % n for n in TWO] + list(THREE)
            compare(t, mode, where, calls, TWO + list(THREE.values()), x, z, options, env)
        gradients(t, "default", where, (), env)
    fast(where, env)


def main():
    types = ("f32", "f16", "f64") if shares.whole() else ("f32", *shares.drawn(("f16", "f64"), 2))
    device("the default device", types, None)
    found = subprocess.run([os.path.join(SRC, "tools", "swiftshader"), "--cached"], capture_output=True, text=True)
    second = found.stdout.strip()
    if second:
        device("SwiftShader", ("f32",), {"VK_DRIVER_FILES": second, "VK_ICD_FILENAMES": second, "VYRE_DEVICE": "",
                                         "VYRE_VALIDATION": ""})
    print("%d compared, %d differ%s" % (passed, failed, "" if second else
                                        "; not on a second driver: " + found.stderr.strip()))
    return failed > 0


sys.exit(main())
