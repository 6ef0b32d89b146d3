#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`vyre-grad fit --resume`: a resumed training is the uninterrupted one bit for bit; a checkpoint of
another training is refused, and the message says what differs.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
from training import check, failures, fit  # noqa: E402


def refuses(base):
    """What belongs to another training says which part differs, and how to go on."""
    with open("t.vyre", encoding="utf-8") as f:
        text = f.read()
    for other, part, fix in (
            (["--optimizer", "sgd"], "--optimizer is sgd here, adam there", "give --optimizer adam"),
            (["--lr", "0.1"], "--lr is 0.1 here, cosine:0.1:0.01:60 there", "give --lr cosine:0.1:0.01:60"),
            (["--lr", "step:0.1:0.5:9"], "--lr is step:0.1:0.5:9 here, cosine:0.1:0.01:60 there", "give --lr cosine:0.1:0.01:60"),
            (["--batch", "x,y:3:6"], "--batch is x,y:3:6 here, x,y:3:5 there", "give --batch x,y:3:5"),
            (["--batch", "x,y:2:5"], "--batch is x,y:2:5 here, x,y:3:5 there", "give --batch x,y:3:5"),
            (["--tolerance", "1e-3"], "--tolerance is 0.001 here, 0 there", "give --tolerance 0"),
            (["--deterministic"], "--deterministic is yes here, no there", "leave --deterministic out"),
            (["--accumulate", "gather"], "--accumulate is gather here, auto there", "give --accumulate auto"),
            (["--in", "x[8,2]=uniform:0:1:1"], ": rows is 8 here, 7 there", "give data for which rows is 7"),
            (["other"], "the program's text is hash ", "resume with the text that it was started with")):
        args = list(base)
        if other[0] == "--in":  # another number of rows
            args[args.index("x[7,2]=uniform:0:1:1")] = other.pop()
            other.pop()
        if other == ["other"]:  # of which the parameter has another shape
            with open("t.vyre", "w", encoding="utf-8") as f:
                f.write(text.replace("x: in f32[R, 2], y: in f32[R], w: in f32[2]", "x: in f32[R, 3], y: in f32[R], w: in f32[3]"))
            other.pop()
        wrong = fit(*args, *other, "--steps", "60", "--resume", "rows2-31.fit", status=1)["error"]
        check(wrong["code"] == "E0814" and part in wrong["text"] and fix in wrong["fix"], other, wrong)
        with open("t.vyre", "w", encoding="utf-8") as f:
            f.write(text)


def promises():
    """What is assumed is part of the training: its text states it, and the message names it."""
    with open("t.vyre", "w", encoding="utf-8") as f:
        f.write("program flat(w: in f32[L], loss: out f32[1], L: u32, N: u32, M: u32, S: u32) over(i: N, j: M) {"
                " let e = w[i * S + j] - 1.0; atomic_add(loss[0], e * e); }\n")
    base = ["-p", "flat", "--of", "loss", "--params", "w", "--engine", "eval", "--set", "N=2", "--set", "M=2", "--set", "S=3"]
    assume = ["--assume", "M <= S"]
    fit(*base, *assume, "--in", "w=1,2,3,4,5", "--steps", "4", "--checkpoint-every", "4")
    wrong = fit(*base, "--steps", "8", "--resume", "flat-4.fit", status=1)["error"]
    check('--assume is none here, "M <= S" there' in wrong["text"], wrong)
    check('give --assume "M <= S"' in wrong["fix"], wrong)
    fit(*base, *assume, "--steps", "8", "--resume", "flat-4.fit")


def first_version(data):
    """The same file as versions of the command wrote it that named no parts."""
    start = len(b"vyre-fit 2\n")
    at = start + 24
    for _ in range(2 * struct.unpack_from("<Q", data, start + 16)[0]):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
    old = b"vyre-fit 1\n" + data[start:start + 16] + data[at:-8]
    number = 0xCBF29CE484222325
    for byte in old:
        number = ((number ^ byte) * 0x100000001B3) & (1 << 64) - 1
    return old + struct.pack("<Q", number)


def resumes():
    """With batches, a schedule and the optimiser with most state."""
    base = ["-p", "rows2", "--of", "loss", "--params", "w", "--in", "x[7,2]=uniform:0:1:1", "--in",
            "y=uniform:0:1:9", "--batch", "x,y:3:5", "--lr", "cosine:0.1:0.01:60", "--engine", "eval"]
    with open("t.vyre", "w", encoding="utf-8") as f:
        f.write("program rows2(x: in f32[R, 2], y: in f32[R], w: in f32[2], loss: out f32[1],"
                " R: u32) over(i: R) { let e = x[i, 0] * w[0] + x[i, 1] * w[1] - y[i];"
                " atomic_add(loss[0], e * e); }\n")
    start = ["--in", "w=0.1,0.2"]
    whole = fit(*base, *start, "--steps", "60")
    half = fit(*base, *start, "--steps", "31", "--checkpoint-every", "31")
    check(os.path.exists("rows2-31.fit"), "checkpoint")
    rest = fit(*base, "--steps", "60", "--resume", "rows2-31.fit")
    check(rest["outputs"] == whole["outputs"], "resumed", rest["outputs"], whole["outputs"])
    check(half["losses"]["data"] + rest["losses"]["data"] == whole["losses"]["data"], "losses")
    fit(*base, *start, "--steps", "31", "--checkpoint-every", "31")
    check(os.path.exists("rows2-31-2.fit"), "a checkpoint is not overwritten")
    refuses(base)
    with open("rows2-31.fit", "rb") as f:
        data = bytearray(f.read())
    with open("first.fit", "wb") as f:
        f.write(first_version(bytes(data)))
    rest = fit(*base, "--steps", "60", "--resume", "first.fit")
    check(rest["outputs"] == whole["outputs"], "resumed from version 1", rest["outputs"], whole["outputs"])
    wrong = fit(*base, "--optimizer", "sgd", "--steps", "60", "--resume", "first.fit", status=1)
    check("optimiser, learning rates or batches differ" in wrong["error"]["text"], "version 1", wrong)
    for at in (3, 40, len(data) // 2, len(data) - 1):
        bad = data[:]
        bad[at] ^= 1
        with open("bad.fit", "wb") as f:
            f.write(bad)
        wrong = fit(*base, "--steps", "60", "--resume", "bad.fit", status=1)
        check(wrong["error"]["code"] == "E0814", "damaged at", at, wrong)


if __name__ == "__main__":
    resumes()
    promises()
    sys.exit(bool(failures))
