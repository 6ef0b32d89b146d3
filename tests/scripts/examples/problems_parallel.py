#!/usr/bin/env python3
# ONCE
# DEVICE
"""The examples ba, nbody, conv2d, softmax and layernorm against make_ba.py and make_layers.py:
values and gradients (by hand, in double, for a random cotangent), on both engines, f32 and f64; in
f64 also against finite differences along a random direction in each input.  ba also against the
exact Jacobian of ba_tiny.json.

The error of an array is its largest |got − expected| / largest |expected|.  Tolerances are about
five times what was measured on lavapipe; the errors are printed.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources are left alone
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import problems  # noqa: E402
import shares  # noqa: E402
from problems import EXAMPLES, STEP, compare, kinds_and_engines, npy, run, specs, write_kinds  # noqa: E402
import make_gmm  # noqa: E402
import make_layers  # noqa: E402

BA = ["cams", "X", "w", "feat", "camera", "point"]
SHIFTS = ["d=zeros", "t=zeros"]  # the Jacobian is with respect to these
NBODY = ["eps=%r" % make_layers.EPS]
NORM = ["eps=%r" % make_layers.VARIANCE_EPS]


class Case:
    """A program on the data of a folder: `outputs` have the cotangent ct_NAME.npy if `ct`, else ones;
    the gradient of x is expected in PREFIXgrad_x.npy.  Inputs in `specs` are not files."""

    def __init__(self, example, program, folder, wrt, rest, outputs, single, double, scalars=(), given=(), ct=False,
                 prefix=""):
        self.__dict__.update(locals())
        self.name = program + (" of " + folder if folder != example else "")

    def options(self):
        return [w for s in self.scalars for w in ("--set", s)]

    def inputs(self, kind):
        files = [n for n in self.wrt + self.rest if n not in [g.partition("=")[0] for g in self.given]]
        return specs(self.folder, kind, files) + list(self.given)

    def value(self, kind, engine, inputs):
        return run(self.example, kind, engine, inputs, *self.options(), program=self.program)

    def solve(self, kind, engine):
        cts = [w for o in self.outputs for w in ("--ct", "%s=@%s/%s/ct_%s.npy" % (o, self.folder, kind, o))]
        return run(self.example, kind, engine, self.inputs(kind), *self.options(), "--grad", "--wrt", ",".join(self.wrt),
                   *(cts if self.ct else []), program=self.program)

    def expected(self):
        return {**{o: o for o in self.outputs}, **{self.prefix + "grad_" + w: "grad_" + w for w in self.wrt}}


CASES = [
    # predicted and observed features of ba_tiny agree to a thousandth: e has three digits in f32
    Case("ba", "residuals", "ba_tiny", [], BA, ["e", "ew"], 1e-3, 1e-11),
    Case("ba", "jacobian", "ba_tiny", ["d", "t"], BA, [], 5e-6, 1e-14, given=SHIFTS),
    Case("ba", "jacobian", "ba", ["d", "t"], BA, ["e", "ew"], 2e-5, 1e-13, given=SHIFTS),
    Case("ba", "cost", "ba", ["cams", "X", "w"], BA[3:], ["f"], 2e-5, 1e-13),
    Case("nbody", "energy", "nbody", ["p", "m"], [], ["U"], 5e-6, 1e-14, NBODY),
    Case("nbody", "forces", "nbody", ["p", "m"], [], ["F"], 1e-5, 3e-14, NBODY, ct=True, prefix="F_"),
    Case("conv2d_strided", "conv2d", "conv2d", ["x", "w", "bias"], [], ["y"], 5e-6, 1e-14, ["P=1"], ct=True),
    Case("conv2d", "conv2d", "conv2d_full", ["x", "w", "bias"], [], ["y"], 5e-6, 1e-14, ["P=2"], ct=True),
    Case("softmax", "softmax", "softmax", ["x"], [], ["y"], 1e-5, 4e-14, ct=True),
    Case("softmax", "softmax_group", "softmax", ["x"], [], ["y"], 5e-6, 1e-14, ct=True),
    Case("layernorm", "layernorm", "layernorm", ["x", "gain", "bias"], [], ["y"], 5e-6, 1e-14, NORM, ct=True),
    Case("layernorm", "layernorm_group", "layernorm", ["x", "gain", "bias"], [], ["y"], 5e-6, 1e-14, NORM, ct=True),
]
DATA = {"ba": ["make_ba.py", "random"], "ba_tiny": ["make_ba.py", "tiny"], "nbody": ["make_layers.py", "nbody"],
        "conv2d": ["make_layers.py", "conv2d"], "softmax": ["make_layers.py", "softmax"],
        "conv2d_full": ["make_layers.py", "conv2d"], "layernorm": ["make_layers.py", "layernorm"]}
CHANGED = {"conv2d_strided": ("conv2d", "S: u32 = 1", "S: u32 = 2")}  # examples with another constant
SIZES = {"conv2d_full": "1 2 5 4 3 3 1 2".split()}


def weighted(case, outputs):
    """Σ ct · output"""
    total = 0.0
    for o in case.outputs:
        ct = npy("%s/f64/ct_%s.npy" % (case.folder, o))[0] if case.ct else [1.0] * len(outputs[o])
        total += sum(c * v for c, v in zip(ct, outputs[o]))
    return total


def differences(case, got):
    """Along a random direction in each input, two-sided, against grad · direction."""
    for seed, name in enumerate(case.wrt):
        if name + "=zeros" in case.given:
            print("%s: no differences of %s: only derivatives depend on it (straight_through)" % (case.folder, name))
            continue
        at, shape = npy("%s/f64/%s.npy" % (case.folder, name))
        along = make_gmm.normal((7 + seed) << 32, len(at))
        sides = []
        for sign in (1, -1):
            make_gmm.save("moved.npy", [a + sign * STEP * u for a, u in zip(at, along)], shape, "d")
            moved = [s for s in case.inputs("f64") if not s.startswith(name + "=")] + [name + "=@moved.npy"]
            sides.append(weighted(case, case.value("f64", "eval", moved)))
        slope = (sides[0] - sides[1]) / (2 * STEP)
        expected = sum(g * u for g, u in zip(got["grad_" + name], along))
        error = abs(slope - expected) / abs(expected)
        print("%-32s (below 1e-07)  %s %.1e" % (case.name + " f64 differences", name, error))
        if not error <= 1e-7:
            problems.bad = 1
            print("WRONG: %r, the gradient says %r" % (slope, expected))


def main():
    runs = kinds_and_engines()
    for example in {c.example for c in CASES}:
        write_kinds(example, *CHANGED.get(example, ()))
    for folder, (maker, what) in DATA.items():
        subprocess.run([os.path.join(EXAMPLES, "data", maker), what, folder, *SIZES.get(folder, [])], check=True)
    for case in shares.drawn(CASES, 3):
        for kind, engine in runs:
            tolerance = case.single if kind == "f32" else case.double
            if not case.wrt:
                got = case.value(kind, engine, case.inputs(kind))
            else:
                got = case.solve(kind, engine)
                if (kind, engine) == ("f64", "eval") and case.outputs:
                    differences(case, got)
            compare("%s %s %s" % (case.name, kind, engine), got, case.folder, case.expected(), tolerance)


main()
sys.exit(problems.bad)
