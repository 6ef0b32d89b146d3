#!/usr/bin/env python3
"""What the command does on a terminal: a progress line after a second, colours; neither elsewhere."""
import os
import pty
import select
import subprocess
import sys
import time

GRAD = os.environ["VYRE_GRAD"]
bad = []
with open("slow.vyre", "w") as f:  # hours of work
    f.write("program slow(y: out f32[1], T: u32) over(i: 1)\n{\n    var a = 0.0;\n"
            "    for t in 0..T { a = sin(a) + 1.0; }\n    y[i] = a;\n}\n")
slow = [GRAD, "run", "slow.vyre", "--engine", "eval", "--set", "T=4000000000"]


def on_terminal(args, enough, seconds=1200, **env):
    """What appears on a terminal until `enough` does or the command ends."""
    try:
        master, slave = pty.openpty()
    except OSError as why:
        print("no terminal can be made here (is /dev/pts mounted?): %s" % why)
        sys.exit(77)
    env = {k: v for k, v in {**os.environ, "TERM": "xterm", **env}.items() if v is not None}
    process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, env=env)
    os.close(slave)
    seen, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and enough not in seen:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            part = os.read(master, 4096)
        except OSError:  # the other side is closed
            break
        seen += part
    process.kill()
    process.wait()
    os.close(master)
    return seen


seen = on_terminal(slow, b" s\x1b")
if "interpreting … ".encode() not in seen:
    bad.append("no progress line: %r" % seen)
seen = on_terminal(slow + ["--quiet"], b"interpreting", seconds=2.5)
if seen:
    bad.append("--quiet: %r" % seen)
process = subprocess.Popen(slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
time.sleep(2.5)
process.kill()
out, err = process.communicate()
if out or err:
    bad.append("progress without a terminal: %r %r" % (out, err))

red = b"\x1b[1;31merror"
wrong = [GRAD, "print", "absent.vyre"]
for name, args, colored, env in (("auto", wrong, True, {"NO_COLOR": None}),
                                 ("NO_COLOR", wrong, False, {"NO_COLOR": "1"}),
                                 ("dumb", wrong, False, {"TERM": "dumb", "NO_COLOR": None}),
                                 ("never", wrong + ["--color", "never"], False, {}),
                                 ("always", wrong + ["--color", "always"], True, {"NO_COLOR": "1"})):
    seen = on_terminal(args, b"no such thing", **env)
    if (red in seen) != colored or b"E0901" not in seen:
        bad.append("%s: %r" % (name, seen))
for how, colored in (("auto", False), ("always", True), ("never", False)):
    err = subprocess.run(wrong + ["--color", how], capture_output=True).stderr
    if (b"\x1b" in err) != colored:
        bad.append("--color %s without a terminal: %r" % (how, err))
print("\n".join(bad))
sys.exit(bool(bad))
