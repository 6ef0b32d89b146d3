#!/usr/bin/env python3
# ONCE
# DEVICE
"""The examples attention, bilinear, bilateral, hashgrid, compositing and sph against make_render.py
and make_pairs.py: value and gradient (by hand, in double, for a random cotangent), on both engines,
f32 and f64; in f64 also against finite differences along a random direction in each input.

The error of an array is its largest |got − expected| / largest |expected|.  Tolerances are about
five times what was measured on lavapipe; the errors are printed.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources are left alone
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import problems  # noqa: E402
import shares  # noqa: E402
from problems import EXAMPLES, VYRE, kinds_and_engines, npy, write_kinds  # noqa: E402
import make_gmm  # noqa: E402
import make_pairs  # noqa: E402

# of finite differences: error about STEP² times the third derivative (for hashgrid: cells cubed)
STEP = {"hashgrid": 1e-6, "compositing": 1e-6}
SCALARS = {"compositing": ["--set", "H=20", "--set", "W=24"]}  # make_render.py's
# Sizes that differ from the generators': lavapipe's compiler takes a quarter of a minute for rows of 64.
SIZES = {"attention": ["2", "19", "16"]}
CHANGES = {"attention": ("D: u32 = 64", "D: u32 = 16")}  # of the example's text
# problem: generator, wrt, other inputs, value, tolerances in f32 and f64
PROBLEMS = {
    "attention": ("make_pairs", ["q", "k", "v"], [], "o", 5e-6, 5e-15),
    "bilinear": ("make_render", ["image", "at"], [], "sampled", 5e-6, 5e-15),
    "bilateral": ("make_render", ["grid", "guide", "image"], [], "mapped", 5e-6, 5e-15),
    "hashgrid": ("make_render", ["x", "table"], ["cells"], "features", 5e-6, 5e-15),
    "compositing": ("make_render", ["mean", "conic", "opacity", "colour", "background"],
                    ["first", "order"], "image", 5e-6, 5e-15),
    "sph": ("make_pairs", ["x", "v"], ["near", "count"], "acceleration", 5e-6, 5e-15),
}


def run(example, kind, engine, inputs, *options):
    """Outputs of `run` on inputs {name: file}."""
    return problems.run(example, kind, engine, ["%s=@%s" % i for i in inputs.items()], *options)


def files(problem, kind, names, **others):
    return {n: "%s/%s/%s.npy" % (problem, kind, n) for n in names} | others


def sph_step(program, *scalars):
    return ["-p", program] + [w for n in scalars for w in ("--set", "%s=%r" % (n, make_pairs.SPH[n]))]


DENSITIES = sph_step("densities", "h", "mass")
FORCES = sph_step("forces", *make_pairs.SPH)
LISTS = ["near", "count"]


def value(problem, kind, engine, inputs):
    """The output alone."""
    if problem != "sph":
        return run(problem, kind, engine, inputs, *SCALARS.get(problem, []))[PROBLEMS[problem][3]]
    run("sph", kind, engine, {n: inputs[n] for n in ["x"] + LISTS}, *DENSITIES, "--out", "density=@density.npy")
    return run("sph", kind, engine, inputs | {"density": "density.npy"}, *FORCES)["acceleration"]


def solve_sph(kind, engine):
    """Forward densities, then forces; backward forces, then densities, chained by the cotangent of
    the densities."""
    both = files("sph", kind, ["x"] + LISTS)
    got = run("sph", kind, engine, both, *DENSITIES, "--out", "density=@density.npy")
    got |= run("sph", kind, engine, both | files("sph", kind, ["v"], density="density.npy"), *FORCES, "--grad",
               "--wrt", "x,v,density", "--ct", "acceleration=@sph/%s/ct_acceleration.npy" % kind, "--out",
               "grad_density=@grad_density.npy")
    through = run("sph", kind, engine, both, *DENSITIES, "--grad", "--wrt", "x", "--ct",
                  "density=@grad_density.npy")
    got["grad_x"] = [a + b for a, b in zip(got["grad_x"], through["grad_x"])]
    return got


def solve(problem, kind, engine):
    """Value and gradients."""
    if problem == "sph":
        return solve_sph(kind, engine)
    _, wrt, rest, out, _, _ = PROBLEMS[problem]
    return run(problem, kind, engine, files(problem, kind, wrt + rest), "--grad", "--wrt", ",".join(wrt), "--ct",
               "%s=@%s/%s/ct_%s.npy" % (out, problem, kind, out), *SCALARS.get(problem, []))


def compare(problem, kind, engine, got, names, tolerance):
    problems.compare("%s %s %s" % (problem, kind, engine), got, problem, {n: n for n in names}, tolerance)


def differences(problem, got):
    """Σ ct · value along a random direction in each input, two-sided, against grad · direction."""
    _, wrt, rest, out, _, _ = PROBLEMS[problem]
    ct, step = npy("%s/f64/ct_%s.npy" % (problem, out))[0], STEP.get(problem, 1e-5)
    for seed, name in enumerate(wrt):
        at, shape = npy("%s/f64/%s.npy" % (problem, name))
        along = make_gmm.normal((7 + seed) << 32, len(at))
        sides = []
        for sign in (1, -1):
            make_gmm.save("moved.npy", [a + sign * step * u for a, u in zip(at, along)], shape, "d")
            moved = value(problem, "f64", "eval", files(problem, "f64", wrt + rest) | {name: "moved.npy"})
            sides.append(sum(c * v for c, v in zip(ct, moved)))
        slope = (sides[0] - sides[1]) / (2 * step)
        expected = sum(g * u for g, u in zip(got["grad_" + name], along))
        error = abs(slope - expected) / abs(expected)
        print("%-24s (below 1e-07)  %s %.1e" % (problem + " f64 differences", name, error))
        if not error <= 1e-7:
            problems.bad = 1
            print("WRONG: %r, the gradient says %r" % (slope, expected))


def attention_keeps_nothing():
    """T = 512, D = 64: the loop's own reverse would tape 66 numbers for each pair."""
    done = subprocess.run([VYRE, "explain", os.path.join(EXAMPLES, "attention.vyre"), "--json", "--set", "H=1", "--set",
                           "T=512"], capture_output=True, text=True)
    said = json.loads(done.stdout)
    kept = said["tape_bytes"]["all"]["value"], said["workspace_bytes"]["value"]
    print("attention keeps %s bytes of tape, %s of workspace" % kept)
    problems.bad |= kept[0] != 0


def main():
    attention_keeps_nothing()
    runs = kinds_and_engines()
    for problem, (generator, wrt, _, out, single, double) in shares.drawn(PROBLEMS.items(), 2):
        write_kinds(problem, problem, *CHANGES.get(problem, []))
        subprocess.run([os.path.join(EXAMPLES, "data", generator + ".py"), problem, problem, *SIZES.get(problem, [])],
                       check=True)
        for kind, engine in runs:
            got = solve(problem, kind, engine)
            names = [out] + ["grad_" + w for w in wrt]
            if problem == "sph":
                names += ["density", "grad_density"]
            compare(problem, kind, engine, got, names, single if kind == "f32" else double)
            if (kind, engine) == ("f64", "eval"):
                differences(problem, got)


main()
sys.exit(problems.bad)
