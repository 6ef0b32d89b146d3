// SPDX-License-Identifier: MIT
// components.c: finds groups.
//
// From rows, and the slots of vectors, to their users: whenever a group is complete, the users of
// its members are looked up by what they do, where members of complete groups count as those
// groups; those that do the same to each component are the next group.  And from stored rows, and
// these slots, back to what they take: values that are computed alike, from a group among others
// (v * vec3(a, b, c)).  Each instruction is looked up once for each operand, and each list of
// groups that lack members is short, so it is linear.
#include "ir/facts/component_finder.h"

#include "ir/build/edit.h"
#include "ir/core/functions.h"

#include <string.h>

typedef vy_component_finder finder;

enum { MOST_LACKING = 32 };

static const vy_inst *inst(const finder *f, uint32_t id) { return &f->p->insts.data[id]; }

bool vy_has_vectors(const vy_program *p)
{
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (vy_vector_size(p, &p->buffers.data[b])) return true;
    return vy_has_component_names(p);
}

// ------------------------------------------------------------------------------------- stretches
static bool is_boundary(const vy_program *p, uint32_t id)
{
    const vy_op op = (vy_op)p->insts.data[id].op;
    const vy_effect e = vy_op_infos[op].effect;
    if (op == VY_OP_PICK || vy_is_tuple(p, id)) return true; // they stay together
    return e != VY_PURE && !((e == VY_READ || e == VY_WRITE) && vy_op_is_memory(op));
}

static void find_stretches(vy_components *c, const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t before = c->stretch[id - 1];
        const bool begins = id == 1 || is_boundary(p, id) || is_boundary(p, id - 1);
        c->stretch[id] = begins ? id : before;
    }
}

// ------------------------------------------------------------------------- which component it is
static bool touches_row(const finder *f, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    if (i->op == VY_OP_ATOMIC_ADD && (f->uses[id] || i->name)) return false;
    return (i->op == VY_OP_LOAD || i->op == VY_OP_STORE || i->op == VY_OP_ATOMIC_ADD) &&
           vy_vector_size(f->p, &f->p->buffers.data[i->aux]);
}

// The size of its group, and which component of it `id` is; 0: it is in none.
static uint32_t row_component(const finder *f, uint32_t id, uint32_t *component)
{
    const uint32_t n = vy_vector_size(f->p, &f->p->buffers.data[inst(f, id)->aux]);
    const uint32_t index = vy_arg(f->p, id, vy_component_row_indices(f, id));
    const vy_scalar *k = vy_id_const(f->p, index);
    if (!k || k->u >= n || vy_id_type(f->p, index) != VY_I32) return 0;
    *component = (uint32_t)k->u;
    return n;
}

// Of what has no operand in a group, by its parameters.
static uint32_t param_component(const finder *f, uint32_t id, uint32_t *component)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < inst(f, id)->nargs; k++) {
        const vy_vector_param *v = vy_vector_param_of(f->p, f->params, vy_arg(f->p, id, k));
        if (!v) continue;
        if (n && v->lane - 1u != *component) return 0;
        *component = v->lane - 1u;
        n = v->n;
    }
    return n;
}

static uint32_t computed_component(const finder *f, uint32_t id, uint32_t *component)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < inst(f, id)->nargs; k++) {
        const uint32_t a = vy_arg(f->p, id, k), g = vy_component_group(f, a);
        if (!g) continue;
        if (n && f->c->component[a] != *component) return 0; // it combines components
        *component = f->c->component[a];
        n = f->c->groups.data[g].size;
    }
    return n ? n : param_component(f, id, component);
}

// Does it store a component, or add it, elsewhere than in a row?  Where all of a vector are, in
// whichever places, it is better together, but the stores stay where they are.
static bool stores(const finder *f, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    return i->op == VY_OP_STORE || (i->op == VY_OP_ATOMIC_ADD && !f->uses[id] && !i->name);
}

// ----------------------------------------------------------------------------------------- numbers
static uint32_t hash(const finder *f, uint32_t id, bool row)
{
    const vy_inst *i = inst(f, id);
    uint64_t h = i->op | (uint64_t)i->type << 16;
    if (row || !stores(f, id)) h |= (uint64_t)i->aux << 24;
    h = (h ^ f->c->stretch[id]) * 0x9e3779b97f4a7c15u;
    const uint32_t exchange = vy_component_exchanged(f, id, row);
    for (uint32_t k = 0; k < i->nargs; k++)
        h = (h ^ (h >> 29) ^ vy_component_operand(f, id, k ^ exchange, row)) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static bool are_alike(const finder *f, uint32_t x, uint32_t y, bool row)
{
    const vy_inst *a = inst(f, x), *b = inst(f, y);
    const bool places = !row && stores(f, x); // of theirs
    if (a->op != b->op || a->type != b->type || a->nargs != b->nargs || a->flags != b->flags ||
        (a->aux != b->aux && !places) || f->c->stretch[x] != f->c->stretch[y])
        return false;
    const uint32_t u = vy_component_exchanged(f, x, row), v = vy_component_exchanged(f, y, row);
    for (uint32_t k = 0; k < a->nargs; k++)
        if (vy_component_operand(f, x, k ^ u, row) != vy_component_operand(f, y, k ^ v, row))
            return false;
    return true;
}

static uint32_t any_member(const vy_group *g)
{
    for (uint32_t k = 0; k < g->size; k++)
        if (g->member[k]) return g->member[k];
    return 0;
}

// ---------------------------------------------------------------------------------- from the rows
// The group that `id` is component k of, of those from `number` on; 0: none lacks it.
static uint32_t lacking(const finder *f, uint32_t number, uint32_t id, uint32_t k, bool row)
{
    for (uint32_t tries = 0; number && tries < MOST_LACKING; tries++) {
        const vy_group *g = &f->c->groups.data[number];
        const uint32_t other = any_member(g);
        if (other && !g->complete && !g->member[k] && are_alike(f, other, id, row)) return number;
        number = g->next;
    }
    return 0;
}

// Groups of one hash are a list, the newest last.
static bool join(finder *f, uint32_t id, uint32_t n, uint32_t k, bool row)
{
    vy_group_vec *groups = &f->c->groups;
    uint32_t *head = &f->table[hash(f, id, row) & f->mask];
    while (*head && groups->data[*head].complete) *head = groups->data[*head].next;
    const uint32_t number = lacking(f, *head, id, k, row);
    if (number) return vy_component_enter(f, id, number, k);
    const uint32_t fresh = groups->count;
    if (!vy_vec_push(groups, ((vy_group){.size = n, .last = fresh}))) return false;
    if (*head) {
        vy_group *first = &groups->data[*head];
        first->last = groups->data[first->last].next = fresh;
    } else {
        *head = fresh;
    }
    return vy_component_enter(f, id, fresh, k);
}

static bool find_rows(finder *f)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        uint32_t k = 0, n = touches_row(f, id) ? row_component(f, id, &k) : 0;
        if (n && !join(f, id, n, k, true)) return false;
    }
    return true;
}

static bool find_user(finder *f, uint32_t id)
{
    uint32_t k = 0, n = 0;
    if ((vy_component_computed(f, id) || stores(f, id)) && !vy_component_group(f, id))
        n = computed_component(f, id, &k);
    if (!n) return true;
    vy_component_leave(f, id);
    return join(f, id, n, k, false);
}

// From the parameters.
static bool find_params(finder *f)
{
    bool ok = true;
    for (uint32_t id = 1; ok && id < f->p->insts.count; id++)
        if (vy_component_computed(f, id)) ok = find_user(f, id);
    return ok;
}

static bool find_users(finder *f, uint32_t member)
{
    bool ok = true;
    for (uint32_t u = f->start[member]; ok && u < f->start[member + 1]; u++)
        ok = find_user(f, f->user[u]);
    return ok;
}

static bool find_next(finder *f, uint32_t *from)
{
    for (; *from < f->done.count; ++*from)
        for (uint32_t k = 0; k < f->c->groups.data[f->done.data[*from]].size; k++)
            if (!find_users(f, f->c->groups.data[f->done.data[*from]].member[k])) return false;
    return true;
}

// -------------------------------------------------------------------------- better together or not
static void use_operands(const finder *f, uint32_t member, bool *used)
{
    for (uint32_t k = 0; k < inst(f, member)->nargs; k++) {
        const uint32_t a = vy_arg(f->p, member, k);
        if (vy_component_group(f, a) && f->c->component[a] == 0)
            used[vy_component_group(f, a)] = true;
    }
}

static void use_values(finder *f, const uint32_t *values, uint32_t n, void *used)
{
    const uint32_t g = vy_component_group(f, values[0]);
    bool all = g && f->c->groups.data[g].size == n;
    for (uint32_t j = 0; all && j < n; j++) all = f->c->groups.data[g].member[j] == values[j];
    if (all) ((bool *)used)[g] = true;
}

// Operations whose results are used as scalars only stay where they are: a dot product is a sum of
// products.  Users, whose first components follow those of their operands, come before these.
static void choose(finder *f, bool *used)
{
    vy_component_slot_values(f, use_values, used);
    for (uint32_t id = f->p->insts.count; id-- > 1;) {
        const uint32_t number = vy_component_group(f, id);
        vy_group *g = &f->c->groups.data[number];
        if (!number || f->c->component[id]) continue;
        g->vector = touches_row(f, id) || used[number] || vy_component_is_named(f, id);
        g->vector &= !g->stays;
        if (!g->made) use_operands(f, id, used);
    }
}

static bool make_users(finder *f, vy_arena *arena)
{
    const vy_program *p = f->p;
    const uint32_t n = p->insts.count;
    f->start = vy_arena_room(arena, n + 1, sizeof *f->start);
    if (!f->start) return false;
    vy_count_uses(p, f->uses);
    for (uint32_t id = 0; id < n; id++) f->start[id + 1] = f->start[id] + f->uses[id];
    f->user = vy_arena_room(arena, f->start[n], sizeof *f->user);
    if (!f->user) return false;
    for (uint32_t id = 1; id < n; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a)) f->user[f->start[a]++] = id;
        }
    for (uint32_t id = n; id > 0; id--) f->start[id] = f->start[id - 1];
    f->start[0] = 0;
    return true;
}

static bool tables(finder *f, vy_arena *arena)
{
    const size_t n = f->p->insts.count;
    for (f->mask = 64; f->mask < 2 * n; f->mask *= 2) {}
    f->params = vy_arena_alloc(arena, (f->p->scalars.count + 1) * sizeof *f->params);
    if (!f->params) return false;
    vy_vector_params(f->p, f->params);
    f->table = vy_arena_alloc(arena, f->mask * sizeof *f->table);
    f->mask--;
    f->uses = vy_arena_alloc(arena, n * sizeof *f->uses);
    f->c->group = vy_arena_alloc(arena, n * sizeof *f->c->group);
    f->c->component = vy_arena_alloc(arena, n);
    f->c->stretch = vy_arena_alloc(arena, n * sizeof *f->c->stretch);
    return f->table && f->uses && f->c->group && f->c->component && f->c->stretch;
}

bool vy_components_find(vy_components *c, const vy_program *p, const vy_structure *s,
                        vy_arena *arena)
{
    finder f = {.c = c, .p = p, .s = s};
    *c = (vy_components){0};
    if (!tables(&f, arena) || !vy_vec_push(&c->groups, (vy_group){0})) return false;
    if (!make_users(&f, arena)) return false;
    find_stretches(c, p);
    uint32_t from = 0;
    bool ok = find_rows(&f) && vy_component_slots(&f) && find_next(&f, &from);
    ok = ok && vy_components_named(&f, arena) && find_params(&f) && find_next(&f, &from);
    if (ok) vy_components_stored(&f);
    ok = ok && find_next(&f, &from);
    bool *used = ok ? vy_arena_alloc(arena, c->groups.count * sizeof *used) : NULL;
    if (used) choose(&f, used);
    vy_vec_free(&f.done);
    return used;
}

void vy_components_free(vy_components *c) { vy_vec_free(&c->groups); }
