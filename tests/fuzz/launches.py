# SPDX-License-Identifier: MIT
"""Small programs without a domain, whose launch says how many invocations there are.

make(seed) is a program with the sizes and workgroups to check it with, and others of a second launch.
Elements of w are named by gid, wid and lid, by their quotients and remainders, by constants and by
scalars that the launch may make 0, 1, or more than there are invocations; behind guards along some of
the axes or none; and each invocation adds one of them to what it stores, or several in a loop, whose sum
a condition looks at, so that it is kept.  Where all workgroups along an axis do the same, they add
to one element; elsewhere each invocation has an element of its own.  Some read another array as well,
in arms that no invocation takes, all take, or few do: there may be nothing to add to it.  So the gradient of w is summed
over invocations, of which only the launch knows how many there are.
"""
import random

SHAPES = ((4,), (2, 2), (4, 2), (2, 1, 2), (1, 1, 3), (1, 3), (1,), (2, 2, 2))
NAMES = ("gid.x", "gid.y", "gid.z")
PLACES = ("%(a)s / C", "%(a)s %% C", "%(a)s / 2u", "%(a)s %% 3u", "%(a)s", "%(g)s", "%(l)s", "%(g)s / 2u", "%(a)s / C * 2u", "%(a)s / 2u + %(b)s",
          "%(a)s %% C * M + %(b)s", "%(a)s / C * M + %(a)s %% C", "(%(a)s / M) %% C", "%(b)s * 8u + %(a)s / C", "%(a)s / C + %(b)s / C")
VALUES = ("w[%(p)s] * x[%(q)s]", "w[%(p)s] * w[%(p)s]", "sin(w[%(p)s]) * f32(lindex + 1u)", "w[%(p)s] * f32(%(n)s + %(l)s)", "w[%(p)s] * x[lid.x] + w[%(q)s]")
SUMS = ("for k in 0..M { v += w[(%(p)s) * M + k] * x[k]; }", "for k in 0..3u { v += w[%(p)s + k] * x[%(q)s]; }",
        "for k in 0..%(l)s + 1u { v += w[%(p)s] * x[k]; }", "for k in %(b)s..M { v += w[k * C + %(p)s]; }")
# Arms: along axes of one lane, of one workgroup, of scalars; what is never so is known to some passes.
ARMS = ("lid.z == 1u", "lid.z != 1u", "lid.y > 0u", "wid.z == 1u", "wid.x != 7u", "lindex == 0u", "num_groups.x == 0u", "num_groups.y < 2u", "C == 101u",
        "C < 3u && lid.x < M", "gid.x > 9999u", "gid.x + C < N", "lid.x + 1u > 0u && lid.z > 0u")


def make(seed):
    r = random.Random(seed)
    shape = r.choice(SHAPES)
    size = [*shape, 1, 1][:3]
    looks = r.choice((1, 2, 3, 3, 3))
    looks = max(looks, len(shape))
    groups = [r.choice((1, 2, 3)) for _ in range(3)]
    # Along an axis that the program does not look at, sometimes more than one workgroup.
    for k in range(looks, 3):
        groups[k] = r.choice((1, 1, 2))
    other = [r.choice((1, 2, 4)) for _ in range(looks)] + [r.choice((1, 2)) for _ in range(looks, 3)]
    axes = list(range(looks))
    a, b = r.choice(axes), r.choice(axes)
    sizes = {"N": r.choice((0, 1, 3, 5, 9)), "M": r.choice((1, 2, 3)), "C": r.choice((1, 2, 2, 3, 3, 4, 7, 100))}
    names = {"a": NAMES[a], "b": NAMES[b], "g": "wid." + "xyz"[a], "l": "lid." + "xyz"[a], "n": "num_groups." + "xyz"[a]}
    names["p"] = r.choice(PLACES) % names
    names["q"] = r.choice(("gid.x", "lid.x", names["a"], "0u"))
    body = "v += %s;" % (r.choice(VALUES) % names) if r.random() < 0.5 else r.choice(SUMS) % names
    if r.random() < 0.4:
        body += r.choice((" v = v > 0.1 ? v : v * 0.5;", " v = sin(v);", " v = v * v;", " if v > 0.2 { v = v * x[0u]; }"))
    if r.random() < 0.3:
        body += " v += %s;" % (r.choice(VALUES) % {**names, "p": r.choice(PLACES) % names})
    at = NAMES[looks - 1]
    for k in range(looks - 2, -1, -1):
        at = "(%s * num_groups.%s * %du + %s)" % (at, "xyz"[k], size[k], NAMES[k])
    store = "o[%s] = v;" % at if looks == 3 else "atomic_add(o[%s], v);" % r.choice((at, "gid.x / 2u", "0u"))
    guards = ["%s < %s" % (NAMES[k], r.choice(("N", "M", "N * M"))) for k in axes if r.random() < 0.4]
    whole = "var v = 0.0; %s %s" % (body, store)
    if guards:
        whole = "if %s { %s }" % (" && ".join(guards), whole)
    if r.random() < 0.4:
        arm = "if %s { v += u[%s] * 0.5; }" % (r.choice(ARMS), r.choice(PLACES) % names)
        if r.random() < 0.3:
            arm = "if %s { } else { v += u[%s] * u[0]; }" % (r.choice(ARMS), names["q"])
        whole = whole.replace(store, "%s %s" % (arm, store))
        if r.random() < 0.3:  # and nothing else
            whole = whole.replace(body, "v = 1.0;")
    used = " ".join("%s=%d" % item for item in sizes.items())
    return ("// set: %s\n// groups: %s\n// launch: groups=%s\nprogram p(x: in f32[64], w: in f32[512], u: in f32[24], o: out f32[1024], N: u32, M: u32, C: u32) workgroup(%s) {\n    %s\n}\n"
            % (used, ",".join(map(str, groups)), ",".join(map(str, other)), ", ".join(map(str, shape)), whole))
