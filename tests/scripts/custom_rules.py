#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Functions that state their derivative (@vjp, @jvp) against the derivatives of the language.

In random programs (tests/fuzz/programs.py) calls of sin, exp, fma, … become calls of functions of the
same value whose rules state the derivative that the language has for them.  `vyre-grad check`
compares gradients with differences of the bodies, and both modes with each other, so a copy must
pass where the program itself does, at order 2 too, where the rules are differentiated.

From a fresh seed that is printed; VYRE_SEED sets it, VYRE_COUNT the number of programs.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

SRC, COMMAND = os.environ["SRC"], os.environ["VYRE_GRAD"]
sys.path.insert(0, os.path.join(SRC, "tests", "fuzz"))
sys.dont_write_bytecode = True
import programs  # noqa: E402

# name: parameters, derivative with respect to each.  None has a singular point, at which a rule's
# product with a cotangent of 0 would differ from a masked derivative.  `sin'` and so on are the
# functions of this table, so that rules call functions that have rules themselves.
TABLE = {
    "sin": ("a", ["cos'(a)"]), "cos": ("a", ["-sin'(a)"]), "exp": ("a", ["exp'(a)"]),
    "tanh": ("a", ["1.0 - tanh'(a) * tanh'(a)"]), "atan": ("a", ["1.0 / (1.0 + a * a)"]),
    "sigmoid": ("a", ["sigmoid'(a) * (1.0 - sigmoid'(a))"]), "softplus": ("a", ["sigmoid'(a)"]),
    "fma": ("abc", ["b", "a", "1.0"]), "mix": ("abc", ["1.0 - c", "c", "b - a"]),
}
FORMS = ("vjp", "jvp", "both")
CALL = re.compile(r"(?<![\w.@])(%s)\(" % "|".join(TABLE))


def functions(names, r):
    """Texts of the functions of these names and of those that their rules call."""
    out, done, todo = [], set(), sorted(names)
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        letters, partials = TABLE[name]
        todo += sorted(set(re.findall(r"(\w+)'", " ".join(partials))) - done)
        partials = [re.sub(r"(\w+)'", r"stated_\1", "(%s)" % p) for p in partials]
        form, own = r.choice(FORMS), ", ".join("%s: f32" % a for a in letters)
        marks = " ".join("@%s(%s_%s)" % (m, name, m) for m in ("vjp", "jvp") if form in (m, "both"))
        out.append("%s fn stated_%s(%s) -> f32 { return %s(%s); }" % (marks, name, own, name, ", ".join(letters)))
        if form != "jvp":
            many = len(letters) > 1
            out.append("fn %s_vjp(%s, ct: f32) -> %s { return %s; }" % (
                name, own, "(%s)" % ", ".join(["f32"] * len(letters)) if many else "f32",
                ("(%s)" if many else "%s") % ", ".join("%s * ct" % p for p in partials)))
        if form != "vjp":
            out.append("fn %s_jvp(%s, %s) -> f32 { return %s; }" % (
                name, own, ", ".join("d%s: f32" % a for a in letters),
                " + ".join("%s * d%s" % (p, a) for p, a in zip(partials, letters))))
    return out


def vyre(*words):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def with_rules(path, text, r):
    """The program with as many calls replaced as its types allow (all are functions of f32); None without any."""
    replaced, at = set(), 0
    while True:
        call = CALL.search(text, at)
        if not call:
            break
        at = call.end()
        tried = text[:call.start()] + "stated_" + text[call.start():]
        write(path, "\n".join(functions(replaced | {call.group(1)}, random.Random(1))) + "\n" + tried)
        if vyre("print", path).returncode == 0:
            text, at = tried, at + len("stated_")
            replaced.add(call.group(1))
    return "\n".join(functions(replaced, r)) + "\n" + text if replaced else None


def passes(path, order):
    done = vyre("check", path, "--engine", "eval", "--order", order)
    return done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    number = int(os.environ.get("VYRE_COUNT") or 120 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k custom_rules" % (seed, number))
    counts, bad = {"1": 0, "2": 0}, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vyre")
        for at in range(seed, seed + number):
            text = programs.make(at).text()
            copy = with_rules(path, text, random.Random(at)) if CALL.search(text) else None
            for order in counts if copy else ():
                write(path, text)
                if not passes(path, order)[0]:
                    break
                write(path, copy)
                same, said = passes(path, order)
                counts[order] += 1
                if not same:
                    bad += 1
                    print("VYRE_SEED=%d, order %s:\n%s\n%s" % (at, order, copy, said))
                    break
    print("compared: %(1)d gradients, %(2)d second derivatives" % counts)
    few = counts["1"] < max(1, number // 16)
    if few:
        print("too few programs have calls with rules")
    return 1 if bad or few else 0


if __name__ == "__main__":
    sys.exit(main())
