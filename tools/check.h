// SPDX-License-Identifier: MIT
// check.h: the parts of `vyre-grad check`.
#ifndef VYRE_TOOL_CHECK_H
#define VYRE_TOOL_CHECK_H

#include "tools/runner.h"

#include "autodiff/check.h"

// One derivative with its module, made for `check` alone: engines want it optimised in their own way.
typedef struct derivative {
    vy_module *module;
    vys_entry what;
} derivative;

typedef struct checking {
    specs in, ct;
    specs device_ct; // ct, and for outputs that it does not name random ones
    bool apart;      // chosen integers are 0, 1, 2, … since with repeated ones the program races
    uint32_t chosen_data; // specs of `in` from here on are ours (defaults.c)
    vys_entry source;     // of the file
    derivative first;     // --order 2: the gradient, which is the primal here
    derivative gradient, valued, seeded;
    names of;       // what is differentiated by default: of `source` as it stands, not optimised
    binding start;  // data of `source`
    binding primal; // --order 2: of `first`, else empty: `start` is it
    binding cotangents; // data of the gradient: of it the cotangents are used
    vy_check_result *result;
    const char *device; // name of it, or NULL
    bool device_off;    // it was not asked for
    double ms;
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
    return k->result->passed && !k->result->unverified;
}

// Derives again from the source.  `value`, `seeded`: as --with-value, and all cotangents buffers.
bool check_derive(checking *k, command *c, bool value, bool seeded, uint64_t order, derivative *out,
                  vy_diag *d);

// check_device.c: rows that compare the gradient on the device with the interpreter's, or say why not
bool check_device(checking *k, command *c, vy_diag *d);
// The interpreter's subgroups become as large as the device's, unless the user said how large they are.
void check_lanes(command *c);

// check_print.c
void check_print(const checking *k, command *c);
bool check_json(const checking *k, command *c, vy_diag *d);

// defaults.c: cotangents for the device, from the options of the gradient with all of them as buffers
bool check_varied_ct(checking *k, vy_diag *d);
// defaults.c: data for whatever has none (docs/language.md): sizes 5, 4, 3, …; floats normal, integers
// cycle:3, or `apart`: iota.  Appends to `in` before it is bound.
bool default_data(specs *in, const binding *b, bool apart, vy_diag *d);
bool default_scalars(binding *b, vy_diag *d);
void spec_text(const spec *s, text *out); // "normal:0:1:1"

#endif
