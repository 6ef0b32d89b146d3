# SPDX-License-Identifier: MIT
"""Random programs whose local arrays are tables that loops fill from what they have filled.

autodiff/storage/rewind.c takes the stores back on the way back, where no element is stored to twice.
Some elements are here, some stores are in arms or in loops without a derivative, some loads come
after the store of their iteration, in other loops than it, or before all; loops end early.
make(seed) is a program of f64.
"""
from rounds import Named, Program

E = 16  # elements of an array


class Maker(Named):
    def __init__(self, seed):
        super().__init__(seed)
        self.fresh = list("abcd") + ["m"]  # arrays without a store

    def index(self, counters):
        """Of a load: anything in range; with o, which is 0 mostly, often what the iteration stores."""
        r = self.r
        k, j = r.choice(counters or ["3"]), r.choice(counters or ["5"])
        return r.choice((
            "%s %% %d" % (k, E), "(%s + 1) %% %d" % (k, E), "(%s + %d) %% %d" % (k, E - 1, E), "(%s * 5 + %s) %% %d" % (k, j, E),
            "(%s + o) %% %d" % (k, E), "(%s + o) %% %d" % ((counters or ["4"])[-1], E), "(%s ^ 1) %% %d" % (k, E), "q[%s %% %d]" % (k, E), "%d" % r.randrange(E), "popcount(%s + %s)" % (k, j)))

    def load(self, counters):
        r = self.r
        k = r.choice(counters or ["2"])
        stored = [name for name in "abcd" if name not in self.fresh] or ["a"]
        return r.choice(("%s[%s]" % (r.choice(stored), self.index(counters)),) * 5 + (
            "%s[%s]" % (r.choice("abcd"), self.index(counters)),
            "m[%s %% 4, %s %% 4]" % (k, r.choice(counters or ["1"])), "x[i, %s %% %d]" % (k, E)))

    def value(self, counters):
        r = self.r
        a, b = self.load(counters), self.load(counters)
        return r.choice((
            "0.3 * %s * %s + x[i, %s]" % (a, b, self.index(counters)), "sin(%s + %s)" % (a, b), "%s * v" % a,
            "tanh(%s) * 0.8" % a, "sqrt(%s * %s + 0.5)" % (a, a), "0.2 * %s * %s" % (a, a), "x[i, 1] * 0.6"))

    def place(self, counters):
        """Where a store is: mostly in an array that has no other, and once; always in range."""
        r = self.r
        name = r.choice(self.fresh) if self.fresh and r.random() < 0.8 else r.choice("abcd")
        if name in self.fresh and (counters or r.random() < 0.5):
            self.fresh.remove(name)
        k, j = (counters or ["3"])[-1], (counters or ["2"])[-2:][0]
        if name == "m":
            if len(counters) < 2:
                return "m[%s %% 4, 1]" % k
            return "m[%s, %s]" % r.choice(((j + " % 4", k),) * 2 + ((k, "q[%s] %% 4" % k), (k, "o"), ("o", k)))
        if not counters:
            return "%s[%s]" % (name, r.choice(("0", "0", "15", "%d" % r.randrange(E))))
        forms = [k] * 12 + ["%d - %s" % (E - 1, k), "%s %% 7" % k, "(%s + 1) %% %d" % (k, E), "q[%s %% %d]" % (k, E)]
        if len(counters) > 1:
            forms += ["%s %% 4 * 4 + %s" % (j, k)] * 6 + [j] + ["o + " + k] * 3
        return "%s[%s]" % (name, r.choice(forms))

    def store(self, counters):
        value, at = self.value(counters), self.place(counters)
        store = "%s = %s;" % (at, value)
        k = counters[-1] if counters else "2"
        return self.r.choice((store,) * 7 + (
            "if x[i, %s %% %d] > 0.1 { %s }" % (k, E, store),
            "if x[i, %s %% %d] > 0.0 { %s } else { %s = 0.4 * v; }" % (k, E, store, at),
            "if %s %% 3 != 1 { %s }" % (k, store), self.shifted(counters), "%s %s = 0.9 * %s;" % (store, at, at)))

    def shifted(self, counters):
        """A store whose place is in range only where its arm is taken."""
        r = self.r
        k, by = (counters or ["2"])[-1], r.randrange(1, 5)
        name = r.choice(self.fresh) if self.fresh else "a"
        if name == "m":
            return "if %s < 4 { m[%s, o] = %s; }" % (k, k, self.value(counters))
        if name in self.fresh:
            self.fresh.remove(name)
        place, fits = r.choice((("%s - %d" % (k, by), "%s >= %d" % (k, by)), ("%s + %d" % (k, by), "%s < %d" % (k, E - by))))
        store = "%s[%s] = %s;" % (name, place, self.value(counters))
        if counters and r.random() < 0.3:
            return "if !(%s) { %s; } %s" % (fits, r.choice(("continue", "break")), store)
        return "if %s { %s } else { v *= 0.9; }" % (fits, store)

    def searched(self, counters):
        """A store, and a loop that finds it among all elements."""
        r, k = self.r, counters[-1]
        array = [name for name in self.fresh if name != "m"] or ["a"]
        name, j = r.choice(array), self.name("j")
        if name in self.fresh:
            self.fresh.remove(name)
        scan = "for %s in 0..%d { v = 0.8 * v + 0.2 * sin(%s[(%s * %d + %s) %% %d] * x[i, %s] + v); }" % (
            j, E, name, j, r.choice((1, 3, 5)), k, E, j)
        store = "%s[%s] = %s;" % (name, k, r.choice(("v + x[i, %s %% %d]" % (k, E), self.value(counters))))
        return " ".join(r.choice(((store, scan), (scan, store), (store, self.use(counters), scan), (scan, store, scan.replace(j, j + "b")))))

    def loop(self, counters):
        s = self.name("s")
        around = [*counters, s]
        short = len(counters) > 0
        bounds = self.r.choice(
            ("0..4", "1..4", "rev(0..4)", "0..T") if short else
            ("0..%d" % E, "1..%d" % E, "1..%d" % E, "rev(0..%d)" % E, "0..%d step 2" % E, "2..%d" % (E - 3), "0..T", "0..4"))
        body = [self.item(around) for _ in range(self.r.randrange(1, 4))] + [self.store(around)] * (self.r.random() < 0.5)
        return "for %s in %s { %s }" % (s, bounds, " ".join(body))

    def use(self, counters):
        a, b = self.load(counters), self.load(counters)
        return self.r.choice((
            "v += 0.3 * %s * %s;" % (a, b), "v = tanh(v + %s * %s);" % (a, b), "v *= cos(%s);" % a,
            "y[i, 0] += v * %s;" % a))

    def item(self, counters):
        kind = self.r.random()
        if kind < 0.34:
            return self.store(counters)
        if kind < 0.6 and len(counters) < 3:
            return self.loop(counters)
        if kind < 0.68:
            k = self.name("k")
            s = (counters or ["2"])[-1]
            return self.r.choice((
                "for %s in 0..4 { q[%s * 2] = (q[%s] + %s) %% %d; }" % (k, k, k, k, E),
                "for %s in 0..4 { q[%s %% 4 * 4 + %s] = (%s * 3 + %s + q[%s]) %% %d; }" % (k, s, k, s, k, k, E),
                "q[%s] = (%s * 5 + 3) %% %d;" % (s, s, E), "if %s %% 2 == 1 { q[%s] = %s * 3 %% %d; }" % (s, s, s, E)))
        if kind < 0.71 and len(counters) == 1:
            return self.searched(counters)
        if kind < 0.73 and counters:
            return "if v > 2.5 { %s; }" % self.r.choice(("break", "continue"))
        if kind < 0.76 and not counters:
            return "checkpoint { %s }" % self.loop(counters)
        return self.use(counters)


def make(seed):
    maker = Maker(seed)
    body = [maker.item([]) for _ in range(maker.r.randrange(3, 8))]
    if not any("for s" in b for b in body):
        body.append(maker.loop([]))
    last = maker.name("k")
    body.append("for %s in 0..%d { y[i, %s] += v * a[%s] + c[%s] * b[%s] + m[%s %% 4, 2] * d[1]; }" % (last, E, *[last] * 5))
    arrays = "".join("    local %s: f64[%d];\n" % (name, E) for name in "abcd")
    return Program(
        "// set: N=%d T=%d\n// seed: %d\n"
        "program p(x: in f64[N, %d], y: out f64[N, %d], N: u32, T: u32) over(i: N)\n{\n%s"
        "    local m: f64[4, 4];\n    local q: u32[%d];\n    var v = 0.4f64;\n"
        "    let o = u32(x[i, 3] * x[i, 3]) %% 3;\n    %s\n}\n" % (
            maker.r.choice((1, 2)), maker.r.choice((0, 1, 3)), seed, E, E, arrays, E, "\n    ".join(body)))
