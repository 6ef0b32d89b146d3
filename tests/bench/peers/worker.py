# SPDX-License-Identifier: MIT
"""worker.py PEER ROW RUNS FILE.npz: gradients of a row by one peer, to FILE.npz, and how long they took.

Prints one JSON object: `first` and `runs`, seconds of processor time of this process, all its threads: of the first
gradient, compiling included, and of each of RUNS more.
"""
import importlib
import json
import sys
import time

import numpy as np
import rows


def main() -> None:
    peer, row, runs, path = sys.argv[1:]
    module = importlib.import_module("peer_" + peer)
    run = module.prepare(row, rows.ROWS[row], rows.inputs_of(row))
    start = time.process_time()
    first = run()
    spent = time.process_time() - start
    times = []
    for _ in range(int(runs)):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    np.savez(path, **{name: np.asarray(value) for name, value in first().items()})
    print(json.dumps({"first": spent, "runs": times, "on": module.where()}))


main()
