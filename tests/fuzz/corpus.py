#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The seeds of the fuzzing harnesses, one archive each:
tests/fuzz/corpus/{text,binary,npy,command,spirv}.tar.xz.

  corpus.py list [NAME…]           every seed with its size, and how many there are
  corpus.py unpack DIR [NAME…]     the seeds as files: DIR/NAME/…
  corpus.py pack DIR NAME          makes the archive NAME of all files in DIR
  corpus.py add NAME FILE…         adds files to it, under their own names

The same seeds give the same archive: sorted by name, without times, owners or modes of their own.
"""
import argparse
import io
import lzma
import os
import sys
import tarfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
NAMES = ("text", "binary", "npy", "command", "spirv")


def archive_of(name, folder=FOLDER):
    return os.path.join(folder, name + ".tar.xz")


def checked(name):
    """The name of a seed: a relative path that leaves no folder."""
    if not name or name.startswith("/") or any(p in ("", ".", "..") for p in name.split("/")):
        raise ValueError("%r is no name for a seed" % name)
    return name


def stream_of(seeds):
    """{name: bytes} as an uncompressed archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(seeds):
            entry = tarfile.TarInfo(checked(name))  # mode 644, time 0, owner 0 without a name
            entry.size = len(seeds[name])
            tar.addfile(entry, io.BytesIO(seeds[name]))
    return out.getvalue()


def stored_stream(name, folder=FOLDER):
    """What archive `name` holds, uncompressed."""
    with lzma.open(archive_of(name, folder)) as f:
        return f.read()


def load(name, folder=FOLDER):
    """{name of the seed: bytes}."""
    seeds = {}
    with tarfile.open(fileobj=io.BytesIO(stored_stream(name, folder))) as tar:
        for entry in tar:
            if not entry.isfile() or entry.name in seeds:
                raise ValueError("%s: %r is no seed, or there twice" % (archive_of(name, folder), entry.name))
            seeds[checked(entry.name)] = tar.extractfile(entry).read()
    return seeds


def save(name, seeds, folder=FOLDER):
    """Writes the archive, whole or not at all; one that has these seeds already stays as it is."""
    path, stream = archive_of(name, folder), stream_of(seeds)
    # Another version of the library may compress the same bytes in another way: that is no change.
    if os.path.exists(path) and stored_stream(name, folder) == stream:
        return
    with open(path + ".new", "wb") as f:
        f.write(lzma.compress(stream, check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME))
    os.replace(path + ".new", path)


def files_in(folder):
    seeds = {}
    for at, _, files in os.walk(folder):
        for file in files:
            path = os.path.join(at, file)
            with open(path, "rb") as f:
                seeds[os.path.relpath(path, folder)] = f.read()
    return seeds


def unpack(name, folder):
    for seed, data in load(name).items():
        path = os.path.join(folder, name, seed)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)


def add(name, paths, folder=FOLDER):
    seeds = load(name, folder)
    for path in paths:
        seed = os.path.basename(path)
        with open(path, "rb") as f:
            data = f.read()
        if seeds.setdefault(seed, data) != data:
            raise ValueError("%s has another seed named %s: give the file a name of its own" % (name, seed))
    save(name, seeds, folder)


def show(name):
    seeds = load(name)
    for seed in sorted(seeds):
        print("%6d  %s/%s" % (len(seeds[seed]), name, seed))
    print("%s: %d seeds, %d bytes, %d packed" % (
        name, len(seeds), sum(map(len, seeds.values())), os.path.getsize(archive_of(name))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("list")
    one.add_argument("names", nargs="*", metavar="NAME")
    one = verbs.add_parser("unpack")
    one.add_argument("folder", metavar="DIR")
    one.add_argument("names", nargs="*", metavar="NAME")
    one = verbs.add_parser("pack")
    one.add_argument("folder", metavar="DIR")
    one.add_argument("name", choices=NAMES)
    one = verbs.add_parser("add")
    one.add_argument("name", choices=NAMES)
    one.add_argument("paths", nargs="+", metavar="FILE")
    args = parser.parse_args()
    try:
        if args.verb == "pack":
            save(args.name, files_in(args.folder))
        elif args.verb == "add":
            add(args.name, args.paths)
        for name in getattr(args, "names", None) or NAMES:
            if args.verb == "list":
                show(name)
            elif args.verb == "unpack":
                unpack(name, args.folder)
    except (OSError, ValueError, lzma.LZMAError, tarfile.TarError) as e:
        sys.exit("corpus.py: %s" % e)
    return 0


if __name__ == "__main__":
    sys.exit(main())
