# SPDX-License-Identifier: MIT
"""Reads .png files of 8 bits a channel, grey or RGB, with nothing but zlib."""
import struct
import zlib


def _predicted(kind, left, up, corner):
    """https://www.w3.org/TR/png/#9Filters"""
    near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
               (abs(left + up - 2 * corner), 2, corner))[2]
    return (0, left, up, (left + up) // 2, near)[kind]


def read(path):
    """Width, height, channels (1 or 3), and the rows as bytes."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("%s has no signature of a PNG" % path)
    at, packed, width, height, channels = 8, b"", 0, 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
            if depth != 8 or colour not in (0, 2):
                raise ValueError("%s: %d bits of colour type %d" % (path, depth, colour))
            channels = 3 if colour == 2 else 1
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    raw, rows, wide = zlib.decompress(packed), [], channels * width
    before = bytes(wide)
    for k in range(0, len(raw), wide + 1):
        row = bytearray(raw[k + 1:k + 1 + wide])
        for i in range(wide):
            left, corner = (row[i - channels], before[i - channels]) if i >= channels else (0, 0)
            row[i] = row[i] + _predicted(raw[k], left, before[i], corner) & 255
        rows.append(bytes(row))
        before = row
    return width, height, channels, rows
