#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Structs of options in installed headers begin with `size_t size`, and the library takes them by it.

Options are structs that are called so (_options, _desc, _settings, or listed below), and those whose comment
says that all zero means defaults.  Each is copied by vy_take_options, vys_take or vkrt_take_desc with its name.
"""
import json
import os
import re
import sys

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
CALLED = re.compile(r"_(options|desc|settings)$")
OTHERS = ("vy_check_request", "vys_fit", "vys_comm")
STRUCT = re.compile(r"((?://[^\n]*\n)*)typedef struct (\w+) \{\n(.*?)\n\} \w+;", re.S)


def installed():
    with open(os.path.join(BUILD, "meson-info", "intro-installed.json"), encoding="utf-8") as f:
        return sorted(path for path in json.load(f) if path.endswith(".h"))


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def options():
    """(header, name, whether it begins with its size)"""
    for path in installed():
        for comment, name, members in STRUCT.findall(read(path)):
            if CALLED.search(name) or name in OTHERS or re.search("all zero: defaults|Zero-initialised means defaults", comment, re.I):
                code = re.sub(r"//[^\n]*", "", members)
                yield os.path.relpath(path, os.path.realpath(SRC)), name, code.split(";")[0].split() == ["size_t", "size"]


def sources():
    folders = ("ir", "autodiff", "spirv", "session", "vkrt")
    return "\n".join(read(os.path.join(at, name)) for folder in folders for at, _, names in os.walk(os.path.join(SRC, folder))
                     for name in names if name.endswith(".c"))


def main():
    found, code, wrong = list(options()), sources(), []
    for path, name, sized in found:
        if not sized:
            wrong.append("%s: %s does not begin with `size_t size`" % (path, name))
        elif not re.search(r'_take(?:_options|_desc)?\([^;]*"%s"' % name, code):
            wrong.append("%s: nothing takes a caller's %s by its size (vy_take_options)" % (path, name))
    missing = sorted(set(OTHERS) - {name for _, name, _ in found})
    if missing or len(found) < 20:
        wrong.append("found %d structs, without %s: adapt this test" % (len(found), ", ".join(missing)))
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
