// SPDX-License-Identifier: MIT
// dims.c: when are two dimensions equal?
//
// `over(i: N)` and `x: f32[N]` make two nodes for the same N, and `N + 1` equals `1 + N`.  Nodes
// get the form base + constant, where equal bases have equal numbers:
//
//   N → (N, 0)    N+1 → (N, 1)    2*(N-1) → (MUL (0,2) (N,-1), 0)    4 → (0, 4)
//
// Dimensions are computed in 64 bits and an overflow is reported at launch, so they may be treated
// as mathematical integers.
#include "ir/core/dims.h"

#include <string.h>

typedef struct key {
    uint32_t op;
    vy_extent a, b;
    int64_t value;
} key;

static uint32_t hash(const key *k)
{
    uint64_t h = k->op * 0x9E3779B97F4A7C15u ^ (uint64_t)k->value;
    h = (h ^ (h >> 31) ^ k->a.base ^ (uint64_t)k->a.offset << 8) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 31) ^ k->b.base ^ (uint64_t)k->b.offset << 8) * 0x94D049BB133111EBu;
    return (uint32_t)(h >> 32);
}

static bool same_form(vy_extent x, vy_extent y) { return x.base == y.base && x.offset == y.offset; }

static bool same_key(const key *x, const key *y)
{
    return x->op == y->op && x->value == y->value && same_form(x->a, y->a) && same_form(x->b, y->b);
}

static key key_of(const vy_program *p, const vy_extent *form, uint32_t node)
{
    const vy_dim_node *d = &p->dims.data[node];
    key k = {.op = d->op, .value = d->op < VY_DIM_ADD ? d->value : 0};
    if (d->op < VY_DIM_ADD) return k;
    k.a = form[d->a];
    k.b = form[d->b];
    bool commutes = d->op == VY_DIM_ADD || d->op == VY_DIM_MUL || d->op >= VY_DIM_MIN;
    bool ordered = k.a.base < k.b.base || (k.a.base == k.b.base && k.a.offset <= k.b.offset);
    if (commutes && !ordered) {
        vy_extent t = k.a;
        k.a = k.b;
        k.b = t;
    }
    return k;
}

// Forms that need no base of their own.
static bool additive(const vy_program *p, const vy_extent *form, uint32_t node, vy_extent *out)
{
    const vy_dim_node *d = &p->dims.data[node];
    if (d->op == VY_DIM_CONST) {
        *out = (vy_extent){0, d->value};
        return true;
    }
    vy_extent a = d->op >= VY_DIM_ADD ? form[d->a] : (vy_extent){0};
    vy_extent b = d->op >= VY_DIM_ADD ? form[d->b] : (vy_extent){0};
    if (d->op == VY_DIM_MAX && b.base == 0 && b.offset <= 0 && a.offset == 0 && a.base &&
        p->dims.data[a.base].op == VY_DIM_UNKNOWN) { // a length of data is not negative
        *out = a;
        return true;
    }
    if (d->op != VY_DIM_ADD && d->op != VY_DIM_SUB) return false;
    if (d->op == VY_DIM_ADD && a.base == 0) {
        vy_extent t = a;
        a = b;
        b = t;
    }
    if (b.base) return false;
    out->base = a.base;
    return d->op == VY_DIM_ADD ? !__builtin_add_overflow(a.offset, b.offset, &out->offset)
                               : !__builtin_sub_overflow(a.offset, b.offset, &out->offset);
}

static void find_least(vy_dim_facts *f, const vy_program *p)
{
    for (uint32_t i = 0; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        bool natural =
            d->op == VY_DIM_UNKNOWN || d->op == VY_DIM_GROUPS ||
            (d->op == VY_DIM_SCALAR && !vy_type_is_signed(p->scalars.data[d->value].type));
        f->least[i] = i == 0 || natural ? 0 : INT64_MIN / 2;
        if (i && d->op == VY_DIM_SCALAR) f->scalar[d->value] = f->form[i].base;
    }
    // Where an invocation runs, every extent of the domain is at least 1.
    for (uint32_t i = 0; i < p->overs.count; i++) {
        vy_extent e = f->form[p->overs.data[i].extent.id];
        if (e.base == 0 || e.offset > INT32_MAX || e.offset < INT32_MIN) continue;
        if (f->least[e.base] < 1 - e.offset) f->least[e.base] = 1 - e.offset;
    }
}

bool vy_dim_facts_make(vy_dim_facts *f, const vy_program *p, vy_arena *arena)
{
    uint32_t n = p->dims.count, size = 16;
    while (size < 2 * n) size *= 2;
    uint32_t *table = vy_arena_alloc(arena, size * sizeof *table);
    key *keys = vy_arena_alloc(arena, (size_t)n * sizeof *keys);
    f->form = vy_arena_alloc(arena, (size_t)n * sizeof *f->form);
    f->least = vy_arena_alloc(arena, (size_t)n * sizeof *f->least);
    f->scalar = vy_arena_alloc(arena, (p->scalars.count + 1) * sizeof *f->scalar);
    if (!table || !keys || !f->form || !f->least || !f->scalar) return false;
    memset(f->scalar, 0xFF, (p->scalars.count + 1) * sizeof *f->scalar);
    for (uint32_t i = 1; i < n; i++) {
        if (additive(p, f->form, i, &f->form[i])) continue;
        keys[i] = key_of(p, f->form, i);
        uint32_t slot = hash(&keys[i]) & (size - 1);
        while (table[slot] && !same_key(&keys[table[slot]], &keys[i]))
            slot = (slot + 1) & (size - 1);
        if (!table[slot]) table[slot] = i;
        f->form[i] = (vy_extent){table[slot], 0};
    }
    find_least(f, p);
    return true;
}

// Nodes may be shared, so the number of comparisons is limited.
static bool equal_nodes(const vy_program *p, uint32_t a, uint32_t b, uint32_t *steps)
{
    if (a == b) return true;
    const vy_dim_node *x = &p->dims.data[a], *y = &p->dims.data[b];
    if (x->op != y->op || !*steps) return false;
    --*steps;
    if (x->op < VY_DIM_ADD) return x->value == y->value;
    return equal_nodes(p, x->a, y->a, steps) && equal_nodes(p, x->b, y->b, steps);
}

bool vy_equal_dims(const vy_program *p, vy_dim a, vy_dim b)
{
    uint32_t steps = 256;
    return equal_nodes(p, a.id, b.id, &steps);
}
