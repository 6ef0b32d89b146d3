# SPDX-License-Identifier: MIT
"""Which element an invocation reads, and which it owns: maps from domain variables to indices.

Reads may go anywhere, also out of range and to the elements of other invocations.  What is stored
without an atomic goes through a map that gives every invocation elements of its own, so nothing can
race.
"""
from tree import E, Buffer

# of one axis of extent {n}: kind, type, text; {v} a domain variable, {c} 1 … 3
READS = (
    (2, "i", "u32", "{v}"), (2, "i+c", "u32", "{v} + {c}u"), (2, "i-c", "i32", "i32({v}) - {c}"),
    (2, "n-1-i", "u32", "{n} - 1u - {v}"), (1, "2*i", "u32", "2u * {v}"), (1, "2*i+1", "u32", "2u * {v} + 1u"),
    (1, "i/2", "u32", "{v} / 2u"), (1, "i%c", "u32", "{v} % ({c}u + 1u)"), (1, "(i+c)%n", "u32", "({v} + {c}u) % {n}"),
    (1, "i+c clamped", "i32", "clamp(i32({v}) + {c}, 0, i32({n}) - 1)"),
    (1, "i-c clamped", "u32", "max({v}, {c}u) - {c}u"), (1, "min(i+c,n-1)", "u32", "min({v} + {c}u, {n} - 1u)"),
    (0.6, "reflected", "i32", "abs(i32({v}) - {c})"), (0.6, "i^1", "u32", "{v} ^ 1u"),
    (1, "everybody's first", "u32", "0u"), (0.5, "everybody's last", "u32", "{n} - 1u"),
    (0.6, "3*i%n", "u32", "3u * {v} % {n}"), (0.5, "n/2-i", "i32", "i32({n} / 2u) - i32({v})"))
# with a loop's variable {k}, and a scalar {q}
READS_IN_LOOPS = (
    (2, "i+k", "u32", "{v} + {k}"), (2, "i+k-1", "i32", "i32({v}) + i32({k}) - 1"),
    (2, "(i+k)%n", "u32", "({v} + {k}) % {n}"), (2, "k", "u32", "{k}"), (1, "i-k", "i32", "i32({v}) - i32({k})"),
    (1, "2*i+k", "u32", "2u * {v} + {k}"), (1, "i*c+k", "u32", "{v} * {c}u + {k}"),
    (1, "k*T+i", "u32", "{k} * {q} + {v}"))
# What an invocation owns: kind, index, extent.  SAFE ones hold for invocations outside of the domain
# too: their elements are out of range.
SAFE = ((4, "own i", "{v}", "{n}"), (2, "own n-1-i", "{n} - 1u - {v}", "{n}"),
        (1, "own i+c", "{v} + {c}u", "{n} + {c}"), (1, "own 2*i", "2u * {v}", "2 * {n}"),
        (0.7, "own 2*i+1", "{v} * 2u + 1u", "2 * {n}"))
INSIDE = ((1.5, "own (i+c)%n", "({v} + {c}u) % {n}", "{n}"),)
PERMUTED = (3, "own perm[i]", "pm[{v}]", "{n}")


class Table(Buffer):
    """A buffer that is read anywhere (axes) or whose elements are owned (prefix, flat)."""

    def __init__(self, name, t, cls, axes=(), prefix=(), extent=None, readable=True, writable=False, flat=None):
        super().__init__(name, t, cls, list(prefix), extent, readable, writable)
        self.axes = list(axes)  # [(text of the extent, domain variable or None)]
        self.flat = flat        # "i * K + {0}": an element of the row that this invocation owns


class Maps:
    def indices(self, c, b):
        if getattr(b, "axes", None):
            exprs = [self.axis(c, n, v) for n, v in b.axes]
            if b.flat:
                return b.flat, [E("u32", "u32 of " + e.t, "u32({0})", e) if e.t != "u32" else e for e in exprs]
            return ", ".join("{%d}" % k for k in range(len(exprs))), exprs
        if getattr(b, "flat", None):  # in its own row: the next invocation's row follows it
            return b.flat, [E("u32", "own i*K+k", "(({0}) % K)", self.index_u32(c))]
        return super().indices(c, b)

    def index_u32(self, c):
        e = self.index(c, "K")
        return e if e.t == "u32" else E("u32", "u32 of " + e.t, "u32({0})", e)

    def loop_variable(self, c):
        found = [v[0] for v in c.vars if v[1] == "u32" and v[0][0] == "k"]
        return self.r.choice(found) if found else None

    def axis(self, c, n, v):
        """An index on an axis of extent n, along which the domain variable v runs (None: none)."""
        if v is None:
            return self.index(c, n) if n in ("K", "5", "1") else E("u32", "map k", self.loop_variable(c) or "0u")
        k = self.loop_variable(c)
        kinds = [(w, row) for w, *row in READS] + [(3, "data"), (1, "any")]
        if k:
            kinds += [(w * 2.5, row) for w, *row in READS_IN_LOOPS]
        row = self.pick(kinds)
        if row == "data":
            return self.data_index(c, v)
        if row == "any":
            return E("u32", "map any", "({0} % 16u)", self.integer(c, "u32", 1))
        kind, t, text = row
        n = "5u" if n == "?" else n
        q = "T" if any(name == "T" for name, *_ in c.vars) else "3u"  # a scalar that is no size
        text = text.format(v=v, n="(%s)" % n if " " in n else n, c=self.r.randrange(1, 4), k=k, q=q)
        return E(t, "map " + kind, text)

    def data_index(self, c, v):
        ats = [b for b in c.buffers if b.name == "at"]
        if not ats:
            return E("u32", "map i", v)
        e = E(ats[0].t, "map at[i]", "at[%s]" % self.r.choice((v, v, v, "(%s + 1u) %% N" % v, "N - 1u - %s" % v)))
        if self.chance(0.3):
            return E("i32", "map at[i]+c", "i32({0}) + %d" % self.r.randrange(-1, 2), e)
        return e

    # ---- what an invocation owns
    def owned(self, v, n, inside):
        """(kind, index text, extent text) of an injective map along a domain variable."""
        rows = list(SAFE)
        if inside:
            rows += INSIDE
            if self.permutation == v:
                rows.append(PERMUTED)
        row = self.pick([(w, r) for w, *r in rows])
        c = self.r.randrange(1, 4)
        return row[0], row[1].format(v=v, n=n, c=c), row[2].format(n=n, c=c)
