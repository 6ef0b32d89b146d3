// SPDX-License-Identifier: MIT
// gather_units.c: factors of coordinates that a launch shows to be 1.
//
//   let s = x * stride - pad;
//   for k in max(0, -s)..min(size, width - s) { … a[y * width + s + k * dilate] … }
//
// x * stride, of two numbers that are no constants, is nothing that the analysis can invert.  Such
// factors are the strides and dilations of convolutions and poolings, 1 in most of them.  So there
// are two programs, of which a launch runs one: that in which all of these are 1, and which is
// gathered, and the program as it is for others.
//
//   repeat once in 0..(stride == 1 && dilate == 1) { f_unit(…); }
//
// What is looked for are scalars that multiply or divide, in the bounds of the loops and the
// conditions around an addition, what is not the same for all: there coordinates are compared with
// what bounds them.  Scalars that the size of the domain, or of a buffer, is computed from are
// sizes.  That is done only where no addition is left to atomics then, and some are without it.
#include "autodiff/core/conditions.h"
#include "autodiff/gather/gather_attempts.h"
#include "ir/build/rewrite.h"
#include "ir/text/print.h"

#include <string.h>

enum { MOST_UNITS = 8 };

typedef struct units {
    gather_versions all;
    vy_structure s;
    uint8_t *in;    // by instruction: bounds or conditions are computed from it
    uint8_t *alike; // … it is the same in all invocations and iterations
    uint8_t *size;  // by scalar: a size is computed from it
    uint8_t *unit;  // … it is to be 1
    uint32_t count; // of these
    vy_assumption within[2];
    const char *condition[2];
    vy_dim holds;
} units;

// ------------------------------------------------------------------------------------- coordinates
static void see(const units *u, uint32_t id)
{
    if (!VY_IS_LEAF(id)) u->in[id] = 1;
}

// The bounds of the loops around an addition, and the conditions; those of a construct once.
static void see_openers(const units *u, const vy_program *p, uint32_t id)
{
    for (uint32_t up = u->s.parent[id]; up && !u->in[up]; up = u->s.parent[up]) {
        const vy_op op = (vy_op)p->insts.data[up].op;
        const uint32_t n = op == VY_OP_LOOP ? 2 : op == VY_OP_IF ? 1 : 0;
        for (uint32_t k = 0; k < n; k++) see(u, vy_arg(p, up, k));
        u->in[up] = 1;
    }
}

// Marks what they are computed from.
static void find_bounds(const units *u, const vy_program *p)
{
    uint32_t from[3];
    for (uint32_t id = p->insts.count; id-- > 1;) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_ATOMIC_ADD) see_openers(u, p, id);
        if (!u->in[id]) continue;
        if (i->op == VY_OP_RESULT)
            for (uint32_t k = vy_slot_sources(p, &u->s, id, from); k-- > 0;) see(u, from[k]);
        if (vy_op_infos[i->op].effect != VY_PURE) continue;
        for (uint32_t k = 0; k < i->nargs; k++) see(u, vy_arg(p, id, k));
    }
}

static bool is_alike(const units *u, const vy_program *p, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return u->alike[id];
    const vy_leaf_kind kind = (vy_leaf_kind)p->leaves.data[VY_LEAF_INDEX(id)].kind;
    return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR || kind == VY_LEAF_LEN;
}

static void find_alike(const units *u, const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        bool all = vy_op_infos[i->op].effect == VY_PURE;
        for (uint32_t k = 0; k < i->nargs && all; k++) all = is_alike(u, p, vy_arg(p, id, k));
        u->alike[id] = all;
    }
}

// ------------------------------------------------------------------------------------------- sizes
// The scalars that the sizes of the domain and of buffers are computed from.  False: memory.
static bool find_sizes(const units *u, const vy_program *p)
{
    uint8_t *in = vy_arena_alloc(&u->all.g->arena, p->dims.count + 1); // by dimension
    if (!in) return false;
    for (uint32_t k = 0; k < p->overs.count; k++) in[p->overs.data[k].extent.id] = 1;
    for (uint32_t k = 1; k < p->buffers.count; k++)
        for (uint32_t axis = 0; axis < p->buffers.data[k].rank; axis++)
            in[p->buffers.data[k].dims[axis].id] = 1;
    for (uint32_t d = p->dims.count; d-- > 1;) {
        const vy_dim_node *n = &p->dims.data[d];
        if (!in[d]) continue;
        in[n->a] = in[n->b] = 1;
        if (n->op == VY_DIM_SCALAR) u->size[n->value] = 1;
    }
    return true;
}

// ------------------------------------------------------------------------------------------- units
// Takes operand k of `id`, if it is a scalar that may be one and the other is not alike.
static void take(units *u, const vy_program *p, uint32_t id, uint32_t k)
{
    const uint32_t x = gather_plain(p, vy_arg(p, id, k));
    const vy_leaf *l = VY_IS_LEAF(x) ? &p->leaves.data[VY_LEAF_INDEX(x)] : NULL;
    if (!l || l->kind != VY_LEAF_SCALAR || is_alike(u, p, vy_arg(p, id, 1 - k))) return;
    const vy_type t = (vy_type)l->type;
    if (u->size[l->index] || u->unit[l->index] || !vy_type_is_integer(t) || vy_type_size(t) != 4)
        return;
    u->unit[l->index] = 1;
    u->count++;
}

static bool find_units(units *u, const vy_program *p)
{
    vy_arena *arena = &u->all.g->arena;
    u->in = vy_arena_alloc(arena, p->insts.count);
    u->alike = vy_arena_alloc(arena, p->insts.count);
    u->size = vy_arena_alloc(arena, p->scalars.count + 1);
    u->unit = vy_arena_alloc(arena, p->scalars.count + 1);
    if (!u->in || !u->alike || !u->size || !u->unit || !find_sizes(u, p)) return false;
    find_bounds(u, p);
    find_alike(u, p);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (!u->in[id] || !vy_type_is_integer((vy_type)p->insts.data[id].type)) continue;
        if (op == VY_OP_MUL) take(u, p, id, 0);
        if (op == VY_OP_MUL || op == VY_OP_DIV || op == VY_OP_REM) take(u, p, id, 1);
    }
    return true;
}

// -------------------------------------------------------------------------------------- conditions
// max(…) <= 1 of them, and 1 <= min(…).
static void make_conditions(units *u)
{
    gather *g = u->all.g;
    vy_dim greatest = {0}, least = {0};
    for (uint32_t k = 0; k < g->r->scalars.count && !g->failed; k++) {
        if (!u->unit[k]) continue;
        const vy_dim d = gather_scalar(g, k);
        greatest = greatest.id ? gather_node(g, VY_DIM_MAX, greatest, d) : d;
        least = least.id ? gather_node(g, VY_DIM_MIN, least, d) : d;
    }
    const vy_dim one = gather_number(g, 1), two = gather_number(g, 2), zero = gather_number(g, 0);
    u->within[0] = (vy_assumption){greatest, one};
    u->within[1] = (vy_assumption){one, least};
    const vy_dim at_most = gather_less(g, greatest, two), at_least = gather_less(g, zero, least);
    u->holds = gather_node(g, VY_DIM_MIN, at_most, at_least);
    for (uint32_t k = 0; k < 2 && !g->failed; k++) {
        char *text = vy_assumption_text(g->r, &u->within[k]);
        u->condition[k] = text ? vy_arena_strdup(&g->arena, text, strlen(text)) : NULL;
        vy_free(text);
        g->failed |= !u->condition[k];
    }
}

// ---------------------------------------------------------------------------------------- versions
typedef struct writing {
    vy_rewrite w;
    uint32_t *value; // by scalar: 1 of its type, of a unit; 0: another one
} writing;

static uint32_t with_units(void *pass, uint32_t id)
{
    writing *x = pass;
    vy_rewrite_copy_leaves(&x->w, id, VY_LEAF_SCALAR, x->value);
    return id;
}

// g->r where the units are 1.  NULL: memory, an error, or it cannot be one.
static vy_program *version_of(units *u)
{
    const vy_program *p = u->all.g->r;
    writing x = {0};
    const bool ok = vy_rewrite_begin(&x.w, u->all.g->r);
    x.value = ok ? vy_rewrite_table(&x.w, (p->scalars.count + 1) * sizeof *x.value) : NULL;
    if (x.value && vy_rewrite_open(&x.w)) {
        for (uint32_t k = 0; k < p->scalars.count; k++)
            if (u->unit[k]) x.value[k] = vy_int(x.w.b, p->scalars.data[k].type, 1).id;
        vy_rewrite_range(&x.w, 1, p->insts.count, with_units, &x);
    }
    return gather_clean_version(&u->all, p, vy_rewrite_take(&x.w, ok && x.value));
}

// Every launch has units: the version replaces the whole.
static bool assume(gather *begin, const units *u, vy_program *version)
{
    for (uint32_t k = 0; k < 2; k++)
        if (!vy_vec_push(&version->assumes, u->within[k]) ||
            !vy_condition_note(begin->m, u->condition[k]))
            return false;
    vy_program_replace(begin->r, version);
    return vy_affine_name_scalars(begin->r);
}

static bool replace(units *u, vy_program *version, gather_one *one)
{
    static const char *const names[] = {"general", "unit"};
    gather *g = u->all.g;
    vy_program *general = vy_program_clone(g->r, g->m);
    if (!general) {
        vy_program_free(version);
        return false;
    }
    const vy_dim fails = gather_node(g, VY_DIM_SUB, gather_number(g, 1), u->holds);
    gather_take_version(&u->all, general, fails);
    gather_take_version(&u->all, version, u->holds);
    if (g->failed || !gather_replace_by_versions(&u->all, names, one)) return false;
    for (uint32_t k = 0; k < 2; k++)
        if (!vy_condition_note(g->m, u->condition[k]) ||
            (g->notes && !gather_note_version(g, u->condition[1 - k], u->all.name[0])))
            return false;
    return true;
}

// --------------------------------------------------------------------------------------- the whole
static bool are_given(const units *u)
{
    return gather_is_given(u->all.g, u->condition[0]) && gather_is_given(u->all.g, u->condition[1]);
}

// Looks for units where an addition that a maximum has is in the loops of that (gather_winner.c).
static bool find(units *u)
{
    const gather *g = u->all.g;
    gather_winners all = {0};
    vy_program *p = vy_program_clone(g->r, g->m);
    const bool ok =
        p && gather_try_winners(p, false, &all) && vy_structure_make(p, &u->s) && find_units(u, p);
    gather_free_winners(&all);
    vy_program_free(p);
    return ok;
}

bool gather_by_units(gather *begin, gather_one *one, bool *done)
{
    gather g = *begin;
    units u = {.all = {.g = &g, .general = true}};
    bool ok = find(&u);
    const bool any = ok && u.count && u.count <= MOST_UNITS;
    const gather_probe as_it_is =
        any ? gather_probe_version(&u.all, g.r, true, one) : (gather_probe){.all = true};
    u.all.bare = !as_it_is.any;
    u.all.calmly = true; // sizes in memory are i32: what may wrap around is tried in vain
    vy_program *version = NULL;
    if (!as_it_is.all && as_it_is.factors && !g.failed) {
        make_conditions(&u);
        version = version_of(&u);
    }
    if (version && gather_probe_version(&u.all, version, false, one).all && !g.failed) {
        *done = g.probe || !are_given(&u);
        if (g.probe) *g.probe = (gather_probe){.all = true, .open = true};
        if (g.probe) vy_program_free(version);
        if (!g.probe) ok = *done ? replace(&u, version, one) : assume(begin, &u, version);
    } else {
        vy_program_free(version);
    }
    vy_structure_free(&u.s);
    gather_free_versions(&u.all);
    vy_arena_free(&g.arena);
    return ok && !g.failed;
}
