#!/usr/bin/env python3
# DEVICE
# ONCE
"""Sums that a loop rescales to its running maximum (autodiff/rewrite/online_softmax.c).

Each program passes `vyre-grad check`, and is differentiated a second time with the maximum written
as -min(-m, -s), which is the same to the bit and not recognised by any rewrite: both gradients must
agree in double.  FORMS must need no tape, and one in the other spelling; REFUSED are not that sum,
or cannot be shown to be, and keep the tape of the unchanged loop.  With loops to 6 sums are carried
values, with loops to C local arrays.
"""
import json
import os
import subprocess
import sys

VYRE = os.environ["VYRE_GRAD"]
HEAD = "program f(x: in f32[N, T], w: in f32[T, 6], b: in f32[2], y: out f32[N, 6], N: u32, T: u32, C: u32) over(i: N) {\n"
SIZES = ["--in", "x[3,9]=normal:0:2:1", "--in", "w[9,6]=normal:0:1:2", "--in", "b=0.3,0.8",
         "--set", "C=6"]
SEED = ["--ct", "y=normal:0:1:3"]
STEP = """
        let t = max(m, s);
        let shrink = exp(m - t);
        let p = exp(s - t);"""
SUM = "\n        l = l * shrink + p;\n        m = t;"
ARRAY = "\n        for c in 0..6 { acc[c] = acc[c] * shrink + p * w[j, c]; }"
OUT = "\n    for c in 0..6 { y[i, c] = acc[c] / l; }\n}"
BEGIN = "    var m: f32 = -inf; var l: f32 = 0.0; local acc: f32[6];\n"
LOOP = "    for j in 0..T { let s = x[i, j] * b[0];"

FORMS = {
    "log of a sum": "var m: f32 = -inf; var l: f32 = 0.0;" + LOOP + STEP + SUM + "} y[i, 1] = m + log(l); }",
    "attention": BEGIN + LOOP + STEP + ARRAY + SUM + "}" + OUT,
    "both outputs": BEGIN + LOOP + STEP + ARRAY + SUM + "} y[i, 0] = m + log(l); y[i, 1] = acc[3] / l; }",
    "max(s, m), sums the other way": BEGIN + LOOP + """
        let t = max(m, s); let p = exp(s - t); let shrink = exp(-(t - m));
        for c in 0..6 { acc[c] = p * w[j, c] + shrink * acc[c]; }
        l = fma(l, shrink, p); m = t; }""" + OUT,
    "skipped": BEGIN + "    for j in 0..T { if (i + j) % 3 == 1 { continue; } let s = x[i, j] * b[0];" + STEP + ARRAY
    + SUM + "}" + OUT,
    "left early": BEGIN + LOOP + STEP + ARRAY + SUM + "if j > i + 4 { break; } }" + OUT,
    "backwards, every second": BEGIN + "for j in rev(0..T) step 2 { let s = x[i, j] * b[0];" + STEP + ARRAY + SUM
    + "}" + OUT,
    "masked scores": BEGIN + "for j in 0..T { let s = j > i + 3 ? -inf : x[i, j] * b[0];" + STEP + ARRAY + SUM + "}"
    + OUT,
    "masked terms": BEGIN + LOOP + "let t = max(m, s); let shrink = exp(m - t);"
    "let p = select(j % 4 == 2, 0.0, exp(s - t));" + ARRAY + SUM + "}" + OUT,
    "base 2, scaled": BEGIN + "let k = 0.15 * f32(T);" + LOOP + """
        let t = max(m, s); let shrink = exp2((m - t) * k); let p = exp2(k * s - k * t);""" + ARRAY + SUM
    + "} y[i, 0] = k * m + log2(l); for c in 1..6 { y[i, c] = acc[c] / l; } }",
    "stopped": BEGIN + LOOP + """
        let t = stop_grad(max(m, s)); let shrink = exp(m - t); let p = exp(s - t);""" + ARRAY + SUM + "}" + OUT,
    "the maximum shows": BEGIN + LOOP + STEP + ARRAY + SUM + "} for c in 0..6 { y[i, c] = acc[c] * m + l; } }",
    "normalised in place": BEGIN + LOOP + STEP + ARRAY + SUM
    + "} for c in 0..6 { acc[c] /= l; } for c in 0..6 { y[i, c] = acc[c] * acc[5 - c]; } }",
    "begins with a term": "var m = b[1]; var l: f32 = 1.0; local acc: f32[6];" + LOOP + STEP + ARRAY + SUM + "}" + OUT,
    "sums begin with more": BEGIN + "for c in 0..6 { acc[c] = w[0, c]; }" + LOOP + STEP + ARRAY + SUM + "}" + OUT,
    "begins with a term, maximum shows": "var m = b[1]; var l = b[0]; local acc: f32[6];" + LOOP + STEP + ARRAY + SUM
    + "} for c in 0..6 { y[i, c] = acc[c] / l + m * l; } }",
    "minimum": BEGIN.replace("-inf", "inf") + LOOP + "let t = -max(-m, -s); let shrink = exp(t - m); let p = exp(t - s);"
    .replace("-max(-m, -s)", "min(m, s)") + ARRAY + SUM + "}" + OUT,
    "squares and a plain sum": BEGIN + "var q: f32 = 0.0; var r: f32 = 0.0;" + LOOP + STEP + ARRAY + """
        q = q * shrink * shrink + p * p * w[j, 0]; r += s * s;""" + SUM
    + "} for c in 0..6 { y[i, c] = acc[c] / l + q / (l * l) + r; } }",
    "in registers": "var m: f32 = -inf; var l: f32 = 0.0; local acc: f32[2];" + LOOP + STEP
    + "for c in 0..2 { acc[c] = acc[c] * shrink + p * w[j, c]; }" + SUM + "} y[i, 0] = acc[0] / l; y[i, 1] = acc[1] / l; }",
    "two rows": "var m: f32 = -inf; var l: f32 = 0.0; local acc: f32[2, 3];" + LOOP + STEP
    + "for r in 0..2 { for c in 0..3 { acc[r, c] = acc[r, c] * shrink + p * w[j, 3 * r + c]; } }" + SUM
    + "} for r in 0..2 { for c in 0..3 { y[i, 3 * r + c] = acc[r, c] / l; } } }",
    "several queries": """
    for n in 0..3u {
        var m: f32 = -inf; var l: f32 = 0.0; local acc: f32[6];
        for j in 0..T { let s = x[i, j] * w[n, 1];""" + STEP + ARRAY + SUM + """ }
        for c in 0..2 { y[i, 2 * n + c] = acc[c] * acc[c] / l / l; }
    }
}""",
    "blocks": BEGIN + """
    for k in 0..T step 3 {
        local scores: f32[3];
        for e in 0..3 { scores[e] = k + e < T ? x[i, k + e] * b[0] : -inf; }
        let top = max(e in 0..3: scores[e]);
        let t = max(m, top);
        let shrink = exp(m - t);
        l *= shrink;
        for c in 0..6 { acc[c] = acc[c] * shrink + sum(e in 0..3: exp(scores[e] - t) * w[k + e, c]); }
        l += sum(e in 0..3: exp(scores[e] - t));
        m = t;
    }""".replace("max(m, top)", "max(m, s)").replace("let top", "let s") + OUT,
}
REFUSED = {
    "one sum is not rescaled": BEGIN + LOOP + STEP + ARRAY + SUM.replace("l * shrink", "l") + "}" + OUT,
    "rescaled twice": BEGIN + LOOP + STEP + ARRAY + SUM.replace("shrink", "shrink * shrink") + "}" + OUT,
    "maximum in a factor": BEGIN + LOOP + STEP + ARRAY.replace("p *", "p * t *") + SUM + "}" + OUT,
    "an element twice": BEGIN + LOOP + STEP + ARRAY.replace("0..6 { acc[c]", "0..6 { acc[c / 2]").replace(
        "= acc[c]", "= acc[c / 2]") + SUM + "}" + OUT,
    "fewer elements each time": BEGIN + LOOP + STEP + ARRAY.replace("0..6", "0..j") + SUM + "}" + OUT,
    "some terms do not rescale": BEGIN + LOOP + STEP + "if j % 2 == 0 {" + ARRAY + "}" + SUM + "}" + OUT,
    "decided by the maximum": BEGIN + LOOP + STEP + "if s < m { l *= 0.5; }" + ARRAY + SUM + "}" + OUT,
    "ends by the sum": BEGIN + LOOP + STEP + ARRAY + SUM + "if l > 2.5 { break; } }" + OUT,
    "scaled by what changes": BEGIN + LOOP + STEP.replace("m - t", "0.1 * f32(j + 1) * (m - t)").replace(
        "s - t", "0.1 * f32(j + 1) * (s - t)") + ARRAY + SUM + "}" + OUT,
    "stopped in one place": BEGIN + LOOP + STEP.replace("exp(m - t)", "exp(m - stop_grad(t))") + ARRAY + SUM + "}" + OUT,
    "the number goes on in the loop": BEGIN + LOOP + STEP + ARRAY + "l = l * shrink + p * (1.0 + 0.1 * l); m = t; }" + OUT,
}
# bytes: maximum, sum and elements of three rows and queries; what is overwritten after the loop; an
# array must begin as zeros
KEPT = {"several queries": 288, "normalised in place, array": 144, "sums begin with more, array": None}
ON_DEVICE = ("attention", "attention, array", "begins with a term, maximum shows, array", "blocks, array")
STOPPED = "stopped in one place"  # not comparable with differences
bad = 0


def vyre(*argv):
    done = subprocess.run([VYRE, *argv], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def fails(name, what):
    global bad
    bad = 1
    print("%s: %s" % (name, what))


def gradients(path, name):
    status, out, err = vyre("run", path, "--grad", "--json", "--engine", "eval", "--eval-type", "f64", *SIZES, *SEED)
    if status:
        fails(name, err)
        return {}
    return {n: o["data"] for n, o in json.loads(out)["outputs"].items()}


def tape(path, name):
    status, out, err = vyre("explain", path, "--json", *SIZES)
    if status:
        fails(name, err)
        return -1
    return json.loads(out)["tape_bytes"]["all"]["value"]


def compare(name, text, kept):
    """kept: bytes of tape that it may need; None: as many as the reverse of the unchanged loop."""
    text = text.replace("f32", "f64")
    other = text.replace("max(m, s)", "-min(-m, -s)").replace("= min(m, s)", "= -max(-m, -s)")
    if other == text:
        fails(name, "has no maximum")
    for path, code in (("a.vyre", text), ("b.vyre", other)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(HEAD.replace("f32", "f64") + code)
    engine = ["--engine", "eval"] if name not in ON_DEVICE else []
    status, out, err = vyre("check", "a.vyre", "--allow", "out-of-range", *engine, *SIZES, *SEED)
    if status and not name.startswith(STOPPED):
        fails(name, out + err)
    if kept == 0:
        status, out, err = vyre("check", "a.vyre", "--order", "2", "--allow", "out-of-range", "--samples", "6", "--engine", "eval",
                                *SIZES)
        if status:
            fails(name, "second derivative:\n" + out + err)
    one, two = gradients("a.vyre", name), gradients("b.vyre", name)
    worst = 0.0
    for array, values in two.items():
        if len(one.get(array, [])) != len(values) or any(isinstance(v, str) for v in one[array] + values):
            fails(name, "%s: %s and %s" % (array, one.get(array), values))
            continue
        worst = max([worst] + [abs(a - b) / (max(map(abs, values)) or 1.0) for a, b in zip(one[array], values)])
        if array == "y" and one["y"] != values:
            fails(name, "the outputs differ")
    bytes_one, bytes_two = tape("a.vyre", name), tape("b.vyre", name)
    print("%-40s %.1e, %s and %s bytes of tape" % (name, worst, bytes_one, bytes_two))
    if not worst <= 1e-12:
        fails(name, "gradients differ")
    if kept is not None and not (bytes_one == kept and bytes_two > 2 * kept):
        fails(name, "is not recognised, or has no tape otherwise")
    if kept is None and bytes_one == 0:
        fails(name, "should keep its tape")


for programs, usual in ((FORMS, 0), (REFUSED, None)):
    for form, body in programs.items():
        compare(form, body, KEPT.get(form, usual))
        if "0..6" in body:
            form += ", array"
            compare(form, body.replace("0..6", "0..C"), KEPT.get(form, usual))
sys.exit(bad)
