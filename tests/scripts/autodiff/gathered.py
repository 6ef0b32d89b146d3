#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""Gathers against atomics, over tables of small programs.

A gather has a domain of its own, so everything that an addition depends on has to be expressed in
terms of the point it stands for.  Several tables of such dependencies, each in every place where it can
occur:

  remainders, quotients and shifts   of a scalar that is not a dimension, of a dimension, of a
                                     domain variable, of a loop variable
  built-ins                          of domains of one to four variables and workgroups of several
                                     shapes
  flat indices                       of strides that are scalars, in buffers of several extents
  padded rows                        of strides that are related by the launch alone: rows that just
                                     fit, are padded, overlap
  owners                             of elements in such rows, in programs with barriers and without
                                     a domain
  in place                           elements that one invocation updates
  offsets                            in such rows, negative ones as well
  packed                             rows whose strides have constant factors, with quotients
  layouts                            of such rows that scalars choose between
  units                              factors of coordinates that are 1 or not: strides and dilations
                                     of windows, in bounds of loops and in conditions
  maxima                             over windows of two and three nested loops, whose strides are 1 or not,
                                     and what programs themselves choose in such loops
  extents                            of the domain and bounds of loops that are negative, as scalars and
                                     products: they are empty
  coordinates                        that a domain variable is divided into, by sizes that are factors
                                     of its extent, are not, exceed it, are 0
  multiples                          of four, of a domain variable, divided by such sizes and others,
                                     and rows of such sizes that a loop takes element by element
  tiled                              domains of tiles, extents of which are quotients
  cells                              of shaders, constant elements that all invocations add to
  shares                             of the points of some dozen elements, over one, two and three
                                     loops, fewer and more than there are points
  addends                            that are long sums of integers, of both signs, in conditions
                                     and outside, beside others that are computed again

  borders                            of pictures: clamped coordinates along several axes (fuzz/borders.py)
  clamped                            … from afar, by bounds of the launch, along up to four (fuzz/clamped.py)
  stored                             elements that one invocation stores to, once or again (fuzz/once.py)
  tiles                              … at flat indices of strides that the launch decides (fuzz/image_tiles.py)
  workgroups                         numbers that a workgroup makes together, beside elements that others
                                     read, too (fuzz/workgroups.py)
  begun                              elements stored at strides that the launch decides, cotangents of
                                     which are read as they began (fuzz/begun.py)
  launches                           programs without a domain, over the invocations of their launch
                                     (fuzz/launches.py)

  totals                             of workgroups, in shared memory, that all their invocations
                                     read: in loops and arms, alone and beside other elements
  exchanges                          of elements of shared arrays, in arms, and what else is done
                                     with what was loaded

in conditions, bounds, indices, chains of `let` and values.  gradcheck_file takes all of them in one
process: finite differences, atomics, gathers, --deterministic and the default, all in double in the
interpreter.  A random sample of the tables is run, from a seed that is printed; VYRE_SEED=S and
VYRE_COUNT=N override (VYRE_COUNT=9999: all); VYRE_ONLY=flat takes one table.
"""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "fuzz"))
sys.dont_write_bytecode = True
import begun  # noqa: E402
import borders  # noqa: E402
import clamped  # noqa: E402
import image_tiles  # noqa: E402
import launches  # noqa: E402
import once  # noqa: E402
import workgroups  # noqa: E402

BUILD = os.environ["BUILD"]
SIZES = ({"N": 5, "M": 4, "T": 6}, {"N": 1, "M": 1, "T": 2}, {"N": 4, "M": 7, "T": 11}, {"N": 3, "M": 5, "T": 13})
FORMS = ("%s %% 4u", "%s %% 3u", "%s %% 5u", "%s / 2u", "(%s / 2u) %% 2u", "%s >> 1u", "(%s >> 1u) %% 3u",
         "(%s & 3u)", "(%s + 1u) %% 2u", "(2u * %s + 1u) %% 3u", "(%s %% 7u) / 2u", "%s / 3u * 2u")
OPERATORS = ("> 1u", "< 2u", "== 1u", "!= 2u", ">= %s % 3u", "== j % 2u", "!= T % 2u", "< M % 4u")


def program(body, sizes, x="N", head="", domain="over(i: N, j: M)", o="N, M", more="", y="M"):
    used = " ".join("%s=%d" % (k, v) for k, v in sizes.items())
    return ("// set: %s\nprogram p(x: in f32[%s], y: in f32[%s], o: out f32[%s], N: u32, M: u32, T: u32%s)"
            " %s %s {\n    %s\n}\n" % (used, x, y, o, more, head, domain, body))


def remainders():
    """Yields names and programs."""
    n = 0
    for f, form in enumerate(FORMS):
        for of in ("T", "N", "M", "j", "k"):
            e, loop = form % of, of == "k"
            for o, op in enumerate(OPERATORS):
                c = "%s %s" % (e, op.replace("%s", of))
                if loop:
                    body = "var s = 0.0; for k in 0..M { if %s { s += x[i] * y[k]; } } o[i, j] = s;" % c
                elif o % 3 == 0:
                    body = "if %s { o[i, j] = x[i] * x[i]; }" % c
                elif o % 3 == 1:
                    body = "let c = %s; let d = c %s; if d || j == 0 { o[i, j] = x[i] * y[j]; }" % (
                        e, op.replace("%s", of))
                else:
                    body = ("var s = 0.0; for k in 0..M { if k > 0 && %s { s += x[i] * y[k]; } } o[i, j] = s;"
                            % c)
                yield "condition %s: %s" % (c, body), program(body, SIZES[n % 4])
                n += 1
            if loop:
                yield "index " + e, program(
                    "var s = 0.0; for k in 0..M { s += x[j + %s] * y[k]; } o[i, j] = s;" % e,
                    SIZES[n % 4], x="M + 13")
                yield "inner bound " + e, program(
                    "var s = 0.0; for k in 0..M { for l in %s..M { s += x[l] * y[k]; } } o[i, j] = s;" % e,
                    SIZES[n % 4], x="M")
                continue
            for body, x in (
                    ("o[i, j] = x[j + %s] * x[j];" % e, "M + 13"),
                    ("o[i, j] = x[(j + %s) %% M] * y[j];" % e, "M"),
                    ("var s = 0.0; for k in %s..M { s += x[k] * y[j]; } o[i, j] = s;" % e, "M"),
                    ("var s = 0.0; for k in 0..%s { s += x[k] * y[j]; } o[i, j] = s;" % e, "M + 13"),
                    ("var s = 0.0; for k in rev(0..M) { s = s * y[k] + x[(k + %s) %% M]; } o[i, j] = s;" % e, "M"),
                    ("let c = %s; if c > 1u && c < 4u { o[i, j] = x[i]; }" % e, "N"),
                    ("let c = %s; o[i, j] = x[i] * f32(c) + x[select(c > 1u, i, 0u)];" % e, "N"),
                    ("o[i, j] = x[i / 2u + %s] + x[i];" % e, "N + 13")):
                n += 1
                yield "%s" % body, program(body, SIZES[n % 4], x=x)


DOMAINS = (  # variables, extents of the output, workgroups
    ("over(i: N)", "N", "i", ("", "workgroup(32)", "workgroup(3)", "workgroup(4, 2)")),
    ("over(i: N, j: M)", "N, M", "j", ("", "workgroup(4, 2)", "workgroup(2, 4)", "workgroup(3)", "workgroup(2, 2, 2)")),
    ("over(h: T, i: N, j: M)", "T, N, M", "j", ("", "workgroup(2, 2, 3)", "workgroup(8)")),
    ("over(g: 2, h: T, i: N, j: M)", "2, T, N, M", "j", ("", "workgroup(2, 2, 5)", "workgroup(1, 1, 4)")),
)
BUILTINS = ("gid.x", "gid.y", "gid.z", "lid.x", "lid.y", "lid.z", "wid.x", "wid.y", "wid.z", "num_groups.x",
            "num_groups.y", "num_groups.z", "lindex", "lane", "subgroup_size")


def builtins():
    n = 0
    for d, (domain, o, last, groups) in enumerate(DOMAINS):
        at = "[" + ", ".join(v.split(":")[0].strip() for v in domain[5:-1].split(",")) + "]"
        for g, group in enumerate(groups):
            for b in BUILTINS:
                for t, body in enumerate((
                        "o%s = f32(%s) * x[0];" % (at, b),
                        "o%s = f32(%s) * x[%s];" % (at, b, last),
                        "if %s %% 2u == 1u { o%s = x[%s] * x[0]; }" % (b, at, last),
                        "o%s = x[(%s + 1u) %% N] * x[%s] * y[%s];" % (at, last, last, b),
                        "var s = 0.0; for k in 0..%s { s += x[k] * y[%s]; } o%s = s;" % (b, last, at),
                        "let c = %s + 1u; if c > 1u || c %% 3u == 0u { o%s = x[c] * x[0]; }" % (b, at))):
                    n += 1
                    if (n + d + g) % 3:
                        continue  # a third of each: every built-in in every place in some domain
                    sizes = dict(SIZES[(0, 2, 3)[n // 3 % 3]])
                    if d > 1:
                        sizes["T"] = 3
                    yield "%s %s %s" % (group, domain, body), program(
                        body, sizes, x="N + M + 8", head=group, domain=domain, o=o, y="64")


FLAT = ("i * M + j", "i * M + (j + 1u) % M", "(i + 1u) * M + j", "i * M + j + M", "j * N + i", "i * M + (M - 1u - j)",
        "(N - 1u - i) * M + j", "i % 2u * M + j", "i * T + j", "i * M + j / 2u", "i / 2u * M + j", "i * M + min(j, 2u)",
        "i * (M + 1u) + j", "i * M + j - 1u", "i * M + (j + T) % M", "i * M * 2u + j", "j + M * i + 2u * M", "i * M")
READERS = (
    "o[i, j] = x[%s] * x[%s];",
    "if j > 0 { o[i, j] = x[%s] * y[j] * x[%s]; }",
    "if j < T && i > 0 { o[i, j] = x[%s] * x[i] + x[%s]; }",
    "var s = 0.0; if j > 0 { s = x[%s]; if i + 1u < N { s += sin(x[%s]); } } o[i, j] = s * s;",
    "var s = 0.0; if i > 0 { for k in 0..M { s += x[%s] * y[k]; } } o[i, j] = s * x[%s];",
    "var s = 0.0; for k in j..M { s = s * 0.5 + x[%s]; } o[i, j] = s * x[%s];")


def strides():
    """Indices of a buffer of one axis with strides that only the program runs with."""
    n = 0
    for e, first in enumerate(FLAT):
        for b, body in enumerate(READERS):
            for x in ("T", "N * M", "N * M + 3", "M * (N + 1)", "N"):
                n += 1
                if (n + e) % 3 == 0:
                    continue
                second = FLAT[(e * 5 + b) % len(FLAT)] if n % 2 else first
                if " for k" in body:
                    first_k = first.replace("j", "k")
                    yield "flat " + body, program(body % (first_k, second), SIZES[n % 4], x=x)
                else:
                    yield "flat " + body, program(body % (first, second), SIZES[n % 4], x=x)


PADDED = ("h * S + i * M + j", "h * S + j", "h * S + (i + 1u) * M + j", "h * S + i * M + j + M", "i * M + j + S * h", "i * S + h * M + j",
          "h * S + i * M + (M - 1u - j)", "(h + 1u) * S + i * M + j - 1u", "h * S + i % 2u * M + j", "h * S + j * M + i", "h * S + i * R + j",
          "h * S + i * R * M + j", "h * S + i * R + j + S", "i * S + h * R + j / 2u", "(h * N + i) * S + j", "h * S + i * R + min(j, 2u)")
STRIDES = ((6, 3), (8, 3), (9, 4), (3, 3), (1, 2), (0, 3), (12, 3), (5, 0), (24, 8), (4, 6))  # S and R


def padded():
    """Indices of strides that only the launch relates to each other."""
    n = 0
    for e, first in enumerate(PADDED):
        for b, body in enumerate(READERS):
            for s, r in STRIDES:
                n += 1
                if (n + e) % 4:
                    continue
                second = PADDED[(e * 5 + b) % len(PADDED)] if n % 3 else first
                body_of = body.replace("o[i, j]", "o[h, i, j]")
                at = (first.replace("j", "k") if " for k" in body else first, second)
                yield "padded " + body, program(
                    body_of % at, {"T": 3, "N": 2, "M": 3, "S": s, "R": r}, x="70", y="70", more=", S: u32, R: u32",
                    domain="over(h: T, i: N, j: M)", o="T, N, M")


def owners():
    """The same in phases, and without a domain: elements of one invocation each if rows do not overlap."""
    over, begin = "over(h: T, i: N, j: M) {\n    ", "let h = wid.z; let i = wid.y; let j = gid.x; if j < M { "
    for n, (name, text) in enumerate(padded()):
        yield "owners, phases " + name, text.replace(over, over + "barrier(); ")
        grid = text.replace(over, "workgroup(2) {\n    " + begin).rstrip()
        yield "owners, grid " + name, "// groups: 2,2,3\n// launch: groups=%s\n%s }\n" % (("2,2,4", "2,1,3", "1,3,3")[n % 3], grid)
        lanes = grid.replace("workgroup(2)", "workgroup(4)").replace("gid.x", "lid.x")
        yield "owners, lanes " + name, "// groups: 1,2,3\n// launch: groups=%s\n%s }\n" % (("1,2,4", "1,1,3", "1,3,3")[n % 3], lanes)


IN_PLACE = (  # the same place twice
    ("h * S + i * R + j", "j + (i * R + h * S)"), ("i * S + h * R + j", "i * S + (j + h * R)"), ("h * S + g", "h * S + g % M + g / M * M"),
    ("h * S + g / M * R + g % M", "(g - g / M * M) + h * S + g / M * R"), ("h * R + g / M * S + g % M", "h * R + g % M + S * (g / M)"))


def in_place():
    """Elements that one invocation updates, in rows that do not overlap: other programs have a race."""
    n = 0
    for at, again in IN_PLACE:
        for s, r in STRIDES:
            where = [eval(at.replace("/", "//"), {"h": g // 6, "g": g % 6, "i": g % 6 // 3, "j": g % 3, "S": s, "R": r, "M": 3}) for g in range(18)]
            n += 1
            if len(set(where)) < 18:
                continue
            flat = "g" in at
            store = "x[%s] = v * v + y[%s] * x[%s];" % (again, again, at)
            if n % 2:
                store = "if D == 1 { x[%s] = v * y[%s]; } else { x[%s] = v * v; }" % (at, again, again)
            body = "%slet v = x[%s]; %s o[h, %s] = v;" % ("barrier(); " if n % 3 == 0 else "", at, store, "g" if flat else "i, j")
            text = program(body, {"T": 3, "N": 2, "M": 3, "S": s, "R": r, "D": n % 2 + 1}, x="70", y="70", more=", S: u32, R: u32, D: u32",
                           domain="over(h: T, g: N * M)" if flat else "over(h: T, i: N, j: M)", o="T, N * M" if flat else "T, N, M")
            yield "in place " + body, text.replace("x: in f32", "x: inout f32", 1)


OFFSETS = ("a * S + b * R + c + D + 1", "a * S + (b + D) * R + c + R", "(a + D) * S + b * R + c + S", "a * S + (b + E) * R + c + D + R + 1",
           "a * S + b * R + c", "a * S + b * R + c + D + E + 2", "b * R + c + 1 + D + a * S", "a * S + (b + D + 1) * R + (M - 1 - c)")
OFFSET_READERS = ("o[h, i, j] = x[%s] * x[%s];", "o[h, i, j] = sin(x[%s]) + x[%s] * y[h];", "if c != 1 { o[h, i, j] = x[%s] * y[%s]; }",
                  "var s = 0.0; for k in 0..2 { s = (s + 0.5) * x[%s]; } o[h, i, j] = s + x[%s];")


def indexed(name, indices, extent, length):
    """Of such indices, with offsets of either sign; they are in range all the same."""
    n = 0
    for e, first in enumerate(indices):
        for b, body in enumerate(OFFSET_READERS):
            for s, r in STRIDES:
                n += 1
                second = indices[(e * 3 + b) % len(indices)] if n % 3 else first
                sizes = {"T": extent, "N": 2, "M": 3, "S": s, "R": r, "D": n % 4 - 1, "E": n // 4 % 3 - 1}
                lets = "let a = i32(h); let b = i32(i); let c = i32(j); "
                text = program(lets + body % (first, second), sizes, x=length, y=length, more=", S: u32, R: u32, D: u32, E: u32",
                               domain="over(h: T, i: N, j: M)", o="T, N, M")
                yield name + " " + body, text.replace(": u32", ": i32")


def offsets():
    """Rows with offsets."""
    return indexed("offsets", OFFSETS, 3, "160")


PACKED = ("((a + D) / 4 * S + b * R + c) * 4 + (a + D) % 4 + 3", "(a / 2 * S + b * R + c) * 2 + a % 2", "a * 4 * S + b * 6 * R + c",
          "(b / 2 * R + c) * 4 + b % 2 * 2 + a / 2", "((a + E + 1) / 2 * R + c) * 2 + b", "(a / 4 * S + (b + D + 1) * R + c) * 4 + a % 4",
          "(a / 4 * S + b * R) * 4 + c + R", "(a + (E + 1) / 2) * S + b * 2 * R + c")


def packed():
    """Rows of elements that are packed by a few."""
    return indexed("packed", PACKED, 5, "600")


LAYOUTS = ("if D == 1 { %s } else { %s }", "if D < E { if D == 0 { %s } else { %s } } else { %s }", "if E <= D { %s } if D != 1 { %s }",
           "if D == E { %s } else if E == 1 { %s } else { %s }")


def layouts():
    """Of places in such rows that scalars choose between."""
    n = 0
    for e, layout in enumerate(LAYOUTS):
        for b, body in enumerate(OFFSET_READERS[:3]):
            for s, r in STRIDES:
                n += 1
                at = [OFFSETS[(e + 3 * b + k * (1 + n % 3)) % len(OFFSETS)] for k in range(2 * layout.count("%s"))]
                bodies = tuple(body % pair for pair in zip(at[::2], at[1::2]))
                sizes = {"T": 3, "N": 2, "M": 3, "S": s, "R": r, "D": n % 3, "E": n // 3 % 3}
                lets = "let a = i32(h); let b = i32(i); let c = i32(j); "
                text = program(lets + layout % bodies, sizes, x="160", y="160", more=", S: u32, R: u32, D: u32, E: u32",
                               domain="over(h: T, i: N, j: M)", o="T, N, M")
                yield "layouts " + layout + body, text.replace(": u32", ": i32")


UNITS = (  # of q * S + k * D - E, which is within 0 and R
    "for k in max(0, -p)..min(T, R - p) { s += x[b * R + p + k] * y[k]; }",
    "for k in max(0, (D - p - 1) / D)..min(T, (R - p + D - 1) / D) { s += x[b * R + p + k * D] * y[k]; }",
    "for k in 0..T { let q = p + k * D; if q >= 0 && q < R { s += x[b * R + q] * y[k]; } }",
    "for k in 0..T { let q = p + k * D; if u32(q) < u32(R) { s = s + y[k] * x[b * R + q]; } }",
    "for k in 0..T { let q = p + k * D; if q == min(max(q, 0), R - 1) { s += x[b * R + q] * y[k]; } }",
    "for k in 0..T { let q = p + k * D; if max(min(q, R - 1), 0) != q { continue; } s += x[b * R + q] * y[k]; }",
    "for k in 0..T { let q = (c + E - k) / S; if (c + E - k) % S == 0 && q == min(max(q, 0), R - 1) { s += x[b * R + q] * y[k]; } }")


def units():
    """Windows whose strides and dilations are 1, or are not."""
    n = 0
    for body in UNITS:
        for end in ("o[i, j] = s;", "o[i, j] = s * s;", "o[i, j] = sin(s) * x[0];"):
            for s, d in ((1, 1), (1, 1), (2, 1), (1, 2), (0, 1), (-1, 1), (1, -1)):
                n += 1
                if d < 1 and "/ D" in body or s < 1 and "/ S" in body:
                    continue  # a quotient by 0, or bounds in the other order, which say nothing
                sizes = {"T": n % 4, "N": 2 + n % 2, "M": 3, "S": s, "R": (4, 5, 1)[n % 3], "D": d, "E": n % 5 - 1}
                lets = "let b = i32(i); let c = i32(j); let p = c * S - E; var s = 0.5; "
                text = program(lets + body + " " + end, sizes, x="60", y="4", more=", S: u32, R: u32, D: u32, E: u32")
                yield "units " + body + end, text.replace(": u32", ": i32")


MAXIMA = (  # over windows
    "for v in 0..D - 1 { for u in 0..T { s = max(s, x[(b * 2 + v) * 9 + c + u]); } }",
    "for v in 0..T { for u in v..3 { s = min(x[(b + v) * 9 + c * 2 + u], s); } }",
    "for v in max(0, E - b)..min(T, R - b + E) { for u in max(0, -p)..min(T, R - p) { s = max(s, x[(b + v - E) * R + p + u]); } }",
    "for v in max(0, E - b)..min(T, R - b + E) { for u in max(0, -p)..min(T, R - p) { s = max(x[(b + v - E) * R + p + u] * y[v], s); } }",
    "for v in 0..T { for u in rev(0..D - 1) { for t in 0..v + 1 { s = max(s, x[(b + v) * 9 + c + t + u] * 0.5); } } }",
    "for v in 0..T { let w = y[v]; for u in 0..D { if u != v { s = max(s, x[b * 9 + c + u + v] * w); } } }",
    "for v in 0..T { let w = y[v]; for u in 0..D - 1 { s = max(s, x[b * 9 + c + u + v] * w); } s = s * 0.5; }",
    "for v in 0..T { var here = false; for u in 0..D { let won = x[(b + v) * 9 + c + u] > 0.3; g = select(won, u, g); here = here || won; } "
    "f = select(here, v, f); any = any || here; } if any { s = x[(b + f) * 9 + c + g]; }",
    "for v in 0..T { var here = false; for u in v..3 { let won = x[(b + v) * 9 + c + u] > 0.3; g = select(won, u, g); here = here || won; } "
    "f = select(here && v != 1, v, f); any = any || here; } if any { s = x[(b + f) * 9 + c + g]; }",
    "for v in 0..T { var here = false; for u in 0..D { let won = x[(b + v) * 9 + c + u] > 0.3; g = select(won, u, g); here = here || won; } "
    "any = any || here; } if any { s = x[b * 9 + c * 3 + g]; }")


def maxima():
    """The element that won has a place in each of the loops."""
    n = 0
    for body in MAXIMA:
        for end in ("o[i, j] = s;", "o[i, j] = s * s;", "o[i, j] = sin(s) * x[0];"):
            for s, t in ((1, 2), (1, 3), (2, 2), (2, 3), (1, 0), (0, 2), (-1, 3)):
                n += 1
                sizes = {"T": t, "N": 2 + n % 2, "M": 3, "S": s, "R": (4, 5, 1)[n % 3], "E": n % 3 - 1, "D": 3}
                lets = "let b = i32(j); let c = i32(i); let p = c * S - E; var s = 0.1; var f = 0; var g = 0; var any = false; "
                text = program(lets + body + " " + end, sizes, x="90", y="4", more=", S: u32, R: u32, E: u32, D: u32")
                yield "maxima " + body + end, text.replace(": u32", ": i32")


EXTENTS = (  # of j and i, within 4 and 4
    "o[j * 4 + i] = x[j * 4 + i] * y[i];", "o[j * 4 + i] = x[j] * y[i];", "atomic_add(o[0], x[j] * y[i]);",
    "if j < 3 { atomic_add(o[j], x[j + i] * y[i + 1]); }", "var s = 0.0; for k in 0..3 { s += x[k + i] * y[j]; } o[j * 4 + i] = s;")


BOUNDS = (  # of loops; a gather keeps what they compute, with axes of their lengths
    "var b = -9.0; for k in 0..S { for l in 0..R { let e = x[(jj + k) * 4 + l]; if e >= b { b = e; } } } o[j * 4 + i] = max(b, -2.0) * y[i];",
    "var b = 9.0; var m = 0; for k in 0..min(S, 3) { for l in 0..2 { let e = x[k + k + i32(l) + ii]; if e < b { b = e; m = k; } } } o[j * 4 + i] = min(b, 3.0) * y[m];",
    "var s = y[j]; for k in 0..S * D { s = sin(s) * x[k + ii] + y[k]; } o[j * 4 + i] = s * s;",
    "for k in 0..max(S, R) { atomic_add(o[k], x[k + ii] * sin(y[jj * D + k])); }",
    "var s = 0.0; for k in -1..S { s = s * x[k * 2 + ii] + sin(s); } o[j * 4 + i] = s * x[jj - R];")
LAST = (  # the same of domains: min and max ask which invocation won
    "atomic_max(o[S + 3], x[i * 2 + j] * y[i]);", "atomic_min(o[i], x[jj * S] * 0.5 - 9.0);",
    "atomic_min(o[i + 4], x[jj * S + 3]); atomic_max(o[0], x[ii + D + 2] * x[jj]);")


def extents():
    """Domains and loops that are empty as an extent is negative, and those beside them that are not."""
    for body in EXTENTS + BOUNDS + LAST:
        for domain in ("over(j: S, i: R)", "over(j: S * D, i: R)", "over(j: S, i: R * D)", "over(j: 3, i: 3)")[(body in BOUNDS) * 2:]:
            for s, r, d in ((-3, 2, 1), (2, -3, 1), (-1, -2, 1), (2, 2, -2), (3, 4, 1), (-2, 2, -2), (1, -2147483648, 1)):
                text = program(("let ii = i32(i); let jj = i32(j); " if "ii" in body or "jj" in body else "") + body, {"T": 1, "N": 1, "M": 1, "S": s, "R": r, "D": d}, x="20", y="20", o="20",
                               more=", S: u32, R: u32, D: u32", domain=domain)
                yield "extents " + domain + body, text.replace(": u32", ": i32")


COORDINATES = (  # x, y, z
    ("i % M", "i / M", "0u"), ("i - i / M * M", "i / M", "0u"), ("i % M", "i / M % N", "i / (M * N)"), ("i % (M * N) % M", "i % (N * M) / M", "i / M / N"),
    ("u32(i32(i) % i32(M))", "u32(i32(i) / i32(M))", "0u"), ("i % 2u", "i / 2u % M", "i / 2u / M"), ("i % (M + 1u)", "i / (M + 1u)", "0u"),
    ("i % M", "i / M", "i % T"), ("i % T", "i / T % M", "i / (M * T)"), ("i / M % N % M", "i % N", "i / (N * M)"))
AREAS = ("over(i: N * M)", "over(i: T)", "over(i: 2 * M * N)", "over(i: N * M + T)", "over(i: T * M)", "over(g: 2, i: M * N)")
USES = (
    "o[i] = x[yy * M + xx] * y[xx];",
    "var s = x[yy * M + xx]; if xx + 1u < M { s *= x[yy * M + xx + 1u]; } if yy > 0u { s += sin(x[(yy - 1u) * M + xx]); } o[i] = s;",
    "o[i] = x[xx * N + yy] * x[i];",
    "var s = 0.0; for k in 0..M { s += x[yy * M + k] * y[k]; } o[i] = s * x[xx];",
    "o[i] = y[yy] * y[xx] + y[zz];",
    "o[i] = x[(zz * N + yy) * M + xx] * x[yy * M + (M - 1u - xx)];",
    "var s = 0.5; for k in 0..3 { s = (s + 0.5) * s * x[yy * M + xx]; } o[i] = s * y[(xx + 1u) % M];")


def coordinates():
    """Quotients and remainders of a domain variable by what the launch alone knows."""
    n = 0
    for c, (x, y, z) in enumerate(COORDINATES):
        for domain in AREAS:
            for body in USES:
                for sizes in (*SIZES[:2], {"N": 3, "M": 4, "T": 10}, {"N": 2, "M": 7, "T": 5}, {"N": 2, "M": 0, "T": 4}):
                    n += 1
                    if (n + c) % 4:
                        continue
                    lets = "let xx = %s; let yy = %s; let zz = %s; " % (x, y, z)
                    at = body.replace("o[i]", "o[g, i]") if "g:" in domain else body
                    yield "coordinates " + domain + body, program(lets + at, sizes, x="90", y="90", domain=domain,
                                                                 o="2, 90" if "g:" in domain else "90")


MULTIPLES = (  # x, y, z
    ("(4u * i + 1u) % M", "(4u * i + 1u) / M", "0u"), ("i * 4u % (N * M) % M", "i * 4u % (N * M) / M", "i * 4u / (N * M)"),
    ("u32((i32(i) * 4 + 3) % i32(M))", "u32((i32(i) * 4 + 3) / i32(M))", "i * 4u / M"), ("(i << 2u) % M", "i % N", "((i << 2u) + 2u) / (N * M)"),
    ("(8u * i + 5u) % M", "(8u * i + 6u) / M", "0u"), ("(4u * i + 4u) % M", "(4u * i + 3u) / M", "0u"), ("i * 2u % M", "(i * 2u + 1u) / M", "i * 2u / M"))


def multiples():
    """Quotients of multiples by sizes that are multiples, or not."""
    n = 0
    for x, y, z in MULTIPLES:
        for body in USES:
            for sizes in ({"N": 2, "M": 4, "T": 7}, {"N": 3, "M": 8, "T": 12}, {"N": 2, "M": 6, "T": 5}, {"N": 0, "M": 4, "T": 4},
                          {"N": 2, "M": 0, "T": 4}, {"N": 1, "M": 16, "T": 9}):
                n += 1
                lets = "let xx = %s; let yy = %s; let zz = %s; " % (x, y, z)
                yield "multiples " + x + body, program(lets + body, sizes, x="900", y="900", domain="over(i: T)", o="90")
    for by, times, use in (("M", "4u", "k"), ("max(M, 1u)", "4u", "k"), ("max(M, 2u)", "4u", "k"), ("M", "8u", "k + 1u"), ("M * N", "4u", "k")):
        for most in (3, 4, 5):
            for sizes in ({"N": 2, "M": 4, "T": 7}, {"N": 3, "M": 8, "T": 12}, {"N": 2, "M": 6, "T": 5}, {"N": 2, "M": 0, "T": 4}, {"N": 2, "M": 1, "T": 4}):
                body = "for k in 0..%d { o[i, j, k] = x[(i * %s + %s) / (%s) + j * T] * y[k + i * M / %s]; }" % (
                    most, times, use, by, times)
                yield "multiples in loops " + by + use, program(body, sizes, x="T * N", y="T * M + 9", domain="over(j: N, i: T)", o="N, T, %d" % most)
    for form in ("(i * M + k) / 4u * T + (i * M + k) % 4u", "((k + M * i) >> 2u) * 4u + ((k + M * i) & 3u)", "(i * M + k) / 2u * T + i * M % 2u",
                 "(i * M + k) / 8u * 8u + k % 8u", "(i * M + k + 1u) / 4u"):
        for loop in ("0..M", "1..M", "rev(0..M)", "0..N", "0..M step 3u"):
            for sizes in ({"N": 2, "M": 4, "T": 7}, {"N": 9, "M": 8, "T": 4}, {"N": 3, "M": 6, "T": 5}, {"N": 2, "M": 0, "T": 4}):
                body = "var s = 0.0; for k in %s { let v = x[%s]; s += v * v * y[k]; } o[i] = s;" % (loop, form)
                yield "multiples in rows " + loop + form, program(body, sizes, x="900", y="M + N", domain="over(i: T)", o="T")


TILES = (  # of an invocation, which is one of (S + 3) / 4
    "var s = 0.0; for k in 0..R { s += x[ii * 4 + k * D] * y[jj + k]; s += sin(x[ii * 4 + 1 + k * D]); } o[jj * S + ii * 4] = s;",
    "for k in 0i32..4 { if ii * 4 + k < S { o[jj * S + ii * 4 + k] = x[jj * D + ii * 4 + k] * y[jj]; } }",
    "let v = x[(jj * R + ii) * 4 + 3] * x[ii * 4 + jj * D]; o[ii * 4 + jj * S] = v;",
    "let q = D >> 1; for k in 0..q { let v = x[ii * q + k]; o[(jj * 9 + ii) * q + k] = v * v; }",
    "let q = (S - R) >> 1; for k in 0..R { o[jj * 20 + ii * R + k] = x[10 - ii * q - k] * x[ii * q * R + k]; }")


def tiled():
    """Domains of tiles, whose extents are quotients of what may be negative."""
    for body in TILES:
        for s in (8, 7, 5, 1, 0, -6, -2147483648):
            for r, d in ((2, 8), (3, 5), (-1, 9)):
                text = program("let ii = i32(i); let jj = i32(j); " + body, {"T": 1, "N": 2, "M": 1, "S": s, "R": r, "D": d}, x="40", y="20", o="40",
                               more=", S: u32, R: u32, D: u32", domain="over(j: N, i: (S + 3) / 4)")
                yield "tiled " + body, text.replace(": u32", ": i32")


def cells():
    """Coefficients of shaders, to which all invocations add."""
    n = 0
    for body in ("o[i, j] = x[0] * y[i] + x[1];", "o[i, j] = x[3] * sin(x[0] * y[j]) + x[3];", "if i > j { o[i, j] = x[1] * y[j]; }",
                 "if T > 5u { o[i, j] = x[0] * y[j]; } else { o[i, j] = x[1] * x[0] + y[i]; }",
                 "var s = 0.0; for k in 0..T { s += x[0] * y[k % M] + x[k % 2u]; } o[i, j] = s;",
                 "var s = 0.0; for k in j..M { for l in 0..k { s = s * x[2] + y[l] * x[0]; } } o[i, j] = s;",
                 "var s = y[j]; for k in 0..i { s = sin(s * x[1]); } o[i, j] = s * x[1];",
                 "o[i, j] = x[0] * x[1] * x[2] * x[3] + x[4] * x[5] * x[6] + x[7] * y[j];",
                 "o[i, j] = x[0] + x[1] * 2.0 + x[2] * x[3] + x[4] * x[5] * x[6] + x[7] * y[j] + x[8];"):
        for scale in (1, 40):
            for size in ("12", "N"):
                sizes = {name: size * (scale if name == "N" else 1) for name, size in SIZES[n % 4].items()}
                n += 1
                yield "cells " + body, program(body, sizes, x=size, y="N + M").replace("program p", "@shader program p")


def shares():
    """Yields names and programs: sums into a known number of elements, which are made of partial sums."""
    n = 0
    for domain, o in (("over(i: N, k: 32)", "N, 32"), ("over(i: N, j: M, k: 32)", "N, M, 32")):
        for body in (
                "o[%s] = x[k] * x[k] * y[i];",
                "o[%s] = x[31u - k] * sin(x[31u - k] * y[i]);",
                "if i %% 3u == 1u { o[%s] = x[k] * y[i]; }",
                "if k > i { o[%s] = x[k] * y[i]; }",
                "var s = x[k] * y[i]; if k > 0 { s += x[k - 1] * x[k]; } if k + i < 32 { s += x[k + i]; } o[%s] = s;",
                "var s = 0.0; for l in 0..T { s += x[k] * y[l %% N] * f32(l); } o[%s] = s;",
                "var s = 0.0; for l in i..N { if l %% 2u == k %% 2u { s += x[k] * y[l]; } } o[%s] = s;",
                "var s = 0.0; for l in rev(i..N) { for t in 0..l { s = s * 0.5 + x[k] * y[t]; } } o[%s] = s;",
                "o[%s] = x[k] * f32(lindex + wid.x) * y[i];"):
            index = "i, j, k" if "j:" in domain else "i, k"
            for scale in (1, 14) if body.count(";") == 1 and "j:" not in domain else (1,):  # fewer points than shares; more
                sizes = {name: size * (scale if name == "N" else 1) for name, size in SIZES[n % 4].items()}
                yield "share " + domain + body, program(body % index, sizes, x="32", y="N", domain=domain, o=o)
                n += 1


def addends():
    """Yields names and programs: additions of what would be long to compute again, which is kept."""
    n = 0
    for count in ("s += (i32(k) * i32(j) ^ i32(i)) % 7;", "s += i32(k * i) - i32(j); if s > 50 { s -= 90; }"):
        for use in (
                "o[i, j] = f32(s) * x[i] * y[i, j];",
                "o[i, j] = f32(s) * x[i] * x[i] * y[i, j] + x[i];",
                "if j > 1 { o[i, j] = f32(s) * x[i] * y[i, j]; }",
                "if s > 3 { o[i, j] = f32(s) * x[i] * y[i, j]; }",
                "if i + j > 3 { o[i, j] = f32(s) * x[i] * y[i, j] + x[j % N] * f32(s); }",
                "o[i, j] = f32(s) * x[i] * y[i, j] * sum(k in 0..N: x[k]);"):
            for sizes in SIZES[n % 2::2]:
                yield "addend " + use, program("var s = 0; for k in 0..T * 9 { %s } %s" % (count, use), sizes, y="N, M")
            n += 1


TOTALS = (  # t[0], t[1]: totals of a workgroup, which its first invocation stores
    "v = t[0] * x[i];", "v = x[i] * t[0] + t[1] * y[0] * t[0];", "let m = t[wid.x % 2u]; v = m * m * x[i];",
    "for k in 0..2 { v += t[k] * x[i]; barrier(); }", "if T > 5 { v = t[0] * x[i]; barrier(); } else { v = t[1]; }",
    "let a = t[1] * x[i]; if T > 5 { v = a * t[0]; barrier(); } v += t[0] * a;",
    "let m = t[0]; if x[i] > 0.1 { v = m * x[i]; }", "let m = t[0]; let n = t[1]; v = x[i] > 0.1 ? m * x[i] : n;",
    "let m = t[0]; barrier(); if lindex == 0 { t[0] = m * x[0]; } barrier(); v = x[i] * t[0] + m;",
    "for k in 0..T % 4u { let m = t[0]; v = v * m + x[i]; barrier(); if lindex == 0 { t[0] = m * 0.5 + x[k % N]; } barrier(); }",
    "var k = 0u; while k < T % 4u { v = v * 0.5 + t[k % 2u] * x[i]; barrier(); k += 1; }",
    "var k = 0u; while k < 3 { if k == T % 3u { break; } v += t[k] * x[i]; barrier(); k += 1; } v += t[0];",
    # some are added to atomically, or all
    "v = t[0] * x[i] + t[i % 2u];", "if T > 5 { v = t[0] * x[i]; } v += t[1];", "if x[i] > 0.1 { v = t[0] * x[i]; }",
    "for k in 0..2 { v += t[k] * x[i]; }", "let m = t[1]; if lindex == 0 { v = t[0] * m; }", "if lindex < 2 { v = t[lindex] * x[i]; } v += t[1];",
    # more sums than a phase has arrays for
    "v = x[i] * (%s);" % " + ".join("t[%d] * t[%d]" % (k, k + 1) for k in range(0, 36, 2)))


def totals():
    """Elements of shared arrays that all invocations of a workgroup read, in partial workgroups, empty ones, and loops."""
    fill = "shared t: f32[36]; if lindex == 0 { for k in 0..36 { t[k] = x[k % N] * y[wid.x % M]; } } barrier(); var v = 0.0; "
    n = 0
    for body in TOTALS:
        for head, domain, store in (("workgroup(8)", "over(i: N)", "o[i, 0]"), ("workgroup(2, 3)", "over(j: M, i: N)", "o[i, j]"),
                                    ("workgroup(3)", "", "o[i, 0]"), ("workgroup(512)", "over(i: N)", "o[i, M - 1]"), ("workgroup(4, 2)", "over(i: N)", "o[i, 0]"),
                                    ("workgroup(24, 24)", "over(j: M, i: N)", "o[i, j]")):
            text = body if domain else body.replace("x[i]", "x[i % N]")
            end = " %s = v;" % store if domain else " if i < N { %s = v; }" % store
            for sizes in SIZES[n % 2::2]:
                whole = program(("" if domain else "let i = gid.x; ") + fill + text + end, sizes, head=head, domain=domain)
                yield "total " + body, whole if domain else "// groups: 2,1,1\n" + whole
            n += 1


PAIRS = (("l", "l ^ 1u", "l % 2u == 0"), ("l", "l + 4u", "l < 4"), ("(2u * l) % 8u", "(2u * l + 1u) % 8u", "l < 4"),
         ("7u - l", "l", "l < 4"), ("l", "(l + 1u) % 8u", "l % 2u == 0"), ("l", "l", "l < 6"))
EXCHANGES = (
    "if a > b { t[p] = b; t[q] = a; }", "if a > b {} else { t[p] = a * b; t[q] = sin(a); }", "if x[l % N] > 0.1 { t[p] = b; t[q] = a; v = a * b; }",
    "if a > b { t[p] = b * a; t[q] = a; } else { t[p] = b; t[q] = b; }", "if a > b { t[p] = a; t[q] = b; } else { v = a; }",
    "let c = a * b; if a > b { t[p] = c; t[q] = a; }", "if a > b { t[p] = b; } v = b;", "if a > b { t[p] = b * b; if b > 0.3 { t[q] = a; } }",
    "if a > b { for k in 0..2 { t[p] = a * f32(k + 1); t[q] = b; } }", "v = a > b ? a : b; if a > b { t[p] = v; t[q] = a; }")


def exchanges():
    """Elements of shared arrays that an invocation loads, and stores to in an arm: sorting networks, and what only looks like one."""
    n = 0
    for exchange in EXCHANGES:
        for p, q, lanes in PAIRS:
            n += 1
            step = "if %s { let p = %s; let q = %s; let a = t[p]; let b = t[q]; %s }" % (lanes, p, q, exchange)
            if n % 3 == 0:
                step = "for r in 0..T %% 3u { %s barrier(); }" % step
            body = "shared t: f32[8]; let l = lindex; t[l] = x[l %% N] * (1.0 + 0.1 * f32(l)) + y[l %% M]; barrier(); var v = 0.0; %s barrier(); " % step
            end = "if gid.x < N { o[gid.x, 0] = t[l] * x[gid.x] + v; }" if n % 2 else "if l == 0 { for k in 0..8 { v += t[k] * f32(k + 2); } o[wid.x, 0] = v; }"
            yield "exchange " + body + end, "// groups: %d,1,1\n" % (1 + n % 2) + program(body + end, SIZES[n % 4], head="workgroup(8)", domain="")


def reported():
    """Programs that were wrong once."""
    text = """
if T % 4u > 1u { o[i,j] = x[i]; }
if j % 2u == T % 2u { o[i,j] = x[i]; }
if (T/2u)%2u==1u { o[i,j] = x[i]; }
if N % 3u > T % 3u { o[i,j] = x[i]; }
if (T >> 1u) % 3u > 0u { o[i,j] = x[i]; }
let c = T % 5u; if c > 1u && c < 4u { o[i,j] = x[i]; }
var s = 0.0; for k in T%4u..M { s += x[k]; } o[i,j] = s;
o[i,j] = x[j+T%4u]*x[j];
"""
    for body in text.strip().splitlines():
        for sizes in ({"N": 1, "M": 1, "T": 2}, *SIZES):
            yield body, program(body, sizes, x="N + M + 4")


def main():
    table = [*reported(), *remainders(), *builtins(), *strides(), *padded(), *owners(), *in_place(), *offsets(), *packed(), *layouts(), *units(), *maxima(), *extents(), *coordinates(), *multiples(), *tiled(), *cells(), *shares(), *addends(), *totals(), *exchanges(),
             *(("borders %d" % k, borders.make(k)) for k in range(120)),
             *(("clamped %d" % k, clamped.make(k)) for k in range(120)),
             *(("stored %d" % k, once.make(k)) for k in range(120)),
             *(("tiles %d" % k, image_tiles.make(k)) for k in range(40)),
             *(("workgroups %d" % k, workgroups.make(k)) for k in range(120)),
             *(("begun %d" % k, begun.make(k)) for k in range(60)),
             *(("launches %d" % k, launches.make(k)) for k in range(120))]
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or (12 if os.environ.get("VYRE_SHARE", "1") != "1" else 120))
    if os.environ.get("VYRE_ONLY"):
        table = [row for row in table if row[0].startswith(os.environ["VYRE_ONLY"])]
    if count < len(table):
        first, rest = table[:min(40, count // 3)], table[40:]
        random.Random(seed).shuffle(rest)
        table = first + rest[:count - len(first)]
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k gathered: %d programs" % (seed, count, len(table)))
    names = []
    for k, (_, text) in enumerate(table):
        names.append("p%d.vyre" % k)
        with open(names[-1], "w", encoding="utf-8") as f:
            f.write(text)
    bad, answered = 0, 0
    with subprocess.Popen([os.path.join(BUILD, "tests", "gradcheck_file"), "--seeds", "1", *names],
                          stdout=subprocess.PIPE, text=True) as checks:
        for line in checks.stdout:
            name, _, result = line.partition(": ")
            answered += 1
            if result.startswith("ok"):
                continue
            bad += 1
            if bad < 40:
                what, text = table[int(name[1:-5])]
                print("%s%s\n%s" % (result, what, text), flush=True)
    if answered < len(table):
        print("gradcheck_file ended with status %d after %s" % (checks.returncode, names[answered - 1]))
        return 1
    print("%d of %d wrong" % (bad, len(table)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
