#!/usr/bin/env python3
# ONCE
# SPDX-License-Identifier: MIT
"""`bench --against`: plans and shaders that do not fit are refused with place and fix (E0812),
gradients that differ from ours are reported (E0813), and everything that a plan may hold works:
clears, intermediates, repeats, slices, outputs of the forward program.
"""
import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests"))
sys.dont_write_bytecode = True
import shares  # noqa: E402

VYRE = os.environ["VYRE_GRAD"]
PROGRAM = """program square(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i] * x[i]; }
"""
SHADER = """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint N; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Y { float grad_y[]; };
layout(std430, binding = 2) buffer G { float grad_x[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < N) grad_x[i] = 2.0 * x[i] * grad_y[i]; }
"""
HAND = """program hand(x: in f32[N], grad_y: in f32[N], grad_x: inout f32[N], N: u32) workgroup(64) over(i: N) {}
"""
PIPE = """pipeline p(x: in f32[N], grad_y: in f32[N], grad_x: out f32[N], N: u32)
{
    hand(x, grad_y, grad_x);
}
"""
PLAN = HAND + PIPE
EXTENSION = "#version 450\n#extension %s : require"

# name, shader, plan, options, what stderr must hold (with the place in the plan)
REFUSED = [
    ("no_text", SHADER, "", [], ["E0812", "holds no pipeline"]),
    ("no_pipeline", SHADER, HAND, [], ["E0812", "holds no pipeline"]),
    ("syntax", SHADER, PLAN.replace("hand(x, grad_y", "hand(x; grad_y"), [], ["x.plan:4:11: error", "hand(x; grad_y"]),
    ("arguments", SHADER, PLAN.replace("hand(x, grad_y, ", "hand(x, "), [], ["x.plan:4:5: error"]),
    ("unknown_name", SHADER, PLAN.replace("    hand(", "    hands("), [], ["x.plan:4:5: error", "hands"]),
    ("no_shader", SHADER, PLAN.replace("hand(", "land("), [], ["x.plan:4:5: error", "no land.spv", "E0812"]),
    ("nothing", SHADER, HAND + PIPE.replace("    hand(x, grad_y, grad_x);\n", ""), [], ["dispatches nothing", "E0812"]),
    ("code", SHADER, PLAN.replace("{}", "{ grad_x[i] = x[i]; }"), [], ["x.plan:4:5: error", "has code", "E0812"]),
    ("workgroup", SHADER, PLAN.replace("workgroup(64)", "workgroup(32)"), [],
     ["x.plan:4:5: error", "workgroup 32×1×1 here, 64×1×1 in hand.spv", "E0812"]),
    ("binding", SHADER.replace("binding = 2", "binding = 3"), PLAN, [],
     ["x.plan:4:5: error", "set 0 binding 3", "E0812"]),
    ("set", SHADER.replace("binding = 2", "set = 1, binding = 2"), PLAN, [], ["set 1 binding 2", "E0812"]),
    ("writable", SHADER.replace("readonly buffer X", "buffer X"), PLAN, [],
     ["x.plan:1:1: error", "may write binding 0, which is `in x`", "E0812"]),
    ("push_type", SHADER.replace("uint N", "float N").replace("i < N", "i < uint(N)"), PLAN, [],
     ["x.plan:4:5: error", "4 bytes (float) at offset 0, where the plan has u32 N", "E0812"]),
    ("push_count", SHADER.replace("uint N;", "uint N, M;"), PLAN, [], ["at offset 4, where the plan has nothing", "E0812"]),
    ("push_vector", SHADER.replace("uint N;", "uvec2 v;").replace("i < N", "i < v.x"), PLAN, [],
     ["not a scalar: push constant 0", "E0812"]),
    ("image", SHADER.replace("void main", "layout(binding = 3, r32f) uniform image2D t;\nvoid main").replace(
        "2.0 *", "imageLoad(t, ivec2(0)).x *"), PLAN, [], ["E0812", "a resource of storage class 0"]),
    ("specialised", SHADER.replace("local_size_x = 64", "local_size_x_id = 0"), PLAN, [],
     ["specialisation constant", "E0812"]),
    ("capability", SHADER.replace("#version 450", EXTENSION % "GL_KHR_shader_subgroup_clustered").replace(
        "2.0 *", "subgroupClusteredAdd(2.0, 1) *"), PLAN, [], ["capability 67", "E0812"]),
    ("inout", SHADER, PLAN.replace("grad_x: out", "grad_x: inout"), [], ["is `inout`", "E0812"]),
    ("other_buffer", SHADER, PLAN.replace("p(x: in", "p(z: in").replace("hand(x, grad_y,", "hand(z, grad_y,"), [],
     ["z of pipeline p is not a buffer of square", "E0812"]),
    ("no_gradient", SHADER, HAND + PIPE.replace("grad_x: out f32[N]", "y: out f32[N]").replace("grad_y, grad_x", "grad_y, y"),
     [], ["does not write grad_x", "E0812"]),
    ("shape", SHADER, PLAN.replace("grad_x: out f32[N]", "grad_x: out f32[N + 1]").replace("inout f32[N]", "inout f32[N + 1]"),
     [], ["grad_x", "7", "6"]),
    ("groups", SHADER, PLAN.replace(" over(i: N)", "").replace("    hand", "    @groups(N - 100) hand"), [], ["group count"]),
    ("too_many_groups", SHADER, PLAN.replace(" over(i: N)", "").replace("    hand", "    @groups(N * 100000) hand"), [],
     ["no group base for splitting", "E0903"]),
    ("wrong", SHADER.replace("2.0 *", "2.001 *"), PLAN, [], ["E0813", "grad_x[", "tolerance 0.0001"]),
    ("one_wrong", SHADER.replace("2.0 *", "(i == 3 ? 2.1 : 2.0) *"), PLAN, [], ["E0813", "grad_x[3]"]),
    ("nan", SHADER.replace("2.0 *", "(i == 1 ? 0.0 / (x[0] - x[0]) : 2.0) *"), PLAN, [], ["E0813", "grad_x[1]"]),
    ("unwritten", SHADER.replace("if (i < N)", "if (i < N && i != 5)"), PLAN, [], ["E0813", "grad_x[5]"]),
    ("tolerance", SHADER, PLAN, ["--tolerance", "-1"], ["E0801", "--tolerance"]),
    ("tolerance_text", SHADER, PLAN, ["--tolerance", "big"], ["E0801", "--tolerance"]),
    ("interpreter", SHADER, PLAN, ["--engine", "eval"], ["E0801", "need a device"]),
]

ATOMIC = """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint N; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Y { float grad_y[]; };
layout(std430, binding = 2) buffer G { uint grad_x[]; };
void main()
{
    const uint i = gl_GlobalInvocationID.x; // adds to what must be zero, so as bits
    if (i < N) atomicAdd(grad_x[i], floatBitsToUint(2.0 * x[i] * grad_y[i]));
}
"""
# Steps through a history by slices: h[t + 1] = h[t] + x grad_y / 2, four times, then h[4].
HISTORY = """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint N; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Y { float grad_y[]; };
layout(std430, binding = 2) readonly buffer H { float h[]; };
layout(std430, binding = 3) buffer G { float next[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < N) next[i] = h[i] + 0.5 * x[i] * grad_y[i]; }
"""
HISTORY_PLAN = """program hand(x: in f32[N], grad_y: in f32[N], h: in f32[N], next: inout f32[N], N: u32)
    workgroup(64) over(i: N) {}
program clear(h: out f32[N], N: u32) workgroup(64) over(i: N) {}
pipeline p(x: in f32[N], grad_y: in f32[N], grad_x: out f32[N], N: u32)
{
    buffer h: f32[4, 64];
    clear64(h[0]);
    repeat t in 0..3 { hand64(x, grad_y, h[t], h[t + 1]); }
    hand64(x, grad_y, h[3], grad_x);
}
""".replace("clear64", "clear").replace("hand64", "hand")
CLEAR = "#version 450\nlayout(local_size_x = 64) in;\nvoid main() {}\n"
FORWARD = SHADER.replace("2.0 * x[i] * grad_y[i]", "2.0 * sign(x[i]) * sqrt(y[i]) * grad_y[i]").replace(
    "void main", "layout(std430, binding = 3) readonly buffer F { float y[]; };\nvoid main")
FORWARD_PLAN = PLAN.replace("grad_x: inout f32[N],", "grad_x: inout f32[N], y: in f32[N],").replace(
    "p(x: in f32[N],", "p(x: in f32[N], y: in f32[N],").replace("grad_y, grad_x)", "grad_y, grad_x, y)")
AMOUNTS = "program bytes(N: u32) over(n: 12 * N) {}\nprogram operations(N: u32) over(n: N, two: 2) {}\n"

# name, {shader: text}, plan, N
ACCEPTED = [
    ("plain", {"hand": SHADER}, PLAN, 6),
    ("amounts", {"hand": SHADER}, AMOUNTS + PLAN, 6),
    ("empty", {"hand": SHADER}, PLAN, 0),
    ("explicit_groups", {"hand": SHADER}, PLAN.replace(" over(i: N)", "").replace("    hand", "    @groups((N + 63) / 64) hand"), 130),
    ("cleared", {"hand": ATOMIC}, PLAN.replace("grad_x: inout", "grad_x: out"), 100),
    ("history", {"hand": HISTORY, "clear": CLEAR}, HISTORY_PLAN, 64),
    ("forward_output", {"hand": FORWARD}, FORWARD_PLAN, 33),
]


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def compiled(shaders):
    for name in ("hand", "clear"):
        if os.path.exists(name + ".spv"):
            os.remove(name + ".spv")
    for name, text in shaders.items():
        write(name + ".comp", text)
        subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "--quiet", "-o", name + ".spv",
                        name + ".comp"], check=True, stdout=subprocess.DEVNULL)


def bench(plan, n, *options, data="normal:0:1:1"):
    write("x.plan", plan)
    return subprocess.run([VYRE, "bench", "x.vyre", "--in", "x[%d]=%s" % (n, data), "--ct", "y=normal:0:1:2",
                           "--against", "x.plan", "--runs", "3", *options], capture_output=True, text=True, errors="replace")


def damaged():
    """Modules cut short, or with overwritten words before the first function: refused, or run.  (An
    overwritten function may be valid and index anywhere: the shader is responsible for that.)"""
    compiled({"hand": SHADER})
    with open("hand.spv", "rb") as f:
        good = f.read()
    words, at = struct.unpack("<%dI" % (len(good) // 4), good), 5
    while words[at] & 0xffff != 54:  # OpFunction
        at += words[at] >> 16
    places = [*range(0, 24, 4), *range(24, 4 * at, 84)]
    cases = [good[:k] for k in range(0, len(good), 411)] + [
        good[:k] + bad + good[k + 4:] for k in places for bad in (b"\xff\xff\xff\xff", b"\0\0\0\0")]
    wrong = []
    for i, bad in enumerate(cases):
        with open("hand.spv", "wb") as f:
            f.write(bad)
        done = bench(PLAN, 6)
        if done.returncode not in (0, 1, 2) or (done.returncode and "E0812" not in done.stderr):
            wrong.append("damaged module %d: status %d\n%s" % (i, done.returncode, done.stderr))
    return wrong


def peaks():
    """Peaks alone are measured, and fractions of them follow from what the plan states: their ratio,
    ours to by hand, is that of the times."""
    alone = json.loads(subprocess.run([VYRE, "bench", "--peak", "--json"], capture_output=True, text=True).stdout)
    wrong = [k for k in ("gb_per_s", "gflop_per_s") if not alone["peak"][k] > 0]
    compiled({"hand": SHADER})
    found = json.loads(bench(AMOUNTS + PLAN, 1000, "--json", "--peak").stdout)
    hand, ours = found["against"]["of_peak"], found["against"]["ours_of_peak"]
    for key, rate in (("bandwidth", found["against"]["stated_gb_per_s"] / found["peak"]["gb_per_s"]),
                      ("arithmetic", found["against"]["gflop_per_s"] / found["peak"]["gflop_per_s"])):
        if abs(hand[key] / rate - 1) > 2e-3 or abs(hand[key] / ours[key] / found["against"]["ratio"] - 1) > 2e-3:
            wrong.append(key)
    return ["peak: %s: %s %s" % (", ".join(wrong), alone, found)] if wrong else []


def sizes():
    """One large element does not hide that all others are wrong; no elements do not count as equal."""
    wrong = []
    compiled({"hand": SHADER.replace("2.0 *", "(i == 0 ? 2.0 : 2.002) *")})
    done = bench(PLAN, 8, data="1e6,1,1,1,1,1,1,1")
    if done.returncode != 1 or "E0813" not in done.stderr or "grad_x[0]" in done.stderr:
        wrong.append("seven of eight: status %d\n%s" % (done.returncode, done.stderr))
    compiled({"hand": SHADER})
    done = bench(PLAN, 0)
    if done.returncode or "nothing compared: the gradients have no elements" not in done.stdout or "-1" in done.stdout:
        wrong.append("empty: status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    done = bench(PLAN, 4, data="const:nan")
    if done.returncode or "nothing compared: all elements are NaN on both sides" not in done.stdout:
        wrong.append("NaN: status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    done = bench(PLAN, 4, data="nan,1,2,nan")
    if done.returncode or "; 2 of 4 elements not compared: NaN on both sides" not in done.stdout:
        wrong.append("half NaN: status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    for n, data, undefined in ((0, "ones", 0), (4, "const:nan", 4)):
        found = json.loads(bench(PLAN, n, "--json", data=data).stdout)["against"]
        if (found["compared"], found["undefined"], found["difference"], found["difference_buffer"]) != (0, undefined, None, None):
            wrong.append("nothing compared, JSON: %s" % found)
    return wrong


def main():
    if subprocess.run([VYRE, "devices"], capture_output=True).returncode:
        print("no Vulkan device")
        return 77
    write("x.vyre", PROGRAM)
    wrong = []
    for name, shader, plan, options, expected in shares.drawn(REFUSED, 2):
        compiled({"hand": shader})
        done = bench(plan, 6, *options)
        missing = [e for e in expected if e not in done.stderr]
        if done.returncode != (2 if "E0903" in expected else 1) or missing or done.stdout:
            wrong.append("%s: status %d, without %s:\n%s" % (name, done.returncode, missing, done.stderr))
    for name, shaders, plan, n in ACCEPTED:
        compiled(shaders)
        done = bench(plan, n, "--json")
        if done.returncode:
            wrong.append("%s: %s" % (name, done.stderr))
            continue
        against = json.loads(done.stdout)["against"]
        if name == "amounts" and (against["bytes"], against["flops"]) != (72, 12):
            wrong.append("amounts: %s" % against)
    wrong += sizes() + damaged() + peaks()
    print("\n".join(wrong))
    print("of %d refused one half, %d accepted" % (len(REFUSED), len(ACCEPTED)))
    return 1 if wrong else 0


sys.exit(main())
