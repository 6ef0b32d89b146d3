// SPDX-License-Identifier: MIT
// module.c: see module.h.
#include "tools/data/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef MODULE_DIR // the build says where it installs them
#define MODULE_DIR "/usr/local/lib/vyre"
#endif

enum { LONGEST = 40 }; // name of a module

void *module_load(const char *file, char why[200])
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - LONGEST - 1);
    if (n > 0) path[n] = 0;
    char *slash = n > 0 ? strrchr(path, '/') : NULL;
    if (slash) snprintf(slash + 1, LONGEST, "%s", file);
    if (!slash || access(path, F_OK)) snprintf(path, sizeof path, "%s/%s", MODULE_DIR, file);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) snprintf(why, 200, "%s", dlerror());
    return library;
}
