# SPDX-License-Identifier: MIT
"""Random statements that call functions of the library, those that are no operations (ir/build/library.h).

@V is the prefix of a vector's type, @W that of one of @G, {a} and {b} are new names, {0} and {1} bounded floats, {2} a u32.
"""
from tree import S

# A declaration, and a bounded float of what it declares.
CALLS = (
    ("let ({a}, {b}) = frexp({0} * 3.3);", "{a} * (1.1 + sin(@F({b})))"),
    ("let ({a}, {b}) = frexp(@Vvec3({0}, {1}, 1.7));", "dot({a}, @Vvec3({b}) * 0.1)"),
    ("let ({a}, {b}) = sincos({0} + {1});", "{a} * {b} * {1}"),
    ("let {a} = ldexp(sin(@Vvec2({0}, {1})), i32(clamp({1}, -2, 1)) - 1);", "{a}.x * {a}.y"),
    ("let {a} = quat_axis_angle(normalize(@Vvec3({0}, 0.4, 2.7)), {1});",
     "dot(quat_rotate({a}, @Vvec3(0.3, sin({0}), 0.8)), @Vvec3(0.7, 0.2, 0.5))"),
    ("let {a} = quat_axis_angle(@Vvec3(0.6, 0, 0.8), {0} - {1});", "quat_mul({a}, quat_conjugate({a}.wzyx) * 0.5).y"),
    ("let {a} = sin(@Vvec4({0}, {1}, 0.4, {0}));", "(quat_matrix({a}) * @Vvec3({1}, 0.1, 0.2)).y * 0.2"),
    ("let {a} = quat_slerp(@Vvec4(0, 0, 0, 1), quat_axis_angle(@Vvec3(0, 0.6, 0.8), sin({0})), {1});",
     "tanh(dot({a}, @Vvec4(0.4, 0.3, 0.2, 0.1)))"),
    ("let {a} = tap(i32({0} * 2), {1});", "sin({a}) * {0}"),
    ("let {a} = tap(i32({1} > 0.2) * 2, {0}) + tap(i32({0} < 0.1), {1});", "tanh({a})"),
)
# In programs that have a second type of floats.
SECOND = (
    ("var {a} = @Wvec3(@G({0}), 0.5, @G({1})); {a}.zx = sin({a}.xy); {a}[u32({1} > 0.1)] *= 0.75;",
     "@F(dot({a}, {a}.yzx) * 0.5)"),
    ("let {a} = @Wmat2(@G({0}), 0.5, @G({1}), 1) * sin(@Wvec2(@Vvec2({1}, {0})));", "sin(@F({a}.x - {a}.y * {a}.x))"),
    ("let {a} = normalize(@Wvec4(1.5, sin(@Wvec3(@G({0}), @G({1}), 0.2))));",
     "@F(quat_rotate({a}, @Wvec3(0.25, {a}.x, 0.5)).y)"),
    ("var {a} = @G[3](@G({0}), 0.25, @G({1})); for {b} in 0..3 {{ {a}[{b}] = sin({a}[2 - {b}] + ease({a}[1])); }}",
     "@F({a}[0] * {a}[i32({1} > 0.3) * 3])"),
)
DRAWS = (
    ("let {a} = random_uniform(philox({2}, 5));", "@F({a}.x) * {0} + @F({a}.w)"),
    ("let {a} = random_normal(philox(uvec2({2}, 3), uvec2(1, {2})).zy);", "sin(@F({a}.y)) * {0}"),
    ("let {a} = random_int(philox(uvec3(7, {2}, 2), {2}), 5);", "@F({a}.x + {a}.y) * 0.2 * {0}"),
)


class Library:
    def s_library(self, c):
        calls = SECOND if self.p.has_second and self.chance(0.5) else CALLS
        first, value = self.r.choice(DRAWS if self.chance(0.15) and c.cost <= 12 else calls)
        a, b, name = c.name(), c.name(), c.name()
        parts = [self.number(c, "@F", 2), self.number(c, "@F", 1), self.integer(c, "u32", 1)]
        put = lambda text: text.replace("{a}", a).replace("{b}", b)
        c.vars.append((name, "@F", False))
        return [S("library", put(first), parts), S("library value", "let %s = %s;" % (name, put(value)), parts)]
