#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one SPIR-V compute module as it is, with the buffers that its bindings name, through the Vulkan loader alone.

  tests/raw_vulkan.py JOB.json      what tools/corpus writes: module, entry, groups, bindings (set, binding, kind, file;
                                    images: see raw_images.py), push (file); each binding's file has its contents, and
                                    afterwards what the module left

It is a process of its own: a driver may crash on a stranger's module.  No part of vkrt is used, so that what our
runtime does to a kernel cannot hide what the kernel does.
"""
import ctypes
import json
import sys

sys.dont_write_bytecode = True
import raw_images  # noqa: E402
from raw_calls import P, SIZE, U32, U64, VK, Buffer, Failure, call, make, struct  # noqa: E402

KINDS = {"uniform": (6, 0x10), "storage": (7, 0x20)}  # VkDescriptorType, VkBufferUsageFlags
FEATURES = (49, 51)  # VkStructureType of the features of Vulkan 1.1 and 1.2
LANES = ("basic", "vote", "arithmetic", "ballot", "shuffle", "relative shuffle", "clustered", "quad")
ATOMIC_FLOAT = (b"VK_EXT_shader_atomic_float", 1000260000)


class Features(ctypes.Structure):
    _fields_ = [("type", U32), ("next", P), ("has", U32 * 60)]


def chain(physical, names):
    """Everything that the device can do: VkPhysicalDeviceFeatures2 and what hangs on it."""
    whole = Features(type=1000059000)
    keep = [whole] + [Features(type=kind) for kind in FEATURES + ATOMIC_FLOAT[1:] * len(names)]
    for a, b in zip(keep, keep[1:]):
        a.next = ctypes.addressof(b)
    VK.vkGetPhysicalDeviceFeatures2(physical, ctypes.byref(whole))
    return keep


def extensions(physical):
    n = U32()
    VK.vkEnumerateDeviceExtensionProperties(physical, None, ctypes.byref(n), None)
    rows = (ctypes.c_char * 260 * n.value)()
    VK.vkEnumerateDeviceExtensionProperties(physical, None, ctypes.byref(n), rows)
    have = {bytes(row[:256]).split(b"\0")[0] for row in rows}
    return [e for e in ATOMIC_FLOAT[:1] if e in have]


def open_device():
    app = struct(U32, P, P, U32, P, U32, U32)(0, None, None, 0, None, 0, 0x403000)
    info = struct(U32, P, U32, P, U32, P, U32, P)(1, None, 0, ctypes.addressof(app), 0, None, 0, None)
    instance = P()
    call("vkCreateInstance", ctypes.byref(info), None, ctypes.byref(instance))
    n, physical = U32(1), P()
    status = VK.vkEnumeratePhysicalDevices(instance, ctypes.byref(n), ctypes.byref(physical))
    if status not in (0, 5) or not n.value:
        raise Failure("no device")
    names = extensions(physical)
    keep = chain(physical, names)
    one = ctypes.c_float(1)
    queues = struct(U32, P, U32, U32, U32, P)(2, None, 0, 0, 1, ctypes.addressof(one))
    listed = (ctypes.c_char_p * len(names))(*names)
    info = struct(U32, P, U32, U32, P, U32, P, U32, P, P)(
        3, ctypes.addressof(keep[0]), 0, 1, ctypes.addressof(queues), 0, None, len(names),
        ctypes.addressof(listed) if names else None, None)
    device, queue = P(), P()
    call("vkCreateDevice", physical, ctypes.byref(info), None, ctypes.byref(device))
    VK.vkGetDeviceQueue(device, 0, 0, ctypes.byref(queue))
    return physical, device, queue


class Bytes:
    """A uniform or storage buffer, as one descriptor."""

    def __init__(self, physical, device, b):
        with open(b["file"], "rb") as f:
            self.buffer = Buffer(physical, device, f.read(), KINDS[b["kind"]][1])
        self.type, self.file, self.count = KINDS[b["kind"]][0], b["file"], 1

    def describe(self):
        """What VkWriteDescriptorSet points to: images, buffers, views."""
        self.whole = struct(U64, U64, U64)(self.buffer.handle.value, 0, self.buffer.size)
        return None, ctypes.addressof(self.whole), None

    def begin(self, commands):
        pass

    def end(self, commands):
        pass

    def save(self):
        with open(self.file, "wb") as f:
            f.write(self.buffer.contents())


def bind(physical, device, b):
    return (Bytes if b["kind"] in KINDS else raw_images.Bound)(physical, device, b)


def layouts(device, bindings, bound):
    """A descriptor set layout for each set up to the highest."""
    out, keep = [], []
    row = struct(U32, U32, U32, U32, P)
    for s in range(max([b["set"] for b in bindings], default=-1) + 1):
        mine = [row(b["binding"], x.type, x.count, 0x20, None) for b, x in zip(bindings, bound) if b["set"] == s]
        rows = (row * max(len(mine), 1))(*mine)
        keep.append(rows)
        info = struct(U32, P, U32, U32, P)(32, None, 0, len(mine), ctypes.addressof(rows))
        out.append(make("vkCreateDescriptorSetLayout", device, info))
    return out


def most_storage_buffers(physical):
    """That one stage may have."""
    before = ctypes.c_char * 372  # apiVersion … maxPerStageDescriptorUniformBuffers
    whole = struct(U32, P, before, U32, ctypes.c_char * 4096)(1000059001)
    VK.vkGetPhysicalDeviceProperties2(physical, ctypes.byref(whole))
    return whole.f3


def supported(physical, words):
    """Of what it does not offer a device may make anything: lavapipe sums whole subgroups where a module asks for
    clusters, and takes the first lane's image where each lane chooses one."""
    lanes = struct(U32, P, U32, U32, U32, U32)(1000094000)
    whole = struct(U32, P, ctypes.c_char * 4096)(1000059001, ctypes.addressof(lanes))
    VK.vkGetPhysicalDeviceProperties2(physical, ctypes.byref(whole))
    chosen = chain(physical, ())[2].has
    at = 20
    while at + 8 <= len(words) and int.from_bytes(words[at:at + 2], "little") == 17:  # OpCapability comes first
        kind = int.from_bytes(words[at + 4:at + 8], "little")
        if 61 <= kind < 69 and not lanes.f4 >> (kind - 61) & 1:  # GroupNonUniform, …Vote, and so on, as the bits
            raise Failure("the device has no %s operations among lanes" % LANES[kind - 61])
        if 5306 <= kind < 5313 and not chosen[kind - 5306 + 13]:  # UniformBufferArrayNonUniformIndexing, …
            raise Failure("the device does not choose by lane among resources")
        at += 8


def pipeline(physical, device, job, sets):
    with open(job["module"], "rb") as f:
        words = f.read()
    supported(physical, words)
    text = ctypes.create_string_buffer(words, len(words))
    module = make("vkCreateShaderModule", device,
                  struct(U32, P, U32, SIZE, P)(16, None, 0, len(words), ctypes.addressof(text)))
    handles = (U64 * max(len(sets), 1))(*[s.value for s in sets])
    size = (job["push_size"] + 3) // 4 * 4
    push = struct(U32, U32, U32)(0x20, 0, size)
    layout = make("vkCreatePipelineLayout", device, struct(U32, P, U32, U32, P, U32, P)(
        30, None, 0, len(sets), ctypes.addressof(handles), size > 0, ctypes.addressof(push)))
    name = ctypes.create_string_buffer(job["entry"].encode())
    stage = struct(U32, P, U32, U32, U64, P, P)
    info = struct(U32, P, U32, stage, U64, U64, U32)(
        29, None, 0, stage(18, None, 0, 0x20, module.value, ctypes.addressof(name), None), layout.value, 0, 0)
    out = U64()
    call("vkCreateComputePipelines", device, U64(0), 1, ctypes.byref(info), None, ctypes.byref(out))
    return out, layout


def write_sets(device, bindings, bound, sets):
    if not bindings:
        return None
    rows = struct(U32, U32)
    sizes = (rows * 8)(*[rows(k, 256) for k in range(8)])  # samplers, images, texels, buffers
    pool = make("vkCreateDescriptorPool", device,
                struct(U32, P, U32, U32, U32, P)(33, None, 0, len(sets), 8, ctypes.addressof(sizes)))
    handles, out = (U64 * len(sets))(*[s.value for s in sets]), (U64 * len(sets))()
    info = struct(U32, P, U64, U32, P)(34, None, pool.value, len(sets), ctypes.addressof(handles))
    call("vkAllocateDescriptorSets", device, ctypes.byref(info), out)
    for b, x in zip(bindings, bound):
        info = struct(U32, P, U64, U32, U32, U32, U32, P, P, P)(
            35, None, out[b["set"]], b["binding"], 0, x.count, x.type, *x.describe())
        VK.vkUpdateDescriptorSets(device, 1, ctypes.byref(info), 0, None)
    return out


def record(device, job, run, layout, sets, count, bound):
    pool = make("vkCreateCommandPool", device, struct(U32, P, U32, U32)(39, None, 0, 0))
    commands = P()
    call("vkAllocateCommandBuffers", device, ctypes.byref(struct(U32, P, U64, U32, U32)(40, None, pool.value, 0, 1)),
         ctypes.byref(commands))
    call("vkBeginCommandBuffer", commands, ctypes.byref(struct(U32, P, U32, P)(42, None, 0, None)))
    for x in bound:
        x.begin(commands)
    VK.vkCmdBindPipeline(commands, 1, run)
    if sets:
        VK.vkCmdBindDescriptorSets(commands, 1, layout, 0, count, sets, 0, None)
    if job["push_size"]:
        with open(job["push"], "rb") as f:
            data = f.read().ljust((job["push_size"] + 3) // 4 * 4, b"\0")
        VK.vkCmdPushConstants(commands, layout, 0x20, 0, len(data), data)
    VK.vkCmdDispatch(commands, *job["groups"])
    for x in bound:
        x.end(commands)
    call("vkEndCommandBuffer", commands)
    return commands


def submit(device, queue, commands):
    """… and waits."""
    listed = P(commands.value)
    info = struct(U32, P, U32, P, P, U32, P, U32, P)(4, None, 0, None, None, 1, ctypes.addressof(listed), 0, None)
    call("vkQueueSubmit", queue, 1, ctypes.byref(info), U64(0))
    call("vkQueueWaitIdle", queue)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        job = json.load(f)
    physical, device, queue = open_device()
    bound = [bind(physical, device, b) for b in job["bindings"]]
    sets = layouts(device, job["bindings"], bound)
    run, layout = pipeline(physical, device, job, sets)
    written = write_sets(device, job["bindings"], bound, sets)
    commands = record(device, job, run, layout, written, len(sets), bound)
    submit(device, queue, commands)
    for x in bound:
        x.save()


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        sys.exit(str(e))
