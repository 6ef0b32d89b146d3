# SPDX-License-Identifier: MIT
"""Is a module that we write bound as the shader that it is made from?  For tools/corpus.

The same host runs both: the same descriptor sets, buffers with all their padding, push constants, workgroups.  Every
byte that is no result must be as the original leaves it, results within the original's own tolerance.
"""
import glob
import json
import os
import struct


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
    shader.found["bound"] = not found
    if found:
        shader.why["bound"] = "DIFFERS"
        shader.found["bound_difference"] = found
