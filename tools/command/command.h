// SPDX-License-Identifier: MIT
// command.h: one run of the command, and the verbs.
#ifndef VYRE_TOOL_COMMAND_H
#define VYRE_TOOL_COMMAND_H

#include "tools/data/data.h"
#include "tools/data/file.h"
#include "tools/command/options.h"

#include "session/work.h"

typedef struct gpu gpu;           // gpu.h
typedef struct archives archives; // archive.c

typedef struct command {
    options o;
    text contents;             // of the file, as diagnostics show it
    text words;                // SPIR-V: the file, or what a compiler made of it
    vy_module *module;         // parsed
    vys_work work;             // its derivatives and their options
    const vy_module *final;    // a module that runs and will not be differentiated again, or NULL
    text out;                  // goes to stdout if the command succeeds
    text stream;               // --out NAME=@-: goes there instead
    outputs files;             // the same for files
    struct archives *archives; // of .npz: arrays that become files at the end (archive.h)
    gpu *gpu;                  // once opened
    bool ends_reported;        // gradients that are zero by rule have been reported
    bool validation_reported;  // that a module is not validated has been said
    bool color;                // of stderr
    bool sampler_assumed;      // of a shader's samplers --sampler does not say all
    names shaped;              // buffers of a shader that got the shape of their flat indices
    const char *about;         // the file of `contents` and of places, where it is not o.file
    bool abandoned;            // the driver still executes a run that was given up
    bool muted;                // another process reports the error
    int status;                // of a run without error; STATUS_CHECK: `check` found a fault
} command;

// Each returns false with *d.
bool verb_grad(command *c, vy_diag *d); // and jvp
bool verb_compile(command *c, vy_diag *d);
bool verb_print(command *c, vy_diag *d);
bool verb_run(command *c, vy_diag *d);
bool verb_explain(command *c, vy_diag *d);
bool verb_check(command *c, vy_diag *d);
bool verb_bench(command *c, vy_diag *d);
bool verb_fit(command *c, vy_diag *d);
bool verb_info(command *c, vy_diag *d);
bool verb_inspect(command *c, vy_diag *d);
bool verb_devices(command *c, vy_diag *d);
bool verb_explain_error(command *c, vy_diag *d);
bool verb_completions(command *c, vy_diag *d);
bool verb_man(command *c, vy_diag *d);
bool help_topic(command *c, vy_diag *d); // c->o.topic

// source.c
bool load_module(command *c, vy_diag *d); // reads and parses the file into c->module
bool load_again(command *c, vy_module **out, vy_diag *d); // parses the same text again

// Writes what the options request into c->work; the steps below call it themselves.
bool take_settings(command *c, vy_diag *d);
// The program or pipeline that -p names; without -p the only one, else the last pipeline.
bool name_fields(command *c, vy_diag *d); // fields.c, once the module is read
bool select_entry(const command *c, const vy_module *m, vys_entry *out, vy_diag *d);
static inline bool derives_forward(const command *c) { return c->o.jvp || c->o.verb == VERB_JVP; }
// Differentiates into c->work.derived as the options request (--order too).  `seeds`: names whose
// cotangent is a buffer; if there are any, all cotangents of that order are buffers.
bool derive(command *c, vys_entry from, const names *seeds, vy_diag *d);
// With --deterministic: *what becomes its equivalent in c->work.ordered, where no sum depends on
// the order of invocations.  The module to optimise and run is then forward_module.
bool order_sums(command *c, vys_entry *what, vy_diag *d);
static inline vy_module *forward_module(const command *c)
{
    return c->work.ordered ? c->work.ordered : c->module;
}
bool derive_with_less(command *c, vy_diag *d); // vys_derive_with_less
// Runs the optimiser; the interpreter's programs stay exact and guarded.  `data`: what the result
// will run on; NULL: any data.
bool optimize(command *c, vy_module *m, bool for_eval, vys_binding *data, vy_diag *d);
// The same where the module runs here and is not differentiated: see `final` in vy_opt_options.
bool optimize_final(command *c, vy_module *m, bool for_eval, vys_binding *data, vy_diag *d);

// emit.c: NAME.vyre, .spv, .h and .json of the module's result, which it optimises.
bool write_all_forms(command *c, vy_module *m, const char *folder, vy_diag *d);
// results.c: --out NAME=@FILE.  Whether an array can be written so; and writing it:
// as .npy, as the picture .png or several, or its bytes.
bool check_output(const spec *to, const array *a, vy_diag *d);
bool write_array(command *c, const spec *to, const array *a, vy_diag *d);

// report.c
void report(const command *c, const vy_diag *d, bool json); // stderr; json: stdout too
void note(const command *c, const char *format, ...)        // stderr, unless --quiet
    __attribute__((format(printf, 2, 3)));
void verbose(const command *c, const char *format, ...) // stderr, with --verbose
    __attribute__((format(printf, 2, 3)));

// progress.c: between these calls a line on stderr counts seconds, from the second one on, if
// stderr is a terminal.
void progress_begin(const command *c, const char *what);
void progress_end(void);

#endif
