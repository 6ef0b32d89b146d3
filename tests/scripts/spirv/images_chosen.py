#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Images that a shader chooses from an array mean what a chain of conditions means: random pairs of
shaders (tests/fuzz/images_chosen.py).

Both of a pair have the same results and gradients, on the interpreter and on the device, and the
text of the first is printed again as it is.  From a fresh seed that is printed; VYRE_SEED sets the
seed, VYRE_COUNT the number of pairs, VYRE_ENGINES some of eval,vulkan.
"""
import os
import re
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import images_chosen  # noqa: E402

COMMAND = os.environ.get("VYRE_COMMAND") or os.path.join(BUILD, "tools", "vyre-grad")
NUMBER = re.compile(r"-?(?:inf|nan|\d[\d.]*(?:e[-+]?\d+)?)")


class Wrong(Exception):
    pass


def call(*words):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong("%s: %s" % (" ".join(words[:2]), (done.stderr + done.stdout)[:400]))
    return done.stdout


def numbers(path, data, engine):
    names = [re.sub(r"\[.*", "", name) for name, _ in data]
    wrt = ["x"] + [name for name in names if name.startswith(("page", "tile"))]
    of = ["y"] + [name for name in names if name.startswith("to")]
    # what no step needs is no input
    used = call("print", path, "--sampler", "linear,clamp")
    unread = lambda name: not re.search(r"`?\b%s`?: \w+ \w" % re.escape(name), used)
    ins = [word for (name, spec), short in zip(data, names) if not unread(short) for word in ("--in", "%s=%s" % (name, spec))]
    wrt, of = [[n for n in some if not unread(n)] for some in (wrt, of)]
    said = call("run", path, "--engine", engine, "--sampler", "linear,clamp", "--groups", "1", *ins, "--grad", "--wrt", ",".join(wrt), "--of", ",".join(of))
    found = {}
    for line in said.splitlines():
        if "=" in line:
            found[line.split(" ")[0].replace(".", "")] = [float(n) for n in NUMBER.findall(line.split("=", 1)[1])]
    return found


def same(a, b):
    return len(a) == len(b) and all(x == y or x != x and y != y or abs(x - y) <= 1e-5 * (1 + abs(x)) for x, y in zip(a, b))


def look(folder, seed):
    texts, data = images_chosen.make(seed)
    paths = []
    for k, text in enumerate(texts):
        paths.append(os.path.join(folder, "%d.comp" % k))
        with open(paths[k], "w", encoding="utf-8") as f:
            f.write(text)
    apart = [(re.sub(r"\.(?=\d)", "", name), spec) for name, spec in data]
    for engine in (os.environ.get("VYRE_ENGINES") or "eval,vulkan").split(","):
        first, second = numbers(paths[0], data, engine), numbers(paths[1], apart, engine)
        for name in first.keys() | second.keys():
            a, b = first.get(name), second.get(name)
            if not same(a or [0] * len(b or []), b or [0] * len(a or [])):
                raise Wrong("%s: %s is %s, with conditions %s" % (engine, name, a, b))
    text = call("print", paths[0], "--sampler", "linear,clamp")
    printed = os.path.join(folder, "p.vyre")
    with open(printed, "w", encoding="utf-8") as f:
        f.write(text)
    if call("print", printed) != text:
        raise Wrong("printed again it is another text")


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count, wrong = int(os.environ.get("VYRE_COUNT") or 3), 0
    print("seed %d" % seed)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            try:
                look(folder, seed + k)
            except Wrong as e:
                wrong += 1
                print("pair %d: %s" % (seed + k, e))
    print("%d pairs: %d wrong" % (count, wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
