#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradients of random pipelines (tests/fuzz/pipelines.py) past `vyre-grad check`: differences, dual
numbers, races, with atomics, with gathers, with sums in a fixed order; of each fifth one the second
derivative.  All that is requested has a gradient, used or not.  What passes something as flat(…) computes what it computes without, and what keeps less
for --tape-limit the same gradients, in f64 to 1e-9; so does what keeps states (-O1) in place of
values that are computed from them.  The text of a derivative (of each third one, or of a repeat with
the schedule of revolve; with --deterministic at times) has the second derivative that --order 2
makes, and so has a pipeline that dispatches it.

From a fresh seed that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number of pipelines,
VYRE_ORDER=2 the order of all.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import pipelines  # noqa: E402

COMMAND = os.environ.get("VYRE_COMMAND") or os.path.join(os.environ["BUILD"], "tools", "vyre-grad")
ENGINE = os.environ.get("VYRE_ENGINE", "eval")
ORDER = os.environ.get("VYRE_ORDER", "")  # 2: second derivatives of all
BUFFERS = sum((["--in", b + "=normal:0:1:7"] for b in "xkpw"), [])
WAYS = (("5", "3", "auto"), ("4", "2", "atomic"), ("3", "1", "gather"))


def results(path, text, values):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([COMMAND, "run", path, "-p", "f", *values, *BUFFERS, "--engine", ENGINE, "--verbose"],
                          capture_output=True, text=True, check=False)
    return done.stdout


def gradients(path, args, root="f"):
    """By name; None: refused, which a limit may do."""
    done = subprocess.run([COMMAND, "run", path, "-p", root, "--grad", *args, "--engine", "eval", "--eval-type", "f64", "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return {k: v["data"] for k, v in json.loads(done.stdout)["outputs"].items()}


def differ(x, y):
    return any(p != q and not (isinstance(p, (int, float)) and isinstance(q, (int, float)) and abs(p - q) <= 1e-9 * max(1, abs(p), abs(q)))
               for k in x for p, q in zip(x[k], y[k]))


def limited(path, args, counts):
    """A limit at which the gradient is another one; None: there is none."""
    usual = gradients(path, args)
    for limit in ("1200", "600", "300", "150") if usual else ():
        less = gradients(path, [*args, "--tape-limit", limit])
        if less is None:
            break
        counts["limited"] += 1
        if differ(usual, less):
            return limit
    return None


def kept(path, args, counts):
    """Are the gradients others if states are kept, and not what is computed from them (-O1)?"""
    values, states = gradients(path, args), gradients(path, [*args, "-O1"])
    counts["kept"] += 1
    return values is None or states is None or differ(values, states)


STATES = """program gathers(x: in f32[N], k: in f32[N], y: out f32[N], N: u32) over(i: N) {
    y[i] = sin(x[i] + 0.4 * x[u32(abs(k[i]) * 7.0) %% N] * k[i]);
}
program scatters(x: in f32[N], k: in f32[N], y: out f32[N], N: u32) over(i: N) {
    atomic_add(y[u32(abs(k[i]) * 7.0) %% N], 0.5 * sin(x[i] * k[i]));
}
program halves(x: inout f32[N], N: u32) over(i: N) { x[i] = x[i] * (1.0 - 0.1 * x[i]); }
pipeline f(k: in f32[N], w: inout f32[N], l: out f32[1], T: u32, N: u32) {
%s    repeat t in 0..%s checkpoint(revolve, %d) {
        buffer h: f32[N];
%s    }
    sum(w, l);
}
program sum(x: in f32[N], l: out f32[1], N: u32) over(i: N) { atomic_add(l[0], x[i] * x[i]); }
program counts(k: in f32[N], n: inout u32[1], N: u32) over(i: N) { atomic_max(n[0], u32(abs(k[i]) * 5.0)); }
"""


def states(seed):
    """A repeat with the schedule of revolve: what happens before it, how often, and in an iteration, is random."""
    r = random.Random(seed)
    steps = [["gathers(w, k, h);", "gathers(h, k, w);"], ["gathers(w, k, h);", "scatters(h, k, w);"], ["halves(w);"]]
    inside = [line for _ in range(r.randint(1, 2)) for line in r.choice(steps)]
    before = "    halves(w);\n" * r.randint(0, 1)
    count = r.choice(("T", "T", "5", "value(n[0])"))
    if "n" in count:
        before += "    buffer n: u32[1];\n    counts(k, n);\n"
    return STATES % (before, count, r.randint(1, 5), "".join("        %s\n" % line for line in inside))


def outer(text):
    """A pipeline that dispatches the last one of the text."""
    head = re.findall(r"pipeline (\w+)\((.*?)\)\s*\{", text, re.S)[-1]
    names = [(name, kind != "") for name, kind in re.findall(r"(\w+): (?:(in|out|inout) )?\w", head[1])]
    args = [n for n, buffer in names if buffer] + ["%s=%s" % (n, n) for n, buffer in names if not buffer]
    return "pipeline dispatches(%s) {\n    repeat once in 0..1 { %s(%s); }\n}\n" % (head[1], head[0], ", ".join(args))


def again(path, seed, values, counts):
    """How the second derivatives of a derivative's text, and of what dispatches it, are others; None: they are not."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    keeps = ["--checkpoint", "sqrt"] if seed % 4 == 1 else []
    if seed % 2:
        values = [*values[:2], "--set", "T=" + str(2 + seed % 4)]
    buffers = ["--in", "k=normal:0:1:7", "--in", "w=normal:0:1:7"] if seed % 2 else BUFFERS
    with open(path, "w", encoding="utf-8") as f:
        f.write(states(seed) if seed % 2 else text.replace("(revolve, 2)", "(revolve, %d)" % (2 + seed % 3)))
    of = ["--of", "l", "--wrt", "w", "--accumulate", "atomic"]
    ordered = ["--deterministic"] if seed % 5 < 2 else []
    done = subprocess.run([COMMAND, "grad", path, "-p", "f", *of, *keeps, *ordered], capture_output=True, text=True, check=False)
    if done.returncode:
        return None if "[E050" in done.stderr else done.stderr[-2000:]
    once = gradients(path, [*values, *buffers, *of, *keeps, "--order", "2"])
    with open(path, "w", encoding="utf-8") as f:
        f.write(done.stdout + outer(done.stdout))
    if not once or not re.search(r"grad2_w", str(list(once))):
        return None
    counts["again"] += 1
    counts["stand-ins"] += "derive_as(" in done.stdout
    how = [*values, *buffers, "--of", "grad_w", "--accumulate", "atomic", *keeps]
    for root in (re.findall(r"pipeline (\w+)\(", done.stdout)[-1], "dispatches"):
        texts = gradients(path, how, root)
        if not texts or differ({k: v for k, v in once.items() if k.startswith("grad2")}, texts):
            return "the gradient of %s (%s) is not --order 2" % (root, " ".join(how + ordered))
    return None


def check(path, seed, counts):
    text, plain = pipelines.make(seed), pipelines.make(seed, flat=False)
    signature = re.search(r"^pipeline f\(([^)]*)\)", text, re.M).group(1)
    wrt = re.findall(r"(\w+): (?:in|inout) f32", signature) + ["sc"]
    n, t, way = WAYS[seed % len(WAYS)]
    order = "2" if ORDER == "2" or not seed % 5 else "1"
    values = ["--set", "N=" + n, "--set", "T=" + t, "--set", "sc=0.6"]
    if text != plain and results(path, plain, values) != results(path, text, values):
        return "flat(…) changes the results"
    counts["flat"] += text != plain
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    if re.search(r"(around|beside)\(.*;", text) and kept(path, [*values[:2], "--set", "T=4", *values[4:], *BUFFERS], counts):
        return "with values kept in place of states the gradients are others"
    limit = seed % 4 == 0 and limited(path, [*values[:2], "--set", "T=9", *values[4:], *BUFFERS, "--accumulate", way], counts)
    if limit:
        return "--tape-limit %s changes the gradients" % limit
    wrong = seed % 3 == 1 and again(path, seed, values, counts)
    if wrong:
        return wrong
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    ordered = ["--deterministic"] if not seed % 7 and order == "1" else []
    done = subprocess.run([COMMAND, "check", path, "-p", "f", *values, "--accumulate", way, "--order", order, *ordered,
                           "--wrt", ",".join(wrt), "--engine", ENGINE], capture_output=True, text=True, check=False)
    if re.search(r"^ok: ", done.stdout, re.M) and done.returncode == 0:
        absent = [w for w in wrt if not re.search(r"^grad2?_%s " % w, done.stdout, re.M)]
        if absent:  # what no step takes has a gradient too: zero
            return "no gradient of " + ", ".join(absent)
        counts["right"] += 1
        return None
    if "[E0502]" in done.stderr or ordered and "[E0506]" in done.stderr:
        counts["refused"] += 1
        return None
    if "[E0720]" in done.stderr or "overlap" in done.stderr:  # the generator's own: slices that meet
        counts["overlapping"] += 1
        return None
    return (done.stdout + done.stderr)[-2000:]


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or 120 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d" % (seed, count))
    counts, bad = {"right": 0, "refused": 0, "overlapping": 0, "flat": 0, "kept": 0, "limited": 0, "again": 0, "stand-ins": 0}, 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(seed, seed + count):
            why = check(os.path.join(folder, "p.vyre"), k, counts)
            if why:
                print("python3 tests/fuzz/pipelines.py %d\n%s" % (k, why))
                bad += 1
    print(counts)
    return 1 if bad or counts["right"] < count * 0.6 else 0


if __name__ == "__main__":
    sys.exit(main())
