// SPDX-License-Identifier: MIT
// amd_loops.h: what the innermost loops of a kernel for AMD's GPUs execute in each iteration.
#ifndef VYRE_TOOL_AMD_LOOPS_H
#define VYRE_TOOL_AMD_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct amd_loop {
    uint32_t instructions;
    uint32_t multiply_adds; // of floats; two in an instruction that does two
    uint32_t memory;        // instructions that load, store or add to memory, shared memory as well
} amd_loop;

// Counts them in an assembly as RADV's compiler prints it, in their order; of another compiler's
// text there are none.  Free *out.  False: out of memory.
bool amd_loops(const char *assembly, amd_loop **out, uint32_t *count);

#endif
