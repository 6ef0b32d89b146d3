#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs random programs (programs.py) past every oracle; shrinks those that fail.

  oracle.py [--build DIR] [--seed S] [--count N] [--cpu-seconds T] [--jobs J] [--device SHARE]
            [--keep]
            [--log FILE]       notes which programs were run; the same command skips them
            [--only FEATURE]   of these seeds those whose program has it: "without over", "shared", …
  oracle.py --replay FILE…     files of tests/fuzz/found

Oracles: those of tests/unit/autodiff/gradcheck_file.c (finite differences, levels, text, other ways to the
gradient, …) on every program, with all floats in double at several launches, and as written;
`device`: run --grad on both engines, default and precise in turn, with the validation layers on;
`command`: print and grad of the command agree with what they read.  A refusal (E0502) is counted,
never a failure.

The programs go through one process (harness.py), which is restarted when a program ends or hangs
it.

A failing program is reduced: statements and arms are removed, blocks are unwrapped, expressions
become one of their operands or a literal, as long as the same oracle fails.  --keep writes it to
tests/fuzz/found.
"""
import argparse
import collections
import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import features  # noqa: E402
from engines import Command  # noqa: E402
from harness import SLOW_DRIVER, Harness  # noqa: E402
from programs import make  # noqa: E402
from shrink import shrink  # noqa: E402

BATCH = 20
KINDS = ("double", "single")
WAYS = ("gathered", "atomic", "plain", "ordered")  # how gradients are added up


class Bench(Command):
    def __init__(self, build, temp):
        super().__init__(build, temp)
        self.check = os.path.join(build, "tests", "gradcheck_file")
        self.notes = collections.Counter()  # ways that were refused, by reason
        self.harness = None
        self.ways = set()  # ways taken by the programs of the last call

    def differentiates(self, text):
        status, _, err, trouble = self.run([self.command, "grad", self.write("probe.vyre", text)])
        if status not in (0, 1) or trouble or (status and "E0502" not in err):
            raise RuntimeError("a probe of features.py fails: " + (trouble or err))
        return status == 0, err.split("\n")[0].split("error: ")[-1]

    # ---- gradcheck_file: (oracle, text) or None; ("refused", …) and ("invalid", …) too
    def verdict(self, answer, trouble, count=True):
        _, _, rest = answer.partition(": ")
        word, _, rest = rest.partition(" ")
        if trouble:
            return "crash", trouble
        words, _, notes = rest.partition(" | ")
        for n in notes.split(" | ") if notes and count else ():
            self.notes[re.sub(r"`[^`]*`", "…", n)[:110]] += 1
        if word == "ok":
            found = re.findall(r"(\d+) (\w+)", words)
            for n, what in found if count else ():
                self.counts[what] += int(n)
            self.ways |= {what for n, what in found if what in WAYS and int(n)}
            return None
        if word == "FAIL":
            oracle, _, rest = rest.partition(" ")
            return oracle, rest
        return word, words

    def ask(self, name, text, count=True):
        if not self.harness or self.harness.argv[0] != self.check:
            self.harness = Harness([self.check, "--stream"], self.temp, self.env)
        return self.verdict(*self.harness.ask(name, text), count)

    def interpreter(self, programs, seeds):
        """Verdicts of several programs, each in double at several launches, and as written."""
        out = []
        for p, seed in zip(programs, seeds):
            found = None
            for kind in KINDS:
                found = found or self.ask("%d.%s" % (seed, kind), self.text(p, kind, seed))
                if found:
                    out.append(found + (kind,))
                    break
            else:
                out.append(None)
        return out

    def text(self, p, kind, seed):
        """The text for the oracles of a kind; the seed of the data is in it."""
        if kind == "double":
            return p.text(double=True, seed=seed % 2 ** 31, more=True)
        return "// only: brief\n" + p.text(tolerance=self.tolerance(p), seed=seed % 2 ** 31, launch=1)

    @staticmethod
    def tolerance(p):
        return 4e-3 if p.has_second and p.second == "f16" else 2e-4

    def used(self):
        """Seconds of processor time of this process and its children."""
        u, c = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime + c.ru_utime + c.ru_stime + (
            self.harness.cpu() if self.harness and self.harness.child else 0)


def mark(text):
    """What must stay the same while a failure is reduced: codes, and the kind of message."""
    return tuple(re.findall(r"\bE\d{4}\b|instruction|^program|^gradient| line ", text))


class Worker:
    """Runs batches of seeds; returns its findings as plain data."""

    def __init__(self, options, temp):
        self.options = options
        self.bench = Bench(options.build, temp)
        self.signatures = collections.Counter()

    def same(self, oracle, text, kind, seed):
        b, wanted = self.bench, (oracle, mark(text))

        def fails(p):
            if kind in ("device", "forward"):
                v = b.device(p, seed, "shrink", kind == "forward") if b.devices else None
            elif kind == "command":
                v = b.commands(p)
            else:
                v = b.ask("shrink", b.text(p, kind, seed), False)
            return v is not None and (v[0], mark(v[1])) == wanted
        return fails

    def failed(self, program_seed, p, verdict, seed):
        oracle, text, kind = verdict
        signature = oracle + " " + re.sub(r"\d+|`[^`]*`", "#", text)[:60]
        self.signatures[signature] += 1
        lines = ["seed %d: %s (%s): %s" % (program_seed, oracle, kind, text),
                 "again: tests/fuzz/oracle.py --build %s --seed %d --count 1 --device 1" % (
                     self.options.build, program_seed)]
        if self.signatures[signature] <= self.options.shrink_each:
            small = shrink(p, self.same(oracle, text, kind, seed), self.options.shrink_seconds,
                           self.bench.used)
            shown = self.bench.text(small, kind, seed) if kind in KINDS else small.text()
            lines.append("// seed %d, %s, data %d: %s\n%s" % (program_seed, oracle, seed,
                                                             " ".join(text.split())[:300], shown))
        return {"seed": program_seed, "oracle": oracle, "text": text, "signature": signature, "lines": lines}

    def engines(self, s, p, refused):
        """The device and the command on a share of the programs: a verdict, or None."""
        b = self.bench
        if b.devices and (s * 7919 % 1000) < 1000 * self.options.device:
            w = b.device(p, s % 97, forward=refused)
            b.counts["forward on the device" if refused else "on the device"] += 1
            if w and w[0] == "refused" and not refused:
                b.notes["by the device: " + re.sub(r"\d+", "#", w[1])[:80].strip()] += 1
            if w and w[0] != "refused":
                return w[0], w[1], "forward" if refused else "device"
        if not refused and s % 40 == 3:
            w = b.commands(p)
            if w and w[0] != "refused":
                return w[0], w[1], "command"
        return None

    def batch(self, seeds):
        b, start = self.bench, self.bench.used()
        b.counts.clear()
        b.notes.clear()
        found, reasons, made = [], collections.Counter(), []
        programs = {s: make(s) for s in seeds}
        if self.options.only:
            programs = {s: p for s, p in programs.items() if self.options.only in p.features}
        for (s, p), v in zip(programs.items(), b.interpreter(programs.values(), programs)):
            refused = bool(v and v[0] == "refused")
            b.counts["programs"] += 1
            b.counts["refused"] += refused
            made.append((sorted(p.features), refused))
            if refused:
                reasons[re.sub(r"`[^`]*`", "…", re.sub(r"^(E\d+) \S+", r"\1", v[1]))[:90]] += 1
            if refused or not v:
                v = self.engines(s, p, refused)
            if v:
                found.append(self.failed(s, p, v, s % 97 if v[2] in ("device", "forward") else s))
        return {"seeds": [seeds[0], seeds[-1] + 1], "counts": dict(b.counts), "reasons": dict(reasons),
                "notes": dict(b.notes), "failures": found, "made": made, "cpu": b.used() - start}


worker = None


def begin(options, temp):
    global worker
    worker = Worker(options, temp)


def work(seeds):
    return worker.batch(seeds)


class Run:
    """Adds up what the workers report."""

    def __init__(self, options, temp):
        self.o, self.temp = options, temp
        self.totals = {k: collections.Counter() for k in ("counts", "reasons", "notes", "signatures")}
        self.failures, self.cpu, self.start = [], 0.0, time.monotonic()
        self.done = set()
        self.features = features.Features(Bench(options.build, temp).differentiates)

    def add(self, r, fresh=True):
        for k in ("counts", "reasons", "notes"):
            self.totals[k].update(r[k])
        for f in r["failures"]:
            self.failures.append(f["seed"])
            self.totals["signatures"][f["signature"]] += 1
            print("\n" + "\n".join(f["lines"]) if fresh else "seed %d failed before" % f["seed"])
            sys.stdout.flush()
            if self.o.keep and fresh:
                folder = os.path.join(HERE, "found")
                with open(os.path.join(folder, "%d.vyre" % f["seed"]), "w", encoding="utf-8") as out:
                    out.write(f["lines"][-1])
        for named, refused in r["made"]:
            self.features.count(named, refused)
        self.cpu += r["cpu"]
        if fresh and self.o.log:
            with open(self.o.log, "a", encoding="utf-8") as out:
                out.write(json.dumps(r) + "\n")

    def resume(self):
        if self.o.log and os.path.exists(self.o.log):
            with open(self.o.log, encoding="utf-8") as f:
                for line in f:
                    r = json.loads(line)
                    self.done.add(tuple(r["seeds"]))
                    self.add(r, False)

    def batches(self):
        for seed in range(self.o.seed, self.o.seed + self.o.count, BATCH):
            last = min(seed + BATCH, self.o.seed + self.o.count)
            if (seed, last) not in self.done:
                yield list(range(seed, last))

    def enough(self):
        return self.cpu >= self.o.cpu_seconds or self.o.stop and self.failures

    def progress(self):
        n = self.totals["counts"]["programs"]
        if n % 500 < BATCH:
            print("%d programs, %d failed, %.0f s of processor time, %.1f programs a second" % (
                n, len(self.failures), self.cpu, n / max(self.cpu, 1e-9)), file=sys.stderr)

    def run(self):
        self.resume()
        if self.o.jobs > 1:
            with multiprocessing.Pool(self.o.jobs, begin, (self.o, self.temp)) as pool:
                for r in pool.imap_unordered(work, self.batches()):
                    self.add(r)
                    self.progress()
                    if self.enough():
                        pool.terminate()
                        break
        else:
            begin(self.o, self.temp)
            for seeds in self.batches():
                self.add(work(seeds))
                self.progress()
                if self.enough():
                    break
            status, trouble = worker.bench.harness.close() if worker.bench.harness else (0, "")
            if trouble or status not in (0, 1):
                print("the harness ended with status %s: %s" % (status, trouble))
                self.failures.append(-1)
        return self.report()

    def report(self):
        t, n = self.totals, self.totals["counts"]["programs"]
        print("%s; %d failed; %.0f s, %.0f s of processor time, %.1f programs a second of it" % (
            ", ".join("%d %s" % (k, w) for w, k in t["counts"].items()), len(self.failures),
            time.monotonic() - self.start, self.cpu, n / max(self.cpu, 1e-9)))
        for title, of in (("refused", "reasons"), ("one way only:", "notes"), ("failed", "signatures")):
            for reason, k in t[of].most_common():
                print("  %s %d times: %s" % (title, k, reason))
        lines, well = self.features.report()
        print("\n".join("  " + line for line in lines))
        slow = sum(k for note, k in t["notes"].items() if SLOW_DRIVER in note)
        if slow > 1 + n / 20000:
            print("%d programs take the driver's compiler minutes: MORE THAN ONE IN 20,000" % slow)
            well = False
        return 1 if self.failures or not well else 0


def replay(bench, files):
    """Files in full: every level, every size.  Prints which fail."""
    status, text, err, trouble = bench.run([bench.check, "--seeds", "2"] + files)
    lines = text.splitlines()
    bad = [line for line in lines if not re.match(r".*: (ok|refused) ", line)]
    print("\n".join(["%d of %d files went through" % (len(lines) - len(bad), len(files))] + bad))
    if trouble or status not in (0, 1):
        print(trouble or err)
    return 1 if trouble or bad or status != 0 or len(lines) != len(files) else 0


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD") or os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--cpu-seconds", type=float, default=1e9, help="of processor time; then no new programs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", metavar="FILE")
    parser.add_argument("--only", metavar="FEATURE")
    parser.add_argument("--device", type=float, default=0.05, metavar="SHARE")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--stop", action="store_true", help="at the first failing batch")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="of processor time")
    parser.add_argument("--shrink-each", type=int, default=2, help="failures shrunk per kind")
    parser.add_argument("--replay", nargs="+", metavar="FILE")
    o = parser.parse_args(argv)
    o.build = os.path.abspath(o.build)
    with tempfile.TemporaryDirectory(prefix="vyre-fuzz-") as temp:
        if o.replay:
            return replay(Bench(o.build, temp), [os.path.abspath(f) for f in o.replay])
        return Run(o, temp).run()


if __name__ == "__main__":
    sys.exit(main())
