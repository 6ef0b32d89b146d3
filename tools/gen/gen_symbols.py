#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A version script for the linker: the functions that a library's installed headers declare get the version in which
they came, all other symbols are local.

  tools/gen/gen_symbols.py OUT NODE HEADER…

NODE: VYRE_0.1, the version that all functions have until one changes after 1.0; then a second node is added here.
"""
import sys

import gen_api


def main():
    out, node, *headers = sys.argv[1:]
    names = set()
    for header in headers:
        with open(header, encoding="utf-8") as f:
            names.update(name for name, _ in gen_api.items(f.read(), gen_api.FUNCTION))
    with open(out, "w", encoding="utf-8") as f:
        f.write("%s {\n  global:\n%s  local: *;\n};\n" % (node, "".join("    %s;\n" % name for name in sorted(names))))


main()
