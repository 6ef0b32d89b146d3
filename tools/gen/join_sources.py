"""Joins C sources into a small number of files, for the fastest build (meson setup -Djoined=true).

    join_sources.py ROOT OUT SOURCES     writes OUT/joined_N.c and prints their names

A source of ours is some 170 lines and its headers are several times that: compiled one by one, most
of the time goes into reading the same headers and into starting the compiler.  A joined file is a
list of lines #include "…c".

Sources that give one name two meanings cannot be in one list: `static bool fits(…)` here and another
one there, or a type of a room's header that is a function elsewhere.  So each source has its names,
with the file that declares them, and goes to the list with which it shares the most headers among
those that give none of its names another meaning.  This is not all of C (what a header of a header
of the system declares is not seen); where it is not enough, the joined file does not compile, which
tests/scripts/house/dist.sh notices.
"""

import collections
import functools
import os
import re
import sys

ROOT, OUT = (os.path.abspath(path) for path in sys.argv[1:3])

NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|_Atomic\s*\([^()]*\)")
DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<(\w+\.h)>)', re.M)
DEFINE, UNDEF = (re.compile(rf"^[ \t]*#[ \t]*{word}[ \t]+(\w+)", re.M) for word in ("define", "undef"))
STATEMENT = re.compile(r";|(?<=\))\s*\{\}")
TAG = re.compile(r"\b(?:struct|enum|union)\s+(\w+)\s*\{\}")
TYPE = re.compile(r"\(\s*\*\s*(\w+)\s*\)|(\w+)\s*(?:\[[^]]*\]|\([^()]*\))?\s*$")
VALUE = re.compile(r"=[^,;]*|\[[^]]*\]")


@functools.cache
def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().replace("\\\n", " ")


@functools.cache
def includes(path):
    """Our headers that a file names, and those of the system that are not in a folder of their own."""
    if not path.startswith(ROOT):
        return []
    found = (os.path.join(ROOT, ours) if ours else "/usr/include/" + system
             for ours, system in INCLUDE.findall(read(path)))
    return [os.path.normpath(path) for path in found if os.path.exists(path)] # not what the build generates


def file_scope(text):
    """TEXT with `{}` for what is in braces, and the constants of its enumerations."""
    kept, constants, depth, start = [], set(), 0, 0
    for brace in re.finditer("[{}]", text):
        depth += 1 if brace.group() == "{" else -1
        if depth == 1 and brace.group() == "{":
            kept.append(text[start:brace.start()])
            start = brace.end()
        elif depth == 0:
            if re.search(r"\benum\b[^;{}()]*$", kept[-1]):
                constants |= set(re.findall(r"(?:^|,)\s*(\w+)", text[start:brace.start()]))
            kept.append("{}")
            start = brace.end()
    return "".join(kept) + text[start:], constants


def declared(statement, everything):
    """The names that a statement at file scope declares; without EVERYTHING, not those of other files."""
    names = set(TAG.findall(statement))
    if "typedef" in statement:
        found = TYPE.search(statement)
        return names | {found.group(1) or found.group(2)} if found else names
    if everything or "static" in statement:
        statement = VALUE.sub(" ", statement)
        function = re.search(r"(\w*[a-z]\w*)\s*\(", statement) # with no small letter: a macro
        names |= {function.group(1)} if function else set(re.findall(r"(\w+)\s*(?:,|$)", statement))
    return names


def scan(path, everything):
    """What a file declares; the macros that it leaves defined; its text."""
    text = ATTRIBUTE.sub(" ", NOISE.sub(" ", read(path)))
    macros = set(DEFINE.findall(text)) - set(UNDEF.findall(text))
    text = DIRECTIVE.sub("", text)
    top, names = file_scope(text)
    for statement in STATEMENT.split(top):
        names |= declared(statement.strip(), everything)
    return names, macros, text


@functools.cache
def header(path):
    return scan(path, True)[0]


class Source:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        own, self.macros, text = scan(self.path, False)
        self.words = set(re.findall(r"[A-Za-z_]\w*", text))
        before = read(self.path).rpartition("#include")[0]
        self.alone = bool(self.macros.intersection(DEFINE.findall(before))) # its headers say more than others'
        self.headers, todo = set(), list(includes(self.path))
        while todo:
            one = todo.pop()
            if one not in self.headers:
                self.headers.add(one)
                todo += includes(one)
        self.names = {name: one if one.startswith(ROOT) else "system"
                      for one in sorted(self.headers) for name in header(one)}
        self.names.update(dict.fromkeys(own, self.path))


class List:
    """Sources that are compiled as one."""

    def __init__(self):
        self.sources, self.headers, self.names, self.macros, self.words = [], set(), {}, set(), set()

    def takes(self, source):
        if source.alone or self.sources[0].alone or source.macros & self.words or self.macros & source.words:
            return False
        return all(self.names.get(name, by) == by for name, by in source.names.items())

    def add(self, source):
        self.sources.append(source)
        self.headers |= source.headers
        self.names.update(source.names)
        self.macros |= source.macros
        self.words |= source.words


def join(sources):
    meanings = collections.defaultdict(set)
    for source in sources:
        for name, by in source.names.items():
            meanings[name].add(by)
    lists = []
    for source in sources:
        source.names = {name: by for name, by in source.names.items() if len(meanings[name]) > 1}
        fitting = [one for one in lists if one.takes(source)]
        if not fitting:
            fitting = [List()]
            lists += fitting
        max(fitting, key=lambda one: len(one.headers & source.headers)).add(source)
    return lists


def main():
    os.makedirs(OUT, exist_ok=True)
    for number, one in enumerate(join([Source(path) for path in sys.argv[3:]])):
        path = os.path.join(OUT, f"joined_{number}.c")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{source.path}"\n' for source in one.sources)
        print(path)


main()
