#!/usr/bin/env python3
# ONCE
"""Every diagnostic code is explained in docs/diagnostics.md and is provoked by a test.

The test is a text test (`//~ ERROR E0201`, `ERROR: … [E0201]`), in tests/text/diag for the codes of
programs; where no text can provoke it, a unit or script test that names the code; else the code is
listed in UNPROVOKED with the reason.
"""
import glob
import os
import re
import sys

ROOT = os.environ["SRC"]
# Codes that no program text and no command line can provoke, and why.
UNTEXTED = {
    "E0001": "memory that runs out is simulated in unit tests",
    "E0003": "only calls of the C API can be wrong in this way",
    "E0301": "only programs that were made wrongly through the API or a binary file",
    "E0305": "the text front end says E0202 first; the checker sees it in built programs",
    "E0326": "names have scopes in the text; the checker sees it in built pipelines",
    "E0401": "the command takes a file that is no binary form for text",
    "E0402": "needs a file of another version",
    "E0404": "needs a forged digest",
    "E0701": "the command says E0801 first",
    "E0702": "the command says E0805 first",
    "E0703": "the command says E0806 first",
    "E0704": "the command says E0806 first",
    "E0705": "the command says E0806 first",
    "E0505": "the command says E0803 first",
    "E0706": "the command gives every buffer its own memory",
    "E0708": "the command sets no step limit",
    "E0710": "being defined, it is only counted by the command; the API gives the first",
    "E0712": "takes more invocations than a test has time for",
    "E0714": "the command says E0811",
}
# Codes that no test can provoke, and why.
UNPROVOKED = {
    "E0603": "a module of 2^22 ids: minutes and gigabytes",
    "E0604": "a bug of ours by definition",
    "E0904": "a bug of ours by definition",
}


def codes(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return re.findall(r'^X\((\w+),\s*"(E\d{4})"', f.read(), re.MULTILINE)


def texts(*patterns):
    joined = []
    for pattern in patterns:
        for path in glob.glob(os.path.join(ROOT, pattern), recursive=True):
            if os.path.isfile(path) and path != os.path.abspath(__file__):
                with open(path, encoding="utf-8", errors="replace") as f:
                    joined.append(f.read())
    return "\n".join(joined)


def main():
    wrong = []
    with open(os.path.join(ROOT, "docs", "diagnostics.md"), encoding="utf-8") as f:
        explained = re.findall(r"^\| (E\d{4}) \| [^|]+ \|[^\n]+\|$", f.read(), re.MULTILINE)
    library = codes("ir/diag_codes.h")
    tool = codes("tools/data/codes.h") + [c for c in codes("session/codes.h") if c not in codes("tools/data/codes.h")]
    tool = [c for c in tool if c[1] not in dict((code, name) for name, code in library)]
    if len(library) < 60 or len(tool) < 14:
        sys.exit("the tables of codes are not read: has their form changed?")
    known = {code for _, code in library + tool}
    for code in sorted(known - set(explained)):
        wrong.append("%s: docs/diagnostics.md has no row for it" % code)
    for code in sorted(set(explained) - known):
        wrong.append("%s: docs/diagnostics.md explains it, but it does not exist" % code)
    for code in sorted(c for c in set(explained) if explained.count(c) > 1):
        wrong.append("%s: docs/diagnostics.md explains it twice" % code)

    diag = texts("tests/text/diag/**/*", "tests/text/shader/**/*")
    command = diag + texts("tests/text/**/*", "tests/scripts/*/*")
    beside = command + texts("tests/unit/*/*.c")
    for name, code in library + tool:
        where = command if (name, code) in tool else diag
        by_text = re.search(r"\b%s\b" % code, where)
        by_name = re.search(r'\b%s\b|\bVY_E_%s\b|\bTOOL_%s\b' % (code, name, name), beside)
        if code in UNPROVOKED:
            if by_text:
                wrong.append("%s: a test provokes it; strike it out in UNPROVOKED" % code)
        elif not by_text and code not in UNTEXTED:
            wrong.append("%s (%s): no failing program in tests/text/diag" % (code, name))
        elif not by_text and not by_name:
            wrong.append("%s (%s): no test; %s" % (code, name, UNTEXTED[code]))
        elif by_text and code in UNTEXTED:
            wrong.append("%s: a text provokes it; strike it out in UNTEXTED" % code)
    for code in sorted((set(UNTEXTED) | set(UNPROVOKED)) - known):
        wrong.append("%s is excused, but does not exist" % code)
    print("\n".join(wrong))
    return bool(wrong)


sys.exit(main())
