#!/usr/bin/env python3
# ONCE
"""docs/engines.md 3 is true: what is written has the conventions of Kompute, and the example names them in their order."""
import json
import os
import re
import subprocess
import sys
import tempfile

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
PROGRAMS = (("model", "w"), ("attention", "q,k,v"), ("layers/softmax", "x"), ("bilinear", "image"))


def manifest(name, wrt, folder):
    subprocess.run((VYRE, "grad", os.path.join(SRC, "examples", name + ".vyre"), "--wrt", wrt, "-o", folder + "/"),
                   check=True, capture_output=True)
    path = [f for f in os.listdir(folder) if f.endswith(".json")][0]
    with open(os.path.join(folder, path), encoding="utf-8") as f:
        return json.load(f)


def faults(m):
    for kernel in m["kernels"]:
        if len(m["kernels"]) == 1 and kernel["entry"] != "main":
            yield "entry %s" % kernel["entry"]
        if [(b["set"], b["binding"]) for b in kernel["bindings"]] != [(0, i) for i in range(len(kernel["bindings"]))]:
            yield "bindings are not 0, 1, … of set 0"
        at = 0
        for field in kernel["params"]["fields"]:
            if field["size"] == 4 and field["offset"] != at:
                yield "%s is at %d" % (field["name"], field["offset"])
            at = field["offset"] + field["size"]
        if kernel["params"]["in"] != "push_constants" and kernel["params"]["bytes"] <= 128:
            yield "%d bytes are no push constants" % kernel["params"]["bytes"]


def example_faults(m):
    """The numbers and names of the document's example."""
    with open(os.path.join(SRC, "docs", "engines.md"), encoding="utf-8") as f:
        code = re.search(r"```cpp\n(.*?)```", f.read(), re.S).group(1)
    kernel = m["kernels"][0]
    fields = [f["name"] for f in kernel["params"]["fields"]]
    if ", ".join(fields) != re.search(r"// (.*)", code).group(1):
        yield "push constants are %s" % fields
    if ", ".join(b["name"] for b in kernel["bindings"]) != re.search(r"all = \{(.*)\}", code).group(1):
        yield "bindings are in another order"
    if kernel["groups"] != ["ceil(N/64)", "1", "1"] or "(N + 63) / 64, 1, 1" not in code:
        yield "workgroups are %s" % kernel["groups"]
    if [b["name"] for b in kernel["bindings"] if b["clear"]] != ["grad_w"]:
        yield "other buffers are cleared"


def main():
    wrong = []
    for name, wrt in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            m = manifest(name, wrt, folder)
        wrong += ["%s: %s" % (name, fault) for fault in faults(m)]
        wrong += ["docs/engines.md: " + fault for fault in (example_faults(m) if name == "model" else ())]
    print("\n".join(wrong) or "%d modules" % len(PROGRAMS))
    return bool(wrong)


sys.exit(main())
