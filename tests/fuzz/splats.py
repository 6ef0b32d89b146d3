# SPDX-License-Identifier: MIT
"""Random programs whose tiles of the domain walk lists together, as pixels walk the splats of their
tile: each invocation leaves its loop by data of its own, adds to elements that all name or a few, in
arms and outside, also on the way back of the gradient.

What a GPU's subgroup adds to one element is one addition there (spirv/facts/combined.c), loops back
begin at the subgroup's greatest number (ir/pass/device/uniform_starts.c), and numbers of tiles are
made of workgroups' (group_quotients.c).  All numbers are small integers, so that sums are exact in
any order.  make(seed) has the text, and `data`: options of `run`.
"""
import random

SHAPES = ((16, 8), (8, 8), (4, 4), (16, 1), (5, 3), (32, 2), (1, 1))


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.shape = r.choice(SHAPES)
        self.size = (r.randrange(1, 40), r.randrange(1, 40))
        self.names = 0
        self.over = ("y: H, x: W", "y: H, x: W", "b: 2, y: H, x: W")[r.randrange(3)]
        self.body = self.walk(0) if r.random() < 0.85 else "let k = x % 5;\n" + "\n".join(self.arm("k", "k") for _ in range(3))

    def name(self, letter):
        self.names += 1
        return "%s%d" % (letter, self.names)

    def tile(self):
        r, (wx, wy) = self.r, self.shape
        by = [r.choice((s, 2 * s, 4 * s, 3, s + 1)) for s in (wx, wy)]
        return "(y / %d * 3 + x / %d) %% 7" % (by[1], by[0])

    def term(self, g):
        r = self.r
        return r.choice(("a[{g}, 0] * own", "a[{g}, 1]", "a[{g}, 0] * a[{g}, 2]", "own * 2.0 - a[{g}, 1]", "a[{g}, 2] * f32(x % 3)")).format(g=g)

    def addition(self, g, k):
        r = self.r
        to, what = r.choice((("h[%s, %d]" % (g, r.randrange(3)), self.term(g)), ("h[%s, x %% 3]" % g, "own"), ("h[x % 5, 1]", self.term(g)),
                             ("total[0]", self.term(g)), ("seen[%s]" % g, "1u"), ("seen[%s %% 5]" % k, "x"), ("least[%s]" % g, "i32(y) - 3i32")))
        return "atomic_add(%s, %s);" % (to, what)

    def arm(self, g, k):
        r = self.r
        condition = r.choice(("own > 0.0", "a[%s, 1] > own" % g, "x % 3 == 1", "%s %% 2 == y %% 2" % k, "x == 2"))
        then = self.addition(g, k) if r.random() < 0.6 else "s += %s;" % self.term(g)
        other = " else { s -= %s; }" % self.term(g) if r.random() < 0.4 else ""
        return "if %s { %s }%s" % (condition, then, other)

    def leave(self, g, k):
        r = self.r
        condition = r.choice(("left < 0.0", "left < own", "s > 9.0 + own", "a[%s, 2] > own + 1.0" % g, "%s %% 4 == x %% 5" % k))
        return "if %s { %s; }" % (condition, r.choice(("break", "break", "continue")))

    def walk(self, depth):
        r, k, g = self.r, self.name("k"), self.name("g")
        t = self.name("t")
        steps = ["left -= %s;" % r.choice(("1.0", "max(own, 0.0)", "abs(a[%s, 0])" % g)), "s += %s;" % self.term(g)]
        for make in r.sample((self.addition, self.arm, self.arm, self.leave, self.leave), r.randrange(2, 5)):
            steps.append(make(g, k))
        if depth == 0 and r.random() < 0.3:
            steps.append(self.walk(1))
        if r.random() < 0.3:
            steps.append("p *= a[%s, 1] + 1.0;" % g)
        r.shuffle(steps)
        ends = r.choice(("first[{t}]..first[{t} + 1]", "first[{t}]..first[{t} + 1]", "0..u32(max(own, 0.0)) + 2", "rev(0..u32(max(own, 0.0)) + 2)"))
        return "let %s = %s;\nfor %s in %s {\nlet %s = order[%s];\n%s\n}" % (t, self.tile(), k, ends.format(t=t), g, k, "\n".join(steps))

    def text(self):
        return ("""program splats(a: in f32[5, 3], own_of: in f32[H, W], first: in u32[8], order: in u32[?],
              v: out f32[H, W], h: out f32[5, 3], total: out f32[1], seen: out u32[5], least: out i32[5], H: u32, W: u32)
    workgroup(%s) over(%s)
{
    let own = own_of[y, x];
    var s = 0.0;
    var p = 1.0;
    var left = 3.0;
%s
    if own != 7.0 { atomic_add(v[y, x], s + p); }
}
""" % (", ".join(map(str, self.shape)), self.over, self.body))

    def data(self):
        r, at = random.Random(str(self.size)), 0
        first = [at]
        for _ in range(7):
            at += r.randrange(0, 6)
            first.append(at)
        places = self.size[0] * self.size[1]
        numbers = {"a[5,3]": [r.randrange(-2, 3) for _ in range(15)], "own_of[%d,%d]" % self.size: [r.randrange(-2, 4) for _ in range(places)],
                   "first[8]": first, "order[%d]" % max(at, 8): [r.randrange(5) for _ in range(max(at, 8))]}
        return [part for name, values in numbers.items() for part in ("--in", name + "=" + ",".join(map(str, values)))]


def make(seed):
    return Program(seed)
