#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`if`, `while`, `var` and conditions of random pipelines against a model: Python's own.

The text of a pipeline is made together with a function that does the same on Python's integers and
floats (f64, whose operations are Python's).  Each branch and each iteration appends a number to what
is compared.  From a seed that is printed; VYRE_SEED sets it, VYRE_COUNT the number of pipelines.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

COMMAND = os.environ["VYRE_GRAD"]
MOST = 64  # numbers that a pipeline notes
PROGRAMS = """program note(r: inout i32[%d], used: inout u32[1], v: i32) over(i: 1)
{
    if used[0] < %d { r[used[0]] = v; }
    used[0] += 1;
}
""" % (MOST, MOST)
OPS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
       "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


class Enough(Exception):
    """The pipeline notes more than is kept, or takes too long."""


def spend(s):
    s["steps"] += 1
    if s["steps"] > 500:
        raise Enough


class Maker:
    """Each method returns a text and a function of the state: a dictionary of the variables."""

    def __init__(self, r):
        self.r, self.made, self.names = r, 0, []

    def number(self, depth=0):
        r = self.r
        kind = r.random()
        if depth > 2 or kind < 0.3:
            v = r.randint(0, 6)
            return str(v), lambda s: v
        if kind < 0.45 and self.names:
            name = r.choice(self.names)
            return name, lambda s: s[name]
        if kind < 0.6:
            k = r.randrange(4)
            return "value(n[%d])" % k, lambda s: s["n"][k]
        if kind < 0.7:
            return "m", lambda s: s["m"]
        (a, f), (b, g) = self.number(depth + 1), self.number(depth + 1)
        return r.choice([("(%s + %s)" % (a, b), lambda s: f(s) + g(s)), ("(%s - %s)" % (a, b), lambda s: f(s) - g(s)),
                         ("(%s * %s)" % (a, b), lambda s: f(s) * g(s)), ("min(%s, %s)" % (a, b), lambda s: min(f(s), g(s))),
                         ("max(%s, %s)" % (a, b), lambda s: max(f(s), g(s))), ("(-%s)" % a, lambda s: -f(s))])

    def float(self, depth=0):
        r = self.r
        kind = r.random()
        if kind < 0.4 or depth > 2:
            k = r.randrange(4)
            return "value(x[%d])" % k, lambda s: s["x"][k]
        if kind < 0.5:
            return "c", lambda s: s["c"]
        if kind < 0.6:
            a, f = self.number(2)
            return "f64(%s)" % a, lambda s: float(f(s))
        (a, f), (b, g) = self.float(depth + 1), self.float(depth + 1)
        return r.choice([("(%s + %s)" % (a, b), lambda s: f(s) + g(s)), ("(%s - %s)" % (a, b), lambda s: f(s) - g(s)),
                         ("(%s * %s)" % (a, b), lambda s: f(s) * g(s)), ("abs(%s)" % a, lambda s: abs(f(s))),
                         ("min(%s, 0.5)" % a, lambda s: min(f(s), 0.5)), ("(-%s)" % a, lambda s: -f(s))])

    def condition(self, depth=0):
        r = self.r
        kind = r.random()
        if kind < 0.15 and depth < 3:
            a, f = self.condition(depth + 1)
            return "!(%s)" % a, lambda s: not f(s)
        if kind < 0.4 and depth < 3:
            (a, f), (b, g) = self.condition(depth + 1), self.condition(depth + 1)
            return r.choice([("(%s && %s)" % (a, b), lambda s: f(s) and g(s)),
                             ("(%s || %s)" % (a, b), lambda s: f(s) or g(s))])
        if kind < 0.45:
            a, f = self.number()
            return a, lambda s: f(s) != 0
        op = r.choice(list(OPS))
        if kind < 0.65:
            a, f = self.float(r.choice((0, 3)))
            b, g = r.choice((self.float, lambda: ("0.25", lambda s: 0.25)))()  # often equal
        else:
            (a, f), (b, g) = self.number(), self.number()
        return "%s %s %s" % (a, op, b), lambda s: OPS[op](f(s), g(s))

    def note(self):
        a, f = self.number()

        def run(s):
            s["r"].append(f(s))
            if len(s["r"]) > MOST:
                raise Enough
        return ["note(r, used, v=%s);" % a], run

    def assign(self):
        if not self.names:
            return self.note()
        name, (a, f) = self.r.choice(self.names), self.number()
        op = self.r.choice(("", "", "+", "-"))

        def run(s):
            v = f(s)
            s[name] = v if not op else s[name] + v if op == "+" else s[name] - v
            if abs(s[name]) >= 2 ** 31:
                raise Enough
        return ["%s %s= %s;" % (name, op, a)], run

    def block(self, depth, count):
        names, lines, runs = list(self.names), [], []
        for _ in range(count):
            kind = self.r.random()
            make = self.note if kind < 0.35 or depth > 3 else self.assign if kind < 0.5 else self.variable \
                if kind < 0.6 else self.choice if kind < 0.75 else self.loop if kind < 0.9 else self.repeat
            text, run = make() if make in (self.note, self.assign, self.variable) else make(depth)
            lines += ["    " + line for line in text]
            runs.append(run)
        self.names = names

        def all_of(s):
            for run in runs:
                run(s)
        return lines, all_of

    def fresh(self):
        self.made += 1
        return "v%d" % self.made

    def variable(self):
        (a, f), name = self.number(), self.fresh()
        self.names.append(name)

        def run(s):
            s[name] = f(s)
        return ["var %s = %s;" % (name, a)], run

    def choice(self, depth):
        (c, holds), (then, f) = self.condition(), self.block(depth + 1, self.r.randint(1, 2))
        other, g = self.block(depth + 1, 1) if self.r.random() < 0.6 else ([], lambda s: None)
        lines = ["if %s {" % c] + then + (["} else {"] + other if other else []) + ["}"]
        return lines, lambda s: f(s) if holds(s) else g(s)

    def loop(self, depth):
        name = self.fresh()  # not among the names: nothing else assigns it
        (c, holds), most = self.condition(), self.r.randint(1, 4)
        steps, before = self.block(depth + 1, 1) if self.r.random() < 0.3 else ([], lambda s: None)
        body, f = self.block(depth + 1, self.r.randint(1, 2))
        test = "%s < %d && (%s)" % (name, most, c)
        head = ["while {"] + steps + ["    " + test, "} {"] if steps else ["while %s {" % test]

        def run(s):
            s[name] = 0
            while True:
                spend(s)
                before(s)
                if not (s[name] < most and holds(s)):
                    break
                f(s)
                s[name] += 1
        return ["var %s = 0;" % name] + head + body + ["    %s += 1;" % name, "}"], run

    def repeat(self, depth):
        (a, f), (b, g), name, back = self.number(2), self.number(2), self.fresh(), self.r.random() < 0.5
        body, run_body = self.block(depth + 1, 1)

        def run(s):
            both = range(f(s), g(s))
            for _ in reversed(both) if back else both:
                spend(s)
                run_body(s)
        return ["repeat %s in %s {" % (name, "rev(%s..%s)" % (a, b) if back else "%s..%s" % (a, b))] + body + ["}"], run


def make(seed):
    r = random.Random(seed)
    maker = Maker(r)
    lines, run = maker.block(0, 5)
    state = {"n": [r.randint(-3, 5) for _ in range(4)], "m": r.randint(-2, 4), "r": [], "steps": 0,
             "x": [r.choice((0.0, 0.25, -0.5, r.uniform(-2, 2))) for _ in range(4)], "c": r.choice((0.25, r.uniform(-1, 1)))}
    data = ["--in", "n=" + ",".join(map(str, state["n"])), "--in", "x=" + ",".join(map(repr, state["x"])),
            "--set", "m=%d" % state["m"], "--set", "c=%r" % state["c"]]
    text = PROGRAMS + "pipeline p(n: in i32[4], x: in f64[4], r: inout i32[%d], used: inout u32[1], m: i32, c: f64)\n{\n" \
        % MOST + "\n".join(lines) + "\n}\n"
    try:
        run(state)
    except Enough:
        return None
    return text, data, state["r"]


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or 1200 // int(os.environ["VYRE_SHARE"]))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k host_control" % (seed, count))
    bad = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vyre")
        for at in range(seed, seed + count):
            made = make(at)
            if made is None:
                continue
            text, data, want = made
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([COMMAND, "run", path, "--engine", "eval", "--json", "--in", "r=zeros", "--in", "used=zeros",
                                   *data], capture_output=True, text=True, check=False)
            compared += 1
            got = json.loads(done.stdout)["outputs"] if done.returncode == 0 else done.stderr
            if done.returncode or got["used"]["data"] != [len(want)] or got["r"]["data"][:len(want)] != want:
                bad += 1
                print("VYRE_SEED=%d: expected %s, %s\n%s\n%s" % (at, want, got, " ".join(data), text))
    print("%d compared" % compared)
    return 1 if bad or compared < count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
