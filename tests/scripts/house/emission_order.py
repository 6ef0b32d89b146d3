#!/usr/bin/env python3
# ONCE
"""No call has two arguments that both emit.

C leaves open which argument is evaluated first, and gcc and clang differ: `vy_select(b, vy_lt(…), vy_add(…), zero)` would
give the same program other bytes, depending on the compiler.  One of the two goes into a variable before the call.
Emitting functions are those that return a vy_value, those that append an instruction, a leaf (a constant, too: leaves
are numbered in the order in which they are first needed), a node of a dimension or a SPIR-V id, and whatever calls one of
these.  A macro with a name in
capitals says itself where its arguments are evaluated.

scripts/house/same_bytes.py compares what the two builds of tools/test print.
"""
import glob
import os
import re
import sys

SRC = os.environ["SRC"]
ROOMS = ("ir", "autodiff", "spirv")
FIRST = {("vy_emit", None), ("vy_spv_id", None), ("vy_spv_put", None)}  # name, and file where it is static
APPENDS = re.compile(r"\bvy_vec_push\(&[^,;]*\b(?:insts|leaves|dims)\b")
LEAST = 1500  # functions that emit: fewer, and this script no longer reads the sources
BLANKED = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
RETURNS_VALUE = re.compile(r"^((?:static |VY_API |inline )*)vy_value \*?(\w+)\(", re.MULTILINE)
FUNCTION = re.compile(r"^(?!typedef|struct|enum|union)(\w[^\n;{}=#(]*?)\b(\w+)\([^;{}#]*\)\s*\{(\n.*?^\}|[^\n]*\}$)",
                      re.MULTILINE | re.DOTALL)
CALL = re.compile(r"\b(\w+)\(")


def sources():
    """{path: text without comments, strings and characters}"""
    files = {}
    for room in ROOMS:
        for path in sorted(glob.glob(os.path.join(SRC, room, "**", "*.[ch]"), recursive=True)):
            with open(path, encoding="utf-8") as f:
                files[os.path.relpath(path, SRC)] = BLANKED.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), f.read())
    return files


def scope(head, path):
    """The file that alone sees a function: one that is static, and in no header."""
    return path if "static" in head and path.endswith(".c") else None


def emitting(files):
    """The functions that emit, as (name, file where it is static, else None)."""
    found, callers = set(FIRST), []
    for path, text in files.items():
        for m in RETURNS_VALUE.finditer(text):
            found.add((m.group(2), scope(m.group(1), path)))
        for m in FUNCTION.finditer(text):
            key = (m.group(2), scope(m.group(1), path))
            callers.append((key, path, set(CALL.findall(m.group(3)))))
            if APPENDS.search(m.group(3)):
                found.add(key)
    grown = True
    while grown:
        new = {key for key, path, calls in callers if key not in found
               and any((c, path) in found or (c, None) in found for c in calls)}
        grown = bool(new)
        found |= new
    return found


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
    files, bad = sources(), 0
    emits = emitting(files)
    for path, text in files.items():
        for m in CALL.finditer(text):
            if m.group(1).isupper():
                continue
            several = [name for a in arguments(text, m.end() - 1) for name in
                       [next((c for c in CALL.findall(a) if (c, path) in emits or (c, None) in emits), None)] if name]
            if len(several) > 1:
                print("%s:%d: %s has several arguments that emit: %s" % (
                    path, text.count("\n", 0, m.start()) + 1, m.group(1), ", ".join(several)))
                bad += 1
    print("%d emitting functions, %d places" % (len(emits), bad))
    return 1 if bad or len(emits) < LEAST else 0


sys.exit(main())
