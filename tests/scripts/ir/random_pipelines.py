#!/usr/bin/env python3
# DEVICE
"""Made-up pipelines: the device computes what the interpreter computes, and both refuse the same.

  random_pipelines.py [COUNT [FIRST_SEED]]

Slices at any element, repeats with counters in sizes and slices, values read back, workspaces,
copies, group counts.  Sums are of small integers, so floats are exact and results are compared bit
by bit.
"""
import json, os, random, subprocess, sys

VYRE = os.environ.get("VYRE_GRAD", "vyre-grad")
PROGRAMS = """
program copy(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }
program add(x: in f32[N], y: inout f32[N], N: u32) over(i: N) { y[i] += x[i]; }
program mirror(x: in f32[N], y: out f32[N], N: u32) workgroup(16) over(i: N)
{
    shared t: f32[16];
    t[lindex] = x[i];
    barrier();
    let g = wid.x * 16;
    let n = min(N - g, 16u);
    if i < N { y[i] = t[n - 1 - lindex]; }
}
program half(x: in f32[N], y: out f32[N], n: u32, N: u32) over(i: n) { y[i] = x[i] + 1; }
program scratch(x: in f32[N], y: out f32[N], @workspace w: inout f32[N], @workspace @init(x) c: inout f32[N],
                k: u32, N: u32) over(i: N)
{
    for t in 0..k { w[i] += c[i]; }
    y[i] = min(w[i], 1000.0);
}
program from_ones(@init(ones) y: out f32[N], x: in f32[N], N: u32) over(i: N) { if x[i] > 3 { y[i] = x[i]; } }
program from_copy(x: in f32[N], @init(x) y: out f32[N], N: u32) over(i: N) { if i % 2 == 0 { y[i] += 1; } }
program count(x: in f32[N], c: inout u32[M], at: u32, N: u32, M: u32) over(i: N)
{
    if x[i] > 2 { atomic_add(c[at], 1); }
    if i == 0 { atomic_add(c[at], at); }
}
program spread(x: in f32[N], y: out f32[S], N: u32, S: u32) over(i: S) { y[i] = x[i % N] + f32(i % 3); }
program collect(x: in f32[S], y: inout f32[N], S: u32, N: u32) over(i: N)
{
    y[i] = min(y[i] + sum(k in 0..S: (k % N == i ? x[k] : 0.0)), 1000.0);
}
program groups(y: inout f32[N], N: u32) workgroup(4) { if gid.x < N { y[gid.x] += f32(num_groups.x); } }
"""


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rows, self.n = self.r.randint(1, 5), self.r.choice([1, 2, 3, 5, 7, 8, 16, 33, 65])
        self.names = 0
        self.lines = []

    def name(self, base):
        self.names += 1
        return "%s%d" % (base, self.names)

    def integer(self, counters, low, high):
        """An integer expression that is mostly within low..high-1."""
        r = self.r
        choices = [str(r.randrange(low, high)) if high > low else str(low)]
        choices += counters
        choices += ["%s + %d" % (c, r.randint(0, 1)) for c in counters]
        choices += ["R - 1 - %s" % c for c in counters] + ["R - 1", "R / 2"]
        choices += ["(%s * 3 + 1) %% R" % c for c in counters] * 2
        return r.choice(choices)

    def row(self, scope, write):
        """An f32[N]: a row of u, w or an intermediate; `in` parameters are not written."""
        r = self.r
        wholes = [b for b, kind in scope["buffers"] if kind == "row"]
        tables = ["u", "w"] + [b for b, kind in scope["buffers"] if kind == "table"]
        if not write:
            tables.append("x")
        if wholes and r.random() < 0.5:
            return r.choice(wholes)
        return "%s[%s]" % (r.choice(tables), self.integer(scope["counters"], 0, self.rows))

    def dispatch(self, scope):
        r = self.r
        x, y = self.row(scope, False), self.row(scope, True)
        kind = r.choice(["copy", "add", "mirror", "half", "scratch", "from_ones", "from_copy", "count",
                         "groups"])
        if kind == "groups":
            return ["@groups(%s) groups(%s);" % (self.integer(scope["counters"] + ["N"], 1, 9), y)]
        if kind == "count":
            return ["count(%s, c, at=%s);" % (x, self.integer(scope["counters"], 0, self.rows))]
        if kind == "from_ones":
            return ["from_ones(%s, %s);" % (y, x)]
        extra = {"half": ", n=%s" % self.integer(scope["counters"] + ["N"], 0, self.n + 1),
                 "scratch": ", k=%s" % self.integer(scope["counters"], 0, 4)}.get(kind, "")
        return ["%s(%s, %s%s);" % (kind, x, y, extra)]

    def sized(self, scope):
        """A buffer sized by a value or counter, filled and used at once."""
        b = self.name("s")
        size = self.r.choice(["value(c[%s])" % self.integer(scope["counters"], 0, self.rows),
                              "value(c[0]) * 2 + 1", self.integer(scope["counters"] + ["N"], 1, 6)])
        return ["buffer %s: f32[%s];" % (b, size), "spread(%s, %s);" % (self.row(scope, False), b),
                "collect(%s, %s);" % (b, self.row(scope, True))]

    def block(self, scope, depth, indent):
        r = self.r
        inner = {"counters": list(scope["counters"]), "buffers": list(scope["buffers"])}
        for _ in range(r.randint(1, 5)):
            what = r.random()
            if what < 0.15:
                b, table = self.name("b"), r.random() < 0.4
                init = r.choice(["", "", "@init(ones) "])
                self.lines.append("%s%sbuffer %s: f32[%sN];" % (indent, init, b, "R, " if table else ""))
                inner["buffers"].append((b, "table" if table else "row"))
            elif what < 0.3 and depth < 3:
                t = self.name("t")
                low = r.randint(0, 2)
                high = r.choice(["R", str(low + r.randint(0, 4)), "min(R, value(c[0]))"])
                mode = r.choice(["", "", "", " checkpoint(sqrt)"])
                self.lines.append("%srepeat %s in %d..%s%s {" % (indent, t, low, high, mode))
                self.block({"counters": inner["counters"] + [t], "buffers": inner["buffers"]}, depth + 1,
                           indent + "    ")
                self.lines.append(indent + "}")
            elif what < 0.35 and depth < 3:
                self.lines.append(indent + "checkpoint {")
                self.block(inner, depth + 1, indent + "    ")
                self.lines.append(indent + "}")
            elif what < 0.41 and depth < 3:
                k = self.name("k")
                self.lines += ["%svar %s = 0;" % (indent, k),
                               "%swhile %s < 3 && (value(c[%s]) > 1 || value(%s[0, 0]) < 4.5) {"
                               % (indent, k, self.integer(inner["counters"], 0, self.rows), r.choice("uwx"))]
                self.block({"counters": inner["counters"] + [k], "buffers": inner["buffers"]}, depth + 1,
                           indent + "    ")
                self.lines += ["%s    %s += 1;" % (indent, k), indent + "}"]
            elif what < 0.47 and depth < 3:
                self.lines.append("%sif %s %s value(c[0]) || !(value(u[R - 1, 0]) >= 2.5) {" % (
                    indent, self.integer(inner["counters"], 0, 3), r.choice(["<", "<=", "==", "!=", ">", ">="])))
                self.block(inner, depth + 1, indent + "    ")
                self.lines.append(indent + "} else {")
                self.block(inner, depth + 1, indent + "    ")
                self.lines.append(indent + "}")
            else:
                new = self.sized(inner) if what > 0.85 else self.dispatch(inner)
                self.lines += [indent + line for line in new]

    def text(self):
        self.lines = ["pipeline p(x: in f32[R, N], u: inout f32[R, N], w: inout f32[R, N], c: inout u32[R],",
                      "           R: u32, N: u32) {"]
        self.block({"counters": [], "buffers": []}, 0, "    ")
        self.lines.append("}")
        return PROGRAMS + "\n".join(self.lines) + "\n"


def run(path, maker, engine):
    r, shape = maker.r, "[%d,%d]" % (maker.rows, maker.n)
    data = random.Random(maker.rows * 100 + maker.n)
    numbers = lambda n, top: ",".join(str(data.randint(0, top)) for _ in range(n))
    command = [VYRE, "run", path, "-p", "p", "--json", "--engine", engine, "--of", "u,w,c"]
    for name in "xuw":
        command += ["--in", "%s%s=%s" % (name, shape, numbers(maker.rows * maker.n, 5))]
    command += ["--in", "c=" + numbers(maker.rows, 4)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return 0, json.loads(done.stdout)["outputs"]
    return done.returncode, done.stderr


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    devices = subprocess.run([VYRE, "devices"], capture_output=True, text=True)
    if "features:" not in devices.stdout:
        print("no Vulkan device")
        return 77
    bad = ran = 0
    for seed in range(first, first + count):
        maker, path = Maker(seed), "p%d.vyre" % seed
        with open(path, "w") as f:
            f.write(maker.text())
        (a, want), (b, got) = run(path, maker, "eval"), run(path, maker, "vulkan")
        if a == 0 and b == 0 and want == got:
            ran += 1
        elif a == 1 and b == 1:
            pass
        else:
            bad += 1
            print("seed %d: %d %s\n        %d %s" % (seed, a, str(want)[:300], b, str(got)[:300]))
        if "-v" in os.environ.get("FLAGS", ""):
            print(seed, a, str(want).split("\n")[0][-90:] if a else "ok")
    print("%d of %d ran to their end, %d differ" % (ran, count, bad))
    return 1 if bad or ran < count // 8 else 0


sys.exit(main())
