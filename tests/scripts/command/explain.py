#!/usr/bin/env python3
"""`explain --json` against other sources: the bytes of every workspace are those of the manifest,
the values on tapes fill their tapes, every number is the value of its formula, and the text has the
same numbers.  Of pipelines: steps are those of the manifest, and bytes what the device's workspaces
took, within 5 %.
"""
import glob
import json
import math
import os
import re
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


class Names(dict):
    """Of one evaluation: sizes, and the expressions that a manifest has under names, `$12`."""
    manifest = {}

    def __missing__(self, name):
        self[name] = eval(python(Names.manifest["$" + name[1:]]), FUNCTIONS, self)
        return self[name]


FUNCTIONS = {"isqrt": lambda a: math.isqrt(max(a, 0)), "min": min, "max": max, "__builtins__": {}}


def python(text):
    return re.sub(r"\bfrom\b", "from_", text.replace("/", "//").replace("$", "S"))


def integer(text, sizes):
    """A dimension of a manifest."""
    return eval(python(text), FUNCTIONS, Names((python(k), v) for k, v in sizes.items()))


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


def walk(steps, sizes, first=0, end=None):
    """How many dispatches, copies, fills and readbacks a manifest runs."""
    n, at = 0, first
    while at < (len(steps) if end is None else end):
        s = steps[at]
        if s["do"] == "repeat":
            after = at + 1 + s["count"]
            for i in range(integer(s["times"], sizes)):
                n += walk(steps, {**sizes, s["symbol"]: i}, at + 1, after)
            at = after
            continue
        n += s["do"] in ("dispatch", "copy", "fill", "readback")
        at += 1
    return n


def measured(path, name, options):
    """Bytes of the workspaces of forward run and gradient on the device."""
    b = json.loads(vyre("bench", path, "-p", name, "--runs", "1", "--json", *options))
    return {k: b[k]["workspace_bytes"] for k in ("forward", "gradient")}


def check_pipeline(path, pipeline, sizes, *options):
    name = " ".join([os.path.relpath(path, SRC), pipeline, *options])
    sets = [x for k, v in sizes.items() for x in ("--set", "%s=%d" % (k, v))]
    e = json.loads(vyre("explain", path, "-p", pipeline, "--json", *options, *sets))
    bytes_of = e["workspace_bytes"]
    for verb, key in (("compile", "forward"), ("grad", "gradient")):
        more = [o for o in options if verb == "grad" or o == "--deterministic"]
        vyre(verb, path, "-p", pipeline, "-o", "m.json", "--no-validate", *more)
        with open("m.json") as f:
            manifest = json.load(f)
        Names.manifest = manifest.get("expressions", {})
        os.unlink("m.json")
        said = sum(e["steps"][k][key]["value"] for k in ("dispatches", "copies", "fills", "values"))
        runs = walk(manifest["steps"], sizes)
        if said != runs:
            bad.append("%s: %d steps of the %s, but the manifest runs %d" % (name, said, key, runs))
        want = sum(b["element_size"] * math.prod(integer(str(d), sizes) for d in b["shape"])
                   for b in manifest["buffers"] if b["role"] == "workspace")
        if bytes_of[key]["value"] != want:
            bad.append("%s: %s, but the manifest of the %s has %d" % (name, bytes_of, key, want))
    for where, a in amounts(e):
        if a["value"] is None or "iterations(" in a["formula"] or a["formula"] == "?":
            continue
        if formula(a["formula"], sizes) != a["value"]:
            bad.append("%s: %s is %s" % (name, where, a))
    if options and options != ("--deterministic",):
        return
    for key, took in measured(path, pipeline, [*sets, *options]).items():
        if abs(took - bytes_of[key]["value"]) > 0.05 * max(took, 1):
            bad.append("%s: the %s took %d bytes, not %s" % (name, key, took, bytes_of[key]))


PIPELINES = os.path.join(SRC, "tests/text/explain/pipeline.vyre")
for options in ((), ("--accumulate", "atomic"), ("--deterministic",), ("--seed", "buffer"),
                ("--checkpoint", "sqrt")):
    for pipeline, sizes in (("heat", {"T": 7, "N": 999}), ("heat", {"T": 0, "N": 300}),
                            ("particles", {"T": 3, "N": 500, "P": 800}),
                            ("inner", {"N": 640, "K": 5})):
        check_pipeline(PIPELINES, pipeline, sizes, *options)
WAVE = os.path.join(SRC, "tests/text/explain/checkpoints.vyre")
for keep, trips in (("sqrt", 27), ("4", 9), ("revolve, 3", 12), ("revolve, 12", 2)):
    with open(WAVE) as f, open("wave.vyre", "w") as copy:
        copy.write(f.read().replace("t in 0..T {", "t in 0..T checkpoint(%s) {" % keep))
    check_pipeline(os.path.abspath("wave.vyre"), "wave", {"N": 100, "T": trips})
UNDO = os.path.join(SRC, "tests/text/grad/pipeline/undo.vyre")
for pipeline in ("rows", "ring", "nested", "pinned"):  # logs, and what is put back
    for options in ((), ("--checkpoint", "sqrt")):
        check_pipeline(UNDO, pipeline, {"T": 5, "N": 9, "M": 70}, *options)
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
