#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random compute shaders in GLSL, as people write them: `glsl.py SEED` prints one.

Blocks of every layout, push constants, specialisation constants, structs, functions, control flow, shared memory.
Each is valid, has no data race and no undefined behaviour when it is launched as `groups` says with `values` for
its sizes and at least `elements` elements in arrays of open length (tests/scripts/spirv/random_shaders.py).
"""
import random
import sys

from glsl_statements import Statements

FIELDS = ("float", "float", "vec2", "vec3", "vec4", "int", "uint", "mat2", "mat3", "float[3]", "vec3[2]", "mat3x2")
ELEMENTS = ("float",) * 5 + ("vec2", "vec3", "vec4", "int", "uint", "mat2", "mat3", "mat2x3", "float[3]")
MEMBERS = ("float", "vec2", "vec3", "vec4", "mat2", "mat3", "mat4x2", "float[5]", "int", "uint", "ivec2", "vec3[2]")


def declared(t, name):
    element, _, n = t.partition("[")
    return "%s %s%s;" % (element, name, "[" + n if n else "")


class Glsl(Statements):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names, self.scope, self.globals, self.below = 0, [], [], {}
        self.structs, self.functions, self.results = {}, [], None
        self.buffers, self.sizes, self.own = [], {}, []
        self.values, self.top, self.binding = {}, [], 0
        self.kind = self.r.choice(("guard", "guard", "around", "two", "flat", "exact", "group", "group", "stride", "lanes"))
        self.shape()
        self.write()

    # ---- launch
    def shape(self):
        """Workgroup, number of workgroups, sizes."""
        r = self.r
        w, h = r.randrange(2, 6), r.randrange(2, 5)
        self.local = (r.choice((2, 4)), 2) if self.kind == "two" else (r.choice((2, 4, 8)), 1)
        n = w * h if self.kind in ("two", "flat") else r.randrange(5, 16)
        if self.kind == "two":
            self.groups = (-(-w // self.local[0]), -(-h // self.local[1]), 1)
        else:
            self.groups = (-(-n // self.local[0]), 1, 1)
        if self.kind == "exact":
            n = self.groups[0] * self.local[0]
        if self.kind == "stride":
            self.groups = (2, 1, 1)
        if self.kind == "lanes":
            self.local, self.groups = (r.choice((16, 32)), 1), (1, 1, 1)
        self.values = {"n": n, "w": w, "h": h, "hop": r.randrange(1, 4), "leap": r.randrange(1, 4)}
        self.elements = n + r.randrange(3)

    # ---- interface
    def struct(self):
        name = self.fresh("S")
        fields = [("m%d" % k, self.r.choice(FIELDS + tuple(self.structs))) for k in range(self.r.randrange(1, 5))]
        self.structs[name] = fields
        self.top += ["struct %s { %s };" % (name, " ".join(declared(t, f) for f, t in fields))]

    def layout(self, words=""):
        self.binding += 1
        standard = self.r.choice(("std430", "std430", "std430", "std140", "scalar"))
        order = self.r.choice(("", "", ", row_major"))
        return "layout(%s%s, set = %d, binding = %d) %s" % (standard, order, self.r.randrange(2), self.binding, words)

    def push(self):
        members = ["uint n;", "uint w;", "uint h;", "int hop;", "uint leap;"]  # by steps loops count: no expression has them
        self.sizes = {name: self.values[name] for name in ("w", "h")}
        self.globals += [(name, "uint", False) for name in "nwh"]
        for t in self.r.sample(("float", "vec2", "float", "int", "vec4", "mat2"), self.r.randrange(4)):
            name = self.fresh("push")
            members.insert(self.r.randrange(len(members) + 1), declared(t, name))
            self.globals.append((name, t, False))
        self.top += ["layout(push_constant) uniform Push { %s };" % " ".join(members)]

    def uniform(self):
        instance = self.r.choice(("", "", self.fresh("u")))
        members = []
        for t in self.r.sample(MEMBERS + tuple(self.structs), self.r.randrange(1, 5)):
            name = self.fresh("c")
            order = self.r.choice(("layout(row_major) ", "", "")) if t.startswith("mat") else ""
            members.append(order + declared(t, name))
            self.globals.append((instance + "." + name if instance else name, t, False))
        self.binding += 1
        self.top += ["layout(std140, set = 0, binding = %d) uniform U%d { %s } %s;" % (
            self.binding, self.binding, " ".join(members), instance)]

    def storage(self, how, types):
        """A block that ends with an open array; (path with @ for the index, type of the element)."""
        t, name, head = self.r.choice(types), self.fresh("b"), ""
        instance = self.r.choice(("", "", self.fresh("i")))
        if how == "readonly " and self.r.random() < 0.25:
            for ht in self.r.sample(MEMBERS, self.r.randrange(1, 3)):
                h = self.fresh("h")
                head += declared(ht, h) + " "
                self.globals.append((instance + "." + h if instance else h, ht, False))
        element, _, size = t.partition("[")
        self.top += [self.layout(how) + "buffer B%d { %s%s %s[]%s; } %s;" % (
            self.binding, head, element, name, "[" + size if size else "", instance)]
        return (instance + "." if instance else "") + name + "[@]", t

    def constants(self):
        r = self.r
        if r.random() < 0.5:
            self.top += ["layout(constant_id = 3) const uint COUNT = %d;" % r.randrange(1, 5),
                         "const uint TWICE = COUNT * 2u + 1u;"]
            self.globals += [("COUNT", "uint", False), ("TWICE", "uint", False)]
            self.sizes["COUNT"] = 4
        if r.random() < 0.3:
            self.top += ["layout(constant_id = 4) const float SCALE = 0.75;",
                         "layout(constant_id = 7) const bool EXTRA = %s;" % r.choice(("true", "false"))]
            self.globals += [("SCALE", "float", False), ("EXTRA", "bool", False)]
        if r.random() < 0.3:
            t = r.choice(("float[4]", "vec2[3]", "int[5]"))
            element, _, n = t.partition("[")
            self.top += ["const %s TABLE[%s = %s;" % (element, n, self.plain(t))]
            self.globals.append(("TABLE", t, False))
        if r.random() < 0.3:
            t = r.choice(("float", "vec3", "float[4]", "uint"))
            name = self.fresh("g")
            self.top += [declared(t, name)]
            self.private = name, t
        else:
            self.private = None

    # ---- reads of buffers
    def reads(self, t):
        out = [p for path, of in self.buffers for p in self.parts(path, of, t, 3)]
        return [self.indexed(self.placed(self.r.choice(out)))] if out else None

    def placed(self, path):
        return path.replace("@", self.element(path))

    def element(self, path):
        """An index below n."""
        r, n = self.r, self.values["n"]
        known = [k for k, most in self.below.items() if most <= n]
        choices = ["(%s) %% n" % self.expr("uint", 1), str(r.randrange(n))]
        if known:
            choices += [r.choice(known)] * 2
        choices += self.own * 3
        if self.own:
            i = r.choice(self.own)
            choices += ["(%s + %du) %% n" % (i, r.randrange(1, n)), "min(%s + 1u, n - 1u)" % i,
                        "(%s > 0u ? %s - 1u : 0u)" % (i, i)]
        if self.kind in ("two", "flat") and self.own:
            choices += ["y * w + (x + 1u) % w", "((y + 1u) % h) * w + x", "(y > 0u ? y - 1u : y) * w + x"]
            choices += ["uint(int(y) * int(w) + min(int(x) + 1, int(w) - 1))", "uint(int(y) * int(w) + max(int(x) - 1, 0))",
                        "(h > 2u ? y * w : (w > 3u ? (h - 1u - y) * w : 0u)) + x",
                        "uint(int[3](0, int(y), int(h - 1u - y))[hop % 3]) * w + x"]
        if "[" not in path.partition("[@]")[0] and r.random() < 0.1:
            choices = ["(%s) %% uint(%s.length())" % (self.expr("uint", 1), path.partition("[@]")[0])]
        return r.choice(choices)

    # ---- main
    def write(self):
        for _ in range(self.r.choice((0, 1, 1, 2))):
            self.struct()
        self.push()
        self.constants()
        if self.r.random() < 0.6:
            self.uniform()
        types = ELEMENTS + tuple(self.structs) * 3
        self.buffers = [self.storage("readonly ", types) for _ in range(self.r.randrange(1, 4))]
        self.outputs = [self.storage("writeonly ", ("float", "float", "vec2", "vec3", "vec4", "mat2", *self.structs))
                        for _ in range(self.r.randrange(1, 3))]
        self.both = [self.storage("", ("float", "vec3", "vec4", "uint", *self.structs))
                     for _ in range(self.r.randrange(2))]
        if self.private:
            self.globals.append((*self.private, True))
        functions = [line for _ in range(self.r.randrange(4)) for line in self.function()]
        body = self.main()
        x, y = self.local
        size = "layout(local_size_x = %d, local_size_y = %d) in;" % (x, y)
        if y == 1 and self.r.random() < 0.1:
            size = "layout(local_size_x_id = 9) in; layout(local_size_x = %d) in;" % x
        self.text = "\n".join(["#version 450", "#extension GL_EXT_scalar_block_layout : require", *self.lanes(), size, *self.top, "",
                               *functions, "void main()", "{", *body, "}", ""])

    def lanes(self):
        return ["#extension GL_KHR_shader_subgroup_%s : require" % what for what in ("basic", "arithmetic", "shuffle") if self.kind == "lanes"]

    def main(self):
        self.scope, self.below = list(self.globals), {}
        begin = ["    %s = %s;" % (self.private[0], self.plain(self.private[1]))] if self.private else []
        return begin + getattr(self, "main_" + self.kind)()

    def know(self, *names):
        self.own = ["i"]
        self.scope += [(name, "uint", False) for name in names]

    def work(self, returns=True):
        """What one invocation does with its element, and its stores."""
        self.results = "void" if returns else None
        before = len(self.scope)
        lines = []
        for path, t in self.both:
            own = path.replace("@", "i")
            self.scope.append((own, t, True))
        for _ in range(self.r.randrange(3, 9)):
            lines += self.statement(2)
            if self.r.random() < 0.2:
                lines += self.store(self.r.choice(self.outputs))
        for o in self.outputs:
            lines += self.store(o)
        del self.scope[before:]
        self.results = None
        return ["    " + line for line in lines]

    def store(self, output):
        path, t = output
        own = path.replace("@", "i")
        parts = [(own, t)] + [(p, of) for of in ("float", "vec2", "vec3") for p in self.parts(own, t, of, 3)]
        place, of = self.r.choice(parts[:1] + parts)
        line = "%s = %s;" % (self.indexed(place), self.expr(of, 3))
        return ["if (%s) %s" % (self.expr("bool", 2), line)] if self.r.random() < 0.15 else [line]

    def main_guard(self):
        head = ["    uint i = gl_GlobalInvocationID.x;", "    if (i >= n) return;"]
        if self.r.random() < 0.3:
            head = ["    int signed_i = int(gl_GlobalInvocationID.x);", "    if (signed_i >= int(n)) { return; }",
                    "    uint i = uint(signed_i);"]
        self.know("i")
        return head + self.work()

    def main_around(self):
        self.know("i")
        return ["    uint i = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x;", "    if (i < n)", "    {",
                *["    " + line for line in self.work()], "    }"]

    def main_two(self):
        self.know("i", "x", "y")
        return ["    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;", "    if (x >= w || y >= h) return;",
                "    uint i = y * w + x;", *self.together(), *self.work()]

    def together(self):
        """Stores that all of a column, or of a row, make to one element: one value.  They would race where invocations
        load what is stored (`both`): once.c leaves such shaders alone."""
        if self.both or self.r.random() < 0.4:
            return []
        path, _ = self.storage("writeonly ", ("float",))
        v, condition = self.r.choice("xy"), self.r.choice(("", "if (h > 2u) ", "if (x > 0u) "))
        if condition and v == "y":
            condition = condition.replace("x", "y")
        return ["    %s%s = float(%s) * 0.25 + %s;" % (condition, path.replace("@", v), v, self.r.choice(("0.5", "float(w * h)")))]

    def main_flat(self):
        """A flat domain that is divided into coordinates: by unsigned or signed numbers, two or three."""
        self.know("i", "x", "y")
        r = self.r
        end = r.choice(("w * h", "w * h", "n", "h * w"))
        x, y = r.choice((("i % w", "i / w"), ("i % w", "i / w"), ("i - i / w * w", "i / w"), ("uint(int(i) % int(w))", "uint(int(i) / int(w))"),
                         ("i % w", "(i / w) % h"), ("i % (w * h) % w", "i % (h * w) / w")))
        return ["    uint i = gl_GlobalInvocationID.x;", "    if (i >= %s) return;" % end, "    uint x = %s, y = %s;" % (x, y),
                *self.work()]

    def main_exact(self):
        self.know("i")
        return ["    uint i = gl_GlobalInvocationID.x;", *self.work()]

    def main_stride(self):
        self.know("i")
        return ["    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;",
                "    for (uint i = gl_GlobalInvocationID.x; i < n; i += stride)", "    {",
                *["    " + line for line in self.work(False)], "    }"]

    # ---- subgroups
    def main_lanes(self):
        """A sum or maximum of two stages: of subgroups, and of the first one.  Other subgroups take another arm."""
        self.top += ["shared float part[%d], total;" % self.local[0]]
        r, head = self.r, ["    uint i = gl_GlobalInvocationID.x, lane = gl_SubgroupInvocationID;"]
        own = "    float near = i < n ? %s : 0.0;" % self.expr("float", 2)
        first, second = r.choice((("Add", "Add"), ("Max", "Add"), ("Add", "Max"), ("Min", "Max")))
        taken = "gl_SubgroupID == 0u" if r.random() < 0.6 else "0u == gl_SubgroupID && gl_NumSubgroups > 1u"
        other = ["    else {", *self.rounds("near", r.choice(("Add", "Max"))), "    }"] if r.random() < 0.5 else []
        lines = [
            *head, own, "    if (gl_LocalInvocationIndex == 0u) total = 0.25;",
            "    float sum = subgroup%s(near);" % first, "    if (lane == 0u) part[gl_SubgroupID] = sum;", "    barrier();",
            "    if (%s)" % taken, "    {", "        float all = 0.0;",
            "        for (uint k = lane; k < gl_NumSubgroups; k += gl_SubgroupSize) all += part[k];",
            *self.rounds("all", second), "        if (lane == 0u) total = all + 0.5 * near;", "    }", *other,
            "    barrier();", "    near = near * 0.5 + total * 0.125;", "    if (i < n)", "    {"]
        self.know("i")
        self.scope.append(("near", "float", True))
        return lines + ["    " + line for line in self.work(False)] + ["    }"]

    def rounds(self, v, how):
        """Operations among lanes in an arm that an entire subgroup takes: one, or loops that all would run as often."""
        one = "%s = subgroup%s(%s * 0.25) + %s * 0.5;" % (v, how, v, v)
        butterfly = "for (uint h = %s) %s = (%s + subgroupShuffleXor(%s, h)) * 0.5;" % (
            self.r.choice(("1u; h < 4u; h <<= 1", "4u; h > 0u; h /= 2u", "0u; h < 3u; h++")), v, v, v)
        times = "for (uint t = 0u; t < %s; t++) {" % self.r.choice(("n % 3u", "n % 2u + 1u", "2u"))
        branch = "if (%s) %s" % (self.r.choice(("n > 7u", "gl_NumSubgroups > 2u", "gl_SubgroupID < 2u")), one)
        lines = self.r.choice(([one], [one], [branch], [butterfly], [times, "    " + one, "}"], [times, "    " + butterfly, "    " + branch, "}"]))
        return ["        " + line for line in lines]

    # ---- shared memory
    def main_group(self):
        """No invocation returns: all reach the barriers."""
        size = self.local[0]
        self.top += ["shared float tile[%d];" % size]
        head = ["    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;"]
        self.scope += [("l", "uint", False)]
        self.below = {"l": size}
        fill = "    tile[l] = i < n ? %s : 0.0;" % self.expr("float", 2)
        lines = [*head, fill, "    barrier();", *self.shared_use(size)]
        lines += ["    if (i < n)", "    {"]
        self.know("i")
        self.scope.append(("near", "float", True))
        return lines + ["    " + line for line in self.work(False)] + ["    }"]

    def shared_use(self, size):
        kind = self.r.randrange(3)
        if kind == 0:
            return ["    float near = tile[(l + %du) %% %du] * 0.5;" % (self.r.randrange(size), size)]
        if kind == 1:
            return ["    float near = 0.0;", "    for (int k = 0; k < %d; k++) near += tile[k] * 0.25;" % size]
        return ["    for (uint d = %du; d > 0u; d >>= 1)" % (size // 2), "    {",
                "        if (l < d) tile[l] += tile[l + d];", "        barrier();", "    }", "    float near = tile[0];"]


if __name__ == "__main__":
    print(Glsl(int(sys.argv[1])).text, end="")
