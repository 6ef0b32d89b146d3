# SPDX-License-Identifier: MIT
"""Text tests: a program, what to run on it and what that must print, in one file.

The format is described in tests/README.md.  A file becomes Runs (one per `// RUN:` line), a Run
becomes variants (`--engine eval,vulkan` is two), each variant is one counted test.
"""
import itertools
import math
import os
import re
import shlex
import struct
import tempfile
import zlib

SUFFIXES = (".vyre", ".comp", ".glsl", ".hlsl", ".test")
DIRECTIVE = re.compile(
    r"^(?P<lead>\s*(?://|\#)\s?)(?P<name>[A-Z]+(?:-[A-Z]+)*)(?:\[(?P<only>[^\]]+)\])?:"
    r"(?P<text>.*)$")
ONE_OF_A_KIND = {"STATUS", "TOL", "TIMEOUT", "EXPECT-FILE", "EMPTY"}
MANY = {"EXPECT", "CONTAINS", "NOT", "COUNT", "ERROR", "ENV", "REQUIRES", "SKIP"}
INLINE_ERROR = re.compile(r"//~\s*ERROR\s+(\S+)(?:\s+(.*\S))?\s*$")
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf|nan)(?![\w.])")
TYPE = re.compile(r"\b(f16|f32|f64)\b")


# What says something about the outcome.  Numbers that a run prints, and nobody looks at, test nothing.
OUTCOMES = {"EXPECT", "EXPECT-FILE", "EMPTY", "CONTAINS", "NOT", "COUNT", "ERROR", "STATUS", "SKIP"}
PRINTS_NUMBERS = re.compile(r"(?:^|[;&|]\s*)vyre-grad run [^;&|]*$")

# `check` computes on the device beside the interpreter: what a driver takes to compile is most of its time.
CHECK_ON_DEVICE = re.compile(r"\bvyre-grad check\b(?!.*--engine)")


class BadTest(Exception):
    pass


class Run:
    def __init__(self, line, command):
        self.line, self.command = line, command
        self.directives = []   # (name, only, text, line index)
        self.block = None      # (first line index, end line index) of /* EXPECT … */


def parse(path):
    """(lines, runs, inline errors {line number: (code, text)})."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    runs, inline, index = [], {}, 0
    while index < len(lines):
        line = lines[index]
        match = INLINE_ERROR.search(line)
        if match:
            inline[index + 1] = (match.group(1), match.group(2) or "")
        match = DIRECTIVE.match(line)
        if match and match.group("name") == "RUN":
            runs.append(Run(index + 1, match.group("text").strip()))
        elif match and match.group("name") in ONE_OF_A_KIND | MANY:
            if not runs:
                raise BadTest("line %d: %s before any RUN" % (index + 1, match.group("name")))
            text = match.group("text")
            runs[-1].directives.append(
                (match.group("name"), match.group("only"),
                 text[1:] if text.startswith(" ") else text, index))
        elif match:
            raise BadTest("line %d: unknown directive %s" % (index + 1, match.group("name")))
        elif line.strip() == "/* EXPECT":
            if not runs or runs[-1].block:
                raise BadTest("line %d: one EXPECT block for one RUN" % (index + 1))
            end = index + 1
            while end < len(lines) and lines[end].strip() != "*/":
                end += 1
            if end == len(lines):
                raise BadTest("line %d: EXPECT block without an end" % (index + 1))
            runs[-1].block = (index + 1, end)
            index = end
        index += 1
    if not runs:
        raise BadTest("no RUN line")
    for run in runs:
        looked_at = run.block or inline or any(name in OUTCOMES for name, *_ in run.directives)
        if not looked_at and PRINTS_NUMBERS.search(run.command):
            raise BadTest("line %d: no directive says what this run prints" % run.line)
    return lines, runs, inline


def variants(command):
    """[(name, command)]: `--engine a,b` and `{a,b}` each stand for several commands."""
    command = re.sub(r"(--engine[= ])(\w+(?:,\w+)+)", r"\1{\2}", command)
    parts = re.split(r"\{([^{}\s]*,[^{}\s]*)\}", command)
    choices = [part.split(",") for part in parts[1::2]]
    for pick in itertools.product(*choices):
        text = "".join(itertools.chain.from_iterable(
            itertools.zip_longest(parts[0::2], pick, fillvalue="")))
        yield ",".join(pick), text


def share(context, name, run):
    """The variants of a run that this build runs: the first ones, and about one of
    context.share_variants of the others, which the seed chooses.  The rest is counted.  Directives may
    say what the device's part of a `check` prints, which then runs there."""
    for at, (variant, command) in enumerate(variants(run.command)):
        words = "%s %s %s" % (context.seed, name, command)
        if at >= context.first_variants and zlib.crc32(words.encode()) % context.share_variants:
            context.left_out()
        elif (CHECK_ON_DEVICE.search(command) and (at or not run.directives and not run.block)
              and not context.on_device_now(name, command, at == 0)):
            yield variant, CHECK_ON_DEVICE.sub("vyre-grad check --engine eval", command)
        else:
            yield variant, command


# ---- comparing ------------------------------------------------------------------------------
def parse_tolerance(text):
    """(absolute-or-relative bound, ulp bound)."""
    match = re.fullmatch(r"(\d+)\s*ulp", text.strip())
    try:
        return (0.0, int(match.group(1))) if match else (float(text), 0)
    except ValueError:
        raise BadTest("TOL: a number, or N ulp, not %r" % text)


def ordinal(value, kind):
    """Position of a float among the floats of its type, so that a difference counts ULPs."""
    codes = {"f16": ("<e", "<h"), "f32": ("<f", "<i"), "f64": ("<d", "<q")}[kind]
    try:
        bits = struct.unpack(codes[1], struct.pack(codes[0], value))[0]
    except OverflowError:  # rounds to an infinity in this type
        bits = struct.unpack(codes[1], struct.pack(codes[0], math.copysign(math.inf, value)))[0]
    return bits if bits >= 0 else -(bits & ((1 << (8 * struct.calcsize(codes[0]) - 1)) - 1))


def close(want, got, tolerance, kind):
    if want == got:
        return True
    a, b = float(want), float(got)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    bound, ulps = tolerance
    if ulps:
        return abs(ordinal(a, kind) - ordinal(b, kind)) <= ulps
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= bound * max(1.0, abs(a), abs(b))


def same(want, got, tolerance):
    """One line against one line."""
    if want.rstrip() == got.rstrip():
        return True
    if not tolerance:
        return False
    if NUMBER.sub("#", want).split() != NUMBER.sub("#", got).split():
        return False
    match = TYPE.search(want)
    kind = match.group(1) if match else "f32"
    return all(close(a, b, tolerance, kind)
               for a, b in zip(NUMBER.findall(want), NUMBER.findall(got)))


def matches(want, got, tolerance):
    """All lines of got in order; a wanted line `...` stands for any number of lines."""
    reach = {0}  # how many lines of got the wanted lines so far can account for
    for line in want:
        if line.strip() == "...":
            reach = set(range(min(reach), len(got) + 1)) if reach else reach
        else:
            reach = {i + 1 for i in reach if i < len(got) and same(line, got[i], tolerance)}
    return len(got) in reach


def difference(want, got, tolerance):
    """The wanted and the printed text, with the first line that differs marked."""
    first = next((i for i, (a, b) in enumerate(itertools.zip_longest(want, got))
                  if a is None or b is None or not same(a, b, tolerance)), 0)
    out = []
    for title, lines in (("expected:", want), ("printed:", got)):
        out.append(title)
        low, high = max(0, first - 5), first + 12
        out += ["  ..."] if low else []
        out += [("> " if i == first else "  ") + line
                for i, line in enumerate(lines[low:high], low)]
        out += ["  ... (%d more lines)" % (len(lines) - high)] if len(lines) > high else []
    return out


# ---- one variant ----------------------------------------------------------------------------
class Case:
    """One variant of one Run, with the directives that apply to it."""

    def __init__(self, run, variant, command, path, inline):
        self.run, self.variant, self.path = run, variant, path
        self.command = command
        self.inline = inline if "%s" in command else {}
        picked = variant.split(",") + re.findall(r"--engine[= ](\w+)", command)
        self.items = [d for d in run.directives if d[1] is None or d[1] in picked]

    def all(self, name):
        return [text for n, _, text, _ in self.items if n == name]

    def one(self, name, default=None):
        # A directive for this variant only goes before a general one.
        found = sorted((d for d in self.items if d[0] == name), key=lambda d: d[1] is None)
        return found[0][2].strip() if found else default

    def wanted(self, lines):
        """Expected stdout as lines, or None where stdout is free."""
        if self.one("EMPTY") is not None:
            return []
        if self.run.block:
            return lines[self.run.block[0]:self.run.block[1]]
        name = self.one("EXPECT-FILE")
        if name:
            path = os.path.join(os.path.dirname(self.path), name)
            if not os.path.exists(path):
                return []
            with open(path, encoding="utf-8") as f:
                return split_lines(f.read())
        return self.all("EXPECT") or None

    @staticmethod
    def lacks_fix(err):
        """Every error says what to do: `fix: …` follows before the next one."""
        parts = re.split(r"(?m)^(.*\berror: .*\[E\d{4}\])$", err)
        return ["stderr lacks a fix: " + said for said, rest in zip(parts[1::2], parts[2::2])
                if not re.search(r"(?m)^fix: \S", rest)]

    def check(self, lines, status, out, err):
        """What is wrong, as lines; [] is passed.  The second result: only stdout differs."""
        wrong = []
        fails = bool(self.all("ERROR") or self.inline)
        want_status = int(self.one("STATUS", "1" if fails else "0"))
        if status != want_status:
            wrong.append("exit status %s, expected %s" % (status, want_status))
        wrong += ["stderr lacks: " + text for text in self.all("ERROR")
                  if text.strip() not in err]
        wrong += self.check_inline(err)
        wrong += self.lacks_fix(err)
        wrong += ["stdout lacks: " + text for text in self.all("CONTAINS")
                  if text.strip() not in out]
        wrong += ["stdout has: " + text for text in self.all("NOT") if text.strip() in out]
        for text in self.all("COUNT"):
            number, _, part = text.strip().partition(" ")
            if out.count(part) != int(number):
                wrong.append("stdout has %r %d times, expected %s" % (
                    part, out.count(part), number))
        want, got = self.wanted(lines), split_lines(out)
        tolerance = self.one("TOL")
        if tolerance and want is None:
            wrong.append("TOL: nothing is expected that could differ")
        tolerance = parse_tolerance(tolerance) if tolerance else None
        if want is not None and not matches(want, got, tolerance):
            return wrong + difference(want, got, tolerance), not wrong
        return wrong, False

    def check_inline(self, err):
        """Every `//~ ERROR` line has its diagnostic, and there is no other."""
        if not self.inline:
            return []
        wrong, places = [], re.findall(
            r"^%s:(\d+):\d+: error: (.*) \[(\w+)\]$", err, re.MULTILINE)
        for number, (code, text) in self.inline.items():
            if not any(int(n) == number and c == code and text in t for n, t, c in places):
                wrong.append("no diagnostic on line %d with %s %s" % (number, code, text))
        wrong += ["diagnostic on line %s: %s [%s]" % place for place in places
                  if int(place[0]) not in self.inline]
        return wrong


def split_lines(text):
    return text.rstrip("\n").split("\n") if text.strip("\n") else []


def missing(context, case):
    """Why the case cannot run here, or ''."""
    for text in case.all("SKIP"):
        return text.strip()
    words = " ".join(case.all("REQUIRES")).replace(",", " ").split()
    if re.search(r"--engine[= ]vulkan\b", case.command) and "vulkan" not in words:
        words.append("vulkan")
    for word in words:
        if word == "vulkan":
            if not context.devices() and not context.require_device:
                return "no Vulkan device"
        elif word == "eight_lanes":
            if not re.search(r"subgroups of (?:[89]|\d\d)", context.devices()):
                return "the device's subgroups have fewer than eight lanes"
        elif not re.search(r"\b%s\b" % re.escape(word), context.devices()):
            return "the device lacks " + word
    return ""


DEVICE_VERBS = re.compile(r"\bvyre-grad\s+(run|check|bench|fit|devices)\b")


def on_device(command):
    """Whether a command line computes on a device, by what it says."""
    return bool(re.search(r"--engine[= ]vulkan\b", command) or
                DEVICE_VERBS.search(command) and not re.search(r"--engine[= ]eval\b", command))


def run_case(context, case, lines):
    """(state, text, stdout or None where it may not be blessed)."""
    reason = missing(context, case)
    if reason:
        return "skipped", reason, None
    temp = tempfile.mkdtemp(dir=context.temp)
    places = {"%s": case.path, "%t": temp, "%d": os.path.join(context.tests, "data"),
              "%e": os.path.join(context.root, "examples")}
    command = re.sub(
        r"%[stde]", lambda m: shlex.quote(places[m.group()]), case.command)
    env = dict(text.strip().replace("%t", temp).split("=", 1) for text in case.all("ENV"))
    status, out, err = context.run(["/bin/sh", "-c", command], cwd=temp, env=env,
                                   timeout=float(case.one("TIMEOUT", "60")))
    for place in ("%s", "%t"):  # what is compared does not depend on where the checkout is
        out, err = out.replace(places[place], place), err.replace(places[place], place)
    lacks = re.search(r"needs (.*), which '.*' does not offer|needs .*\((shader_\w+)\), which are not enabled",
                      err) if context.device_part else None
    if lacks and status in (1, 2):  # on drivers that the tests were not written for
        return "skipped", "the device lacks " + (lacks.group(1) or lacks.group(2)), None
    trouble = context.trouble(status, err)
    wrong, only_stdout = ([trouble], False) if trouble else case.check(lines, status, out, err)
    if not wrong:
        return "passed", "", None
    text = ["$ " + command] + wrong
    if err.strip():
        text += ["stderr:"] + ["  " + line for line in err.strip().splitlines()[:40]]
    return "failed", "\n".join(text), out if only_stdout else None


# ---- a file ---------------------------------------------------------------------------------
def bless(path, lines, run, case, out):
    """Replaces the expectation of `run` by `out`; returns the new lines, or why not."""
    got = split_lines(out)
    if "..." in [line.strip() for line in case.wanted(lines)]:
        return None, "BLESS: an expectation with `...` is changed by hand"
    if run.block:
        if any(line.strip() == "*/" for line in got):
            return None, "BLESS: the output has a line */, use EXPECT-FILE"
        return lines[:run.block[0]] + got + lines[run.block[1]:], ""
    name = case.one("EXPECT-FILE")
    if name:
        with open(os.path.join(os.path.dirname(path), name), "w", encoding="utf-8") as f:
            f.write(out)
        return lines, ""
    spots = [index for n, _, _, index in case.items if n == "EXPECT"]
    if not spots:
        return None, "BLESS: EMPTY is changed by hand"
    match = DIRECTIVE.match(lines[spots[0]])
    head = lines[spots[0]][:match.start("text")]
    new = [(head + " " + line).rstrip() for line in got] or [head]
    rest = [line for i, line in enumerate(lines) if i not in spots[1:]]
    return rest[:spots[0]] + new + rest[spots[0] + 1:], ""


def run_file(context, path, result):
    name = os.path.relpath(path, context.tests)
    try:
        lines, runs, inline = parse(path)
    except BadTest as why:
        return [result(name, "failed", str(why))]
    results, number = [], 0
    while number < len(runs):
        run, again = runs[number], False
        for variant, command in share(context, name, run):
            case = Case(run, variant, command, path, inline)
            if context.device_part and not on_device(command):
                continue
            title = "%s:%d%s" % (name, run.line, " (%s)" % variant if variant else "")
            try:
                state, text, out = run_case(context, case, lines)
            except (BadTest, ValueError) as why:
                state, text, out = "failed", "bad test: %s" % why, None
            if context.bless and out is not None and not again:
                new, why = bless(path, lines, run, case, out)
                if new is not None:
                    with open(path, "w", encoding="utf-8") as f:
                        f.write("\n".join(new))
                    lines, runs, inline = parse(path)
                    run = runs[number]
                    state, text, again = "passed", "", True
                else:
                    text += "\n" + why
            results.append(result(title, state, text))
        number += 1
    return results
