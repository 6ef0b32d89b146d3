#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
# ONCE
# TIMEOUT: 600
"""Random shaders in GLSL (tests/fuzz/glsl.py) are read: run by the interpreter they give what the driver makes of the
unread module, also after random passes of spirv-opt; what is written of them is bound and gives the same; their
gradients pass `check`, and the printed program has the same one, and is the same module at -O0.

VYRE_SEED and VYRE_COUNT set the first seed and how many shaders there are.  VYRE_KEEP=DIR keeps them.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import types

SRC, BUILD, VYRE = os.environ["SRC"], os.environ["BUILD"], os.environ["VYRE_GRAD"]
sys.path[:0] = [os.path.join(SRC, "tests"), os.path.join(SRC, "tests", "fuzz")]
sys.dont_write_bytecode = True
from corpus_shader import Shader, cause, run  # noqa: E402
from glsl import Glsl  # noqa: E402
from originals import Module  # noqa: E402

COUNT = int(os.environ.get("VYRE_COUNT") or max(2, 8 // int(os.environ.get("VYRE_SHARE", "1"))))
SEED = int(os.environ.get("VYRE_SEED") or os.environ.get("VYRE_FRESH_SEED") or 30000) % 10**6
LANES = (re.findall(r"subgroups of (\d+)", run([VYRE, "devices"], 60)[1]) or ["8"])[0]
# What is not wrong, by stage: push constants that are indexed at run time have no places; raw_plan.py repeats no
# steps; what goes through an integer has no derivative; and drivers crash.
EXPECTED = {"bound": ("its places cannot be kept",), "placed": ("run: a step: repeat", "E0502"),
            "grad": ("E0502",), "original": ("does not run: -", "run: vkCreateComputePipelines")}
# Not --loop-invariant-code-motion: it moves loads of variables out of loops that store them; not --remove-duplicates:
# of two blocks it makes one type, so names do not say any more which of them is given data.
PASSES = """--ccp --simplify-instructions --eliminate-dead-code-aggressive --merge-return
--inline-entry-points-exhaustive --scalar-replacement=100 --ssa-rewrite --eliminate-local-multi-store
--eliminate-local-single-block --eliminate-local-single-store --private-to-local --convert-local-access-chains
--if-conversion --redundancy-elimination --local-redundancy-elimination --loop-unroll --loop-unroll-partial=3
--loop-fission=5 --loop-fusion=20 --loop-peeling --loop-unswitch --merge-blocks
--cfg-cleanup --eliminate-dead-branches --eliminate-dead-inserts --vector-dce --reduce-load-size
--copy-propagate-arrays --combine-access-chains --strength-reduction --code-sink --freeze-spec-const
--fold-spec-const-op-composite --unify-const --eliminate-dead-const --eliminate-dead-functions --compact-ids
--graphics-robust-access --relax-float-ops --eliminate-dead-members""".split()


OP_NAME, OP_MEMBER_NAME = 5, 6
MOST_WRONG = 20
COMPARED = []  # was it, of each module


class RandomShader(Shader):
    """Whose sizes are those that it was made for.  `frozen` is launched as the original: the same shader, whose
    specialisation constants are constants, since Mesa 22.3 takes the condition of an OpSpecConstantOp Select of vectors
    to be false but for the first component."""

    def __init__(self, made, path, options, scratch, frozen):
        super().__init__(os.path.abspath(path), scratch, options, scratch)
        self.sizes, self.frozen = made.values, frozen

    def original(self):
        return self.launch(self.frozen, self.module.entries[0])

    def number(self, part, variable, r, low):
        name = part.name.rpartition(".")[2]
        if name in self.sizes:
            return self.sizes[name]
        if part.code in "iI":
            return r.randrange(4)
        return super().number(part, variable._replace(kind="storage"), r, low)


def passes(r):
    return [r.choice(PASSES) for _ in range(r.randrange(1, 9))]


def options(made):
    return types.SimpleNamespace(
        vyre=VYRE, elements=made.elements, groups=",".join(map(str, made.groups)), seconds=900, lanes=LANES, keep=False,
        sampler=[], include=[], define=[], spec=[], set=[], device=True, check=True)


def troubles(s):
    """What is wrong with what was found out about a shader."""
    COMPARED.append("equal" in s.found)
    for stage, why in s.why.items():
        if not any(words in why for words in EXPECTED.get(stage, ())):
            yield "%s: %s" % (stage, why)
    if s.found.get("difference"):
        yield s.found["difference"]


def gradient(s, path):
    """Values and gradients by the interpreter; or the code of the error."""
    with open("own.vyre", "w", encoding="utf-8") as f:
        f.write(s.own)
    argv = ["--grad", "--json", "--engine", "eval", "--subgroup-size", LANES, "--groups", s.o.groups, *s.arguments]
    status, out, error, _ = run([VYRE, "run", path, *argv], 900)
    return json.loads(out)["outputs"] if status == 0 else cause(status, error)[:5]


def printed(s):
    """Has the printed program the gradient of the module?"""
    if gradient(s, s.spv) != gradient(s, "own.vyre"):
        yield "the printed program has another gradient"


def written(path):
    """The module that is written of a shader or a text, without names; or the code of the error."""
    status, _, error, _ = run([VYRE, "compile", "-O0", path, "-o", "written.spv"], 60)
    if status:
        return cause(status, error)[:5]
    with open("written.spv", "rb") as f:
        return [words for op, words in Module(f.read()).each() if op not in (OP_NAME, OP_MEMBER_NAME)]


def same_text(s):
    """Is the text of a shader the same module?  Where it has both, shared arrays may come behind local ones, in text
    they are first."""
    if re.search(r"^    shared ", s.text, re.M) and re.search(r"^ +local \w+:", s.text, re.M):
        return
    with open("text.vyre", "w", encoding="utf-8") as f:
        f.write(s.text)
    if written(s.spv) != written("text.vyre"):
        yield "its text is another module"


def frozen(made):
    """The path of the module without specialisation constants."""
    with open("frozen.comp", "w", encoding="utf-8") as f:
        f.write(re.sub(r"layout\(constant_id = \d+\) const", "const", made.text))
    subprocess.run(["glslangValidator", "-V", "--quiet", "--target-env", "vulkan1.2", "-S", "comp", "frozen.comp", "-o",
                    "frozen.spv"], check=True)
    return os.path.abspath("frozen.spv")


def passed(taken, spv, to):
    """What the passes make of the module; None: nothing that is valid."""
    done = subprocess.run(["spirv-opt", *taken, spv, "-o", to], capture_output=True, check=False)
    valid = ["spirv-val", "--target-env", "vulkan1.2", "--scalar-block-layout", to]
    if done.returncode or subprocess.run(valid, capture_output=True, check=False).returncode:
        return None
    return os.path.abspath(to)


def optimised(made, s, r):
    """The module after random passes, as it is and as it is read."""
    taken = passes(r)
    spv, launched = passed(taken, s.spv, "o.spv"), passed(taken, s.frozen, "frozen_o.spv")
    if not spv or not launched:
        return
    o = options(made)
    o.check = False
    for trouble in troubles(RandomShader(made, spv, o, os.getcwd(), launched).go()):
        yield "after spirv-opt %s: %s" % (" ".join(taken), trouble)


def one(seed):
    made = Glsl(seed)
    with open("x.comp", "w", encoding="utf-8") as f:
        f.write(made.text)
    s = RandomShader(made, "x.comp", options(made), os.getcwd(), frozen(made)).go()
    yield from troubles(s)
    if s.found.get("read"):
        yield from same_text(s)
    if s.found.get("derived"):
        yield from printed(s)
    if s.found.get("read") and shutil.which("spirv-opt"):
        yield from optimised(made, s, random.Random(seed))


def main():
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k random_shaders" % (SEED, COUNT))
    wrong = 0
    for seed in range(SEED, SEED + COUNT):
        if wrong > MOST_WRONG:
            break
        for trouble in one(seed):
            wrong += 1
            print("seed %d: %s" % (seed, trouble), flush=True)
            if os.environ.get("VYRE_KEEP"):
                shutil.copytree(os.getcwd(), os.path.join(os.environ["VYRE_KEEP"], str(seed)), dirs_exist_ok=True)
    print("%d shaders, %d of %d modules compared, %d wrong" % (COUNT, sum(COMPARED), len(COMPARED), wrong))
    wrong += 2 * sum(COMPARED) < len(COMPARED)
    sys.exit(bool(wrong))


main()
