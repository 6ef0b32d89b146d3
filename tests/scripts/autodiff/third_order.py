#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Third derivatives of small random programs and pipelines, reverse and forward in all eight
orders, against dual numbers (tests/unit/autodiff/gradcheck_third.h).

From a fresh seed that is printed, until 24 seconds of processor time are used up (a share of them
under VYRE_SHARE), at most 250 of each kind; VYRE_SEED and VYRE_COUNT override.  A program that fails
is printed reduced.
"""
import collections
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fuzz"))
sys.dont_write_bytecode = True
import oracle  # noqa: E402
import pipelines  # noqa: E402
from programs import make  # noqa: E402
from shrink import shrink  # noqa: E402

SMALL = {"program": 1000, "pipeline": 4000}  # characters of a text that is tried
REQUESTS = (("z", "x"), ("l", "k,w"), ("y,w", "x,p"), ("z", "w"), ("l", "x"), ("y,w", "k,w"))


def program_text(p, seed):
    return "// only: third\n" + p.text(double=True, seed=seed % 2 ** 31, launch=1)


def pipeline_text(seed):
    """None: the pipeline to differentiate is not the last one."""
    text = pipelines.make(seed)
    of, wrt = REQUESTS[seed % len(REQUESTS)]
    head = "// only: third\n// program: f\n// set: N=3 T=2 sc=0.6\n// seed: %d\n// of: %s\n// wrt: %s\n// tolerance: 1e-5\n"
    return head % (seed % 2 ** 31, of, wrt) + text if text.rfind("pipeline f(") == text.rfind("pipeline ") else None


def reduced(bench, p, seed, verdict):
    def kind(v):
        return v and (v[0], v[1].partition(":")[0])
    small = shrink(p, lambda q: kind(bench.ask("shrink", program_text(q, seed), False)) == kind(verdict), 20, bench.used)
    return program_text(small, seed)


def main():
    seed = int(os.environ.get("VYRE_SEED") or os.environ["VYRE_FRESH_SEED"])
    most = int(os.environ.get("VYRE_COUNT") or 250)
    seconds = 1e9 if os.environ.get("VYRE_COUNT") else 24 / int(os.environ.get("VYRE_SHARE", "1"))
    print("VYRE_SEED=%d VYRE_COUNT=%d" % (seed, most))
    words, tried, bad = collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        bench = oracle.Bench(os.environ["BUILD"], folder)
        while min(tried["program"], tried["pipeline"]) < most and (
                bench.used() < seconds or sum(tried.values()) < 24):
            for kind in SMALL:
                p = make(seed) if kind == "program" else None
                text = program_text(p, seed) if p else pipeline_text(seed)
                if not text or len(text) > SMALL[kind]:
                    continue
                verdict = bench.ask("%s%d" % (kind, seed), text)
                tried[kind] += 1
                words[verdict[0] if verdict else "right"] += 1
                if verdict and verdict[0] not in ("refused", "invalid"):
                    print("seed %d, %s: %s" % (seed, kind, " ".join(verdict)))
                    print(reduced(bench, p, seed, verdict) if p else text)
                    bad += 1
            seed += 1
        print(dict(tried), dict(words), "%d third derivatives" % bench.counts["third"])
        enough = bench.counts["third"] > sum(tried.values())
    return 1 if bad or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
