#!/usr/bin/env python3
"""`explain --json` against other sources: the bytes of every workspace are those of the manifest,
the values on tapes fill their tapes, every number is the value of its formula, and the text has the
same numbers.
"""
import glob
import json
import math
import os
import subprocess
import sys
from fractions import Fraction

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
bad = []


def vyre(*args):
    done = subprocess.run([VYRE, *args], capture_output=True, text=True)
    if done.returncode:
        bad.append("%s: %s" % (" ".join(args), done.stderr))
    return done.stdout


def integer(text, sizes):
    """A dimension of a manifest."""
    return eval(text.replace("/", "//"), {"isqrt": lambda a: math.isqrt(max(a, 0)), "min": min,
                                          "max": max, "__builtins__": {}}, dict(sizes))


def formula(text, sizes):
    """Of an amount, computed exactly."""
    names = {"isqrt": lambda a: math.isqrt(max(int(a), 0)), "min": min, "max": max,
             "floor": math.floor, "__builtins__": {}}
    return eval(text.replace("^", "**"), names, {n: Fraction(v) for n, v in sizes.items()})


def amounts(x, where=""):
    if isinstance(x, dict):
        if "formula" in x:
            yield where, x
        for key, item in x.items():
            yield from amounts(item, where + "." + key)
    elif isinstance(x, list):
        for i, item in enumerate(x):
            yield from amounts(item, "%s[%d]" % (where, i))


def check(path, *options):
    name = " ".join([os.path.relpath(path, SRC), *options])
    vyre("grad", path, "-o", "m.json", "--no-validate", *options)
    with open("m.json") as f:
        manifest = json.load(f)
    os.unlink("m.json")
    sizes, sets = {}, []
    for i, s in enumerate(manifest["scalars"]):
        if s["type"] in ("u32", "i32"):
            sizes[s["name"]] = (7, 20, 3, 4, 5)[i % 5]
            sets += ["--set", "%s=%d" % (s["name"], sizes[s["name"]])]
    e = json.loads(vyre("explain", path, "--json", *options, *sets))
    text = vyre("explain", path, *options, *sets)

    # a workspace of one step is called STEP.NAME there
    want = {b["name"].rpartition(".")[2]: b["element_size"] * math.prod(integer(str(d), sizes) for d in b["shape"])
            for b in manifest["buffers"] if b["role"] == "workspace"}
    got = {w["name"]: w["bytes"]["all"]["value"] for w in e["workspaces"]}
    if got != want:
        bad.append("%s: workspaces %s, but the manifest has %s" % (name, got, want))
    if e["workspace_bytes"]["value"] != sum(want.values()):
        bad.append("%s: %s bytes in all, not %d" % (name, e["workspace_bytes"], sum(want.values())))
    tapes = {w["name"]: 0 for w in e["workspaces"] if w["kind"] == "tape"}
    for v in e["values"]:
        tapes[v["tape"]] += v["bytes"]["all"]["value"]
        each = v["bytes"]["each"]["value"]
        if each * e["invocations"]["value"] != v["bytes"]["all"]["value"]:
            bad.append("%s: %s" % (name, v))
    if tapes != {t: want[t] for t in tapes} or sum(tapes.values()) != e["tape_bytes"]["all"]["value"]:
        bad.append("%s: values fill %s of %s" % (name, tapes, want))
    if want and " %d bytes" % sum(want.values()) not in text:
        bad.append("%s: the text does not say %d bytes:\n%s" % (name, sum(want.values()), text))
    for where, a in amounts(e):
        if a["value"] is None or "iterations(" in a["formula"] or "len(" in a["formula"]:
            continue
        if formula(a["formula"], sizes) != a["value"]:
            bad.append("%s: %s is %s, not %s" % (name, where, a, formula(a["formula"], sizes)))
    return len(want)


tested = 0
for program in sorted(glob.glob(os.path.join(SRC, "tests/text/readable/*.vyre"))):
    tested += check(program)
    check(program, "--seed", "buffer", "-O0")
check(os.path.join(SRC, "examples/gmm.vyre"))
TAPE = os.path.join(SRC, "tests/text/explain/tape.vyre")
for options in ((), ("--checkpoint", "sqrt"), ("--with-value",), ("-O1", "--seed", "buffer")):
    tested += check(TAPE, *options)
if tested < 8:
    bad.append("only %d workspaces were compared" % tested)
print("\n".join(bad))
sys.exit(bool(bad))
