// SPDX-License-Identifier: MIT
// components_named.c: groups by the names that front ends give the components of vectors.
//
//   p_x = load x[i]    p_y = load x[i + 1]        {p_x, p_y}: let p = vec2(x[i], x[i + 1]);
//
// Not all vectors are rows of buffers: some are made of scalars, at vec3(a, b, c), and then their
// names are all that is left of them.  In a stretch, where functions are inlined and loops unrolled
// names occur again and again: the first p_y belongs to the first p_x, the second to the second.
// Components that are not computed alike are no operation on vectors, but what uses them may be
// one (vy_group.made).  They stay where they are if they are in order and near each other, as then
// their operands are best where they are, too.
#include "ir/facts/component_finder.h"

#include <string.h>

typedef vy_component_finder finder;

enum { NEAR = 12 };

typedef struct named {
    uint32_t member[VY_MOST_COMPONENTS];
    uint32_t next; // of the same name
} named;

typedef struct stem {
    const char *name; // NULL: the entry is free
    uint32_t length, stretch, last;
    uint32_t lacking[VY_MOST_COMPONENTS]; // by component: the first that has none
} stem;

typedef struct names {
    finder *f;
    named *all; // [0] is a dummy
    stem *table;
    uint32_t count, mask;
} names;

static const char *name_of(const finder *f, uint32_t id)
{
    const uint32_t name = f->p->insts.data[id].name;
    return name ? vy_string(&f->p->module->names, name) : "";
}

// The printer calls what has no name v1, v2, …: that is no more than none.
bool vy_component_is_named(const finder *f, uint32_t id)
{
    const char *name = name_of(f, id);
    return *name && (*name != 'v' || strspn(name + 1, "0123456789") + 1 < strcspn(name, "_"));
}

// The length of the stem of its name; 0: it is no component's.
static uint32_t stem_of(const finder *f, uint32_t id, uint32_t *k)
{
    const vy_inst *i = &f->p->insts.data[id];
    const vy_effect e = vy_op_infos[i->op].effect;
    if (!vy_component_is_named(f, id) || (e != VY_PURE && e != VY_READ) || i->op == VY_OP_PICK)
        return 0;
    if (!vy_vector_prefix((vy_type)i->type) || f->c->group[id]) return 0;
    const char *name = name_of(f, id);
    for (*k = 0; *k < VY_MOST_COMPONENTS; ++*k)
        if (vy_component_stem(name, *k)) return (uint32_t)vy_component_stem(name, *k);
    return 0;
}

static stem *find_stem(names *n, const char *name, uint32_t length, uint32_t stretch)
{
    uint64_t h = stretch;
    for (uint32_t k = 0; k < length; k++) h = (h ^ (uint8_t)name[k]) * 0x9e3779b97f4a7c15u;
    for (uint32_t at = (uint32_t)(h >> 32) & n->mask;; at = (at + 1) & n->mask) {
        stem *s = &n->table[at];
        if (!s->name) *s = (stem){.name = name, .length = length, .stretch = stretch};
        if (s->length == length && s->stretch == stretch && memcmp(s->name, name, length) == 0)
            return s;
    }
}

static void enter_name(names *n, uint32_t id, uint32_t length, uint32_t k)
{
    stem *s = find_stem(n, name_of(n->f, id), length, n->f->c->stretch[id]);
    uint32_t at = s->lacking[k];
    if (!at) {
        at = n->count++;
        if (s->last) n->all[s->last].next = at;
        s->last = at;
        for (uint32_t j = 0; j < VY_MOST_COMPONENTS; j++)
            if (!s->lacking[j]) s->lacking[j] = at;
    }
    n->all[at].member[k] = id;
    s->lacking[k] = n->all[at].next;
}

static bool in_order(const uint32_t *ids, uint32_t n)
{
    bool all = ids[n - 1] - ids[0] <= NEAR;
    for (uint32_t k = 1; all && k < n; k++) all = ids[k - 1] < ids[k];
    return all;
}

// Enters those that have two components or more, all of one type.
static bool enter_group(names *n, const named *v)
{
    finder *f = n->f;
    uint32_t size = 0;
    while (size < VY_MOST_COMPONENTS && v->member[size] &&
           f->p->insts.data[v->member[size]].type == f->p->insts.data[v->member[0]].type)
        size++;
    if (size < 2) return true;
    const bool made = !vy_components_alike(f, v->member, size);
    const bool stays =
        made && (in_order(v->member, size) || vy_components_nest(f, v->member, size));
    const vy_group group = {.size = size, .made = made, .stays = stays};
    if (!vy_vec_push(&f->c->groups, group)) return false;
    const uint32_t number = f->c->groups.count - 1;
    bool ok = true;
    for (uint32_t k = 0; ok && k < size; k++) ok = vy_component_enter(f, v->member[k], number, k);
    return ok;
}

static uint32_t count(const finder *f)
{
    uint32_t total = 0, k = 0;
    for (uint32_t id = 1; id < f->p->insts.count; id++) total += stem_of(f, id, &k) != 0;
    return total;
}

bool vy_components_named(finder *f, vy_arena *arena)
{
    const uint32_t total = count(f);
    names n = {.f = f, .count = 1, .mask = 16};
    if (!total) return true;
    while (n.mask < 2 * total) n.mask *= 2;
    n.all = vy_arena_alloc(arena, (total + 1) * sizeof *n.all);
    n.table = vy_arena_alloc(arena, n.mask * sizeof *n.table);
    n.mask--;
    if (!n.all || !n.table) return false;
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        uint32_t k = 0;
        const uint32_t length = stem_of(f, id, &k);
        if (length) enter_name(&n, id, length, k);
    }
    bool ok = true;
    for (uint32_t v = 1; ok && v < n.count; v++) ok = enter_group(&n, &n.all[v]);
    return ok;
}
