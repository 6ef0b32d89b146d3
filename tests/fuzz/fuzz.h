// SPDX-License-Identifier: MIT
// fuzz.h: common declarations of the fuzzing harnesses in this folder.
//
// A harness is one file with LLVMFuzzerTestOneInput.  It is linked twice: with libFuzzer (clang
// with sanitizers: build option `fuzzers`), and with replay.c, whose main runs files, on every
// build.
#ifndef VYRE_FUZZ_H
#define VYRE_FUZZ_H

#include "ir/core/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Prints the text and aborts unless `holds`: both mains treat that as a finding.
void require(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A usable diagnostic: it has a code and a text, and can be formatted with the source.
void require_diag(const vy_diag *d, const char *source, size_t size);
// print → parse → print is a fixed point and gives an equal module; so does the binary form.
void require_round_trip(const vy_module *m, const char *what);
// All of the above for everything that the library makes from a valid module: optimised, derived,
// compiled, interpreted.  `choice`: bits that select levels and options.
void exercise(const vy_module *m, uint32_t choice);
// The module that its text parses to.
vy_module *reparsed(const vy_module *m, const char *what);
// Runs the program on small made-up data, unchanged, and read back and optimised to `level`: the
// bits must be the same.
void exercise_eval(const vy_module *m, uint32_t program, int level);
// Does the program have a data race on the same data?
bool exercise_races(const vy_module *m, uint32_t program);

#endif
