#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a derivative by its manifest, in the place of the shader that it is of, through the Vulkan loader alone.

  tests/raw_plan.py JOB.json     what tests/corpus_hosted.py writes: module, manifest, groups; bindings and push of the
                                 shader, as for raw_vulkan.py; lengths of buffers, values of scalars; out: a folder, which
                                 gets the contents of each buffer that the shader does not have

The host's descriptor sets are bound as they are for the shader, its push constants too.  One set is added.
"""
import ctypes
import json
import os
import re
import struct
import sys

import raw_vulkan as raw
from raw_calls import Failure

SIZES = {"f16": 2, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f64": 8, "i64": 8, "u64": 8}
ONES = {"f16": b"\x00\x3c", "f32": struct.pack("<f", 1), "f64": struct.pack("<d", 1)}


class Values:
    """The integer expressions of a manifest."""

    def __init__(self, job, expressions):
        self.expressions = expressions
        self.names = dict(job["scalars"])
        self.names.update(("len(%s)" % n, v) for n, v in job["lengths"].items())
        self.names.update(("num_groups.%s" % "xyz"[k], v) for k, v in enumerate(job["groups"]))
        self.names.update(("group_base.%s" % axis, 0) for axis in "xyz")

    def of(self, text, names):
        """The value; `names`: what a dispatch calls them, None for what has no value here."""
        text = re.sub(r"\$\d+", lambda m: str(self.of(self.expressions[m.group()], names)), text)  # what several steps share
        rounded = re.fullmatch(r"ceil\((.*)/(\d+)\)", text)
        if rounded:
            return -(-self.of(rounded.group(1), names) // int(rounded.group(2)))
        known = {n: v for n, v in {**self.names, **names}.items() if v is not None}
        listed = "|".join(re.escape(n) for n in sorted(known, key=len, reverse=True))
        text = re.sub(r"(?<![\w.])(?:%s)(?![\w.(])" % listed, lambda m: str(known[m.group()]), text)
        if re.search(r"[^-+*/%(), \d]", re.sub(r"\b(min|max)\(", "(", text)):
            raise Failure("an expression: %s" % text)
        return int(eval(text.replace("/", "//"), {"__builtins__": {}}, {"min": min, "max": max}))  # of our own manifest


class Plan:
    def __init__(self, job):
        self.job = job
        with open(job["manifest"], encoding="utf-8") as f:
            self.m = json.load(f)
        self.values = Values(job, self.m.get("expressions", {}))
        self.physical, self.device, self.queue = raw.open_device()
        self.host = {(b["set"], b["binding"]): raw.bind(self.physical, self.device, b) for b in job["bindings"]}
        self.kernels = {k["name"]: k for k in self.m["kernels"]}
        shaders = {b["name"]: b.get("from") for k in self.m["kernels"] for b in k["bindings"] if b.get("from")}
        self.shaders, self.own = shaders, {}

    def mine(self, name):
        """A buffer that is not the shader's.  It is made when it is first used: its length may be read back before."""
        if name not in self.own:
            b = next(b for b in self.m["buffers"] if b["name"] == name)
            n = b["element_size"]
            for d in b["shape"]:
                n *= max(self.values.of(d, {}), 0)
            self.own[name] = self.buffer(bytes(n))
            self.own[name].used = n
        return self.own[name]

    def buffer(self, data):
        path = os.path.join(self.job["out"], "initial")
        with open(path, "wb") as f:
            f.write(data)
        return raw.bind(self.physical, self.device, {"file": path, "kind": "storage"})

    def kernel_bindings(self, k, arguments, names):
        """All of the host's, then the kernel's own, in one more set: (set, binding, kind, buffer)."""
        out = [(b["set"], b["binding"], b["kind"], self.host[b["set"], b["binding"]]) for b in self.job["bindings"]]
        for b in k["bindings"]:
            if b.get("from"):
                continue
            if b["set"] < 3 and b["set"] in {host["set"] for host in self.job["bindings"]}:
                raise Failure("%s binds %s in the shader's set %d" % (k["name"], b["name"], b["set"]))
            mine = self.mine(arguments[b["name"]])
            if b["clear"]:
                ctypes.memset(mine.buffer.at, 0, mine.buffer.size)
            out.append((b["set"], b["binding"], "storage", mine))
        if k["params"]["bytes"]:
            block = bytearray(k["params"]["bytes"])
            for f in k["params"]["fields"]:
                struct.pack_into("<I", block, f["offset"], max(self.values.of(f["value"], names), 0))
            where = k["params"]["in"]
            if where == "push_constants":
                raise Failure("%s takes push constants that are not the shader's" % k["name"])
            out.append((where["set"], where["binding"], "storage", self.buffer(bytes(block))))
        return out

    def dispatch(self, step):
        k = self.kernels[step["kernel"]]
        names = self.integers(step["symbols"])
        for b in k["bindings"]:
            names["len(%s)" % b["name"]] = self.values.names.get("len(%s)" % step["buffers"][b["name"]])
        job = {**self.job, "entry": k["entry"]}
        bindings = self.kernel_bindings(k, step["buffers"], names)
        groups = [self.values.of(g, names) for g in k["groups"] or []] or self.job["groups"]
        if 0 in groups:
            return
        listed = [{"set": b[0], "binding": b[1], "kind": b[2]} for b in bindings]
        job["groups"] = groups
        bound = [b[3] for b in bindings]
        most, have = raw.most_storage_buffers(self.physical), sum(b["kind"] == "storage" for b in listed)
        if have > most:
            raise Failure("%d storage buffers, the device takes %d" % (have, most))
        sets = raw.layouts(self.device, listed, bound)
        run, layout = raw.pipeline(self.physical, self.device, job, sets)
        written = raw.write_sets(self.device, listed, bound, sets)
        raw.submit(self.device, self.queue, raw.record(self.device, job, run, layout, written, len(sets), bound))

    def integers(self, symbols):
        """What a dispatch calls integers.  What is none, as a float, has no value: to use it fails, rather than to take
        the value of what the host calls so."""
        found = {}
        for name, text in symbols.items():
            try:
                found[name] = self.values.of(text, {})
            except Failure:
                found[name] = None
        return found

    def bytes_of(self, name):
        """Contents of a buffer, dense."""
        if name not in self.shaders:
            mine = self.mine(name)
            return bytearray(ctypes.string_at(mine.buffer.at, mine.used))
        source, at = self.shaders[name], self.places(name)
        memory = self.host[source["set"], source["binding"]].buffer
        data = ctypes.string_at(memory.at, memory.size)
        return bytearray(b"".join(data[a:a + s] for a, s in at))

    def places(self, name):
        """(byte, size) of each element of a buffer of the shader, in the host's binding."""
        b = next(b for b in self.m["buffers"] if b["name"] == name)
        shape, size = [self.values.of(d, {}) for d in b["shape"]], b["element_size"]
        source = self.shaders[name]
        steps = source.get("strides")
        if not steps:
            steps = [size] * len(shape)
            for k in range(len(shape) - 1, 0, -1):
                steps[k - 1] = steps[k] * shape[k]
        at = [source["offset"]]
        for n, step in zip(shape, steps):
            at = [a + k * step for a in at for k in range(n)]
        return [(a, size) for a in at]

    def step(self, s):
        if s["do"] == "dispatch":
            self.dispatch(s)
        elif s["do"] in ("fill", "copy") and "elements" not in s and s.get("to", s.get("buffer")) not in self.shaders:
            name = s.get("to", s.get("buffer"))
            b = next(b for b in self.m["buffers"] if b["name"] == name)
            one = ONES.get(b["type"], (1).to_bytes(SIZES.get(b["type"], 4), "little"))
            n = self.mine(name).used // b["element_size"]
            data = self.bytes_of(s["from"]) if s["do"] == "copy" else (one if s["value"] else bytes(len(one))) * n
            ctypes.memmove(self.own[name].buffer.at, bytes(data), len(data))
        elif s["do"] == "readback" and s["buffer"] not in self.shaders:
            at = 4 * self.values.of(s["element"], {})
            self.values.names[s["symbol"]] = struct.unpack_from("<I", self.bytes_of(s["buffer"]), at)[0]
        elif s["do"] == "check":
            if self.values.of(s["value"], {}) >= self.values.of(s["below"], {}):
                raise Failure(s["error"])
        else:
            raise Failure("a step: %s" % s["do"])

    def steps(self, steps):
        """A repeat is followed by its `count` steps, which run once or not at all."""
        while steps:
            inside = steps[0]["count"] if steps[0]["do"] == "repeat" else 0
            times = self.values.of(steps[0]["times"], {}) if inside else 0
            if times not in (0, 1):
                raise Failure("a step: repeat")
            if not inside:
                self.step(steps[0])
            elif times:
                self.steps(steps[1:1 + inside])
            steps = steps[1 + inside:]

    def run(self):
        self.steps(self.m["steps"])
        for b in self.m["buffers"]:  # one that no step touches has contents, too: zeros
            if b["role"] == "out" and b["name"] not in self.shaders:
                self.mine(b["name"])
        for k, (name, b) in enumerate(self.own.items()):
            with open(os.path.join(self.job["out"], name), "wb") as f:
                f.write(ctypes.string_at(b.buffer.at, b.used))
        for (number, binding), b in self.host.items():
            if not isinstance(b, raw.Bytes):  # what an image holds is not compared
                continue
            with open(os.path.join(self.job["out"], "host%d_%d" % (number, binding)), "wb") as f:
                f.write(b.buffer.contents())


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as f:
            Plan(json.load(f)).run()
    except Failure as e:
        sys.exit(str(e))
