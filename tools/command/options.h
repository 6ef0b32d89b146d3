// SPDX-License-Identifier: MIT
// options.h: the verbs and options of the command.
#ifndef VYRE_TOOL_OPTIONS_H
#define VYRE_TOOL_OPTIONS_H

#include "tools/data/tool.h"

// What a verb takes beside the options that all take: groups of options (options_table.c).  An
// option of a group that is not in the verb's row is refused.
enum {
    TAKES_FILE = 1,    // FILE
    TAKES_PROGRAM = 2, // which one, of what, how it is derived and optimised: docs/language.md 10.4
    TAKES_DUMP = 4,    // --dump-after
    TAKES_OUTPUT = 8,  // -o
    TAKES_JSON = 16,   // --json: errors, and results
    TAKES_SHAPES = 32, // what gives sizes
    TAKES_DATA = 64,   // contents, results, and what runs it
    TAKES_DEVICE = 128, // --device
    HAS_RESULTS = 256,  // they are text, or one JSON object: -o x.json writes that
    TAKES_WRT = 512,    // by what it is derived, how often, from which cotangents
    TAKES_WORD = 1024,  // one that is no file
    // Most verbs'.
    TAKES_MODULE = TAKES_FILE | TAKES_PROGRAM | TAKES_WRT | TAKES_DUMP | TAKES_OUTPUT | TAKES_JSON,
    TAKES_RUN = TAKES_MODULE | HAS_RESULTS | TAKES_SHAPES | TAKES_DATA | TAKES_DEVICE,
};

// X(ID, name, function, what it takes, what it does)
#define VERBS(X)                                                                                   \
    X(GRAD, "grad", verb_grad, TAKES_MODULE, "reverse mode: writes the backward program(s)")       \
    X(JVP, "jvp", verb_grad, TAKES_MODULE, "forward mode: writes the program of tangents")         \
    X(COMPILE, "compile", verb_compile, TAKES_MODULE, "forward program to SPIR-V")                 \
    X(RUN, "run", verb_run, TAKES_RUN, "runs a program, or its derivative, on given data")         \
    X(CHECK, "check", verb_check, TAKES_RUN, "verifies the derivative; exit 3 on failure")         \
    X(PRINT, "print", verb_print, TAKES_MODULE & ~TAKES_DUMP,                                      \
      "parses, checks and prints the canonical text")                                              \
    X(EXPLAIN, "explain", verb_explain, TAKES_MODULE | HAS_RESULTS | TAKES_SHAPES,                 \
      "says how each gradient is accumulated and what is stored")                                  \
    X(BENCH, "bench", verb_bench, TAKES_RUN, "times forward and derivative on the device")         \
    X(FIT, "fit", verb_fit, TAKES_RUN & ~TAKES_WRT, "trains parameters on given data")             \
    X(INSPECT, "inspect", verb_inspect, TAKES_MODULE | HAS_RESULTS | TAKES_DEVICE,                 \
      "what a driver's compiler makes of each kernel")                                             \
    X(INFO, "info", verb_info, TAKES_MODULE | HAS_RESULTS | TAKES_DEVICE,                          \
      "parameters, bindings, shapes, push constants, device features")                             \
    X(DEVICES, "devices", verb_devices, TAKES_OUTPUT | TAKES_JSON | HAS_RESULTS | TAKES_DEVICE,    \
      "lists Vulkan devices and what each supports")                                               \
    X(EXPLAIN_ERROR, "explain-error", verb_explain_error, TAKES_WORD,                              \
      "CODE: what a message's code means, and what to do")                                         \
    X(COMPLETIONS, "completions", verb_completions, TAKES_WORD,                                    \
      "bash|zsh|fish: what completes these verbs and options in that shell")                       \
    X(MAN, "man", verb_man, TAKES_OUTPUT, "the manual page, for man -l")

typedef enum verb {
#define X(id, ...) VERB_##id,
    VERBS(X)
#undef X
        VERB_COUNT
} verb;

typedef enum engine { ENGINE_VULKAN, ENGINE_EVAL } engine;
enum { SEED_ONES, SEED_BUFFER };
enum { CHECKPOINT_AUTO, CHECKPOINT_NONE, CHECKPOINT_SQRT };
enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum { EVAL_DECLARED, EVAL_F64 };
enum { VALIDATE_AUTO, VALIDATE_ALWAYS };
enum { ALLOW_NOTHING, ALLOW_OUT_OF_RANGE };

typedef struct options {
    verb verb;
    const char *file, *entry; // file: or the word of a verb that takes one
    const char *topic;        // of `help`, where it is no verb
    const char *program, *name, *output, *dump_after, *device, *driver, *groups, *against,
        *tolerance;
    const char *optimizer, *lr, *batch, *shard, *resume, *write_pipeline, *plot;
    names of, wrt, enable, params; // split at commas
    names set, in, out, ct, dot, define, include, spec, shape, sampler, assume, tune; // as written
    bool with_value, deterministic, precise, fast_math, unchecked, lines, no_validate, keep_domain,
        frames;
    bool quiet, verbose, json, grad, jvp, report, peak, help, version;
    int seed, accumulate, checkpoint, color, engine, eval_type, level, target, written_for, allow,
        validate;
    uint64_t tape_limit, batches, order, timeout, subgroup_size, shuffle, runs, samples, coarsen;
    uint64_t steps, checkpoint_every, parts;
    names owned; // strings of ours among the above
} options;

// Reads argv.  False with *d after a mistake; what was read before it (color, json) stays.
bool options_read(options *o, int argc, char **argv, vy_diag *d);
void options_free(options *o);
const char *verb_name(verb v);
bool verb_takes(verb v, uint32_t group); // any of these
const char *verb_help(verb v);
// The options that a verb takes, each under one name ("--of", "-D"), for completions.
typedef struct listed_option {
    const char *name, *argument, *help; // name NULL: past the last; argument NULL: none
} listed_option;
listed_option options_listed(verb v, uint32_t index);
// Text of --help: of one verb, or VERB_COUNT for all.
void options_help(verb v, text *out);

#endif
