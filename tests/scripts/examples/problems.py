#!/usr/bin/env python3
# DEVICE
# ONCE
"""The examples det, kmeans, llsq, lse and lstm against make_problems.py: value and gradient (by
hand, in double), on both engines, f32 and f64; in f64 also against finite differences.  Also the
Hessian diagonal of kmeans, and gradients through two programs, chained by a cotangent (lstm, lse of
one vector).

The error of an array is its largest |got − expected| / largest |expected|.  Tolerances are about
five times what was measured on lavapipe; the errors are printed.
"""
import json
import os
import struct
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
EXAMPLES = os.path.join(SRC, "examples")
sys.dont_write_bytecode = True  # the sources are left alone
sys.path[:0] = [os.path.join(EXAMPLES, "data"), os.path.join(os.environ["SRC"], "tests")]
import make_gmm  # noqa: E402
import shares  # noqa: E402

STEP = 1e-5  # of finite differences: error about STEP²
# problem: wrt, other inputs, value, scalars, tolerances in f32 and f64
PROBLEMS = {
    "det": (["A"], [], "d", [], 2e-6, 2e-15),
    "kmeans": (["C"], ["P"], "f", [], 1e-6, 2e-15),
    "llsq": (["x"], [], "y", ["N=50", "W=8"], 1e-6, 2e-15),
    "lse": (["x"], [], "y", [], 1e-6, 2e-15),
    "lstm": (["main", "extra", "state"], ["seq"], "loss", [], 2e-6, 5e-15),
}
# Sizes that differ from the generator's, and the change of the example's text.  With an array of 64
# minors lavapipe's compiler takes a second, with the example's 256 a quarter of a minute.
SIZES = {"det": (["5", "6"], ("ORDER: u32 = 8", "ORDER: u32 = 6"))}
bad = 0


def npy(path):
    """Values and shape."""
    with open(path, "rb") as f:
        data = f.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    head = data[10:start].decode("ascii")
    code = "d" if "'<f8'" in head else "f"
    shape = [int(n) for n in head.partition("(")[2].partition(")")[0].split(",") if n.strip()]
    return list(struct.unpack("<%d%s" % ((len(data) - start) // struct.calcsize(code), code),
                              data[start:])), shape


def run(example, kind, engine, inputs, *options, program=None):
    """Outputs of `run` on inputs [name=SPEC]; a failure fails the test."""
    argv = [VYRE, "run", "%s.%s.vyre" % (example, kind), "--json", "--engine", engine, *options]
    for spec in inputs:
        argv += ["--in", spec]
    done = subprocess.run(argv + (["-p", program] if program else []), capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(argv), done.stderr))
    return {n: o["data"] for n, o in json.loads(done.stdout)["outputs"].items()}


def compare(what, got, folder, names, tolerance):
    """`names` are those of files, with the compared output's name where it differs."""
    global bad
    errors = []
    for file, name in names.items():
        a, b = got[name], npy(os.path.join(folder, "f64", file + ".npy"))[0]
        error = max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, b))
        errors.append("%s %.1e" % (file, error))
        if len(a) != len(b) or not error <= tolerance:  # NaN fails too
            bad = 1
            errors[-1] += " WRONG"
    print("%-24s (below %g)  %s" % (what, tolerance, ", ".join(errors)))


def specs(folder, kind, names):
    return ["%s=@%s/%s/%s.npy" % (n, folder, kind, n) for n in names]


def differences(problem, got):
    """Σ of the value along a random direction in each input, two-sided, against grad · direction."""
    global bad
    wrt, rest, value, scalars = PROBLEMS[problem][:4]
    sets = [w for s in scalars for w in ("--set", s)]
    for seed, name in enumerate(wrt):
        at, shape = npy("%s/f64/%s.npy" % (problem, name))
        along = make_gmm.normal((7 + seed) << 32, len(at))
        sides = []
        for sign in (1, -1):
            make_gmm.save("moved.npy", [a + sign * STEP * u for a, u in zip(at, along)], shape, "d")
            others = [n for n in wrt + rest if n != name]
            moved = specs(problem, "f64", others) + [name + "=@moved.npy"]
            if problem == "lstm":
                sides.append(lstm_loss("f64", "eval", moved))
            else:
                sides.append(sum(run(problem, "f64", "eval", moved, *sets)[value]))
        slope = (sides[0] - sides[1]) / (2 * STEP)
        expected = sum(g * u for g, u in zip(got["grad_" + name], along))
        error = abs(slope - expected) / abs(expected)
        print("%-24s (below 1e-07)  %s %.1e" % (problem + " f64 differences", name, error))
        if not error <= 1e-7:
            bad = 1
            print("WRONG: %r, the gradient says %r" % (slope, expected))


def whole_lse(kind, engine, tolerance):
    """All numbers as one vector: columns first, then the results as one column."""
    table = specs("lse", kind, ["x"])
    run("lse", kind, engine, table, "--out", "y=@y.npy")
    whole = run("lse", kind, engine, ["x[6,1]=@y.npy"], "--grad", "--out", "grad_x=@grad_y.npy")
    got = run("lse", kind, engine, table, "--grad", "--ct", "y=@grad_y.npy")
    compare("lse twice %s %s" % (kind, engine), {"y": whole["y"], "grad_x": got["grad_x"]}, "lse",
            {"whole": "y", "grad_whole": "grad_x"}, tolerance)


def lstm_loss(kind, engine, inputs, *options):
    """Value of the two programs, for inputs that need not be the files'; writes y.npy and other
    requested outputs."""
    run("lstm", kind, engine, inputs, "--out", "y=@y.npy", program="scores")
    scores = specs("lstm", kind, ["seq"]) + ["y=@y.npy"]
    return run("lstm", kind, engine, scores, *options, program="entropy")["loss"][0]


def solve(problem, kind, engine):
    """Value and gradients."""
    wrt, rest, _, scalars = PROBLEMS[problem][:4]
    inputs, options = specs(problem, kind, wrt + rest), ["--grad", "--wrt", ",".join(wrt)]
    if problem != "lstm":
        return run(problem, kind, engine, inputs, *options, *[w for s in scalars for w in ("--set", s)])
    loss = lstm_loss(kind, engine, inputs, "--grad", "--wrt", "y", "--out", "grad_y=@grad_y.npy")
    return {"loss": [loss], **run("lstm", kind, engine, inputs, *options, "--ct", "y=@grad_y.npy",
                                  program="scores")}


def kinds_and_engines():
    """The types and engines available here."""
    listed = subprocess.run([VYRE, "devices"], capture_output=True, text=True).stdout
    runs = [("f32", "eval"), ("f64", "eval")]
    if "features:" in listed:
        runs.append(("f32", "vulkan"))
    if "shader_float64" in listed and "shader_atomic_int64" in listed:
        runs.append(("f64", "vulkan"))
    return runs


def rounding_of_device():
    """Vulkan allows a division 2.5 ULP; lavapipe rounds it, GPUs do not."""
    listed = subprocess.run([VYRE, "devices"], capture_output=True, text=True).stdout
    return 1 if " (CPU)" in listed else 4


def write_kinds(example, source=None, old="", new=""):
    """EXAMPLE.f32.vyre and EXAMPLE.f64.vyre from a source of examples/, in which `old` becomes `new`."""
    with open(os.path.join(EXAMPLES, (source or example) + ".vyre"), encoding="utf-8") as f:
        text = f.read()
    if old not in text:
        sys.exit("%s.vyre has no %s" % (source, old))
    for kind in ("f32", "f64"):
        with open("%s.%s.vyre" % (example, kind), "w", encoding="utf-8") as f:
            f.write((text.replace(old, new) if old else text).replace("f32", kind))


def further(problem, kind, engine):
    if problem == "lse":
        whole_lse(kind, engine, 1e-6 if kind == "f32" else 2e-15)
    elif problem == "kmeans":
        second = run("kmeans", kind, engine, specs("kmeans", kind, ["C", "P"]), "--grad", "--order", "2", "--wrt", "C")
        compare("kmeans Hessian %s %s" % (kind, engine), second, "kmeans", {"grad2_C": "grad2_C"}, 0)


def main():
    runs, rounding = kinds_and_engines(), rounding_of_device()
    for problem, (wrt, _, value, _, single, double) in shares.drawn(PROBLEMS.items(), 3):
        sizes, change = SIZES.get(problem, ([], ()))
        write_kinds(problem, problem, *change)
        subprocess.run([os.path.join(EXAMPLES, "data", "make_problems.py"), problem, problem, *sizes], check=True)
        for kind, engine in runs:
            tolerance = (single * rounding if engine == "vulkan" else single) if kind == "f32" else double
            got = solve(problem, kind, engine)
            compare("%s %s %s" % (problem, kind, engine), got, problem,
                    {n: n for n in [value] + ["grad_" + w for w in wrt]}, tolerance)
            if (kind, engine) == ("f64", "eval"):
                differences(problem, got)
            further(problem, kind, engine)


if __name__ == "__main__":  # problems_parallel.py uses the functions
    main()
    sys.exit(bad)
