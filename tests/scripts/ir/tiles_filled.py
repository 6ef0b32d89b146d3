#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
# DEVICE
"""Shared arrays that a domain's last workgroups fill only partly: every way to store × every way to
read × sizes.

The interpreter detects each read of what an invocation outside of the domain would have stored
(E0715).  Plans refuse what is certain from the program (E0806).  So what plans refuse must be an
E0715, what is E0715 in a row that does not depend on data must be refused, and where both run,
outputs are the same.  What a device reads there may differ from run to run (E0813).

Then random ones (tests/fuzz/tiles.py) against a model of their own: from a fresh seed that is
printed; VYRE_SEED sets the seed, VYRE_COUNT the number.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import harness  # noqa: E402
import tiles  # noqa: E402

COMMAND = os.path.join(os.environ["BUILD"], "tools", "vyre-grad")
CODES = ("E0715", "E0806", "E0813")
LINE = "program p(x: in f32[N], y: out f32[N], N: u32) workgroup(8) over(i: N) { shared t: f32[16]; %s barrier(); var v = 0.0; %s y[i] = v; }"
PLANE = ("program p(x: in f32[N, M], y: out f32[N, M], N: u32, M: u32) workgroup(4, 4) over(i: N, j: M) "
         "{ shared t: f32[%s]; %s barrier(); var v = 0.0; %s y[i, j] = v; }")
# Indices on axes that the domain does not have belong to no invocation; loops that may run no
# iteration do not certainly read anything.  None: what is read is used only under a condition, so no
# plan may refuse it.
OTHERS = [
    ("program p(x: in f32[N], y: out f32[N], N: u32) workgroup(8, 4) over(i: N) { shared t: f32[16]; t[lid.x] = x[i]; barrier(); "
     "y[i] = t[lid.x + lid.y]; }", True),
    ("program p(x: in f32[N], y: out f32[N], N: u32) workgroup(8, 4) over(i: N) { shared t: f32[16]; t[lindex] = x[i]; barrier(); "
     "y[i] = t[7u - lid.x]; }", True),
    ("program p(x: in f32[16], y: out f32[16], N: u32) workgroup(8) over(i: N - 9) { shared t: f32[8]; t[lid.x] = x[i]; barrier(); "
     "y[i] = t[7u - lid.x]; }", True),
    (LINE % ("t[lindex] = x[i];", "for k in 0u..(8u - lindex) / 8u * (N - i) / N { v += t[(lindex + 7u) % 8u]; }"), False),
    (LINE % ("t[lindex] = x[i];", "let u = t[7u - lindex]; for k in 0u..u32(x[i]) / 100u { v += u; }"), False),
    (LINE % ("t[lindex] = x[i];", "for k in 0u..N { v += t[7u - lindex]; }"), True),
    (LINE % ("t[lindex] = x[i];", "let u = t[7u - lindex]; if x[i] > 99.0 { v = u; }"), None),
    (LINE % ("t[lindex] = x[i];", "let u = t[7u - lindex]; v = select(x[i] > 99.0, u, 1.0);"), None),
    (LINE % ("t[lindex] = x[i];", "let u = t[7u - lindex]; if x[i] > 99.0 { for k in 0u..u32(x[i]) { v = v * 1.5 + 1.0; } v += u; }"), None),
    ("program p(x: in f32[N], y: out f32[N], z: out f32[N], N: u32) workgroup(8) over(i: N) { shared t: f32[8]; t[lid.x] = x[i]; barrier(); "
     "let u = t[7u - lid.x]; if x[i] > 99.0 { z[i] = u; } y[i] = x[i]; }", None),
    (LINE % ("t[lindex] = x[i];", "let u = t[7u - lindex]; var k = 0u; while f32(k) + 99.0 < x[i] { v = u; k += 1u; }"), None),
    (LINE % ("t[lindex] = x[i];", "v = t[7u - lindex]; for k in 0u..u32(x[i]) / 4u { v += 1.0; }"), True),
    (LINE % ("t[lindex] = x[i];", "v = t[7u - lindex]; if x[i] > 3.0 { v = v + 1.0; } else { v = v * 2.0; }"), True),
    # What a0 depends on is known only after 24 iterations of the analysis.
    (LINE % ("t[lindex] = x[i];", "let u = t[7u - lindex]; " + "".join("var a%d = u; " % k for k in range(24)) + "for k in 0u..N { " +
             "".join("a%d = a%d; " % (k, k + 1) for k in range(23)) + "a23 = 0.0; } v = u + a0;"), True),
]
STORES = [
    "t[lindex] = x[i];", "t[7u - lindex] = x[i];", "t[i % 8u] = x[i];", "t[gid.x & 7u] = x[i];", "t[lindex ^ 1u] = x[i];",
    "t[lid.x * 2u] = x[i]; t[lid.x * 2u + 1u] = x[i] * 2.0;", "for k in 0u..2u { t[k * 8u + lindex] = x[i]; }",
    "if x[i] > 0.0 { t[lindex] = x[i]; } else { t[lindex] = 1.0 - x[i]; }",
    "if lindex < 4u { t[lindex] = x[i]; t[lindex + 4u] = 2.0; }", "if lindex == 0u { for k in 0u..8u { t[k] = x[i]; } }",
    "t[lindex] = select(i < N, x[i], 0.0);", "var q = lindex; while q < 16u { t[q] = x[i]; q += 8u; }",
]
READS = [  # (what, whether nothing in it depends on data or sizes)
    ("v = t[lindex];", True), ("v = t[7u - lindex];", True), ("for k in 0u..8u { v += t[k]; }", True), ("v = t[(lindex + 1u) % 8u];", True),
    ("v = t[0];", True), ("v = t[lindex ^ 1u] * 2.0;", True), ("v = t[lindex ^ 4u];", True),
    ("var h = 4u; while h > 0u { if lindex < h { t[lindex] = t[lindex] + t[lindex + h]; } barrier(); h = h / 2u; } v = t[0];", True),
    ("if lindex < 7u { v = t[lindex + 1u]; }", True), ("for k in rev(lindex..8u) { v = v * 0.5 + t[k]; }", True),
    ("if i + 1u < N && lindex < 7u { v = t[lindex + 1u]; }", False),
    ("let u = t[(lindex + 1u) % 8u]; if i + 1u < N { v = u; }", False), ("v = select(i + 1u < N, t[(lindex + 1u) % 8u], 0.0);", False),
    ("for k in 0u..min(8u, N - wid.x * 8u) { v += t[k]; }", False), ("v = t[u32(x[i]) % 8u];", False),
    ("for k in lindex..8u step 2u { v += t[k]; }", True), ("for k in lindex..8u { v += t[k]; if x[i] > -1.0 { break; } }", False),
    ("var k = lindex; while t[k] > 2.0 && k < 7u { k += 1u; } v = t[k];", False),
]
TILES = [("4, 4", "t[lid.y, lid.x]", "t[%s, %s]"), ("16", "t[lid.y * 4u + lid.x]", "t[%s * 4u + %s]"), ("16", "t[lindex]", "t[%s * 4u + %s]"),
         ("4, 4", "t[i %% 4u, j %% 4u]".replace("%%", "%"), "t[%s, %s]")]
PLACES = [("lid.y", "lid.x"), ("lid.x", "lid.y"), ("lid.y", "k"), ("k", "lid.x"), ("3u - lid.y", "lid.x"), ("k", "k")]


def rows():
    for (text, sure), n in itertools.product(OTHERS, (3, 8, 10, 12, 15, 17)):
        yield text, sure, {"N": n}
    for store, (read, sure) in itertools.product(STORES, READS):
        for n in (3, 8, 10, 15):
            # Whatever is stored at any time counts as filled: a tree over elements that other lanes
            # filled first is not detected.
            yield LINE % (store, read), sure and not ("var h" in read and "t[7u" in store), {"N": n}
    for (shape, store, read), place in itertools.product(TILES, PLACES):
        text = PLANE % (shape, store + " = x[i, j];", "for k in 0u..4u { v += %s; }" % (read % place))
        for n, m in ((4, 8), (6, 4), (4, 7), (6, 7), (3, 2)):
            yield text, n >= 4 and m >= 4, {"N": n, "M": m}


def values_of(outputs):
    values = outputs["y"]["data"]
    return [v for row in values for v in row] if isinstance(values[0], list) else values


def by_command(path, argv):
    done = subprocess.run([COMMAND, "run", path, "--json", *argv], capture_output=True, text=True, check=False)
    codes = [c for c in CODES if "[%s]" % c in done.stderr or '"%s"' % c in done.stdout]
    if done.returncode == 0:
        return "ran", values_of(json.loads(done.stdout)["outputs"])
    return (codes or [done.stderr[:200] + done.stdout[:200]])[0], None


class Engines:
    """The C API (tests/session_run.c), which opens the device once; every eighth question goes to the command."""

    def __init__(self, folder):
        self.path, self.asked = os.path.join(folder, "p.vyre"), 0
        self.session = harness.Harness([os.path.join(os.environ["BUILD"], "tests", "session_run")], folder)

    def run(self, text, sizes, *options):
        """("ran", values of y), or (code of the error, None)."""
        argv = ["--in", "x=iota", *options]
        for name, value in sizes.items():
            argv += ["--set", "%s=%d" % (name, value)]
        self.asked += 1
        if self.asked % 8 == 0:
            write(self.path, text)
            return by_command(self.path, argv)
        line, trouble = self.session.ask("p", "\n".join(argv) + "\n\n" + text)
        if trouble:
            return trouble, None
        answer = json.loads(line)
        if "error" in answer:
            code = answer["error"]["code"]
            return code if code in CODES else line[:200], None
        return "ran", values_of(answer["outputs"])


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def try_table(engines, counts):
    """How many rows are wrong."""
    bad, every = 0, int(os.environ["VYRE_SHARE"])
    first = int(os.environ["VYRE_FRESH_SEED"])
    for text, sure, sizes in rows():
        if (zlib.crc32((text + str(sizes)).encode()) + first) % every:
            continue
        (here, values), (there, others) = (engines.run(text, sizes, "--engine", e) for e in ("eval", "vulkan"))
        counts[here, there] = counts.get((here, there), 0) + 1
        unsure = (("E0715", "ran"), ("E0715", "E0813"))
        fine = (here, there) in {True: (("ran", "ran"), ("E0715", "E0806")), None: (("ran", "ran"), *unsure),
                                 False: (("ran", "ran"), ("E0715", "E0806"), *unsure)}[sure]
        if not fine or (here == there == "ran" and values != others):
            bad += 1
            print("%s %s: interpreter %s %s, device %s %s" % (text, sizes, here, values, there, others))
    return bad


def try_random(engines, counts, seed, count):
    """How many launches disagree with the model."""
    bad = 0
    for at in range(seed, seed + count):
        program = tiles.make(at)
        for sizes, outputs, sure in program.launches:
            right = {"eval": [("ran" if outputs else "E0715", outputs)], "vulkan": [("ran", outputs) if outputs else ("E0806", None)]}
            for engine, level in (("eval", "-O0"), ("eval", "-O2"), ("vulkan", "-O2")):
                got = engines.run(program.text, sizes, "--engine", engine, level)
                unseen = engine == "vulkan" and not outputs and not sure and got[0] in ("ran", "E0813")
                name = "random: model %s" % right["eval"][0][0], "%s %s %s" % (engine, level, got[0].splitlines()[0][-7:])
                counts[name] = counts.get(name, 0) + 1
                if got not in right[engine] and not unseen:
                    bad += 1
                    print("VYRE_SEED=%d: %s %s: %s %s %s, the model: %s" % (at, program.text, sizes, engine, level, got, outputs))
    return bad


def main():
    counts = {}
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or 80 // int(os.environ["VYRE_SHARE"]))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k tiles_filled" % (seed, count))
    with tempfile.TemporaryDirectory() as folder:
        engines = Engines(folder)
        bad = try_table(engines, counts) + try_random(engines, counts, seed, count)
        status, trouble = engines.session.close()
        if status or trouble:
            bad += 1
            print("session_run ended with status %d: %s" % (status, trouble))
    for (here, there), n in sorted(counts.items()):
        print("%s, %s: %d" % (here, there, n))
    return 1 if bad or ("E0715", "E0806") not in counts or ("ran", "ran") not in counts else 0


if __name__ == "__main__":
    sys.exit(main())
