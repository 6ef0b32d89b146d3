#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# DEVICE
"""`mpirun -n K vyre-grad fit --shard x,y` against the training of one process, on random programs.

With --deterministic 1, 2 and 4 ranks give the same bits.  A rank that dies or hangs ends the others
at once or after --timeout, and the last checkpoint goes on with another number of ranks.  Only rank 0
prints and writes; wrong requests, differing files among them, are one error each.
"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
from training import DEVICE, GRAD, check, close, failures  # noqa: E402

SEED = int(os.environ.get("VYRE_FRESH_SEED", "1"))
MPIRUN = shutil.which("mpirun")
# Several ranks share two cores here, and tests may run as root.
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_mpi_yield_when_idle="1")
ENV.pop("DISPLAY", None)  # Open MPI's hardware look-up asks an X server there
EVAL = ["--engine", "eval"]
NOTHING = {"losses": {"data": []}, "outputs": {"w": {"data": []}, "b": {"data": []}},
           "ranks": {"parts": 0, "bytes_per_step": {"loss": 0, "grad_b": 0}}}  # what a failed run prints


def npy(path, values, shape):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    header = header.ljust(117) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%df" % len(values), *values))


def launch(ranks, *args, file="t.vyre", program=GRAD):
    words = [program, "fit", file] if program == GRAD else ["sh", program, file]
    if ranks:
        words = [MPIRUN, "-n", str(ranks)] + words
    return subprocess.Popen(words + list(args), env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fit(ranks, *args, status=0, **more):
    """What rank 0 prints as JSON; ranks 0: without mpirun."""
    process = launch(ranks, "--quiet", "--json", *args, **more)
    out, err = process.communicate()
    check(process.returncode == status, ranks, args, process.returncode, out, err)
    lines = [line for line in out.splitlines() if line.startswith("{")]
    check(len(lines) == 1, "one rank prints", lines)  # mpirun may print more around it
    return json.loads(lines[0]) if lines and not process.returncode else NOTHING


def refused(ranks, code, word, *args, **more):
    process = launch(ranks, *args, **more)
    _, err = process.communicate()
    ours = [line for line in err.splitlines() if "error: " in line]
    check(process.returncode != 0 and len(ours) == 1, "one error", args, err)
    check(ours and ours[0].endswith("[%s]" % code) and word in ours[0], code, word, ours)


def program(rng):
    """A training whose rows are independent: its text, its --shard, its data."""
    mean, wide, rows = rng.random() < 0.6, rng.randint(1, 4), rng.randint(7, 40)
    over, at = ("over(i: N, k: D)", "x[i, k] * w[k]") if rng.random() < 0.3 else ("over(i: N)", "sum(k in 0..D: x[i, k] * w[k])")
    # None of abs(e), whose gradients may cancel to zero but for rounding, of which Adam makes whole steps.
    term = rng.choice(("e * e", "e * e * abs(e)", "log(1.0 + e * e)", "e * e * f32(N) / (1.0 + f32(N))" if not mean else "sqrt(1.0 + e * e)"))
    if not mean:
        term = term.replace(" * f32(N) / (1.0 + f32(N))", "")
    text = ("program model(w: in f32[D], b: in f32[1], x: in f32[N, D], y: in f32[N], loss: out f32[1], N: u32, D: u32) %s\n"
            "{ let e = %s + b[0] - y[i]; atomic_add(loss[0], (%s)%s); }\n" % (over, at, term, " / f32(N)" if mean else " * 0.1"))
    values = ["x[%d,%d]=uniform:-1:1:%d" % (rows, wide, rng.randint(0, 99)), "y=normal:0:1:%d" % rng.randint(0, 99),
              "w[%d]=uniform:-1:1:3" % wide, "b=0.25"]
    args = ["--of", "loss", "--params", "w,b", "--steps", "30", "--lr", "0.01", "--optimizer", rng.choice(("sgd", "momentum", "adam"))]
    return text, "x,y" + ("" if mean else ":sum"), args + [word for v in values for word in ("--in", v)]


def write(text):
    with open("t.vyre", "w", encoding="utf-8") as f:
        f.write(text)


def same(one, many, bound, *what):
    check(close(many["losses"]["data"], one["losses"]["data"], bound), "losses", *what, one, many)
    for name in ("w", "b"):
        check(close(many["outputs"][name]["data"], one["outputs"][name]["data"], bound), name, *what, one, many)


def trains_as_one(rng):
    text, shard, args = program(rng)
    write(text)
    one = fit(0, *args, *EVAL, "--eval-type", "f64")
    for ranks in (1, 2, 3):
        engine = [] if DEVICE and ranks == 2 else EVAL + ["--eval-type", "f64"]
        same(one, fit(ranks, *args, "--shard", shard, *engine), 1e-3 if not engine else 1e-9, ranks, text, args)


def same_bits(rng):
    text, shard, args = program(rng)
    write(text)
    engine = [] if DEVICE else EVAL
    found = {}
    for ranks in (1, 2, 4):
        out = "w%d.npy" % ranks
        told = fit(ranks, *args, *engine, "--shard", shard, "--deterministic", "--out", "w=@" + out)
        if told is NOTHING:
            return
        with open(out, "rb") as f:
            found[ranks] = (f.read(), told["losses"]["data"], told["outputs"]["b"]["data"])
        each = told["ranks"]["bytes_per_step"]
        check(told["ranks"]["parts"] == 4 and each["loss"] == 4 * 4 // ranks == each["grad_b"], told["ranks"])
    check(found[1] == found[2] == found[4], "bits", text, args, found)
    one = fit(0, *args, *EVAL)
    check(close(found[1][1], one["losses"]["data"], 1e-3), found, one)


def pipelines():
    """Rows go through several programs: the network of examples/image.vyre."""
    image = os.path.join(os.environ["SRC"], "examples", "image.vyre")
    done = subprocess.run([GRAD, "run", image, "-p", "scene", *EVAL, "--set", "A=5", "--set", "B=5", "--out", "at=@at.npy", "--out",
                           "pixel=@pixel.npy"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    words = ["w1[2,4]=normal:0:3:1", "b1=normal:0:1:2", "w2[4,4]=normal:0:0.25:3", "b2=zeros", "w3[4,1]=normal:0:0.2:4", "b3=zeros"]
    args = ["--of", "loss", "--params", "w1,b1,w2,b2,w3,b3", "--in", "at=@at.npy", "--in", "pixel=@pixel.npy", "--steps", "12", "--lr",
            "0.01", *EVAL, "--eval-type", "f64"] + [word for v in words for word in ("--in", v)]
    one, many = fit(0, *args, file=image), fit(3, *args, "--shard", "at,pixel", file=image)
    check(close(one["losses"]["data"], many["losses"]["data"], 1e-9), one, many)
    for name in ("w1", "b1", "w2", "b2", "w3", "b3"):
        check(close(one["outputs"].get(name, NOTHING["losses"])["data"], many["outputs"].get(name, NOTHING["losses"])["data"], 1e-9), name)


def early():
    """Of a network of layers most gradients are final, and their sums begin, before the device is done."""
    if not DEVICE:
        return
    image = os.path.join(os.environ["SRC"], "examples", "image.vyre")
    words = ["w1[2,16]=normal:0:3:1", "b1=normal:0:1:2", "w2[16,16]=normal:0:0.25:3", "b2=zeros", "w3[16,1]=normal:0:0.2:4", "b3=zeros"]
    args = ["--of", "loss", "--params", "w1,b1,w2,b2,w3,b3", "--in", "at=@at.npy", "--in", "pixel=@pixel.npy", "--steps", "6", "--lr",
            "0.01", "--shard", "at,pixel", "--deterministic", "--parts", "2"] + [word for v in words for word in ("--in", v)]
    alone, two = fit(1, *args, file=image), fit(2, *args, file=image)
    check(alone["losses"] == two["losses"] and alone["outputs"] == two["outputs"], "bits", alone, two)
    ranks = two["ranks"]
    check(ranks["bytes"] > ranks.get("early_bytes", 0) > ranks["bytes"] / 2 and not alone["ranks"].get("early_bytes"), ranks)


# ------------------------------------------------------------------------------------------ trouble
LINE = ("program line(x: in f32[N], y: in f32[N], w: in f32[1], b: in f32[1], loss: out f32[1], N: u32) over(i: N)\n"
        "{ let e = w[0] * x[i] + b[0] - y[i]; atomic_add(loss[0], e * e / f32(N)); }\n")
DATA = ["--of", "loss", "--params", "w,b", "--in", "x=0,1,2,3,4,5,6", "--in", "w=0.5", "--in", "b=0", "--shard", "x,y"]
Y = ["--in", "y=1,3,5,8,9,11,12"]


def ranks_of(process):
    """Process numbers of the ranks that mpirun has started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
            if parent == process.pid and os.path.basename(os.readlink("/proc/%s/exe" % pid)) == "vyre-grad":
                found.append(int(pid))
        except (OSError, IndexError):
            continue
    return sorted(found)


def has_ended(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def interrupted(how, *args):
    """Sends one rank a signal once there is a checkpoint; seconds until all have ended, stderr."""
    process = launch(3, *DATA, *Y, *EVAL, "--quiet", "--steps", "100000000", "--checkpoint-every", "500", *args)
    start = time.monotonic()
    while not os.path.exists("line-500.fit") and time.monotonic() - start < 60 and process.poll() is None:
        time.sleep(0.02)
    ranks = ranks_of(process)
    check(len(ranks) == 3, "ranks", ranks)
    if len(ranks) != 3:
        process.kill()
        return 0, ""
    os.kill(ranks[1], how)
    start = time.monotonic()
    out, err = process.communicate(timeout=60)
    check(process.returncode != 0 and not out, process.returncode, out, err)
    while not all(map(has_ended, ranks)) and time.monotonic() - start < 10:
        time.sleep(0.02)
    return time.monotonic() - start, err


def survives():
    write(LINE)
    seconds, err = interrupted(signal.SIGKILL)
    check(seconds < 10 and "signal 9" in err, seconds, err)
    whole = fit(0, *(a for a in DATA if a not in ("--shard", "x,y")), *Y, *EVAL, "--steps", "800")
    rest = fit(2, *DATA, *Y, *EVAL, "--steps", "800", "--resume", "line-500.fit")
    check(close(rest["outputs"]["w"]["data"], whole["outputs"]["w"]["data"], 1e-4), rest, whole)
    check(not os.path.exists("line-500-2.fit"), "several ranks write checkpoints")
    for name in os.listdir("."):
        if name.endswith(".fit"):
            os.remove(name)
    seconds, err = interrupted(signal.SIGSTOP, "--timeout", "2")
    check(seconds < 10 and "has not answered for 2 s" in err and "E0905" in err, seconds, err)


def refuses():
    write(LINE)
    refused(2, "E0801", "z", *DATA[:-1], "x,z", *Y, *EVAL)
    refused(2, "E0801", "trained", *DATA[:-1], "x,y,w", *Y, *EVAL)
    refused(2, "E0806", "y has N rows as x has", *DATA[:-1], "x", *Y, *EVAL)
    refused(3, "E0806", "fewer than 3 parts", *(a.replace(",2,3,4,5,6", "") for a in DATA), "--in", "y=1,2", *EVAL)
    refused(0, "E0801", "--parts", *(a for a in DATA if a not in ("--shard", "x,y")), *Y, "--parts", "4")
    refused(0, "E0801", "first dimension is no scalar", *DATA, *Y, *EVAL, file="fixed.vyre")
    refused(2, "E0806", "is not the mean", *DATA[:-1], "x,y", *Y, *EVAL, file="chain.vyre")
    npy("y0.npy", [1, 3, 5, 8, 9, 11, 12], [7])
    npy("y1.npy", [1, 3, 5, 8, 9, 11, 13], [7])
    with open("own.sh", "w", encoding="utf-8") as f:
        f.write('exec %s fit "$@" --in y=@y$OMPI_COMM_WORLD_RANK.npy\n' % GRAD)
    refused(2, "E0905", "rank 1 has another y than rank 0", *DATA, *EVAL, program="own.sh")
    os.remove("y1.npy")
    refused(2, "E0901", "rank 1: cannot open y1.npy", *DATA, *EVAL, program="own.sh")


def cancels():
    """Rows whose gradients have both signs: that of all is zero, those of the parts are not."""
    with open("signs.vyre", "w", encoding="utf-8") as f:
        f.write("program signs(b: in f32[1], y: in f32[N], loss: out f32[1], N: u32) over(i: N)\n"
                "{ atomic_add(loss[0], abs(b[0] - y[i]) * 0.1 / f32(N)); }\n")
    got = fit(1, "--of", "loss", "--params", "b", "--steps", "1", "--in", "b=0", "--in", "y=1.1,1.1,-1.1,-1.1,1.1,-1.1",
              "--shard", "y", *EVAL, file="signs.vyre")
    check(close(got["losses"]["data"][:1], [0.11], 1e-6), "signs", got)


def main():
    write(LINE)
    with open("fixed.vyre", "w", encoding="utf-8") as f:
        f.write(LINE.replace("[N]", "[7]").replace(", N: u32", "").replace("f32(N)", "7.0").replace("i: N", "i: 7"))
    with open("chain.vyre", "w", encoding="utf-8") as f:
        f.write(LINE.replace("let e", "if i + 1 < N { let e").replace("x[i]", "x[i + 1]").replace("}", "} }"))
    alone = subprocess.run([GRAD, "fit", "t.vyre", *DATA, *Y, *EVAL], env=ENV, capture_output=True, text=True, check=False)
    if alone.returncode and "E0802" in alone.stderr:
        check("libopenmpi-dev" in alone.stderr, alone.stderr)
        print("skipped: this build has no MPI")
        return 1 if failures else 77
    if not MPIRUN:
        print("skipped: there is no mpirun (openmpi-bin)")
        return 77
    rng = random.Random(SEED)
    trains_as_one(rng)
    same_bits(rng)
    pipelines()
    early()
    survives()
    refuses()
    cancels()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
