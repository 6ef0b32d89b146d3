// SPDX-License-Identifier: MIT
// target.c: chooses the hooks of a module.
//
// A hook for each fault that is not spared (quirks.h), and for the options of a device that ends
// loops (vy_spirv_options.watch_loops, lanes).  With all faults spared and neither option set there
// are none, and the SPIR-V depends on the program alone.
#include "spirv/target/target.h"

vy_hooks vy_target_hooks(const vy_spirv_options *o)
{
    const vy_quirks have = VY_QUIRKS_ALL & ~o->spared;
    const bool bounds = have & VY_QUIRK_BIT(GUESSED_BOUNDS);
    return (vy_hooks){
        .bound = bounds ? vy_mesa_bound : NULL,
        .answer = bounds ? vy_mesa_answer : NULL,
        .test_first = have & VY_QUIRK_BIT(GUESSED_LENGTHS) ? vy_mesa_test_first : NULL,
        .widen = have & VY_QUIRK_BIT(WIDENED_SIGNS) ? vy_mesa_widen : NULL,
        .rounded = have & VY_QUIRK_BIT(ROUNDED_DOUBLES) ? vy_lavapipe_rounded : NULL,
        .factor = have & VY_QUIRK_BIT(FOLDED_ZEROS) ? vy_lavapipe_factor : NULL,
        .address = have & VY_QUIRK_BIT(MANY_WAYS) ? vy_lavapipe_address : NULL,
        .loop_control = have & VY_QUIRK_BIT(DEEP_UNROLLING) ? vy_lavapipe_loop_control : NULL,
        .lanes = o->lanes ? vy_lavapipe_lanes : NULL,
        .root = o->lanes ? vy_lavapipe_root : NULL,
        .end = o->watch_loops ? vy_lavapipe_end : NULL,
    };
}
