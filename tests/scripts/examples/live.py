#!/usr/bin/env python3
# DEVICE
"""examples/live.c: an engine trains while it draws, in command buffers of its own.  Each frame is closer to what is
seen than the one before, and is what the loss says; the validation layers are silent."""
import os
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests"))
import pictures  # noqa: E402

FRAMES, STEPS, SPLATS = 3, 60, os.path.join(SRC, "examples", "splats.vyre")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "VYRE_VALIDATION": "1"}, check=False)
    if done.returncode or done.stderr:
        sys.exit("%s: status %d\n%s" % (words[0], done.returncode, done.stderr))
    return done.stdout


def pixels(path):
    return [x for row in pictures.read(path)[3] for x in row]


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b)) / len(a) / 255 ** 2


def main():
    live = os.path.join(BUILD, "examples", "live")
    if not os.path.exists(live):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run(os.environ["VYRE_GRAD"], "run", SPLATS, "-p", "sunset", "--set", "H=48", "--set", "W=48", "--out", "picture=@seen.png")
        losses = [float(line.split()[-1]) for line in run(live, SPLATS, str(FRAMES), str(STEPS)).splitlines()]
        seen = pixels("seen.png")
        apart = [distance(pixels("frame%03d.png" % k), seen) for k in range(FRAMES)]
    print("losses", losses, "frames", apart)
    if len(losses) != FRAMES or not 0.02 > losses[0] > losses[1] > losses[2] > 0:
        sys.exit("the losses are not those of a training that goes on")
    # The loss is that of before the last step, and frames have 8 bits: they agree to about that.
    for loss, error in zip(losses, apart):
        if abs(loss - error) > 0.25 * loss + 1e-4:
            sys.exit("a frame is %g from what is seen, but its loss is %g" % (error, loss))


main()
