#!/usr/bin/env python3
# ONCE
"""No call has two arguments that both emit an instruction.

C leaves open which argument is evaluated first, and gcc and clang differ: `vy_select(b, vy_lt(…), vy_add(…), zero)` would
give the same program other bytes, depending on the compiler.  Emitting functions are those that return a vy_value, and
vy_emit; what makes a constant emits nothing.  KNOWN are the places that are older than this check: their number may
only fall.
"""
import glob
import os
import re
import sys
from collections import Counter

SRC = os.environ["SRC"]
ROOMS = ("ir", "autodiff", "spirv")
CONSTANTS = {"vy_int", "vy_zero", "vy_bool", "vy_float", "vy_builtin_value"}
BLANKED = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
DECLARED = re.compile(r"^(?:static |VY_API |inline )*vy_value \*?(\w+)\(", re.MULTILINE)
KNOWN = {
    "autodiff/affine/scan_arithmetic.c": 4,
    "autodiff/core/custom.c": 1,
    "autodiff/core/rules.c": 1,
    "autodiff/deterministic/accumulators.c": 2,
    "autodiff/deterministic/exact_sum.c": 9,
    "autodiff/deterministic/ordered_partials.c": 2,
    "autodiff/gather/gather_leaf.c": 6,
    "autodiff/gather/gather_tree.c": 1,
    "autodiff/rewrite/online_softmax.c": 1,
    "autodiff/storage/sqrt_segments.c": 1,
    "ir/build/api.c": 2,
    "ir/build/geometry.c": 6,
    "ir/build/numbers.c": 6,
    "ir/build/philox.c": 4,
    "ir/build/quaternion.c": 10,
    "ir/facts/context.c": 1,
    "ir/facts/trip_estimate.c": 1,
    "ir/host/raise_states.c": 3,
    "ir/host/revolve.c": 1,
    "ir/pass/sums/subgroup_runs.c": 1,
    "spirv/describe/iterations.c": 1,
    "spirv/emit/emit_ops.c": 2,
    "spirv/facts/whole_walk.c": 1,
    "spirv/read/composite.c": 7,
    "spirv/read/control.c": 1,
    "spirv/read/extended.c": 5,
    "spirv/read/instruction.c": 2,
    "spirv/read/lanes.c": 14,
    "spirv/read/operation.c": 6,
    "spirv/read/pack.c": 5,
    "spirv/read/sample.c": 1,
}


def arguments(text, at):
    """Of the call whose bracket opens at `at`."""
    depth, begin, found = 0, at + 1, []
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return found + [text[begin:i]]
        elif text[i] == "," and depth == 1:
            found.append(text[begin:i])
            begin = i + 1
    return found


def main():
    files = {}
    for room in ROOMS:
        for path in sorted(glob.glob(os.path.join(SRC, room, "**", "*.[ch]"), recursive=True)):
            with open(path, encoding="utf-8") as f:
                files[os.path.relpath(path, SRC)] = BLANKED.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), f.read())
    emitting = {name for text in files.values() for name in DECLARED.findall(text)} - CONSTANTS | {"vy_emit"}
    calls = re.compile(r"\b(?:%s)\(" % "|".join(sorted(emitting)))
    places = {}
    for path, text in files.items():
        for m in re.finditer(r"\b(\w+)\(", text):
            if sum(bool(calls.search(a)) for a in arguments(text, m.end() - 1)) > 1:
                places.setdefault(path, []).append(text.count("\n", 0, m.start()) + 1)
    found, bad = Counter({path: len(lines) for path, lines in places.items()}), 0
    for path in sorted(set(found) | set(KNOWN)):
        if found[path] > KNOWN.get(path, 0):
            print("%s: %d calls emit in several arguments, known are %d: lines %s" %
                  (path, found[path], KNOWN.get(path, 0), ", ".join(map(str, places[path]))))
        elif found[path] < KNOWN.get(path, 0):
            print("%s: %d calls emit in several arguments, KNOWN says %d: write it there" %
                  (path, found[path], KNOWN[path]))
        bad += found[path] != KNOWN.get(path, 0)
    print("%d emitting functions, %d files, %d places" % (len(emitting), len(files), sum(found.values())))
    return 1 if bad or len(emitting) < 100 else 0


sys.exit(main())
