#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""All ways to a gradient agree: every program of examples/ and tests/text that has a derivative.

Each is differentiated by default, by atomics, by gathers, in a fixed order, and with its parameters
and the axes of its domain in another order and under other names (tests/unit/autodiff/gradcheck_modes.h);
all must give the same in the interpreter, in double, to rounding.  Sizes and data are those of the
file's own RUN lines where they are given, else small and made up.  What one way refuses and another
does not is counted by reason.

VYRE_SEED makes the same orders again; VYRE_ONLY=WORD takes only files with the word and names every
program.  A run takes every sixth file, which the seed chooses; VYRE_SHARE=1 takes all.
"""
import collections
import os
import re
import shlex
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path[:0] = [os.path.join(SRC, "tests"), os.path.join(SRC, "tests", "fuzz")]
sys.dont_write_bytecode = True
import shares  # noqa: E402
from harness import Harness  # noqa: E402

MOST_VALUES = 256
SIZES = (5, 4, 3, 2)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
PROGRAM = re.compile(r"^(?:@\w+(?:\([^)]*\))?\s*)*program\s+(\w+)\s*\(", re.M)
FLOATS = re.compile(r"\b(in|out|inout) f(?:16|32|64)\b")


def files():
    for top in ("examples", "tests/text"):
        for folder, folders, names in os.walk(os.path.join(SRC, top)):
            folders[:] = sorted(f for f in folders if f not in ("data", "input"))
            for name in sorted(names):
                if name.endswith(".vyre"):
                    yield os.path.join(folder, name)


def parameters(text, at):
    """The parameters of a program: [(name, type or class and type, dimensions or None)]."""
    depth, end = 0, at
    while end < len(text) and (depth or text[end] != ")"):
        depth += (text[end] in "([") - (text[end] in ")]")
        end += 1
    inside, out = re.sub(r"//[^\n]*|/\*.*?\*/", "", text[at:end], flags=re.S), []
    for m in re.finditer(r"(\w+)\s*:\s*((?:in|out|inout)\s+)?(\w+)\s*(\[(?:[^\[\]]|\[[^\]]*\])*\])?", inside):
        name, cls, t, dims = m.groups()
        out.append((name, (cls or "").strip(), t, [d.strip() for d in dims[1:-1].split(",")] if dims else None))
    return out


class Data:
    """A program's data in a RUN line: scalars, values, lengths."""

    def __init__(self, words):
        self.sets, self.values, self.shapes, self.options = {}, {}, {}, collections.defaultdict(list)
        for k, w in enumerate(words[:-1]):
            arg = words[k + 1]
            if w == "--set":
                name, _, v = arg.partition("=")
                self.sets[name] = v
            elif w == "--in":
                name, _, spec = arg.partition("=")
                m = re.match(r"(\w+)\[([\d,]+)\]$", name)
                if m:
                    name, self.shapes[m.group(1)] = m.group(1), [int(n) for n in m.group(2).split(",")]
                if re.match(r"^[-+.\deE,]+$", spec):
                    self.values[name] = spec.split(",")
            elif w in ("-p", "--of", "--wrt", "--groups"):
                self.options[w].append(arg)

    def infer(self, params):
        """Scalars that are extents, from the data's lengths."""
        unknown = None
        for name, cls, _, dims in params:
            shape = self.shapes.get(name) or ([len(self.values[name])] if name in self.values else None)
            if not cls or not dims or not shape:
                continue
            if len(shape) == len(dims):
                for d, n in zip(dims, shape):
                    if d == "?":
                        unknown = n
                    elif d.isidentifier():
                        self.sets.setdefault(d, str(n))
            elif len(shape) == 1:  # flat: divided by the other axes
                rest, open_ = 1, []
                for d in dims:
                    size = int(d) if d.isdigit() else int(self.sets.get(d, 0)) if d.isidentifier() else 0
                    rest *= size or 1
                    open_ += [] if size else [d]
                if len(open_) == 1 and open_[0].isidentifier():
                    self.sets.setdefault(open_[0], str(max(shape[0] // rest, 1)))
        return unknown


def directives(name, params, data, seed, groups):
    unknown, out, k = data.infer(params), [], 0
    for n, cls, t, dims in params:
        if not cls and not dims:
            used = any(n in re.findall(r"\w+", d) for _, c, _, ds in params if c for d in ds or ())
            if n not in data.sets:
                data.sets[n] = str(SIZES[k % len(SIZES)]) if used else "0.7" if t[0] == "f" else "2"
                k += used
    names = {n for n, _, _, _ in params}
    sets = ["%s=%s" % (n, v) for n, v in data.sets.items() if n in names][:16]
    out.append("// program: " + name)
    out.append("// only: ways")
    out.append("// seed: %d" % seed)
    if sets:
        out.append("// set: " + " ".join(sets))
    values = ["%s=%s" % (n, ",".join(v)) for n, v in data.values.items() if n in names and len(v) <= MOST_VALUES]
    if values:
        out.append("// data: " + " ".join(values[:16]))
    if unknown:
        out.append("// unknown: %d" % unknown)
    if groups:
        out.append("// groups: " + groups)
    structs = {n for n, cls, t, _ in params if cls and t[0].isupper()}  # whose fields have other names when permuted
    for option, word in (("--of", "of"), ("--wrt", "wrt")):
        if data.options[option] and not structs & set(data.options[option][0].split(",")):
            out.append("// %s: %s" % (word, data.options[option][0]))
    return out


def runs(text, name, alone):
    """Words of the RUN lines that run or check this program, with different data."""
    seen, out = set(), []
    for line in re.findall(r"^// RUN: (.*)$", text, re.M):
        try:
            words = shlex.split(line.split("|")[0].split(">")[0])
        except ValueError:
            continue
        asked = [words[k + 1] for k, w in enumerate(words[:-1]) if w == "-p"]
        if "--in" not in words and "--set" not in words or not (name in asked or not asked and alone):
            continue
        key = tuple(w for k, w in enumerate(words) if words[k - 1] in ("--in", "--set", "--of", "--wrt", "--groups"))
        if key not in seen and len(out) < 2:
            seen.add(key)
            out.append(words)
    return out or [[]]


def in_double(text):
    return re.sub(r"\bf(?:32|16)\b", "f64", re.sub(r"(?<=[\d.])f(?:32|16)\b", "f64", text))


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    only = os.environ.get("VYRE_ONLY", "")
    print("VYRE_SEED=%d tests/run -k metamorphic --build %s" % (seed, BUILD))
    child = Harness([os.path.join(BUILD, "tests", "gradcheck_file"), "--stream"], os.getcwd())
    counts, notes, skipped, bad = collections.Counter(), collections.Counter(), collections.Counter(), 0
    for path in files() if only else shares.drawn_files(files(), 6):
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        short = os.path.relpath(path, SRC)
        if only not in short or "\nimport " in "\n" + text:
            continue
        plain = COMMENT.sub("", text)  # a derivative may stand in a comment
        found = list(PROGRAM.finditer(plain))
        for m in found:
            params = parameters(plain, m.end())
            if not any(cls and t[0] == "f" for _, cls, t, _ in params):
                continue
            for k, words in enumerate(runs(text, m.group(1), len(found) == 1)):
                counts["tried"] += 1
                data = Data(words)
                groups = (data.options["--groups"] or [""])[0]
                head = directives(m.group(1), params, data, seed + k, groups)
                label = "%s:%s:%d" % (short, m.group(1), k)
                for body in (in_double(text), "// tolerance: 2e-4\n" + text):
                    answer, trouble = child.ask(label.replace(" ", "_"), "\n".join(head) + "\n" + body)
                    word, _, rest = answer.partition(": ")[2].partition(" ")
                    if trouble or word != "invalid":
                        break
                words, _, said = rest.partition(" | ")
                for n in said.split(" | ") if said else ():
                    notes[re.sub(r"`[^`]*`", "…", n)[:100]] += 1
                if only:
                    print(label, word, rest[:200], trouble)
                if trouble or word == "FAIL":
                    bad += 1
                    print("%s: %s" % (label, trouble or rest))
                    with open("%d.vyre" % bad, "w", encoding="utf-8") as f:
                        f.write("\n".join(head) + "\n" + body)
                elif word == "ok":
                    counts["agree"] += 1
                    for n, what in re.findall(r"(\d+) (ways|axes)", words):
                        counts[what] += int(n)
                else:
                    code = re.search(r"E\d{4}", words)
                    reason = ("no valid program" if code and code.group() < "E05" else
                              code.group() if code else "a data race" if "data race" in words else
                              "an element is read that was never written" if "never written" in words else
                              "too long" if "gave up" in words or "too many" in words else words)
                    skipped["%s: %s" % (word, reason[:70])] += 1
                    counts[word] += 1
    status, trouble = child.close()
    if trouble or status not in (0, 1):
        bad += 1
        print("the harness ended with status %s: %s" % (status, trouble))
    print(", ".join("%d %s" % (n, w) for w, n in counts.items()) + ", %d failed" % bad)
    for title, of in (("one way only", notes), ("not looked at", skipped)):
        for reason, n in of.most_common():
            print("  %s, %d times: %s" % (title, n, reason))
    if counts["agree"] < (300 if shares.whole() else 180) and not only:
        print("too few programs were compared")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
