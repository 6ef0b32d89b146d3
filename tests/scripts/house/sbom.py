#!/usr/bin/env python3
# ONCE
"""The bill of materials (vyre.cdx.json) is installed and names, with a version, all that an installed file is linked
with, as the linker sees it; and what it names is used."""
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["BUILD"]


def needed(path):
    """Sonames that an ELF file needs; none of others."""
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return set(), None
    said = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", said)), (re.findall(r"\(SONAME\).*\[(.*)\]", said) + [None])[0]


def main():
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root],
                       check=True, stdout=subprocess.DEVNULL)
        paths = [os.path.join(at, name) for at, _, names in os.walk(root) for name in names]
        found = [path for path in paths if path.endswith("/share/vyre/vyre.cdx.json")]
        if not found:
            print("no vyre.cdx.json is installed")
            return 1
        with open(found[0], encoding="utf-8") as file:
            bom = json.load(file)
        files = [needed(path) for path in paths if not os.path.islink(path)]
    linked = set().union(*(names for names, _ in files))
    listed = {one["name"]: one for one in bom["components"]}
    static = {name for name, one in listed.items() if "properties" in one}
    ours = {soname for _, soname in files if soname} | {"vyre-grad", "vyre-mpi.so", "vyre-npz.so"}
    wrong = ["not listed: " + name for name in sorted(linked - listed.keys())]
    wrong += ["listed, but nothing is linked with it: " + name for name in sorted(listed.keys() - linked - static - ours)]
    wrong += ["no version: " + name for name, one in sorted(listed.items()) if "version" not in one]
    wrong += ["no licence: " + name for name, one in sorted(listed.items()) if "licenses" not in one]
    wrong += ["static, not listed: " + name for name in {"SPIRV-Tools", "volk"} - static]
    print("\n".join(wrong))
    return bool(wrong)


sys.exit(main())
