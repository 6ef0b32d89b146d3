// SPDX-License-Identifier: MIT
// keep_drivers.c: part of every program of a sanitizer build that opens Vulkan (meson.build), of no
// library.
//
// The Vulkan loader unloads drivers and layers with the instance.  LeakSanitizer looks at the very
// end: a driver's global variables no longer count as places that hold memory, and what it lost
// comes from an "unknown module" that no suppression (tests/lsan.supp) can name.  So nothing is
// unloaded here.
#include <dlfcn.h>

// The definition of the program goes before those of libc and of the sanitizers, also for the
// loader.
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    (void)handle;
    return 0;
}

// Drivers and layers are C++ without frame pointers: the stacks of what they lose end at operator
// new, without a symbolizer in libstdc++.  Our own memory comes from malloc.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:operator new\nleak:libstdc++.so\n"; }
