#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs of generate.py past every oracle; shrinks what fails.

  oracle.py [--build DIR] [--seed S] [--count N] [--seconds T] [--device SHARE] [--keep]
  oracle.py --replay FILE…     files of tests/fuzz/found

Oracles: those of tests/unit/gradcheck_file.c (finite differences, levels, text, …) on every program,
once with all floats in double and once as written; `device`: run --grad on both engines, default and
precise in turn, with the validation layers on; `command`: print and grad of the command agree with
what they read.  A refusal (E0503) is counted, never a failure.

A failing program is reduced: statements and arms go, blocks are unwrapped, expressions become one of
their operands or a literal, as long as the same oracle fails.  --keep writes it to tests/fuzz/found.
"""
import argparse
import collections
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import features  # noqa: E402
from programs import make  # noqa: E402
from shrink import shrink  # noqa: E402
from tree import walk  # noqa: E402

TROUBLE = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", ": runtime error: ", "VUID-",
           "UNASSIGNED-", "SYNC-HAZARD-", "Validation Error", "Assertion")
NO_DERIVATIVE = ("old value of atomic", "through a bitcast")  # refused rightly (E0502)
BATCH = 20


def ops(e):
    return {e.op}.union(*[ops(k) for k in e.kids])


class Bench:
    def __init__(self, build, temp):
        self.check = os.path.join(build, "tests", "gradcheck_file")
        self.command = os.environ.get("VYRE_GRAD") or os.path.join(build, "tools", "vyre-grad")
        self.temp = temp
        self.env = dict(os.environ, VYRE_VALIDATION="1")
        for name, folder in (("VYRE_CACHE_DIR", "cache"), ("MESA_SHADER_CACHE_DIR", "mesa")):
            self.env.setdefault(name, os.path.join(temp, folder))
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        listed = self.run([self.command, "devices"])[1]
        self.devices = "features:" in listed
        size = re.search(r"subgroups of (\d+)", listed)
        self.subgroup = size.group(1) if size else "32"
        self.features = features.Features(self.differentiates)

    def differentiates(self, text):
        status, _, err, trouble = self.run([self.command, "grad", self.write("probe.vyre", text)])
        if status not in (0, 1) or trouble or (status and "E0503" not in err):
            raise RuntimeError("a probe of features.py fails: " + (trouble or err))
        return status == 0, err.split("\n")[0].split("error: ")[-1]

    def path(self, name):
        return os.path.join(self.temp, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def run(self, argv, timeout=300):
        """(status, stdout, stderr, trouble); `timeout` in seconds of processor time (see tests/run)"""
        limited = ["/bin/sh", "-c", 'ulimit -S -t "$0" && exec "$@"', "%d" % timeout] + argv
        try:
            done = subprocess.run(limited, capture_output=True, text=True, env=self.env, cwd=self.temp,
                                  timeout=20 * timeout)
        except subprocess.TimeoutExpired:
            return None, "", "", "waits for something that does not come"
        trouble = ""
        if done.returncode == -signal.SIGXCPU:
            return None, "", "", "used more than %d s of processor time" % timeout
        if done.returncode < 0 or done.returncode >= 99:
            trouble = "ended with status %d" % done.returncode
        for mark in TROUBLE:
            if mark in done.stderr:
                at = done.stderr.index(mark)
                trouble = done.stderr[max(0, at - 100):at + 600]
        return done.returncode, done.stdout, done.stderr, trouble

    # ---- gradcheck_file: (oracle, text) or None per file; ("refused", …) and ("invalid", …) too
    def gradcheck(self, paths, seeds):
        out = {}
        argv = [self.check, "--seeds", str(seeds)]
        _, text, err, trouble = self.run(argv + paths, 60 + 10 * len(paths))
        for line in text.splitlines():
            path, _, rest = line.partition(": ")
            word, _, rest = rest.partition(" ")
            if word == "ok":
                for n, what in re.findall(r"(\d+) (\w+)", rest):
                    self.counts[what] += int(n)
                out[path] = None
            elif word in ("refused", "invalid"):
                out[path] = (word, rest)
            elif word == "FAIL":
                oracle, _, rest = rest.partition(" ")
                out[path] = (oracle, rest)
        missing = [p for p in paths if p not in out]
        if len(paths) == 1:
            if missing or trouble:
                out[paths[0]] = ("crash", trouble or err[-800:] or "no answer")
        elif missing or trouble:
            for p in missing or paths:
                out.update(self.gradcheck([p], seeds))
        return out

    def interpreter(self, programs, seeds):
        """Verdicts of several programs, each in double and as written, on data made from its seed; those
        of several invocations at three sizes."""
        verdicts = [None] * len(programs)
        for kind, data_seeds in (("double", 2), ("single", 1), ("odd", 1)):
            found = [n for n, p in enumerate(programs)
                     if (verdicts[n] is None) and (kind != "odd" or p.several())]
            paths = {n: self.write("%d.%s.vyre" % (n, kind), self.text(programs[n], kind, seeds[n])) for n in found}
            answers = self.gradcheck(list(paths.values()), data_seeds) if paths else {}
            for n, path in paths.items():
                if answers[path]:
                    verdicts[n] = answers[path] + (kind,)
        return verdicts

    def text(self, p, kind, seed):
        """As the oracles of a kind get it; the data's seed stands in it."""
        if kind == "double":
            return p.text(double=True, seed=seed % 1000)
        if kind == "odd":
            return p.text(double=True, seed=seed % 1000 + 3, launch=2)
        return p.text(tolerance=self.tolerance(p), seed=seed % 1000 + 7, launch=1)

    @staticmethod
    def tolerance(p):
        return 4e-3 if p.has_second and p.second == "f16" else 2e-4

    # ---- device against interpreter
    @staticmethod
    def launch(p, data_seed):
        """(scalars, groups or None) of a run on the device."""
        if p.several():
            return p.settings(2 + data_seed % (len(p.launches) - 2))
        return dict(p.sets, N=(5, 37, 67, 130)[data_seed % 4]), None

    def arguments(self, p, data_seed):
        sets, groups = self.launch(p, data_seed)
        argv = []
        for n, v in sets.items():
            if any(re.match(r"%s:" % n, q) for q in p.params):
                argv += ["--set", "%s=%s" % (n, v)]
        if groups:
            argv += ["--groups", ",".join(map(str, groups))]
        for n, q in enumerate(p.params):
            m = re.match(r"(\w+): (in|inout) (@?\w+)\[(.*)\]", q)
            if not m:
                continue
            name, _, t, dims = m.groups()
            if name in p.permutations:
                spec = ",".join(map(str, random.Random(data_seed).sample(range(sets["N"]), sets["N"]))) or "zeros"
            elif name == "at" and name in p.data:
                spec = ",".join(str(p.data[name][k % len(p.data[name])]) for k in range((1 if p.several() else 3) * sets["N"])) or "zeros"
            elif t[0] != "@":
                spec = "const:%d" % (data_seed % (2 if t == "bool" else 4))
            elif dims == "?":
                spec = "0.4,0.7,1.1,1.5,0.9"
            else:
                spec = "uniform:0.3:1.6:%d" % (data_seed * 10 + n)
            argv += ["--in", "%s=%s" % (name, spec)]
        if p.of:
            argv += ["--of", ",".join(p.of)]
        if p.wrt:
            argv += ["--wrt", ",".join(p.wrt)]
        if data_seed % 2 and (not p.of or "y" in p.of):
            argv += ["--ct", "y=uniform:0.3:1.2:%d" % data_seed]
        return argv

    def outputs(self, path, argv, engine):
        status, out, err, trouble = self.run([self.command, "run", path, "--json"] + argv + engine)
        if trouble:
            return None, ("crash", trouble)
        if status:
            if "E0503" in out or any(w in out for w in NO_DERIVATIVE):
                return None, ("refused", out)
            if "E0601" in out or "E0602" in out:
                return None, ("refused", out)
            if "E0903" in out + err and "storage buffers, but" in out + err:  # the device's limit
                return None, ("refused", out + err)
            return None, ("device", (out + err)[-700:])
        values = {}
        for n, o in json.loads(out)["outputs"].items():
            values[n] = (o["type"], [float(v) for v in o["data"]])
        return values, None

    def device_once(self, p, path, data_seed, precise, forward):
        argv = self.arguments(p, data_seed) + (["--precise"] if precise else [])
        if forward:
            argv = [w for n, w in enumerate(argv) if "--ct" not in argv[max(n - 1, 0):n + 1] and
                    "--wrt" not in argv[max(n - 1, 0):n + 1]]
        else:
            argv.append("--grad")
        lanes = ["--subgroup-size", self.subgroup]
        a, v = self.outputs(path, argv, ["--engine", "eval"] + lanes)
        if v:
            return v
        b, v = self.outputs(path, argv, ["--engine", "vulkan"])
        if v:
            return v
        loose = (0.05 if p.has_second and p.second == "f16" else 1e-4 if precise else 2e-3)
        worst = None
        for name, (t, x) in a.items():
            y = b.get(name, (t, []))[1]
            finite = [abs(q) for q in x if math.isfinite(q)]
            scale = max([1.0] + finite)
            for k, (q, r) in enumerate(zip(x, y)):
                same = q == r or (math.isnan(q) and math.isnan(r))
                if not same and not (t[0] == "f" and abs(q - r) <= loose * scale):
                    worst = (name, k, q, r, scale)
            if len(x) != len(y):
                return "device", "%s has %d elements, %d on the device" % (name, len(x), len(y))
        if not worst:
            return None
        # Sums cancel and chaos amplifies: how much does rounding matter here at all?
        c, v = self.outputs(path, argv, ["--engine", "eval", "--eval-type", "f64"] + lanes)
        if v:
            return v
        name, k, q, r, scale = worst
        spread = max([abs(s - t) for s, t in zip(a[name][1], c[name][1])
                      if math.isfinite(s) and math.isfinite(t)] + [0])
        if abs(q - r) <= 200 * spread:
            self.counts["ill-conditioned"] += 1
            return None
        return "device", "%s[%d] is %.9g in the interpreter, %.9g on the device (scale %.3g, data %d%s)" % (
            name, k, q, r, scale, data_seed, ", precise" if precise else "")

    def device(self, p, seed, name="device", forward=False):
        """Both engines; forward: the program alone, of one that is refused."""
        path = self.write(name + ".vyre", p.text())
        if any("masked pick" in ops(e) for s in walk(p.trees()) for e in s.exprs):
            seed -= seed % 2  # a device keeps what is no number under --precise only
        v = self.device_once(p, path, seed, seed % 2 == 0, forward)
        if not v or v[0] != "device" or "is " not in v[1]:
            return v
        # A rounding may take another branch with some data, but not with most.
        again = [self.device_once(p, path, seed + k, seed % 2 == 0, forward) for k in (2, 4, 6)]
        if any(w and w[0] == "device" for w in again):
            return v
        self.counts["took another branch"] += 1
        return None

    # ---- the command's texts
    def commands(self, p):
        path = self.write("command.vyre", p.text())
        out = self.path("out.vyre")
        for level in ("-O0", "-O2"):
            status, first, err, trouble = self.run([self.command, "print", path, level])
            if status or trouble:
                return "command", "print %s: %s" % (level, trouble or err)
            second = self.run([self.command, "print", self.write("again.vyre", first), "-O0"])
            if second[1] != first:
                return "command", "print %s is no fixed point: %s" % (level, second[2][:300])
            options = (["--of", ",".join(p.of)] if p.of else []) + \
                (["--wrt", ",".join(p.wrt)] if p.wrt else [])
            status, _, err, trouble = self.run([self.command, "grad", path, level, "-o", out] + options)
            if trouble:
                return "crash", "grad: " + trouble
            if status:
                refused = "E0503" in err or any(w in err for w in NO_DERIVATIVE)
                return "refused" if refused else "command", err
            status, again, err, _ = self.run([self.command, "print", out, "-O0"])
            with open(out, encoding="utf-8") as f:
                text = f.read()
            if status or text != again:
                return "command", "print of grad %s: %s" % (level, err[:300] or "another text")
        return None


def mark(text):
    """What must stay the same while a failure is reduced: codes, and what kind of text it was."""
    return tuple(re.findall(r"\bE\d{4}\b|instruction|^program|^gradient| line ", text))


class Fuzzer:
    def __init__(self, bench, options):
        self.bench, self.options = bench, options
        self.failures = []
        self.signatures = collections.Counter()

    def same(self, oracle, text, kind, seed):
        b, wanted = self.bench, (oracle, mark(text))

        def fails(p):
            if kind in ("device", "forward"):
                v = b.device(p, seed, "shrink", kind == "forward") if b.devices else None
            elif kind == "command":
                v = b.commands(p)
            else:
                v = list(b.gradcheck([b.write("shrink.vyre", b.text(p, kind, seed))],
                                     2 if kind == "double" else 1).values())[0]
            return v is not None and (v[0], mark(v[1])) == wanted
        return fails

    def failed(self, program_seed, p, verdict, seed):
        oracle, text, kind = verdict
        signature = oracle + " " + re.sub(r"\d+|`[^`]*`", "#", text)[:60]
        self.signatures[signature] += 1
        self.failures.append((program_seed, oracle, text))
        print("\nseed %d: %s (%s): %s" % (program_seed, oracle, kind, text))
        print("again: tests/fuzz/oracle.py --build %s --seed %d --count 1 --device 1" % (
            os.path.abspath(self.options.build), program_seed))
        if self.signatures[signature] > self.options.shrink_each:
            sys.stdout.flush()
            return
        small = shrink(p, self.same(oracle, text, kind, seed), self.options.shrink_seconds)
        shown = self.bench.text(small, kind, seed) if kind in ("double", "single", "odd") else small.text()
        shown = "// seed %d, %s, data %d: %s\n%s" % (program_seed, oracle, seed,
                                                   " ".join(text.split())[:300], shown)
        print(shown)
        sys.stdout.flush()
        if self.options.keep:
            folder = os.path.join(HERE, "found")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "%d.vyre" % program_seed), "w", encoding="utf-8") as f:
                f.write(shown)

    def batch(self, seeds):
        b = self.bench
        programs = [make(s) for s in seeds]
        for s, p, v in zip(seeds, programs, b.interpreter(programs, seeds)):
            b.counts["programs"] += 1
            b.features.count(p, bool(v and v[0] == "refused"))
            if v and v[0] == "refused":
                b.counts["refused"] += 1
                if b.devices and (s * 7919 % 1000) < 1000 * self.options.device:
                    w = b.device(p, s % 97, forward=True)
                    b.counts["forward on the device"] += 1
                    if w and w[0] != "refused":
                        self.failed(s, p, (w[0], w[1], "forward"), s % 97)
                b.reasons[re.sub(r"`[^`]*`", "…", re.sub(r"^(E\d+) \S+", r"\1", v[1]))[:90]] += 1
                continue
            if not v and b.devices and (s * 7919 % 1000) < 1000 * self.options.device:
                w = b.device(p, s % 97)
                b.counts["on the device"] += 1
                if w and w[0] == "refused":
                    b.reasons["by the device: " + re.sub(r"\d+", "#", w[1])[:80].strip()] += 1
                v = (w[0], w[1], "device") if w and w[0] != "refused" else None
            if v is None and s % 10 == 3:
                w = b.commands(p)
                v = (w[0], w[1], "command") if w and w[0] != "refused" else None
            if v:
                self.failed(s, p, v, s % 97 if v[2] == "device" else s)
        return not self.failures

    def run(self):
        start, o = time.monotonic(), self.options
        seed = o.seed
        while seed < o.seed + o.count and time.monotonic() - start < o.seconds:
            n = min(BATCH, o.seed + o.count - seed)
            self.batch(list(range(seed, seed + n)))
            seed += n
            if (seed - o.seed) // 500 != (seed - n - o.seed) // 500:
                print("%d programs, %d failed, %.0f s" % (seed - o.seed, len(self.failures),
                                                          time.monotonic() - start), file=sys.stderr)
            if o.stop and self.failures:
                break
        b = self.bench
        print("%s; %d failed; %.0f s" % (", ".join("%d %s" % (n, w) for w, n in b.counts.items()),
                                         len(self.failures), time.monotonic() - start))
        for reason, n in b.reasons.most_common():
            print("  refused %d times: %s" % (n, reason))
        for reason, n in self.signatures.most_common():
            print("  failed %d times: %s" % (n, reason))
        lines, well = b.features.report()
        print("\n".join("  " + line for line in lines))
        return 1 if self.failures or not well else 0


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD") or os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--device", type=float, default=0.3, metavar="SHARE")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--stop", action="store_true", help="at the first failing batch")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="of processor time")
    parser.add_argument("--shrink-each", type=int, default=2, help="failures shrunk per kind")
    parser.add_argument("--replay", nargs="+", metavar="FILE")
    o = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="vyre-fuzz-") as temp:
        bench = Bench(os.path.abspath(o.build), temp)
        if o.replay:
            verdicts = bench.gradcheck([os.path.abspath(f) for f in o.replay], 2)
            for f, v in verdicts.items():
                print("%s: %s" % (f, "ok" if not v else " ".join(v)))
            return 1 if any(v and v[0] not in ("refused",) for v in verdicts.values()) else 0
        return Fuzzer(bench, o).run()


if __name__ == "__main__":
    sys.exit(main())
