// SPDX-License-Identifier: MIT
// gather_making.h: a program over the elements of buffers while it is made: what gather_make.c,
// gather_domain.c and gather_sums.c share.
#ifndef VYRE_GATHER_MAKING_H
#define VYRE_GATHER_MAKING_H

#include "autodiff/gather/gather_build.h"

// What is known of parameters where an element of these extents exists: of one walk, and the next.
typedef struct gather_known {
    isl_set *base;                     // the context that it was made from …
    uint32_t params, dim[VY_MAX_AXES]; // … with as many parameters, and the extents
    isl_set *all, *natural; // with the bounds of all parameters; only that some are not negative
} gather_known;

// Walks that differ in constants alone, see gather_shapes.c.
typedef struct gather_shape {
    isl_set *domain;
    isl_pw_aff *index[VY_MAX_AXES]; // along the axes that identify the element, less the constant
    uint32_t seen;                  // walks
    isl_set *points, *natural;      // by element less constant; NULL: not made yet
    vy_lattice_memo memo;
} gather_shape;
VY_VEC_TYPE(gather_shapes, gather_shape *);

typedef struct gather_making {
    gather *g;
    vy_builder *b;
    uint32_t index;                // of the program
    vy_value element[VY_MAX_AXES]; // coordinates, by place among the axes
    int64_t last[VY_MAX_AXES];     // the greatest that a coordinate may be
    uint32_t n;                    // how many
    vy_dim extent[VY_MAX_AXES];    // of each
    isl_id *ids[VY_MAX_AXES];
    // Of coordinates that are clamped: their ends, clamped.h; NULL: none is.
    isl_id *least[VY_MAX_AXES], *most[VY_MAX_AXES];
    uint32_t used; // dimensions of the nest that have named an axis, a mask
    vy_var *sum;   // by site: of the first single site of an element; id 0: none
    vy_lattice_memo memo;
    gather_known known;
    gather_shapes shapes;
    gather_site **group; // that share a walk
    uint32_t count;
    uint32_t *map;
    const vy_lattice *walk;
    gather_form form;
    vy_value lane; // where invocations share the points of an element: which of them this is
} gather_making;

// ---- gather_points.c
// The points of the nest that map (taken) leads to the element; its coordinates become parameters.
isl_set *gather_preimage(const gather_making *w, isl_map *map);
isl_set *gather_natural(const gather_making *w); // the parameters that are never negative
// The points of a site's walk; *context (kept): what is known of parameters besides.
isl_set *gather_points(gather_making *w, const gather_site *site, isl_set **context);
void gather_forget_points(gather_making *w);
// ---- gather_clamped.c
// The axis of the site's buffer that coordinate k of the element indexes: it may differ between
// buffers that share a program.
uint32_t gather_axis(const gather_site *site, uint32_t k);
// Points (taken) by the coordinates of what is clamped to the element's become those by its ends.
isl_set *gather_clamp_points(gather_making *w, const gather_site *site, isl_set *points);
// Values of these ends.  False: memory, or refused.
bool gather_name_ends(gather_making *w, vy_lattice *l, const gather_site *site);
void gather_forget_ends(gather_making *w);
// ---- gather_shapes.c
// What the walk of this site shares with others, where many are of its shape: the element's
// coordinates in it are less `constant`.  NULL: the walk is made for itself.
gather_shape *gather_shape_of(gather_making *w, const gather_site *site, int64_t *constant);
void gather_forget_shapes(gather_making *w);
// ---- gather_domain.c
// Domain variables: the axes of the element.  Leaves of old ones beyond their number are dropped.
void gather_make_domain(gather_making *w, const gather_site *site);
// ---- gather_sums.c
// Do the lanes of a workgroup share an element?  (Once the domain is made.)
bool gather_has_lanes(const gather_making *w);
// The first site that adds to the same elements as this single one: w->sum is by its index.
uint32_t gather_first_of(const gather *g, const gather_site *site);
// Opens an `if` that the elements of the last row fail which there are not; false: rows are full.
bool gather_begin_rows(gather_making *w, const gather_site *site);
bool gather_makes_sum(const gather_making *w, uint32_t k); // its first single site of an element
void gather_begin_sums(gather_making *w);
void gather_end_sums(gather_making *w); // stores them
// ---- gather_partial.c
uint32_t gather_shares(const gather_site *site); // how many partial sums its element has
void gather_store_partial(gather_making *w);     // the sums, which are partial
bool gather_add_partial(gather_making *w);       // … adds all of them to the sums; false: memory
// ---- gather_forms.c
// Makes program k for large buffers, for small ones or, where sizes decide, for both: made[],
// stage[].  Returns how many that are; 0: refused, or memory.
uint32_t gather_make_forms(gather *g, uint32_t k, vy_program **made, gather_stage *stage);
// Names the other forms of program k, of which `last` is the last.  That for small buffers, if it
// is the only form, has the name of the program itself.  False: memory.
bool gather_name_forms(gather *g, uint32_t k, const gather_stage *last);

#endif
