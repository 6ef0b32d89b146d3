# SPDX-License-Identifier: MIT
"""A child process that answers one program after another: tests/gradcheck_file --stream and the
like.

If a program ends it, or is not answered within a number of seconds of *processor* time, the answer
is what happened, and a new child goes on with the next program.  Nothing depends on the machine's
load.

LLVM's loop passes take minutes for one program in 100,000 (docs/design.md).  lavapipe compiles in a
thread of its own and runs kernels in others: a timeout spent entirely in the former is attributed
to the driver (SLOW_DRIVER).
"""
import os
import select
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")
TROUBLE = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", ": runtime error: ", "VUID-",
           "UNASSIGNED-", "SYNC-HAZARD-", "Validation Error", "Assertion")


def trouble_in(text):
    """What a sanitizer, an assertion or a validation layer said, or ""."""
    for mark in TROUBLE:
        if mark in text:
            at = text.index(mark)
            return text[max(0, at - 100):at + 600]
    return ""


SLOW_DRIVER = "the driver's compiler takes more than"


def times(pid):
    """Processor time of a process's threads, by number: (name, ticks)."""
    found = {}
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, thread), encoding="ascii", errors="replace") as f:
                head, _, rest = f.read().rpartition(")")
            words = rest.split()
            found[int(thread)] = head.partition("(")[2], int(words[11]) + int(words[12])
    except OSError:
        pass
    return found


def by_driver(pid, before, after):
    """Whether one thread, neither the program's own nor one that runs kernels, took all that time."""
    taken = {t: ticks - before.get(t, ("", 0))[1] for t, (_, ticks) in after.items()}
    most = max(taken, key=taken.get, default=pid)
    return most != pid and not after[most][0].startswith("llvmpipe") and taken[most] >= 0.9 * sum(taken.values())


class Harness:
    def __init__(self, argv, folder, env=None, seconds=200, cwd=None):
        self.argv, self.env, self.seconds, self.cwd = argv, env, seconds, cwd or folder
        self.errors = os.path.join(folder, "stderr.%d.%d" % (os.getpid(), id(self)))
        self.child, self.used, self.read, self.deaths = None, 0.0, 0, 0

    def start(self):
        with open(self.errors, "wb") as err:
            self.child = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                                          env=self.env, cwd=self.cwd)
        self.read, self.waiting = 0, b""

    def cpu(self):
        """Seconds of processor time that this child has taken."""
        try:
            with open("/proc/%d/stat" % self.child.pid, encoding="ascii", errors="replace") as f:
                words = f.read().rpartition(")")[2].split()
            return (int(words[11]) + int(words[12])) / TICKS
        except (OSError, IndexError, AttributeError):
            return 0.0

    def total(self):
        """… and all before it."""
        return self.used + (self.cpu() if self.child else 0)

    def said(self):
        """What the child has written to stderr since the last call."""
        try:
            with open(self.errors, "rb") as f:
                f.seek(self.read)
                text = f.read()
        except OSError:
            return ""
        self.read += len(text)
        return text.decode("utf-8", "replace")

    def end(self):
        if not self.child:
            return None
        self.used += self.cpu()
        self.child.kill()
        status = self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()
        self.child = None
        return status

    def close(self):
        """Lets the child exit by itself, so that a sanitizer reports leaks: (status, trouble)."""
        if not self.child:
            return 0, ""
        self.used += self.cpu()
        self.child.stdin.close()
        status = self.child.wait()
        self.child.stdout.close()
        self.child = None
        return status, trouble_in(self.said())

    def line(self):
        """A line, or None if the child ended or took too long."""
        limit, fd = self.cpu() + self.seconds, self.child.stdout.fileno()
        while b"\n" not in self.waiting:
            if select.select([fd], [], [], 5)[0]:
                more = os.read(fd, 1 << 16)
                if not more:
                    return None
                self.waiting += more
            elif self.cpu() > limit:
                return None
        line, _, self.waiting = self.waiting.partition(b"\n")
        return line.decode("utf-8", "replace")

    def ask(self, name, text):
        """(answer, trouble): one of them is empty."""
        if not self.child:
            self.start()
        data = text.encode("utf-8")
        before, threads = self.cpu(), times(self.child.pid)
        try:
            self.child.stdin.write(b"%s %d\n" % (name.encode("utf-8"), len(data)) + data)
            self.child.stdin.flush()
            line = self.line()
        except BrokenPipeError:
            line = None
        said = self.said()
        if line is not None:
            return line, trouble_in(said)
        taken, ended = self.cpu() - before, self.child.poll() is not None
        driver = by_driver(self.child.pid, threads, times(self.child.pid))
        status = self.end()
        self.deaths += 1
        if not ended and taken >= self.seconds * 0.9:
            return "", (SLOW_DRIVER + " %d s" if driver else "no answer within %d s of processor time") % self.seconds
        return "", trouble_in(said + self.said()) or "ended with status %s%s" % (status, said[-300:])
