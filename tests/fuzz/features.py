# SPDX-License-Identifier: MIT
"""What a compiler may refuse in programs of several invocations (E0502), a smallest program (probe)
for each such feature, and how often it was made, differentiated and refused.

The generator makes programs with all of them whether they are refused or not: a refused one is
still run forwards on both engines.  Once the probe of a feature is differentiated, so must be half
of the programs that have it and no other refused feature: otherwise the report says so and fails.
"""
import collections

PROBES = {
    "without over": """
program p(x: in f32[N], y: out f32[N], N: u32) workgroup(4) { y[gid.x] = x[gid.x] * x[gid.x]; }
""",
    "barrier": """
program p(x: in f32[N], y: out f32[N], N: u32) workgroup(4) over(i: N)
{
    shared t: u32[4];
    t[lindex] = i;
    barrier();
    y[i] = x[i] * f32(t[0] + 1);
}
""",
    "shared": """
program p(x: in f32[N], y: out f32[N], N: u32) workgroup(4) over(i: N)
{
    shared t: f32[4];
    t[lindex] = x[i] * x[i];
    barrier();
    y[i] = t[3 - lindex];
}
""",
    "buffer with barriers": """
program p(x: in f32[N], y: inout f32[N], N: u32) workgroup(4) over(i: N)
{
    y[i] = x[i] * x[i];
    barrier();
    let v = y[wid.x * 4];
    barrier();
    y[i] = v * x[i];
}
""",
    "atomic min, max": """
program p(x: in f32[N], best: inout f32[1], N: u32) over(i: N) { atomic_max(best[0], x[i] * x[i]); }
""",
    "min, max beside others": """
program p(x: in f32[N], best: inout f32[N, 2], N: u32) over(i: N)
{
    atomic_max(best[i / 2, 0], x[i] * best[i, 1]);
    atomic_min(best[i, 1], x[i]);
}
""",
    "min, max of workgroups": """
program p(x: in f32[N], best: inout f32[N], y: out f32[N], N: u32) workgroup(4) over(i: N)
{
    atomic_max(best[wid.x], x[i] * x[i]);
    barrier();
    y[i] = best[wid.x] * x[i];
}
""",
    "shared min, max": """
program p(x: in f32[N], y: out f32[N], N: u32) workgroup(4) over(i: N)
{
    shared t: f32[1];
    if lindex == 0 { t[0] = 0; }
    barrier();
    atomic_max(t[0], x[i] * x[i]);
    barrier();
    y[i] = t[0] * x[i];
}
""",
    "subgroup": """
program p(x: in f32[N], y: out f32[N], N: u32) workgroup(32) over(i: N) { y[i] = subgroup_add(x[i] * x[i]) * x[i]; }
""",
}
LEAST = 20  # programs of a feature before their share says anything


class Features:
    def __init__(self, differentiates):
        """differentiates(text) → (whether, first line of what it said)"""
        self.on, self.why = {}, {}
        for name, text in PROBES.items():
            self.on[name], self.why[name] = differentiates(text)
        self.made, self.taken = collections.Counter(), collections.Counter()

    def count(self, named, refused):
        """named: the features of a program."""
        for name in named:
            # Another one of its features may be the reason.
            if all(self.on[f] for f in named if f != name):
                self.made[name] += 1
                self.taken[name] += not refused

    def report(self):
        """(lines, whether all is well)"""
        lines, well = [], True
        for name in PROBES:
            made, taken = self.made[name], self.taken[name]
            line = "feature %s: %s; %d programs, %d differentiated" % (
                name, "differentiated" if self.on[name] else "refused", made, taken)
            if not self.on[name]:
                line += " (%s)" % self.why[name]
            if self.on[name] and made >= LEAST and 2 * taken < made:
                line += ": FEWER THAN HALF"
                well = False
            lines.append(line)
        return lines, well
