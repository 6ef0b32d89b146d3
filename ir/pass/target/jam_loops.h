// SPDX-License-Identifier: MIT
// jam_loops.h: which loops jam_loops.c takes, and what the copies of an iteration share.
#ifndef VYRE_PASS_JAM_LOOPS_H
#define VYRE_PASS_JAM_LOOPS_H

#include "ir/build/rewrite.h"

enum {
    VY_LEAST_JAMMED = 4,      // iterations that become one
    VY_LOOPS_JAMMED = 8,      // at most
    VY_LARGEST_JAMMED = 1024, // instructions that they are
};

typedef struct vy_loop_jam {
    vy_rewrite w;
    uint32_t *uses;    // by instruction
    uint32_t most;     // iterations that become one
    bool arrays_alone; // only loops that share elements of local arrays
    uint32_t loop;     // the one that was looked at last; by instruction of its body:
    uint8_t *differs;  // each copy has its own
    uint8_t *joint;    // the opening marker of a loop that the copies run together
    uint32_t *unit;    // what is copied at once; ascending, those of markers in common are odd
    uint8_t *written;  // by memory: the loop writes it
    uint32_t *access;  // accesses to what is written
    uint32_t accesses;
    // While a loop is built:
    uint32_t *maps[VY_LOOPS_JAMMED]; // by copy; [0] is that of the frame
} vy_loop_jam;

bool vy_loop_jam_tables(vy_loop_jam *x); // false: out of memory
// May several iterations of the loop be one?  Fills the tables.
bool vy_loop_jam_allowed(vy_loop_jam *x, uint32_t loop);
// By how much less its iterations then cost, in all, and how many become one; 0: that saves not
// enough, or the code would be long.
double vy_loop_jam_saves(const vy_loop_jam *x, uint32_t loop, uint32_t *factor);

#endif
