#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
"""The reverse of a program of n operations has O(n) instructions and takes O(n) time to make.

Programs of one shape in several sizes.  The gradient's text may have so many lines for each
statement of the program and no more, at every size: a limit beyond which a transform is not made
must not be all that keeps the large sizes short.  And from a size to four times that the text may
grow fourfold, with a little slack, and the processor time to make it by no more than 14 times (with
a quadratic part it would be 16).  Of memory a statement of four operations takes no more than so many
bytes at its peak, on the way to SPIR-V.
"""
import os
import resource
import subprocess
import sys

GRAD = os.environ["VYRE_GRAD"]
IN = "x: in f32[N], y: out f32[1], N: u32"


def program(lines, params=IN, over="i: 1"):
    return "program p(%s) over(%s)\n{\n%s\n}\n" % (params, over, "\n".join(lines))


def chain(n):
    return program(["var v = x[0];"] + ["v = tanh(v) * x[%d];" % k for k in range(n)] + ["y[0] = v;"])


def ifs(n):
    return program(["var v = x[0];"] + ["if v > x[%d] { v = sin(v); } else { v = v * x[%d]; }" % (k + 1, k)
                                        for k in range(n)] + ["y[0] = v;"])


def loops(n):
    return program(["var v = x[0];"] + ["for k in 0..N { v = sin(v) * x[k]; }"] * n + ["y[0] = v;"])


def carried(n):
    return program(["var v%d = x[%d];" % (k, k) for k in range(n)] + ["for k in 0..N {"]
                   + ["v%d = sin(v%d) * v%d;" % (k, k, (k + 1) % n) for k in range(n)] + ["}", "y[0] = v0;"])


def rotated(n):
    return program(["var v%d = x[%d];" % (k, k) for k in range(n)] + ["for k in 0..N {", "let t = v0 * x[k];"]
                   + ["v%d = v%d;" % (k, k + 1) for k in range(n - 1)]
                   + ["v%d = t;" % (n - 1), "}", "y[0] = v0 > 0 ? v0 : v1;"])


def breaks(n):
    return program(["var v = x[0];", "for k in 0..N {"]
                   + ["if v > %d { break; } v = v * x[k];" % (k + 2) for k in range(n)] + ["}", "y[0] = v;"])


def returns(n):
    return program(["var v = x[i];"] + ["if v > %d { y[i] = v * v; return; } v = v * x[%d];" % (k + 2, k)
                                        for k in range(n)] + ["y[i] = v;"],
                   "x: in f32[N], y: out f32[N], N: u32", "i: N")


def buffers(n):
    params = "".join("x%d: in f32[N], y%d: out f32[N], " % (k, k) for k in range(n)) + "N: u32"
    return program(["y%d[i] = sin(x%d[i]) * x%d[i];" % (k, k, (k + 1) % n) for k in range(n)], params, "i: N")


def arrays(n):
    return program(["local a%d: f32[4]; for k in 0..N { a%d[k %% 4] = a%d[(k + 1) %% 4] * x[k] + %s; }"
                    % (k, k, k, "a%d[k %% 4]" % (k - 1) if k else "1") for k in range(n)]
                   + ["y[0] = a%d[N %% 4];" % (n - 1)])


def overwritten(n):
    return program(["y[%d] = sqrt(x[%d]); if x[%d] < 0 { y[%d] = 0; }" % (k, k, k, k)
                    for k in range(n)], "x: in f32[N], y: out f32[N], N: u32")


def whiles(n):
    return program(["var v = x[0];"] + ["while v > %d { v = v * 0.5 * x[%d]; }" % (k, k) for k in range(n)] + ["y[0] = v;"])


def loop_of_ifs(n):
    return program(["var v = x[0];", "for k in 0..N {"]
                   + ["if v > x[%d] { v = sin(v); } else { v = v * x[%d]; }" % (k + 1, k) for k in range(n)]
                   + ["}", "y[0] = v;"])


def weights(n):
    return program(["var v = x[i];"] + ["v = tanh(v) * w[%d];" % k for k in range(n)] + ["y[i] = v;"],
                   "x: in f32[N], w: in f32[%d], y: out f32[N], N: u32" % n, "i: N")


def taps(n):
    return program(["var v = 0.0;"] + ["v = sin(v) * x[i + %d];" % k for k in range(n)] + ["y[i] = v;"],
                   "x: in f32[N + %d], y: out f32[N], N: u32" % n, "i: N")


def scattered(n):
    return program(["var v = x[i];"] + ["v = sin(v); atomic_add(y[%d], v * x[%d]);" % (k, k) for k in range(n)],
                   "x: in f32[N], y: inout f32[N], N: u32", "i: N")


def choices(n):  # of places, by conditions of their own
    return program(["if m == %du { y[i] = x[i + %d] * x[%d]; }" % (k, k % 7, k) for k in range(n)],
                   "x: in f32[N + %d], y: out f32[N], N: u32, m: u32" % n, "i: N")


# Lines for each statement at most, and the size whose time is compared with that of four times as
# many statements; 0: only lines are counted.
KINDS = ((chain, 6, 1000), (ifs, 18, 500), (loops, 10, 50), (carried, 13, 100), (rotated, 10, 100), (breaks, 22, 50),
         (returns, 29, 100), (buffers, 5, 50), (arrays, 27, 25), (overwritten, 12, 200), (whiles, 30, 0),
         (loop_of_ifs, 26, 0), (weights, 6, 0), (taps, 7, 0), (scattered, 115, 0), (choices, 19, 250))
SIZES = 100, 200, 400, 600, 1000


def processor_time():
    """Processor time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lines(make, n):
    """Lines of the gradient of n statements; it is left in g.vyre."""
    with open("p.vyre", "w", encoding="utf-8") as f:
        f.write(make(n))
    subprocess.run([GRAD, "grad", "p.vyre", "-O1", "-o", "g.vyre", "--quiet"], check=True)
    with open("g.vyre", encoding="utf-8") as f:
        return sum(1 for line in f if line.strip())


def measure(make, n, enough=0.0):
    """Lines, and the least of three times to make it, or the first that is no more than `enough`."""
    best, count = float("inf"), 0
    for _ in range(3):
        start = processor_time()
        count = lines(make, n)
        best = min(best, processor_time() - start)
        if best <= enough:
            break
    return count, best


def is_short(make, most):
    """Is the text short at every size?"""
    each = [lines(make, n) / n for n in SIZES]
    good = max(each) <= most
    print("%-12s lines for each statement: %s; at most %d%s"
          % (make.__name__, ", ".join("%.1f" % k for k in each), most, "" if good else "  <<<"))
    return good


def grows_evenly(make, n):
    """Do text and time grow no more than the program?"""
    small, quick = measure(make, n)
    most = 14 * quick + 0.05
    large, slow = measure(make, 4 * n, most)
    good = large <= 4.2 * small + 20 and slow <= most
    print("%-12s %5d: %6d lines, %6.1f ms; %5d: %6d lines, %6.1f ms%s"
          % (make.__name__, n, small, quick * 1e3, 4 * n, large, slow * 1e3, "" if good else "  <<<"))
    return good


def four(n):
    return program(["var v = x[i];", "let a = w[i];"] + ["v = sin(v) * a + v * %d.5;" % (k % 1000) for k in range(n)]
                   + ["y[i] = v;"], "x: in f32[N], w: in f32[N], y: out f32[N], N: u32", "i: N")


def peak(n):
    """The most memory that the gradient of n statements takes, in bytes."""
    with open("p.vyre", "w", encoding="utf-8") as f:
        f.write(four(n))
    made = os.posix_spawn(GRAD, [GRAD, "grad", "p.vyre", "-o", "g.spv", "--no-validate", "--quiet"], os.environ)
    status, used = os.wait4(made, 0)[1:]
    assert status == 0, "grad ended with %d" % status
    return used.ru_maxrss * 1024


def takes_little():
    each, most = (peak(80000) - peak(20000)) / 60000, 1900
    print("four         bytes for each statement: %.0f; at most %d%s" % (each, most, "" if each <= most else "  <<<"))
    return each <= most


def main():
    good = takes_little()
    for make, most, n in KINDS:
        good &= is_short(make, most)
        good &= n == 0 or grows_evenly(make, n)
    return not good


if __name__ == "__main__":
    sys.exit(main())
