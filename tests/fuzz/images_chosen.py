# SPDX-License-Identifier: MIT
"""Random shaders that choose images of an array when they run, each in two ways: `make(seed)`.

The first indexes the array by a value: of a buffer, of a loop, of a comparison, out of range at times.
The second has an image of its own for each element and asks for each number in turn, where the first
indexes.  Both mean the same, so both have the same results and gradients, element by element; a
reader that takes another image, or forgets that there may be none, has not.  Loads, stores, sizes,
samplers, and images as arguments of functions; in branches and loops.
"""
import random

HEAD = """#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 4) in;
%s
layout(binding = 20) readonly buffer W { uint which[]; };
layout(binding = 21) readonly buffer X { float x[]; };
layout(binding = 22) buffer Y { float y[]; };
"""


class Images:
    """One of the two ways to say it."""

    def __init__(self, counts, apart):
        self.counts, self.apart = counts, apart

    def declare(self):
        lines, binding = [], 0
        for name, kind in (("page", "layout(binding = %d, r32f) uniform readonly image2D %s;"),
                           ("tile", "layout(binding = %d) uniform sampler2D %s;"),
                           ("to", "layout(binding = %d, r32f) uniform writeonly image2D %s;")):
            n = self.counts[name]
            for made in [name + str(k) for k in range(n)] if self.apart else ["%s[%d]" % (name, n)]:
                lines.append(kind % (binding, made))
                binding += 1
        return "\n".join(lines)

    def functions(self):
        """`name(k, place)`: the value of the image that k chooses, 0 where there is none."""
        made = []
        for what, name, place, value in (("load", "page", "ivec2 p", "imageLoad(%s, p).x"), ("size", "page", "ivec2 p", "float(imageSize(%s).x)"),
                                         ("look", "tile", "vec2 p", "texture(%s, p).y"), ("twice", "tile", "vec2 p", "taken(%s, p)")):
            n = self.counts[name]
            if self.apart:
                body = " ".join("if (k == %du) return %s;" % (k, value % (name + str(k))) for k in range(n))
            else:
                body = "if (k < %du) return %s;" % (n, value % (name + "[nonuniformEXT(k)]"))
            made.append("float %s(uint k, %s) { %s return 0.0; }" % (what, place, body))
        n = self.counts["to"]
        store = "imageStore(%s, p, vec4(v));"
        body = (" ".join("if (k == %du) %s" % (k, store % ("to" + str(k))) for k in range(n)) if self.apart
                else "if (k < %du) %s" % (n, store % "to[nonuniformEXT(k)]"))
        made.append("void keep(uint k, ivec2 p, float v) { %s }" % body)
        taken = "float taken(sampler2D m, vec2 p) { return texture(m, p).x * 2.0 - texture(m, p.yx).z; }"
        return "\n".join([taken] + made)


class Body:
    """Statements that are the same in both."""

    def __init__(self, r, counts):
        self.r, self.counts, self.lines, self.loops, self.stored = r, counts, [], [], False

    def index(self):
        return self.r.choice(("k", "k", "which[i]", "(k + 1u) % 3u", "uint(s > %.1f)" % self.r.uniform(-1, 2), "%du" % self.r.randrange(4))
                             + tuple("%s" % j for j in self.loops) + tuple("(%s + k) %% 2u" % j for j in self.loops))

    def place(self):
        return "ivec2(%s, %s)" % tuple(self.r.choice(("0", "1", "int(i)", "int(i) % 2", "int(k)")) for _ in range(2))

    def value(self):
        pick = self.r.randrange(6)
        if pick < 2:
            return "load(%s, %s)" % (self.index(), self.place())
        if pick == 2:
            return "look(%s, vec2(%.3f, 0.3 + 0.2 * x[i]))" % (self.index(), self.r.uniform(0.2, 0.7))
        if pick == 3:
            return "twice(%s, vec2(0.6 - 0.1 * x[i], %.3f))" % (self.index(), self.r.uniform(0.2, 0.7))
        if pick == 4:
            return "size(%s, %s) * x[i]" % (self.index(), self.place())
        return "x[i]"

    def block(self, indent, depth):
        for _ in range(self.r.randint(2, 3)):
            pick = self.r.randrange(7)
            if pick < 3 or not depth:
                self.lines.append("%ss %s %s;" % (indent, self.r.choice(("+=", "-=", "+= 0.5 *", "= sin(s) +")), self.value()))
            elif pick == 3:
                j = "j%d" % len(self.lines)
                self.lines.append("%sfor (uint %s = 0u; %s < %du; %s++) {" % (indent, j, j, self.r.randint(2, 4), j))
                self.loops.append(j)
                self.block(indent + "    ", depth - 1)
                self.loops.pop()
                self.lines.append(indent + "}")
            elif pick == 4:
                self.lines.append("%sif (%s > %.2f) {" % (indent, self.value(), self.r.uniform(-0.5, 1)))
                self.block(indent + "    ", depth - 1)
                self.lines.append(indent + "}")
            elif pick == 5:
                self.lines.append("%sk = (k + uint(%s > 0.5)) %% 4u;" % (indent, self.value()))
            else:
                self.lines.append("%sif (k == %du) s *= %s;" % (indent, self.r.randrange(3), self.value()))


def make(seed):
    """The two shaders, and `--in` of the first: name and SPEC; that of an image has `.k`, of the second k alone."""
    r = random.Random(seed)
    counts = {"page": r.randint(2, 3), "tile": 2, "to": 2}
    body = Body(r, counts)
    body.block("    ", 2)
    body.lines.append("    keep(%s, ivec2(int(i), 0), s);" % body.index())
    main = "void main()\n{\n    const uint i = gl_GlobalInvocationID.x;\n    if (i >= 4u) return;\n    uint k = which[i];\n    float s = x[i];\n%s\n    y[i] = s;\n}\n" % "\n".join(body.lines)
    texts = [HEAD % images.declare() + images.functions() + "\n" + main for images in (Images(counts, False), Images(counts, True))]
    data = [("which", ",".join(str(r.randrange(4)) for _ in range(4))), ("x[4]", "normal:0:1:%d" % (seed + 1)), ("y[4]", "zeros")]
    for name, shape in (("page", (2, 3, 1)), ("tile", (2, 3, 4)), ("to", (1, 4, 1))):
        for k in range(counts[name]):
            height, width, parts = shape[0], shape[1] + k % 2, shape[2]
            spec = "zeros" if name == "to" else "normal:0:1:%d" % (seed + 10 * k + len(name))
            data.append(("%s.%d[%d,%d,%d]" % (name, k, height, width, parts), spec))
    return texts, data
