#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls of Vulkan by the loader alone, and memory: what tests/raw_vulkan.py and tests/raw_images.py are made of."""
import ctypes

P, U32, U64, SIZE, FLOAT = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_float


def struct(*fields):
    return type("S", (ctypes.Structure,), {"_fields_": [("f%d" % k, t) for k, t in enumerate(fields)]})


class Failure(Exception):
    pass


VK = ctypes.CDLL("libvulkan.so.1")


def call(name, *args):
    status = getattr(VK, name)(*args)
    if status:
        raise Failure("%s: %d" % (name, status))


def make(name, device, info, handle=U64):
    out = handle()
    call(name, device, ctypes.byref(info), None, ctypes.byref(out))
    return out


def memory_type(physical, bits, seen):
    """One that the host sees, whose writes need no flushing; for what it need not see, any."""
    table = (U32 * 130)()
    VK.vkGetPhysicalDeviceMemoryProperties(physical, ctypes.byref(table))
    for k in range(table[0]):
        if bits >> k & 1 and (not seen or table[1 + 2 * k] & 6 == 6):
            return k
    raise Failure("no memory that the host sees")


def allocate(physical, device, kind, handle):
    """Memory for a buffer or an image, which it is bound to, and how much."""
    needs = struct(U64, U64, U32)()
    getattr(VK, "vkGet%sMemoryRequirements" % kind)(device, handle, ctypes.byref(needs))
    info = struct(U32, P, U64, U32)(5, None, needs.f0, memory_type(physical, needs.f2, kind == "Buffer"))
    memory = make("vkAllocateMemory", device, info)
    call("vkBind%sMemory" % kind, device, handle, memory, U64(0))
    return memory, needs.f0


class Buffer:
    def __init__(self, physical, device, data, usage):
        self.size = max(len(data), 16)
        info = struct(U32, P, U32, U64, U32, U32, U32, P)(12, None, 0, self.size, usage, 0, 0, None)
        self.handle = make("vkCreateBuffer", device, info)
        memory, size = allocate(physical, device, "Buffer", self.handle)
        self.at = P()
        call("vkMapMemory", device, memory, U64(0), U64(size), 0, ctypes.byref(self.at))
        ctypes.memset(self.at, 0, self.size)
        ctypes.memmove(self.at, data, len(data))

    def contents(self):
        return ctypes.string_at(self.at, self.size)
