#!/usr/bin/env python3
# ONCE
"""What docs/*.md, README.md, CONTRIBUTING.md and comments name exists.

Every file that they name exists, and every section of docs/ that a comment cites.  The tables of
docs/ list every pass, verb and operation: a forgotten line is reported here.
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys

SRC, VYRE = os.environ["SRC"], os.environ["VYRE_GRAD"]
TOPS = ("ir", "autodiff", "spirv", "vkrt", "session", "tools", "tests", "examples", "shaders", "docs")
FILE = re.compile(r"`([\w./*-]+\.(?:c|h|inc|py|sh|md|vyre|txt))`")
FOLDER = re.compile(r"`((?:%s)/[\w/]*)`" % "|".join(TOPS))
CITED = re.compile(r"docs/(\w+\.md)[,:]?(?: section)? (\d+(?:\.\d+)*)")
wrong = []


def read(name):
    with open(os.path.join(SRC, name), encoding="utf-8") as f:
        return f.read()


def tree():
    """All files below TOPS, and those of the root."""
    yield from (f for f in os.listdir(SRC) if os.path.isfile(os.path.join(SRC, f)))
    for top in TOPS:
        for at, folders, files in os.walk(os.path.join(SRC, top)):
            folders[:] = [f for f in folders if not f.startswith((".", "__pycache__"))]
            yield from (os.path.relpath(os.path.join(at, f), SRC) for f in files)


def section(text, heading):
    """From a heading to the next of the same depth or above."""
    depth = len(heading) - len(heading.lstrip("#"))
    start = text.index(heading)
    end = re.compile(r"^#{1,%d} " % depth, re.MULTILINE).search(text, start + len(heading))
    return text[start:end.start() if end else len(text)]


def named(files):
    """Files and folders that documents name.  A bare name may be a file anywhere; one with a folder
    is the end of a path."""
    for doc in ["README.md", "CONTRIBUTING.md"] + sorted(f for f in files if fnmatch.fnmatch(f, "docs/*.md")):
        text = re.sub(r"^```.*?^```", "", read(doc), flags=re.MULTILINE | re.DOTALL)
        for name in sorted(n for n in set(FILE.findall(text)) if "NAME" not in n):
            if not any(fnmatch.fnmatchcase("/" + f, "*/" + name) for f in files) and name not in EXAMPLES.get(doc, ()):
                wrong.append("%s names %s, which does not exist" % (doc, name))
        for name in sorted(set(FOLDER.findall(text))):
            if not os.path.exists(os.path.join(SRC, name)) and not any(f.startswith(name) for f in files):
                wrong.append("%s names %s, which does not exist" % (doc, name))


# Files that documents tell the reader to create.
EXAMPLES = {"CONTRIBUTING.md": ("ir/pass/scalar/repeated_barriers.c", "tests/text/opt/repeated_barriers.vyre",
                                "tools/verbs/list.c", "tests/text/cmd/list.vyre"), "docs/tutorial.md": ("decay.vyre",)}


def cited(files):
    numbers = {}
    for path in glob.glob(os.path.join(SRC, "docs", "*.md")):
        numbers[os.path.basename(path)] = set(re.findall(r"^#+ (\d+(?:\.\d+)*) ", read(path), re.MULTILINE))
    for name in sorted(files):
        if name.endswith((".c", ".h", ".vyre", ".py", ".sh", ".md")):
            for doc, number in CITED.findall(read(name)):
                if number not in numbers.get(doc, ()):
                    wrong.append("%s cites docs/%s %s, which does not exist" % (name, doc, number))


COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
SOURCE = re.compile(r"(?<![\w./*-])([\w/]+\.(?:c|h|py|sh|md))\b(?!\()")
FOREIGN = {"spirv/target/mesa_loops.c": ("nir_loop_analyze.c",), "vkrt/loader.c": ("volk.c",),
           "examples/drop_in.c": ("springs.h", "springs_grad.h")}  # Mesa's, volk's, made by the build


def commented(files):
    """Files that comments of the sources name, by their name or the end of their path."""
    ends = {f[k:] for f in files for k in range(len(f)) if not k or f[k - 1] == "/"}
    count = 0
    for source in sorted(f for f in files if f.endswith((".c", ".h")) and not f.startswith("tests/")):
        for comment in COMMENT.findall(read(source)):
            for name in SOURCE.findall(comment if comment[0] == "/" else ""):
                count += 1
                if name not in ends and name not in FOREIGN.get(source, ()):
                    wrong.append("a comment of %s names %s, which does not exist" % (source, name))
    if count < 500:
        wrong.append("%d files named in comments: is the test looking in the right place?" % count)


def tour(files):
    """The tour of docs/design.md names each room once, and section 2 lists them in their order."""
    design = read("docs/design.md")
    rooms = sorted(f[:-len("/README.md")] for f in files if re.match(r"(?:ir|autodiff|spirv)/.*/README\.md$", f))
    named_there = re.findall(r"`([\w/]+)`", section(design, "## 1 The tour"))
    order = section(design, "## 2 Folders and direction")
    for room in rooms + ["vkrt", "session", "tools"]:
        if named_there.count(room) != 1:
            wrong.append("docs/design.md, section 1, names the room `%s` %d times" % (room, named_there.count(room)))
        if not re.search(r"[ {]%s[ },\n]" % room.split("/")[-1], order) and "/" in room:
            wrong.append("docs/design.md, section 2, does not have the room `%s`" % room)
    if len(rooms) < 30:
        wrong.append("%d rooms: is the test looking in the right place?" % len(rooms))


def listed(what, names, text, where):
    for name in names:
        if not re.search(r"(?<![\w])%s(?![\w])" % re.escape(name), text):
            wrong.append("%s does not have the %s `%s`" % (where, what, name))
    if len(names) < 9:
        wrong.append("%d times %s: is the test looking in the right place?" % (len(names), what))


def tables():
    language, design = read("docs/language.md"), read("docs/design.md")
    passes = re.findall(r'^    \{"(\w+)",', read("ir/pass/passes.c"), re.MULTILINE)
    listed("pass", passes, section(design, "## 4 Passes"), "docs/design.md, section 4,")
    shown = subprocess.run([VYRE, "--help"], capture_output=True, text=True, check=True).stdout.split("\n\n")[2]
    verbs = re.findall(r"^  (\w+) ", shown, re.MULTILINE)
    listed("verb", verbs, section(language, "### 10.1 Verbs"), "docs/language.md, section 10.1,")
    rows = re.findall(r'^X\(\w+, +"(\w+)", *(?:CALL|SPECIAL)\(\d\), *F, *PURE.*?\b(MATH|EXT|EMIT)\(?', read("ir/core/ops.h"),
                      re.MULTILINE | re.DOTALL)
    listed("operation", [name for name, _ in rows], section(language, "## 7 Expressions"), "docs/language.md, section 7,")
    own = [name for name, column in rows if column == "MATH"]
    listed("function", own, read("tests/math/bounds.txt"), "tests/math/bounds.txt")


def papers(files):
    """Documents and examples say what they need of a paper: there is none in the tree to look it up in."""
    for name in sorted(files):
        if name.endswith(".md") or name.startswith(("examples/", "shaders/")) and name.endswith((".vyre", ".comp", ".glsl", ".py", ".c")):
            for found in re.findall(r"\w+ et al\.|\((?:19|20)\d\d\)|, (?:19|20)\d\d\)|[A-Z]\w+ (?:19|20)\d\d[);]|arXiv|\bdoi:", read(name)):
                wrong.append("%s cites a paper: %s" % (name, found))


files = set(tree())
named(files)
cited(files)
commented(files)
tour(files)
tables()
papers(files)
print("\n".join(wrong))
sys.exit(bool(wrong))
