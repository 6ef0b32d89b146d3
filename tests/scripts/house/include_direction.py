#!/usr/bin/env python3
# ONCE
"""The order of the rooms: a room uses only rooms to its left, and files do not depend on each other
in circles.

Rooms are folders, from left to right in ROOMS below; docs/design.md walks through them.  A file may
include what its own room or a room to its left has.  The same holds for what it calls, which is
read from the symbols of the object files.  Files that call each other in a circle are the recursive
parts of front ends, sweeps and emitter: CIRCLES lists them.  vkrt/, session/, tools/ and python/ have none.
Each room has a README.md of a few lines, which names only files that exist.

Includes are written from the top: "folder/file.h".  vkrt/ uses spirv/kernel.h and spirv/plan.h
only; session/, tools/ and python/ are ordinary users of the libraries, so what they include from outside
must be an installed header, and so must what an installed header includes.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

ROOT, BUILD = os.environ["SRC"], os.environ["BUILD"]
IR = ["ir/core", "ir/check", "ir/build", "ir/host", "ir/text", "ir/binary", "ir/eval", "ir/facts", "ir/pass/pass.h", "ir/pass/scalar",
      "ir/pass/sums", "ir/pass/target", "ir/pass/device", "ir/pass"]
AUTODIFF = ["autodiff/core", "autodiff/affine", "autodiff/shapes", "autodiff/facts", "autodiff/storage", "autodiff/rewrite", "autodiff/reverse", "autodiff/forward",
            "autodiff/stages", "autodiff/gather", "autodiff/deterministic", "autodiff/driver", "autodiff/train", "autodiff/explain",
            "autodiff/verify"]
SPIRV = ["spirv/words", "spirv/facts", "spirv/describe", "spirv/emit", "spirv/target", "spirv/plan", "spirv/driver", "spirv/read", "spirv/write"]
ROOMS = (IR + AUTODIFF, IR + SPIRV)  # autodiff and spirv do not use each other
TOOLS = ["tools/mpi", "tools/data", "tools/command", "tools/verbs/explain", "tools/verbs/check", "tools/verbs/bench", "tools/verbs/fit",
         "tools/verbs", "tools"]
GENERATED = {"spirv/spirv_opcodes.h": "spirv/words", "spirv/mathlib_text.h": "spirv/emit",
             "autodiff/optimiser_texts.h": "autodiff/train", "tools/topics_text.h": "tools/verbs"}
OUTER = {
    "vkrt": ["vkrt/", "spirv/kernel.h", "spirv/plan.h"],
    "session": ["session/", "ir/", "autodiff/", "spirv/", "vkrt/"],
    "tools": ["tools/", "session/", "ir/", "autodiff/", "spirv/", "vkrt/"],
    "python": ["python/", "session/", "ir/", "autodiff/", "spirv/", "vkrt/"],
}
# Each is one recursion over the structure of programs or of a text.
CIRCLES = {
    "builder: folding emits, emitting folds": {"ir/build/build.c", "ir/build/fold.c"},
    "names and types of expressions": {
        "ir/text/generic.c", "ir/text/sema_call.c", "ir/text/sema_expr.c", "ir/text/sema_library.c", "ir/text/sema_literal.c", "ir/text/sema_matrix.c", "ir/text/sema_member.c", "ir/text/sema_overload.c", "ir/text/sema_place.c", "ir/text/sema_vector.c"},
    "statements to tree": {"ir/text/parse_stmt.c", "ir/text/parse_switch.c"},
    "names and types in statements": {"ir/text/sema_stmt.c", "ir/text/sema_switch.c"},
    "text to tree: a value names its type, a type the size of an array": {
        "ir/text/parse_expr.c", "ir/text/parse_primary.c", "ir/text/parse_type.c"},
    "lowering of code, into which functions are inlined": {
        "ir/text/lower_call.c", "ir/text/lower_constant.c", "ir/text/lower_element.c", "ir/text/lower_expr.c", "ir/text/lower_library.c", "ir/text/lower_matrix.c", "ir/text/lower_member.c", "ir/text/lower_place.c", "ir/text/lower_stmt.c",
        "ir/text/lower_switch.c"},
    "printer: expressions have operands, operands are expressions, and vectors are found by the rules that plan these": {
        "ir/text/print_assign.c", "ir/text/print_expr.c", "ir/text/print_made.c", "ir/text/print_operand.c",
        "ir/text/print_params.c", "ir/text/print_plan.c", "ir/text/print_slot.c", "ir/text/print_vector.c"},
    "reverse sweep over nested constructs": {
        "autodiff/reverse/sweep.c", "autodiff/reverse/sweep_control.c", "autodiff/reverse/sweep_loop.c"},
    "reader of SPIR-V: lengths in types are constants, which are operations on values": {
        "spirv/read/composite.c", "spirv/read/operation.c", "spirv/read/pack.c", "spirv/read/types.c", "spirv/read/values.c"},
    "reader of SPIR-V: variables are declared by their uses, which are guessed by following pointers to them": {
        "spirv/read/guess.c", "spirv/read/image.c", "spirv/read/memory.c", "spirv/read/variables.c"},
    "reader of SPIR-V: constructs of instructions, of which some are calls": {
        "spirv/read/call.c", "spirv/read/carried.c", "spirv/read/control.c", "spirv/read/instruction.c", "spirv/read/switch.c"},
    "emitter: code calls functions of the library, which are code": {
        "spirv/emit/emit.c", "spirv/emit/emit_math.c", "spirv/emit/emit_ops.c", "spirv/emit/library.c"},
}
# Where the objects of each product are, how many there are at least, and what precedes a source's
# name in theirs: its folder, or nothing where meson writes the folder into the object's name.
OBJECTS = {
    "libvyre": ("libvyre.so.*.p", 200, ""),
    "vkrt": ("vkrt/libvkrt.so.*.p", 25, "vkrt/"),
    "session": ("session/libvyre-session.a.p", 10, "session/"),
    "tools": ("tools/vyre-grad.p", 35, "tools/"),
}
README_LINES = 26  # at most
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def room(name, order):
    """Place in the order of the room that a file is in; None: it is in none."""
    name = GENERATED.get(name, name)
    found = [r for r in order if name == r or os.path.dirname(name) == r or name == r]
    return order.index(max(found, key=len)) if found else None


def may_use(name, target, installed):
    """None, or what is wrong with it."""
    top = name.split("/")[0]
    if name in installed and target not in installed:
        return "an installed header uses what is not"
    if top in OUTER:
        if not target.startswith(tuple(OUTER[top])):
            return "%s may not use it" % top
        if top != "vkrt" and not target.startswith(top + "/") and target not in installed:
            return "it is private"
        return to_the_left(name, target, TOOLS) if name.startswith("tools/") and target.startswith("tools/") else None
    if target in installed:
        return None if target.split("/")[0] in (top, "ir") else "%s may not use it" % top
    if name in installed:
        return None
    return to_the_left(name, target, ROOMS[top == "spirv"])


def to_the_left(name, target, order):
    """None, or why a file of one room may not use one of another."""
    here, there = room(name, order), room(target, order)
    if here is None:
        return "%s is in no room: list its folder" % name
    if there is None:
        return "it is in no room to the left"
    return None if there <= here else "%s is to the right of %s" % (order[there], order[here])


def sources():
    for top in ("ir", "autodiff", "spirv", "vkrt", "session", "tools"):
        for at, _, files in os.walk(os.path.join(ROOT, top)):
            for file in sorted(f for f in files if f.endswith((".c", ".h", ".inc"))):
                yield os.path.relpath(os.path.join(at, file), ROOT)


def includes(installed, wrong):
    seen = 0
    for name in sources():
        with open(os.path.join(ROOT, name), encoding="utf-8") as f:
            text = f.read()
        for match in INCLUDE.finditer(text):
            seen += 1
            target = match.group(1)
            why = may_use(name, target, installed) if "/" in target else "write it from the top"
            if why:
                wrong.append('%s:%d: "%s": %s' % (name, text.count("\n", 0, match.start(1)) + 1, target, why))
    if seen < 700:
        wrong.append("%d includes seen: is the test looking in the right place?" % seen)


def calls(folder, before):
    """Which file of a product uses which, by the symbols of its objects: {file: {file: symbol}}."""
    objects = {}
    for name in sources():
        if name.endswith(".c") and name.startswith(before):
            objects[name[len(before):].replace("/", "_") + ".o"] = name
    defined, undefined = {}, collections.defaultdict(set)
    paths = sorted(p for p in glob.glob(os.path.join(BUILD, folder, "*.o"))
                   if os.path.basename(p) in objects)  # others are objects of removed sources
    listed = subprocess.run(["nm", "-A", *paths], capture_output=True, text=True, check=True).stdout if paths else ""
    for line in listed.splitlines():
        path, _, rest = line.partition(".o:")
        name, part = objects[os.path.basename(path) + ".o"], rest.split()
        if len(part) == 3 and part[1] in "TDRBV":
            defined[part[2]] = name
        elif len(part) == 2 and part[0] == "U":
            undefined[name].add(part[1])
    uses = {name: {} for name in set(defined.values()) | set(undefined)}
    for name, symbols in undefined.items():
        for symbol in sorted(symbols):
            if defined.get(symbol, name) != name:
                uses[name].setdefault(defined[symbol], symbol)
    return uses


def components(uses):
    """Strongly connected ones of more than one file (Tarjan 1972, with a stack of our own)."""
    order, low, on, stack, found = {}, {}, set(), [], []
    for root in sorted(uses):
        if root in order:
            continue
        work = [(root, iter(sorted(uses[root])))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on.add(root)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in order:
                    order[to] = low[to] = len(order)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(sorted(uses[to]))))
                    break
                if to in on:
                    low[at] = min(low[at], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == order[at]:
                    one = []
                    while not one or one[-1] != at:
                        one.append(stack.pop())
                        on.discard(one[-1])
                    if len(one) > 1:
                        found.append(sorted(one))
    return found


def directions(uses, wrong):
    for name in sorted(uses):
        order = ROOMS[name.startswith("spirv/")]
        for target, symbol in sorted(uses[name].items()):
            here, there = room(name, order), room(target, order)
            if here is None or there is None or there > here:
                wrong.append("%s calls %s of %s, which is not to the left" % (name, symbol, target))


def unnamed(uses):
    """Circles of files that CIRCLES does not name."""
    return [one for one in components(uses) if not any(set(one) <= files for files in CIRCLES.values())]


def circles(uses, wrong):
    for one in unnamed(uses):
        wrong.append("a circle of files that CIRCLES does not name: " + " ".join(one))
    found = components(uses)
    for name, files in sorted(CIRCLES.items()):
        if files & set(uses) and not any(set(files) <= set(one) for one in found):
            wrong.append("CIRCLES names what is no circle any more: %s" % name)


def notices(product, uses, wrong):
    """Whether a call back would be noticed: for every call across files there is one."""
    silent = []
    for name in sorted(uses):
        for target in sorted(uses[name]):
            if any({name, target} <= files for files in CIRCLES.values()):
                continue
            back = dict(uses, **{target: dict(uses[target], **{name: "made_up"})})
            if not any({name, target} <= set(one) for one in unnamed(back)):
                silent.append("%s and %s" % (name, target))
            if product == "libvyre":
                break  # one of each file is enough there
    if silent or not any(uses.values()):
        wrong.append("%s: a circle would not be noticed: %s" % (product, ", ".join(silent[:3]) or "no calls seen"))


def products(wrong):
    for product, (folder, least, before) in OBJECTS.items():
        uses = calls(folder, before)
        if len(uses) < least:
            wrong.append("%s: %d objects seen: is the test looking in the right place?" % (product, len(uses)))
        if product == "libvyre":
            directions(uses, wrong)
        circles(uses, wrong)
        notices(product, uses, wrong)


def readmes(wrong):
    for order in ROOMS + (["vkrt", "session"], TOOLS):
        for folder in (r for r in order if not r.endswith(".h")):
            name = folder + "/README.md"
            try:
                with open(os.path.join(ROOT, name), encoding="utf-8") as f:
                    text = f.read()
            except OSError:
                wrong.append("%s is missing: what the room is, what it may include, where to start" % name)
                continue
            if not text.startswith("# %s: " % folder) or text.count("\n") > README_LINES:
                wrong.append("%s: it begins with `# %s: …` and has at most %d lines" % (name, folder, README_LINES))
            for file in re.findall(r"`([\w/.]+\.[a-z]+|[\w/]+/)`", text):
                if not any(os.path.exists(os.path.join(ROOT, at, file)) for at in (folder, "")):
                    wrong.append("%s names %s, which does not exist" % (name, file))


def main():
    wrong = []
    readmes(wrong)
    with open(os.path.join(BUILD, "meson-info", "intro-install_plan.json"), encoding="utf-8") as f:
        installed = {os.path.relpath(p, ROOT) for p in json.load(f).get("headers", {})}
    includes(installed, wrong)
    products(wrong)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
