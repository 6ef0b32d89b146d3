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

#include "autodiff/stages/stages.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_CASES = 6,
    MOST_CONDITIONS = 16, // on scalars that are looked at
    DEEPEST = 64,         // constructs around an addition
};

typedef struct cases {
    gather *g; // of the whole; its r gets the dimensions
    vy_program *version[MOST_CASES];
    vy_dim holds[MOST_CASES]; // 1 where that one runs, else 0
    uint32_t count;
    uint8_t *in; // by instruction of the program that is looked at: it is in an index
    bool refused;
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
    c->refused |= k == MOST_CONDITIONS;
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
    for (uint32_t id = 1; c->in && id < p->insts.count && !c->refused && !c->g->failed; id++)
        see_condition(c, p, &s, id, &all);
    c->in = NULL;
    vy_structure_free(&s);
    c->refused |= all.choosing >= MOST_CASES;
    for (uint32_t k = 0; k < all.count && !c->refused && !c->g->failed; k++)
        if (all.chooses[k]) return all.id[k];
    return 0;
}

// ---------------------------------------------------------------------------------------- versions
typedef struct knowing {
    vy_rewrite w;
    uint32_t condition;
    bool holds;
} knowing;

static uint32_t know(void *pass, uint32_t id)
{
    knowing *x = pass;
    if (!is_same(x->w.p, id, x->condition)) return 0;
    x->w.map[id] = vy_bool(x->w.b, x->holds).id;
    return id;
}

// p where the condition is known.  NULL: memory, or an error.
static vy_program *version_of(cases *c, vy_program *p, uint32_t condition, bool holds)
{
    knowing x = {.condition = condition, .holds = holds};
    vy_pass_context context = {0};
    const bool ok = vy_rewrite_begin(&x.w, p);
    if (ok) vy_rewrite_run(&x.w, know, &x);
    vy_program *q = vy_rewrite_take(&x.w, ok);
    if (q && vy_pass_cleanup(q, &context) && vy_pass_dce(q, &context) && vy_check_program(q) &&
        q->scalars.count == p->scalars.count)
        return q;
    c->refused |= q && q->scalars.count != p->scalars.count;
    c->g->failed |= !c->refused;
    vy_program_free(q);
    return NULL;
}

// By buffer: it is written.
static void find_written(const vy_program *p, uint8_t *written)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
            written[p->insts.data[id].aux] = 1;
}

// Do both write the same buffers?  A dispatch clears what it has as `out`, and only the version
// that runs does.
static bool write_alike(cases *c, const vy_program *p, const vy_program *q)
{
    const uint32_t n = p->buffers.count;
    uint8_t *x = vy_arena_alloc(&c->g->arena, n), *y = vy_arena_alloc(&c->g->arena, n);
    c->g->failed |= !x || !y;
    if (!x || !y || q->buffers.count != n) return false;
    find_written(p, x);
    find_written(q, y);
    for (uint32_t i = 1; i < n; i++)
        if (x[i] != y[i] && vy_is_global(p->buffers.data[i].cls)) return false;
    return true;
}

// Takes p, which runs where `holds` is 1.
static void take(cases *c, vy_program *p, vy_dim holds)
{
    c->refused |= c->count == MOST_CASES;
    if (!c->refused && !c->g->failed && holds.id) {
        c->holds[c->count] = holds;
        c->version[c->count++] = p;
    } else if (p != c->g->r) {
        vy_program_free(p);
    }
}

// Takes p, which runs where `holds` is 1 (id 0: always): as it is, or as the versions of it.
static void divide(cases *c, vy_program *p, vy_dim holds)
{
    gather *g = c->g;
    const uint32_t condition = c->refused || g->failed ? 0 : find_condition(c, p);
    const vy_dim is = condition ? comparison(g, p, condition) : (vy_dim){0};
    vy_program *yes = is.id ? version_of(c, p, condition, true) : NULL;
    vy_program *no = yes ? version_of(c, p, condition, false) : NULL;
    if (!no || !write_alike(c, p, yes) || !write_alike(c, p, no)) {
        vy_program_free(yes);
        vy_program_free(no);
        take(c, p, holds);
        return;
    }
    const vy_dim fails = negation(g, is);
    divide(c, yes, holds.id ? gather_node(g, VY_DIM_MIN, holds, is) : is);
    divide(c, no, holds.id ? gather_node(g, VY_DIM_MIN, holds, fails) : fails);
    if (p != g->r) vy_program_free(p);
}

// --------------------------------------------------------------------------------------- the whole
static bool name_all(cases *c)
{
    char text[32];
    for (uint32_t k = 0; k < c->count; k++) {
        snprintf(text, sizeof text, "case%u", k + 1);
        c->version[k]->name = vy_stage_name(c->g->m, c->g->r, text);
        if (!c->version[k]->name) return false;
    }
    return true;
}

// The notes are of the last version.  Those of another only count its places, and its programs are
// the last ones of the module, from number `first` on, or p itself.
static bool note_elsewhere(const gather *g, uint32_t first, const vy_program *p)
{
    for (uint32_t k = 0; k < g->m->programs.count; k++) {
        const vy_program *q = g->m->programs.data[k];
        if (q != p && k < first) continue;
        const char *copy = vy_arena_strdup(g->notes->arena, q->name, strlen(q->name));
        if (!copy || !vy_vec_push(&g->notes->elsewhere, copy)) return false;
    }
    for (uint32_t k = 0; k < g->notes->notes.count; k++) {
        vy_gather_note *n = &g->notes->notes.data[k];
        *n = (vy_gather_note){.buffer = n->buffer, .sites = n->sites, .gathered = n->gathered};
    }
    return true;
}

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

// Puts the versions in the place of the whole, and gathers each.
static bool take_apart(cases *c, bool (*one)(gather *))
{
    gather *g = c->g;
    if (!name_all(c)) return false;
    const uint32_t count = c->count;
    c->count = 0; // they are the module's
    if (!vy_stages_replace_some(g->m, g->r, c->version, c->holds, count)) return false;
    bool ok = true;
    for (uint32_t k = 0; k < count && ok; k++) {
        const uint32_t before = g->m->programs.count;
        gather own = *g;
        own.r = c->version[k];
        own.arena = (vy_arena){0};
        if (gather_has_additions(own.r)) ok = vy_affine_name_scalars(own.r) && one(&own);
        if (ok && g->notes && k + 1 < count) ok = note_elsewhere(g, before - 1, c->version[k]);
    }
    return ok && (!g->notes || note_cases(g, count));
}

// Are no additions left of p, at least where what it assumes holds?
static gather_probe probe(cases *c, const vy_program *p, bool (*one)(gather *))
{
    gather_probe found = {0};
    if (!gather_has_additions(p)) return (gather_probe){.all = true};
    gather own = *c->g;
    own.arena = (vy_arena){0};
    own.notes = NULL;
    own.probe = &found;
    own.thrifty = true;
    own.r = vy_program_clone(p, c->g->m);
    const bool ok = own.r && vy_affine_name_scalars(own.r) && one(&own);
    c->g->failed |= !ok;
    vy_program_free(own.r);
    return ok ? found : (gather_probe){0};
}

bool gather_by_cases(gather *begin, bool (*one)(gather *), bool whole, bool *done)
{
    gather g = *begin;
    cases c = {.g = &g};
    divide(&c, g.r, (vy_dim){0});
    bool all = c.count > 1 && !c.refused && !g.failed;
    for (uint32_t k = c.count; k-- > 0 && all;) all = probe(&c, c.version[k], one).all;
    const gather_probe as_it_is = all && whole ? probe(&c, g.r, one) : (gather_probe){0};
    all = all && (!as_it_is.all || as_it_is.open);
    bool ok = !g.failed;
    *done = all && ok;
    if (*done) ok = take_apart(&c, one);
    for (uint32_t k = 0; k < c.count; k++) vy_program_free(c.version[k]);
    vy_arena_free(&g.arena);
    return ok;
}
