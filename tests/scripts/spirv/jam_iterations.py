#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Iterations that become one (ir/pass/device/jam_iterations.c), and values in shared memory
(shared_slots.c): the programs of text/device/{jam_iterations,shared_slots}.vyre and their gradients
have the same bits as without, in the interpreter and on the device, for numbers of iterations that
are no multiples, domains of several workgroups, of less than one, and of one invocation.  On the
device, whose compiler takes 49 s for one of them, one that the seed chooses; VYRE_SHARE=1 takes all.
"""
import json
import os
import subprocess
import sys

ROOT, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
SIZES = ((2, 11), (1, 133), (3, 1))
CASES = [("jam_iterations", name, gradient) for name in ("suffix", "before", "every") for gradient in (False, True)]
CASES += [("shared_slots", "two", False)]
CHANGED = {("suffix", False), ("before", False), ("every", False), ("two", False)}


def vyre(*arguments):
    return subprocess.run([VYRE, *arguments], capture_output=True, text=True, timeout=300)


def written(source, name, gradient, way):
    file = "%s_%s_%s.vyre" % (name, gradient, way)
    path = os.path.join(ROOT, "tests", "text", "device", source + ".vyre")
    verb = ("grad", path, "-p", name, "--seed", "buffer") if gradient else ("compile", path, "-p", name)
    done = vyre(*verb, "--precise", "--coarsen", "1", "--for", way, "-o", file)
    if done.returncode:
        sys.exit("%s: %s" % (file, done.stderr))
    return file


def outputs(file, name, size, width, engine):
    data = []
    for seed, buffer in enumerate(("q", "k") + ("grad_y",) * name.endswith("_grad")):
        data += ["--in", "%s[%d,%d,%d]=uniform:-1:1:%d" % (buffer, *size, width, seed)]
    done = vyre("run", file, "-p", name, *data, "--engine", engine, "--precise", "--json")
    return json.loads(done.stdout)["outputs"] if done.returncode == 0 else done.stderr


def differs(engine, source, name, gradient, files):
    """The first finding of one program by one engine."""
    entry = name + "_grad" * gradient
    for size in SIZES[:2 - gradient] if source == "shared_slots" or gradient else SIZES:
        width = 60 if source == "shared_slots" else 16
        expected, got = (outputs(file, entry, size, width, engine) for file in files)
        if isinstance(got, str) or got != expected:
            return "%s at %s, %s: %s" % (entry, size, engine, got if isinstance(got, str) else "other numbers")
    return None


def main():
    """Stops at the first finding, the interpreter's first."""
    share, seed = int(os.environ.get("VYRE_SHARE", "1")), int(os.environ["VYRE_FRESH_SEED"])
    made = [(case, [written(*case, way) for way in ("any", "gpu")]) for case in CASES]
    for (source, name, gradient), files in made:
        with open(files[1], encoding="utf-8") as f:
            text = f.read()
        if (name, gradient) in CHANGED and ("step 4" if source == "jam_iterations" else "kept_slots") not in text:
            return "%s: as it was" % files[1]
    shared = made if share == 1 else made[seed % len(made):][:1]
    findings = (differs(engine, *case, files) for engine, those in (("eval", made), ("vulkan", shared)) for case, files in those)
    return next(filter(None, findings), None)


if __name__ == "__main__":
    sys.exit(main())
