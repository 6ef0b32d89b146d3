// SPDX-License-Identifier: MIT
// driver.c: what --driver means: a driver that is installed, one that tools/drivers has fetched, a
// driver's file, or an AMD chip, for which RADV compiles without hardware.
#include "tools/command/probe.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// name → what its file is called; `fetched`: in tools/drivers' folder, not on the system.
static const struct known {
    const char *name, *file;
    bool fetched;
} known[] = {
    {"lavapipe", "lvp_icd", false},
    {"radv", "radeon_icd", false},
    {"intel", "intel_icd", false},
    {"nvidia", "nvidia_icd", false},
    {"mesa25", "lvp_icd", true},
    {"radv25", "radeon_icd", true},
    {"swiftshader", "vk_swiftshader_icd", true},
};

static char *first_match(const char *pattern)
{
    glob_t found;
    char *path = NULL;
    if (glob(pattern, 0, NULL, &found) == 0) {
        path = strdup(found.gl_pathv[0]);
        globfree(&found);
    }
    return path;
}

static char *installed(const char *file)
{
    static const char *const folders[] = {"/etc", "/usr/local/share", "/usr/share"};
    char pattern[300], *path = NULL;
    for (size_t i = 0; i < COUNT_OF(folders) && !path; i++) {
        snprintf(pattern, sizeof pattern, "%s/vulkan/icd.d/%.100s*.json", folders[i], file);
        path = first_match(pattern);
    }
    return path;
}

// Where tools/drivers and tools/swiftshader put what they fetch.
static char *fetched(const char *file)
{
    const bool swiftshader = strncmp(file, "vk_", 3) == 0;
    const char *own = getenv(swiftshader ? "VYRE_SWIFTSHADER" : "VYRE_DRIVERS");
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[4000], path[4200];
    if (own && *own)
        snprintf(folder, sizeof folder, "%s", own);
    else if (cache && *cache)
        snprintf(folder, sizeof folder, "%s/vyre-%s", cache,
                 swiftshader ? "swiftshader" : "drivers");
    else
        snprintf(folder, sizeof folder, "%s/.cache/vyre-%s", home ? home : "",
                 swiftshader ? "swiftshader" : "drivers");
    snprintf(path, sizeof path, "%s%s/%s.json", folder, swiftshader ? "" : "/mesa25", file);
    return access(path, R_OK) ? NULL : strdup(path);
}

static const struct known *find_known(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i].name) == n && !strncmp(known[i].name, name, n)) return &known[i];
    return NULL;
}

static bool take_file(driver_choice *out, char *file, vy_diag *d)
{
    out->file = file;
    if (!file) return fail_memory(d);
    const char *slash = strrchr(file, '/');
    const int n = slash ? (int)(slash - file) : 0;
    const size_t size = strlen(file) + 8;
    out->libraries = malloc(size);
    if (!out->libraries) return fail_memory(d);
    snprintf(out->libraries, size, "%.*s/lib", n, file);
    if (slash && !access(out->libraries, R_OK)) return true;
    free(out->libraries);
    out->libraries = NULL;
    return true;
}

static bool take_chip(driver_choice *out, const char *chip, char *file, vy_diag *d)
{
    if (!file)
        return fail(d, TOOL_DEVICE,
                    "`tools/drivers env radv25` fetches one, or install mesa-vulkan-drivers",
                    "--driver %.60s: there is no RADV here, which compiles for AMD chips", chip);
    out->chip = strdup(chip);
    return take_file(out, file, d) && (out->chip || fail_memory(d));
}

static bool unknown_driver(const char *wanted, vy_diag *d)
{
    return fail(
        d, TOOL_DEVICE,
        "a driver is lavapipe, radv, intel, nvidia, or mesa25, radv25, swiftshader "
        "(`tools/drivers env NAME` fetches them), PATH of a driver's .json, or an AMD chip, such as navi21",
        "--driver %.200s: there is no such driver here", wanted);
}

bool driver_find(const char *wanted, driver_choice *out, vy_diag *d)
{
    *out = (driver_choice){0};
    if (!wanted) return true;
    const size_t n = strlen(wanted), cut = strcspn(wanted, ":");
    if (!n) return unknown_driver(wanted, d);
    if (strchr(wanted, '/') || (n > 5 && !strcmp(wanted + n - 5, ".json"))) {
        if (access(wanted, R_OK)) return unknown_driver(wanted, d);
        return take_file(out, realpath(wanted, NULL), d);
    }
    const struct known *k = find_known(wanted, cut);
    char *file = !k ? NULL : k->fetched ? fetched(k->file) : installed(k->file);
    if (k && !file) return unknown_driver(wanted, d);
    if (k && wanted[cut]) return take_chip(out, wanted + cut + 1, file, d);
    if (k) return take_file(out, file, d);
    file = installed(wanted);
    if (file) return take_file(out, file, d);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)wanted[i]) && wanted[i] != '_')
            return unknown_driver(wanted, d);
    file = fetched("radeon_icd");
    return take_chip(out, wanted, file ? file : installed("radeon_icd"), d);
}

void driver_free(driver_choice *choice)
{
    free(choice->file);
    free(choice->libraries);
    free(choice->chip);
    *choice = (driver_choice){0};
}
