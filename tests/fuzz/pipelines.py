# SPDX-License-Identifier: MIT
"""Random pipelines with derivatives: dispatches of a few small programs on buffers, slices of
buffers, what is updated in place, in repeats, checkpoints, `while` and `if` (on counters, variables
and data); and of other such pipelines.

What is passed to one dispatch never overlaps, unless it is only read.  All values stay small, so
that differences are exact enough: programs end in sin, tanh or a mean.
"""
import random
import re

# name, parameters by class, text.  v: f32[N], s: f32[1]
PROGRAMS = {
    "map1": ("in v, out v", "program map1(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
             "    y[i] = sin(x[i] * 1.3 + 0.2) + 0.1 * x[i] * x[i];\n}\n"),
    "map2": ("in v, in v, out v", "program map2(a: in f32[N], b: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
             "    y[i] = tanh(a[i] * b[N - 1 - i] + 0.3 * a[i]);\n}\n"),
    "linear": ("in v, in v, out v", "program linear(a: in f32[N], b: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
               "    y[i] = 0.6 * a[i] - 0.7 * b[i];\n}\n"),
    "stencil": ("in v, in v, out v", "program stencil(u: in f32[N], k: in f32[N], v: out f32[N], N: u32) over(i: N) {\n"
                "    let l = u[max(i, 1u) - 1]; let r = u[min(i + 1, N - 1)];\n"
                "    v[i] = sin(u[i] + 0.2 * k[i] * (l - 2 * u[i] + r));\n}\n"),
    "grow": ("inout v, in v", "program grow(x: inout f32[N], k: in f32[N], N: u32) over(i: N) {\n"
             "    x[i] = sin(x[i] * x[i] * 0.4 + k[i]);\n}\n"),
    "fixed": ("out v", "program fixed(y: out f32[N], N: u32) over(i: N) { y[i] = 0.3 + 0.1 * f32(i); }\n"),
    "decay": ("inout v", "program decay(x: inout f32[N], N: u32) over(i: N) { x[i] = 0.8 * x[i]; }\n"),
    "both": ("inout v, out v", "program both(x: inout f32[N], y: out f32[N], N: u32) over(i: N) {\n"
             "    y[i] = cos(x[i]);\n    x[i] = tanh(x[i] + y[i]);\n}\n"),
    "odd": ("in v, out v", "program odd(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
            "    if i % 2 == 1 { y[i] = sin(x[i]) * x[N - 1 - i]; }\n}\n"),
    "keep": ("in v, inout v", "program keep(x: in f32[N], y: inout f32[N], N: u32) over(i: N) {\n"
             "    if i % 2 == 1 { y[i] = tanh(x[i]) * y[i]; }\n}\n"),
    "scatter": ("in v, inout v", "program scatter(x: in f32[N], y: inout f32[N], N: u32) over(i: N) {\n"
                "    atomic_add(y[(i * i) % N], 0.3 * sin(x[i]));\n}\n"),
    "root": ("in v, out v", "program root(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
             "    y[i] = sqrt(max(x[i], 0.0));\n}\n"),
    "gate": ("in v, in v, out v", "program gate(x: in f32[N], c: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
             "    if c[i] > 0.5 { y[i] = sin(x[i]); }\n}\n"),
    "mean": ("in v, out s", "program mean(x: in f32[N], m: out f32[1], N: u32) over(one: 1) {\n"
             "    var s = 0.0;\n    for i in 0..N { s += x[i] * x[i]; }\n    m[0] = s / f32(N);\n}\n"),
    "spread": ("in s, in v, out v", "program spread(m: in f32[1], x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
               "    y[i] = tanh(x[i] - m[0]);\n}\n"),
    "tile": ("in v, out v", "program tile(x: in f32[N], y: out f32[N], N: u32) workgroup(4) over(i: (N + 3) / 4 * 4) {\n"
             "    shared t: f32[4];\n    t[lindex] = select(i < N, sin(x[min(i, N - 1)]), 0.0);\n    barrier();\n"
             "    if i < N { y[i] = t[3 - lindex] * t[lindex]; }\n}\n"),
    "groups": ("in v, inout v", "program groups(x: in f32[N], y: inout f32[N], N: u32) workgroup(4) {\n"
               "    let i = wid.x * 4 + lid.x;\n    if i < N { y[i] = sin(y[i] * x[i]) + x[i]; }\n}\n"),
    "iterate": ("in v, inout v", "program iterate(x: in f32[N], y: inout f32[N], N: u32) over(i: N) {\n"
                "    var v = y[i];\n    for k in 0..3 { v = sin(v * x[i] + 0.1); }\n    y[i] = v;\n}\n"),
    "rows": ("in v, out m", "program rows(x: in f32[N], u: out f32[M, N], M: u32, N: u32) over(j: M, i: N) {\n"
             "    u[j, i] = sin(x[i] * f32(j + 1));\n}\n"),
    "mix_rows": ("in v, inout m", "program mix_rows(x: in f32[N], u: inout f32[M, N], M: u32, N: u32) over(j: M, i: N) {\n"
                 "    u[j, i] = sin(x[i] + 0.7 * u[j, i]);\n}\n"),
    "sum_rows": ("in m, out v", "program sum_rows(u: in f32[M, N], y: out f32[N], M: u32, N: u32) over(i: N) {\n"
                 "    var s = 0.0;\n    for j in 0..M { s += u[j, i] * u[j, i]; }\n    y[i] = tanh(s);\n}\n"),
    "while1": ("in v, out v", "program while1(x: in f32[N], y: out f32[N], N: u32) over(i: N) {\n"
               "    var v = x[i];\n    for k in 0..4 {\n        if v > 0.9 { break; }\n        v = v * 0.5 + 0.6;\n    }\n"
               "    y[i] = sin(v);\n}\n"),
    "scaled": ("in v, out v", "program scaled(x: in f32[N], y: out f32[N], s: f32, n: u32, N: u32) over(i: N) {\n"
               "    y[i] = sin(s * x[i]) + 0.1 * f32(n) * x[i];\n}\n"),
}
VECTORS = [name for name, (kinds, _) in PROGRAMS.items() if not any(k.endswith((" s", " m")) for k in kinds.split(", "))]
MATRICES = ["rows", "mix_rows", "sum_rows"]
TURN = "program turn(n: inout u32[2]) over(i: 2) { n[i] = (n[i] + i + 1) % 3; }\n"
# Rows of a number that no scalar tells.
WIDE = "program wide(x: inout f32[N], u: out f32[?, N], N: u32) over(i: N) {\n" \
       "    for j in 0..len(u, 0) { u[j, i] = sin(x[i] * f32(j + 1)); }\n    x[i] = cos(x[i] * x[i]);\n}\n"
COUNT = "program count(x: in f32[N], n: out u32[1], N: u32) over(one: 1) { n[0] = 1 + u32(x[0] > 0); }\n"
# Outputs that begin as an input: in the place of map1.
BEGUN = {
    "passed": "program passed(x: in f32[N], @init(x) y: out f32[N], N: u32) over(i: N) { }\n",
    "begun": "program begun(x: in f32[N], @init(x) y: out f32[N], N: u32) over(i: N) {\n"
             "    if i % 2 == 1 { y[i] = sin(y[i]); }\n}\n",
    # by way of an output, declared before it, and read beside both
    "chained": "program chained(@workspace @init(y) b: inout f32[N], x: in f32[N], @init(x) y: out f32[N], N: u32) over(i: N) {\n"
               "    b[i] = 0.5 * b[i] * x[i];\n    if i % 2 == 1 { y[i] = sin(y[i]) + b[i]; }\n}\n",
}
# Linear in what is around an element of u, which a derivative may keep in place of u
# (autodiff/core/keep_plan.h): always; only where u has no other use.
AROUND = {
    "around": "program around(a: in f32[N], u: in f32[N], k: in f32[N], v: out f32[N], N: u32) over(i: N) {\n"
              "    var s = 0.0;\n    if i > 0 { s += u[i - 1]; }\n    if i + 1 < N { s += u[i + 1]; }\n"
              "    if i + 2 < N { s -= 0.3 * u[i + 2]; }\n    v[i] = 0.4 * u[i] - 0.3 * a[i] + 0.2 * k[i] * k[i] * (s - 2 * u[i]);\n}\n",
    "beside": "program beside(a: in f32[N], u: in f32[N], k: in f32[N], v: out f32[N], N: u32) over(i: N) {\n"
              "    let s = u[max(i, 1u) - 1] + u[min(i + 1, N - 1)] - u[N - 1 - i] - 2 * u[i];\n"
              "    v[i] = 0.4 * u[i] + sin(a[i]) * 0.3 + k[i] * sin(k[i]) * 0.2 * s;\n}\n",
}
# What overwrites a vector in part, which a derivative may undo (autodiff/reverse/undo_form.c).
PARTIAL = {
    "ends": "program ends(x: inout f32[N], k: in f32[N], N: u32) over(one: 1) {\n"
            "    x[0] = sin(x[0] * k[0]) + 0.1;\n    x[N - 1] = tanh(x[N - 1] * x[0] + k[N - 1]);\n}\n",
    "even": "program even(x: inout f32[N], k: in f32[N], N: u32) over(i: (N + 1) / 2) {\n"
            "    x[2 * i] = sin(x[2 * i] * x[2 * i] * 0.5 + k[i]);\n}\n",
    "one": "program one(x: inout f32[N], k: in f32[N], N: u32) over(o: 1) {\n"
           "    let m = x[N / 2];\n    x[N / 2] = m * m * 0.5;\n    x[N / 2] = tanh(x[N / 2] - m * k[0]);\n}\n",
    "half": "program half(x: inout f32[N], k: in f32[N], N: u32) over(o: 1) {\n"
            "    for j in rev(1..N / 2) { x[j] = sin(x[j] * x[j - 1] + k[j]); }\n}\n",
    "first": "program first(x: inout f32[N], k: in f32[N], s: u32, N: u32) over(i: N) {\n"
             "    if i <= s % 2 { x[i] = sin(x[i] * k[i]); }\n}\n",
    "guard": "program guard(x: inout f32[N], k: in f32[N], N: u32) over(i: N) {\n"
             "    if i == 0 { x[i] = sin(x[i] * k[i]); }\n"
             "    else { if i % 2 == 1 && N - 1 == i { x[i] = tanh(x[i] + k[0]); } }\n}\n",
    "chosen": "program chosen(x: inout f32[N], k: in f32[N], N: u32) over(o: 1) {\n"
              "    let at = u32(abs(k[0]) * 3.0) % N;\n    x[at] = sin(x[at] * x[0]);\n}\n",
}


# Of the pipelines that are dispatched; their T is not inferred.
INNER = "in v, in v, in p, inout v, out v"


class Pipeline:
    def __init__(self, r, inners, own=None, walled=None, kept=None, filled=None, summed=None):
        self.r, self.inners, self.own, self.walled, self.kept, self.filled, self.summed = r, inners, own, walled, kept, filled, summed
        self.used, self.lines, self.made = set(), [], 0
        self.whole = ["x", "k"]          # vectors that can be read
        self.written = []                # and written
        self.rings, self.rows = [], []   # f32[2, N], f32[T + 4, N]
        self.scalars = []                # f32[1]
        self.sized = []                  # f32[value(…), N]

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def readable(self, t):
        r = self.r
        picks = list(self.whole) + ["p[%s]" % i for i in self.indices(t)]
        picks += ["%s[%s]" % (b, i) for b in self.rows for i in self.indices(t)]
        picks += ["%s[%s]" % (b, i) for b in self.rings for i in (("%s %% 2" % t, "(%s + 1) %% 2" % t) if t else ("0", "1"))]
        return r.choice(picks)

    def indices(self, t):
        return ["0", "T"] + (["%s" % t, "%s + 1" % t, "T - %s" % t, "%s / 2" % t] if t else ["1"])

    def writable(self, t):
        r = self.r
        picks = list(self.written)
        picks += ["%s[%s]" % (b, i) for b in self.rows for i in (["%s + 2" % t, "%s + 1" % t, t] if t else ["0", "1"])]
        picks += ["%s[%s]" % (b, i) for b in self.rings for i in (("(%s + 1) %% 2" % t, "%s %% 2" % t) if t else ("0", "1"))]
        return r.choice(picks) if picks else None

    @staticmethod
    def apart(a, b):
        """Do the two arguments surely not overlap?"""
        if a.split("[")[0] != b.split("[")[0]:
            return True
        pairs = [{"t % 2", "(t + 1) % 2"}, {"s % 2", "(s + 1) % 2"}, {"t", "t + 1"}, {"t + 1", "t + 2"}, {"t", "t + 2"},
                 {"s", "s + 1"}, {"s + 1", "s + 2"}, {"s", "s + 2"}, {"0", "1"}]
        inner = lambda x: x[x.index("[") + 1:-1] if "[" in x else None
        return {inner(a), inner(b)} in pairs

    def dispatch(self, depth, t):
        r = self.r
        name = r.choice(VECTORS if r.random() < 0.85 or not self.scalars else ["spread"])
        if r.random() < 0.12 and (self.rings or self.rows or self.sized):
            name = r.choice(MATRICES)
        if r.random() < 0.08 and self.scalars:
            name = "mean"
        if self.inners and r.random() < 0.15:
            name = r.choice(self.inners)
        args, writes, last = [], [], None
        twice = r.random() < 0.15  # one value as several operands
        for kind in (INNER if name in self.inners else PROGRAMS[name][0]).split(", "):
            cls, what = kind.split(" ")
            for _ in range(30):
                if what == "p":
                    a = "p"
                elif what == "m":
                    a = r.choice(self.rings + self.rows + self.sized)
                elif what == "s":
                    a = r.choice(self.scalars) if cls == "in" else r.choice(self.scalars or ["m"])
                else:
                    a = self.readable(t) if cls == "in" else self.writable(t)
                    if twice and last == kind == "in v":
                        a = args[-1]
                if a is None:
                    return
                if name in self.inners and (cls, a) == ("inout", "d"):
                    continue  # it may not have been written yet, and the pipeline may read it
                other = args if cls != "in" else writes
                if all(self.apart(a, b) for b in other):
                    break
            else:
                return
            args.append(a)
            last = kind
            if cls != "in":
                writes.append(a)
        extra = ", s=%s, n=%s" % (r.choice(("0.7", "sc")), r.choice((t, "2"))) if name == "scaled" and t else ", s=sc, n=3" if name == "scaled" else ""
        if name in self.inners:
            extra = ", sc=%s, T=T" % r.choice(("0.7", "sc"))
        else:
            self.used.add(name)
        groups = "@groups((N + 3) / 4) " if name == "groups" else ""
        self.line(depth, "%s%s(%s%s);" % (groups, name, ", ".join(args), extra))

    def buffer(self, depth):
        kind = self.r.choice(("v", "v", "ring", "rows"))
        name = "b%d" % self.made
        self.made += 1
        if self.r.random() < 0.15:
            self.used.add("count")
            self.line(depth, "buffer n%d: u32[1];" % self.made)
            self.line(depth, "count(%s, n%d);" % (self.r.choice(self.whole), self.made))
            self.line(depth, "buffer %s: f32[value(n%d[0]), N];" % (name, self.made))
            self.sized.append(name)
            return
        if kind == "v" and self.r.random() < 0.2:
            self.line(depth, "@init(%s)" % self.r.choice(self.started()))
        self.line(depth, "buffer %s: f32[%s];" % (name, {"v": "N", "ring": "2, N", "rows": "T + 4, N"}[kind]))
        if kind == "v":
            self.whole.append(name)
            self.written.append(name)
        else:
            (self.rings if kind == "ring" else self.rows).append(name)

    def started(self):
        return ["ones"] + self.whole

    def condition(self, t, variable=None):
        """Of `if`; or of a `while` that ends after some iterations."""
        r = self.r
        data = "value(%s[%s]) %s %s" % (r.choice(self.whole), r.choice(("0", "N - 1", "T % N")), r.choice("<>"),
                                        r.choice(("0.2137", "0.3 * sc", "f32(T) - 1.4")))
        if variable:
            few = "%s < %s" % (variable, r.choice(("2", "3", "T", t or "T")))
            return r.choice((few, few, few + " && (" + data + " || T > 2)"))
        whole = r.choice(("T % 2 == 0", "!(T > 2)", "N == 1 || T >= 1", "%s != 1" % (t or "T"), "T"))
        return r.choice((whole, data, "!(%s) && %s" % (data, whole if whole != "T" else "T > 0")))

    def loop(self, depth, t):
        """Iterations that a variable counts; the condition may depend on data."""
        r, n = self.r, "j%d" % self.made
        self.made += 1
        self.line(depth, "var %s = 0;" % n)
        keep = r.choice(("", "", "", "", " checkpoint(sqrt)", " checkpoint(2)", " checkpoint(revolve, 2)"))
        if r.random() < 0.4:  # the steps of the condition have effects, once more than the body
            self.line(depth, "while {")
            for _ in range(r.randint(1, 2)):
                self.dispatch(depth + 1, t)
            self.line(depth + 1, "let e%d = T;" % self.made)
            self.line(depth + 1, "%s && e%d > 0" % (self.condition(t, n), self.made))
            self.line(depth, "}%s {" % keep)
        else:
            self.line(depth, "while %s%s {" % (self.condition(t, n), keep))
        self.block(depth + 1, t, r.randint(1, 3))
        self.line(depth + 1, r.choice(("%s += 1;", "%s = %s + 1;" % ("%s", n))) % n)
        self.line(depth, "}")
        if r.random() < 0.3:
            self.used.add("scaled")
            x, y = self.readable(t), self.writable(t)
            if y and self.apart(x, y):
                self.line(depth, "scaled(%s, %s, s=0.7, n=%s);" % (x, y, n))

    def march(self, depth):
        """States that a repeat writes ahead of, or a few in turn; at times one that is written over."""
        r, b = self.r, "b%d" % self.made
        self.made += 1
        ahead = r.choice((1, 1, 2, 3))
        count = r.choice((None, None, ahead + 1, ahead + 1, ahead + 2, ahead))
        at = lambda t, k: ("%s + %d" % (t, k) if k else t) if count is None else "(%s + %d) %% %d" % (t, k, count)
        self.line(depth, "buffer %s: f32[%s, N];" % (b, "T + %d" % ahead if count is None else count))
        self.used.update(("map1", "map2", "linear", "grow"))
        for k in range(ahead if count is None else min(ahead, count)):
            if r.random() < 0.9:
                self.line(depth, "map1(%s, %s[%d]);" % (self.readable(None), b, k))
        end = r.choice(("T", "T", "T", "T", "min(T, 3)" if count else "T"))
        self.line(depth, "repeat t in 0..%s%s {" % (end, r.choice(("", "", "", "", " checkpoint(sqrt)"))))
        new, places = "%s[%s]" % (b, at("t", ahead)), ["%s[%s]" % (b, at("t", k)) for k in range(ahead)]
        pick = lambda: r.choice(places + ["x", "k", "p[t]"])
        if count != ahead:
            first, second = r.choice(places), pick()
            name = r.choice(("map2", "linear", "map2"))
            around = count and self.kept and self.kept.random() < 0.5 and self.kept.choice(list(AROUND))
            self.used.update([around] if around else [])
            self.line(depth + 1, "%s(%s, %s, k, %s);" % (around, second, first, new) if around else "%s(%s, %s, %s);" % (name, first, second, new))
        else:  # the oldest is written over
            self.line(depth + 1, "map2(%s, k, %s);" % (r.choice(places[1:] + ["x"]), new))
        for _ in range(r.choice((0, 0, 0, 1, 2))):
            a = pick()
            self.line(depth + 1, r.choice(("grow(%s, k);" % r.choice((r.choice(places), new)), "map1(%s, w);" % a,
                                           "linear(%s, k, w);" % new, "map2(%s, %s, w);" % (a, new))))
        self.line(depth, "}")
        for k in range(r.randint(1, ahead)):
            self.line(depth, "map2(%s[%s], k, w);" % (b, at("T", k)))
        if r.random() < 0.15:
            self.line(depth, "map1(k, %s[0]);" % b)

    def walls(self, depth):
        """Iterations that overwrite a state in part, between reads of all of it."""
        r, b = self.r, "c%d" % self.made
        self.made += 1
        ring = r.random() < 0.4
        self.used.update(("map1", "map2", "stencil", "linear"))
        self.line(depth, "buffer %s: f32[%sN];" % (b, "2, " if ring else ""))
        self.line(depth, "map1(x, %s);" % (b + "[0]" if ring else b))
        if r.random() < 0.2:
            self.line(depth, "map2(%s, k, w);" % (b + "[0]" if ring else b))
        inner = r.random() < 0.3
        self.line(depth, "repeat t in %s {" % r.choice(("0..T", "0..T", "rev(0..T)", "1..T", "0..2")))
        now, new = (b + "[t % 2]", b + "[(t + 1) % 2]") if ring else (b, b)
        if ring:
            self.line(depth + 1, "stencil(%s, k, %s);" % (now, new))
        for _ in range(r.randint(1, 4)):
            name, s, at = r.choice(list(PARTIAL)), "", depth + 1
            self.used.add(name)
            nested = inner and r.random() < 0.5
            if nested:
                self.line(at, "repeat s in 0..%s {" % r.choice(("2", "t + 1", "T")))
                at += 1
            self.line(at, "%s(%s, k%s);" % (name, new, ", s=" + r.choice(("t", "1", "T")) if name == "first" else ""))
            if r.random() < 0.5:
                self.line(at, r.choice(("map2(%s, w, m2);" % new, "linear(%s, k, m2);" % new, "map2(m2, %s, w);" % new)))
            if nested:
                self.line(depth + 1, "}")
        self.line(depth, "}")
        self.line(depth, "map2(%s, m2, w);" % (b + "[%s]" % r.choice("01") if ring else b))
        for _ in range(r.randint(0, 2)):
            name = r.choice([n for n in PARTIAL if n != "first"])
            self.used.add(name)
            self.line(depth, "%s(%s, k);" % (name, b + "[1]" if ring else r.choice((b, "w"))))
            self.line(depth, "map2(%s, w, m2);" % (b + "[1]" if ring else b))
        self.line(depth, "linear(m2, k, w);")

    def sizes(self, depth, t=None):
        """In each iteration an intermediate of its own size, which loops inside change."""
        r, n, b, v = self.r, "q%d" % self.made, "a%d" % self.made, "t" if t is None else "s"
        self.made += 1
        self.used.update(("count", "mix_rows", "sum_rows"))
        often = r.choice(("0..T", "rev(0..T)", "1..T", "0..2")) if t is None else r.choice(("0..2", "0..%s + 1" % t, "rev(%s..T)" % t, "0..T"))
        keep = r.choice(("", "", "", "", " checkpoint(sqrt)", " checkpoint(2)"))
        c = "turns%d" % self.made if self.summed.random() < 0.3 else None
        if c:
            self.line(depth, "buffer %s: u32[2];" % c)
        if r.random() < 0.3:
            v = "g%d" % self.made
            self.line(depth, "var %s = 0;" % v)
            self.line(depth, "while %s%s {" % (self.condition(t, v), keep))
        else:
            self.line(depth, "repeat %s in %s%s {" % (v, often, keep))
        self.line(depth + 1, "buffer %s: u32[1];" % n)
        self.line(depth + 1, "count(%s, %s);" % (r.choice(self.whole), n))
        more = r.choice(("", " + %s" % v, " * 2"))
        size = "value(%s[0])%s" % (n, more) + (self.turning(depth + 1, c) if c else "")
        self.line(depth + 1, "buffer %s: f32[%s, N];" % (b, size))
        self.sized.append(b)
        self.line(depth + 1, "mix_rows(%s, %s);" % (r.choice(self.whole), b))
        if self.filled.random() < 0.5:
            self.refill(depth + 1, b, "t" if v == "t" else None)
        if t is None and r.random() < 0.4:
            self.sizes(depth + 1, v)
        elif r.random() < 0.5:
            self.line(depth + 1, "repeat u in 0..%s {" % r.choice(("2", "%s + 1" % v, "value(%s[0])" % n)))
            self.line(depth + 2, "mix_rows(%s, %s);" % (r.choice(self.whole), b))
            if r.random() < 0.4:
                self.dispatch(depth + 2, None)
            self.line(depth + 1, "}")
        else:
            self.block(depth + 1, "t" if v == "t" else None, r.randint(1, 3))
        self.line(depth + 1, "sum_rows(%s, %s);" % (b, r.choice(self.written)))
        self.sized.remove(b)
        if c:  # at the end: flat(…) is passed the size once more
            self.line(depth + 1, "turn(%s);" % c)
        if v[0] == "g":
            self.line(depth + 1, "%s += 1;" % v)
        self.line(depth, "}")

    def turning(self, depth, c):
        """Numbers that iterations change: their sum is what is kept of a size; something kept may come before it."""
        r = self.summed
        self.used.add("turn")
        if len(self.written) > 1 and r.random() < 0.8:
            self.used.add("both")
            self.line(depth, "both(%s, %s);" % tuple(r.sample(self.written, 2)))
        return " + value(%s[0]) + value(%s[1])" % (c, c)

    def refill(self, depth, b, t):
        """In a block of its own an intermediate is read, and written as a whole."""
        r = self.filled
        self.line(depth, r.choice(("repeat u in 0..2 {", "repeat u in 0..T {", "if %s {" % self.condition(t))))
        fill = lambda: r.choice(("rows(%s, %s);" % (r.choice(self.whole), b),) * 2 + ("wide(%s, %s);" % (r.choice(self.written), b),))
        read = lambda: "sum_rows(%s, %s);" % (b, r.choice(self.written))
        at = len(self.lines)
        for step in r.choice(((read, fill), (read, fill), (fill, fill), (fill, read, fill), (read, fill, read))):
            self.line(depth + 1, step())
        self.used.update(line.split("(")[0].strip() for line in self.lines[at:])
        self.line(depth, "}")

    def choice(self, depth, t):
        self.line(depth, "if %s {" % self.condition(t))
        self.block(depth + 1, t, self.r.randint(1, 3))
        if self.r.random() < 0.5:
            self.line(depth, "} else {")
            self.block(depth + 1, t, self.r.randint(1, 2))
        self.line(depth, "}")

    def block(self, depth, t, size):
        r = self.r
        before = [list(x) for x in (self.whole, self.written, self.rings, self.rows, self.scalars, self.sized)]
        for _ in range(size):
            p = r.random()
            if p < 0.12:
                self.buffer(depth)
            elif p < 0.2 and depth < 3:
                v = "t" if t is None else "s"
                if t == "s":
                    continue
                keep = r.choice(("", "", "", " checkpoint(sqrt)", " checkpoint(2)", " checkpoint(revolve, 2)"))
                ends = ("0..T", "0..T", "1..T", "0..min(T, 3)" if t is None else "0..t", "T..1" if t is None else "t..T")
                self.line(depth, "repeat %s in %s%s {" % (v, r.choice(("%s", "%s", "rev(%s)")) % r.choice(ends), keep))
                self.block(depth + 1, v, r.randint(1, 4))
                self.line(depth, "}")
            elif p < 0.25 and depth < 3:
                self.line(depth, "checkpoint {")
                self.block(depth + 1, t, r.randint(1, 3))
                self.line(depth, "}")
            elif p < 0.3 and depth < 3:
                self.loop(depth, t)
            elif p < 0.35 and depth < 3:
                self.choice(depth, t)
            else:
                self.dispatch(depth, t)
        if depth > 1:
            self.whole, self.written, self.rings, self.rows, self.scalars, self.sized = before

    def inner(self, name):
        """A pipeline to dispatch: c is updated, d begins as zeros."""
        r = self.r
        self.whole, self.written = ["a", "b", "c"], ["c", "d"]
        self.buffer(1)
        self.block(1, None, r.randint(2, 5))
        if r.random() < 0.5:
            self.used.add("map1")
            self.line(1, "map1(%s, d);" % self.readable(None))
        return "pipeline %s(a: in f32[N], b: in f32[N], p: in f32[T + 4, N], c: inout f32[N], d: out f32[N],\n" \
               "           sc: f32, T: u32, N: u32) {\n%s\n}\n" % (name, "\n".join(self.lines))

    def outer(self):
        r = self.r
        self.whole += ["w"]
        self.written += ["w"]
        self.line(1, "buffer m: f32[1];")
        for _ in range(r.randint(1, 3)):
            self.buffer(1)
        self.block(1, None, r.randint(1, 5))
        if r.random() < 0.4:
            self.march(1)
        if self.own.random() < 0.2:  # other pipelines stay as they were
            self.r = self.own
            self.sizes(1)
            self.r = r
        if self.walled.random() < 0.4:
            self.r = self.walled
            self.line(1, "buffer m2: f32[N];")
            self.walls(1)
            self.r = r
        self.block(1, None, r.randint(2, 5))
        self.scalars.append("m")
        self.used.update(("mean", "map2", "map1"))
        self.line(1, "map1(%s, y);" % self.readable(None))
        self.whole.append("y")
        self.line(1, "mean(%s, m);" % self.readable(None))
        self.block(1, None, 2)
        self.line(1, "map2(%s, %s, z);" % (self.readable(None), self.readable(None)))
        self.line(1, "mean(%s, l);" % self.readable(None))
        return "pipeline f(x: in f32[N], k: in f32[N], p: in f32[T + 4, N], w: inout f32[N], y: out f32[N],\n" \
               "           z: out f32[N], l: out f32[1], sc: f32, T: u32, N: u32) {\n%s\n}\n" % "\n".join(self.lines)


def text_of(name):
    return {"count": COUNT, "turn": TURN, "wide": WIDE}.get(name) or {**PARTIAL, **AROUND}.get(name) or PROGRAMS[name][1]


def begin(texts, r):
    """Some outputs begin as inputs.  Returns the programs for that."""
    def other(found):
        return found[0] if r.random() < 0.85 else r.choice(list(BEGUN)) + "("
    texts[:] = [re.sub(r"\bmap1\(", other, text) for text in texts]
    return [program for name, program in BEGUN.items() if any(name + "(" in text for text in texts)]


def flatten(text, r):
    """The same pipeline with vectors that are declared as columns, and matrices, passed as flat(…)."""
    for b in re.findall(r"buffer (b\d+): f32\[N\];", text):
        if r.random() < 0.8 or re.search(r"@init\(%s\)|@init\(\w+\)\n *buffer %s:" % (b, b), text):
            continue
        text = text.replace("buffer %s: f32[N];" % b, "buffer %s: f32[N, 1];" % b)
        text = re.sub(r"value\(%s\[(.*?)\]\)" % b, r"value(%s[\1, 0])" % b, text)
        text = re.sub(r"(?<=[(,] )%s(?=[,)])|(?<=\()%s(?=[,)])" % (b, b), "flat(%s)" % b, text)
    counts = dict(re.findall(r"buffer ([ab]\d+): f32\[(.*), N\];", text))
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if re.match(r" *(inner|deeper)\(", line) and r.random() < 0.3:
            lines[i] = re.sub(r"\bp,", "flat(p),", line)
        found = re.match(r" *(?:rows|mix_rows|sum_rows)\((.*)\);", line)
        matrix = [a for a in found[1].split(", ") if a in counts] if found else []
        if matrix and r.random() < (0.6 if matrix[0][0] == "a" else 0.3):
            lines[i] = re.sub(r"\b%s\b" % matrix[0], "flat(%s)" % matrix[0], line)[:-2] + ", M=%s);" % counts[matrix[0]]
    return "\n".join(lines)


def make(seed, flat=True):
    """flat=False: the same without flat(…)."""
    r, own = random.Random(seed), random.Random("flat %s" % seed)
    inners, used, texts = [], set(), []
    for name in ("inner", "deeper")[:r.choice((0, 0, 1, 1, 2))]:
        q = Pipeline(r, list(inners))
        texts.append(flatten(q.inner(name), own) if flat else q.inner(name))
        inners.append(name)
        used |= q.used
    q = Pipeline(r, inners, random.Random("sizes %s" % seed), random.Random("walls %s" % seed), random.Random("kept %s" % seed),
                 random.Random("filled %s" % seed), random.Random("summed %s" % seed))
    texts.insert(r.randint(0, len(texts)), flatten(q.outer(), own) if flat else q.outer())  # in any order
    begun = begin(texts, random.Random("begun %s" % seed))
    programs = "".join(begun) + "".join(text_of(n) for n in sorted(used | q.used))
    return programs + "".join(texts)


if __name__ == "__main__":
    import sys
    print(make(int(sys.argv[1])))
