# SPDX-License-Identifier: MIT
"""Random calls of functions that change their arguments: variables, parts of them, memory.

The functions are HELPERS of tree.py; a program has those that its text names.
"""
from tree import S

# {w} a vector, {p} a struct, {a} a variable, {m} one or an element of memory, {v} a new name.
CALLS = (
    "trade({m}, {a});", "trade({a}, {m});", "trade({a}, {a});", "trade({w}.y, {a});", "trade({w}.z, {w}[0]);",
    "trade({w}[u32({0} > 0.1)], {m});", "trade({p}.w[u32({0} > 0.3)], {p}.v.x);", "trade({p}.a, {w}[i32({0} > 0.2) * 4]);",
    "let {v} = blend({m}, {a}, {0});", "let {v} = {a} * 0.5 + blend({a}, {w}.x, sin({0})) - {a};",
    "{a} = sin(blend({a}, {p}.v[2], {0}) + {a});", "{a} = tanh({a} + {m}); let {v} = blend({p}.a, {m}, {a});",
    "spin({w}, {a});", "spin({w}.zxy, {p}.w[0]);", "spin({p}.v, {w}.x);", "if {0} > 0.1 {{ spin({w}, {w}.y); }}",
    "{a} = bend({a}) * 0.5 + bend({w}).y;", "{w} = bend({w}.zyx * {0});", "let {v} = bend({a} + {0}, 2);",
    "let {v} = bend(bend({m}), 1u) * bend(sin({w})).z;", "{a} = ease({a} + {0});", "let {v} = level({p}.w, {a}) * ease({0});",
    "{a} = level(@F[2]({m}, {0}), {a}) + @F(ease(f64({a}))) * 0.1;", "nudge({p}, {0});", "for {k} in 0..2 {{ nudge({p}, {0}); trade({w}[{k}], {a}); }}",
)


class Calls:
    def memory_or(self, c, name):
        """A place in memory that may be read and written, and its expressions; else a variable."""
        found = [b for b in c.buffers if b.t == "@F" and b.readable and b.writable]
        if not found or self.chance(0.4):
            return name, []
        return self.place(c, self.r.choice(found))

    def s_changing_call(self, c):
        text, out, names = self.r.choice(CALLS), [], {"v": c.name(), "k": c.name("k")}
        for letter, make in (("w", self.vector), ("p", self.pack)):
            if "{%s}" % letter in text:
                start, names[letter] = make(c)
                out += start
        if not self.named(c, "@F", True):
            out += self.s_var(c)
        names["a"] = self.named(c, "@F", True)
        names["m"], exprs = self.memory_or(c, self.named(c, "@F", True))
        if "{m}" not in text:
            exprs = []
        text = text.replace("{0}", "{%d}" % len(exprs))
        for letter, name in names.items():
            text = text.replace("{%s}" % letter, name)
        e = self.number(c, "@F", 1)
        if "let " + names["v"] in text:
            c.vars.append((names["v"], "@F", False))
        return out + [S("changing call", text, exprs + [e])]
