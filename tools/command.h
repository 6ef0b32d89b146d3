// SPDX-License-Identifier: MIT
// command.h: one run of the command, and the verbs.
#ifndef VYRE_TOOL_COMMAND_H
#define VYRE_TOOL_COMMAND_H

#include "tools/file.h"
#include "tools/options.h"
#include "tools/runnable.h"

#include "autodiff/grad.h"

typedef struct gpu gpu; // gpu.h

struct binding; // bind.h

typedef struct command {
    options o;
    text contents;      // of the file
    vy_module *module;  // parsed
    vy_module *derived; // by derive(), if it was
    vy_module *ordered; // by order_sums(), if it was
    bool lean;          // --deterministic: terms of all invocations take more than the tape limit
    uint32_t
        storage; // how little derive() keeps: 0 what is fastest, 1 what must be, 2 … checkpoints
    const vy_module *final; // one that runs and that nobody differentiates any more, or NULL
    text out;               // goes to stdout when everything went well
    outputs files;          // the same for files
    gpu *gpu;               // once opened
    const struct binding
        *launch;       // while the optimiser runs: what its result will be run with, or NULL
    bool color;        // of stderr
    const char *about; // the file that `contents` and places are of, where it is not o.file
    int status;        // of a run without error; STATUS_CHECK: `check` found a fault
} command;

// Each returns false with *d.
bool verb_grad(command *c, vy_diag *d);
bool verb_compile(command *c, vy_diag *d);
bool verb_print(command *c, vy_diag *d);
bool verb_run(command *c, vy_diag *d);
bool verb_explain(command *c, vy_diag *d);
bool verb_check(command *c, vy_diag *d);
bool verb_bench(command *c, vy_diag *d);
bool verb_info(command *c, vy_diag *d);
bool verb_inspect(command *c, vy_diag *d);
bool verb_devices(command *c, vy_diag *d);

// source.c
bool load_module(command *c, vy_diag *d); // reads and parses the file into c->module

// The program or pipeline meant by -p; without: the only one, else the last pipeline.
bool select_runnable(const command *c, const vy_module *m, runnable *out, vy_diag *d);
// Differentiates into c->derived as the options say (--order too).  `seeds`: names whose cotangent is
// a buffer: then all cotangents of that order are.
bool derive(command *c, runnable from, const names *seeds, vy_diag *d);
// With --deterministic: *what becomes the same in c->ordered, where no sum depends on the order of
// invocations.  The module to optimise and run is then forward_module.
bool order_sums(command *c, runnable *what, vy_diag *d);
static inline vy_module *forward_module(const command *c)
{
    return c->ordered ? c->ordered : c->module;
}
// After an error: if it says that tapes are too large, and --checkpoint leaves the choice to us, sets
// c->storage to the next step, drops c->derived and the error: derive again.
bool derive_with_less(command *c, vy_diag *d);
// What derive() asks vy_grad for.  again: of a derivative; `results` takes the names of its outputs.
bool grad_request(const command *c, runnable from, bool again, bool seeded, names *results,
                  vy_grad_options *g, vy_diag *d);
// What optimize() asks vy_optimize for.
bool optimizer_request(command *c, bool for_eval, const struct binding *data, vy_opt_options *opt,
                       vy_diag *d);
// Runs the optimiser; the interpreter's programs stay exact and guarded.  `data`: what the result will
// be run with; NULL: anything.
bool optimize(command *c, vy_module *m, bool for_eval, struct binding *data, vy_diag *d);
// The same where the module runs here and is not differentiated: see `final` in vy_opt_options.
bool optimize_final(command *c, vy_module *m, bool for_eval, struct binding *data, vy_diag *d);

// report.c
void report(const command *c, const vy_diag *d, bool json); // stderr; json: stdout too
void note(const command *c, const char *format, ...)        // stderr, unless --quiet
    __attribute__((format(printf, 2, 3)));
void verbose(const command *c, const char *format, ...) // stderr, with --verbose
    __attribute__((format(printf, 2, 3)));

// progress.c: between these a line on stderr counts seconds, from the second on, if it is a terminal.
void progress_begin(const command *c, const char *what);
void progress_end(void);

#endif
