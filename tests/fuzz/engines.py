# SPDX-License-Identifier: MIT
"""Random programs on a device: the default path of the C API (tests/session_run.c, many programs in
one process) and the command, each with its device against its interpreter; the command's texts
against each other.
"""
import collections
import json
import math
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from harness import SLOW_DRIVER, Harness, trouble_in  # noqa: E402
from tree import walk  # noqa: E402

NO_DERIVATIVE = ("old value of atomic", "depends on which comes first", "through a bitcast", "[E0506]")  # correctly refused


def ops(e):
    return {e.op}.union(*[ops(k) for k in e.kids])


class Command:
    def __init__(self, build, temp):
        self.command = os.environ.get("VYRE_GRAD") or os.path.join(build, "tools", "vyre-grad")
        self.session_run, self.session = os.path.join(build, "tests", "session_run"), None
        self.temp = temp
        self.env = dict(os.environ, VYRE_VALIDATION="1")
        for name, folder in (("VYRE_CACHE_DIR", "cache"), ("MESA_SHADER_CACHE_DIR", "mesa")):
            self.env.setdefault(name, os.path.join(temp, folder))
        self.counts = collections.Counter()
        listed = self.run([self.command, "devices"])[1]
        self.devices = "features:" in listed
        size = re.search(r"subgroups of (\d+)", listed)
        self.subgroup = size.group(1) if size else "32"

    def path(self, name):
        return os.path.join(self.temp, "%d.%s" % (os.getpid(), name))

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def run(self, argv, timeout=1800):
        """(status, stdout, stderr, trouble)"""
        try:
            done = subprocess.run(argv, capture_output=True, text=True, env=self.env, cwd=self.temp,
                                  timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, "", "", "timed out after %d s" % timeout
        trouble = trouble_in(done.stderr)
        if not trouble and (done.returncode < 0 or done.returncode >= 99):
            trouble = "ended with status %d" % done.returncode
        return done.returncode, done.stdout, done.stderr, trouble

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
        for n, (name, cls, t, dims) in enumerate(p.buffers()):
            if cls == "out" and dims[:1] != "?":
                continue
            if name in p.permutations:
                spec = ",".join(map(str, random.Random(data_seed).sample(range(sets["N"]), sets["N"]))) or "zeros"
            elif name == "at" and name in p.data:
                spec = ",".join(str(p.data[name][k % len(p.data[name])]) for k in range((1 if p.several() else 3) * sets["N"])) or "zeros"
            elif t[0] != "@":
                spec = "const:%d" % (data_seed % (2 if t == "bool" else 4))
            elif dims == "?, 5":
                name, spec = name + "[5,5]", "zeros" if cls == "out" else "uniform:0.3:1.6:%d" % data_seed
            elif cls == "out":
                name, spec = name + "[5]", "zeros"
            elif dims == "?":
                spec = "0.4,0.7,1.1,1.5,0.9"
            else:
                spec = "uniform:0.3:1.6:%d" % (data_seed * 10 + n)
            argv += ["--in", "%s=%s" % (name, spec)]
        if p.of:
            argv += ["--of", ",".join(p.of)]
        if p.wrt:
            argv += ["--wrt", ",".join(p.wrt)]
        seeded = [n for n in ("y", "o") if any(q.startswith(n + ": out @F") for q in p.params) and (not p.of or n in p.of)]
        if data_seed % 2 and seeded:
            argv += ["--ct", "%s=uniform:0.3:1.2:%d" % (seeded[0], data_seed)]
        return argv

    def asked_session(self, path, options):
        """(status, JSON, "", trouble) as from the command."""
        if not self.session:
            self.session = Harness([self.session_run], self.temp, self.env)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        line, trouble = self.session.ask("p", "\n".join(options + ["--runs", "1"]) + "\n\n" + text)
        return int('"error"' in line[:12]), line, "", trouble

    def outputs(self, path, argv, engine, by_session):
        if by_session:
            status, out, err, trouble = self.asked_session(path, argv + engine)
        else:
            status, out, err, trouble = self.run([self.command, "run", path, "--json"] + argv + engine)
        if trouble:
            return None, ("refused" if trouble.startswith(SLOW_DRIVER) else "crash", trouble)
        if status:
            if any(w in out for w in NO_DERIVATIVE):
                return None, ("refused", out)
            if "E0601" in out or "E0602" in out:
                return None, ("refused", out)
            limits = ("storage buffers, but", "computes wrong results beyond", "does not offer")
            if "E0903" in out + err and any(w in out + err for w in limits):  # the device's
                return None, ("refused", out + err)
            return None, ("device", (out + err)[-700:])
        values = {}
        for n, o in json.loads(out)["outputs"].items():
            values[n] = (o["type"], [float(v) for v in o["data"]])
        return values, None

    def tangents(self, p, path, data_seed):
        """Forward mode in the interpreter: the C API's results have the names and the values of the command's."""
        argv = self.arguments(p, data_seed)
        argv = [w for n, w in enumerate(argv) if "--ct" not in argv[max(n - 1, 0):n + 1]] + ["--jvp"]
        ways = [self.outputs(path, argv, ["--engine", "eval"], by_session) for by_session in (True, False)]
        if any(v for _, v in ways):
            return next(v for _, v in ways if v)
        self.counts["forward mode by both"] += 1
        a, b = ({n: o for n, o in values.items() if n.startswith("dot_")} for values, _ in ways)
        return None if repr(a) == repr(b) else ("device", "forward mode: the C API has %s, the command %s" % (a, b))

    def device_once(self, p, path, data_seed, precise, forward):
        by_session = data_seed % 8 != 5 and not forward
        self.counts["by the C API" if by_session else "by the command"] += 1
        argv = self.arguments(p, data_seed) + (["--precise"] if precise else [])
        if forward:
            argv = [w for n, w in enumerate(argv) if "--ct" not in argv[max(n - 1, 0):n + 1] and
                    "--wrt" not in argv[max(n - 1, 0):n + 1]]
        else:
            argv.append("--grad")
        lanes = ["--subgroup-size", self.subgroup]
        a, v = self.outputs(path, argv, ["--engine", "eval"] + lanes, by_session)
        if v:
            return v
        b, v = self.outputs(path, argv, ["--engine", "vulkan"], by_session)
        if v:
            return v
        bound = (0.05 if p.has_second and p.second == "f16" else 1e-4 if precise else 2e-3)
        worst = None
        for name, (t, x) in a.items():
            y = b.get(name, (t, []))[1]
            finite = [abs(q) for q in x if math.isfinite(q)]
            scale = max([1.0] + finite)
            for k, (q, r) in enumerate(zip(x, y)):
                same = q == r or (math.isnan(q) and math.isnan(r))
                if not same and not (t[0] == "f" and abs(q - r) <= bound * scale):
                    worst = (name, k, q, r, scale)
            if len(x) != len(y):
                return "device", "%s has %d elements, %d on the device" % (name, len(x), len(y))
        if not worst:
            return None
        # Cancellation and chaos amplify rounding: measure by how much for this program.
        c, v = self.outputs(path, argv, ["--engine", "eval", "--eval-type", "f64"] + lanes, by_session)
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
        """Both engines; forward: the program alone, where its gradient is refused."""
        path = self.write(name + ".vyre", p.text())
        if any(t in ("uses lane", "uses subgroup_size") for t in p.traits):
            return "refused", "lanes are numbered by the device"
        if any("masked pick" in ops(e) for s in walk(p.trees()) for e in s.exprs):
            seed -= seed % 2  # a device preserves NaN and infinities only under --precise
        v = not forward and seed % 3 == 0 and self.tangents(p, path, seed)
        if v and v[0] != "refused":
            return v
        v = self.device_once(p, path, seed, seed % 2 == 0, forward)
        if not v or v[0] != "device" or "is " not in v[1]:
            return v
        # Rounding may flip a branch with some data, but not with most.
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
                refused = any(w in err for w in NO_DERIVATIVE)
                return "refused" if refused else "command", err
            status, again, err, _ = self.run([self.command, "print", out, "-O0"])
            with open(out, encoding="utf-8") as f:
                text = f.read()
            if status or text != again:
                return "command", "print of grad %s: %s" % (level, err[:300] or "another text")
        return None
