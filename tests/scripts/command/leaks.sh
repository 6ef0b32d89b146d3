#!/bin/sh
# SANITIZED
# Leaks in a Vulkan driver are reported with the driver's name, although the loader would unload it
# before leaks are looked for (tests/keep_drivers.c), so that tests/lsan.supp can suppress them; our
# own leaks are still found.
set -u
"$VYRE_GRAD" devices 2>/dev/null | grep -q features: || { echo "no Vulkan device"; exit 77; }
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
bad=0
wrong() { echo "wrong: $*"; bad=1; }

# A driver that leaks memory from C and is lavapipe otherwise.
real=$(python3 -c 'import json, os; p = os.environ["VK_DRIVER_FILES"].split(":")[0]
lib = json.load(open(p))["ICD"]["library_path"]
print(os.path.join(os.path.dirname(p), lib) if lib[0] == "." else lib)') || { echo "no driver file"; exit 77; }
cat >leaky.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
void *volatile lost;
static void *driver(void)
{
    static void *handle;
    if (!handle) handle = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    return handle;
}
static void *ask(const char *what, void *a, const char *b)
{
    void *(*f)(void *, const char *) = (void *(*)(void *, const char *))dlsym(driver(), what);
    return f ? f(a, b) : 0;
}
void *vk_icdGetInstanceProcAddr(void *a, const char *b) { return ask("vk_icdGetInstanceProcAddr", a, b); }
void *vk_icdGetPhysicalDeviceProcAddr(void *a, const char *b) { return ask("vk_icdGetPhysicalDeviceProcAddr", a, b); }
int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version)
{
    int (*f)(unsigned *) = (int (*)(unsigned *))dlsym(driver(), "vk_icdNegotiateLoaderICDInterfaceVersion");
    lost = malloc(128);
    lost = 0;
    return f(version);
}
END
cc -w -shared -fPIC -O1 -DREAL="\"$real\"" leaky.c -o libvulkan_leaky.so -ldl || exit 1
echo "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": \"$PWD/libvulkan_leaky.so\", \"api_version\": \"1.3.0\"}}" >leaky.json
echo 'program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }' >f.vyre

# run NAME=VALUE…: status of a run on that driver
run() {
    env VK_DRIVER_FILES="$PWD/leaky.json" VK_ICD_FILENAMES="$PWD/leaky.json" VYRE_DEVICE= "$@" \
        "$VYRE_GRAD" run f.vyre --in x=1,2 >out 2>err
    echo $?
}
[ "$(run)" = 99 ] || { wrong "a leak was not reported"; cat out err; }
grep -q 'libvulkan_leaky.so' err || { wrong "a leak without the driver's name"; cat err; }
{ cat "$SRC/tests/lsan.supp"; echo leak:libvulkan_leaky.so; } >more.supp
[ "$(run LSAN_OPTIONS="exitcode=99:suppressions=$PWD/more.supp")" = 0 ] || { wrong "a suppression by name does not hold"; cat err; }
exit $bad
