#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One shader of tools/corpus: compiled, read, run beside its original, differentiated, checked."""
import fnmatch
import json
import math
import os
import random
import re
import shlex
import struct
import subprocess
import sys
import time

import corpus_hosted
import originals

HERE = os.path.dirname(os.path.abspath(__file__))

PARAMETER = re.compile(r"(`[^`]+`|\w+): (?:(in|out|inout) )?(\w+)(?:\[([^\]]*)\])?[,)]")
TYPES = {"f": "f32", "d": "f64", "e": "f16", "i": "i32", "I": "u32", "q": "i64", "Q": "u64", "h": "i16", "H": "u16",
         "b": "i8", "B": "u8"}


def run(argv, seconds):
    """(status, stdout, stderr, seconds it took); status "timeout"."""
    begin = time.monotonic()
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return "timeout", "", "", seconds
    return done.returncode, done.stdout, done.stderr, time.monotonic() - begin


def cause(status, error):
    """Code and words of the first error, without what is of one shader only."""
    if status == "timeout":
        return "timeout"
    if isinstance(status, int) and status < 0:
        return "CRASH: signal %d" % -status
    found = re.search(r"error: (.*?) \[(E\d+)\]", error)
    if not found:
        return "status %s: %s" % (status, error.strip()[:80])
    words = re.sub(r"`[^`]*`|'[^']*'|/tmp/\S*", "…", re.sub(r"\(word \d+\)|, word \d+", "", found.group(1)))
    return "%s %s" % (found.group(2), re.sub(r"\d+", "N", words)[:140])


def shortest(text, code):
    """The half that is printed as the shortest text which means it: -1.112 is -1.1123046875; others as they are."""
    value = float(text)
    return struct.unpack("<e", struct.pack("<e", value))[0] if code == "e" and math.isfinite(value) else value


def of_scalars(access, kind, dims):
    """A buffer of vectors is one of their scalars with one more axis: `vec3[N]` is `f32[N, 3]`."""
    vector = re.fullmatch(r"([hdiu]?)vec([234])", kind)
    if not vector:
        return access, kind, dims
    return access, {"": "f32", "h": "f16", "d": "f64", "i": "i32", "u": "u32"}[vector.group(1)], "%s, %s" % (dims, vector.group(2))


class Shader:
    """One file, and what is found out about it."""

    def __init__(self, path, folder, options, scratch, device_check=True):
        self.device_check = device_check
        self.path, self.folder, self.o, self.dir = path, folder, options, scratch
        self.spv, self.why, self.seconds, self.found = path, {}, {}, {}
        self.samplers, self.set, self.low = options.sampler, list(options.set), -1
        self.module, self.groups = None, [int(g) for g in options.groups.split(",")]

    def command(self, stage, verb, *rest):
        argv = [self.o.vyre, verb, self.spv, *[a for s in self.samplers for a in ("--sampler", s)], *rest]
        status, out, error, took = run(argv, self.o.seconds)
        if self.o.keep:
            with open(os.path.join(self.dir, "commands"), "a", encoding="utf-8") as f:
                f.write(shlex.join(argv) + "\n")
        self.seconds[stage] = took
        if status != 0:
            self.why[stage] = cause(status, error)
        return out if status == 0 else None

    def compile(self):
        if self.path.endswith(".spv"):
            return True
        self.spv = os.path.join(self.dir, "x.spv")
        argv = ["glslangValidator", "-g", "-V", "--target-env", "vulkan1.2", "-S", "comp"]
        argv += ["-D", "-e", "main"] if self.path.endswith(".hlsl") else []
        argv += ["-I" + i for i in (os.path.dirname(self.path), *self.o.include)] + ["-D" + d for d in self.o.define]
        self.described()
        status, out, _, _ = run([*argv, self.source(), "-o", self.spv], self.o.seconds)
        if status != 0:
            self.why["compile"] = "; ".join(re.findall(r"ERROR: (.*)", out)[:1])[:140]
        return status == 0

    def described(self):
        """What the source says of its data in a line `// With …`."""
        with open(self.path, encoding="utf-8", errors="replace") as f:
            words = (re.findall(r"^// With (--\w+ .*)", f.read(), re.M) or [""])[0].split()
        given = list(zip(words[::2], words[1::2]))
        self.samplers = [value for option, value in given if option == "--sampler"] or self.samplers
        self.set += [value for option, value in given if option == "--set"]
        self.low = next((float(value) for option, value in given if option == "--low"), self.low)

    def source(self):
        """The path of the text; glslang wants an extension for `#include`, which glslc does without."""
        with open(self.path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if "#include" not in text or "GL_GOOGLE_include" in text:
            return self.path
        path = os.path.join(self.dir, os.path.basename(self.path))
        wanted = "\\g<0>\n#extension GL_GOOGLE_include_directive : require\n#line 2"
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"#version.*", wanted, text, count=1))
        return path

    def classify(self):
        try:
            with open(self.spv, "rb") as f:
                self.module = originals.Module(f.read())
        except originals.Unknown as e:
            self.why["compile"] = str(e)
            return False
        m = self.module
        self.found.update(instructions=m.instructions, floats=bool(m.floats()), images=m.images())
        if not m.entries:
            self.why["compile"] = "no compute shader"
        return bool(m.entries)

    def specialise(self):
        """Both readings take the module with other defaults, where constants of one number have several, and as asked."""
        given = self.module.joint_defaults()
        for constant in self.o.spec:
            files, _, setting = constant.rpartition(":")
            if fnmatch.fnmatchcase(os.path.basename(self.path), files or "*"):
                given.append(setting.split("=", 1))
        with open(self.spv, "rb") as f:
            before = f.read()
        words = self.module.specialised(given)
        if words != before:
            self.spv = os.path.join(self.dir, "spec.spv")
            with open(self.spv, "wb") as f:
                f.write(words)

    def go(self):
        if not self.compile() or not self.classify():
            return self
        self.specialise()
        text = self.command("read", "print")
        self.found["read"] = text is not None
        if text is None:
            return self
        self.found["whiles"] = len(re.findall(r"\bwhile\b", text))
        self.text = text
        self.derive()
        try:
            self.domain = self.head(text)
            own = self.command("own", "print", "--keep-domain")
            self.own = own or text  # barriers behind a guard: only the domain makes them legal
            self.fill(self.low)
        except originals.Unknown as e:
            self.why["forward"] = "not laid out: %s" % e
            return self
        if self.o.device and own:
            self.judge()
        if self.o.check and self.found.get("derived"):
            self.check()
        return self

    def derive(self):
        where = os.path.join(self.dir, "grad")
        os.makedirs(where, exist_ok=True)
        done = self.command("grad", "grad", "-o", where)
        self.found["derived"] = done is not None
        if done is None:
            return
        atomics = 0
        for name in os.listdir(where):
            if name.endswith(".vyre"):
                with open(os.path.join(where, name), encoding="utf-8") as f:
                    atomics += len(re.findall(r"\batomic_\w+\(", f.read()))
        self.found["atomics"], self.found["plain"] = atomics, atomics == 0
        self.found["gathered"] = atomics == 0 or self.gathered()

    def gathered(self):
        """No atomics, at least where what the launch has to grant for that (`assumes`) is granted."""
        told = self.command("explain", "explain", "--json")
        if told is None:
            return False
        told = json.loads(told)
        left = [g["why"] for g in told["gradients"] if g["sum"] in ("atomic", "both")]
        if left:
            self.found["left_atomic"] = next(filter(None, left), "has no domain, or the program no gathers")
        return not left and told["operations"]["atomic"]["gradient"]["each"]["formula"] == "0"

    # ---- data
    @staticmethod
    def head(text):
        """The parameters of the program: name: (class, type, dimensions)."""
        head = text.partition("program ")[2].partition("workgroup(")[0].partition("(")[2]
        return {m.group(1).strip("`"): of_scalars(*m.groups()[1:]) for m in PARAMETER.finditer(head)}

    def fill(self, low):
        """Contents for what the module binds, floats from `low` to 1; the arguments that give the program the same."""
        self.variables = self.module.interface(self.o.elements)
        self.outputs, self.arguments, self.extents, r = {}, [], {}, random.Random(1)
        parameters = self.head(self.own)
        self.data = {}
        for v in self.variables:
            data = self.data.setdefault(v[:3], bytearray(16))
            data.extend(bytes(max(v.size - len(data), 0)))
        shared = [v[:3] for v in self.variables]
        parts = [(v, self.flat(v, p, parameters)) for v in self.variables for p in v.parts
                 if shared.count(v[:3]) == 1 or p.name in parameters]  # what nothing uses has no say
        for v, part in parts:
            for _, byte in part.places:
                cleared = parameters.get(part.name, "")[:1] == ("out",)
                value = 0 if cleared else self.number(part, v, r, low)
                struct.pack_into("<" + part.code, self.data[v[:3]], byte, value)
        for v, part in parts:
            self.give(part, v, parameters)
        if parameters:
            raise originals.Unknown("parameter %s" % sorted(parameters)[0])

    def flat(self, v, part, parameters):
        """The part; of several variables on one binding, of which one buffer is made, all that is bound."""
        _, type_name, dims = parameters.get(part.name, (None, None, None))
        others = sum(o[:3] == v[:3] for o in self.variables) > 1
        if not others or dims != "?" or (len(part.dims) == 1 and TYPES[part.code] == type_name):
            return part
        code = next(c for c, t in TYPES.items() if t == type_name)
        size = struct.calcsize("<" + code)
        n = len(self.data[v[:3]]) // size
        return part._replace(code=code, dims=(n,), places=[((k,), k * size) for k in range(n)])

    def number(self, part, variable, r, low):
        code = part.code
        fixed, most = variable.kind in ("uniform", "push"), (variable.image or {}).get("most")
        if most:  # one that its format has
            steps = 1 if variable.image["code"] == "A" else most  # its alpha has fewer
            return struct.unpack("<f", struct.pack("<f", r.randrange(steps + 1) / steps))[0]
        if code in "efd":
            return 0.75 if fixed else struct.unpack("<e", struct.pack("<e", r.uniform(low, 1)))[0]
        return int(dict(given.split("=") for given in self.set).get(part.name, 4)) if fixed else r.randrange(4)

    def give(self, part, variable, parameters):
        for size in ("width", "height", "depth", "layers") if variable.image else ():
            parameters.pop("%s_%s" % (size, part.name), None)
        if variable.image:  # extents of other buffers may be those of an image
            along = part.dims[-2::-1]  # x first; the channels are last
            self.extents.update(("%s_%s" % pair, n) for names in (("width", "height", "depth"), ("width", "height", "layers"))
                                for pair, n in zip(((size, part.name) for size in names), along))
        cls, type_name, _ = parameters.pop(part.name, (None, None, None))
        data = self.data[variable[:3]]
        values = [struct.unpack_from("<" + part.code, data, byte)[0] for _, byte in part.places]
        if cls is None and type_name:
            self.arguments += ["--set", "%s=%r" % (part.name, values[0])]
        for k, value in enumerate(values if part.dims and len(values) <= 256 else []):
            if parameters.pop("%s.%d" % (part.name, k), None):
                self.arguments += ["--set", "%s.%d=%r" % (part.name, k, value)]
        if cls is None:
            return
        if TYPES[part.code] != type_name:
            raise originals.Unknown("%s is %s" % (part.name, type_name))
        path = os.path.join(self.dir, "in%d.bin" % len(self.arguments))
        with open(path, "wb") as f:
            f.write(struct.pack("<%d%s" % (len(values), part.code), *values))
        dims = ",".join(str(d) for d in part.dims or (1,))
        self.arguments += ["--in", "%s[%s]=%s" % (part.name, dims, "zeros" if cls == "out" else "@" + path)]
        if cls != "in":
            self.outputs[part.name] = (variable, part)

    # ---- the original
    def original(self):
        """What the module itself leaves in its buffers; None: it does not run."""
        return self.launch(self.spv, self.module.entries[0])

    def job(self, module, entry):
        """What raw_vulkan.py needs to launch a module that is bound as the original is; the data is written for it."""
        left = {}
        job = {"module": module, "entry": entry, "groups": self.groups, "bindings": []}
        job["push_size"] = 0
        for (kind, number, binding), data in self.data.items():
            path = os.path.join(self.dir, "%s%d_%d.bin" % (kind, number, binding))
            with open(path, "wb") as f:
                f.write(data)
            if kind == "push":
                job.update(push=path, push_size=len(data))
            elif kind.startswith(("image.", "sampler")):
                left[kind, number, binding] = path
                self.bind_image(job, (kind, number, binding), path)
            else:
                left[kind, number, binding] = path
                job["bindings"].append({"set": number, "binding": binding, "kind": kind, "file": path})
        return job, left

    def run_script(self, argv):
        status, _, error, _ = run(argv, self.o.seconds)
        return status, error

    def launch(self, module, entry):
        """What a module that is bound as it is leaves there."""
        job, left = self.job(module, entry)
        name = os.path.join(self.dir, "job.json")
        with open(name, "w", encoding="utf-8") as f:
            json.dump(job, f)
        status, _, error, _ = run([sys.executable, "-S", os.path.join(HERE, "raw_vulkan.py"), name], self.o.seconds)
        if status != 0:
            self.why["original"] = "the original does not run: %s" % (error.strip()[-80:] or status)
            return None
        return {where: open(path, "rb").read() for where, path in left.items()}

    def bind_image(self, job, where, path):
        """One more descriptor of its binding."""
        variable = next(v for v in self.variables if v[:3] == where)
        row = next((b for b in job["bindings"] if (b["set"], b["binding"]) == where[1:]), None)
        if row is None:
            row = {"set": where[1], "binding": where[2], "kind": variable.image["kind"], "images": []}
            row["count"] = variable.image["count"]
            job["bindings"].append(row)
        if variable.parts and len(row["images"]) < row["count"]:
            row["images"].append({"file": path, **variable.image})
        if variable.image["sampler"]:
            row["sampler"] = self.sampler(variable.image["sampler"])
            row["sampler"]["linear"] &= variable.image.get("as", "f") == "f"  # of integers nothing else is allowed
            row["kind"] = "combined" if row["images"] and variable.image.get("dim") else row["kind"]

    def sampler(self, name):
        """What the options say of it: first those without a name."""
        linear, wrap = True, "clamp"
        for given in sorted(self.samplers, key=lambda s: "=" in s):
            of, _, kind = given.rpartition("=")
            for word in kind.split(",") if of in ("", name) else ():
                if word in ("linear", "nearest"):
                    linear = word == "linear"
                else:
                    wrap = word
        return {"linear": linear, "wrap": wrap}

    def compare(self):
        """The first difference from what the original leaves; "": none; None: they did not both run."""
        argv = ["--json", "--engine", "eval", "--subgroup-size", self.o.lanes, "--groups", self.o.groups]
        out = self.command("forward", "run", *argv, *self.arguments)
        left = self.left = self.original() if out is not None else None
        if left is None:
            return None
        outputs = json.loads(out)["outputs"]
        for name, (v, part) in self.outputs.items():
            raw = [struct.unpack_from("<" + part.code, left[v[:3]], byte)[0] for _, byte in part.places]
            got = [shortest(x, part.code) for x in outputs[name]["data"]] if name in outputs else raw
            scale = max([abs(x) for x in raw if math.isfinite(x)], default=0)
            most = (v.image or {}).get("most")  # Vulkan lets a device take either step beside the number
            step = 1.001 / (3 if v.image["code"] == "A" else most) if most else 0
            step += 4 * 2**-11 if part.code == "e" else 0  # terms within 1, whose sums the original may contract
            for k, (a, b) in enumerate(zip(raw, got)):
                if not (a == b or (a != a and b != b) or abs(a - b) <= 1e-3 * abs(a) + 1e-5 * scale + step):
                    return "%s[%d]: %r, as read %r" % (name, k, a, b)
        return ""

    def chance(self):
        """What leaves the results of the original to chance; "": nothing."""
        report = run([self.o.vyre, "run", self.spv, "--report", "--engine", "eval", "--subgroup-size", self.o.lanes,
                      "--groups", self.o.groups, *self.arguments], self.o.seconds)[2]
        races, reads = (re.findall(r"(\d+) data races.*?(\d+) reads", report) or [(0, 0)])[0]
        return "has data races" if int(races) else "reads what nothing wrote" if int(reads) else ""

    def judge(self):
        """Is it as the original?  Not where several invocations race, or negative numbers become unsigned ones."""
        difference = self.compare()
        if difference is None:
            return
        self.found["equal"] = not difference
        if not difference:
            corpus_hosted.judge(self, self.left)
            corpus_hosted.judge_gradient(self)
            return
        self.found["difference"] = difference
        chance = self.chance()
        if chance:
            self.why["forward"] = "the original " + chance
            del self.found["equal"]
            return
        self.fill(0)
        self.why["forward"] = "DIFFERS, not with positive numbers" if self.compare() == "" else "DIFFERS"

    def shaped(self):
        """The arguments for the program as it is printed: buffers whose shape was found have so many elements."""
        sets = dict(a.split("=", 1) for a in self.arguments[1::2] if re.match(r"[\w.`]+=[-\d]+$", a))
        names = {n.strip("`").replace(".", "__"): int(v) for n, v in {**self.extents, **sets}.items()}
        out, own = list(self.arguments), self.head(self.own)
        for k, given in enumerate(out):
            name, _, spec = given.partition("[")
            flat, dims = (of.get(name, (None, None, ""))[2] or "" for of in (own, self.domain))
            if out[k - 1] != "--in" or "?" not in flat or not dims or "?" in dims or re.match(r"`?len\d*_", dims):
                continue
            text = re.sub(r"`([^`]*)`", lambda m: m.group(1).replace(".", "__"), dims).replace("/", "//")
            shape = eval("[%s]" % text, {"__builtins__": {}, "min": min, "max": max}, names)
            path = os.path.join(self.dir, "in%d.bin" % (k - 1))
            size = math.prod(shape) * struct.calcsize(next(c for c, t in TYPES.items() if t == self.domain[name][1]))
            if spec.endswith("=@" + path):
                with open(path, "rb") as f:
                    data = f.read()
                path = path.replace(".bin", "s.bin")
                with open(path, "wb") as f:
                    f.write((data * (size // max(len(data), 1) + 1))[:size])
                spec = "=@" + path
            out[k] = "%s[%s]=%s" % (name, ",".join(map(str, shape)), spec.rpartition("=")[2])
        return out

    def domain_arguments(self):
        own = self.head(self.own)
        return [a for name in self.domain if name not in own for a in ("--set", "%s=%d" % (name, self.o.elements))]

    def check(self):
        """With the domain, where there is one, whose extents may be lengths of buffers."""
        argv = ["--samples", "4", "--allow", "out-of-range", "--quiet"]
        if not re.search(r"\bover\(", self.text.partition("{")[0]):
            argv += ["--groups", self.o.groups]
        argv += self.domain_arguments() + ([] if self.device_check else ["--engine", "eval"])
        own = self.head(self.own)
        self.found["shapes"] = sum("?" in (own[n][2] or "") and "?" not in self.domain[n][2] for n in own if n in self.domain)
        self.found["checked"] = self.command("check", "check", *argv, *self.shaped()) is not None
