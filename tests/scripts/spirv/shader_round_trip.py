#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# TIMEOUT: 400
"""Random programs become SPIR-V, which is read back as a shader (spirv/read): run by the interpreter it
gives what the program gives on the device, also after spirv-opt -O, and has the program's gradients; and
damaged modules are refused without harm.  From a fresh seed; VYRE_SEED and VYRE_COUNT set it and how many programs there are.
"""
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import types

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import programs  # noqa: E402
from engines import Command  # noqa: E402

COUNT = int(os.environ.get("VYRE_COUNT") or max(8, 48 // int(os.environ.get("VYRE_SHARE", "1"))))
SEED = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED", 20261126)) % 10**6
LEFT = {}  # why programs were left out: how many
DOMAINS = [0]  # modules that had one
SCALAR = re.compile(r"(`[^`]+`|\w+): (?:u32|i32|u64|i64|f16|f32|f64|bool)\b(?!\[)")


# What a module does not say: derivatives that are not those of the value (of stop_grad the value's are compared).
LOST = re.compile(r"straight_through|@vjp|@jvp")
# At the zero vector these have derivative 0, and the root that the module has of them has none.
ROOTS = re.compile(r"\b(length|distance|normalize)\(")
COMPARED = [0]  # gradients
WORDS = "floats that are added by compare and exchange, as words"


def vyre(*args, timeout=120):
    done = subprocess.run([VYRE, *args], capture_output=True, text=True, errors="replace", timeout=timeout)
    if done.returncode < 0 or done.returncode >= 99 or "internal" in done.stderr:
        sys.exit("vyre-grad %s: status %d\n%s" % (" ".join(args), done.returncode, done.stderr))
    return done


LANES = (re.findall(r"subgroups of (\d+)", vyre("devices").stdout) or ["32"])[0]


def leave(why):
    LEFT[why] = LEFT.get(why, 0) + 1


def head(text):
    """The parameters of the printed program."""
    return text.partition("program ")[2].partition("{")[0]


def elements(dims, sets, constants):
    n = 1
    for dim in dims.split(", "):
        if dim == "?":
            dim = "5"
        text = re.sub(r"(\d)u\b", r"\1", dim).replace("/", "//")
        n *= int(eval(text, {"__builtins__": {}, "min": min, "max": max}, {**constants, **sets}))
    return n


def shader_arguments(p, text, read, argv, sets, groups):
    """The arguments of the program as those of the shader, whose buffers have no shapes."""
    constants = {n: int(v) for n, v in re.findall(r"const (\w+): u32 = (\d+)", text)}
    buffers = [(name, cls, t.replace("@F", "f32").replace("@G", p.second), dims) for name, cls, t, dims in p.buffers()]
    constants["num_groups"] = types.SimpleNamespace(**dict(zip("xyz", groups or (1, 1, 1))))
    given, out = dict(a.split("=", 1) for a in argv[1::2] if "=" in a), []
    shapes = {name: dims.split(", ") for name, _, _, dims in buffers}
    values = {**{n: str(v) for n, v in sets.items()}, **{n: v for n, v in given.items()}}
    for s in {s.strip("`") for s in SCALAR.findall(head(read))}:
        extent = re.match(r"_([\w.]+)_(\d)$", s)
        if s in values:
            out += ["--set", "%s=%s" % (s, values[s])]
        elif s.startswith("_group_base"):
            out += ["--set", s + "=0"]
        elif s.startswith("len_"):  # of a buffer, which the data tells
            continue
        elif extent and extent.group(1) in shapes:  # for range guards
            dim = shapes[extent.group(1)][int(extent.group(2))]
            out += ["--set", "%s=%d" % (s, elements(dim, sets, constants))]
        else:
            return None
    for name, cls, t, dims in buffers:
        now = re.search(r"(?<![\w.])%s`?: (in|inout|out) (\w+)\[" % re.escape(name), head(read))
        if not now:
            continue
        if now.group(2) != t:
            return WORDS
        n = elements(dims, sets, constants)
        spec = next((v for k, v in given.items() if k.partition("[")[0] == name), "zeros")
        if now.group(1) != "out" and (spec[0].isdigit() or spec[0] == "-"):
            out += ["--in", "%s=%s" % (name, spec)]
        else:
            out += ["--in", "%s[%d]=%s" % (name, n, "zeros" if "out" in (cls, now.group(1)) else spec)]
    return out


def shaped(args, read):
    """The arguments over the domain, where buffers have the shapes that were found of their flat indices."""
    sets = {n: int(v) for n, _, v in (a.partition("=") for a in args[1::2]) if re.fullmatch(r"-?\d+", v)}
    out = list(args)
    for k, given in enumerate(args):
        name, _, spec = given.partition("[")
        now = re.search(r"(?<![\w.])%s`?: \w+ \w+\[([^\]]*, [^\]]*)\]" % re.escape(name), head(read))
        if args[k - 1] == "--in" and spec and now and "?" not in now.group(1):
            dims = [str(elements(d, sets, {})) for d in now.group(1).split(", ")]
            out[k] = "%s[%s]%s" % (name, ",".join(dims), spec.partition("]")[2])
    return out


def workgroups(text, read):
    """Along axes of an extent that is known when the program is compiled as many as the domain has: nothing is left
    out there.  Along others more: the program leaves out what is beyond the domain."""
    over = re.search(r"over\(([^)]*(?:\([^)]*\)[^)]*)*)\)", text.partition("\nprogram p(")[2]).group(1)
    extents = [e.partition(":")[2].strip() for e in re.split(r", (?=\w+: )", over)]
    if len(extents) > 3:
        return None
    constants = {n: int(v) for n, v in re.findall(r"const (\w+): u32 = (\d+)", text)}
    sizes = [int(n) for n in re.search(r"workgroup\(([^)]*)\)", read).group(1).split(", ")] + [1, 1]
    groups = ["16", "8", "8"][:len(extents)] + ["1"] * (3 - len(extents))
    for k, extent in enumerate(reversed(extents)):
        if all(name in constants for name in re.findall(r"\b[A-Za-z_]\w*", re.sub(r"(\d)u\b", r"\1", extent))):
            groups[k] = str(-(-elements(extent, {}, constants) // sizes[k]))
    return groups


def number(v):
    return float(v) if not isinstance(v, bool) else float(int(v))


def equal(a, b, scale):
    a, b = number(a), number(b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):  # any difference from it is within a share of it
        return a == b
    return a == b or abs(a - b) <= 2e-5 * max(scale, abs(a), abs(b))


def differ(want, got, whose="on the device", roots=False):
    """roots: what is NaN as read may be a number of the program."""
    for name, o in want.items():
        if name not in got:
            continue
        finite = [abs(number(v)) for v in o["data"] if math.isfinite(number(v))]
        scale = max(finite, default=0)
        for k, (a, b) in enumerate(zip(o["data"], got[name]["data"])):
            if not equal(a, b, scale) and not (roots and math.isnan(number(b))):
                return "%s[%d]: %r %s, %r as read" % (name, k, a, whose, b)
    return None


def results_of_both(p, read):
    """The float outputs that the module writes, too: a store that is never in range is none there."""
    floats = [(name, cls) for name, cls, t, _ in p.buffers() if t in ("@F", "@G", "f16", "f32", "f64")]
    return [name for name, cls in floats if cls != "in" and re.search(
        r"(?<![\w.])%s`?: (out|inout) " % re.escape(name), head(read))]


def gradients_differ(text, of, argv, given):
    """Of the program and of its module: the same numbers, by every name that both have.  In f64, so that both take the
    same path and rounding explains nothing."""
    if LOST.search(text) or not of:
        return None
    of = ["--of", ",".join(of)]
    with open("g.vyre", "w", encoding="utf-8") as f:
        f.write(text.replace("stop_grad(", "("))
    both = [vyre("run", *words, "--grad", "--json", "--engine", "eval", "--eval-type", "f64", "--subgroup-size", LANES, *of)
            for words in (("g.vyre", *argv), ("p.spv", *given))]
    if both[0].returncode or "atomic_cas" in both[1].stderr:  # extrema of floats are made of that
        return None
    if both[1].returncode:
        return "its gradient is refused, not that of the program: %s" % both[1].stderr
    want, got = [{n: o for n, o in json.loads(b.stdout)["outputs"].items() if n.startswith("grad_")} for b in both]
    COMPARED[0] += any(n in got for n in want)
    return differ(want, got, "of the program", bool(ROOTS.search(text)))


def damaged(words, r):
    """The module with some words changed, dropped or exchanged."""
    w = bytearray(words)
    for _ in range(r.choice((1, 1, 2, 5))):
        at = 4 * r.randrange(len(w) // 4)
        kind = r.randrange(4)
        if kind == 0:
            w[at + r.randrange(4)] ^= 1 << r.randrange(8)
        elif kind == 1:
            w[at:at + 4] = r.choice((0, 1, 2, 0xffffffff, r.randrange(200))).to_bytes(4, "little")
        elif kind == 2:
            del w[at:at + 4]
        else:
            other = 4 * r.randrange(len(w) // 4)
            w[at:at + 4], w[other:other + 4] = w[other:other + 4], w[at:at + 4]
    return bytes(w)


def one(seed, engines):
    """What is wrong; None: nothing."""
    p = programs.make(seed)
    if any(t in ("uses lane", "uses subgroup_size") for t in p.traits):
        return leave("lanes, which the device numbers")
    text = p.text()
    with open("p.vyre", "w", encoding="utf-8") as f:
        f.write(text)
    sets, groups = engines.launch(p, 0)
    argv = engines.arguments(p, 0)
    argv = [a for k, a in enumerate(argv) if not ({argv[k - 1], a} & {"--of", "--wrt", "--ct"})]
    want = vyre("run", "p.vyre", "--precise", "--json", "--engine", "vulkan", *argv)
    atomics = ["--enable", "shader_atomic_float,shader_atomic_float_shared"] if seed % 3 else []  # else as words
    if want.returncode or vyre("compile", "p.vyre", "--precise", "--for", "other", "-o", "p.spv", *atomics).returncode:
        return leave("does not run alone")
    optimised = shutil.which("spirv-opt") and not subprocess.run(
        ["spirv-opt", "-O", "p.spv", "-o", "o.spv"], capture_output=True).returncode
    for module in ("p.spv", "o.spv") if optimised else ("p.spv",):
        read = vyre("print", module)
        if read.returncode:
            code = re.search(r"\[(E\d+)\]", read.stderr)
            if code and code.group(1) in ("E0121", "E0302"):
                return leave(read.stderr.partition("error: ")[2].partition(" (")[0][:60])
            return "%s is not read: %s" % (module, read.stderr)
        args = shader_arguments(p, text, read.stdout, argv, sets, groups)
        if args == WORDS or args is None:
            return leave(args or "parameters that only the manifest explains")
        size = [str(g) for g in groups] if groups else workgroups(text, read.stdout)
        if not size:
            return leave("domains of more than three variables")
        launches = [["--groups", ",".join(size)]]
        if " over(" in read.stdout:  # the domain that its guards tell of
            launches.append([])
            DOMAINS[0] += 1
        for launch in launches:
            given = args if launch else shaped(args, read.stdout)
            got = vyre("run", module, "--json", "--engine", "eval", "--subgroup-size", LANES, *launch, *given)
            if got.returncode:
                return "%s does not run: %s" % (module, got.stderr)
            outputs = json.loads(got.stdout)["outputs"]
            for name in [name for name, cls, _, _ in p.buffers() if cls == "inout"]:  # only written, it is cleared
                if re.search(r"(?<![\w.])%s`?: out " % re.escape(name), head(read.stdout)):  # docs/language.md 17
                    outputs.pop(name, None)
            trouble = differ(json.loads(want.stdout)["outputs"], outputs)
            if module == "p.spv" and not trouble:
                trouble = gradients_differ(text, results_of_both(p, read.stdout), argv, [*launch, *given])
            if trouble:
                return "%s %s: %s" % (module, " ".join(launch) or "over its domain", trouble)
    r = random.Random(seed)
    with open("p.spv", "rb") as f:
        words = f.read()
    for _ in range(6):
        with open("bad.spv", "wb") as f:
            f.write(damaged(words, r))
        vyre("print", "bad.spv")
    return None


def main():
    engines = Command.__new__(Command)  # for its arguments alone
    wrong = []
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k shader_round_trip" % (SEED, COUNT))
    for seed in range(SEED, SEED + COUNT):
        trouble = one(seed, engines)
        if trouble:
            wrong.append("seed %d: %s" % (seed, trouble))
            print(wrong[-1])
    for why, n in sorted(LEFT.items()):
        print("%d of %d left out: %s" % (n, COUNT, why))
    print("%d domains were found, %d gradients compared" % (DOMAINS[0], COMPARED[0]))
    if not wrong and sum(LEFT.values()) > COUNT * 7 // 8:
        wrong.append("too few programs were compared")
        print(wrong[-1])
    sys.exit(bool(wrong))


main()
