#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a SPIR-V compute module binds, byte by byte, and how the program that is read from it calls the parts.

The offsets and strides of a module say where each scalar lies; docs/language.md 17 says which parameter it becomes.
So contents made here for parameters can be given to the module itself (tests/raw_vulkan.py), and what it leaves can be
compared with what the program computes.  It shares nothing with spirv/read, which it is to judge.
"""
import collections
import struct

NAMES = {(True, 16): "e", (True, 32): "f", (True, 64): "d"}
INTS = {8: "b", 16: "h", 32: "i", 64: "q"}
# Numbers of instructions and decorations that matter here.
NAME, MEMBER_NAME, ENTRY, DECORATE, MEMBER_DECORATE, VARIABLE = 5, 6, 15, 71, 72, 59
INT, FLOAT, VECTOR, MATRIX, IMAGE, ARRAY, RUNTIME, STRUCT, POINTER, CONSTANT, SPEC, FUNCTION = \
    21, 22, 23, 24, 25, 28, 29, 30, 32, 43, 50, 54
SPEC_ID, BUFFER_BLOCK, ROW_MAJOR, ARRAY_STRIDE, MATRIX_STRIDE, BINDING, SET, OFFSET = 1, 3, 4, 6, 7, 33, 34, 35
SAMPLER, SAMPLED_IMAGE = 26, 27
CONSTANT_STORAGE, UNIFORM, PUSH, STORAGE = 0, 2, 9, 12
NOT_NUMBERS = set(range(25, 28)) | {4472, 5341, 31}  # images, samplers, rays, opaque types

Part = collections.namedtuple("Part", "name code dims places")  # a field: places: [(index, byte)]
# image: of images, {"kind", "count"} and what tests/raw_images.py has to know; a variable for each of an array.
Variable = collections.namedtuple("Variable", "kind set binding size parts image", defaults=(None,))

# Of image formats (numbers of SPIR-V): channels; VkFormat; code of a channel; what 1 is in it, where it has steps.
FORMATS = {
    1: (4, 109, "f", 0), 6: (2, 103, "f", 0), 3: (1, 100, "f", 0), 2: (4, 97, "e", 0), 7: (2, 83, "e", 0),
    9: (1, 76, "e", 0), 10: (4, 91, "H", 65535), 12: (2, 77, "H", 65535), 14: (1, 70, "H", 65535), 11: (4, 64, "A", 1023), 4: (4, 37, "B", 255),
    13: (2, 16, "B", 255), 15: (1, 9, "B", 255), 16: (4, 92, "h", 32767), 17: (2, 78, "h", 32767),
    19: (1, 71, "h", 32767), 5: (4, 38, "b", 127), 18: (2, 17, "b", 127), 20: (1, 10, "b", 127),
    21: (4, 108, "i", 0), 25: (2, 102, "i", 0), 24: (1, 99, "i", 0), 22: (4, 96, "h", 0), 26: (2, 82, "h", 0),
    28: (1, 75, "h", 0), 23: (4, 42, "b", 0), 27: (2, 21, "b", 0), 29: (1, 14, "b", 0), 30: (4, 107, "I", 0),
    35: (2, 101, "I", 0), 33: (1, 98, "I", 0), 31: (4, 95, "H", 0), 36: (2, 81, "H", 0), 38: (1, 74, "H", 0),
    32: (4, 41, "B", 0), 37: (2, 20, "B", 0), 39: (1, 13, "B", 0)}
UNKNOWN = {"f": 1, "i": 21, "I": 30}  # the format that an image of none has here


class Unknown(Exception):
    """The module has what cannot be laid out here."""


class Module:
    def __init__(self, data):
        self.words = struct.unpack("<%dI" % (len(data) // 4), data[:len(data) // 4 * 4])
        if not self.words or self.words[0] != 0x07230203:
            raise Unknown("no SPIR-V of this machine's order")
        self.at, self.names, self.members, self.of, self.of_member = {}, {}, {}, {}, {}
        self.variables, self.ops, self.entries = [], collections.Counter(), []
        self.instructions = 0
        for op, w in self.each():
            self.ops[op] += 1
            self.instructions += 1
            self.take(op, w)

    def each(self):
        at = 5
        while at < len(self.words):
            n = self.words[at] >> 16
            if n == 0 or at + n > len(self.words):
                raise Unknown("malformed")
            yield self.words[at] & 0xffff, self.words[at:at + n]
            at += n

    def take(self, op, w):
        if op == NAME:
            self.names[w[1]] = text(w[2:])
        elif op == MEMBER_NAME:
            self.members[w[1], w[2]] = text(w[3:])
        elif op == ENTRY and w[1] == 5:
            self.entries.append(text(w[3:]))
        elif op == DECORATE:
            self.of[w[1], w[2]] = w[3] if len(w) > 3 else True
        elif op == MEMBER_DECORATE:
            self.of_member[w[1], w[2], w[3]] = w[4] if len(w) > 4 else True
        elif INT <= op <= POINTER or op == 20:
            self.at[w[1]] = (op, w)
        elif op in (CONSTANT, SPEC):
            self.at[w[2]] = (op, w)
        elif op == VARIABLE and not self.ops[FUNCTION]:
            self.variables.append((w[3], w[2], w[1]))

    def images(self):
        return any(self.ops[op] for op in NOT_NUMBERS - {31})

    def floats(self):
        """Does it compute with floats?  Also by sums, products, extrema among lanes, and sums in memory."""
        return self.ops[FLOAT] and any(self.ops[op] for op in (12, *range(127, 149), 350, 352, 355, 358, 6035))

    def specialised(self, given):
        """The words with these values of specialisation constants, by name or number, as defaults."""
        words = list(self.words)
        number = {i: n for (i, d), n in self.of.items() if d == SPEC_ID}  # several constants may share one
        by = {**{self.names.get(i, ""): n for i, n in number.items()}, **{str(n): n for n in number.values()}}
        at = 5
        while at < len(words):
            op, n = words[at] & 0xffff, words[at] >> 16
            for name, value in given:
                if op == SPEC and n == 4 and name in by and by[name] == number.get(words[at + 2]):
                    kind = self.at[words[at + 1]][0]
                    words[at + 3] = struct.unpack("<I", struct.pack("<f", float(value)) if kind == FLOAT else
                                                  struct.pack("<i", int(value)))[0]
            at += n
        return struct.pack("<%dI" % len(words), *words)

    def joint_defaults(self):
        """[(SpecId, value)] of integers that share a SpecId but no default: a host can only give them one value.

        `local_size_x_id = 0` declares a constant that is 1, and the shader its own, say 32, which sizes arrays.
        """
        defaults = {}
        for (i, d), n in self.of.items():
            op, w = self.at.get(i, (0, ()))
            if d == SPEC_ID and op == SPEC and self.at[w[1]][0] == INT:
                defaults.setdefault(n, set()).add(w[3])
        return [(str(n), max(values)) for n, values in defaults.items() if len(values) > 1]

    # ---- layout
    def length(self, constant):
        if constant not in self.at:
            raise Unknown("an array whose length is computed")
        return self.at[constant][1][3]

    def leaves(self, type_id, byte, n, row_major=False, stride=16):
        """(path, code, dims, [(index, byte)]) of each field; n: elements of runtime arrays; and the bytes in all."""
        op, w = self.at.get(type_id, (0, ()))
        if op in (INT, FLOAT):
            code = NAMES.get((True, w[2])) if op == FLOAT else INTS.get(w[2])
            if not code:
                raise Unknown("numbers of %d bits" % w[2])
            if op == INT and not w[3]:
                code = code.upper()
            return [("", code, (), [((), byte)])], w[2] // 8
        if op == STRUCT:
            return self.struct(w, byte, n)
        if op in (VECTOR, MATRIX, ARRAY, RUNTIME):
            return self.several(op, w, byte, n, row_major, stride)
        raise Unknown("a block of what are no numbers")

    def struct(self, w, byte, n):
        out, size = [], 0
        for k, member in enumerate(w[2:]):
            offset = self.of_member.get((w[1], k, OFFSET))
            if offset is None:
                raise Unknown("a block without offsets")
            inner, has = self.leaves(member, byte + offset, n, (w[1], k, ROW_MAJOR) in self.of_member,
                                     self.of_member.get((w[1], k, MATRIX_STRIDE), 16))
            name = self.members.get((w[1], k)) or "m%d" % k
            out += [(name + ("." + path if path else ""), code, dims, places) for path, code, dims, places in inner]
            size = max(size, offset + has)
        return out, size

    def several(self, op, w, byte, n, row_major, stride):
        count = w[3] if op in (VECTOR, MATRIX) else n if op == RUNTIME else self.length(w[3])
        step = stride
        if op == VECTOR:
            step = stride if row_major else self.at[w[2]][1][2] // 8
        elif op in (ARRAY, RUNTIME):
            step = self.of.get((w[1], ARRAY_STRIDE))
        elif row_major:  # columns lie beside each other
            step = self.at[self.at[w[2]][1][2]][1][2] // 8
        if step is None:
            raise Unknown("an array without a stride")
        merged, size = None, 0
        for k in range(count):
            inner, has = self.leaves(w[2], byte + k * step, n, row_major, stride)
            rows = [(path, code, (count, *dims), [((k, *i), at) for i, at in places])
                    for path, code, dims, places in inner]
            merged = rows if merged is None else [
                (p, c, d, places + more) for (p, c, d, places), (_, _, _, more) in zip(merged, rows)]
            size = k * step + has
        if op == RUNTIME:
            size = count * step  # its length is asked of the buffer
        return merged or [], size

    # ---- parameters
    def name(self, variable, type_id, path, only):
        first, _, behind = path.partition(".")
        alone = self.at.get(type_id, (0, ()))[0] == STRUCT and len(self.at[type_id][1]) == 3
        made = alone and first in ("__member0", "@data")  # compilers' names for the array of a structured buffer
        every = [self.members.get((t, k), "") for _, _, p in self.variables
                 for t in [self.pointee(p)] for k in range(len(self.at[t][1]) - 2 if self.at.get(t, (0,))[0] == STRUCT else 0)]
        if every.count(first) == 1 and not made:
            return path
        binding = self.of.get((variable, BINDING))
        block = self.names.get(variable) or self.names.get(type_id) or (
            "push" if binding is None else "b%d_%d" % (self.of.get((variable, SET), 0), binding))
        if made:
            return block + ("." + behind if behind else "")
        if only and not self.members.get((type_id, 0)):
            return block
        return block + "." + path

    def pointee(self, pointer):
        return self.at[pointer][1][3]

    def interface(self, n):
        """The variables that a host provides, with n elements in runtime arrays."""
        out = []
        for storage, variable, pointer in self.variables:
            if storage == CONSTANT_STORAGE:
                out += self.images_of(variable, self.pointee(pointer), n)
            if storage not in (UNIFORM, PUSH, STORAGE):
                continue
            type_id = self.pointee(pointer)
            leaves, size = self.leaves(type_id, 0, n)
            buffer = storage == STORAGE or (type_id, BUFFER_BLOCK) in self.of
            parts = [Part(self.name(variable, type_id, path, len(leaves) == 1), code, dims, places)
                     for path, code, dims, places in leaves]
            out.append(Variable("storage" if buffer else "push" if storage == PUSH else "uniform",
                                self.of.get((variable, SET), 0), self.of.get((variable, BINDING), 0), size, parts))
        return out


    # ---- images
    def images_of(self, variable, type_id, n):
        """A variable for each image, or sampler, of about n texels; each channel is four bytes."""
        place = (self.of.get((variable, SET), 0), self.of.get((variable, BINDING), 0))
        name = self.names.get(variable) or "b%d_%d" % place
        op, w = self.at.get(type_id, (0, ()))
        count = self.length(w[3]) if op == ARRAY else 1
        if op == ARRAY:
            op, w = self.at.get(w[2], (0, ()))
        if op == SAMPLER:
            return [Variable("sampler", *place, 0, [], {"kind": "sampler", "count": count, "sampler": name})]
        combined = op == SAMPLED_IMAGE
        op, w = self.at.get(w[2], (0, ())) if combined else (op, w)
        if op != IMAGE:
            raise Unknown("a variable of another kind")
        image, dims = self.image(w, n)
        image.update(count=count, kind="combined" if combined and image["dim"] else image["kind"],
                     sampler=name if combined else None)
        code = image["as"]
        places = [((), 0)]
        for k, d in enumerate(dims):
            places = [((*i, j), at * d + j) for i, at in places for j in range(d)]
        places = [(i, 4 * at) for i, at in places]
        return [Variable("image.%d" % k, *place, 4 * len(places),
                         [Part(name + (".%d" % k if count > 1 or self.at[type_id][0] == ARRAY else ""), code, dims, places)],
                         image) for k in range(count)]

    def image(self, w, n):
        """What the image of a type is, and its dimensions as a buffer."""
        number, dim, arrayed, samples, sampled, form = self.at[w[2]], w[3], w[5], w[6], w[7], w[8]
        rank = {0: 1, 1: 2, 2: 3, 4: 2, 5: 1}.get(dim)
        code = "f" if number[0] == FLOAT else "i" if number[1][3] else "I"
        channels, vulkan, texel, most = FORMATS.get(form or UNKNOWN[code], (0,) * 4)
        if not rank or samples or not channels or number[1][2] != 32:
            raise Unknown("an image of this kind")
        side = max(int(n ** (1 / (rank + bool(arrayed))) + 1e-6), 2)
        extent = [max(side - k, 1) for k in range(rank)]
        layers = side if arrayed else 0
        dims = (*([layers] if layers else []), *reversed(extent), channels)
        kind = ("texels" if dim == 5 else "image") if sampled == 2 else "sampled texels" if dim == 5 else "sampled"
        return {"kind": kind, "dim": 0 if dim == 5 else rank, "extent": extent, "layers": layers, "format": vulkan,
                "code": texel, "most": most, "as": code}, dims


def text(words):
    return struct.pack("<%dI" % len(words), *words).split(b"\0")[0].decode("utf-8", "replace")
