#!/usr/bin/env python3
# ONCE
"""Allocations of the command and its libraries (isl, GMP, libspirv) fail, a single one or all from
one on: the result is the same, to the byte, or E0001, status 2 and no file.  Never a crash, never
another result.

Of each command's allocations a number of random ones are tried, from a fresh seed that is printed;
VYRE_SEED sets the seed, VYRE_MEMORY=N the number, 0 all of them (hours).  Not on a device: drivers
compile with LLVM, which ends the process.
"""
import os
import random
import re
import shutil
import subprocess
import sys

TIME = re.compile(rb'"time_ms": *([0-9.e+-]+|{[^}]*})')
GRAD = os.environ["VYRE_GRAD"]
POINTS = int(os.environ.get("VYRE_MEMORY", "20"))
SEED = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long left = -2, count; /* allocations that still succeed; negative: all */
static int once, spared;
/* isl does not survive failures of two allocations in isl_ctx_alloc; autodiff/core/isl_memory.c
   checks beforehand that there is memory for them */
void *isl_ctx_alloc(void)
{
    void *(*real)(void) = dlsym(RTLD_NEXT, "isl_ctx_alloc"), *made;
    spared++;
    made = real();
    spared--;
    return made;
}
static int fails(void)
{
    if (spared) return 0;
    if (left == -2) {
        left = getenv("FAIL_AT") ? atol(getenv("FAIL_AT")) : -1;
        once = getenv("FAIL_ONCE") != 0;
    }
    count++;
    if (left != 0) return left > 0 ? (left--, 0) : 0;
    if (once) left = -1;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t n) { return fails() ? 0 : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails() ? 0 : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails() ? 0 : __libc_realloc(p, n); }
__attribute__((destructor)) static void tell(void)
{
    char text[32], *path = getenv("FAIL_COUNT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd >= 0 && write(fd, text, snprintf(text, sizeof text, "%ld", count)) < 0) _exit(99);
}
"""
compiler = shutil.which("cc")
if not compiler:
    print("no C compiler")
    sys.exit(77)
with open("fail.c", "w") as f:
    f.write(SOURCE)
if subprocess.run([compiler, "-shared", "-fPIC", "-O1", "fail.c", "-o", "fail.so", "-ldl"]).returncode:
    print("malloc cannot be replaced here")
    sys.exit(77)
with open("f.vyre", "w") as f:
    f.write("fn sq(x: f32) -> f32 { return x * x; }\n"
            "program f(x: in f32[N], y: out f32[1], N: u32) over(i: N)\n"
            "{\n    let a = sum(k in 0..i: sq(x[k]));\n    if a > 1.0 { atomic_add(y[0], a); }\n}\n")
with open("conv.vyre", "w") as f:  # gathered: uses isl a lot
    f.write("program conv(x: in f32[N], w: in f32[3], y: out f32[N], N: u32) over(i: N)\n"
            "{\n    var s = 0.0;\n    for k in 0..3 { if i + k < N { s += x[i + k] * w[k]; } }\n    y[i] = s;\n}\n")
with open("pipe.vyre", "w") as f:
    f.write("program step(x: inout f32[N], N: u32) over(i: N) { x[i] = sin(x[i]) * x[i]; }\n"
            "pipeline pipe(x: inout f32[N], T: u32, N: u32) { repeat t in 0..T { step(x); } }\n")
with open("fit.vyre", "w") as f:
    f.write("program fitted(x: in f32[N], w: in f32[1], l: out f32[1], N: u32) over(i: N)\n"
            "{ atomic_add(l[0], (x[i] - w[0]) * (x[i] - w[0])); }\n")
COMMANDS = (["grad", "f.vyre", "-o", "o/"],
            ["grad", "conv.vyre"],
            ["grad", "conv.vyre", "-o", "o.json", "--deterministic"],
            ["compile", "f.vyre"],
            ["print", "f.vyre", "-o", "o.vyb"],
            ["info", "f.vyre"],
            ["explain", "conv.vyre", "--set", "N=3"],
            ["explain", "f.vyre", "--json"],
            ["explain", "pipe.vyre", "--set", "T=9", "--checkpoint", "sqrt"],
            ["check", "f.vyre", "--engine", "eval", "--set", "N=2", "--json"],
            ["run", "conv.vyre", "--engine", "eval", "--grad", "--json", "--in", "x=1,2", "--in", "w=1,2,3",
             "--out", "grad_x=@o.npy"],
            ["run", "f.vyre", "--engine", "eval", "--in", "z=1,2"],
            ["fit", "fit.vyre", "--engine", "eval", "--of", "l", "--params", "w", "--in", "x=1,2", "--in", "w=1",
             "--batch", "x:1", "--steps", "3", "--json", "--quiet", "--out", "w=@o.npy"],
            ["grad", "f.vyre", "--wtr", "x"])


def run(args, **env):
    """(status, stdout, stderr, {file: contents}), and nothing is left."""
    done = subprocess.run([GRAD, *args], env=dict(os.environ, **env), capture_output=True)
    files = {}
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith("o.") or folder != ".":
                with open(path, "rb") as f:
                    files[path] = f.read()
                os.unlink(path)
    shutil.rmtree("o", ignore_errors=True)
    return done.returncode, TIME.sub(b"", done.stdout), done.stderr, files


def wrong(args, want, point, **env):
    """What is wrong with a run whose allocation number `point` fails, or None."""
    got = run(args, LD_PRELOAD=os.path.abspath("fail.so"), FAIL_AT=str(point), **env)
    # A diagnostic needs memory too: without it the excerpt or the fix may be missing.
    if got[:2] + got[3:] == want[:2] + want[3:] and (got[2] == want[2] or b"error: " in got[2]):
        return None
    if got[0] == 2 and b"E0001" in got[2] and (not got[1] or got[1].startswith(b'{"error"')) and not got[3]:
        return None
    return "%s, allocation %d fails (%s): status %s, %r, files %s" % (
        " ".join(args), point, "alone" if env else "and all later", got[0], got[2][-300:], sorted(got[3]))


def main():
    print("VYRE_SEED=%d VYRE_MEMORY=%d tests/run -k command_memory" % (SEED, POINTS))
    bad, chance = [], random.Random(SEED)
    for args in COMMANDS:
        want = run(args)
        run(args, LD_PRELOAD=os.path.abspath("fail.so"), FAIL_COUNT="count")
        with open("count", encoding="ascii") as f:
            total = int(f.read())
        if total < 2:
            bad.append("%s allocates %d times only: is malloc replaced?" % (" ".join(args), total))
        points = range(total) if not POINTS or total <= POINTS else sorted(chance.sample(range(total), POINTS))
        for point in points:
            bad += filter(None, (wrong(args, want, point), wrong(args, want, point, FAIL_ONCE="1")))
        print("%s: %d of %d allocations" % (" ".join(args), len(points), total))
        sys.stdout.flush()
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
