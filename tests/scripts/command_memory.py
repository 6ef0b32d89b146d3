#!/usr/bin/env python3
# ONCE
"""Every allocation of the command and its libraries but isl fails once: status 2, no crash, no file."""
import os
import shutil
import subprocess
import sys

GRAD = os.environ["VYRE_GRAD"]
SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long left = -2; /* allocations that still succeed; negative: all */
/* isl and GMP end the process when memory is out (autodiff/affine.h): theirs succeed */
static struct { char *from, *to; } spared[2];
static int find(struct dl_phdr_info *i, size_t size, void *user)
{
    int k = strstr(i->dlpi_name, "libisl") ? 0 : strstr(i->dlpi_name, "libgmp") ? 1 : -1;
    for (int h = 0; k >= 0 && h < i->dlpi_phnum; h++)
        if (i->dlpi_phdr[h].p_flags & PF_X) {
            spared[k].from = (char *)i->dlpi_addr + i->dlpi_phdr[h].p_vaddr;
            spared[k].to = spared[k].from + i->dlpi_phdr[h].p_memsz;
        }
    return 0;
}
static int fails(char *caller)
{
    if (left == -2) {
        left = getenv("FAIL_AT") ? atol(getenv("FAIL_AT")) : -1;
        dl_iterate_phdr(find, 0);
    }
    for (int k = 0; k < 2; k++)
        if (caller >= spared[k].from && caller < spared[k].to) return 0;
    if (left > 0) left--;
    else if (left == 0) errno = ENOMEM;
    return left == 0;
}
void *malloc(size_t n) { return fails(__builtin_return_address(0)) ? 0 : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails(__builtin_return_address(0)) ? 0 : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails(__builtin_return_address(0)) ? 0 : __libc_realloc(p, n); }
"""
compiler = shutil.which("cc")
if not compiler:
    print("no C compiler")
    sys.exit(77)
with open("fail.c", "w") as f:
    f.write(SOURCE)
if subprocess.run([compiler, "-shared", "-fPIC", "-O1", "fail.c", "-o", "fail.so"]).returncode:
    print("malloc cannot be replaced here")
    sys.exit(77)
with open("f.vyre", "w") as f:
    f.write("fn sq(x: f32) -> f32 { return x * x; }\n"
            "program f(x: in f32[N], y: out f32[1], N: u32) over(i: N)\n"
            "{\n    let a = sum(k in 0..i: sq(x[k]));\n    if a > 1.0 { atomic_add(y[0], a); }\n}\n")
bad = []
# not validated: the C++ of SPIRV-Tools ends the process when memory is out
for args in (["grad", "f.vyre", "-o", "o/", "--no-validate"],
             ["print", "f.vyre", "-o", "o.vyb"],
             ["info", "f.vyre"],
             ["explain", "f.vyre", "--set", "N=3"],
             ["explain", "f.vyre", "--json"],
             ["check", "f.vyre", "--engine", "eval", "--set", "N=2", "--json"],
             ["run", "f.vyre", "--engine", "eval", "--grad", "--json", "--in", "x=1,2", "--ct", "y=2",
              "--out", "grad_x=@o.npy"],
             ["run", "f.vyre", "--engine", "eval", "--in", "z=1,2"],
             ["grad", "f.vyre", "--wtr", "x"]):
    def run(**env):
        return subprocess.run([GRAD, *args], env=dict(os.environ, **env), capture_output=True)
    def clean():
        shutil.rmtree("o", ignore_errors=True)
        for name in ("o.vyb", "o.npy"):
            if os.path.exists(name):
                os.unlink(name)
    want = run()
    clean()
    count = 0
    while count < 5000:
        got = run(LD_PRELOAD=os.path.abspath("fail.so"), FAIL_AT=str(count))
        if got.returncode != 2:
            break
        count += 1
        left = [n for n in os.listdir(".") if n.startswith("o.")]
        if os.path.isdir("o"):
            left += os.listdir("o")
        if got.stdout or b"error: " not in got.stderr or left:
            bad.append("%s, allocation %d: %r %r %s" % (args, count, got.stdout, got.stderr, left))
    # The last words need memory too: without it the diagnostic comes without its fix.
    if got.returncode != want.returncode or (want.returncode and b"error: " not in got.stderr):
        bad.append("%s, allocation %d: status %s, %r" % (args, count, got.returncode, got.stderr))
    clean()
print("\n".join(bad))
sys.exit(bool(bad))
