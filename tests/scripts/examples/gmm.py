#!/usr/bin/env python3
# DEVICE
# ONCE
"""The main use case on real input: gmm's objective and four gradients, on both engines, f32 and
f64.

tiny    examples/data/gmm_tiny.json (exact values, from an independent source)
random  N=1,000 D=10 K=25 by make_gmm.py, with its own gradient derived by hand; the device's f32
        against the interpreter's f64 as well

The error of an array is its largest |got − expected| / max(1, largest |expected|).  Tolerances are
about five times what was measured on lavapipe; the errors are printed.
"""
import json
import os
import struct
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
GMM = os.path.join(SRC, "examples", "gmm.vyre")
MAKE = os.path.join(SRC, "examples", "data", "make_gmm.py")
RESULTS = ("err", "grad_alpha", "grad_mu", "grad_q", "grad_l")
bad = 0


def npy(path):
    with open(path, "rb") as f:
        data = f.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    code = "d" if b"'<f8'" in data[:start] else "f"
    return list(struct.unpack("<%d%s" % ((len(data) - start) // struct.calcsize(code), code),
                              data[start:]))


def run(folder, program, scalars, *options):
    """Results of `run --grad`, or None with the reason if the device cannot run it."""
    argv = [VYRE, "run", program, "--grad", "--json", "--wrt", "alpha,mu,q,l", *options]
    for name, value in scalars.items():
        argv += ["--set", "%s=%s" % (name, value)]
    for name in ("alpha", "mu", "q", "l", "x"):
        argv += ["--in", "%s=@%s" % (name, os.path.join(folder, name + ".npy"))]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    outputs = json.loads(done.stdout)["outputs"]
    return {n: outputs[n]["data"] for n in RESULTS}, ""


def compare(what, got, expected, tolerance):
    global bad
    errors = []
    for name in RESULTS:
        a, b = got[name], expected[name]
        error = max(abs(x - y) for x, y in zip(a, b)) / max(1, max(map(abs, b)))
        errors.append("%s %.1e" % (name, error))
        if len(a) != len(b) or not error <= tolerance:  # NaN fails too
            bad = 1
            errors[-1] += " WRONG"
    print("%-34s (below %g)  %s" % (what, tolerance, ", ".join(errors)))


def on(what, folder, program, scalars, expected, tolerance, *options):
    global bad
    got, trouble = run(folder, program, scalars, *options)
    if got:
        compare(what, got, expected, tolerance)
    else:
        print("%s: %s" % (what, trouble))
        bad = 1
    return got


def main():
    with open(GMM, encoding="utf-8") as f:
        text = f.read()
    with open("gmm64.vyre", "w", encoding="utf-8") as f:
        f.write(text.replace("f32", "f64"))
    listed = subprocess.run([VYRE, "devices"], capture_output=True, text=True).stdout
    f64 = "shader_float64" in listed and "shader_atomic_int64" in listed
    in_f64, in_f32 = [("eval", 1e-12)], [("eval", 2e-6)]
    if "features:" in listed:
        in_f32.append(("vulkan", 2e-6))
    if f64:
        in_f64.append(("vulkan", 1e-12))

    tiny = os.path.join(SRC, "examples", "data", "gmm_tiny")
    scalars = {"m": 2, "gamma": 0.7}
    subprocess.run([MAKE, "tiny", "made"], check=True)
    for folder in ("f32", "f64"):
        for name in RESULTS + ("alpha", "mu", "q", "l", "x"):
            a, b = (os.path.join(d, folder, name + ".npy") for d in (tiny, "made"))
            with open(a, "rb") as f, open(b, "rb") as g:
                if f.read() != g.read():
                    sys.exit("%s is not what make_gmm.py makes of gmm_tiny.json" % a)
    exact = {n: npy(os.path.join(tiny, "f64", n + ".npy")) for n in RESULTS}
    for engine, tolerance in in_f32:
        on("tiny f32 " + engine, tiny + "/f32", GMM, scalars, exact, tolerance, "--engine", engine)
    for engine, tolerance in in_f64:
        on("tiny f64 " + engine, tiny + "/f64", "gmm64.vyre", scalars, exact, tolerance,
           "--engine", engine)
    # In double, but the constants of the f32 program stay f32 numbers: that shows in err alone.
    on("tiny f32 eval --eval-type f64", tiny + "/f64", GMM, scalars, exact, 1e-7, "--engine", "eval",
       "--eval-type", "f64")

    scalars = {"m": 0, "gamma": 1}
    subprocess.run([MAKE, "random", "random"], check=True)
    by_hand = {n: npy("random/f64/%s.npy" % n) for n in RESULTS}
    for engine, tolerance in in_f64:
        on("random f64 " + engine, "random/f64", "gmm64.vyre", scalars, by_hand, tolerance,
           "--engine", engine)
    double = on("random f32 eval --eval-type f64", "random/f64", GMM, scalars, by_hand, 1e-7,
                "--engine", "eval", "--eval-type", "f64")
    for engine, tolerance in in_f32:
        on("random f32 %s, to double" % engine, "random/f32", GMM, scalars, double or by_hand, 1e-5,
           "--engine", engine)


main()
sys.exit(bad)
