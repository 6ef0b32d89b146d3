# SPDX-License-Identifier: MIT
"""Is a module that we write bound as the shader that it is made from?  For tools/corpus.

The same host runs both: the same descriptor sets, buffers with all their padding, push constants, workgroups.  Every
byte that is no result must be as the original leaves it, results within the original's own tolerance.  Of the gradient,
every byte of the host's, and what is in the set that is added as the interpreter has it.
"""
import glob
import json
import math
import os
import re
import struct
import sys


def module_of(shader, folder, *options):
    """(module, manifest) of the program as a host of the shader binds it; None: it does not compile."""
    where = os.path.join(shader.dir, folder)
    os.makedirs(where, exist_ok=True)
    if shader.command(folder, "compile", *options, "-o", where) is None:
        return None
    with open(glob.glob(os.path.join(where, "*.json"))[0], encoding="utf-8") as f:
        manifest = json.load(f)
    return glob.glob(os.path.join(where, "*.spv"))[0], manifest


def difference(shader, left, right):
    """The first byte that only one of the two leaves so, or result that is too far off; "": none."""
    rest = {where: bytearray(data) for where, data in left.items()}
    other = {where: bytearray(data) for where, data in right.items()}
    for name, (v, part) in shader.outputs.items():
        where, size = v[:3], struct.calcsize("<" + part.code)
        a, b = ([struct.unpack_from("<" + part.code, side[where], at)[0] for _, at in part.places]
                for side in (left, right))
        scale = max([abs(x) for x in a if abs(x) < float("inf")], default=0)
        for k, (x, y) in enumerate(zip(a, b)):
            if not (x == y or (x != x and y != y) or abs(x - y) <= 1e-3 * abs(x) + 1e-5 * scale):
                return "%s[%d]: %r, bound as it %r" % (name, k, x, y)
        for _, at in part.places:
            rest[where][at:at + size] = other[where][at:at + size] = bytes(size)
    return "".join("set %d binding %d" % where[1:] for where in rest if rest[where] != other[where])


def judge(shader, left):
    """found["bound"]: our module in the original's place leaves what the original does."""
    made = module_of(shader, "bound", "--keep-domain")
    if not made:
        return
    module, manifest = made
    kernel = manifest["kernels"][0]
    if "constants" not in kernel:
        shader.why["bound"] = "its places cannot be kept"
        return
    if kernel["params"]["bytes"]:
        shader.why["bound"] = "takes more: %s" % kernel["params"]["fields"][0]["value"][:30]
        return
    right = shader.launch(module, kernel["entry"])
    if right is None:
        shader.why["bound"] = "does not run: %s" % shader.why.pop("original")
        return
    found = difference(shader, left, right)
    chance = shader.chance() if found else ""
    if chance:
        shader.why["bound"] = "the original " + chance
        return
    shader.found["bound"] = not found
    if found:
        shader.why["bound"] = "DIFFERS"
        shader.found["bound_difference"] = found


# ----------------------------------------------------------------------------------------------- gradients
def sizes(shader):
    """(scalars, lengths) of the derivative's manifest, by the arguments of the shader's program."""
    scalars, lengths, words = {}, {}, shader.shaped() + shader.domain_arguments()
    for kind, text in zip(words[::2], words[1::2]):
        name, _, value = text.partition("=")
        if kind == "--set" and re.fullmatch(r"-?\d+", value):
            scalars[name] = int(value)
        elif kind == "--in":
            name, _, dims = name.rstrip("]").partition("[")
            lengths.update((made + name, int(dims.split(",")[0])) for made in ("", "grad_", "grad2_", "ct_"))
    return scalars, lengths


def launch(shader, manifest_path):
    """What the derivative leaves where the shader's host binds it; None: it does not run."""
    out = os.path.join(shader.dir, "gradient")
    os.makedirs(out, exist_ok=True)
    scalars, lengths = sizes(shader)
    job, _ = shader.job(manifest_path[:-4] + "spv", "")
    job.update(manifest=manifest_path, scalars=scalars, lengths=lengths, out=out)
    path = os.path.join(shader.dir, "plan.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    here = os.path.dirname(os.path.abspath(__file__))
    status, error = shader.run_script([sys.executable, "-S", os.path.join(here, "raw_plan.py"), path])
    if status != 0:
        shader.why["placed"] = "does not run: %s" % (error.strip()[-60:] or status)
        return None
    return out


def gradient_difference(shader, out, outputs):
    for (kind, number, binding), data in shader.data.items():
        if kind not in ("uniform", "storage"):
            continue
        with open(os.path.join(out, "host%d_%d" % (number, binding)), "rb") as f:
            if f.read()[:len(data)] != data:
                return "set %d binding %d is changed" % (number, binding)
    for name, want in outputs.items():
        if not name.startswith("grad_") or name in shader.outputs:  # a shader may have a buffer of such a name
            continue
        with open(os.path.join(out, name), "rb") as f:
            data = f.read()
        code, unit = {"f16": ("e", 2**-11), "f32": ("f", 2**-24), "f64": ("d", 2**-53)}[want["type"]]
        got = struct.unpack("<%d%s" % (len(data) // struct.calcsize("<" + code), code), data)
        a = [float(x) for x in want["data"]]
        scale = max([abs(x) for x in a if math.isfinite(x)], default=0)
        for k, (x, y) in enumerate(zip(a, got)):
            # Cotangents are 1 and data within 1: where terms of that size cancel, as in a softmax whose gradient is 0,
            # their roundings are left, which no element of the result gives a scale for.
            if not (x == y or (x != x and y != y) or abs(x - y) <= 2e-3 * abs(x) + 1e-4 * scale + 4 * unit):
                return "%s[%d]: %r, bound as the shader %r" % (name, k, x, y)
    return ""


def judge_gradient(shader):
    """found["placed"]: the gradient in the original's place is what the interpreter computes, and changes nothing else."""
    paths = glob.glob(os.path.join(shader.dir, "grad", "*.json"))
    if not paths:
        return
    with open(paths[0], encoding="utf-8") as f:
        if '"constants"' not in f.read():
            return
    argv = ["--grad", "--json", "--engine", "eval", "--subgroup-size", shader.o.lanes]
    if not re.search(r"\bover\(", shader.text.partition("{")[0]):
        argv += ["--groups", shader.o.groups]
    text = shader.command("placed", "run", *argv, *shader.shaped(), *shader.domain_arguments())
    if text is None:
        return
    out = launch(shader, paths[0])
    if out is None:
        return
    found = gradient_difference(shader, out, json.loads(text)["outputs"])
    chance = shader.chance() if found else ""
    if chance:  # which may spoil only the gradient: two invocations that store the same number to one element
        shader.why["placed"] = "the original " + chance
        return
    shader.found["placed"] = not found
    if found:
        shader.why["placed"] = "DIFFERS"
        shader.found["placed_difference"] = found
