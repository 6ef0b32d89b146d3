// SPDX-License-Identifier: MIT
// bench.h: what the files of `vyre-grad bench` share.
#ifndef VYRE_TOOL_BENCH_H
#define VYRE_TOOL_BENCH_H

#include "tools/command/runner.h"
#include "tools/verbs/bench/yardstick.h"

enum { LANE_FORWARD, LANE_DERIVATIVE, LANE_AGAINST, LANE_COUNT };

typedef struct lane { // timed alternately with the others; absent if it has no times
    const char *title;
    binding data;
    runner runner;
    bool upload; // has `inout` buffers, which every run must find as they were
    double *ms;
    // CPU time of this process meanwhile, in ms: what a device made of software really takes.
    double *cpu;
    double median, least, most, cpu_median;
    uint64_t bytes; // of bound buffers: `in` read, `out` written, `inout` both; or as a plan states
    vy_amount flops; // float operations of one run, counted statically (ir/cost.h), or as stated
} lane;

// How far the gradient by hand is from ours: |ours − theirs| over |ours| + the root mean square of
// ours.
typedef struct difference {
    char buffer[80];
    uint64_t index; // of the worst element
    double ours, theirs, relative;
} difference;

typedef struct peak {    // measured; 0: not
    double bytes, flops; // per second: read and written by a copy; of multiply-adds, two each
} peak;

typedef struct benchmark {
    lane lanes[LANE_COUNT];
    vys_entry what;  // of the source
    specs in, given; // given: cotangents, or tangents
    names seeds;     // whose cotangents are buffers
    yardstick hand;
    bool stated_bytes, stated_flops;
    difference worst;             // `buffer` empty: nothing was compared
    uint64_t compared, undefined; // elements: with a number on one side at least; NaN on both
    double tolerance;
    peak peak;
} benchmark;

double lane_rate(const lane *l);      // GB/s; negative: not known
double lane_flop_rate(const lane *l); // GFLOP/s; negative: the operations depend on data

// bench_against.c: loads the plan and binds it to the data of the other two, whose forward results
// are read; then tells whether what it computed is what ours did (E0813).
bool against_bind(benchmark *b, command *c, vy_diag *d);
bool against_compare(benchmark *b, vy_diag *d);
// peak.c: measures the device, which is open.
bool peak_measure(peak *p, command *c, vy_diag *d);
// bench_print.c
bool bench_print(const benchmark *b, command *c, const char *device, vy_diag *d);

#endif
