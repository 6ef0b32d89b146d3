#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Embeds documents in the command: sections of docs/language.md, rows of docs/diagnostics.md.

usage: gen_topics.py OUTPUT.h LANGUAGE.md DIAGNOSTICS.md
"""
import re
import sys

# Of Markdown what a terminal does not need: links keep their words, tables their columns.
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def plain(text):
    return LINK.sub(r"\1", text)


def literal(text):
    """A C string literal of short parts: compilers limit the length of each, and lines are read by people."""
    parts = []
    for line in text.split("\n"):
        data = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        parts.append('"%s\\n"' % data)
    parts[-1] = parts[-1][:-3] + '"'  # the last line without its end
    return "\n     ".join(parts)


def sections(text):
    """(number, title, text) of each heading; what is below a heading of the second level is part of it."""
    at = [(m.start(), m.group(1), m.group(2), m.group(3)) for m in re.finditer(r"^(##+) ([\d.]+) ([^\n]*)", text, re.M)]
    for k, (start, level, number, title) in enumerate(at):
        end = next((s for s, deeper, _, _ in at[k + 1:] if len(deeper) <= len(level)), len(text))
        yield number, plain(title).replace("`", ""), plain(text[start:end]).lstrip("# ").rstrip() + "\n"


def rows(text):
    for code, wrong, fix in re.findall(r"^\| (E\d{4}) \| (.*?) \| (.*?) \|$", text.replace("\\|", "\0"), re.M):
        yield code, plain(wrong).replace("\0", "|"), plain(fix).replace("\0", "|")


def main():
    output, language, diagnostics = sys.argv[1:]
    with open(language, encoding="utf-8") as f:
        topics = list(sections(f.read()))
    with open(diagnostics, encoding="utf-8") as f:
        errors = list(rows(f.read()))
    if not topics or not errors:
        sys.exit("gen_topics.py: no sections or no rows")
    with open(output, "w", encoding="utf-8") as f:
        f.write("// Made by tools/gen/gen_topics.py from %s and %s.\n" % ("docs/language.md", "docs/diagnostics.md"))
        f.write("static const struct {\n    const char *number, *title, *text;\n} topics[] = {\n")
        for number, title, text in topics:
            f.write("    {%s, %s,\n     %s},\n" % (literal(number), literal(title), literal(text)))
        f.write("};\nstatic const struct {\n    const char *code, *wrong, *fix;\n} errors[] = {\n")
        for code, wrong, fix in errors:
            f.write("    {%s,\n     %s,\n     %s},\n" % (literal(code), literal(wrong), literal(fix)))
        f.write("};\n")


main()
