// SPDX-License-Identifier: MIT
// row_lanes.h: what row_choice.c chooses for row_lanes.c.
#ifndef VYRE_ROW_LANES_H
#define VYRE_ROW_LANES_H

#include "ir/pass/pass.h"

enum {
    VY_ROW_LANES = 64,   // every device has them
    VY_ROW_PER_LANE = 4, // iterations of a lane between two barriers
    VY_ROW_PARTS = 4,    // values that an iteration hands over, at most: 4 KiB of 32 bits
};

// What becomes of an instruction.
typedef enum vy_row_role {
    VY_ROW_OTHER,
    VY_ROW_LOOP, // each iteration is that of one lane
    VY_ROW_STEP, // of such a loop: all lanes run it for all iterations, in their order
} vy_row_role;

typedef struct vy_row_plan {
    uint8_t *role;  // by instruction: vy_row_role
    uint32_t *part; // by instruction that steps use: 1 + its array among those of its type
    uint32_t parts[VY_TYPE_COUNT]; // arrays of each type
    uint32_t loops;                // 0: the program stays as it is
} vy_row_plan;

// In the arena of `w`.  False: out of memory.
bool vy_choose_rows(vy_rewrite *w, const vy_opt_options *o, vy_row_plan *plan);

#endif
