"""Lists what the command and the libraries are linked with: a bill of materials, CycloneDX 1.4 (JSON).

    sbom.py OUT VERSION FILE… -- NAME=VERSION=LICENSE…

What a FILE needs at run time is read from it (readelf); the version is that of the Debian package that has the
library, where dpkg knows it.  What became a part of a FILE (NAME=VERSION=LICENSE: archives, code in headers) leaves no
name there, so meson.build says it.  There is no date and no random number in it: the same build, the same bytes.
"""
import json
import os
import re
import subprocess
import sys

LICENSES = { # by the beginning of the file's name
    "libisl.": "MIT", "libgmp.": "LGPL-3.0-or-later OR GPL-2.0-or-later", "libcjson.": "MIT", "libpng16.": "libpng-2.0",
    "libstdc++.": "GPL-3.0-or-later WITH GCC-exception-3.1", "libgcc_s.": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libc.": "LGPL-2.1-or-later", "libm.": "LGPL-2.1-or-later", "ld-linux": "LGPL-2.1-or-later",
    "libmpi.": "BSD-3-Clause", "libzip.": "BSD-3-Clause",
}


def said(*command):
    """What a command prints; nothing where there is no such command."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-dW", file))


def name_of(file):
    """What others need it by, or the file's name."""
    return (re.findall(r"\(SONAME\).*\[(.*)\]", said("readelf", "-dW", file)) + [os.path.basename(file)])[0]


def places(files):
    """Where the loader finds each library."""
    found = (re.findall(r"(/\S+) \(0x", said("ldd", file)) for file in files)
    return {os.path.basename(path): path for path in sum(found, [])}


def spellings(path):
    """What dpkg may know a file by: it may be without /usr there."""
    return path, os.path.realpath(path), re.sub("^/usr", "", path), "/usr" + path


def packages(paths):
    """Name, version and architecture of the Debian package that has each file."""
    asked = sorted({name for path in paths for name in spellings(path)})
    owner = {name: who for who, name in re.findall(r"^(\S+): (/.*)$", said("dpkg", "-S", *asked), re.M)} if asked else {}
    known = {path: next((owner[name] for name in spellings(path) if name in owner), None) for path in paths}
    wanted = sorted({who for who in known.values() if who})
    about = said("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\\n", *wanted) if wanted else ""
    fields = {line.split()[0]: line.split() for line in about.splitlines()}
    return {path: fields.get(who.split(":")[0]) for path, who in known.items() if who}


def component(name, license_of, version=None, **more):
    found = {"type": "library", "bom-ref": name, "name": name, **more}
    if version:
        found["version"] = version
    if license_of:
        found["licenses"] = [{"expression": license_of}]
    return found


def dynamic(soname, owner):
    """A library that the loader brings."""
    license_of = next((text for start, text in LICENSES.items() if soname.startswith(start)), None)
    if not owner:
        return component(soname, license_of, scope="required")
    purl = "pkg:deb/debian/%s@%s?arch=%s" % (owner[0], owner[1].replace("+", "%2B"), owner[2])
    return component(soname, license_of, owner[1], scope="required", purl=purl)


def main():
    out, version, *rest = sys.argv[1:]
    files, parts = rest[:rest.index("--")], [part.split("=") for part in rest[rest.index("--") + 1:]]
    names = {name_of(file): needed(file) for file in files}
    if not all(names.values()):
        sys.exit("sbom: readelf says nothing on " + ", ".join(name for name in names if not names[name]))
    at = places(files)
    others = sorted(set(sum(names.values(), [])) - set(names))
    owner = packages([at[soname] for soname in others if soname in at])
    bom = {
        "bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "vyre", "name": "vyre", "version": version,
                                   "licenses": [{"expression": "MIT"}]}},
        "components": [component(name, license_of, number, properties=[{"name": "linked", "value": "statically"}])
                       for name, number, license_of in sorted(parts)] +
                      [dynamic(soname, owner.get(at.get(soname))) for soname in others] +
                      [component(name, "MIT", version) for name in sorted(names)],
        "dependencies": [{"ref": name, "dependsOn": sorted(names[name])} for name in sorted(names)],
    }
    with open(out, "w", encoding="utf-8") as file:
        json.dump(bom, file, indent=1)
        file.write("\n")


main()
