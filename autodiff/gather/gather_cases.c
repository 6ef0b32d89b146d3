// SPDX-License-Identifier: MIT
// gather_cases.c: additions whose places scalars choose between.
//
//   if dims == 2 { … a[y * w + x] … } else { … a[z * cstep + y * w + x] … }
//
// A launch takes one of the arms only, but rows that both of them have, and one division of the
// domain into coordinates, have to suit both.  So the reverse program becomes several, in each of
// which such conditions are known, and each is gathered by itself:
//
//   repeat once in 0..(dims == 2) { f_case(…); }         then f_case_gather_a and f_case_atomic
//   repeat once in 0..1 - (dims == 2) { f_case2(…); }
//
// Exactly one of them is dispatched.  That is done only where no addition of any is left to atomics
// whatever a launch grants, and where one program for all leaves some or has conditions.  The last
// case, which often has the most axes, is the first to show that it is in vain.
#include "autodiff/gather/gather_attempts.h"

#include "ir/build/rewrite.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_CONDITIONS = 16, // on scalars that are looked at
    DEEPEST = 64,         // constructs around an addition
};

typedef struct cases {
    gather *g; // of the whole
    gather_versions all;
    uint8_t *in; // by instruction of the program that is looked at: it is in an index
} cases;

// -------------------------------------------------------------------------------------- conditions
// A scalar or constant of 32 bits as a dimension of the whole; id 0: it is something else.
static vy_dim operand(gather *g, const vy_program *p, uint32_t id)
{
    int64_t c;
    if (vy_id_int(p, id, &c)) return gather_number(g, c);
    if (!VY_IS_LEAF(id)) return (vy_dim){0};
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind != VY_LEAF_SCALAR || !vy_type_is_integer((vy_type)l->type) ||
        vy_type_size((vy_type)l->type) != 4)
        return (vy_dim){0};
    return gather_scalar(g, l->index);
}

static vy_dim negation(gather *g, vy_dim x)
{
    return gather_node(g, VY_DIM_SUB, gather_number(g, 1), x);
}

static bool is_comparison(vy_op op)
{
    return op == VY_OP_LT || op == VY_OP_LE || op == VY_OP_EQ || op == VY_OP_NE;
}

// 1 where the comparison `id` of scalars holds, else 0; id 0: it is none of scalars.
static vy_dim comparison(gather *g, const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (!vy_type_is_integer(vy_id_type(p, vy_arg(p, id, 0)))) return (vy_dim){0};
    const vy_dim x = operand(g, p, vy_arg(p, id, 0)), y = operand(g, p, vy_arg(p, id, 1));
    if (!x.id || !y.id) return (vy_dim){0};
    const vy_dim less = gather_less(g, x, y);
    if (op == VY_OP_LT) return less;
    const vy_dim at_most = negation(g, gather_less(g, y, x));
    if (op == VY_OP_LE) return at_most;
    const vy_dim equal = gather_node(g, VY_DIM_SUB, at_most, less);
    return op == VY_OP_EQ ? equal : negation(g, equal);
}

static bool is_of_scalars(const vy_program *p, uint32_t id)
{
    bool all = !VY_IS_LEAF(id) && is_comparison((vy_op)p->insts.data[id].op);
    for (uint32_t k = 0; k < 2 && all; k++) {
        const uint32_t x = vy_arg(p, id, k);
        int64_t c;
        all = vy_id_int(p, x, &c) ||
              (VY_IS_LEAF(x) && p->leaves.data[VY_LEAF_INDEX(x)].kind == VY_LEAF_SCALAR);
    }
    return all;
}

static bool is_same(const vy_program *p, uint32_t x, uint32_t y)
{
    return x == y || (!VY_IS_LEAF(x) && !VY_IS_LEAF(y) && is_of_scalars(p, x) &&
                      is_of_scalars(p, y) && p->insts.data[x].op == p->insts.data[y].op &&
                      vy_arg(p, x, 0) == vy_arg(p, y, 0) && vy_arg(p, x, 1) == vy_arg(p, y, 1));
}

// The arm of an `if` on the condition that `id` is in: 1, or -1 for the other; 0: in none.
static int arm_of(const vy_program *p, const vy_structure *s, uint32_t id, uint32_t condition)
{
    for (uint32_t up = s->parent[id]; up; id = up, up = s->parent[up])
        if (p->insts.data[up].op == VY_OP_IF && is_same(p, vy_arg(p, up, 0), condition))
            return vy_in_then(s, up, id) ? 1 : -1;
    return 0;
}

// Of a buffer, in one arm: the index that is added at, and whether there are several.
typedef struct arm_places {
    uint32_t index; // 0: none so far
    bool several;
} arm_places;

// Does the condition choose between places that add to one buffer?
static bool chooses(const cases *c, const vy_program *p, const vy_structure *s, uint32_t condition)
{
    arm_places(*by)[2] = vy_arena_alloc(&c->g->arena, p->buffers.count * sizeof *by);
    bool any = false;
    c->g->failed |= !by;
    for (uint32_t id = 1; by && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const int arm = i->op == VY_OP_ATOMIC_ADD ? arm_of(p, s, id, condition) : 0;
        if (!arm) continue;
        arm_places *x = &by[i->aux][arm == 1];
        if (!x->index) x->index = vy_arg(p, id, 0);
        x->several |= x->index != vy_arg(p, id, 0);
    }
    for (uint32_t i = 1; by && i < p->buffers.count; i++) {
        const arm_places *x = by[i];
        any |=
            x[0].index && x[1].index && (x[0].several || x[1].several || x[0].index != x[1].index);
    }
    return any;
}

// Marks what indices that are added at are computed from.
static void find_indices(cases *c, const vy_program *p, const vy_structure *s)
{
    uint32_t then, other;
    c->in = vy_arena_alloc(&c->g->arena, p->insts.count);
    c->g->failed |= !c->in;
    for (uint32_t id = p->insts.count; id-- > 1 && c->in;) {
        const vy_inst *i = &p->insts.data[id];
        const bool adds = i->op == VY_OP_ATOMIC_ADD;
        if (!adds && (!c->in[id] || !vy_type_is_integer((vy_type)i->type))) continue;
        for (uint32_t k = 0; k < i->nargs - adds; k++)
            if (!VY_IS_LEAF(vy_arg(p, id, k))) c->in[vy_arg(p, id, k)] = 1;
        if (i->op != VY_OP_RESULT || !vy_choice(p, s, id, &then, &other)) continue;
        if (!VY_IS_LEAF(then)) c->in[then] = 1;
        if (!VY_IS_LEAF(other)) c->in[other] = 1;
    }
}

// The condition on scalars of the `if` that `id` opens, or by which it chooses a part of an index;
// 0: there is none.
static uint32_t condition_of(const cases *c, const vy_program *p, const vy_structure *s,
                             uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t then, other, opener = op == VY_OP_IF ? id : 0;
    if (op == VY_OP_SELECT && c->in[id]) opener = id;
    if (op == VY_OP_RESULT && c->in[id]) opener = vy_choice(p, s, id, &then, &other);
    return opener && is_of_scalars(p, vy_arg(p, opener, 0)) ? vy_arg(p, opener, 0) : 0;
}

// Conditions that were looked at, and whether they choose between places.
typedef struct seen {
    uint32_t id[MOST_CONDITIONS], count, choosing;
    bool chooses[MOST_CONDITIONS];
} seen;

// Notes the condition that instruction `id` has, if it has one.
static void see_condition(cases *c, const vy_program *p, const vy_structure *s, uint32_t id,
                          seen *all)
{
    const uint32_t condition = condition_of(c, p, s, id);
    uint32_t k = 0;
    if (!condition) return;
    while (k < all->count && !is_same(p, all->id[k], condition)) k++;
    c->all.refused |= k == MOST_CONDITIONS;
    if (k == MOST_CONDITIONS) return;
    const bool fresh = k == all->count, before = !fresh && all->chooses[k];
    if (fresh) all->id[all->count++] = condition;
    all->chooses[k] =
        before || p->insts.data[id].op != VY_OP_IF || (fresh && chooses(c, p, s, condition));
    all->choosing += all->chooses[k] && !before;
}

// The first condition on scalars that chooses between places; 0: none.  Of so many that there would
// be too many cases it is not begun.
static uint32_t find_condition(cases *c, const vy_program *p)
{
    vy_structure s;
    seen all = {0};
    if (!vy_structure_make(p, &s)) {
        c->g->failed = true;
        return 0;
    }
    if (s.deepest <= DEEPEST) find_indices(c, p, &s);
    for (uint32_t id = 1; c->in && id < p->insts.count && !c->all.refused && !c->g->failed; id++)
        see_condition(c, p, &s, id, &all);
    c->in = NULL;
    vy_structure_free(&s);
    c->all.refused |= all.choosing >= GATHER_VERSIONS;
    for (uint32_t k = 0; k < all.count && !c->all.refused && !c->g->failed; k++)
        if (all.chooses[k]) return all.id[k];
    return 0;
}

// ---------------------------------------------------------------------------------------- versions
typedef struct knowing {
    vy_rewrite w;
    uint32_t condition;
    bool holds;
} knowing;

// If comparison `id` is one of a scalar with a constant: the scalar, and *c; else 0.
static uint32_t with_constant(const vy_program *p, uint32_t id, int64_t *c)
{
    if (!is_of_scalars(p, id)) return 0;
    for (uint32_t k = 0; k < 2; k++)
        if (VY_IS_LEAF(vy_arg(p, id, k)) && vy_id_int(p, vy_arg(p, id, 1 - k), c) &&
            p->leaves.data[VY_LEAF_INDEX(vy_arg(p, id, k))].kind == VY_LEAF_SCALAR)
            return vy_arg(p, id, k);
    return 0;
}

// Where the scalar is 3 it is not 2: does `id` say that it is another constant, or that it is not?
static bool is_excluded(const knowing *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    int64_t c, d;
    const vy_op op = (vy_op)p->insts.data[x->condition].op;
    const uint32_t scalar =
        op == (x->holds ? VY_OP_EQ : VY_OP_NE) ? with_constant(p, x->condition, &c) : 0;
    return scalar && with_constant(p, id, &d) == scalar && c != d &&
           (p->insts.data[id].op == VY_OP_EQ || p->insts.data[id].op == VY_OP_NE);
}

static uint32_t know(void *pass, uint32_t id)
{
    knowing *x = pass;
    const bool same = is_same(x->w.p, id, x->condition);
    if (!same && !is_excluded(x, id)) return 0;
    x->w.map[id] = vy_bool(x->w.b, same ? x->holds : x->w.p->insts.data[id].op == VY_OP_NE).id;
    return id;
}

// p where the condition is known.  NULL: memory, an error, or it writes other buffers.
static vy_program *version_of(cases *c, vy_program *p, uint32_t condition, bool holds)
{
    knowing x = {.condition = condition, .holds = holds};
    const bool ok = vy_rewrite_begin(&x.w, p);
    if (ok) vy_rewrite_run(&x.w, know, &x);
    return gather_clean_version(&c->all, p, vy_rewrite_take(&x.w, ok));
}

// Takes p, which runs where `holds` is 1 (id 0: always): as it is, or as the versions of it.
static void divide(cases *c, vy_program *p, vy_dim holds)
{
    gather *g = c->g;
    const uint32_t condition = c->all.refused || g->failed ? 0 : find_condition(c, p);
    const vy_dim is = condition ? comparison(g, p, condition) : (vy_dim){0};
    vy_program *yes = is.id ? version_of(c, p, condition, true) : NULL;
    vy_program *no = yes ? version_of(c, p, condition, false) : NULL;
    if (!no) {
        vy_program_free(yes);
        gather_take_version(&c->all, p, holds);
        return;
    }
    const vy_dim fails = negation(g, is);
    divide(c, yes, holds.id ? gather_node(g, VY_DIM_MIN, holds, is) : is);
    divide(c, no, holds.id ? gather_node(g, VY_DIM_MIN, holds, fails) : fails);
    if (p != g->r) vy_program_free(p);
}

// --------------------------------------------------------------------------------------- the whole
// Says that what is assumed is of one of the versions.
static bool note_cases(const gather *g, uint32_t count)
{
    for (uint32_t k = 0; k < g->notes->notes.count; k++) {
        vy_gather_note *n = &g->notes->notes.data[k];
        if (!n->assumes) continue;
        const size_t length = strlen(n->assumes) + 80;
        char *text = vy_arena_alloc(g->notes->arena, length);
        if (!text) return false;
        if (count == 2)
            snprintf(text, length, "%s, and likewise in the other case of scalars", n->assumes);
        else
            snprintf(text, length, "%s, and likewise in %u other cases of scalars", n->assumes,
                     count - 1);
        n->assumes = text;
    }
    return true;
}

// Is all of case k gathered?  *open: under conditions of the launch.
static bool probe_case(gather_versions *all, uint32_t k, gather_one *one, gather_known_cases *known,
                       bool *open)
{
    if (known->all >> k & 1) return true;
    gather_one *rest = known->vain >> k & 1 ? known->otherwise : one;
    const gather_probe found = gather_probe_version(all, all->version[k], k > 0, rest);
    *(found.all ? &known->all : &known->vain) |= 1u << k;
    *open |= found.all && found.open;
    return found.all;
}

// Is one program for all gathered in every launch?  Not where a case, in which more is known, has
// conditions: that needs no attempt.
static bool is_simple(gather_versions *all, gather_one *one, bool open)
{
    const gather_probe as_it_is =
        open ? (gather_probe){0} : gather_probe_version(all, all->g->r, true, one);
    return as_it_is.all && !as_it_is.open;
}

bool gather_by_cases(gather *begin, gather_one *one, bool whole, gather_known_cases *known,
                     bool *done)
{
    static const char *const names[GATHER_VERSIONS] = {"case1", "case2", "case3", "case4", "case5",
                                                       "case6", "case7", "case8", "case9"};
    gather g = *begin;
    cases c = {.g = &g, .all.g = &g};
    gather_versions *all = &c.all;
    divide(&c, g.r, (vy_dim){0});
    const uint32_t count = all->count;
    bool each = count > 1 && !all->refused && !g.failed, open = false;
    for (uint32_t k = count; k-- > 0 && each;) each = probe_case(all, k, one, known, &open);
    each = each && !(whole && is_simple(all, one, open));
    bool ok = !g.failed;
    *done = each && ok;
    if (*done && g.probe)
        *g.probe = (gather_probe){.all = true, .open = true};
    else if (*done)
        ok = gather_replace_by_versions(all, names, one) && (!g.notes || note_cases(&g, count));
    gather_free_versions(all);
    vy_arena_free(&g.arena);
    return ok;
}
