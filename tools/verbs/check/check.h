// SPDX-License-Identifier: MIT
// check.h: the parts of `vyre-grad check`.
#ifndef VYRE_TOOL_CHECK_H
#define VYRE_TOOL_CHECK_H

#include "tools/command/runner.h"

#include "autodiff/check.h"

// The defaults of `check`.
enum { CHOSEN_SIZES = 16 };
typedef struct choices {
    int64_t size[CHOSEN_SIZES]; // of integer scalars that are sizes, in order, cyclically
    int64_t other;              // of other integers
    int64_t length;             // of `?` buffers
    // Elements of integer buffers: 0, 1, 2, 0, …; 0, 1, 2, 3, …; 0, 1, 0, …; 0.
    enum { INTEGERS_CYCLE, INTEGERS_IOTA, INTEGERS_PAIRS, INTEGERS_ZEROS } integers;
} choices;
typedef struct chosen_counts { // how many scalars had a value chosen
    uint32_t sizes, others;
} chosen_counts;

// One derivative with its module, made for `check` alone, because each engine optimises it in its
// own way.
typedef struct derivative {
    vy_module *module;
    vys_entry what;
} derivative;

typedef struct checking {
    specs in, ct;
    specs device_ct; // ct, and for outputs that it does not name random ones
    choices what;
    chosen_counts counts;
    uint32_t chosen_data; // specs of `in` from here on were chosen (defaults.c)
    vys_entry named;      // of the file
    vys_entry source;     // what of it is checked: that, or what vy_check_stand_in says
    derivative first;     // --order n: that of order n − 1, which is the primal here
    derivative gradient, valued, seeded;
    derivative forward; // by forward mode; none: no_forward says why
    char no_forward[400];
    names of;           // what is differentiated by default: of `source` before optimisation
    binding start;      // data of `source`
    binding primal;     // --order n: data of `first`; else empty, and `start` is used
    binding cotangents; // data of the gradient; only the cotangents are used
    vy_check_result *result;
    const char *device; // its name, or NULL
    bool device_off;    // not requested
    double ms;
    bool second;           // is this the round at larger sizes?
    struct checking *more; // that round, or NULL
    char no_more[300];     // why there is none; may be empty
    char elsewhere[300];   // sizes at which a fault of the program is not visible; may be empty
} checking;

static inline vys_entry checked_program(const checking *k)
{
    return k->first.module ? k->first.what : k->source;
}
static inline const binding *checked_data(const checking *k)
{
    return k->first.module ? &k->primal : &k->start;
}

static inline bool check_passed(const checking *k)
{
    return k->result->passed && !k->result->unverified && (!k->more || check_passed(k->more));
}

// ---- check_derive.c
// Derives again from the source.  `value`: with --with-value; `seeded`: all cotangents are buffers.
bool check_derive(checking *k, command *c, bool value, bool seeded, uint64_t order, derivative *out,
                  vy_diag *d);
// By forward mode; what it cannot follow is noted.
bool check_derive_forward(checking *k, command *c, vy_diag *d);

// check_device.c: rows that compare the gradient on the device with the interpreter's, or the
// reason why there are none
bool check_device(checking *k, command *c, vy_diag *d);
// … rows that compare k->named with k->source, where that is another one
bool check_named(checking *k, command *c, vy_diag *d);
// The interpreter's subgroups get the size of the device's, unless the user has given one.
void check_lanes(command *c);

// check_print.c
void check_print(const checking *k, command *c);
// check_json.c
bool check_json(const checking *k, command *c, vy_diag *d);
// check_print.c: " --set N=5 --set D=4", the scalars that were chosen; also lengths of `?` buffers
void check_sizes_text(const checking *k, text *out);
// Appends to a fix what the user could give instead, where choices are at fault.
void check_advice(const checking *k, text *fix);

// defaults.c: cotangents for the device, from the options of the gradient with all of them as
// buffers
bool check_varied_ct(checking *k, vy_diag *d);
// defaults.c: data for parameters without any (docs/language.md 13.1): sizes 5, 4, 3, …; floats
// normal, integers cycle:3.  Appends to `in` before it is bound.
choices default_choices(void);
bool default_data(specs *in, const binding *b, const choices *what, vy_diag *d);
// counts: may be NULL
bool default_scalars(binding *b, const choices *what, chosen_counts *counts, vy_diag *d);
void spec_text(const spec *s, text *out); // "normal:0:1:1"

// check_choose.c: fills k->start with what the user gave and with choices that suit the program:
// data with which it does not race, and sizes at which all accesses are in range, if any of those
// tried are.
bool check_choose(checking *k, const command *c, vy_diag *d);
// Starts again with k->what.
bool check_start(checking *k, const command *c, vy_diag *d);
bool check_chose(const checking *k,
                 bool integers); // data; integers: only those that determine indices or counts
// Only the shapes with k->what, after check_start has run once; false: they contradict what was
// given, or the data would take long to make.  vys_binding_free in every case.
bool check_settle(checking *k, const command *c, binding *b);
bool check_sizes(const checking *k); // whether scalars that are sizes, or lengths, were chosen
// Buffers for the interpreter; the caller frees the list.
vy_eval_buffer *check_buffers(const binding *b, vy_diag *d);
// How a program ran on its data, best first.
typedef enum liking { FINE, OUT_OF_RANGE, WRONG, NO_RUN } liking;
// Runs the primal of k->start for at most so many steps.  `why`: the first fault.
bool check_try(const checking *k, const command *c, uint64_t steps, liking *how, vy_diag *why,
               vy_diag *d);

// check_more.c: grows the choices of `k` into more->what, so that there are several workgroups,
// some partly filled, and starts `more`.  *found: there are such sizes; else k->no_more has the
// reason, if it is worth a line.
bool check_grow(checking *k, checking *more, const command *c, bool *found, vy_diag *d);

#endif
