// SPDX-License-Identifier: MIT
// fit.h: one training, for the files of `vyre-grad fit`.
#ifndef VYRE_TOOL_FIT_H
#define VYRE_TOOL_FIT_H

#include "tools/command/runner.h"

#include "session/ranks.h"

// What a checkpoint file holds: everything that a step needs from earlier ones.
typedef struct saved_buffer {
    char *name;
    array value;
} saved_buffer;
// What a training is: options, a hash of its text, scalars, as words.
typedef struct part {
    char *name, *value;
} part;
typedef struct parts {
    part *data;
    uint32_t count;
} parts;
typedef struct saved {
    uint64_t identity, step;
    parts parts; // of which identity is; none in files of earlier versions
    saved_buffer *buffers;
    uint32_t count;
} saved;

enum { FIT_AGREEMENTS = 2 }; // before the first step: on data, and on code
// --shard: the processes of the training, and the rows that this one has.
typedef struct fit_ranks {
    void *library; // NULL: there is one process
    vys_comm comm;
    uint32_t agreed; // how often
    bool over;       // all ranks know that one has failed
    bool lost;       // they did not answer
    char device[16];
    names names;
    vys_shard shard;
    uint32_t parts, count; // of all ranks, of this one
    binding whole;         // all data
    binding code_data;     // of the longest part, for which …
    runner code;           // … the code was made
    vys_part *part;        // the first is fit.data and fit.run, others are in …
    binding *data;
    runner *run;
    vys_ranks all;
} fit_ranks;

typedef struct fit {
    // the request
    specs in, out;
    names zeros; // further SPECs: what begins as zeros
    names batch;
    uint64_t batch_rows;
    text optimiser; // its text, if it is the user's
    vy_train_options train;
    saved resumed;
    uint64_t *start; // of each parameter: a hash of what it begins as
    // the training
    vy_training made;
    uint64_t identity; // of what one step does
    binding data;
    runner run;
    fit_ranks ranks;
    uint64_t first, done; // steps: where it began, how far it is
    uint64_t window;      // most steps of one submission
    double *losses;       // by step, from `first`
    uint64_t loss_room;
    void *read;                // those of one window
    bool interrupted, stopped; // by SIGINT; because the loss is no finite number
    bool settled;              // because losses differ by no more than the tolerance
    double compile_ms, device_ms, began;
    double cpu_began;
} fit;

static inline bool fit_ended(const fit *f) { return f->stopped || f->settled; }
// Losses read in this run: of each step, and of the one that changed nothing.
static inline uint64_t fit_loss_count(const fit *f) { return f->done - f->first + fit_ended(f); }

// fit_buffers.c.  Kept in checkpoints: the parameters, what the optimiser has, `step`.
bound_buffer *fit_buffer(const fit *f, const char *name);
bool fit_is_kept(const fit *f, const bound_buffer *b);
uint64_t fit_contents(const fit *f, uint32_t parameter); // a hash of what the host has of it
// fit_options.c
bool fit_options(fit *f, command *c, vy_diag *d);
// fit_prepare.c: the module in c->work.derived, its data, code for the engine.
bool fit_prepare(fit *f, command *c, vy_diag *d);
bool fit_train(fit *f, command *c, vys_entry what, vy_diag *d); // its first half
bool fit_set_count(fit *f, uint64_t steps, vy_diag *d);         // of the next window
// fit_shard.c: --shard and --parts; what replaces f->run once f->data has all data.
bool fit_shard_options(fit *f, command *c, vy_diag *d);
uint64_t fit_shard_identity(const fit *f, const command *c, uint64_t identity);
bool fit_shard_prepare(fit *f, command *c, vy_diag *d);
void fit_shard_free(fit *f);
// All data: scalars and shapes of the training as a whole.
static inline const binding *fit_whole(const fit *f)
{
    return f->ranks.whole.buffers ? &f->ranks.whole : &f->data;
}
// fit_ranks.c
bool fit_ranks_open(fit *f, command *c, vy_diag *d);
bool fit_ranks_choose_device(fit *f, command *c, vy_diag *d); // if none is requested
// Are all ranks well?  Where one is not, *d says what this one prints, or c->muted.
bool fit_ranks_agree(fit *f, command *c, bool ok, vy_diag *d);
bool fit_ranks_same(fit *f, command *c, vy_diag *d); // do all have the same training and data?
// Between windows: the length of the next is rank 0's, an interrupt is everyone's, and parameters
// must be the same.
bool fit_ranks_pulse(fit *f, command *c, uint64_t *want, bool *interrupted, vy_diag *d);
void fit_ranks_close(fit *f, command *c, bool ok,
                     vy_diag *d); // does not return after a failed step
// fit_run.c: all windows.
bool fit_run(fit *f, command *c, vy_diag *d);
// fit_print.c
void fit_report(const fit *f, const command *c, bool last);
bool fit_print(fit *f, command *c, vy_diag *d);
// fit_plot.c: a picture of the losses, for c->files; false where it cannot be made.
bool fit_plot(const fit *f, command *c, vy_diag *d);
bool fit_plot_check(const char *path, vy_diag *d);
bool fit_is_size(const fit *f, const char *scalar); // what a step does depends on it
// fit_identity.c
uint64_t fit_hash(uint64_t hash, const void *data, size_t size); // FNV-1a
bool fit_parts(const fit *f, const command *c, parts *p, vy_diag *d);
bool parts_add(parts *p, const char *name, size_t n, const char *value, size_t m); // false: memory
void parts_free(parts *p);
// Whether the parts show that the checkpoint is of another training; then *d says so instead of
// what it said before.
bool fit_is_other(const fit *f, const command *c, vy_diag *d);
bool fit_differs(const fit *f, const command *c, vy_diag *d); // fails, as the identities differ
// fit_checkpoint.c
bool fit_save(const fit *f, const command *c, vy_diag *d); // NAME-STEP.fit, which is new
bool fit_check_save(const fit *f, vy_diag *d);             // could fit_save write here?
bool fit_load(saved *s, const char *path, vy_diag *d);
bool fit_take(fit *f, const command *c, vy_diag *d); // what was loaded, into f->data
void saved_free(saved *s);

#endif
