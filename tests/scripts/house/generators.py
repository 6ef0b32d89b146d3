#!/usr/bin/env python3
# ONCE
"""The build-time generators: opcode facts agree with Khronos' header, embedded text is complete."""
import os
import subprocess
import sys
import unittest

ROOT = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "spirv", "gen"))
import gen_text  # noqa: E402

CHECK = r"""
#include "spirv/spirv_opcodes.h"
#include <spirv/unified1/GLSL.std.450.h>
#include <stdbool.h>
#include <stdio.h>
#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.h>
#define X(name, number, type, result, least, version, operands, capabilities) \
    _Static_assert(SpvOp##name == number, #name);
SPV_OPCODES(X)
#undef X
#define X(name, number, least, operands, capabilities) \
    _Static_assert(GLSLstd450##name == number, #name);
SPV_GLSL_STD_450(X)
#undef X
extern inline void SpvHasResultAndType(SpvOp opcode, bool *hasResult, bool *hasResultType);
int main(void)
{
    int wrong = 0;
#define X(name, number, type, result, least, version, operands, capabilities) \
    { \
        bool r, t; \
        SpvHasResultAndType(SpvOp##name, &r, &t); \
        if (r != result || t != type) wrong++, puts(#name); \
    }
    SPV_OPCODES(X)
    return wrong;
}
"""


class Opcodes(unittest.TestCase):
    def test_against_khronos_header(self):
        with open("check.c", "w") as f:
            f.write(CHECK)
        subprocess.run(["cc", "-std=gnu11", "-Wall", "-Werror", "-I", os.environ["BUILD"],
                        "check.c", "-o", "check"], check=True)
        subprocess.run(["./check"], check=True)


class Text(unittest.TestCase):
    SOURCE = """
    // comment
    fn f(x: f32) -> f32 { /* why */ let y = g(x) - -A; for k in 0..3 { } return y * 2.5e-3; }
    const A: f32 = 1e-6 * B;
    fn g(x: f32) -> f32 { return x / A; }
    const B: f32 = 2;
    """

    def items(self, source):
        return gen_text.split_items(gen_text.tokenize(source))

    def test_dependency_order(self):
        names, needs = gen_text.order(self.items(self.SOURCE))
        self.assertEqual(needs, {"B": [], "A": ["B"], "g": ["B", "A"], "f": ["B", "A", "g"]})
        self.assertEqual(names, ["B", "A", "g", "f"])

    def test_text_is_squeezed_and_keeps_its_tokens(self):
        _, _, tokens, _ = self.items(self.SOURCE)[0]
        text = "".join(gen_text.squeeze(tokens))
        self.assertEqual(text, "fn f(x:f32)-> f32{let y = g(x)- - A;for k in 0 .. 3{}"
                               "return y * 2.5e-3;}")
        again = gen_text.tokenize(text)
        self.assertEqual([t[1] for t in again], [t[1] for t in tokens])

    def test_refusals(self):
        for source, why in (
                ("fn f() { f(); }", "1: f calls itself"),
                ("fn f() { g(); }\nfn g() { f(); }", "1: f calls itself, directly or not"),
                ("const A: f32 = 1;\nconst A: f32 = 2;", "2: A is already declared"),
                ("fn f() {", "1: f is not closed"),
                ("fn f() { ) }", "1: unbalanced"),
                ("program p() {}", "1: expected fn or const, found program"),
                ("/* x", "1: comment without an end")):
            with self.assertRaises(gen_text.Fail) as caught:
                gen_text.order(self.items(source))
            self.assertTrue(str(caught.exception).startswith(why), str(caught.exception))

    OPS = """X(ADD, "+", CORE(FAdd, IAdd, IAdd, NA), ADD) \\
X(EXP, "exp", D1(MUL(G, Y)), MATH(Exp, PLAIN), MATH) \\
X(ERF, "erf", \\
  D1(G), MATH(NA, BOUNDED), MATH) \\
"""

    def test_rows_have_functions(self):
        names = ["exp_f32", "exp_f64", "exp_plain", "erf_f32", "erf_f64", "half_plain", "half_f32"]
        gen_text.check_rows(self.OPS, names)
        for change, why in (
                (lambda n: n.remove("erf_f64"), "erf_f64, which the library does not"),
                (lambda n: n.remove("exp_plain"), "exp_plain, which the library does not"),
                (lambda n: n.append("erf_plain"), "erf_plain is there, but")):
            others = list(names)
            change(others)
            with self.assertRaises(gen_text.Fail) as caught:
                gen_text.check_rows(self.OPS, others)
            self.assertIn(why, str(caught.exception))
        with self.assertRaises(gen_text.Fail):
            gen_text.check_rows("", names)


unittest.main()
