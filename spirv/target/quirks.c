// SPDX-License-Identifier: MIT
// quirks.c: the table of quirks.h, and which driver has which quirk.
//
// Mesa's drivers share a compiler (NIR), and so its faults, up to the version that fixes them;
// llvmpipe's own code generator behind it adds others.
#include "spirv/quirks.h"

#include <string.h>

enum { MESA = 1, LAVAPIPE = 2, NEVER = 0xffff };

static const struct {
    const char *name, *what;
    uint8_t drivers;
    uint16_t right; // from this major version
} quirks[] = {
#define X(id, name, drivers, right, what) {name, what, drivers, right},
    VY_QUIRKS(X)
#undef X
};

static const char *const drivers[] = {"any", "mesa", "lavapipe", "other", "gpu"};

const char *vy_quirk_name(uint32_t index)
{
    return index < VY_QUIRK_COUNT ? quirks[index].name : NULL;
}

const char *vy_quirk_text(uint32_t index)
{
    return index < VY_QUIRK_COUNT ? quirks[index].what : NULL;
}

const char *vy_driver_name(vy_driver driver)
{
    return driver < VY_DRIVER_COUNT ? drivers[driver] : NULL;
}

bool vy_driver_from_name(const char *name, vy_driver *out)
{
    for (uint32_t k = 0; k < VY_DRIVER_COUNT; k++)
        if (!strcmp(name, drivers[k])) return *out = (vy_driver)k, true;
    return false;
}

static vy_quirks quirks_of(uint8_t whose, uint32_t version)
{
    vy_quirks all = 0;
    for (uint32_t k = 0; k < VY_QUIRK_COUNT; k++)
        if (quirks[k].drivers & whose && version < quirks[k].right) all |= 1u << k;
    return all;
}

vy_quirks vy_driver_quirks(vy_driver driver)
{
    switch (driver) {
    case VY_DRIVER_MESA:
    case VY_DRIVER_GPU: return quirks_of(MESA, 0);
    case VY_DRIVER_LAVAPIPE: return quirks_of(MESA | LAVAPIPE, 0);
    case VY_DRIVER_OTHER: return 0;
    default: return VY_QUIRKS_ALL;
    }
}

// VkDriverId.  Venus passes modules on to a driver that it does not name, and a driver newer than
// this list may share Mesa's compiler: both get all quirks.
vy_quirks vy_device_quirks(uint32_t driver_id, uint32_t major)
{
    enum { UNKNOWN = 0, LLVMPIPE = 13, VENUS = 22, LAST = 27 };
    static const uint8_t mesa[] = {3, 6, 18, 19, 20, 23, 24, 25, 26}; // RADV, ANV, Turnip, …
    if (driver_id == UNKNOWN || driver_id == VENUS || driver_id > LAST) return VY_QUIRKS_ALL;
    if (driver_id == LLVMPIPE) return quirks_of(MESA | LAVAPIPE, major);
    return memchr(mesa, (int)driver_id, sizeof mesa) ? quirks_of(MESA, major) : 0;
}
