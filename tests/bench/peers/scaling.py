# SPDX-License-Identifier: MIT
"""Programs of about n operations, one shape each, for how compiling grows with them."""


def head(name, parameters):
    return "program %s(%s, N: u32) over(i: N)\n{\n" % (name, parameters)


def lines(count, text):
    """text(k) for each k."""
    return "".join(text(k) + "\n" for k in range(count))


def straight(n):  # a chain through one variable
    body = lines(n // 4, lambda k: "v = sin(v) * a + v * %d.5;" % (k % 1000))
    return head("f", "x: in f32[N], w: in f32[N], y: out f32[N]") + "let a = w[i];\nvar v = x[i];\n" + body + "y[i] = v;\n}\n"


def lets(n):  # each of two earlier ones, and one far back
    body = lines(n // 2 - 2, lambda k: "let v%d = v%d * v%d + v%d;" % (k + 2, k + 1, k, (k + 2) * 7919 % (k + 2)))
    first = "let v0 = x[i];\nlet v1 = v0 * 0.5;\n"
    return head("f", "x: in f32[N], y: out f32[N]") + first + body + "y[i] = v%d;\n}\n" % (n // 2 - 1)


def of_variable(n, per, text):
    return head("f", "x: in f32[N], y: out f32[N]") + "var v = x[i];\n" + lines(n // per, text) + "y[i] = v;\n}\n"


def nests(n):  # of two loops each
    return of_variable(n, 10, lambda k: "for a%d in 0..4u { for b%d in 0..4u { v = v * 0.9 + sin(v) * %d.5; } }" % (k, k, k % 97))


def ifs(n):
    return of_variable(n, 6, lambda k: "if v > %d.25 { v = sin(v) * 0.5; } else { v = v * 1.5 + 0.1; }" % (k % 7))


def nested_ifs(n):  # 20 deep
    deep = "".join("if v > %d.01 { v = v * 1.01 + 0.01;\n" % k for k in range(20)) + "}" * 20
    return of_variable(n, 80, lambda k: deep)


def stores(n):  # each of what the one before stored
    body = lines(n // 4, lambda k: "t[i, %d] = t[i, %d] * 0.5 + sin(t[i, %d]);" % (k + 1, k, k))
    return head("f", "x: in f32[N], t: inout f32[N, %d]" % (n // 4 + 1)) + "t[i, 0] = x[i];\n" + body + "}\n"


def outs(n):
    body = lines(n // 4, lambda k: "t[i, %d] = sin(x[i]) * %d.5;" % (k, k))
    return head("f", "x: in f32[N], t: out f32[N, %d]" % (n // 4)) + body + "}\n"


def local_array(n):
    body = lines(n // 4, lambda k: "t[%d] = t[%d] * 0.5 + sin(t[%d]);" % ((k + 1) % 64, k % 64, k % 64))
    return (head("f", "x: in f32[N], y: out f32[N]") + "local t: f32[64];\nt[0] = x[i];\n" + body +
            "y[i] = t[%d];\n}\n" % (n // 4 % 64))


def computed_index(n):
    body = lines(n // 6, lambda k: "t[(q + %d) & 63] = t[(q + %d) & 63] * 0.5 + sin(t[(q + %d) & 63]);" % (k + 1, k, k))
    return (head("f", "x: in f32[N], p: in u32[N], y: out f32[N]") + "local t: f32[64];\nlet q = p[i];\nt[q & 63] = x[i];\n" +
            body + "y[i] = t[(q + %d) & 63];\n}\n" % (n // 6))


def data_loads(n):
    body = lines(n // 4, lambda k: "v += x[q + %d] * %d.5;" % (k, k % 9))
    return head("f", "x: in f32[N], p: in u32[N], y: out f32[N]") + "let q = p[i];\nvar v = 0.0;\n" + body + "y[i] = v;\n}\n"


def atomics(n):
    return head("f", "x: in f32[N], y: out f32[64]") + lines(
        n // 4, lambda k: "atomic_add(y[%d], sin(x[i]) * %d.5);" % (k % 64, k)) + "}\n"


def functions(n):
    each = lines(n // 4, lambda k: "fn g%d_(a: f32) -> f32 { return sin(a) * %d.5 + a; }" % (k, k % 9))
    return each + of_variable(n, 4, lambda k: "v = g%d_(v);" % k)


def taps(n):
    body = lines(n // 4, lambda k: "v += x[i + %d] * w[%d];" % (k, k % 64))
    return head("f", "x: in f32[N], w: in f32[64], y: out f32[N]") + "var v = 0.0;\n" + body + "y[i] = v;\n}\n"


def buffers(n):
    inputs = ", ".join("x%d: in f32[N]" % k for k in range(n // 10))
    body = lines(n // 10, lambda k: "v = v * 0.5 + x%d[i] * x%d[i];" % (k, k))
    return head("f", inputs + ", y: out f32[N]") + "var v = 0.0;\n" + body + "y[i] = v;\n}\n"


def carried(n):  # by one loop
    m = n // 4
    first = lines(m, lambda k: "var v%d = x[i] * %d.5;" % (k, k))
    body = lines(m, lambda k: "v%d = v%d * 0.5 + sin(v%d);" % (k, (k + 1) % m, k))
    return head("f", "x: in f32[N], y: out f32[N]") + first + "for s in 0..10u {\n" + body + "}\ny[i] = v0;\n}\n"


def adjacent_loops(n):  # of one range, which fuse_loops joins
    body = lines(n // 6, lambda k: "y[i, %d] = sum(j in 0..8u: x[i, j] * %d.5 * x[i, j]);" % (k, k % 97))
    return head("f", "x: in f32[N, 8], y: out f32[N, %d]" % (n // 6)) + body + "}\n"


def additions(n):  # of loops, which merge_additions joins
    body = lines(n // 5, lambda k: "for j in 0..8u { atomic_add(y[%d], sin(x[i, j]) * %d.5); }" % (k % 64, k % 97))
    return head("f", "x: in f32[N, 8], y: inout f32[64]") + body + "}\n"


SHAPES = {f.__name__.replace("_", " "): f for f in (
    straight, lets, nests, ifs, nested_ifs, stores, outs, local_array, computed_index, data_loads, atomics, functions, taps,
    buffers, carried, adjacent_loops, additions)}
