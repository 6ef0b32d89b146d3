// SPDX-License-Identifier: MIT
// binary_declarations.c: parameters, dimensions and domains of programs, and signatures of
// pipelines, written and read.
#include "ir/binary/binary.h"

#include "ir/core/derive_as.h"

// ----------------------------------------------------------------------------------------- writing
typedef vy_binary_writer writer;

// Dimensions in use keep their order; number[old] becomes the new one, and is nonzero on entry for
// those that are used elsewhere.
static uint32_t number_dims(const vy_program *p, uint32_t *number)
{
    uint32_t n = 0;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        for (uint32_t k = 0; k < p->buffers.data[b].rank; k++)
            number[p->buffers.data[b].dims[k].id] = 1;
    for (uint32_t i = 0; i < p->overs.count; i++) number[p->overs.data[i].extent.id] = 1;
    for (uint32_t i = 0; i < p->assumes.count; i++)
        number[p->assumes.data[i].least.id] = number[p->assumes.data[i].most.id] = 1;
    for (uint32_t i = p->dims.count; i-- > 1;) {
        const vy_dim_node *d = &p->dims.data[i];
        if (number[i] && d->op >= VY_DIM_ADD) number[d->a] = number[d->b] = 1;
    }
    for (uint32_t i = 1; i < p->dims.count; i++)
        if (number[i]) number[i] = ++n;
    return n;
}

static void put_dims(writer *w, const vy_program *p, const uint32_t *number, uint32_t count)
{
    vy_binary_put(w, count);
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        if (!number[i]) continue;
        vy_binary_put(w, d->op);
        if (d->op < VY_DIM_ADD) {
            vy_binary_put_signed(w, d->value);
        } else {
            vy_binary_put(w, number[d->a]);
            vy_binary_put(w, number[d->b]);
        }
    }
}

static void put_layout(writer *w, const vy_layout *l, uint32_t rank)
{
    vy_binary_put(w, (unsigned)l->given | (unsigned)l->uniform << 1 | (l->strides ? 4u : 0u));
    if (!l->given) return;
    vy_binary_put(w, l->offset);
    vy_binary_put(w, l->within);
    vy_binary_put(w, l->set);
    vy_binary_put(w, l->binding);
    for (uint32_t k = 0; l->strides && k < rank; k++) vy_binary_put(w, l->strides[k]);
}

static void put_buffers(writer *w, const vy_program *p, const uint32_t *number)
{
    vy_binary_put(w, p->buffers.count - 1);
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *f = &p->buffers.data[b];
        vy_binary_put_string(w, f->name);
        vy_binary_put(w, f->cls);
        vy_binary_put(w, f->type);
        vy_binary_put(w, f->rank);
        for (uint32_t k = 0; k < f->rank; k++) vy_binary_put(w, number[f->dims[k].id]);
        vy_binary_put(w, f->set);
        vy_binary_put(w, f->binding);
        vy_binary_put(w, f->view_of);
        vy_binary_put(w,
                      (unsigned)f->workspace | (unsigned)f->owned << 1 | (unsigned)f->vector << 2);
        vy_binary_put(w, f->init);
        if (f->init == VY_INIT_COPY) vy_binary_put_string(w, f->init_from);
        vy_binary_put(w, f->line);
        put_layout(w, &f->layout, f->rank);
    }
}

void vy_binary_put_declarations(writer *w, const vy_program *p, uint32_t *dims)
{
    vy_binary_put_string(w, p->name);
    vy_binary_put(w, p->line);
    for (int k = 0; k < 3; k++) vy_binary_put(w, p->workgroup[k]);
    const bool own = p->order != p->module->order;
    uint32_t flags = p->has_workgroup | p->exact << 1 | own << 2;
    for (uint32_t k = 0; k < VY_NAMES_OF; k++) flags |= (uint32_t)(p->rules[k] != NULL) << (3 + k);
    flags |= (uint32_t)p->shader << (3 + VY_NAMES_OF);
    flags |= (uint32_t)(!p->signature && vy_exact_sums(p)) << (4 + VY_NAMES_OF);
    vy_binary_put(w, flags);
    if (own) vy_binary_put(w, p->order);
    for (uint32_t k = 0; k < VY_NAMES_OF; k++)
        if (p->rules[k]) vy_binary_put_string(w, p->rules[k]);
    vy_binary_put(w, p->scalars.count);
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        vy_binary_put_string(w, p->scalars.data[i].name);
        vy_binary_put(w, p->scalars.data[i].type);
        vy_binary_put(w, p->scalars.data[i].line);
        put_layout(w, &p->scalars.data[i].layout, 0);
    }
    uint32_t count = number_dims(p, dims);
    put_dims(w, p, dims, count);
    put_buffers(w, p, dims);
    vy_binary_put(w, p->overs.count);
    for (uint32_t i = 0; i < p->overs.count; i++) {
        vy_binary_put_string(w, p->overs.data[i].name);
        vy_binary_put(w, dims[p->overs.data[i].extent.id]);
    }
    vy_binary_put(w, p->assumes.count);
    for (uint32_t i = 0; i < p->assumes.count; i++) {
        vy_binary_put(w, dims[p->assumes.data[i].least.id]);
        vy_binary_put(w, dims[p->assumes.data[i].most.id]);
    }
}

// ----------------------------------------------------------------------------------------- reading
typedef vy_binary_reader reader;

static void read_layout(reader *r, vy_layout *l, uint32_t rank)
{
    const uint64_t flags = vy_binary_get_max(r, 7);
    *l = (vy_layout){.given = flags & 1, .uniform = flags & 1 && flags & 2};
    if (!l->given) return;
    l->offset = vy_binary_get_u32(r);
    l->within = vy_binary_get_u32(r);
    l->set = vy_binary_get_u32(r);
    l->binding = vy_binary_get_u32(r);
    if (!(flags & 4)) return;
    uint32_t *strides = vy_arena_alloc(&r->m->arena, (rank + 1) * sizeof *strides);
    if (!strides) r->no_memory = true;
    for (uint32_t k = 0; k < rank && vy_binary_ok(r); k++) strides[k] = vy_binary_get_u32(r);
    l->strides = strides;
}

static void read_scalars(reader *r, vy_program *p)
{
    uint32_t n = vy_binary_get_count(r, 4);
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) {
        vy_scalar_param s = {.name = vy_binary_get_name(r), .link = ++r->m->links};
        s.type = (vy_type)vy_binary_get_max(r, VY_TYPE_COUNT - 1);
        s.line = vy_binary_get_u32(r);
        read_layout(r, &s.layout, 0);
        vy_binary_keep(r, vy_vec_push(&p->scalars, s));
    }
}

static void read_dims(reader *r, vy_program *p)
{
    uint32_t n = vy_binary_get_count(r, 2);
    for (uint32_t i = 1; i <= n && vy_binary_ok(r); i++) {
        vy_dim_node d = {.op = (vy_dim_op)vy_binary_get_max(r, VY_DIM_SQRT)};
        if (d.op < VY_DIM_ADD) {
            d.value = vy_binary_get_signed(r);
        } else {
            d.a = vy_binary_get_u32(r);
            d.b = vy_binary_get_u32(r);
        }
        vy_binary_keep(r, vy_vec_push(&p->dims, d));
    }
}

static void read_buffer(reader *r, vy_program *p)
{
    vy_buf b = {.name = vy_binary_get_name(r), .link = ++r->m->links};
    b.cls = (vy_buffer_class)vy_binary_get_max(r, VY_LOCAL);
    b.type = (vy_type)vy_binary_get_max(r, VY_TYPE_COUNT - 1);
    b.rank = (uint32_t)vy_binary_get_max(r, VY_MAX_RANK);
    b.dims = vy_arena_alloc(&r->m->arena, (b.rank + 1) * sizeof *b.dims);
    if (!b.dims) r->no_memory = true;
    for (uint32_t k = 0; k < b.rank && vy_binary_ok(r); k++) b.dims[k].id = vy_binary_get_u32(r);
    b.set = vy_binary_get_u32(r);
    b.binding = vy_binary_get_u32(r);
    b.view_of = vy_binary_get_max(r, 0); // no front end makes views yet, and text has none
    const uint64_t flags = vy_binary_get_max(r, 7);
    b.workspace = flags & 1;
    b.owned = flags >> 1 & 1;
    b.vector = flags >> 2;
    b.init = (vy_init)vy_binary_get_max(r, VY_INIT_COPY);
    if (b.init == VY_INIT_COPY) b.init_from = vy_binary_get_name(r);
    b.line = vy_binary_get_u32(r);
    read_layout(r, &b.layout, b.rank);
    if (b.layout.given) b.layout.set = b.set, b.layout.binding = b.binding;
    vy_binary_keep(r, vy_vec_push(&p->buffers, b));
}

static void read_declarations(reader *r, vy_program *p)
{
    p->name = vy_binary_get_name(r);
    p->line = vy_binary_get_u32(r);
    for (int k = 0; k < 3; k++) p->workgroup[k] = vy_binary_get_u32(r);
    uint64_t flags = vy_binary_get_max(r, (1u << (5 + VY_NAMES_OF)) - 1);
    p->has_workgroup = flags & 1;
    p->exact = flags >> 1 & 1;
    p->order = flags >> 2 & 1 ? vy_binary_get_u32(r) : r->m->order;
    for (uint32_t k = 0; k < VY_NAMES_OF; k++)
        if (flags >> (3 + k) & 1) p->rules[k] = vy_binary_get_name(r);
    p->shader = flags >> (3 + VY_NAMES_OF) & 1;
    p->exact_sums = flags >> (4 + VY_NAMES_OF) & 1;
    read_scalars(r, p);
    read_dims(r, p);
    uint32_t n = vy_binary_get_count(r, 11);
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) read_buffer(r, p);
    n = vy_binary_get_count(r, 2);
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) {
        vy_over_var v = {.name = vy_binary_get_name(r)};
        v.extent.id = vy_binary_get_u32(r);
        vy_binary_keep(r, vy_vec_push(&p->overs, v));
    }
    n = vy_binary_get_count(r, 2);
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) {
        vy_assumption a = {.least.id = vy_binary_get_u32(r)};
        a.most.id = vy_binary_get_u32(r);
        vy_binary_keep(r, vy_vec_push(&p->assumes, a));
    }
}

vy_program *vy_binary_get_declarations(reader *r)
{
    vy_program *p = vy_realloc(NULL, sizeof *p);
    if (!p) {
        r->no_memory = true;
        return NULL;
    }
    *p = (vy_program){.module = r->m};
    vy_binary_keep(r, vy_vec_push(&p->insts, (vy_inst){0}) &&
                          vy_vec_push(&p->dims, (vy_dim_node){0}) &&
                          vy_vec_push(&p->buffers, (vy_buf){0}));
    if (vy_binary_ok(r)) read_declarations(r, p);
    if (vy_binary_ok(r)) return p;
    vy_program_free(p);
    return NULL;
}
