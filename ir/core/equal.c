// SPDX-License-Identifier: MIT
// equal.c: structural equality of modules.
//
// Comparing arrays is not enough: leaves and dimensions are numbered in the order they were first
// needed, local arrays in the order they were declared, and unused ones may be left over.  So code
// is compared in order, leaves by content, and dimensions by common numbers for equal expressions
// (comparing them as trees would take exponential time on shared nodes).  Local arrays are paired
// at their first occurrence, intermediates of pipelines where they begin: a text declares them
// there, whatever order they were made in.
//
// Not compared: debug names, names of arrays, lines.
#include "ir/core/derive_as.h"
#include "ir/core/pipe.h"

#include <string.h>

typedef struct compare {
    const vy_program *a, *b;
    uint32_t *dims_a, *dims_b; // by node: class of equal expressions
    uint32_t *to_b, *to_a;     // by buffer: its partner, or 0
} compare;

// ------------------------------------------------------------------------------------- dimensions
typedef struct dim_key {
    uint32_t op, a, b;
    int64_t value;
} dim_key;

typedef struct dim_table {
    uint32_t *slots, size, count;
    dim_key *keys; // by class, from 1
} dim_table;

static uint32_t dim_class(dim_table *t, dim_key k)
{
    uint64_t h = k.op * 0x9E3779B97F4A7C15u ^ (uint64_t)k.value;
    h = (h ^ h >> 29 ^ k.a) * 0xBF58476D1CE4E5B9u;
    h = (h ^ h >> 29 ^ k.b) * 0x94D049BB133111EBu;
    uint32_t slot = (uint32_t)(h >> 32) & (t->size - 1);
    for (; t->slots[slot]; slot = (slot + 1) & (t->size - 1)) {
        const dim_key *have = &t->keys[t->slots[slot]];
        if (have->op == k.op && have->a == k.a && have->b == k.b && have->value == k.value)
            return t->slots[slot];
    }
    t->keys[++t->count] = k;
    return t->slots[slot] = t->count;
}

static void classify(dim_table *t, const vy_program *p, uint32_t *class)
{
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        dim_key k = {.op = d->op};
        if (d->op >= VY_DIM_ADD)
            k.a = class[d->a], k.b = class[d->b];
        else if (d->op != VY_DIM_UNKNOWN || p->signature) // in a program it is the buffer's own
            k.value = d->value;
        class[i] = dim_class(t, k);
    }
}

static bool dim_table_make(dim_table *t, uint32_t n, vy_arena *arena)
{
    *t = (dim_table){.size = 16};
    while (t->size < 2 * n) t->size *= 2;
    t->slots = vy_arena_alloc(arena, t->size * sizeof *t->slots);
    t->keys = vy_arena_alloc(arena, ((size_t)n + 1) * sizeof *t->keys);
    return t->slots && t->keys;
}

uint32_t *vy_dim_classes(const vy_program *p, vy_arena *arena)
{
    dim_table t;
    uint32_t *class = vy_arena_alloc(arena, p->dims.count * sizeof *class);
    if (!class || !dim_table_make(&t, p->dims.count, arena)) return NULL;
    classify(&t, p, class);
    return class;
}

static bool number_dims(compare *c, vy_arena *arena)
{
    dim_table t;
    bool table = dim_table_make(&t, c->a->dims.count + c->b->dims.count, arena);
    c->dims_a = vy_arena_alloc(arena, c->a->dims.count * sizeof(uint32_t));
    c->dims_b = vy_arena_alloc(arena, c->b->dims.count * sizeof(uint32_t));
    c->to_b = vy_arena_alloc(arena, c->a->buffers.count * sizeof(uint32_t));
    c->to_a = vy_arena_alloc(arena, c->b->buffers.count * sizeof(uint32_t));
    if (!table || !c->dims_a || !c->dims_b || !c->to_b || !c->to_a) return false;
    classify(&t, c->a, c->dims_a);
    classify(&t, c->b, c->dims_b);
    return true;
}

// ---------------------------------------------------------------------------------- declarations
static bool same_name(const char *x, const char *y)
{
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same_layout(const vy_layout *x, const vy_layout *y, uint32_t rank)
{
    if (!x->given || !y->given) return x->given == y->given;
    return x->uniform == y->uniform && x->set == y->set && x->binding == y->binding &&
           x->offset == y->offset && x->within == y->within &&
           (x->strides != NULL) == (y->strides != NULL) &&
           (!x->strides || !memcmp(x->strides, y->strides, rank * sizeof *x->strides));
}

// Bindings of what a shader does not have are no part of the program.
static bool same_binding(const compare *c, const vy_buf *x, const vy_buf *y)
{
    if (!same_layout(&x->layout, &y->layout, x->rank)) return false;
    return (c->a->shader && !x->layout.given) || (x->set == y->set && x->binding == y->binding);
}

static bool is_intermediate(const vy_program *p, const vy_buf *b)
{
    return p->signature && b->workspace;
}

static bool same_buffer(const compare *c, const vy_buf *x, const vy_buf *y)
{
    if (x->cls != y->cls || x->type != y->type || x->rank != y->rank) return false;
    for (uint32_t k = 0; k < x->rank; k++)
        if (c->dims_a[x->dims[k].id] != c->dims_b[y->dims[k].id]) return false;
    if (!vy_is_global(x->cls)) return true;
    // Bindings of intermediates are given in the order they were made in, and nothing binds them.
    if (!is_intermediate(c->a, x) && !same_binding(c, x, y)) return false;
    return same_name(x->name, y->name) && x->workspace == y->workspace && x->owned == y->owned &&
           x->init == y->init && same_name(x->init_from, y->init_from) &&
           (x->view_of != 0) == (y->view_of != 0);
}

static bool pair(compare *c, uint32_t x, uint32_t y)
{
    if (c->to_b[x] || c->to_a[y]) return c->to_b[x] == y;
    c->to_b[x] = y;
    c->to_a[y] = x;
    return same_buffer(c, &c->a->buffers.data[x], &c->b->buffers.data[y]);
}

// The next shared array after `id`, or the next parameter; 0: none.
static uint32_t next_fixed(const vy_program *p, uint32_t id, bool shared)
{
    for (id++; id < p->buffers.count; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (is_intermediate(p, b)) continue;
        if (b->cls != VY_LOCAL && (b->cls == VY_SHARED) == shared) return id;
    }
    return 0;
}

// Pairs buffers in order.  Shared arrays may be declared anywhere between the parameters; the text
// has them after all of these.
static bool same_fixed(compare *c, bool shared)
{
    uint32_t x = next_fixed(c->a, 0, shared), y = next_fixed(c->b, 0, shared);
    for (; x && y; x = next_fixed(c->a, x, shared), y = next_fixed(c->b, y, shared))
        if (!pair(c, x, y)) return false;
    return !x && !y;
}

static bool same_declarations(compare *c)
{
    const vy_program *a = c->a, *b = c->b;
    if ((!a->function && !same_name(a->name, b->name)) || a->function != b->function ||
        a->exact != b->exact || a->shader != b->shader || a->order != b->order ||
        memcmp(a->workgroup, b->workgroup, sizeof a->workgroup) ||
        a->scalars.count != b->scalars.count || a->overs.count != b->overs.count ||
        a->assumes.count != b->assumes.count)
        return false;
    if (!a->signature && vy_exact_sums(a) != vy_exact_sums(b)) return false;
    for (uint32_t k = 0; k < VY_NAMES_OF; k++)
        if (!same_name(a->rules[k], b->rules[k])) return false;
    for (uint32_t i = 0; i < a->scalars.count; i++)
        if (!same_name(a->scalars.data[i].name, b->scalars.data[i].name) ||
            a->scalars.data[i].type != b->scalars.data[i].type ||
            !same_layout(&a->scalars.data[i].layout, &b->scalars.data[i].layout, 0))
            return false;
    for (uint32_t i = 0; i < a->overs.count; i++)
        if (!same_name(a->overs.data[i].name, b->overs.data[i].name) ||
            c->dims_a[a->overs.data[i].extent.id] != c->dims_b[b->overs.data[i].extent.id])
            return false;
    for (uint32_t i = 0; i < a->assumes.count; i++)
        if (c->dims_a[a->assumes.data[i].least.id] != c->dims_b[b->assumes.data[i].least.id] ||
            c->dims_a[a->assumes.data[i].most.id] != c->dims_b[b->assumes.data[i].most.id])
            return false;
    if (!same_fixed(c, false) || !same_fixed(c, true)) return false;
    for (uint32_t i = 1; i < a->buffers.count; i++) {
        uint32_t of = a->buffers.data[i].view_of, partner = c->to_b[i];
        if (of && partner && c->to_b[of] != b->buffers.data[partner].view_of) return false;
    }
    return true;
}

// -------------------------------------------------------------------------------------------- code
static bool same_leaf(compare *c, const vy_leaf *x, const vy_leaf *y)
{
    if (x->kind != y->kind || x->type != y->type || x->axis != y->axis) return false;
    if (x->kind == VY_LEAF_CONST) return vy_scalar_same((vy_type)x->type, x->value, y->value);
    return x->kind == VY_LEAF_LEN ? pair(c, x->index, y->index) : x->index == y->index;
}

static bool same_inst(compare *c, uint32_t id)
{
    const vy_inst *x = &c->a->insts.data[id], *y = &c->b->insts.data[id];
    if (x->op != y->op || x->type != y->type || x->nargs != y->nargs || x->flags != y->flags)
        return false;
    if (vy_op_is_memory((vy_op)x->op) ? !pair(c, x->aux, y->aux) : x->aux != y->aux) return false;
    for (uint32_t k = 0; k < x->nargs; k++) {
        uint32_t p = vy_arg(c->a, id, k), q = vy_arg(c->b, id, k);
        if (VY_IS_LEAF(p) != VY_IS_LEAF(q)) return false;
        if (!VY_IS_LEAF(p) ? p != q
                           : !same_leaf(c, &c->a->leaves.data[VY_LEAF_INDEX(p)],
                                        &c->b->leaves.data[VY_LEAF_INDEX(q)]))
            return false;
    }
    return true;
}

bool vy_same_program(const vy_program *a, const vy_program *b)
{
    vy_arena arena = {0};
    compare c = {.a = a, .b = b};
    // Out of memory nothing is known; "different" is the answer that hides nothing.
    bool same =
        number_dims(&c, &arena) && a->insts.count == b->insts.count && same_declarations(&c);
    for (uint32_t id = 1; same && id < a->insts.count; id++) same = same_inst(&c, id);
    vy_arena_free(&arena);
    return same;
}

// -------------------------------------------------------------------------------------- pipelines
static bool same_dims(const compare *c, uint32_t n, const vy_dim *x, const vy_dim *y)
{
    for (uint32_t k = 0; k < n; k++)
        if (c->dims_a[x[k].id] != c->dims_b[y[k].id]) return false;
    return true;
}

static bool same_given(const compare *c, vy_type type, const vy_pipe_scalar *x,
                       const vy_pipe_scalar *y)
{
    if (x->kind != y->kind) return false;
    switch (x->kind) {
    case VY_PIPE_DIM: return same_dims(c, 1, &x->dim, &y->dim);
    case VY_PIPE_PARAM: return x->scalar == y->scalar;
    default: return vy_scalar_same(type, x->value, y->value);
    }
}

static bool same_dispatch(const compare *c, const vy_program *p, const vy_pipe_step *x,
                          const vy_pipe_step *y)
{
    if (x->program != y->program || x->arg_count != y->arg_count || !x->groups != !y->groups)
        return false;
    if (x->groups && !same_dims(c, 3, x->groups, y->groups)) return false;
    for (uint32_t i = 0; i < x->arg_count; i++) {
        const vy_pipe_arg *a = &x->args[i], *b = &y->args[i];
        if (c->to_b[a->buffer.id] != b->buffer.id || a->rank != b->rank || a->flat != b->flat ||
            !same_dims(c, a->rank, a->index, b->index))
            return false;
    }
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (!same_given(c, p->scalars.data[i].type, &x->scalars[i], &y->scalars[i])) return false;
    return true;
}

// Not compared: names of counters.
static bool same_step(compare *c, const vy_module *m, const vy_pipe_step *x, const vy_pipe_step *y)
{
    if (x->kind != y->kind) return false;
    switch (x->kind) {
    case VY_PIPE_VALUE:
        return c->to_b[x->buffer.id] == y->buffer.id &&
               same_dims(c, x->index_count, x->index, y->index);
    case VY_PIPE_BUFFER: return pair(c, x->buffer.id, y->buffer.id);
    case VY_PIPE_DISPATCH: return same_dispatch(c, m->programs.data[x->program], x, y);
    case VY_PIPE_TEST: return x->partner == y->partner && same_dims(c, 1, &x->from, &y->from);
    case VY_PIPE_REPEAT:
        if (x->keep != y->keep || x->partner != y->partner || x->test != y->test) return false;
        if ((x->keep == VY_KEEP_EVERY || x->keep == VY_KEEP_REVOLVE) &&
            !same_dims(c, 1, &x->keep_count, &y->keep_count))
            return false;
        return same_dims(c, 1, &x->from, &y->from) && same_dims(c, 1, &x->to, &y->to);
    default: return x->partner == y->partner;
    }
}

// Precondition: the programs of both modules are equal.
static bool same_pipeline(const vy_pipeline *a, const vy_pipeline *b)
{
    vy_arena arena = {0};
    compare c = {.a = a->signature, .b = b->signature};
    bool same =
        number_dims(&c, &arena) && a->steps.count == b->steps.count && same_declarations(&c);
    for (uint32_t i = 0; same && i < a->steps.count; i++)
        same = same_step(&c, a->module, &a->steps.data[i], &b->steps.data[i]);
    vy_arena_free(&arena);
    return same;
}

// Not compared: their names, which no interface has.
static bool same_function(const vy_function *x, const vy_function *y)
{
    return x->result_count == y->result_count && !memcmp(x->results, y->results, x->result_count) &&
           !memcmp(x->rules, y->rules, sizeof x->rules) && vy_same_program(x->code, y->code);
}

bool vy_module_equal(const vy_module *a, const vy_module *b)
{
    if (vy_module_order(a) != vy_module_order(b) || a->programs.count != b->programs.count ||
        a->pipelines.count != b->pipelines.count || a->functions.count != b->functions.count)
        return false;
    for (uint32_t i = 0; i < a->functions.count; i++)
        if (!same_function(&a->functions.data[i], &b->functions.data[i])) return false;
    for (uint32_t i = 0; i < a->programs.count; i++)
        if (!vy_same_program(a->programs.data[i], b->programs.data[i])) return false;
    for (uint32_t i = 0; i < a->pipelines.count; i++)
        if (!same_pipeline(a->pipelines.data[i], b->pipelines.data[i])) return false;
    return true;
}
