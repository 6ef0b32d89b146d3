#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ONCE
"""The compiler's decisions whether stores of different invocations overlap, against the
interpreter's data races: random programs of tests/fuzz/stores.py.

A sum that is accepted, `y[i] += e` into an `out` buffer, has no race at any size; a store that is
refused (E0313) has one when the compiler cannot analyse its index: refusals without one are too
careful, not wrong; they are printed, and no more than one in a hundred.  And where the old value of
an atomic has a derivative, it is right, and so it is where several invocations store one value.
Under --deterministic results do not depend on the order
of invocations, nor do gradients; only what may depend on it is refused (E0506).  From a fresh seed
that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number of programs.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import stores  # noqa: E402

CAREFUL = "is refused (E0313), and does not race"
COMMAND = os.environ.get("VYRE_COMMAND") or os.path.join(os.environ["BUILD"], "tools", "vyre-grad")


def run(path, text, n, m, k):
    """Code of the error, "" for none; 0710 also where accesses leave the buffer and the run continues."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    sizes = [w for name, size in (("N", n), ("M", m), ("K", k)) for w in ("--set", "%s=%d" % (name, size))]
    done = subprocess.run([COMMAND, "run", path, "--engine", "eval", "--report", "-O0", "--in", "z=zeros",
                           *(["--in", "y=zeros"] if "y: inout" in text else []), *sizes], capture_output=True, text=True, check=False)
    if done.returncode and "[E" not in done.stderr:
        raise RuntimeError("%s\nexit status %d\n%s" % (text, done.returncode, done.stderr))
    outside = re.search(r"[1-9]\d* access(es)? out of range", done.stderr)
    return done.stderr.split("[E")[1][:4] if done.returncode else "0710" if outside else ""


def look(path, seed, count):
    kind, text, hidden = stores.make(seed)
    said = run(path, text, 5, 4, 3).replace("0710", "")
    count[kind, said] = count.get((kind, said), 0) + 1
    if kind == "sums" and said not in ("0304", "0313"):
        for n, m in stores.SIZES:
            for k in (1, 3):
                if run(path, text, n, m, k) == "0709":
                    return "is accepted, and races with N=%d M=%d K=%d" % (n, m, k)
    if said == "0313":
        found = {run(path, hidden, n, m, k) for n, m in stores.SIZES for k in (1, 3)}
        if not found & {"0709", "0710"}:  # an access outside of the buffer ends the run first
            return CAREFUL
    return None


def look_old(path, seed, count):
    with open(path, "w", encoding="utf-8") as f:
        f.write(stores.make_old(seed))
    done = subprocess.run([COMMAND, "grad", path], capture_output=True, text=True, check=False)
    said = done.stderr.split("[E")[1][:4] if done.returncode else ""
    count["old", said] = count.get(("old", said), 0) + 1
    for n, m in ((5, 4), (8, 3)) if not said else ():
        checked = subprocess.run([COMMAND, "check", path, "--engine", "eval", "--quiet", "--allow", "out-of-range", "--set", "N=%d" % n, "--set", "M=%d" % m,
                                  "--set", "K=3"], capture_output=True, text=True, check=False)
        if checked.returncode:
            return "N=%d M=%d: %s" % (n, m, checked.stderr[:300])
    return None


def look_rows(path, seed, count):
    with open(path, "w", encoding="utf-8") as f:
        f.write(stores.make_rows(seed))
    said = ""
    for groups in ("1", "2,2"):
        done = subprocess.run([COMMAND, "check", path, "--engine", "eval", "--quiet", "--allow", "out-of-range", "--groups", groups, "--in", "y=zeros", "--set", "n=%d" % (seed % 2)],
                              capture_output=True, text=True, check=False)
        code = re.search(r"\[E(\d+)\]", done.stderr)
        if done.returncode and not (code and code.group(1) in ("0313", "0709", "0711")):
            return "groups %s: %s" % (groups, (done.stdout + done.stderr)[:300])
        said = said or (code.group(1) if done.returncode else "")
    count["rows", said] = count.get(("rows", said), 0) + 1
    return None


def shuffled(path, order, grad):
    """Results, to the last bit, or the code of the error."""
    done = subprocess.run([COMMAND, "run", path, "--engine", "eval", "--deterministic", *grad, "--in", "x=normal:0:1:5", "--in", "z=normal:0:1:9",
                           "--set", "N=9", "--set", "M=4", "--set", "K=3", "--shuffle", str(order), "--verbose"], capture_output=True, text=True, check=False)
    if done.returncode and "[E" not in done.stderr:
        raise RuntimeError("%s: exit status %d\n%s" % (path, done.returncode, done.stderr))
    return done.stderr.split("[E")[1][:4] if done.returncode else done.stdout


def look_ordered(path, seed, count):
    text, odd = stores.make_ordered(seed)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    for grad in ((), ("--grad",)):
        first = shuffled(path, 0, grad)
        said = first if len(first) == 4 else ""
        count["ordered" + "".join(grad), said] = count.get(("ordered" + "".join(grad), said), 0) + 1
        if said and said != "0506" and not grad:
            return "--deterministic: E" + said
        if said == "0506" and not odd:
            return "is refused (E0506), and does not depend on the order"
        if said:
            return None
        if any(shuffled(path, k, grad) != first for k in (1, 2, 3)):
            return "depends on the order of invocations under --deterministic %s" % " ".join(grad)
    return None


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    number = int(os.environ.get("VYRE_COUNT") or 1000 // int(os.environ["VYRE_SHARE"]))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k stores_meet" % (seed, number))
    count, bad, careful = {}, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for at in range(seed, seed + number):
            for make, see in ((lambda: stores.make(at)[1], look), (lambda: stores.make_old(at), look_old), (lambda: stores.make_rows(at), look_rows),
                              *(((lambda: stores.make_ordered(at)[0], look_ordered),) if at % 2 == 0 else ())):
                wrong = see(os.path.join(folder, "p.vyre"), at, count)
                if wrong:
                    bad += wrong != CAREFUL
                    careful += wrong == CAREFUL
                    print("VYRE_SEED=%d: %s\n  %s" % (at, make().strip(), wrong))
    print(", ".join("%s %s: %d" % (kind, "E" + said if said else "accepted", n) for (kind, said), n in sorted(count.items())))
    few = [w for w in (("sums", ""), ("sums", "0304"), ("stores", "0313"), ("shared", "0313"), ("old", ""), ("old", "0502"), ("rows", ""), ("rows", "0313"), ("ordered", ""), ("ordered", "0506")) if count.get(w, 0) < (number // 30 if number >= 500 else 1)]
    for kind, said in few:
        print("too few %s that are %s" % (kind, said or "accepted"))
    return 1 if bad or few or careful > 1 + number // 100 else 0


if __name__ == "__main__":
    sys.exit(main())
