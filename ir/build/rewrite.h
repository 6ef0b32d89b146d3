// SPDX-License-Identifier: MIT
// rewrite.h: the frame of a pass that makes a new program from an old one.
//
//   static uint32_t instead(void *pass, uint32_t id) { … }  // takes the place of an instruction
//
//   bool ok = vy_rewrite_begin(&x.w, p) && prepare(&x);     // tables of the pass: in x.w.arena
//   if (ok && there_is_something_to_do(&x)) vy_rewrite_run(&x.w, instead, &x);
//   return vy_rewrite_end(&x.w, ok, &c->changed);           // installs what was built; frees
//
// A pass makes its decisions on the old program, which does not change until the end.  `instead`
// rewrites single instructions; everything else is copied.  After an error (out of memory, a limit
// of the builder) all further calls do nothing, and the old program stays.
#ifndef VYRE_REWRITE_H
#define VYRE_REWRITE_H

#include "ir/build/edit.h"
#include "ir/core/flow.h"

typedef struct vy_rewrite {
    vy_program *p; // the old program
    vy_structure s;
    vy_arena arena; // freed at the end
    uint32_t *map;  // by old instruction: the new one, or the value that replaces it
    vy_builder *b;  // of the new program; NULL until vy_rewrite_open
    bool oom;
} vy_rewrite;

// Called in place of copying instruction `id`.  Returns the last old instruction that it has dealt
// with, or 0: `id` is to be copied.
typedef uint32_t vy_instead(void *pass, uint32_t id);

// --------------------------------------------------------------------------------------- the frame
bool vy_rewrite_begin(vy_rewrite *w,
                      vy_program *p); // false: out of memory; call vy_rewrite_end in either case
void *vy_rewrite_table(vy_rewrite *w, size_t size); // zeroed; NULL sets oom
uint32_t *vy_rewrite_ids(vy_rewrite *w);            // a number by instruction
uint8_t *vy_rewrite_bytes(vy_rewrite *w);           // a byte by instruction
uint32_t *vy_rewrite_uses(vy_rewrite *w); // by instruction: its number of uses; NULL sets oom
bool vy_rewrite_open(vy_rewrite *w);      // begins the new program; false: an error
// Copies from ≤ id < to, except for what `instead` (may be NULL) deals with.
void vy_rewrite_range(vy_rewrite *w, uint32_t from, uint32_t to, vy_instead *instead, void *pass);
void vy_rewrite_run(vy_rewrite *w, vy_instead *instead, void *pass); // opens; the entire program
void vy_rewrite_drop(vy_rewrite *w); // discards the new program if it is no better; keeps errors
// Installs the new program, if one was begun, and sets *changed.  !ok: out of memory.  False: see
// the module's diag.
bool vy_rewrite_end(vy_rewrite *w, bool ok, bool *changed);
// The same, but returns the new program and leaves the old one.  NULL: none, or an error.
vy_program *vy_rewrite_take(vy_rewrite *w, bool ok);

static inline bool vy_rewrite_stopped(const vy_rewrite *w)
{
    return w->oom || vy_builder_failed(w->b);
}

// --------------------------------------------------------------------------------------- the steps
static inline void vy_rewrite_copy(vy_rewrite *w, uint32_t id)
{
    vy_copy_inst(w->b, w->p, id, w->map);
}
// With other values in place of leaves of that kind.  values: by their index, in the new program;
// 0: as it is.
void vy_rewrite_copy_leaves(vy_rewrite *w, uint32_t id, vy_leaf_kind kind, const uint32_t *values);
// … of the domain's variables.
static inline void vy_rewrite_copy_over(vy_rewrite *w, uint32_t id, const uint32_t *variables)
{
    vy_rewrite_copy_leaves(w, id, VY_LEAF_OVER, variables);
}
// Copies a value to another place, where the proof that an access is in range may not hold.  args:
// its operands in the new program; NULL: as mapped.
void vy_rewrite_moved(vy_rewrite *w, uint32_t id, const uint32_t *args, uint32_t *map);
// Copies a load that is in range where it is copied to, and marks it so.
void vy_rewrite_copy_in_range(vy_rewrite *w, uint32_t id);
// What is built next gets the source place of `id`.
static inline void vy_rewrite_at(vy_rewrite *w, uint32_t id) { vy_pass_at(w->b, w->p, id); }
// Maps value `id` to `fresh`, which gets its name.
static inline void vy_rewrite_as(vy_rewrite *w, uint32_t id, uint32_t fresh)
{
    w->map[id] = fresh;
    vy_pass_name(w->b, w->p, id, fresh);
}
// Maps the n slots after `marker` to these values.
void vy_rewrite_slots(vy_rewrite *w, uint32_t marker, uint32_t n, const uint32_t *values);

static inline uint32_t vy_new(const vy_rewrite *w, uint32_t id) { return vy_map(w->map, id); }
// Operand k of an old instruction, and the first n, in the new program.
static inline uint32_t vy_new_arg(const vy_rewrite *w, uint32_t id, uint32_t k)
{
    return vy_map(w->map, vy_arg(w->p, id, k));
}
static inline void vy_new_args(const vy_rewrite *w, uint32_t id, uint32_t n, uint32_t *out)
{
    for (uint32_t k = 0; k < n; k++) out[k] = vy_new_arg(w, id, k);
}
// Does the loop run at all: is its first bound less than the second?
vy_value vy_new_runs(vy_rewrite *w, uint32_t loop);
// (to − from − 1)/step + 1: the trip count of a LOOP that runs at all, if it does not exit early,
// as an unsigned number of its variable's width.
vy_value vy_new_trips(vy_rewrite *w, uint32_t loop);
// The loop of which `id` is the last instruction, be it ENDLOOP or a RESULT; 0: none.  What is
// inserted after a loop has to follow its RESULTs.
uint32_t vy_rewrite_ended(const vy_rewrite *w, uint32_t id);

// ---------------------------------------------------------------------------------- the constructs
// A construct of the old program rebuilt with more carried or yielded values, which follow its own.
// A loop:
//
//   vy_remade l;
//   if (!vy_remake(w, &l, loop, n)) return id;  // fill in[own + k]: initial values of the new ones
//   vy_remake_begin(w, &l);                     // out[own + k]: the new ones in the body
//   vy_remake_body(w, &l, instead, pass);
//   vy_remake_next(w, &l);                      // fill in[own + k]: their next values
//   vy_remake_end(w, &l);                       // out[own + k]: the new ones after the loop
//   return vy_remake_last(w, &l);
//
// in[k < own] and keep may be changed too.  The old loop and its values are mapped.
// A checkpoint is the same without initial values.  So is an `if`; its body is the first arm, and
// then
//
//   vy_remake_then(w, &l);                      // fill in[own + k]: what the first arm yields
//   vy_remake_else(w, &l);
//   vy_remake_other(w, &l, instead, pass);
typedef struct vy_remade {
    uint32_t opener, own, total;
    uint32_t *in, *out;
    uint32_t keep; // of a loop, after vy_remake_next: its `keep`; 0: it has none
} vy_remade;
bool vy_remake(vy_rewrite *w, vy_remade *l, uint32_t opener, uint32_t more); // false: out of memory
void vy_remake_begin(vy_rewrite *w, vy_remade *l);
// In place of vy_remake_begin: as a counted loop with these bounds.  Returns its counter; that of
// the old loop is not mapped.
uint32_t vy_remake_counted(vy_rewrite *w, vy_remade *l, vy_type type, uint8_t flags,
                           const uint32_t bounds[3]);
void vy_remake_body(vy_rewrite *w, vy_remade *l, vy_instead *instead, void *pass);
void vy_remake_then(vy_rewrite *w, vy_remade *l);
void vy_remake_else(vy_rewrite *w, vy_remade *l);
void vy_remake_other(vy_rewrite *w, vy_remade *l, vy_instead *instead, void *pass);
void vy_remake_next(vy_rewrite *w, vy_remade *l);
void vy_remake_close(vy_rewrite *w, vy_remade *l); // ends it, but maps no results
void vy_remake_end(vy_rewrite *w, vy_remade *l);
// The last instruction that belongs to it: a RESULT, or the marker that closes it.
static inline uint32_t vy_remake_last(const vy_rewrite *w, const vy_remade *l)
{
    return vy_closer(w->p, &w->s, l->opener) + l->own;
}

#endif
