#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Describes the machine: processor, cores, load, memory, system, compilers, Vulkan drivers.

  tests/machine.py [BUILD]      drivers as BUILD/tools/vyre-grad sees them, or all installed driver
                                files

tests/run prints it before the tests, so that the report of a failure says where it failed.
"""
import glob
import itertools
import json
import os
import platform
import re
import subprocess
import sys


def output(argv, **how):
    """What a command prints, or '' if it does not exist, fails or hangs."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=120, **how)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def fields(path):
    """`name: value` lines of a file of /proc, the first of each name."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                name, _, value = line.partition(":")
                found.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    return found


def processor():
    cpu = fields("/proc/cpuinfo")
    flags = cpu.get("flags", cpu.get("Features", "")).split()
    widest = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX"), ("sve", "SVE"),
                                           ("asimd", "NEON")) if flag in flags), "")
    name = cpu.get("model name") or platform.processor() or platform.machine()
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:
        allowed = os.cpu_count() or 1
    return "%s%s, %d of %d cores, load %s" % (name, widest and " (" + widest + ")", allowed, os.cpu_count() or 1,
                                             " ".join("%.2f" % x for x in os.getloadavg()))


def memory():
    m = {name: int(value.split()[0]) >> 10 for name, value in fields("/proc/meminfo").items() if value.split()}
    return "%d MiB, %d available, swap %d; free disk for temporary files %d MiB" % (
        m.get("MemTotal", 0), m.get("MemAvailable", 0), m.get("SwapTotal", 0), temporary())


def temporary():
    s = os.statvfs(os.environ.get("TMPDIR") or "/tmp")
    return s.f_bavail * s.f_frsize >> 20


def system():
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except (OSError, AttributeError):
        name = ""
    return ", ".join(x for x in (platform.platform(terse=True), name, "python " + platform.python_version()) if x)


def first_line(argv):
    return (output(argv).splitlines() or [""])[0].strip()


def build_words(build):
    """The compiler and the options of a build directory."""
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
            words = json.load(f)[0]["command"].split()
        with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as f:
            options = {x["name"]: x["value"] for x in json.load(f)}
    except (OSError, ValueError, LookupError):
        return ""
    compiler = [os.path.basename(w) for w in itertools.takewhile(lambda w: not w.startswith("-"), words)]
    return "%s, -O%s, sanitizers %s" % (" ".join(compiler), options.get("optimization"),
                                       options.get("b_sanitize") or "none")


def environment():
    """The set variables that affect drivers, loaders or the tests."""
    return " ".join("%s=%s" % (k, v) for k, v in sorted(os.environ.items())
                    if k.split("_")[0] in ("LP", "VK", "VYRE", "MESA", "ASAN", "LSAN", "UBSAN", "GALLIUM"))


def compilers(build):
    found = ["%s %s" % (name, re.search(r"\d+(\.\d+)+", line).group()) for name, line in
             ((n, first_line([n, "--version"])) for n in ("gcc", "clang", "meson", "ninja"))
             if re.search(r"\d+(\.\d+)+", line)]
    words = build and build_words(build)
    return ", ".join(found) + (words and "; this build: " + words)


def drivers(command, env):
    """Devices as `vyre-grad devices` lists them; without the command, installed driver files."""
    lines = [line.strip() for line in output([command, "devices"], env=env).splitlines()] if command else []
    named = ["%s: %s" % (a.split(None, 1)[1] if a[:1].isdigit() else a, b) for a, b in zip(lines, lines[1:])
             if b.startswith("Vulkan")]
    if named:
        return "; ".join(named)
    wanted = os.environ.get("VK_DRIVER_FILES", os.environ.get("VK_ICD_FILENAMES", ""))
    files = wanted.split(":") if wanted else sorted(glob.glob("/usr/share/vulkan/icd.d/*.json"))
    package = output(["dpkg-query", "-W", "-f=${Package} ${Version}", "mesa-vulkan-drivers"])
    return ", ".join(os.path.basename(f) for f in files) + (package and " (%s)" % package) or "none"


def describe(build="", env=None):
    """Lines for a report; `env` is what the command is run with."""
    command = os.path.join(build, "tools", "vyre-grad") if build else ""
    lines = ["processor: " + processor(), "memory: " + memory(), "system: " + system(),
            "compilers: " + compilers(build),
            "vulkan: " + drivers(command if command and os.path.exists(command) else "", env)]
    return lines + ["environment: " + environment()] * bool(environment())


if __name__ == "__main__":
    print("\n".join(describe(os.path.abspath(sys.argv[1]) if sys.argv[1:] else "")))
