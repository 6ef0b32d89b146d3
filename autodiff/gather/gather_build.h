// SPDX-License-Identifier: MIT
// gather_build.h: one reverse program whose additions are being gathered; shared by gather*.c.
//
//   gather_attempts.h  in which form a program is gathered
//   gather.c        the driver: which buffers, in which programs, what is left
//   gather_find.c   the additions it may have
//   gather_site.c   one addition: can it be gathered, with how many loops, over which axes
//   gather_assume.c which strides make rows if a condition holds at launch
//   gather_shapes.c walks that differ in constants alone
//   gather_signs.c  which offsets must not be negative for that
//   gather_strides.c the strides, and which of two is taken for the inner one
//   gather_calm.c, gather_divided.c, gather_multiplied.c  which scalars are small, or not negative,
//                   for that
//   gather_either.c … and which form runs then
//   gather_won.h, gather_owning.h  where a maximum was; what is left
//   gather_groups.c a program without a domain, over the invocations of its launch
//   gather_split.h  domain variables that are divided into coordinates
//   gather_sizes.c  which products of sizes do not wrap
//   gather_clamped.c  walks over what is clamped to an element
//   gather_holes.c, gather_taps.c  one walk where a condition would make two; values beside points
//   gather_cost.c, gather_length.c  is a program worth it?  How long do they become?
//   gather_iterations.c  may a copied loop run the other way?
//   gather_need.c   the backward slice of a value
//   gather_begun.c  what of it is memory as it began
//   gather_kept.c, gather_place.c, gather_later.c, gather_addend.h  what of that, or from that, the
//                   program keeps
//   gather_leaf.c, gather_clone.c  built-ins, as they are at a point; copies a value to a point
//   gather_programs.c  which additions one program gathers
//   gather_make.c, gather_domain.c, gather_sums.c  a program of additions, its domain, their sums
//   gather_trim.c, gather_name.c    … with the parameters that it needs, and names that are free
//   gather_tree.c, gather_partial.c  … in which a workgroup sums an element, or invocations parts
//   gather_forms.c  … with that, without, or in both forms
//   gather_rest.c, gather_notes.c  the reverse program without the additions; what became of them
//
// A gather walks the iteration points that reach an element.  The dimensions of a point are the
// domain variables and the loops of the nest: of the loops around an addition, those that become
// part of the iteration domain.  All other constructs are copied whole.
#ifndef VYRE_GATHER_BUILD_H
#define VYRE_GATHER_BUILD_H

#include "autodiff/affine/access.h"
#include "autodiff/affine/clamped.h"
#include "autodiff/affine/flat_terms.h"
#include "autodiff/affine/scan.h"
#include "autodiff/facts/trip_bound.h"
#include "autodiff/gather/gather.h"
#include "ir/build/edit.h"

// A value that the reverse program stores as a gather cannot recompute it; or the contents of a
// local array, represented by the last instruction that writes to it.
typedef struct gather_kept {
    uint32_t id;
    // Of the buffer: [loops around it …, domain]; of an array: [its axes …, domain].
    const char *name;
    uint32_t link; // of its declarations in all programs that have it; 0: none yet
    bool used;     // a gather reads it
} gather_kept;
VY_VEC_TYPE(gather_kept_vec, gather_kept);

// One atomic addition.
typedef struct gather_site {
    uint32_t id;
    bool gathered;
    bool joins;       // stays with others that are not gathered
    const char *why;  // if not
    bool wraps;       // … and that may be for numbers that could wrap around
    bool divides;     // … or for what could be negative and is divided
    bool involved;    // … or as the analysis reached a limit, before it had met all scalars
    bool factors;     // … or for a product or quotient of numbers that are not constant
    const char *text; // the access for readers, if there are notes
    vy_affine_access access; // with the loops of the chosen nest
    uint32_t levels;         // loops that were asked for
    uint32_t axes;           // those that identify the element, a mask
    bool small;              // its buffer has few elements, whatever the sizes
    bool single;             // one element at a time: the sum is a variable, not memory
    bool cells;              // … of those that the constants on the other axes identify
    vy_clamps *clamps;       // of those axes; NULL: none is taken as it is before it is clamped
    isl_map *map;            // { nest → those axes }
    uint64_t *need;          // the instructions that are copied (gather_slice.h)
    uint32_t hash;           // of the map
    uint32_t points;         // class of sites that are added to at the same points
    double adding;           // what the addition would cost, for all points of an invocation
    uint32_t program;        // 1 + index
    uint32_t part;           // link of the buffer of its partial sums; 0: none yet
} gather_site;

typedef struct gather_program {
    uint32_t first;   // site that determines the axes
    uint32_t sites;   // how many
    bool adds;        // an earlier stage writes one of the buffers: add to its contents
    bool small;       // it has few elements, whatever the sizes: a workgroup sums each
    uint64_t *points; // classes of its sites, as bits
    // Operations of an invocation: with atomic additions, and for its points here.
    double adding, walking;
    uint32_t length; // instructions of its walks
    const char *name;
    const char *tree;    // the program with a workgroup for each element of a small buffer, or NULL
    const char *partial; // that of partial sums, or NULL
} gather_program;

// How the points of an element are divided.
typedef enum gather_form {
    GATHER_WHOLE,   // an invocation has all of them
    GATHER_TREE,    // the lanes of a workgroup share them (gather_tree.c)
    GATHER_PARTIAL, // invocations share them: each stores what its part adds up to …
    GATHER_TOTAL,   // … and this adds these up (gather_partial.c)
} gather_form;

// A program that has been made.
typedef struct gather_stage {
    uint32_t program; // index
    gather_form form;
    vy_dim iterations; // of the reverse program: how often it is dispatched, 0 or 1; id 0: once
} gather_stage;

enum { GATHER_PARTS = 6 }; // of a domain variable

// A product that the launch alone decides.
typedef struct gather_stride {
    vy_extent factor[VY_ROW_FACTORS];
    uint32_t count;
    int64_t constant;
} gather_stride;

// Domain variables that became coordinates, one after the other (gather_split.h).
enum { GATHER_SPLITS = 3 };
typedef struct gather_split {
    vy_program *whole; // the reverse program before; NULL: none did
    bool guarded;      // the last row of one may not be full
    uint32_t count;
    struct gather_splitting *how[GATHER_SPLITS];
    vy_dim all[GATHER_SPLITS]; // the product of the coordinates' extents
    // By scalar: the vy_affine_kind that the conditions of that make it; NULL: of any.
    uint8_t *kind;
} gather_split;

// What everything that is gathered assumes of the launch, and the same for readers.
enum { GATHER_PRODUCTS = 8, GATHER_ASSUMED = 2 * GATHER_PARTS + GATHER_PRODUCTS + 32 };
typedef struct gather_launch {
    vy_assumption within[GATHER_ASSUMED];
    const char *condition[GATHER_ASSUMED];
    uint32_t count;
    vy_dim holds; // 1 if it holds, else 0; id 0: it does
} gather_launch;

// An attempt that assumes that scalars are calm (gather_calm.c).
typedef struct gather_calm {
    const uint8_t *scalar; // by scalar: vy_affine_kind; NULL: nothing is assumed
    bool signs;            // also that some are not negative
    bool products;         // … and that products of some are small
    uint32_t left;         // buffers added to atomically without that; gather_own.c: conditions
} gather_calm;

// How a buffer begins that nothing but the program has: vy_init, and of which `in` buffer it is a
// copy.
typedef struct gather_start {
    uint32_t init, origin;
} gather_start;

typedef struct gather {
    vy_module *m;
    vy_program *r; // the reverse program
    vy_structure s;
    vy_affine a;
    vy_isl_memory *isl; // of all attempts at one program
    vy_arena arena;
    gather_split split;
    gather_launch launch, before_calm; // the latter: without what `calm` says
    gather_calm calm;
    const vy_launch_number *numbers;          // of r
    const struct gather *begin;               // the gather as it begins
    const struct gather_multiples *multiples; // of gather_multiples.c, or NULL
    const struct gather_winners *winners;     // of gather_winner.c, or NULL
    const vy_program *source;                 // what r is the derivative of, or NULL
    vy_gather_notes *notes;                   // or NULL
    vy_lows lows;                             // of r
    uint32_t *last_write;                     // by buffer
    struct gather_begun *begun;               // by buffer, or NULL: gather_begun.c
    const gather_start *starts;               // of a version, by buffer; or NULL
    uint32_t start_count;
    uint32_t *outer;   // by instruction: outermost loop around it, or 0
    uint32_t *fixed;   // by buffer: axes on which every place has a constant, a mask
    uint32_t *left;    // by buffer: its additions, if there are too many to be examined
    uint64_t *counted; // instructions; scratch (gather_slice.h)
    bool walked;       // programs[].walking is what is needed and kept now
    uint32_t *keep;    // by instruction: 1 + index in kept
    uint8_t *bounded;  // by loop: does it have a bound? 0: not known, 1: no, 2: yes (gather_kept.c)
    gather_kept_vec kept;
    uint32_t named;   // how many of them have a name
    uint32_t addends; // 1 + how many were kept before addends (gather_addend.c); 0: none are
    gather_site *sites;
    uint32_t site_count;
    gather_site **classes; // the first site of each
    uint32_t class_count;
    gather_program *programs;
    uint32_t program_count;
    uint64_t *points;          // of the programs
    uint32_t *map;             // by instruction: scratch of the program being made
    gather_stage *stages;      // by stage made
    const char *otherwise;     // the program that runs where what is assumed does not hold, or NULL
    const char *const *assume; // conditions that hold in every launch
    uint32_t assume_count;
    bool lean;                    // nothing is kept for every iteration of a loop
    bool always;                  // costs do not decide
    bool allow_small;             // nor does a small number of elements
    bool gradients;               // only gradients; they may be inout
    bool affine;                  // `a` is initialised
    struct gather_probe *probe;   // or NULL: nothing is made
    bool better;                  // another attempt was, and has been made
    bool stopped;                 // nothing is made of what it found: another attempt does that
    bool vain;                    // … without `winners`
    bool calmly;                  // scalars are calm from the first attempt on
    bool owns;                    // it is the one of gather_own.c
    bool staged;                  // other programs of the module have its workspaces, too
    bool thrifty;                 // with less of isl: a probe, or gathers were tried before
    bool grid;                    // the domain is that of gather_grid.c
    bool meets;                   // invocations meet at barriers or exchange values
    bool keeps;                   // values over coordinates whose last row may not be full, too
    bool *wants;                  // receives that such a value was not kept; or NULL
    struct gather_made *made;     // what came of it
    struct gather_owners *owners; // of gather_own.c
    bool failed;                  // memory
} gather;

// ---- gather.c
bool gather_run(gather *g);       // gathers what can be; false: m's diag, or memory
bool gather_any(const gather *g); // is something gathered?
// ---- gather_tables.c
bool gather_make_tables(gather *g); // false: memory
bool gather_clean_up(gather *g);    // false: memory ran out on the way
// ---- gather_find.c
bool gather_find(gather *g); // the sites; false: memory
bool gather_has_additions(const vy_program *p);
// Have the axes that identify the element the same extents in both?
bool gather_same_extents(const gather *g, const gather_site *x, const gather_site *y);
void gather_classify(gather *g, gather_site *site); // its class, once there is a map
// ---- gather_parts.c
// Without changes of the sign of 32-bit integers.
uint32_t gather_plain(const vy_program *p, uint32_t id);
// ---- gather_split.c
// Domain variables that are divided into coordinates become these.
// False: memory.
bool gather_split_domain(gather *g);
// Gives p, which has the domain of the coordinates, that of before.  False: m's diag, or memory.
bool gather_join_domain(gather *g, vy_program *p);
// ---- gather_sizes.c
bool gather_know_sizes(gather *g, const vy_program *source); // NULL: no source; false: memory
bool gather_same_product(const vy_program *p, vy_dim x, vy_dim y);
// ---- gather_signs.c
// Is v, the index of a place along an axis, never negative if scalars in it are not?  Then these
// are signs of the rows.
bool gather_sign(gather *g, vy_affine_rows *r, const vy_nest *n, isl_pw_aff *v);
vy_dim gather_signs_hold(gather *g, const vy_affine_rows *r);
// ---- gather_strides.c
// The terms of the first index of a place; false: there are too many, or it is too narrow.
bool gather_terms_of(const gather *g, const gather_site *site, vy_flat_terms *t);
// The strides of all places that add to the buffer of the rows; false: they are of no use.
bool gather_find_strides(const gather *g, vy_affine_rows *r);
bool gather_has_steps(const gather *g, uint32_t buffer); // is a stride added by itself?
// Is stride x of the rows more likely inside stride y than the other way round?
bool gather_is_inner(const gather *g, const vy_affine_rows *r, uint32_t x, uint32_t y);
// ---- gather_assume.c
// Begins the analysis, with the rows of flat buffers that there are under conditions on scalars.
// False: memory.
bool gather_begin(gather *g, const vy_program *source);
// ---- gather_divided.c
// By scalar: the vy_affine_kind that it has to have, as it is divided or divides; NULL: none has
// to, or memory.
const uint8_t *gather_divided(gather *g);
// Notes that places which are left may be so as something is multiplied by a quotient of scalars.
void gather_see_divided_factors(gather *g);
// ---- gather_multiplied.c
// By scalar: the vy_affine_kind that it has to have, as it is in a product that may be taken as a
// number; NULL: there is no such product, or too many, or memory.
const uint8_t *gather_multiplied(gather *g);
// ---- gather_calm.c
// |x · d|, where x (id 0: 1) is that of other factors; never more than 2⁶².
vy_dim gather_magnitude(gather *g, vy_dim x, vy_dim d);
uint32_t gather_left_atomic(const gather *g); // buffers that are added to atomically
// g->a, with the same, and with what coordinates assume of scalars; false: memory.
bool gather_begin_affine(gather *g);
// ---- gather_either.c
// New dimensions of the reverse program; id 0: memory, or an operand has it.
vy_dim gather_node(gather *g, vy_dim_op op, vy_dim x, vy_dim y);
vy_dim gather_number(gather *g, int64_t v);
vy_dim gather_scalar(gather *g, uint32_t k);
// x (id 0: 1) · y; safe: of factors that are clamped to 0 and 2³¹, which no condition distinguishes
// from greater ones, so that the product does not overflow.
vy_dim gather_times(gather *g, vy_dim x, vy_dim y, bool safe);
vy_dim gather_less(gather *g, vy_dim x, vy_dim y); // 1 where x < y, else 0
// Everything gathered assumes least ≤ most; safe: 1 if so, else 0, computed without overflow.
void gather_require(gather *g, vy_dim least, vy_dim most, vy_dim safe);
// 1 where all that was assumed of what is gathered holds, else 0; id 0: nothing was.
vy_dim gather_holds(gather *g);
// How often a stage runs that needs it (iterations: how often otherwise), and what replaces all.
vy_dim gather_either(gather *g, vy_dim holds, vy_dim iterations);
vy_dim gather_else(gather *g, vy_dim holds);
// The reverse program as a stage of its own: it runs where what the others assume does not hold.
vy_program *gather_as_it_is(gather *g);
// Does the caller, or the program, say that the condition holds in every launch?
bool gather_is_given(const gather *g, const char *condition);
// What is gathered by rows that no form of the launch checks assumes their conditions: states them
// in the program being built.
void gather_assume_rows(const gather *g, const gather_site *site, vy_builder *b);
// Notes the conditions that what is gathered is gathered under, in g->m.  False: memory.
bool gather_note_conditions(gather *g);
void gather_note_assumed(const gather *g, const gather_site *site, vy_gather_note *n,
                         vy_arena *arena);
// ---- gather_site.c
// Have both places the same constructs around them?
bool gather_is_beside(const gather *g, uint32_t x, uint32_t y);
// Decides about g->sites[k].
void gather_decide(gather *g, uint32_t k);
// Beside additions that stay atomic, a gather is worth a program of its own only where it sums.
void gather_leave_singles(gather *g);
// ---- gather_holes.c
// Makes the walk over the site's points include those that an `i != j` excludes, where that leaves
// fewer pieces.
void gather_fill_holes(gather *g, gather_site *site);
// ---- gather_clamped.c
const char *gather_text(const gather_site *site, vy_arena *arena); // its access, for readers
// ---- gather_cost.c
// What adding atomically would cost one invocation, see gather_cost.c.
double gather_adding(const gather *g, gather_site *site);
// Drops programs that cost more than they save; true: there were some.
bool gather_drop_expensive(gather *g);
// Drops the program that needs the most values kept, where all together need too many buffers.
bool gather_drop_wide(gather *g);
// ---- gather_length.c
// Do two sites of a program share a walk?
bool gather_shares_walk(const gather *g, const gather_site *x, const gather_site *y);
// Drops programs with which the text would grow out of proportion.  True: there were some.
bool gather_drop_long(gather *g);
// ---- gather_iterations.c
// May `loop`, of which a program of these sites copies what is marked in needed[], run its
// iterations in any order?
bool gather_iterations_commute(gather *g, const uint8_t *needed, gather_site *const *sites,
                               uint32_t count, uint32_t loop);
// ---- gather_need.c
// Marks the backward slice of the site's operands, for the nest of site->access.  False: something
// can be neither copied nor kept (site->why).  What has to be kept is entered into g->kept.
bool gather_need(gather *g, gather_site *site);
double gather_weight(const gather *g, uint32_t id); // of one instruction
// w times the expected trip counts of the loops around `id`, `outermost` (0: none) included and no
// further out; without those in the nest of `site`, unless it is NULL.
double gather_repeated(const gather *g, uint32_t id, double w, uint32_t outermost,
                       const gather_site *site);
// Operations for one point of the site, except those marked in counted[] (by instruction), and
// marks them there; a value from further out is recomputed for every point.
double gather_cost(const gather *g, const gather_site *site, uint64_t *counted);
// ---- gather_begun.c
// Is d, of a workspace, as long as `of`?
bool gather_as_long(const vy_program *p, vy_dim d, vy_dim of);
// The `in` buffer that a buffer begins as a copy of, in the same shape; 0: none.
uint32_t gather_origin(const vy_program *p, uint32_t buffer);
// How the buffer begins, if nothing but r has it, or the versions of r of which a launch runs one.
gather_start gather_start_of(const gather *g, uint32_t buffer);
// Finds buffers that are loaded as they began, under conditions of the launch.  False: memory.
bool gather_find_begun(gather *g);
bool gather_may_be_begun(const gather *g, uint32_t buffer); // … or might be, for other scalars
bool gather_is_begun(const gather *g, uint32_t buffer);
void gather_require_begun(gather *g); // those conditions, where what is gathered needs them
// What `load` gives, at that index.
uint32_t gather_load_begun(const gather *g, vy_builder *b, uint32_t load, const uint32_t *index);
// ---- gather_kept.c
// Loops around `id`, outermost first, into loops[]; returns how many.
uint32_t gather_loops(const gather *g, uint32_t id, uint32_t loops[VY_MAX_RANK]);
// Does a dimension need the length of a buffer declared `?`?
bool gather_is_open(const vy_program *p, uint32_t dim);
// Marks `id` as kept; false: it cannot be kept.
bool gather_keep(gather *g, uint32_t id);
// The last write to the local array that `load` reads, if nothing is written after the loops around
// it began; else 0.
uint32_t gather_array_at(const gather *g, uint32_t load);
// The local array whose contents a kept `id` represents; NULL: it is a number.
const vy_buf *gather_array(const gather *g, uint32_t id);
// The indices of what is kept of `id`: n `within` an invocation (of loops, or of an array), and its
// place.  Returns how many there are.  Numbers of neighbouring invocations are neighbours; of an
// array those of one invocation are: a sum walks it, and either all lanes load one row, or each
// loads an element of it.
uint32_t gather_kept_indices(const gather *g, uint32_t id, const uint32_t *within, uint32_t n,
                             const uint32_t *place, uint32_t *indices);
// Buffer of the program being built that keeps g->kept.data[k]; declares it if necessary.
uint32_t gather_kept_buffer(gather *g, vy_builder *b, uint32_t k);
// ---- gather_place.c
// The domain by whose variables kept values are indexed; returns how many there are.
uint32_t gather_place_axes(const gather *g, const vy_over_var **axes);
// Makes these variables of those of g->r's domain, in value[] (VY_MAX_RANK).
void gather_place(const gather *g, vy_builder *b, uint32_t *value);
// ---- gather_later.c
// Keeps later values in place of kept ones, as many or fewer.  True: some are; what the sites need
// has to be marked again.
bool gather_keep_later(gather *g);
// ---- gather_clone.c
typedef struct gather_clone {
    gather *g;
    vy_builder *b;
    gather_site *const *sites; // what is copied
    uint32_t count;
    const vy_value *index;  // by dimension of the first site's nest
    uint32_t *map;          // by instruction of g->r; scratch
    const uint8_t *around;  // by instruction: how a construct around the sites is treated; scratch
    const uint8_t *needed;  // by instruction: some site needs it; scratch
    const vy_lattice *walk; // … whose guard says whether there is a point
    void (*add)(void *user, gather_site *site, vy_value value); // at a site
    void *user;
} gather_clone;
void gather_copy(gather_clone *c);
uint32_t gather_map(gather_clone *c, uint32_t id); // an operand
// ---- gather_leaf.c
// Is the leaf, of the reverse program, known at a point of a gather?
bool gather_has_leaf(const gather *g, uint32_t id);
uint32_t gather_leaf(gather_clone *c, uint32_t id); // what it is there
// Does the gathering program p nowhere use its own built-ins?  Else g->m's diag.
bool gather_has_no_place(const gather *g, const vy_program *p);
// ---- gather_taps.c
// Can the values of sites that share a walk be computed where there is no point, and be discarded?
bool gather_flat(const gather *g, gather_site *const *sites, uint32_t count);
// Index k of a load as it is there, too: in range.
uint32_t gather_tap_index(const gather_clone *c, uint32_t load, uint32_t k, uint32_t index);
// ---- gather_name.c
// No parameter or buffer of p has that name, nor any of the first `overs` domain variables; and the
// name can be printed.
bool gather_is_free(const vy_program *p, const char *name, uint32_t overs);
bool gather_name_is_free(vy_builder *b, const char *name); // in the program being built
// ---- gather_programs.c
// Distributes what is gathered among programs and names these.  False: memory.
bool gather_make_programs(gather *g);
// Has another of the programs, which are not in the module yet, this name?
bool gather_has_name(const gather *g, const gather_program *q, const char *name);
// ---- gather_make.c
// Program k in that form, still with all parameters of the reverse program; NULL: refused, or
// memory.  small: of a tree, receives the dimension of g->r that is 1 where the buffer is small,
// else 0.
vy_program *gather_make(gather *g, uint32_t k, gather_form form, vy_dim *small);
// Gives it its name, and only the parameters that it uses; whole: it replaces the reverse program
// and keeps all of them.  False: m's diag.
bool gather_trim(gather *g, const gather_stage *stage, vy_program *p, bool whole);
// ---- gather_tree.c
enum { GATHER_LANES = 64, GATHER_SUMS = 32 }; // of a workgroup; sums that it has at most
// 1 where the site's buffer is small beside its points, else 0, in b.
vy_dim gather_is_small(const gather *g, const gather_site *site, vy_builder *b);
// Opens an `if` in which sum[k] are the sums of all lanes.
void gather_fold(vy_builder *b, vy_value lane, vy_value *sum, uint32_t n);
// ---- gather_partial.c
// Partial sums of an element; of a constant element; how many of these a program has at most.
enum { GATHER_SHARES = 64, GATHER_SHARES_OF_ONE = 4096, GATHER_CELLS = 8 };
bool gather_is_partial(const gather *g, const gather_site *site); // is it summed by them?
bool gather_has_cells(const gather *g, uint32_t buffer);          // are all places a few constants?
// ---- gather_rest.c
// The reverse program without the additions that `stages` gather; NULL: memory.  *empty: nothing is
// left to do in it.
vy_program *gather_rest(gather *g, vy_program *const *stages, uint32_t count, bool *empty);
// ---- gather_notes.c
// r: the reverse program as it was.  False: memory.
bool gather_take_notes(const gather *g, const vy_program *r, vy_gather_notes *notes);
// Of those only buffers with too many additions to be examined.
bool gather_note_left(const gather *g, const vy_program *r, vy_gather_notes *notes);

#endif
