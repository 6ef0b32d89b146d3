#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""`inspect`: how RADV compiles kernels for AMD chips that are not there; a kernel that ends the
driver's process is an error of that kernel; files that are not SPIR-V, drivers that are missing.
"""
import json
import os
import re
import subprocess
import sys

FAILURES = []
SCALE = "program scale(x: in f32[N], y: out f32[N], a: f32, N: u32) over(i: N) { y[i] = a * x[i]; }\n"
# Buffers of navi21 have no float additions: RADV's compiler aborts on them.
SUM = "program sum(x: in f32[N], y: out f32[1], N: u32) over(i: N) { atomic_add(y[0], x[i] * x[i]); }\n"
PIPELINE = """
program one(x: in f32[N], t: out f32[N], N: u32) over(i: N) { t[i] = sin(x[i]); }
program two(t: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = t[i] * t[(i + 1) % N]; }
pipeline both(x: in f32[N], y: out f32[N], N: u32) { buffer t: f32[N]; one(x, t); two(t, y); }
"""


def run(*arguments, **how):
    return subprocess.run([os.environ["VYRE_GRAD"]] + list(arguments), capture_output=True, text=True, **how)


def expect(what, holds, *shown):
    if not holds:
        FAILURES.append(what)
        print("FAILED", what, *shown)


def write(name, data):
    with open(name, "wb" if isinstance(data, bytes) else "w") as f:
        f.write(data)
    return name


def inspect(*arguments):
    done = run("inspect", *arguments, "--json")
    return done, json.loads(done.stdout) if done.stdout else {}


def figures(kernel):
    return {s["name"]: s["value"] for s in kernel["executables"][0]["statistics"]}


def test_figures(chip):
    done, out = inspect(write("scale.vyre", SCALE), "--driver", chip)
    expect("a kernel on %s" % chip, done.returncode == 0 and "radv" in out["driver"] and
           chip.upper() in out["device"].upper(), done.stdout, done.stderr)
    expect("one kernel", [k["name"] for k in out["kernels"]] == ["scale"], out)
    f = figures(out["kernels"][0])
    expect("figures", f["VGPRs"] > 0 and f["Code size"] > 0 and f["Instructions"] > 3 and f["Latency"] > 0 and
           f["Scratch size"] == 0 and f["Spilled VGPRs"] == 0 and f["Subgroups per SIMD"] > 0, f)
    product = os.path.join(os.environ["SRC"], "examples", "matmul.vyre")
    for way, most in (("any", 24), ("gpu", 3)):
        _, out = inspect(product, "--grad", "--seed", "buffer", "--for", way, "--driver", chip)
        for kernel in out["kernels"]:
            loops = [n for n in kernel["executables"][0]["loops"] if n["multiply_adds"]]
            best = min(n["instructions"] / n["multiply_adds"] for n in loops)
            expect("loops for %s" % way, 1 <= best < most and
                   all(0 < n["memory"] < n["instructions"] for n in loops), way, loops)
    _, out = inspect("scale.vyre", "--driver", chip)
    expect("subgroups", out["kernels"][0]["executables"][0]["subgroup_size"] in (32, 64), out)


def test_text(chip):
    done = run("inspect", "scale.vyre", "--driver", chip, "--verbose")
    lines = done.stdout.splitlines()
    expect("text", done.returncode == 0 and lines[1] == "scale" and
           any(line.split()[:1] == ["VGPRs"] and "registers" in line for line in lines), done.stdout)


def test_files(chip):
    """A pipeline's kernels, the gradient's kernels, and the same from .spv with its manifest."""
    write("both.vyre", PIPELINE)
    _, out = inspect("both.vyre", "--driver", chip)
    expect("two kernels", sorted(k["name"] for k in out["kernels"]) == ["one", "two"], out)
    matmul = os.path.join(os.environ["SRC"], "examples", "matmul.vyre")
    _, direct = inspect(matmul, "--grad", "--driver", chip)
    expect("a gradient's kernels", len(direct["kernels"]) >= 2 and all("executables" in k for k in direct["kernels"]),
           direct)
    run("grad", matmul, "-o", "both.spv")
    _, written = inspect("both.spv", "--driver", chip)
    expect("the same from the file", [figures(k) for k in written["kernels"]] ==
           [figures(k) for k in direct["kernels"]], written, direct)
    name = written["kernels"][0]["name"]
    _, one = inspect("both.spv", "-p", name, "--driver", chip)
    expect("one entry point", [k["name"] for k in one["kernels"]] == [name], one)
    done, _ = inspect("both.spv", "-p", "nobody", "--driver", chip)
    expect("no such entry point", done.returncode == 1 and "E0803" in done.stderr, done.stderr)


def test_table(chip):
    tool = os.path.join(os.environ["SRC"], "tools", "inspect-table")
    done = subprocess.run([tool, "--build", os.environ["BUILD"], "--driver", chip, "--for", "any,gpu", "matmul", "ba_cost"],
                          capture_output=True, text=True)
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    count = {(r[0].strip(), r[1].strip()): 0 for r in rows}
    for r in rows:
        count[r[0].strip(), r[1].strip()] += 1
    expect("a table", done.returncode == 0 and all(len(r) == 10 for r in rows) and count ==
           {("matmul", "`--for any`"): 2, ("matmul", "`--for gpu`"): 2, ("matmul", "by hand"): 2,
            ("matmul", "by hand, for a GPU"): 4,
            ("ba_cost", "`--for any`"): 1, ("ba_cost", "`--for gpu`"): 1, ("ba_cost", "by hand"): 1}, done.stdout, done.stderr)
    done = subprocess.run([tool, "--build", os.environ["BUILD"], "--driver", "lavapipe", "matmul"], capture_output=True,
                          text=True)
    expect("a driver that says nothing", done.returncode == 1 and "does not report" in done.stderr and
           "Traceback" not in done.stderr, done.stderr)
    done = subprocess.run([tool, "heat"], capture_output=True, text=True)
    expect("a plan that is none", done.returncode == 2 and "heat: no plan" in done.stderr, done.stderr)


def test_abort():
    """navi21 lacks float additions on buffers: reported beforehand where a manifest names them, and
    survived otherwise."""
    run("compile", write("sum.vyre", SUM), "--enable", "shader_atomic_float", "-o", "sum.spv")
    done, out = inspect("sum.vyre", "--enable", "shader_atomic_float", "--driver", "navi21")
    expect("a feature is missing", done.returncode == 2 and out["kernels"][0]["error"]["code"] == "E0903" and
           "shader_atomic_float" in out["kernels"][0]["error"]["text"], done.stdout)
    # Three entry points in one module, of which the driver compiles the first and the last.
    both = write("mixed.vyre", SCALE.replace("scale", "first") + SUM + SCALE.replace("scale", "last") + """
pipeline three(x: in f32[N], y: out f32[N], z: out f32[N], s: out f32[1], a: f32, N: u32)
{ first(x, y, a=a); sum(y, s); last(y, z, a=a); }
""")
    done = run("compile", both, "-p", "three", "--enable", "shader_atomic_float", "-o", "mixed.spv")
    expect("written", done.returncode == 0, done.stderr)
    os.remove("mixed.json")
    done, out = inspect("mixed.spv", "--driver", "navi21")
    kinds = ["error" if "error" in k else "fine" for k in out["kernels"]]
    expect("an abort is one kernel's error", done.returncode == 2 and kinds == ["fine", "error", "fine"] and
           "the driver ended the process" in out["kernels"][1]["error"]["text"], done.stdout, done.stderr)


def test_refusals(chip):
    for name, data, code, status in (
            ("empty.spv", b"", "E0810", 1), ("odd.spv", b"abc", "E0810", 1), ("zeros.spv", bytes(64), "E0810", 1),
            ("cut.spv", open("both.spv", "rb").read()[:80], "E0810", 1),
            ("bare.spv", open("both.spv", "rb").read()[:20], "E0803", 1)):
        done = run("inspect", write(name, data), "--driver", chip)
        expect(name, done.returncode == status and code in done.stderr, done.stderr)
    done = run("inspect", "scale.vyre", "--driver", "nosuchchip")
    expect("an unknown chip", done.returncode == 2 and "E0903" in done.stderr, done.stderr)
    done = run("inspect", "scale.vyre", "--driver", "/no/such/driver.json")
    expect("a driver that is not there", done.returncode == 2 and "E0903" in done.stderr, done.stderr)
    kinds = set()
    for seed in range(40):  # damage after the header: refused, or harmless
        words = bytearray(open("both.spv", "rb").read())
        at = 20 + seed * 7919 % (len(words) - 20)
        words[at] ^= 1 << seed % 8
        write("damaged.spv", bytes(words))
        # RADV never finishes on some valid modules, and crashes on others: both are said.
        done = run("inspect", "damaged.spv", "--driver", chip, "--timeout", "3")
        kinds.add(done.returncode)
        expect("damage at %d" % at, done.returncode == 0 or done.returncode == 1 and "E0810" in done.stderr or
               done.returncode == 2 and re.search("does not offer|did not finish in 3 s|the driver ended the process", done.stdout), done.returncode, done.stdout, done.stderr)
    expect("damage is noticed", 1 in kinds, kinds)


def main():
    chip = "navi21"
    write("scale.vyre", SCALE)
    done = run("inspect", "scale.vyre", "--driver", chip)
    if done.returncode == 2 and "there is no RADV here" in done.stderr:
        print("no RADV: neither mesa-vulkan-drivers nor tools/drivers' Mesa 25")
        sys.exit(77)
    test_figures("navi21")
    test_figures("vega10")
    test_text(chip)
    test_files(chip)
    test_table(chip)
    os.environ["VYRE_VALIDATION"] = "0"  # the layers would report what follows
    test_abort()
    test_refusals(chip)
    sys.exit(1 if FAILURES else 0)


main()
