#!/usr/bin/env python3
# ONCE
"""editors/vyre.tmLanguage.json has the words that the lexer and the table of operations have, and its patterns find
what they should in a program.  BLESS=1 writes it."""
import json
import os
import re
import subprocess
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
PATH = os.path.join(SRC, "editors", "vyre.tmLanguage.json")
# Words that mean something at their place only, and are names elsewhere.
AT_THEIR_PLACE = ("struct", "case", "rev", "in", "out")
VECTOR = r"[iudhb]?vec[234]|[dh]?mat[234](?:x[234])?"
SAMPLE = """// a comment
const D: u32 = 0x1f; program f(x: in f32[N], N: u32) over(i: N) { let v = vec3(1.5e-3, pi, inf); if (true) { x[i] = sqrt(lindex); } }"""
FOUND = {"comment.line.double-slash.vyre": ["// a comment"], "keyword.control.vyre": ["const", "program", "over", "let", "if"],
         "keyword.other.vyre": ["in"], "storage.type.vyre": ["u32", "f32", "u32", "vec3"],
         "constant.numeric.vyre": ["0x1f", "1.5e-3"], "constant.language.vyre": ["pi", "inf", "true"],
         "support.function.vyre": ["sqrt"], "variable.language.vyre": ["lindex"], "entity.name.function.vyre": ["f"]}


def words():
    out = {}
    for line in subprocess.run([os.path.join(BUILD, "tests", "grammar_words")], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, word = line.split()
        out.setdefault(kind, []).append(word)
    return out


def one_of(names):
    return r"\b(?:%s)\b" % "|".join(sorted(set(names)))


def grammar():
    w = words()
    constants = ["true", "false", "inf", "nan", "pi"]
    rules = [("comment.line.double-slash.vyre", r"//.*$"),
             ("string.quoted.double.vyre", r'"[^"\n]*"'),
             ("storage.modifier.attribute.vyre", r"@[a-z_]+"),
             ("entity.name.function.vyre", r"(?<=\bprogram )\w+|(?<=\bpipeline )\w+|(?<=\bfn )\w+"),
             ("constant.language.vyre", one_of(constants)),
             ("keyword.control.vyre", one_of(x for x in w["keyword"] if x not in constants)),
             ("keyword.other.vyre", one_of(AT_THEIR_PLACE)),
             ("storage.type.vyre", r"\b(?:%s|%s)\b" % (VECTOR, "|".join(sorted(w["type"])))),
             ("constant.numeric.vyre", r"\b(?:0x[0-9a-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)"),
             ("support.function.vyre", r"%s(?=\s*\()" % one_of(w["function"])),
             ("variable.language.vyre", one_of(w["value"]))]
    return {"$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json", "name": "Vyre", "scopeName": "source.vyre",
            "fileTypes": ["vyre"], "patterns": [{"name": name, "match": match} for name, match in rules]}


def scan(patterns, line):
    """What an editor does: at each place the pattern that matches first, of those the first in order."""
    at = 0
    while True:
        hits = [(m.start(), k, m) for k, p in enumerate(patterns) for m in [re.compile(p["match"]).search(line, at)] if m and m.end() > at]
        if not hits:
            return
        _, k, m = min(hits, key=lambda h: h[:2])
        yield patterns[k]["name"], m.group()
        at = m.end()


def main():
    made = json.dumps(grammar(), indent=2) + "\n"
    if os.environ.get("BLESS"):
        with open(PATH, "w", encoding="utf-8") as f:
            f.write(made)
    with open(PATH, encoding="utf-8") as f:
        have = f.read()
    found = {}
    for line in SAMPLE.splitlines():
        for name, text in scan(json.loads(have)["patterns"], line):
            found.setdefault(name, []).append(text)
    if have != made:
        print("editors/vyre.tmLanguage.json is not what the tables say: BLESS=1 SRC=. BUILD=build tests/scripts/ir/grammar.py")
    if found != FOUND:
        print("its patterns find %s" % found)
    return have != made or found != FOUND


sys.exit(main())
