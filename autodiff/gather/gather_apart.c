// SPDX-License-Identifier: MIT
// gather_apart.c: outputs whose elements are stored once if the launch shows it.
//
//   y[j * w + i] = u;  if i + 1 < w { y[j * w + i + 1] = v; }  if … { y[(j + 1) * w + i] = z; }
//
// A later store may overwrite what an earlier one stored, so the adjoint of y is a copy of the
// cotangent that the reverse of a store reads and clears (reverse/params.c), beside the bits of
// what has been seen (facts/shadow.c).  A gather would have to keep every number that is read
// there.  But of an image these are different elements, if rows do not overlap: 2 · h rows of w.
// So there are two programs, of which a launch runs one: that which clears nothing, and reads the
// cotangent where the caller has it; and the program as it is for others.
//
//   repeat once in 0..holds { f_apart(…); }            and its gathers
//   repeat once in 0..1 - holds { f_general(…); }
//
// The conditions are those under which isl shows that no two accesses of the adjoint are at one
// element (gather_apart_places.c), made as those of gather_own.c.  That is done only where no
// addition is left to atomics then, and some are without it.  Under conditions that hold in every
// launch the version takes the place of the whole.
#include "autodiff/gather/gather_apart.h"
#include "autodiff/core/facts.h"
#include "ir/build/rewrite.h"
#include "ir/core/access.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------- the version
typedef struct reading {
    vy_rewrite w;
    const gather_apart *x;
} reading;

// The length of an axis of the adjoint, as that of a buffer that is there in any case.
static vy_value length_of(reading *x, uint32_t buffer, uint32_t axis)
{
    const vy_program *p = x->w.p;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->workspace || !vy_is_global(b->cls) || axis >= b->rank) continue;
        if (!gather_as_long(p, p->buffers.data[buffer].dims[axis], b->dims[axis])) continue;
        return (vy_value){vy_extent_leaf(x->w.b, i, axis)};
    }
    return (vy_value){vy_extent_leaf(x->w.b, buffer, axis)};
}

// One, of an element that exists.
static uint32_t one_in_range(reading *x, uint32_t id)
{
    const uint32_t buffer = x->w.p->insts.data[id].aux;
    const vy_buf *b = &x->w.p->buffers.data[buffer];
    const bool within = x->w.p->insts.data[id].flags & VY_FLAG_INRANGE;
    vy_builder *to = x->w.b;
    vy_value all = vy_bool(to, true);
    for (uint32_t k = 0; k < b->rank && !within; k++)
        all =
            vy_and_in_range(to, all, (vy_value){vy_new_arg(&x->w, id, k)}, length_of(x, buffer, k));
    const bool is_float = vy_type_is_float(b->type);
    const vy_value one = is_float ? vy_float(to, b->type, 1) : vy_int(to, b->type, 1);
    return vy_select(to, all, one, vy_zero(to, b->type)).id;
}

// Leaves out what clears elements; what is loaded is what they begin as.
static uint32_t read_in_place(void *pass, uint32_t id)
{
    reading *x = pass;
    const vy_program *p = x->w.p;
    const vy_inst *i = &p->insts.data[id];
    uint32_t args[VY_MAX_RANK];
    if (!vy_op_is_memory((vy_op)i->op) || !x->x->cleared[i->aux]) return 0;
    if (i->op == VY_OP_STORE) return id;
    vy_rewrite_at(&x->w, id);
    const vy_buf *b = &p->buffers.data[i->aux];
    const uint32_t origin = gather_origin(p, i->aux);
    if (b->init == VY_INIT_ONES) {
        vy_rewrite_as(&x->w, id, one_in_range(x, id));
    } else if (origin) {
        vy_new_args(&x->w, id, b->rank, args);
        vy_rewrite_as(&x->w, id,
                      vy_emit(x->w.b, VY_OP_LOAD, (vy_type)i->type, origin, b->rank, args));
    } else {
        return 0;
    }
    return id;
}

// The whole with elements read in place, and what is assumed.  NULL: memory, an error, or it cannot
// be one.
static vy_program *version_of(const gather *g, gather_apart *x, gather_versions *all)
{
    vy_program *p = x->whole->r;
    reading r = {.x = x};
    const bool ok = vy_rewrite_begin(&r.w, p);
    if (ok && vy_rewrite_open(&r.w)) {
        for (uint32_t k = 0; k < g->site_count; k++) gather_assume_rows(g, &g->sites[k], r.w.b);
        vy_rewrite_range(&r.w, 1, p->insts.count, read_in_place, &r);
    }
    return gather_clean_version(all, p, vy_rewrite_take(&r.w, ok));
}

// ------------------------------------------------------------------------------- under conditions
// The whole gets the dimensions of the conditions: those that g->r has more.
static bool take_dims(const gather *g, gather_apart *x)
{
    vy_program *p = x->whole->r;
    for (uint32_t k = p->dims.count; k < g->r->dims.count; k++) {
        const vy_dim_node n = g->r->dims.data[k];
        if (!vy_vec_push(&p->dims, n)) return false;
    }
    return true;
}

// The conditions, for readers: each buffer's.
static bool take_text(const gather *g, gather_apart *x)
{
    vy_arena *arena = &x->whole->arena;
    x->text = "";
    for (uint32_t k = 0; k < g->site_count; k++) {
        vy_gather_note n = {0};
        if (k && g->sites[k].access.buffer == g->sites[k - 1].access.buffer) continue;
        gather_note_assumed(g, &g->sites[k], &n, arena);
        if (!n.assumes || strstr(x->text, n.assumes)) continue;
        const size_t length = strlen(x->text) + strlen(n.assumes) + sizeof " && ";
        char *both = vy_arena_alloc(arena, length);
        if (!both) return false;
        snprintf(both, length, "%s%s%s", x->text, *x->text ? " && " : "", n.assumes);
        x->text = both;
    }
    return true;
}

// It is proved: makes the version, if all is gathered of that and not of the whole.
static bool make(gather *g)
{
    gather_apart *x = gather_apart_of(g);
    gather_versions all = {.g = x->whole, .general = true, .cleared = x->cleared};
    for (uint32_t k = 0; k < g->site_count; k++) g->sites[k].gathered = true;
    x->holds = gather_holds(g);
    if (g->failed || !take_dims(g, x) || !take_text(g, x)) return false;
    vy_program *version = version_of(g, x, &all);
    if (version && gather_probe_version(&all, version, false, x->one).all) {
        x->version = version;
        return !x->whole->failed && (x->whole->probe || gather_note_conditions(g));
    }
    vy_program_free(version);
    return !x->whole->failed;
}

// ---------------------------------------------------------------------------------------- versions
// Says what is assumed, and which program runs otherwise.
static bool note_apart(const gather_apart *x, const char *otherwise)
{
    const gather *g = x->whole;
    vy_arena *arena = g->notes->arena;
    for (uint32_t k = 0; k < g->notes->notes.count; k++) {
        vy_gather_note *n = &g->notes->notes.data[k];
        const char *more = n->assumes ? n->assumes : "";
        const size_t length = strlen(more) + strlen(x->text) + sizeof " && ";
        char *text = vy_arena_alloc(arena, length);
        if (!text) return false;
        const bool apart = *more && !strstr(x->text, more);
        snprintf(text, length, "%s%s%s", x->text, apart ? " && " : "", apart ? more : "");
        n->assumes = text;
        if (!n->otherwise) n->otherwise = vy_arena_strdup(arena, otherwise, strlen(otherwise));
        if (!n->otherwise) return false;
    }
    return true;
}

// Runs the version where the conditions hold, else the whole.
static bool replace(gather_apart *x, bool bare)
{
    static const char *const names[] = {"general", "apart"};
    gather *g = x->whole;
    gather_versions all = {.g = g, .general = true, .bare = bare};
    vy_program *general = vy_program_clone(g->r, g->m);
    if (!general) return false;
    gather_take_version(&all, general, gather_else(g, x->holds));
    gather_take_version(&all, x->version, x->holds);
    x->version = NULL;
    const bool ok = !g->failed && gather_replace_by_versions(&all, names, x->one) &&
                    (!g->notes || note_apart(x, all.name[0]));
    gather_free_versions(&all);
    return ok;
}

// In every launch: the version takes the place of the whole.
static bool replace_all(gather *begin, gather_apart *x, bool *done)
{
    vy_program_replace(begin->r, x->version);
    x->version = NULL;
    *done = true;
    return vy_affine_name_scalars(begin->r) && x->one(begin);
}

// --------------------------------------------------------------------------------------- the whole
// Does the program that r is the derivative of update elements that several invocations may have?
static bool may_share(const gather *g)
{
    bool any = !g->source || g->staged;
    for (uint32_t id = 1; !any && id < g->source->insts.count; id++)
        any = vy_is_extremum((vy_op)g->source->insts.data[id].op);
    return any;
}

// Finds the buffers, without isl.
static bool find(gather *g, gather_apart *x)
{
    if (may_share(g)) return false;
    g->failed |= !vy_structure_make(g->r, &g->s);
    g->sites = NULL;
    g->site_count = 0;
    const bool any = !g->failed && gather_find_cleared(g, x);
    g->site_count = 0;
    vy_structure_free(&g->s);
    return any;
}

// Proves it of a copy of the whole.
static bool prove(gather_apart *x)
{
    static const gather_proof proof = {gather_find_places, gather_find_places_again,
                                       gather_places_apart, make};
    gather begin = *x->whole;
    bool made = false;
    x->owners.proof = &proof;
    x->owners.why = vy_arena_alloc(&x->whole->arena, begin.r->buffers.count * sizeof(char *));
    begin.r = vy_program_clone(x->whole->r, begin.m);
    begin.owners = &x->owners;
    begin.arena = (vy_arena){0};
    begin.notes = NULL;
    begin.probe = NULL;
    const bool ok = x->owners.why && begin.r && gather_prove(&begin, true, &made);
    vy_program_free(begin.r);
    return ok;
}

// As if what has been found had been found by the probe itself.
static void see_probe(gather_probe *probe, const gather_probe *found)
{
    if (found->all && !probe->all) *probe = *found;
    probe->any |= found->any;
    probe->factors |= found->factors;
}

bool gather_by_apart(gather *begin, gather_one *one, bool *done, bool *asked)
{
    gather g = *begin;
    gather_apart x = {.whole = &g, .one = one};
    gather_versions all = {.g = &g};
    bool ok = true;
    const uint32_t dims = g.r->dims.count;
    *asked = false;
    if (!begin->meets && find(&g, &x)) { // of domains alone, as the proof
        const gather_probe as_it_is = gather_probe_version(&all, g.r, true, one);
        *asked = begin->probe && begin->thrifty;
        if (*asked) see_probe(begin->probe, &as_it_is);
        ok = as_it_is.all || prove(&x);
        if (ok && x.version && begin->probe) {
            *begin->probe = (gather_probe){.all = true, .open = x.holds.id != 0};
            *done = true;
        } else if (ok && x.version && x.holds.id) {
            *done = true;
            ok = replace(&x, !as_it_is.any);
        } else if (ok && x.version) {
            ok = replace_all(begin, &x, done);
        }
    }
    if (!*done) begin->r->dims.count = dims;
    vy_program_free(x.version);
    vy_arena_free(&g.arena);
    return ok && !g.failed;
}
