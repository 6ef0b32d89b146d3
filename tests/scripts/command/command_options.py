#!/usr/bin/env python3
# ONCE
"""`vyre-grad VERB --help` lists exactly the options that the verb takes.

Every option of the table in tools/command/options_table.c is given to every verb: one that is listed must be
taken, with a value that suits it and with what it needs beside it; one that is not listed must be
refused as an option of other verbs.
"""
import os
import re
import subprocess
import sys

GRAD = os.environ["VYRE_GRAD"]
PROGRAM = """const C: f32 = 1.0;
program f(x: in f32[N], w: in f32[1], loss: out f32[1], s: f32, N: u32) over(i: N) { atomic_add(loss[0], C * s * x[i] * w[0] * w[0]); }
"""
DATA = ["--in", "x=1,2", "--in", "w=3", "--set", "s=1", "--engine", "eval"]
# What a verb needs to run, and has where an option is tried.
VERBS = {verb: ["f.vyre"] for verb in "grad jvp compile run check print explain bench fit inspect info".split()}
VERBS.update({"run": ["f.vyre", *DATA], "check": ["f.vyre", *DATA], "bench": ["f.vyre", *DATA, "--runs", "1"],
              "fit": ["f.vyre", *DATA, "--of", "loss", "--params", "w", "--lr", "1e-3", "--steps", "2"],
              "explain": ["f.vyre", "--set", "s=1"], "devices": []})
VALUES = {
    "--program": "f", "--of": "loss", "--wrt": "w", "--name": "g", "--output": "out.json", "--seed": "ones", "--accumulate": "atomic",
    "--checkpoint": "none", "--tape-limit": "4096", "--batches": "2", "-D": "C=2", "--entry": "main", "--spec": "C=2", "--sampler": "linear,clamp", "--shape": "x=?", "--assume": "n <= m", "--tune": "N=9", "-I": ".", "-O": "1",
    "--coarsen": "1", "--target": "vulkan1.2", "--validate": "always", "--for": "any", "--order": "1", "--enable": "shader_atomic_float",
    "--dump-after": "dce", "--color": "never", "--set": "N=2", "--in": "@./", "--out": "w=@w.npy", "--ct": "loss=1",
    "--dot": "w=1", "--groups": "1,1,1", "--engine": "eval", "--eval-type": "f64", "--subgroup-size": "8", "--shuffle": "3",
    "--device": "0", "--driver": "nothing.json", "--timeout": "9", "--samples": "2", "--allow": "out-of-range", "--params": "w",
    "--optimizer": "sgd", "--lr": "1e-4", "--steps": "1", "--batch": "x:1", "--shard": "x", "--parts": "2", "--checkpoint-every": "9", "--write-pipeline": "written",
    "--plot": "plot.png", "--resume": "absent.fit", "--runs": "2", "--against": "absent.json", "--tolerance": "1e-3",
}
BESIDE = {("run", "--wrt"): ["--grad"], ("run", "--ct"): ["--grad"], ("run", "--dot"): ["--jvp"], ("bench", "--dot"): ["--jvp"],
          ("bench", "--tolerance"): ["--against", "absent.json", "--engine", "vulkan"], ("bench", "--against"): ["--engine", "vulkan"],
          ("bench", "--peak"): ["--engine", "vulkan"], ("fit", "--parts"): ["--shard", "x", "--deterministic"]}
# Refusals because of this file: another one could have the option.
CONTEXT = re.compile("are of SPIR-V modules|has a domain `over` of its own|says itself how many workgroups")
bad = []


def run(verb, *args):
    done = subprocess.run([GRAD, verb, *args], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def listed(verb):
    """Names and letters in the list of options, each with whether it takes a value."""
    options = {}
    for line in run(verb, "--help")[1].split("\nOptions:\n")[1].split("\n\n")[0].splitlines():
        left = re.match(r"  (?:(-[a-zA-Z])(?:, )?)?(--[a-z-]+)?(.*?)(?:  |$)", line)
        for name in filter(None, left.groups()[:2] if line[2:3] == "-" else ()):
            if name in options:
                bad.append("%s --help: %s is listed twice" % (verb, name))
            options[name] = bool(left[3].strip())
    return options


def table():
    """All options of the source: {name or letter: its name, else its letter}."""
    with open(os.path.join(os.environ["SRC"], "tools", "command", "options_table.c"), encoding="utf-8") as f:
        rows = re.findall(r"""^    \{(0|'(.)'), *OPT_[A-Z]+, .*?(NULL|"(--[a-z-]+)"), """, f.read(), re.M)
    return {name: long or "-" + letter for _, letter, _, long in rows for name in (long, letter and "-" + letter) if name}


def taken(verb, name, main, valued):
    args = [VALUES[main]] if valued else []
    word = [name + args[0]] if name == "-O" else [name, *args]
    base = list(VERBS[verb])
    if main in ("--of", "--params") and main in base:
        del base[base.index(main):base.index(main) + 2]
    status, _, err = run(verb, *base, *BESIDE.get((verb, main), []), *word)
    wrong = "[E0801]" in err and not CONTEXT.search(err)
    if wrong or status not in (0, 1, 2, 3) or "unknown option" in err or "is not an option" in err or "takes no value" in err:
        bad.append("%s %s: listed, but %s" % (verb, " ".join(word), err.strip()))


def refused(verb, name, main):
    status, out, err = run(verb, name, VALUES.get(main, "x"))
    if status != 1 or out or "%s is not an option of `%s`" % (name, verb) not in err:
        bad.append("%s %s: not listed, but %s" % (verb, name, err.strip() or "taken"))


def main():
    with open("f.vyre", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    names = table()
    if len(names) < 60:
        bad.append("the table of tools/command/options_table.c was not understood: %d names" % len(names))
    for verb in VERBS:
        options = listed(verb)
        for name in options.keys() - names.keys():
            bad.append("%s --help: %s is not in the table" % (verb, name))
        for name, long in names.items():
            if name in options:
                taken(verb, name, long, options[long])
            else:
                refused(verb, name, long)
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
