#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Functions that state their derivative (@vjp, @jvp) against the derivatives of the language.

In random programs (tests/fuzz/programs.py) calls of sin, exp, fma, … become calls of functions of the
same value whose rules state the derivative that the language has for them, alone or several together: a
function with a result for each, and a number, of which each call takes one.  `vyre-grad check`
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
TOGETHER = (("sin", "cos"), ("exp", "tanh", "atan"), ("fma", "mix"))
CALL = re.compile(r"(?<![\w.@])(%s)\(" % "|".join(TABLE))


def tuple_of(items):
    return "(%s)" % ", ".join(items) if len(items) > 1 else items[0]


def stated(name, group, r):
    """Text of the function `name` and its rules, which compute the functions of the group."""
    letters = TABLE[group[0]][0]
    partials = [[re.sub(r"(\w+)'", r"stated_\1", "(%s)" % p) for p in TABLE[n][1]] for n in group]
    form, own = r.choice(FORMS), ", ".join("%s: f32" % a for a in letters)
    marks = " ".join("@%s(%s_%s)" % (m, name, m) for m in ("vjp", "jvp") if form in (m, "both"))
    values, types = ["%s(%s)" % (n, ", ".join(letters)) for n in group], ["f32"] * len(group)
    if len(group) > 1:  # the number has no cotangent
        values, types = values[:1] + ["u32(2)"] + values[1:], types[:1] + ["u32"] + types[1:]
    out = ["%s fn %s(%s) -> %s { return %s; }" % (marks, name, own, tuple_of(types), tuple_of(values))]
    if form != "jvp":
        terms = [" + ".join("%s * ct%d" % (p[k], o) for o, p in enumerate(partials)) for k in range(len(letters))]
        out.append("fn %s_vjp(%s, %s) -> %s { return %s; }" % (
            name, own, ", ".join("ct%d: f32" % o for o in range(len(group))), tuple_of(["f32"] * len(letters)), tuple_of(terms)))
    if form != "vjp":
        terms = [" + ".join("%s * d%s" % (q, a) for q, a in zip(p, letters)) for p in partials]
        out.append("fn %s_jvp(%s, %s) -> %s { return %s; }" % (
            name, own, ", ".join("d%s: f32" % a for a in letters), tuple_of(["f32"] * len(group)), tuple_of(terms)))
    return out


def members(group):
    """Functions without rules, each of which takes one of the results of the group's."""
    letters, out = TABLE[group[0]][0], []
    own, count = ", ".join("%s: f32" % a for a in letters), len(group) + 1
    for o, name in enumerate(group):
        out.append("fn stated_%s(%s) -> f32 { let (%s) = together_%s(%s); return r%d; }" % (
            name, own, ", ".join("r%d" % k for k in range(count)), group[0], ", ".join(letters), o + (o > 0)))
    return out


def functions(names, r):
    """Texts of the functions of these names and of those that their rules call."""
    groups = {n: g for g in TOGETHER if r.random() < 0.6 for n in g}
    out, done, todo = [], set(), sorted(names)
    while todo:
        group = groups.get(todo[-1], (todo[-1],))
        todo.pop()
        if group[0] in done:
            continue
        done.update(group)
        todo += sorted(set(re.findall(r"(\w+)'", " ".join(p for n in group for p in TABLE[n][1]))) - done)
        together = len(group) > 1
        out += stated(("together_" if together else "stated_") + group[0], group, r)
        out += members(group) if together else []
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
    # A load out of range gives zero; in a call without a use it stays, in other dead code it does not.
    done = vyre("check", path, "--engine", "eval", "--order", order, "--allow", "out-of-range")
    return done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def rounds(said):
    """Are all differences what rounding may make?  A rule multiplies in another order, and what remains of a
    cancellation is compared by its own size (VYRE_SEED=231: 1.6e-6 of 2.4e-12)."""
    errors = re.findall(r"error ([\d.e+-]+), allowed ([\d.e+-]+)", said)
    failed = re.search(r"^FAILED: (\d+) of", said, re.M)
    return bool(errors) and failed and len(errors) >= int(failed.group(1)) and all(
        float(e.rstrip(".")) <= 5 * float(a.rstrip(".")) for e, a in errors)


def passes_in_double(path, text, order):
    """The same with all floats in double, where rounding makes no such differences: a wrong rule still fails."""
    write(path, text.replace("f32", "f64"))
    return passes(path, order)[0]


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    number = int(os.environ.get("VYRE_COUNT") or 90 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k custom_rules" % (seed, number))
    counts, bad, several, rounded = {"1": 0, "2": 0}, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vyre")
        for at in range(seed, seed + number):
            text = programs.make(at).text()
            copy = with_rules(path, text, random.Random(at)) if CALL.search(text) else None
            several += bool(copy) and "together_" in copy
            for order in counts if copy else ():
                write(path, text)
                if not passes(path, order)[0]:
                    break
                write(path, copy)
                same, said = passes(path, order)
                counts[order] += 1
                if not same and (rounds(said) or passes_in_double(path, copy, order)):
                    rounded += 1
                    print("VYRE_SEED=%d, order %s: differs as much as rounding may" % (at, order))
                elif not same:
                    bad += 1
                    print("VYRE_SEED=%d, order %s:\n%s\n%s" % (at, order, copy, said))
                    break
    print("compared: %(1)d gradients, %(2)d second derivatives" % counts)
    print("programs with functions of several results: %d" % several)
    print("differ as much as rounding may: %d" % rounded)
    few = min(counts["1"], several) < max(1, number // 16)
    if few:
        print("too few programs have calls with rules")
    return 1 if bad or few or rounded > 1 + number // 20 else 0  # one is rare, several are a fault


if __name__ == "__main__":
    sys.exit(main())
