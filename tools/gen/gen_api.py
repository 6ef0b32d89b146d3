#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/api.md from the comments of the installed headers.

  tools/gen/gen_api.py SOURCE_ROOT HEADER… >docs/api.md        paths below SOURCE_ROOT

Of each header: what its first comment says, then every function with the comment above it, then every type.  Comments
are shown as they are, in blocks of code: their examples, tables and names need no translation.
"""
import os
import re
import sys

FUNCTION = re.compile(r"^(?:VY_API|VYS_API|VKRT_API)\b[^;{]*?\b(\w+)\([^;{]*\)(?:\s*__attribute__\(\(.*?\)\))?;[^\n]*$", re.M | re.S)
TYPE = re.compile(r"^typedef (?:struct|enum|union)[^;{]*\{.*?^\s*\}\s*(\w+);[^\n]*$", re.M | re.S)


def intro(text):
    """The comment at the top, without licence, file name and comment signs."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if "SPDX-License-Identifier" not in line:
            lines.append(line[2:].removeprefix(" ") if line != "//" else "")
    return "\n".join(lines).strip()


def comment_above(text, at):
    lines = text[:at].splitlines()
    k = len(lines)
    while k and lines[k - 1].startswith("//") and not lines[k - 1].startswith("// --"):
        k -= 1
    return "\n".join(lines[k:])


def items(text, pattern):
    """(name, comment and declaration); declarations that follow without a comment belong to the one above."""
    for m in pattern.finditer(text):
        above = comment_above(text, m.start())
        yield m.group(1), (above + "\n" if above else "") + m.group(0)


def section(root, header):
    with open(os.path.join(root, header), encoding="utf-8") as f:
        text = f.read()
    out = ["## `<vyre/%s>`" % header, "", "```text", intro(text), "```", ""]
    for title, pattern in (("Functions", FUNCTION), ("Types", TYPE)):
        found = list(items(text, pattern))
        if found:
            out += ["### %s of %s" % (title, header), ""]
        for name, code in found:
            out += ['<a id="%s"></a>' % name, "```c", code, "```", ""]
    return out


def names(root, headers):
    for header in headers:
        with open(os.path.join(root, header), encoding="utf-8") as f:
            text = f.read()
        for kind, pattern in (("function", FUNCTION), ("type", TYPE)):
            yield from ((name, kind, header) for name, _ in items(text, pattern))


def document(root, headers):
    index = sorted(names(root, headers))
    out = ["# API reference", "Made by `tools/gen/gen_api.py` from the comments of the installed headers; do not edit. Begin",
           "with `session/session.h`, a dozen calls from a text to numbers; [tutorial.md](tutorial.md) and", "`examples/` show it.",
           "", "| function | header |", "|---|---|"]
    out += ["| [%s](#%s) | %s |" % (name, name, header) for name, kind, header in index if kind == "function"]
    out.append("")
    for header in headers:
        out += section(root, header)
    return "\n".join(out).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(document(sys.argv[1], sys.argv[2:]))
