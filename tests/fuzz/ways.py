# SPDX-License-Identifier: MIT
"""Random programs that are run in several ways, by tests/session_run, with the same results, bit for bit."""
import json
import os
import subprocess
import tempfile

from harness import Harness

MOST_WRONG = 4  # then no more programs are made


def after(folder, text, passes, *options):
    """What `compile` makes of a program: its text after each of these passes; or what it says of an error."""
    path, texts = os.path.join(folder, "p.vyre"), []
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    for name in passes:
        done = subprocess.run([os.environ["VYRE_GRAD"], "compile", path, "-o", path + ".spv", "--dump-after", name, *options],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return [done.stderr] * len(passes)
        texts.append(done.stderr.split("\n", 1)[1])
    return texts


class Ways:
    """The child that runs them, and a folder for files."""

    def __init__(self, folder):
        self.folder = folder
        self.session = Harness([os.path.join(os.environ["BUILD"], "tests", "session_run")], folder, dict(os.environ))

    def said(self, launch, text, options):
        line, trouble = self.session.ask("p", "\n".join([*launch, *options, "--runs", "1"]) + "\n\n" + text)
        return trouble or line

    def difference(self, launches, ways):
        """The first launch whose results are not the same in all ways, with what was said, or "".  ways: (text, options)."""
        for launch in launches:
            said = [self.said(launch, text, options) for text, options in ways]
            ran = '"error"' not in said[0] and all(line[:1] == "{" for line in said)
            if not ran or any(json.loads(line) != json.loads(said[0]) for line in said):
                return "\n".join([" ".join(launch), *(line[:600] for line in said)])
        return ""


def compare(name, most, differ):
    """differ(ways, seed) says what is wrong with a program, or "".  VYRE_SEED sets the first seed, else VYRE_FRESH_SEED;
    VYRE_COUNT how many there are, else a VYRE_SHARE-th of `most`.  (How many there are, whether something is wrong.)"""
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    count = int(os.environ.get("VYRE_COUNT") or most // int(os.environ.get("VYRE_SHARE", "1")))
    print("VYRE_SEED=%d VYRE_COUNT=%d tests/run -k %s" % (seed, count, name))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        ways = Ways(folder)
        for number in range(seed, seed + count):
            found = differ(ways, number)
            if found:
                wrong += 1
                print("VYRE_SEED=%d: %s" % (number, found))
            if wrong == MOST_WRONG:
                break
        status, trouble = ways.session.close()
    print("%d wrong" % wrong)
    if status or trouble:
        print("session_run ended with status %s: %s" % (status, trouble))
    return count, bool(wrong or status or trouble)
