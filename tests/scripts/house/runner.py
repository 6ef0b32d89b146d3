#!/usr/bin/env python3
# ONCE
"""The text-test runner itself: that it can fail, expand, compare, bless, and enforce time limits."""
import argparse
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

ROOT = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests"))
import texttest  # noqa: E402


class FakeContext:
    """Runs `echo`-like shell commands; no device unless asked."""
    root, tests, temp, bless, require_device = ROOT, os.getcwd(), os.getcwd(), False, False
    device_part, share_variants, first_variants, seed = False, 1, 1, 0

    def __init__(self, devices=""):
        self.text, self.variants_left_out = devices, 0

    def left_out(self):
        self.variants_left_out += 1

    def devices(self):
        return self.text

    def run(self, argv, timeout, **how):
        import subprocess
        done = subprocess.run(argv, capture_output=True, text=True, cwd=how["cwd"],
                              env=dict(os.environ, **how["env"]), timeout=timeout)
        return done.returncode, done.stdout, done.stderr

    def trouble(self, status, err):
        return ""


def run(text, context=None):
    with open("case.test", "w") as f:
        f.write(text)
    results = texttest.run_file(context or FakeContext(), os.path.abspath("case.test"),
                                lambda name, state, text="": (name, state, text))
    return [state for _, state, _ in results], "\n".join(text for _, _, text in results)


class Runner(unittest.TestCase):
    def test_exact_lines(self):
        self.assertEqual(run("// RUN: echo a; echo b\n// EXPECT: a\n// EXPECT: b\n")[0],
                         ["passed"])
        for other in ("// EXPECT: a\n", "// EXPECT: b\n// EXPECT: a\n", "// EMPTY:\n",
                      "// EXPECT: a\n// EXPECT: b\n// EXPECT: c\n", "// NOT: b\n",
                      "// CONTAINS: c\n", "// COUNT: 2 a\n", "// STATUS: 1\n", "// ERROR: x\n",
                      "/* EXPECT\na\n*/\n"):
            self.assertEqual(run("// RUN: echo a; echo b\n" + other)[0], ["failed"], other)

    def test_dots_stand_for_lines(self):
        for text, state in (("a|...", "passed"), ("...|d", "passed"), ("a|...|d", "passed"),
                            ("...|b|...", "passed"), ("...|a", "failed"), ("b|...", "failed")):
            lines = "".join("// EXPECT: %s\n" % line for line in text.split("|"))
            self.assertEqual(run("// RUN: printf 'a\\nb\\nc\\nd\\n'\n" + lines)[0], [state], text)

    def test_numbers(self):
        same = texttest.same
        self.assertFalse(same("x f32[2] = [1, 2]", "x f32[2] = [1, 2.0000001]", None))
        self.assertTrue(same("x f32[2] = [1, 2]", "x f32[2] = [1, 2.0000001]", (1e-6, 0)))
        self.assertFalse(same("x f32[2] = [1, 2]", "x f32[2] = [1, 2.001]", (1e-6, 0)))
        self.assertFalse(same("x f32[2] = [1, 2]", "y f32[2] = [1, 2]", (1e-6, 0)))
        self.assertFalse(same("x = [1, 2]", "x = [1, 2, 3]", (1e-6, 0)))
        self.assertTrue(same("x = [nan, -inf]", "x = [nan, -inf]", (1e-6, 0)))
        self.assertFalse(same("x = [inf]", "x = [-inf]", (1e-6, 0)))
        self.assertFalse(same("x = [1]", "x = [nan]", (1e30, 0)))
        self.assertTrue(same("x f32[1] = [1]", "x f32[1] = [1.0000001]", (0, 1)))
        self.assertFalse(same("x f64[1] = [1]", "x f64[1] = [1.0000001]", (0, 1)))
        self.assertTrue(same("x f32[1] = [1e-45]", "x f32[1] = [-1e-45]", (0, 2)))

    def test_variants(self):
        names = [name for name, _ in texttest.variants("g --engine eval,vulkan -O{0,3} x=1,2")]
        self.assertEqual(names, ["eval,0", "eval,3", "vulkan,0", "vulkan,3"])
        self.assertEqual(run("// RUN: echo {a,b}\n// EXPECT[a]: a\n// EXPECT[b]: b\n")[0],
                         ["passed", "passed"])

    def test_share_of_variants(self):
        context, line = FakeContext(), "// RUN: echo {%s}\n"
        context.share_variants = 3
        many = ",".join("v%d" % k for k in range(60))
        some = run(line % many, context)[0]
        self.assertTrue(10 < len(some) < 35, len(some))
        self.assertEqual(len(some) + context.variants_left_out, 60)
        self.assertEqual(len(run(line % many, context)[0]), len(some))  # the same ones
        self.assertEqual(len(run("// RUN: echo a\n" * 20, context)[0]), 20)

    def test_no_device_is_a_skip_with_a_reason(self):
        states, why = run("// RUN: echo --engine eval,vulkan\n// CONTAINS: engine\n")
        self.assertEqual((states, why.strip()), (["passed", "skipped"], "no Vulkan device"))
        self.assertEqual(run("// RUN: echo --engine vulkan\n", FakeContext("0: llvmpipe"))[0],
                         ["passed"])

    def test_error_on_its_line(self):
        text = ("// RUN: echo '%%s:%d:9: error: no such name [E0100]' >&2; echo 'fix: none' >&2; exit 1; : %%s\n"
                "x = y; //~ ERROR E0100 no such\n")
        self.assertEqual(run((text % 2).replace("'%s:", "%s':"))[0], ["passed"])
        self.assertEqual(run((text % 1).replace("'%s:", "%s':"))[0], ["failed"])

    def test_bad_tests_fail(self):
        for text in ("nothing\n", "// EXPECT: a\n", "// RUN: true\n// EXPCT: a\n",
                     "// RUN: true\n/* EXPECT\n", "// RUN: echo 1\n// EXPECT: 2\n// TOL: x\n",
                     "// RUN: echo 1\n// TOL: 1e-6\n", "// RUN: true && vyre-grad run x\n// TOL: 1e-6\n"):
            self.assertEqual(run(text)[0], ["failed"], text)

    def test_bless(self):
        context = FakeContext()
        context.bless = True
        self.assertEqual(run("// RUN: printf 'a\\n  b\\n'\n// EXPECT: x\n// TOL: 1\nrest\n"
                             "// RUN: echo c\n/* EXPECT\n*/\n", context)[0],
                         ["passed", "passed"])
        with open("case.test") as f:
            self.assertEqual(f.read(), "// RUN: printf 'a\\n  b\\n'\n// EXPECT: a\n// EXPECT:   b\n"
                                       "// TOL: 1\nrest\n// RUN: echo c\n/* EXPECT\nc\n*/\n")
        self.assertEqual(run("// RUN: echo c; exit 1\n// EXPECT: d\n", context)[0], ["failed"])

    def test_limits_are_in_processor_time(self):
        runner = load_runner()
        context = runner.Context(argparse.Namespace(build=os.environ["BUILD"], require_device=False, device="",
                                                   driver="", device_part=False, paths=["x"], k=[]))
        try:
            status, _, err = context.run(["/bin/sh", "-c", "while :; do :; done"], timeout=1)
            self.assertIn("processor time", context.trouble(status, err))
            status, _, err = context.run(["sleep", "1.5"], timeout=1)
            self.assertEqual((status, context.trouble(status, err)), (0, ""))
            runner.WAITS = 0.02
            status, _, err = context.run(["sleep", "1000"], timeout=1)
            self.assertIn("waits", context.trouble(status, err))
            self.assertIn("processor: ", runner.machine.describe(context.build, context.env)[0])
        finally:
            shutil.rmtree(context.temp)

    def test_a_budget_names_what_it_leaves_out(self):
        done = subprocess.run([os.path.join(ROOT, "tests", "run"), "--build", os.environ["BUILD"], "--quick",
                               "--budget", "0.001", "-j", "1", os.path.join(ROOT, "tests", "text", "parse")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"left out, because 0.001 s of processor time are used up .*text/parse/")
        self.assertRegex(done.stdout, r"\n[1-9]\d* passed, 0 failed")

    def test_what_a_check_prints_on_the_device_is_looked_at_there(self):
        context = FakeContext()
        context.on_device_now = lambda name, command, is_first: drawn[is_first]
        for directives, drawn, expected in (
                ("", {True: False, False: False}, ["a --engine eval", "b --engine eval"]),
                ("", {True: True, False: False}, ["a", "b --engine eval"]),
                ("// CONTAINS: device\n", {True: False, False: True}, ["a", "b"]),
                ("// CONTAINS: device\n", {True: False, False: False}, ["a", "b --engine eval"])):
            with open("case.vyre", "w") as f:
                f.write("// RUN: vyre-grad check -p {a,b}\n" + directives)
            (line,) = texttest.parse("case.vyre")[1]
            found = [command for _, command in texttest.share(context, "case.vyre", line)]
            self.assertEqual(["%s%s" % (c.split()[-1], " --engine eval" * ("--engine eval" in c)) for c in found],
                             expected, (directives, drawn))

    def test_script_without_mode(self):
        with open("script.py", "w") as f:
            f.write("#!/bin/true\n")
        one, = load_runner().run_script(None, os.path.abspath("script.py"), "script.py")
        self.assertEqual(one.state, "failed")
        self.assertIn("is not executable", one.text)


def load_runner():
    """tests/run as a module."""
    path = os.path.join(ROOT, "tests", "run")
    spec = importlib.util.spec_from_loader("run", importlib.machinery.SourceFileLoader("run", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


unittest.main()
