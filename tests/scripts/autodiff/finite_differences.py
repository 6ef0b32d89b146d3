#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
"""Finite differences, levels, texts and races for the programs of tests/text/grad.

Each RUN line there with --grad names a program, data, outputs and inputs; this script passes them
to gradcheck_file, which compares the gradient with finite differences in double (kinks are
recognised by the path taken and left out), at every level, from its text, twice, and with poisoned
outputs.  Skipped are programs that must be refused, runs in which the program itself races (`// (A
race: …)` under the RUN line), and large sizes of a program that has others; a program that no RUN
line checks is a failure, so that none is forgotten.  The folder `custom` is left out: there a text
states derivatives, which may be meant to differ from those of the code; its own RUN lines check
them.
"""
import glob
import math
import os
import re
import shlex
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

# Derivatives that differ from those of the value on purpose.
LEFT_OUT = re.compile(r"\bstop_grad\(|\bstraight_through\(")
SHARE = int(os.environ["VYRE_SHARE"])  # every n-th program, and those of files that changed lately
FIRST = int(os.environ["VYRE_FRESH_SEED"])
LARGE = 1000            # sizes above it take long
# Checked by scripts/autodiff/metamorphic.py; pipelines: by unit/autodiff/test_grad_pipeline and scripts/autodiff/pipelines_derive.py.
ELSEWHERE = ("atomics", "exclusive", "gather", "subgroup", "pipeline")


def blocks(text):
    """Top-level declarations: (kind, name, text)."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    found, depth, start = [], 0, None
    for m in re.finditer(r"[{}]|^(?:program|pipeline|fn|const|struct)\b", bare, re.M):
        if m.group() == "{":
            depth += 1
        elif m.group() == "}":
            depth -= 1
            if depth == 0:
                found.append((start, m.end()))
        elif depth == 0 and m.group() == "const":
            found.append((m.start(), bare.index(";", m.start()) + 1))
        elif depth == 0:
            start = m.start()
    return [text[a:b] for a, b in found]


def name_of(block):
    m = re.match(r"program\s+(\w+)", block)
    return m and m.group(1)


def options_of(line):
    """The options of a RUN line as a dict of lists."""
    words, found = shlex.split(line), {}
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith("-") and not re.match(r"-[\d.]", word):
            value = "" if re.match(r"-{1,2}[a-z]", following) else following
            found.setdefault(word, []).append(value)
    return found


def values_of(spec, count):
    if re.match(r"^(zeros|ones|iota)$", spec):
        return [float(k) if spec == "iota" else float(spec == "ones") for k in range(count or 8)]
    if spec.startswith("const:"):
        return [float(spec[6:])] * (count or 1)
    if re.match(r"^[-+0-9.einfa,]+$", spec):
        return [float(v) for v in spec.split(",")]
    return None


def scalars_of(program, options):
    """--set, and scalars that are extents of given data."""
    sets = dict(re.sub(r"\{([^,}]*),[^}]*\}", r"\1", s).split("=") for s in options.get("--set", []))
    for given in options.get("--in", []):
        m = re.match(r"(\w+)(?:\[([\d,]+)\])?=(.*)$", given)
        shape = re.search(r"\b%s:\s*(?:in|out|inout)\s+\w+\[([^\]]*)\]" % m.group(1), program)
        if not shape:
            continue
        dims = [d.strip() for d in shape.group(1).split(",")]
        sizes = m.group(2).split(",") if m.group(2) else [str(len(m.group(3).split(",")))]
        for d, n in zip(dims, sizes):
            if re.match(r"^[A-Za-z]\w*$", d):
                sets.setdefault(d, n)
    return sets


def case(blocks_, program, options):
    """Texts of one program with its data, for gradcheck_file, one for each --groups; none if the data
    cannot be determined."""
    if any(re.match(r"\w+\.", given) for given in options.get("--in", [])):
        return []  # fields of structs
    sets = scalars_of(program, options)
    lines = ["// set: " + " ".join("%s=%s" % s for s in sets.items())] if sets else []
    data = []
    for given in options.get("--in", []):
        m = re.match(r"(\w+)(?:\[([\d,]+)\])?=(.*)$", given)
        count = 1
        for n in (m.group(2) or "").split(","):
            count *= int(n or 1)
        values = values_of(m.group(3), count if m.group(2) else int(sets.get("N", 1)))
        if values is None:
            return []
        if values:
            data.append("%s=%s" % (m.group(1), ",".join(repr(v) for v in values)))
    if data:
        lines.append("// data: " + " ".join(data))
    for key in ("of", "wrt"):
        if "--" + key in options:
            lines.append("// %s: %s" % (key, options["--" + key][0]))
    others = [b for b in blocks_ if not re.match(r"program|pipeline", b)]
    groups = re.findall(r"\d+(?:,\d+)*", " ".join(choices(options.get("--groups", [""])[0])))
    return ["\n".join((["// groups: " + g] if g else []) + lines + others + [program]) + "\n" for g in groups or [""]]


def choices(word):
    """What `{a,b}` stands for."""
    return word.strip("{}").split(",") if word.startswith("{") else [word]


def large(text):
    """Whether a scalar, or a buffer that is counted in the scalars, exceeds LARGE."""
    sets = dict(re.findall(r"(\w+)=(\d+)\b", "".join(re.findall(r"// set: .*", text))))
    values = "".join(re.findall(r"// data: .*", text)).count(",")
    counts = [product(extents.split(","), sets) for extents in re.findall(r"\b(?:in|out|inout) \w+\[([^\]]*)\]", text)]
    return max([values, *map(int, sets.values()), *counts]) > LARGE


def product(extents, sets):
    """Of extents that are products of numbers and scalars, such as N * M; any other counts as 1."""
    words = [w.strip() for e in extents for w in e.split("*")]
    return math.prod(int(sets.get(w, w)) for w in words if re.match(r"\d+$", sets.get(w, w)))


def cases_of(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    parts = blocks(text)
    programs = {name_of(b): b for b in parts if name_of(b) and not LEFT_OUT.search(b)}
    unchecked, cases = set(programs), []
    for run in re.split(r"^// RUN: ", text, flags=re.M)[1:]:
        line = re.split(r" && | \| ", run.split("\n")[0])[0]  # later commands read what this one wrote
        options = options_of(line)
        for name in options.get("-p", [next(iter(programs), "")])[0].strip("{}").split(","):
            if re.search(r"^// STATUS: [13]", run.split("\nprogram")[0], re.M) or name not in programs:
                unchecked.discard(name)
                continue
            if re.search(r"^// \(A race: ", run.split("\nprogram")[0], re.M):
                continue
            derived = "--grad" in options or line.startswith("vyre-grad check ")
            if not derived:
                continue
            if line.startswith("vyre-grad check "):  # compares with differences itself
                unchecked.discard(name)
            if any("{" in word for word in options.get("--in", []) + options.get("--of", []) + options.get("--wrt", [])):
                continue  # a choice for each of several programs
            for found in case(parts, programs[name], options):
                unchecked.discard(name)
                cases.append((name, found))
    small = {name for name, found in cases if not large(found)}
    yield from [(name, found) for name, found in cases if name not in small or not large(found)]
    for name in sorted(unchecked):
        print("%s: no RUN line checks program %s" % (path, name))
        sys.exit(1)


def main():
    files, seen, lately = [], set(), shares.touched()
    folder = os.path.join(SRC, "tests/text/grad")
    for path in sorted(glob.glob(folder + "/**/*.vyre", recursive=True)):
        if os.path.dirname(path) == os.path.join(folder, "custom"):
            continue
        if os.path.basename(os.path.dirname(path)) in ELSEWHERE:
            continue
        for name, text in cases_of(path):
            if text in seen:
                continue
            seen.add(text)
            if (len(seen) + FIRST) % SHARE and path not in lately:
                continue
            out = "%s.%s.%d.vyre" % (os.path.basename(path)[:-5], name, len(files))
            with open(out, "w", encoding="utf-8") as f:
                f.write(text)
            files.append(out)
    done = subprocess.run([os.path.join(BUILD, "tests", "gradcheck_file"), "--seeds", "2"] + files,
                          capture_output=True, text=True, check=False)
    bad = [line for line in done.stdout.splitlines() if not re.match(r"[^:]*: ok ", line)]
    compared = sum(int(n) for n in re.findall(r": ok (\d+) compared", done.stdout))
    print("\n".join(bad) + done.stderr)
    answered = len(done.stdout.splitlines())
    if answered < len(files):  # the limit of processor time, most likely
        print("gradcheck_file ended with status %d in %s" % (done.returncode, files[answered]))
    print("%d programs, %d elements compared" % (len(files), compared))
    return 1 if bad or done.returncode or answered != len(files) or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
