#!/usr/bin/env python3
"""--json: one object on stdout, of the documented form; diagnostics too."""
import json
import math
import os
import subprocess
import sys

GRAD = os.environ["VYRE_GRAD"]
bad = []


def check(what, ok, *more):
    if not ok:
        bad.append(" ".join(map(str, (what,) + more)))


def run(*args):
    done = subprocess.run([GRAD, *args], capture_output=True)
    err = done.stderr.decode("utf-8", "backslashreplace")
    try:
        return done.returncode, json.loads(done.stdout.decode("utf-8")), err
    except ValueError as why:
        bad.append("%s: %s: %r %r" % (args, why, done.stdout[:300], err[:300]))
        return done.returncode, {}, err


with open("f.vyre", "w") as f:
    f.write("program f(x: in f32[M, N], y: out f32[M, N], n: out i64[1], M: u32, N: u32)\n"
            "    over(i: M, j: N)\n{\n    y[i, j] = x[i, j] * x[i, j];\n    if i + j == 0 { n[0] = 9007199254740993; }\n}\n")
    f.write("// \u00e9\n")

# Names of files may be any bytes; JSON must be UTF-8, also for a text that was cut in the middle of a
# character.
for name in (b"\xff.vyre", b"caf\xe9.vyre", b"\xed\xa0\x80.vyre", b"\xc0\xaf.vyre", "é€😀.vyre".encode(),
             "é".encode() * 120 + b".vyre", b"x" + "é".encode() * 100 + b".vyre"):
    with open(name, "w") as f:
        f.write("no program\n")
    status, o, _ = run("info", name, "--json")
    check("a name of bytes", status == 1 and o.get("error", {}).get("code"), name, o)
    shown = o.get("error", {}).get("file", "")
    check("the name shown", shown == name.decode("utf-8", "backslashreplace"), name, shown)
    status, o, _ = run("run", "f.vyre", "--json", "--engine", "eval", "--in", b"x=@" + name)
    check("data by a name of bytes", status == 1 and o.get("error", {}).get("text"), name, o)

engines = ["eval"]
if subprocess.run([GRAD, "devices"], capture_output=True).returncode == 0:
    engines.append("vulkan")
for engine in engines:
    status, o, _ = run("run", "f.vyre", "--json", "--engine", engine, "--grad", "--set", "N=3",
                       "--in", "x=1,inf,-inf,nan,-0,0.1", "--of", "y")
    check("status", status == 0, status)
    check("keys", list(o) == ["program", "engine", "device", "outputs", "time_ms"], list(o))
    check("program", o.get("program") == "f" and o.get("engine") == engine)
    check("device", isinstance(o.get("device"), str) and o["device"])
    y, g = o["outputs"]["y"], o["outputs"]["grad_x"]
    check("order", list(o["outputs"]) == ["y", "grad_x"])
    check("y", y["type"] == "f32" and y["shape"] == [2, 3] and
          y["data"] == [1, "inf", "inf", "nan", 0, 0.010000001], y)
    check("g", g["data"] == [2, "inf", "-inf", "nan", 0, 0.2], g)
    check("-0", math.copysign(1, g["data"][4]) == -1, g)
    check("time", set(o["time_ms"]) == {"compile", "device"} and
          all(isinstance(t, (int, float)) and t >= 0 for t in o["time_ms"].values()), o["time_ms"])
    status, o, _ = run("run", "f.vyre", "--json", "--engine", engine, "--in", "x[1,1]=1", "--of", "n")
    check("i64", o["outputs"]["n"] == {"type": "i64", "shape": [1], "data": [9007199254740993]}, o)
    status, o, err = run("bench", "f.vyre", "--json", "--engine", engine, "--set", "M=8", "--set", "N=8",
                         "--of", "y", "-n", "3")
    check("bench", status == 0 and o["runs"] == 3 and o["forward"]["bytes"] == 8 * 8 * 8 + 8 and
          o["forward"]["ms"] > 0 and o["gradient"]["ms"] > 0 and o["ratio"] > 0, o, err)
    status, o, err = run("bench", "f.vyre", "--json", "--engine", engine, "--set", "M=8", "--set", "N=8",
                         "--of", "y", "-n", "3", "--jvp", "--dot", "x=const:2")
    check("bench --jvp", status == 0 and o["tangents"]["program"].endswith("_jvp") and
          o["tangents"]["ms"] > 0 and o["ratio"] > 0 and "gradient" not in o, o, err)

# diagnostics: on stderr and as an object, for every kind of mistake
for args, status, code in ((["run", "f.vyre", "--json", "--engine", "eval"], 1, "E0805"),
                           (["run", "none.vyre", "--json"], 2, "E0901"),
                           (["run", "f.vyre", "--jsn", "--json"], 1, "E0801"),
                           (["--json"], 1, "E0801"),
                           (["print", "bad.vyre", "--json"], 1, None)):
    with open("bad.vyre", "w") as f:
        f.write("program f(x: in f32[1]) over(i: 1) {\n  let a = q;\n}\n")
    got, o, err = run(*args)
    e = o.get("error", {})
    check(args, got == status and e.get("status") == status, got, o)
    check(args, code is None or e.get("code") == code, e)
    check(args, e.get("text", "?") in err and "error: " in err, err)
    if code is None:
        check(args, (e.get("file"), e.get("line"), e.get("column")) == ("bad.vyre", 2, 11), e)

status, o, _ = run("info", "f.vyre", "--json")
names = [b["name"] for b in o["programs"][0]["buffers"]]
check("info", status == 0 and names == ["x", "y", "n"], o)
if "vulkan" in engines:
    status, o, _ = run("devices", "--json")
    check("devices", status == 0 and o["devices"][0]["name"] and o["devices"][0]["features"], o)
# -o: the same object as a file
subprocess.run([GRAD, "info", "f.vyre", "-o", "info.json"], check=True)
with open("info.json") as f:
    check("info -o", [p["name"] for p in json.load(f)["programs"]] == ["f"])
print("\n".join(bad))
sys.exit(bool(bad))
