// SPDX-License-Identifier: MIT
// keep_drivers.c: linked into every program of a sanitizer build that opens Vulkan (meson.build),
// not into a library.
//
// The Vulkan loader unloads drivers and layers with the instance, but LeakSanitizer runs at the
// very end: a driver's global variables are then no longer roots, and what it leaked comes from an
// "unknown module" that no suppression (tests/lsan.supp) can name.  So nothing is unloaded here.
#include <dlfcn.h>

// A program's own definition takes precedence over those of libc and of the sanitizers, also for
// calls from the loader.
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    (void)handle;
    return 0;
}

// Drivers and layers are C++ without frame pointers: stacks of their leaks end at operator new,
// which without a symbolizer is only known to be in libstdc++.  Our own memory comes from malloc.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:operator new\nleak:libstdc++.so\n"; }
