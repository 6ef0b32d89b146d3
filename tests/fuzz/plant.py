#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the fuzzer notice wrong rules?  Plants them one by one and prints how many programs it took.

  plant.py --build DIR [--count N] [--seed S] [-k WORD] [--units | --directed | --rounds | --command]

The faults are in plants/, by what notices them.  Each is a copy of one source file with a small change, linked ahead of DIR's libraries into a
gradcheck_file, a vyre-grad or a unit test of its own.  Exit 1 if one goes unnoticed or its text is
no longer found.
"""
import argparse
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import directed  # noqa: E402
import generate  # noqa: E402
import oracle  # noqa: E402
import rounds  # noqa: E402
import several  # noqa: E402
import strides  # noqa: E402
from plants import command, gradients, language, memory, passes, pipelines, shaders, sums, units  # noqa: E402
from plants.random_programs import PLANTS, ROUNDS, SEVERAL, STRIDES  # noqa: E402

GROUPS = tuple(group for part in (gradients, memory, pipelines, passes, language, shaders, command) for group in part.GROUPS)
OF_SCRIPT = {plant: test for test, plants in GROUPS for plant in plants}  # or of a text test
OF_UNIT = {plant: name for name, plants in units.UNITS.items() for plant in plants}
MADE = {plant: made for made, plants in ((several.make, SEVERAL), (rounds.make, ROUNDS), (strides.make, STRIDES)) for plant in plants}
ALL = PLANTS + SEVERAL + sums.DIRECTED + tuple(OF_SCRIPT) + ROUNDS + STRIDES + tuple(OF_UNIT)

ALSO = {"tiles_filled.py": ("tests/session_run",), "first_indices.py": ("tests/session_run",), "check_ahead.py": ("tests/session_run",), "jam_loops.py": ("tests/session_run",), "vectors_printed.py": ("tests/derive_text",)}  # what scripts run besides the command
MODULES = {"tools/data/npz_zip.c": "tools/vyre-npz.so"}  # which the command loads from beside it
GRADCHECK = ("third_order.py",)  # run gradcheck_file with the fault in it
COUNTS = {"check_ahead.py": 80, "jam_loops.py": 300, "stores_meet.py": 3000, "special_values.py": 28, "first_indices.py": 30, "shader_round_trip.py": 24}  # how many programs a script makes; others make 150


def planted(plant):
    """The changed file's text with the fault in it; None: the text to replace is not in the file."""
    changed, _, old, new = plant
    with open(os.path.join(ROOT, changed), encoding="utf-8") as f:
        text = f.read()
    return text.replace(old, new, 1) if old in text else None


def defined(changed, o):
    """What the build defines for that file."""
    with open(os.path.join(o.build, "compile_commands.json"), encoding="utf-8") as f:
        made = next((c for c in json.load(f) if os.path.realpath(os.path.join(c["directory"], c["file"])) == os.path.join(ROOT, changed)), None)
    return [word for word in shlex.split(made["command"]) if word.startswith("-D")] if made else []


def link(folder, plant, o, target):
    """Path of a wrong TARGET, or None with a reason: linked as ninja does, the changed file first."""
    changed, text = plant[0], planted(plant)
    if text is None:
        return None, "its text is not found"
    source, wrong = os.path.join(folder, os.path.basename(changed)), os.path.join(folder, "wrong.o")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    out = os.path.join(folder, target)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    lines = subprocess.run(["ninja", "-C", o.build, "-t", "commands", target], capture_output=True, text=True)
    line = (lines.stdout.splitlines() or [""])[-1].replace("-o %s " % target, "-o %s %s " % (out, wrong), 1)
    line = line.replace(" tools/vyre-grad.p/%s.o " % changed[6:].replace("/", "_"), " ")  # of the command itself: in no library
    line = line.replace(" %s.p/%s.o " % (target, changed[6:].replace("/", "_")), " ")
    for command in (["cc", "-std=gnu11", "-O1", "-fPIC", "-w", "-c", source, "-o", wrong, "-I" + ROOT, "-I" + o.build,
                     "-I" + os.path.join(ROOT, os.path.dirname(changed)), *defined(changed, o)], ["sh", "-c", line]):
        done = subprocess.run(command, cwd=o.build, capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr[:500]
    return (out, "") if os.path.exists(out) else (None, "%s has no %s" % (o.build, target))


def link_command(folder, plant, o):
    """… of vyre-grad, and what else its script runs."""
    for target in ALSO.get(OF_SCRIPT[plant], ()):
        path, why = link(folder, plant, o, target)
        if not path:
            return path, why
    path, why = link(folder, plant, o, MODULES.get(plant[0], "tools/vyre-grad"))
    for name in ("vyre-grad", *(os.path.basename(m) for m in glob.glob(os.path.join(o.build, "tools", "vyre-*.so")))):
        if path and not os.path.exists(os.path.join(folder, "tools", name)):
            shutil.copy(os.path.join(o.build, "tools", name), os.path.join(folder, "tools", name))
    return path, why


def script_path(name):
    """Where the script of that name lies; names are unique."""
    return glob.glob(os.path.join(ROOT, "tests", "scripts", "*", name))[0]


def noticed_by_script(folder, plant, o):
    """The first message of its script, or of its text test; None: it passes."""
    script = OF_SCRIPT[plant]
    os.symlink(os.path.join(o.build, "meson-info"), os.path.join(folder, "meson-info"))
    if script.startswith("text/"):
        done = subprocess.run([os.path.join(ROOT, "tests", "run"), "--build", folder, os.path.join(ROOT, "tests", script)],
                              capture_output=True, text=True)
        return done.stdout.splitlines()[-1] if done.returncode else None
    command = os.path.join(o.build if script in GRADCHECK else folder, "tools", "vyre-grad")
    done = subprocess.run([sys.executable, script_path(script)], capture_output=True, text=True, cwd=folder,
                          env=dict(os.environ, SRC=ROOT, BUILD=folder, VYRE_GRAD=command,
                                   VYRE_SEED="1", VYRE_FRESH_SEED="1", VYRE_SHARE="3",
                                   VYRE_COUNT=str(COUNTS.get(script, 150))))
    if "Traceback (most recent call last)" in done.stderr:  # which is no finding
        print("   %s broke: %s" % (script, done.stderr.splitlines()[-1]))
        return None
    lines = done.stdout.splitlines() + done.stderr.splitlines()[-1:]
    return next((line for line in lines if "<<<" in line), lines[:2][-1])[:150] if done.returncode else None


def build(folder, plant, o):
    """Path of the wrong gradcheck_file, or None with a reason."""
    changed, compiled = plant[:2]
    text = planted(plant)
    if text is None:
        return None, "its text is not found"
    os.makedirs(os.path.join(folder, os.path.dirname(changed)), exist_ok=True)
    with open(os.path.join(folder, changed), "w", encoding="utf-8") as f:
        f.write(text)  # includes are written from the top: a changed header precedes the tree's
    out = os.path.join(folder, "tests", "gradcheck_file")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    libs = subprocess.run(["pkg-config", "--libs", "SPIRV-Tools"], capture_output=True,
                          text=True).stdout
    done = subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-ffp-contract=off", "-I" + folder, "-I" + ROOT, "-I" + o.build, "-w",
         os.path.join(ROOT, "tests", "unit", "autodiff", "gradcheck_file.c"),
         os.path.join(ROOT, compiled) if compiled else os.path.join(folder, changed), os.path.join(o.build, "libvyre.a"), "-lm", "-lisl", "-lgmp", "-lcmocka"]
        + shlex.split(libs) + ["-lstdc++", "-o", out], capture_output=True, text=True)
    return (out, "") if done.returncode == 0 else (None, done.stderr[:500])


def noticed_by_test(path):
    """The first message of the unit test; None: it passes."""
    done = subprocess.run([path], capture_output=True, text=True)
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "FAILED" in line or ": error" in line]
    return (lines[0][:150] if lines else "a crash") if done.returncode else None


def fails_anyway(o, folder, program, seed):
    """Whether the program fails without the fault, too."""
    return oracle.Bench(o.build, folder).interpreter([program], [seed])[0]


def noticed(check, folder):
    """Which of directed.py's programs fails first, and how; None: all pass."""
    names = []
    for k, text in enumerate(directed.PROGRAMS):
        names.append(os.path.join(folder, "directed%02d.vyre" % k))
        with open(names[-1], "w", encoding="utf-8") as f:
            f.write(text)
    with subprocess.Popen([check, "--seeds", "1", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as run:
        for k, line in enumerate(run.stdout):
            if ": ok" not in line:
                run.kill()
                return "directed program %d: %s" % (k, line.partition(": ")[2].strip()[:90])
    return "a crash" if run.returncode else None


def noticed_by_random(check, folder, plant, o):
    """How the first random program fails that passes without the fault, and how many it took."""
    made = MADE.get(plant, generate.make)
    bench = oracle.Bench(o.build, folder)
    bench.check = check
    for seed in range(o.seed, o.seed + o.count, oracle.BATCH):
        seeds = range(seed, seed + oracle.BATCH)
        for s, verdict in zip(seeds, bench.interpreter([made(s) for s in seeds], seeds)):
            if verdict and verdict[0] not in ("refused", "invalid") and not fails_anyway(o, folder, made(s), s):
                return "%s after %d programs" % (verdict[0], s - o.seed + 1)
    return None


def look(plant, folder, o):
    """(what notices the fault or None, what to print in the latter case)"""
    if plant in OF_UNIT:
        path, why = link(folder, plant, o, "tests/unit_" + OF_UNIT[plant])
        return path and noticed_by_test(path), why or "NOT NOTICED"
    if plant in OF_SCRIPT:
        path, why = build(folder, plant, o) if OF_SCRIPT[plant] in GRADCHECK else link_command(folder, plant, o)
        return path and noticed_by_script(folder, plant, o), why or "NOT NOTICED"
    path, why = build(folder, plant, o)
    if plant in sums.DIRECTED:
        return path and noticed(path, folder), why or "NOT NOTICED"
    return path and noticed_by_random(path, folder, plant, o), why or "NOT NOTICED in %d programs" % o.count


def is_wanted(number, plant, o):
    kinds = ((o.directed, sums.DIRECTED), (o.command, OF_SCRIPT), (o.rounds, ROUNDS + STRIDES), (o.units, OF_UNIT))
    return (o.only in (0, number) and all(plant in plants for chosen, plants in kinds if chosen) and
            o.k in " ".join((*map(str, plant), OF_SCRIPT.get(plant, ""), OF_UNIT.get(plant, ""))))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD") or os.path.join(ROOT, "build"))
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, default=0, metavar="NUMBER")
    parser.add_argument("-k", default="", metavar="WORD", help="only those with it in the fault or the test's name")
    parser.add_argument("--units", action="store_true", help="only those that a unit test looks for: a minute")
    parser.add_argument("--directed", action="store_true", help="only the faults in how sums are made: minutes")
    parser.add_argument("--rounds", action="store_true", help="only those in what loops do iteration by iteration: minutes")
    parser.add_argument("--command", action="store_true", help="only those that a script looks for with the command: ten minutes")
    o = parser.parse_args()
    o.build = os.path.abspath(o.build)
    missed = 0
    wrong = None
    if o.directed or not (o.only or o.k or o.command or o.rounds or o.units):
        with tempfile.TemporaryDirectory(prefix="vyre-plant-") as folder:
            wrong = noticed(os.path.join(o.build, "tests", "gradcheck_file"), folder)
    if wrong:
        print("without a fault, too: " + wrong)
        return 1
    for n, plant in enumerate(ALL):
        if not is_wanted(n + 1, plant, o):
            continue
        what = "%2d %s: %s → %s" % (n + 1, plant[0], plant[2][:45], plant[3][:45])
        with tempfile.TemporaryDirectory(prefix="vyre-plant-") as folder:
            found, why = look(plant, folder, o)
        missed += not found
        print("%s\n   %s" % (what, found or why))
        sys.stdout.flush()
    print("%d went unnoticed" % missed)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
