// SPDX-License-Identifier: MIT
// quirks.h: faults of drivers that SPIR-V is written around.
//
// Some drivers compute wrong numbers from a right module, or never end.  One row for each such
// fault: its bit, its name, whose drivers have it, the first version of them that is right, and
// what happens.  Modules for no driver in particular are written around all of them, since nobody
// knows where a file will be loaded; options (vy_spirv_options.spared) and sessions leave out what
// the driver at hand does not need.  The code for a fault is a file of spirv/target/; what it costs
// stands in docs/performance.md, and tests/unit/test_quirks.c runs what goes wrong without it.
#ifndef VYRE_QUIRKS_H
#define VYRE_QUIRKS_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(ID, name, drivers: MESA (all of Mesa's) or LAVAPIPE, first right major version or NEVER, what)
#define VY_QUIRKS(X)                                                                               \
    X(GUESSED_BOUNDS, "guessed_bounds", MESA, 25,                                                  \
      "the constant of a minimum is taken for how often a loop runs")                              \
    X(GUESSED_LENGTHS, "guessed_lengths", MESA, 25,                                                \
      "iterations guessed from an array's length read wrong elements, if tested at the end")       \
    X(WIDENED_SIGNS, "widened_signs", MESA, 25, "i64(x) < 0 is wrong after OpSConvert")            \
    X(MANY_WAYS, "many_ways", LAVAPIPE, NEVER, "never done with an index made in very many ways")  \
    X(ROUNDED_DOUBLES, "rounded_doubles", LAVAPIPE, NEVER,                                         \
      "f64 without AVX-512: round(3.5) is 3, trunc(33554432.5) is that itself")                    \
    X(DEEP_UNROLLING, "deep_unrolling", LAVAPIPE, NEVER,                                           \
      "iterations written out go into one another, beyond the nesting that it bears")

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
VY_API const char *vy_quirk_text(uint32_t index); // what happens; likewise

// Whose driver will compile a module, of any version: any there is; Mesa's, but for lavapipe;
// lavapipe; one that is not Mesa's.
typedef enum vy_driver {
    VY_DRIVER_ANY,
    VY_DRIVER_MESA,
    VY_DRIVER_LAVAPIPE,
    VY_DRIVER_OTHER,
    VY_DRIVER_COUNT
} vy_driver;
VY_API const char *vy_driver_name(vy_driver driver); // "any", "mesa", "lavapipe", "other"
VY_API bool vy_driver_from_name(const char *name, vy_driver *out);

// The quirks of such a driver.
VY_API vy_quirks vy_driver_quirks(vy_driver driver);
// Of the driver with this VkDriverId and major version (0: unknown).  Of a driver_id that is 0, or
// not known here: all.
VY_API vy_quirks vy_device_quirks(uint32_t driver_id, uint32_t major);

#ifdef __cplusplus
}
#endif
#endif
