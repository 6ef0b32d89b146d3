// SPDX-License-Identifier: MIT
// options.h: the verbs and options of the command.
#ifndef VYRE_TOOL_OPTIONS_H
#define VYRE_TOOL_OPTIONS_H

#include "tools/tool.h"

// X(ID, name, takes a FILE, what it does; NULL: known, but refused in this version, so not listed)
#define VERBS(X)                                                                                   \
    X(GRAD, "grad", true, "reverse mode: writes the backward program(s)")                          \
    X(JVP, "jvp", true, NULL)                                                                      \
    X(COMPILE, "compile", true, "forward program to SPIR-V")                                       \
    X(RUN, "run", true, "runs a program, or its derivative, on given data")                        \
    X(CHECK, "check", true, "verifies the derivative; exit 3 on failure")                          \
    X(PRINT, "print", true, "parses, checks and prints the canonical text")                        \
    X(EXPLAIN, "explain", true, "says how each gradient is accumulated and what is stored")        \
    X(BENCH, "bench", true, "times forward and derivative on the device")                          \
    X(INSPECT, "inspect", true, "what a driver's compiler makes of each kernel")                   \
    X(INFO, "info", true, "parameters, bindings, shapes, push constants, device features")         \
    X(DEVICES, "devices", false, "lists Vulkan devices and what each supports")

typedef enum verb {
#define X(id, name, file, help) VERB_##id,
    VERBS(X)
#undef X
        VERB_COUNT
} verb;
#define VERB_BIT(id) (1u << VERB_##id)

typedef enum engine { ENGINE_VULKAN, ENGINE_EVAL } engine;
enum { SEED_ONES, SEED_BUFFER };
enum { CHECKPOINT_AUTO, CHECKPOINT_NONE, CHECKPOINT_SQRT };
enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum { EVAL_DECLARED, EVAL_F64 };
enum { ALLOW_NOTHING, ALLOW_OUT_OF_RANGE };

typedef struct options {
    verb verb;
    const char *file;
    const char *program, *output, *dump_after, *device, *driver, *groups, *against, *tolerance;
    names of, wrt, enable;               // split at commas
    names set, in, out, ct, dot, define; // as written
    bool with_value, deterministic, precise, fast_math, unchecked, lines, no_validate;
    bool quiet, verbose, json, grad, jvp, report, peak, help, version;
    int seed, accumulate, checkpoint, color, engine, eval_type, level, target, allow;
    uint64_t tape_limit, order, timeout, subgroup_size, shuffle, runs, samples, coarsen;
    names owned; // strings of ours among the above
} options;

// Reads argv.  False with *d after a mistake; what was read before it (color, json) stays.
bool options_read(options *o, int argc, char **argv, vy_diag *d);
void options_free(options *o);
const char *verb_name(verb v);
// Text of --help: of one verb, or VERB_COUNT for all.
void options_help(verb v, text *out);

#endif
