// SPDX-License-Identifier: MIT
// array_versions.c: a local array that is filled several times becomes as many arrays.
//
//   for k in 0..E { h[k] = x[n, k]; }        for k in 0..E { h[k] = x[n, k]; }
//   for o in 0..E { g[o] = f(h, o); }        for o in 0..E { g[o] = f(h, o); }
//   for k in 0..E { h[k] = g[k]; }       →
//   local g;
//   for o in 0..E { g[o] = f(h, o); }        for o in 0..E { later_g[o] = f(g, o); }
//
// What a reverse pass needs of an array that is overwritten has to be taped; what stands until the
// end needs no tape (storage/standing.c).  An array costs its invocation some memory as long as
// that runs, a tape costs the same memory for every invocation of the launch.
//
// An array begins anew at top level where `local g;` clears it, or where loops store each of its
// elements once and load none.  Between two such places all accesses are to what begins at the
// first one, so naming another array in them changes no value.  This is done where what the array
// held before may be needed again: it went through more than sums.
//
// An array whose elements are all copied from another local array in one such loop nest, and that
// nothing else stores to, is that array for as long as nothing stores to the other one.
#include "autodiff/rewrite/array_versions.h"

#include "ir/core/access.h"
#include "ir/core/flow.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MOST_BYTES = 4096 }; // of new arrays: more memory for each invocation takes GPUs' occupancy

typedef struct versions {
    vy_program *p;
    vy_structure s;
    vy_arena arena;
    uint32_t *first, *of; // by buffer: where its accesses are in `of`; ids of accesses, in order
    uint32_t *filled;     // by buffer: where it is filled by a copy, if nothing else stores to it
    uint8_t *nonlinear;   // by instruction: a load whose value a derivative may need
    uint64_t bytes;       // of new arrays
    bool changed, failed;
} versions;

// ---------------------------------------------------------------------------------------- accesses
static bool is_local(const vy_program *p, uint32_t b)
{
    return p->buffers.data[b].cls == VY_LOCAL && !p->buffers.data[b].view_of;
}

static uint32_t local_of(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && is_local(p, i->aux) ? i->aux : 0;
}

static void *table(versions *x, size_t count)
{
    void *made = vy_arena_alloc(&x->arena, count);
    x->failed |= !made;
    return made;
}

// The accesses of each local array.
static void list_accesses(versions *x)
{
    const vy_program *p = x->p;
    const uint32_t n = p->buffers.count;
    uint32_t count = 0;
    x->first = table(x, (n + 1) * sizeof *x->first);
    uint32_t *next = table(x, (n + 1) * sizeof *next);
    for (uint32_t id = 1; !x->failed && id < p->insts.count; id++)
        if (local_of(p, id)) x->first[local_of(p, id) + 1]++, count++;
    x->of = table(x, (count + 1) * sizeof *x->of);
    if (x->failed) return;
    for (uint32_t b = 1; b <= n; b++) x->first[b] += x->first[b - 1];
    memcpy(next, x->first, (n + 1) * sizeof *next);
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (local_of(p, id)) x->of[next[local_of(p, id)]++] = id;
}

// What `id` is in at top level: an instruction or a construct.
static uint32_t item_of(const versions *x, uint32_t id)
{
    while (x->s.parent[id]) id = x->s.parent[id];
    return id;
}

// ------------------------------------------------------------------------------------------- fills
// Is `loop` one over all indices of this extent?
static bool covers(const vy_program *p, uint32_t loop, vy_dim extent)
{
    const vy_dim_node *n = &p->dims.data[extent.id];
    int64_t from, step;
    uint64_t trips;
    return p->insts.data[loop].op == VY_OP_LOOP && !vy_exits(p, loop) &&
           vy_id_int(p, vy_arg(p, loop, 0), &from) && from == 0 &&
           vy_id_int(p, vy_arg(p, loop, 2), &step) && step == 1 &&
           vy_constant_trips(p, loop, &trips) && n->op == VY_DIM_CONST && n->value >= 0 &&
           (uint64_t)n->value == trips;
}

// Do the loops around a store, a loop for each axis and no other construct, go through all indices?
static bool stores_each(const versions *x, uint32_t store)
{
    const vy_program *p = x->p;
    const vy_buf *b = &p->buffers.data[p->insts.data[store].aux];
    uint32_t up = x->s.parent[store], found = 0;
    for (; up; up = x->s.parent[up]) {
        uint32_t k = 0;
        while (k < b->rank && vy_arg(p, store, k) != up) k++;
        if (k == b->rank || found >> k & 1 || !covers(p, up, b->dims[k])) return false;
        found |= 1u << k;
    }
    return found == (1u << b->rank) - 1;
}

// Accesses of one array in one item: of[begin … end).
typedef struct group {
    uint32_t item, begin, end;
} group;

static group group_at(const versions *x, uint32_t begin, uint32_t end)
{
    group g = {item_of(x, x->of[begin]), begin, begin + 1};
    while (g.end < end && item_of(x, x->of[g.end]) == g.item) g.end++;
    return g;
}

// The store of a loop nest that fills the array; 0: it is something else.
static uint32_t fill_of(const versions *x, group g)
{
    const uint32_t id = x->of[g.begin];
    const bool one = g.end == g.begin + 1 && x->p->insts.data[id].op == VY_OP_STORE;
    return one && stores_each(x, id) ? id : 0;
}

static bool begins_anew(const versions *x, group g)
{
    const uint32_t id = x->of[g.begin];
    const bool clears = x->p->insts.data[id].op == VY_OP_ZERO && !x->s.parent[id];
    return clears || fill_of(x, g);
}

// ---------------------------------------------------------------------------------------- versions
// May the derivative of the user need its operands, or are they kept in another array?
static bool needs_operands(const vy_program *p, uint32_t user)
{
    const vy_inst *i = &p->insts.data[user];
    const bool sums = i->op == VY_OP_ADD || i->op == VY_OP_SUB || i->op == VY_OP_NEG;
    if (sums && vy_type_is_float((vy_type)i->type)) return false;
    return i->op != VY_OP_STORE || is_local(p, i->aux);
}

static void find_nonlinear(versions *x)
{
    const vy_program *p = x->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!needs_operands(p, id)) continue;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_LOAD) x->nonlinear[a] = 1;
        }
    }
}

// Another array like b; b: there is no memory left for one.
static uint32_t another(versions *x, uint32_t b, uint32_t like, uint32_t *last)
{
    vy_program *p = x->p;
    vy_buf made = p->buffers.data[like];
    uint64_t bytes = vy_type_size(made.type);
    char text[320];
    for (uint32_t k = 0; k < made.rank; k++) {
        const vy_dim_node *n = &p->dims.data[made.dims[k].id];
        if (n->op != VY_DIM_CONST || n->value < 0 || n->value > MOST_BYTES) return b;
        bytes *= (uint64_t)n->value;
        if (bytes > MOST_BYTES) return b;
    }
    if (x->bytes + bytes > MOST_BYTES) return b;
    const char *name = vy_next_free_name(p, "later", made.name, last, text);
    made.name = vy_arena_strdup(&p->module->arena, name, strlen(name));
    made.link = ++p->module->links;
    if (!made.name || !vy_vec_push(&p->buffers, made)) {
        x->failed = true;
        return b;
    }
    vy_names_added(p);
    x->bytes += bytes;
    x->changed = true;
    return p->buffers.count - 1;
}

static void split(versions *x, uint32_t b)
{
    const uint32_t end = x->first[b + 1];
    uint32_t current = b, last = 0;
    bool needed = false;
    for (uint32_t at = x->first[b]; at < end && !x->failed;) {
        const group g = group_at(x, at, end);
        if (needed && begins_anew(x, g)) {
            current = another(x, current, b, &last);
            needed = false;
        }
        for (; at < g.end; at++) {
            needed |= x->nonlinear[x->of[at]] != 0;
            x->p->insts.data[x->of[at]].aux = current;
        }
    }
}

// ------------------------------------------------------------------------------------------ copies
// By buffer: the store that fills it from another local array, if nothing else stores to it but
// what clears it before.
static void find_copies(versions *x)
{
    const vy_program *p = x->p;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const uint32_t end = x->first[b + 1];
        uint32_t fill = 0, writes = 0;
        for (uint32_t at = x->first[b]; at < end;) {
            const group g = group_at(x, at, end);
            const bool clears = x->p->insts.data[x->of[at]].op == VY_OP_ZERO && !fill;
            if (!fill && !(clears && g.end == at + 1)) fill = fill_of(x, g);
            if (!fill && !clears) break;
            for (; at < g.end; at++) writes += fill && p->insts.data[x->of[at]].op != VY_OP_LOAD;
        }
        if (fill && writes == 1) x->filled[b] = fill;
    }
}

// The array that the elements are from; 0: none that keeps them.
static uint32_t source_of(const versions *x, uint32_t b)
{
    const vy_program *p = x->p;
    const uint32_t fill = x->filled[b];
    const uint32_t from = fill ? vy_arg(p, fill, p->buffers.data[b].rank) : 0;
    if (!fill || VY_IS_LEAF(from) || p->insts.data[from].op != VY_OP_LOAD) return 0;
    const uint32_t c = local_of(p, from);
    if (!c || c == b || p->buffers.data[c].type != p->buffers.data[b].type) return 0;
    if (p->buffers.data[c].rank != p->buffers.data[b].rank) return 0;
    if (!vy_same_index(p, fill, from, VY_NO_AXIS)) return 0;
    for (uint32_t k = 0; k < p->buffers.data[b].rank; k++) {
        const vy_dim_node *m = &p->dims.data[p->buffers.data[b].dims[k].id];
        const vy_dim_node *n = &p->dims.data[p->buffers.data[c].dims[k].id];
        if (n->op != VY_DIM_CONST || n->value != m->value) return 0;
    }
    const uint32_t item = item_of(x, fill);
    for (uint32_t at = x->first[c]; at < x->first[c + 1]; at++)
        if (p->insts.data[x->of[at]].op != VY_OP_LOAD && x->of[at] > item) return 0;
    return c;
}

// Loads of copies become loads of what they are copies of.
static void forward_copies(versions *x)
{
    vy_program *p = x->p;
    uint32_t *source = table(x, p->buffers.count * sizeof *source);
    for (uint32_t b = 1; !x->failed && b < p->buffers.count; b++) source[b] = source_of(x, b);
    for (uint32_t b = 1; !x->failed && b < p->buffers.count; b++) {
        uint32_t c = source[b];
        while (c && source[c]) c = source[c];
        for (uint32_t at = x->first[b]; c && at < x->first[b + 1]; at++)
            if (p->insts.data[x->of[at]].op == VY_OP_LOAD)
                p->insts.data[x->of[at]].aux = c, x->changed = true;
    }
}

// --------------------------------------------------------------------------------------- the whole
static void rename_arrays(versions *x)
{
    const uint32_t n = x->p->buffers.count;
    x->nonlinear = table(x, x->p->insts.count);
    list_accesses(x);
    if (x->failed) return;
    find_nonlinear(x);
    for (uint32_t b = 1; b < n && !x->failed; b++)
        if (x->first[b] < x->first[b + 1]) split(x, b);
    list_accesses(x);
    x->filled = table(x, x->p->buffers.count * sizeof *x->filled);
    if (x->failed) return;
    find_copies(x);
    forward_copies(x);
}

bool vy_array_versions(vy_program *p, const uint8_t *active)
{
    (void)active;
    versions x = {.p = p};
    vy_pass_context context = {0};
    x.failed = !vy_structure_make(p, &x.s);
    if (!x.failed) rename_arrays(&x);
    vy_structure_free(&x.s);
    vy_arena_free(&x.arena);
    if (x.failed) vy_fail_oom(p->module);
    if (x.failed || !x.changed) return !x.failed;
    return vy_pass_dse(p, &context) && vy_pass_dce(p, &context) &&
           vy_pass_dead_arrays(p, &context) && vy_pass_cleanup(p, &context);
}

bool vy_has_versions(const vy_program *p)
{
    if (p->host) return false;
    bool loops = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        loops |= p->insts.data[id].op == VY_OP_LOOP;
        if (loops && p->insts.data[id].op == VY_OP_STORE && local_of(p, id)) return true;
    }
    return false;
}
