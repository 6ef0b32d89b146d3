#!/usr/bin/env python3
# ONCE
"""Comments and documents use the words of CONTRIBUTING.md 2.1, and end at column 100.

Reads the comments of all C files, the READMEs of the rooms, README.md, CONTRIBUTING.md without the
table, docs/ and tests/README.md.  Reports only what is never meant otherwise, also across the end
of a line: `turn` as a noun (the verbs "turns into" and "in turn" are plain English), and what a
rename without reading leaves behind.  Code in backticks, in blocks and in strings is not read.
Tables between `clang-format off` and `on` may be wider.
"""
import glob
import os
import re
import sys

SRC = os.environ["SRC"]
ROOMS = ("ir", "autodiff", "spirv", "session", "tools", "vkrt", "examples")
ONE = r"an? one each every the this that per its their another same first last next previous no".replace(" ", "|")
MANY = r"the these those its their same first last next many few no all some several two three four five ten".replace(" ", "|")
# (row of the table, or what to write; pattern, in which a space stands for any white space)
PATTERNS = [
    ("turn (of a loop)", r"(?:%s) turn|(?:%s|(?<!=)\d+) turns(?! (?:into|on|off|out))"
     r"|turns? of (?:an?|the|its|each) loops?" % (ONE, MANY)),
    ("dear", r"dear(?:er|est|ly)?"),
    ("told, tells apart", r"told|tells? apart"),
    ("hands on, hands out", r"(?<!by\s)hand(?:s|ed|ing)? (?:on|out)"),
    ("comes by, comes to", r"(?:comes?|came|coming) by"),
    ("loose", r"loose(?:ly|r)?"),
    ("the how manyth", r"how manyth"),
    (">a number and a noun", r"iterations? per iteration"),
    (">the verb that is meant (a rename has replaced it)",
     r"(?:it|they|who|not|could|would|must|will|should|cannot) iterations?"
     r"|(?:which|that) iterations? (?:\S+ ){1,4}into|iterations (?:off|out)|takes? iterations"
     r"|iterations (?!of )(?:\S+ ){1,3}around"),
]
COMPILED = [(row, re.compile(r"\b(?:%s)\b" % pattern.replace(" ", r"\s+"), re.IGNORECASE)) for row, pattern in PATTERNS]
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
CODE = re.compile(r"^ *```.*?^ *```|^    [^\n]*|`[^`\n]*`", re.MULTILINE | re.DOTALL)
MARKS = re.compile(r"//+|/\*|\*/|^[ \t]*\*(?= )", re.MULTILINE)
TABLE = re.compile(r"^### 2\.1 .*?(?=^## )", re.MULTILINE | re.DOTALL)


def blank(found):
    """The same lines and columns without text."""
    return re.sub(r"[^\n]", " ", found if isinstance(found, str) else found.group())


def comments(text):
    """The text of a C file's comments, each word in its place."""
    out, at = [], 0
    for found in TOKEN.finditer(text):
        out.append(blank(text[at:found.start()]))
        is_comment = found.group().startswith(("//", "/*"))
        out.append(MARKS.sub(blank, found.group()) if is_comment else blank(found))
        at = found.end()
    return re.sub(r"`[^`\n]*`", blank, "".join(out) + blank(text[at:]))


def prose(name, text):
    if name.endswith((".c", ".h")):
        return comments(text)
    return CODE.sub(blank, TABLE.sub(blank, text) if name == "CONTRIBUTING.md" else text)


def rows():
    """{not: but} of the table."""
    with open(os.path.join(SRC, "CONTRIBUTING.md"), encoding="utf-8") as f:
        return dict(re.findall(r"^\| (.+?) \| (.+?) \|$", TABLE.search(f.read()).group(), re.MULTILINE))


def words(name, text, table):
    text = prose(name, text)
    for row, pattern in COMPILED:
        for found in pattern.finditer(text):
            yield "%s:%d: `%s`: write %s" % (name, text.count("\n", 0, found.start()) + 1, " ".join(found.group().split()),
                                             row[1:] if row[0] == ">" else table[row])


def wide(name, text):
    """Lines whose comment ends beyond column 100."""
    table = False
    for number, (line, comment) in enumerate(zip(text.split("\n"), comments(text).split("\n")), 1):
        table = "clang-format off" in line or table and "clang-format on" not in line
        if len(line) > 100 and comment.rstrip()[100:].strip() and not table:
            yield "%s:%d: a comment of %d columns" % (name, number, len(line))


def wide_prose(name, text):
    """Lines of a document beyond column 100, which are neither a table nor code."""
    text = re.sub(r"^ *```.*?^ *```", blank, text, flags=re.MULTILINE | re.DOTALL)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 100 and line.strip() and not line.startswith(("|", "    ")):
            yield "%s:%d: a line of %d columns" % (name, number, len(line))


def self_test(table):
    """What is planted is found, with its line, and what is innocent is not."""
    bad = ["// as\n// many turns as", "/* each turn\n * adds */", "int x; // too dear", "// we are told", "// is handed\n// on",
           "// hands out", "// who comes by", "// loosely", "// the how manyth", "// three iterations per iteration",
           "// which iterations atomics into additions",
           "// it iterations", "// iterations Fortran order around"]
    good = ["// it turns into", "// each in turn", "// this turns b to c, by hand on VAR=1 turns", "// three turn out", '"told"; // //', "// `loose` bits", "dear();", "/**/ dear",
            "// merges iterations into one", "// in which iterations the loop ends"]
    wrong = ["not found: " + t for t in bad if len(list(words("planted.c", "\n" + t, table))) != 1]
    wrong += ["found: " + t for t in good if list(words("planted.c", t, table))]
    wrong += ["not found in a document"] * (len(list(words("x.md", "```\ntold\n```\n    told\n`told` told", table))) != 1)
    prose_lines = ("é" * 101, "é" * 100, "| " + "x" * 101, "    " + "x" * 101, "```\n" + "x" * 101 + "\n```")
    wrong += ["wide prose"] * ([len(list(wide_prose("x.md", t))) for t in prose_lines] != [1, 0, 0, 0, 0])
    line = "int x; // " + "é" * 91
    wrong += ["wide"] * ([len(list(wide("x.c", t))) for t in (line, line[:-1], "// clang-format off\n" + line)] != [1, 0, 0])
    return wrong


def files():
    for room in ROOMS:
        for end in ("*.c", "*.h", "README.md"):
            yield from glob.glob(os.path.join(SRC, room, "**", end), recursive=True)
    for name in ("README.md", "CONTRIBUTING.md", "tests/README.md", "shaders/README.md",
                 "shaders/optimisers/README.md", "shaders/gpu/README.md"):
        yield os.path.join(SRC, name)
    yield from glob.glob(os.path.join(SRC, "docs", "*.md"))


def main():
    table = rows()
    wrong, count = self_test(table), 0
    for path in sorted(files()):
        name = os.path.relpath(path, SRC)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        wrong += words(name, text, table)
        wrong += wide(name, text) if name.endswith((".c", ".h")) else wide_prose(name, text)
        count += 1
    if count < 500:
        wrong.append("%d files: is the test looking in the right place?" % count)
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
