#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""Shared arrays that a domain's last workgroups fill in part: every way to store × every way to read × sizes.

The interpreter sees each read of what an invocation outside of the domain would have stored (E0715).  Plans
refuse what is certain from the program (E0806).  So what plans refuse must be an E0715, what is E0715 in a row
that depends on no data must be refused, and where both run, outputs are the same.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

COMMAND = os.path.join(os.environ["BUILD"], "tools", "vyre-grad")
LINE = "program p(x: in f32[N], y: out f32[N], N: u32) workgroup(8) over(i: N) { shared t: f32[16]; %s barrier(); var v = 0.0; %s y[i] = v; }"
PLANE = ("program p(x: in f32[N, M], y: out f32[N, M], N: u32, M: u32) workgroup(4, 4) over(i: N, j: M) "
         "{ shared t: f32[%s]; %s barrier(); var v = 0.0; %s y[i, j] = v; }")
# Places on axes that the domain has not are nobody's; loops that may take no turn read nothing for certain.
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
            # Whatever is stored at any time counts as filled: not seen is a tree over what other lanes filled first.
            yield LINE % (store, read), sure and not ("var h" in read and "t[7u" in store), {"N": n}
    for (shape, store, read), place in itertools.product(TILES, PLACES):
        text = PLANE % (shape, store + " = x[i, j];", "for k in 0u..4u { v += %s; }" % (read % place))
        for n, m in ((4, 8), (6, 4), (4, 7), (6, 7), (3, 2)):
            yield text, n >= 4 and m >= 4, {"N": n, "M": m}


def run(path, engine, sizes):
    argv = [COMMAND, "run", path, "--engine", engine, "--json", "--in", "x=iota"]
    for name, value in sizes.items():
        argv += ["--set", "%s=%d" % (name, value)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    codes = [c for c in ("E0715", "E0806") if "[%s]" % c in done.stderr or '"%s"' % c in done.stdout]
    if done.returncode == 0:
        return "ran", json.loads(done.stdout)["outputs"]["y"]["data"]
    return (codes or [done.stderr[:200] + done.stdout[:200]])[0], None


def main():
    counts, bad = {}, 0
    every = int(os.environ.get("VYRE_SHARE", "1"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vyre")
        for at, (text, sure, sizes) in enumerate(rows()):
            if at % every:
                continue
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            (here, values), (there, others) = run(path, "eval", sizes), run(path, "vulkan", sizes)
            counts[here, there] = counts.get((here, there), 0) + 1
            fine = (here, there) in (("ran", "ran"), ("E0715", "E0806")) or ((here, there) == ("E0715", "ran") and not sure)
            if not fine or (here == there == "ran" and values != others):
                bad += 1
                print("%s %s: interpreter %s %s, device %s %s" % (text, sizes, here, values, there, others))
    for (here, there), n in sorted(counts.items()):
        print("interpreter %s, device %s: %d" % (here, there, n))
    return 1 if bad or ("E0715", "E0806") not in counts or ("ran", "ran") not in counts else 0


if __name__ == "__main__":
    sys.exit(main())
