#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Texts of derivatives combine: a source with its gradient, its tangents, its gradient by one input
and its second gradient, concatenated in a random order, compute what each of them computes alone;
and what is printed of it is printed the same again.

Sources: those below, whose derivatives contain programs of all kinds (the source's own, counted
loops, winners of maxima, custom rules), and random pipelines (tests/fuzz/pipelines.py).  From a
fresh seed that is printed; VYRE_SEED sets the seed, VYRE_COUNT the number of random pipelines.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import pipelines  # noqa: E402

COMMAND = os.environ.get("VYRE_COMMAND") or os.path.join(os.environ["BUILD"], "tools", "vyre-grad")
SIZES = {"N": 3, "T": 2}
SCALARS = {"sc": 0.6}

NET = """
program scale(x: in f32[N], w: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * w[i] * w[i]; }
program total(y: in f32[N], loss: out f32[1], N: u32) over(i: N) { atomic_add(loss[0], y[i] * sin(y[i])); }
pipeline f(x: in f32[N], w: in f32[N], loss: out f32[1], N: u32) { buffer y: f32[N]; scale(x, w, y); total(y, loss); }
"""
SOLVE = """
program step(x: in f32[N], a: in f32[1], u: inout f32[N], N: u32) over(i: N) {
    u[i] = 1.0 + u[i] * (1.0 + a[0] * a[0]) + sin(x[i] * u[i]);
}
program norm(u: in f32[N], n: out f32[1], N: u32) over(i: N) { atomic_add(n[0], u[i] * u[i]); }
pipeline f(x: in f32[N], a: in f32[1], loss: out f32[1], N: u32) {
    @init(x) buffer u: f32[N];
    buffer n: f32[1];
    norm(u, n);
    while value(n[0]) < 20.0 { step(x, a, u); norm(u, n); }
    repeat t in 0..3 checkpoint(revolve, 2) { step(x, a, u); }
    norm(u, loss);
}
"""
RULES = """
@vjp(clip_back) fn clip(x: f32) -> f32 { return x; }
fn clip_back(x: f32, ct: f32) -> f32 { return clamp(ct, -1.0, 1.0); }
program p(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = clip(x[i] * x[i]); }
@vjp(square_back)
program square(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }
program square_back(x: in f32[N], grad_y: in f32[N], grad_x: out f32[N], N: u32) over(i: N) {
    grad_x[i] = 2.0 * x[i] * grad_y[i];
}
pipeline f(x: in f32[N], y: out f32[N], N: u32) { buffer h: f32[N]; p(x, h); square(h, y); }
"""
LENGTHS = """
program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) {
    var v = x[i];
    while v * v < 40.0 { v = v * 1.7 + sin(v) + 0.5; }
    y[i] = v;
}
"""
MOST = """
program f(x: in f32[N], w: in f32[N], best: out f32[1], N: u32) over(i: N) { atomic_max(best[0], x[i] * w[i]); }
"""


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=300)


def given(text, name):
    """Data of all buffers that `name` reads, by their declarations, and its scalars."""
    head = re.search(r"^(?:@\w+\([^)]*\)\s*)*(?:pipeline|program) %s\(([^)]*(?:\([^)]*\)[^)]*)*?)\)\s*(?:over|workgroup|\{)" % name, text, re.M)
    result = []
    for k, (buffer, access) in enumerate(re.findall(r"(\w+): (in|inout) f32\[", head.group(1))):
        shape = re.search(r"\b%s: (?:in|inout) f32\[([^\]]*)\]" % buffer, head.group(1)).group(1)
        shape = ",".join(str(eval(d, {}, SIZES)) for d in shape.split(","))  # pylint: disable=eval-used
        result += ["--in", "%s[%s]=uniform:0.2:1.5:%d" % (buffer, shape, k + 1)]
    for scalar in re.findall(r"(\w+): (?:f32|u32)(?![\[\w])", head.group(1)):
        result += ["--set", "%s=%s" % (scalar, SCALARS.get(scalar, SIZES.get(scalar)))]
    return result


def derive(source, path):
    """What each text is, its entry, and what to do with it: (path, entry, arguments of run)."""
    with open(source, encoding="utf-8") as f:
        text = f.read()
    first = re.search(r"^p\w+ f\((\w+):", text, re.M).group(1)
    parts = [(source, "f", ["--grad", "--engine", "eval", *given(text, "f")])]
    for name, verb in (("f_grad", ["grad"]), ("f_jvp", ["jvp"]), ("by_" + first, ["grad", "--wrt", first, "--name", "by_" + first]),
                       ("f_grad_grad", ["grad", "--order", "2"])):
        done = run(verb[0], source, "-p", "f", *verb[1:])
        if done.returncode:
            if "[E0502]" not in done.stderr:
                raise RuntimeError(done.stderr)
            continue
        out = os.path.join(path, name + ".vyre")
        with open(out, "w", encoding="utf-8") as f:
            f.write(done.stdout)
        parts.append((out, name, ["--engine", "eval", *given(done.stdout, name)]))
    return parts


def combined(parts, rng, path):
    order = list(parts) + [rng.choice(parts[1:])] * (len(parts) > 1)  # one of them twice
    rng.shuffle(order)
    with open(path, "w", encoding="utf-8") as out:
        for part in order:
            with open(part[0], encoding="utf-8") as f:
                out.write(f.read())
    return [part[1] for part in order]


def compare(parts, path, order):
    once = run("print", path)
    if once.returncode:
        return "%s: %s" % (order, once.stderr)
    again = subprocess.run([COMMAND, "print", "-"], input=once.stdout, capture_output=True, text=True, check=False)
    if again.stdout != once.stdout:
        return "%s: printed twice it is another text" % order
    for source, entry, arguments in parts:
        alone, together = run("run", source, "-p", entry, *arguments), run("run", path, "-p", entry, *arguments)
        if (alone.returncode, alone.stdout) != (together.returncode, together.stdout) or alone.returncode:
            return "%s: `%s` alone %s%s, in the combination %s%s" % (
                order, entry, alone.stdout, alone.stderr, together.stdout, together.stderr)
    return None


def printed_and(parts, source, path, rng, folder):
    """The combination as it is printed, whose programs have other names now, beside one more text."""
    other = os.path.join(folder, "other.vyre")
    if run("grad", source, "-p", "f", "--name", "other", "-o", other).returncode:
        return None
    texts = [run("print", path).stdout, run("print", other).stdout]
    rng.shuffle(texts)
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(texts))
    entry = (other, "other", ["--engine", "eval", *given("\n".join(texts), "other")])
    return compare([*parts, entry], path, "printed and `other`")


def check(text, seed, folder, counts):
    source, path = os.path.join(folder, "f.vyre"), os.path.join(folder, "all.vyre")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    probe = run("run", source, "-p", "f", "--engine", "eval", *given(text, "f"))
    if probe.returncode:  # the generator's own: slices that overlap
        counts["overlapping"] += 1
        return None
    parts, rng = derive(source, folder), random.Random(seed)
    for _ in range(2):
        why = compare(parts, path, combined(parts, rng, path)) or printed_and(parts, source, path, rng, folder)
        if why:
            return why
    counts[len(parts)] = counts.get(len(parts), 0) + 1
    return None


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or 16 // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d" % (seed, count))
    counts, bad = {"overlapping": 0}, 0
    sources = [("NET", NET), ("SOLVE", SOLVE), ("RULES", RULES), ("LENGTHS", LENGTHS), ("MOST", MOST)]
    sources += [("pipelines.py %d" % k, pipelines.make(k)) for k in range(seed, seed + count)]
    for k, (what, text) in enumerate(sources):
        with tempfile.TemporaryDirectory() as folder:
            why = check(text, seed + k, folder, counts)
        if why:
            print("%s: %s" % (what, why[-3000:]))
            bad += 1
    print(counts)
    return 1 if bad or counts.get(5, 0) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
