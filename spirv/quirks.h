// SPDX-License-Identifier: MIT
// quirks.h: faults of drivers that SPIR-V is written around.
//
// Some drivers miscompile correct modules or never finish compiling them.  One row for each such
// fault: its bit, its name, which drivers have it, the first version that fixes it, and the effect.
// Modules for no driver in particular work around all of them, since a file may be loaded anywhere;
// options (vy_spirv_options.spared) and sessions drop the workarounds that the driver at hand does
// not need.  Each workaround is a file of spirv/target/; its cost is in docs/performance.md, and
// tests/unit/spirv/test_quirks.c runs programs that fail without it.
#ifndef VYRE_QUIRKS_H
#define VYRE_QUIRKS_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(ID, name, drivers: MESA (all of Mesa's) or LAVAPIPE, first fixed major version or NEVER, text)
#define VY_QUIRKS(X)                                                                                \
    X(GUESSED_BOUNDS, "guessed_bounds", MESA, 25,                                                   \
      "the constant operand of a minimum is taken for a loop's trip count")                         \
    X(GUESSED_LENGTHS, "guessed_lengths", MESA, 25,                                                 \
      "loops tested at the end, unrolled by an array's length, read wrong elements")                \
    X(WIDENED_SIGNS, "widened_signs", MESA, 25, "i64(x) < 0 is wrong after OpSConvert")             \
    X(MANY_WAYS, "many_ways", LAVAPIPE, NEVER,                                                      \
      "compiling an index with very many operand paths never ends")                                 \
    X(ROUNDED_DOUBLES, "rounded_doubles", LAVAPIPE, NEVER,                                          \
      "f64 without AVX-512: round(3.5) is 3, trunc(33554432.5) is that itself")                     \
    X(FOLDED_ZEROS, "folded_zeros", LAVAPIPE, NEVER,                                                \
      "x * 0 and 0 / x of an infinity or NaN are 0, not NaN; of a negative x, 0 and not -0; x / 0 " \
      "is anything")                                                                                \
    X(DEEP_UNROLLING, "deep_unrolling", LAVAPIPE, NEVER,                                            \
      "unrolled iterations are nested in one another, beyond the depth that it supports")

typedef enum vy_quirk {
#define X(id, ...) VY_QUIRK_INDEX_##id,
    VY_QUIRKS(X)
#undef X
        VY_QUIRK_COUNT
} vy_quirk;
typedef uint32_t vy_quirks; // a set of them
#define VY_QUIRK_BIT(id) (1u << VY_QUIRK_INDEX_##id)
#define VY_QUIRKS_ALL ((1u << VY_QUIRK_COUNT) - 1)

VY_API const char *vy_quirk_name(uint32_t index); // NULL past the end
VY_API const char *vy_quirk_text(uint32_t index); // the effect; likewise

// The driver that will compile a module, whatever its version: any driver; any of Mesa's except
// lavapipe; lavapipe; any that is not Mesa's; any of a GPU.
typedef enum vy_driver {
    VY_DRIVER_ANY,
    VY_DRIVER_MESA,
    VY_DRIVER_LAVAPIPE,
    VY_DRIVER_OTHER,
    VY_DRIVER_GPU,
    VY_DRIVER_COUNT
} vy_driver;
VY_API const char *vy_driver_name(vy_driver driver); // "any", "mesa", "lavapipe", "other", "gpu"
VY_API bool vy_driver_from_name(const char *name, vy_driver *out);

VY_API vy_quirks vy_driver_quirks(vy_driver driver);
// The quirks of the driver with this VkDriverId and major version (0: unknown).  All of them for a
// driver_id that is 0 or not known here.
VY_API vy_quirks vy_device_quirks(uint32_t driver_id, uint32_t major);

#ifdef __cplusplus
}
#endif
#endif
