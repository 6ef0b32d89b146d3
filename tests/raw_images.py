#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images and samplers for tests/raw_vulkan.py: made, filled, bound, read back.

A binding has "images", one a descriptor: {"file", "format", "code", "most", "dim", "extent", "layers"}, and "sampler":
{"linear", "wrap"} where it has one.  A file has four bytes a channel (f32, i32, u32), tightly, rows first; `code` and
`most` say what the format makes of them: 1 is `most` in one that has steps ("A": rgb10_a2).
"""
import array
import ctypes
import struct as packing

from raw_calls import FLOAT, P, U32, U64, VK, Buffer, allocate, make, struct

TYPES = {"sampler": 0, "combined": 1, "sampled": 2, "image": 3, "sampled texels": 4, "texels": 5}  # VkDescriptorType
GENERAL, ALL, COLOR = 1, 0x10000, 1  # VkImageLayout, VkPipelineStageFlagBits, VkImageAspectFlagBits
VIEWS = {(1, False): 0, (2, False): 1, (3, False): 2, (1, True): 4, (2, True): 5}  # VkImageViewType
WRAPS = {"repeat": 0, "mirror": 1, "clamp": 2, "border": 3}


def packed(image, data):
    """The texels of the format from four bytes a channel."""
    code, most = image["code"], image["most"]
    if code in "fiI":
        return data
    n = len(data) // 4
    if code == "A":
        x = array.array("f", data)
        return array.array("I", [sum(round(x[k + i] * (3 if i == 3 else 1023)) << 10 * i for i in range(4))
                                 for k in range(0, n, 4)]).tobytes()
    values = array.array("f" if most or code == "e" else "I" if code.isupper() else "i", data)
    return packing.pack("<%d%s" % (n, code), *[round(x * most) for x in values] if most else values)


def unpacked(image, data):
    code, most = image["code"], image["most"]
    if code in "fiI":
        return data
    if code == "A":
        return array.array("f", [(x >> 10 * i) % 1024 / (3 if i == 3 else 1023) for x in array.array("I", data)
                                 for i in range(4)]).tobytes()
    values = packing.unpack("<%d%s" % (len(data) // packing.calcsize("<" + code), code), data)
    out = [max(x / most, -1.0) for x in values] if most else values
    return array.array("f" if most or code == "e" else "I" if code.isupper() else "i", out).tobytes()


class Image:
    def __init__(self, physical, device, image):
        self.image = image
        with open(image["file"], "rb") as f:
            data = packed(image, f.read())
        self.size = len(data)
        self.extent = (*image["extent"], 1, 1)[:3]
        self.buffer = Buffer(physical, device, data, 3 | 4 | 8)  # transfers and texels
        if image["dim"]:
            self.make_image(physical, device)
        else:
            info = struct(U32, P, U32, U64, U32, U64, U64)(
                13, None, 0, self.buffer.handle.value, image["format"], 0, self.size)
            self.view = make("vkCreateBufferView", device, info)

    def make_image(self, physical, device):
        i = self.image
        info = struct(U32, P, *[U32] * 13, P, U32)(
            14, None, 0, i["dim"] - 1, i["format"], *self.extent, 1, i["layers"] or 1, 1, 0, 15, 0, 0, None, 0)
        self.handle = make("vkCreateImage", device, info)
        allocate(physical, device, "Image", self.handle)
        info = struct(U32, P, U32, U64, *[U32] * 11)(
            15, None, 0, self.handle.value, VIEWS[i["dim"], i["layers"] > 0], i["format"], 0, 0, 0, 0, *self.range())
        self.view = make("vkCreateImageView", device, info)

    def range(self):
        return COLOR, 0, 1, 0, self.image["layers"] or 1

    def barrier(self, commands, before):
        info = struct(U32, P, *[U32] * 6, U64, *[U32] * 5)(
            45, None, 0x18000, 0x18000, before, GENERAL, 2**32 - 1, 2**32 - 1, self.handle.value, *self.range())
        VK.vkCmdPipelineBarrier(commands, ALL, ALL, 0, 0, None, 0, None, 1, ctypes.byref(info))

    def copy(self):
        return struct(U64, *[U32] * 12)(0, 0, 0, COLOR, 0, 0, self.image["layers"] or 1, 0, 0, 0, *self.extent)

    def begin(self, commands):
        if self.image["dim"]:
            self.barrier(commands, 0)
            VK.vkCmdCopyBufferToImage(commands, self.buffer.handle, self.handle, GENERAL, 1, ctypes.byref(self.copy()))
            self.barrier(commands, GENERAL)

    def end(self, commands):
        if self.image["dim"]:
            self.barrier(commands, GENERAL)
            VK.vkCmdCopyImageToBuffer(commands, self.handle, GENERAL, self.buffer.handle, 1, ctypes.byref(self.copy()))

    def save(self):
        with open(self.image["file"], "wb") as f:
            f.write(unpacked(self.image, self.buffer.contents()[:self.size]))


def make_sampler(device, s):
    wrap = WRAPS[s["wrap"]]
    info = struct(U32, P, *[U32] * 7, FLOAT, U32, FLOAT, U32, U32, FLOAT, FLOAT, U32, U32)(
        31, None, 0, s["linear"], s["linear"], 0, wrap, wrap, wrap, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    return make("vkCreateSampler", device, info)


class Bound:
    """The images of one binding."""

    def __init__(self, physical, device, b):
        self.images = [Image(physical, device, i) for i in b.get("images", [])]
        self.sampler = make_sampler(device, b["sampler"]).value if b.get("sampler") else 0
        self.type, self.count = TYPES[b["kind"]], b.get("count", len(self.images))

    def describe(self):
        views = [i.view.value for i in self.images] or [0] * self.count
        self.views = (U64 * self.count)(*views)
        row = struct(U64, U64, U32)
        self.rows = (row * self.count)(*[row(self.sampler, v, GENERAL) for v in views])
        texels = self.type in (4, 5)
        return None if texels else ctypes.addressof(self.rows), None, ctypes.addressof(self.views) if texels else None

    def begin(self, commands):
        for i in self.images:
            i.begin(commands)

    def end(self, commands):
        for i in self.images:
            i.end(commands)

    def save(self):
        for i in self.images:
            i.save()
