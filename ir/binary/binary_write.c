// SPDX-License-Identifier: MIT
// binary_write.c: module → bytes.  The same module always gives the same bytes: leaves and names are
// numbered by first use, whatever order they were made in, and unused ones are left out.
#include "ir/binary/binary.h"
#include "ir/core/sha256.h"

#include <string.h>

const uint8_t vy_binary_magic[8] = {0x89, 'V', 'Y', 'R', 'E', '\r', '\n', 0x1a};

typedef vy_binary_writer writer;

static void put_bytes(writer *w, const void *data, size_t n)
{
    // The count is 32 bits; a module beyond 4 GiB is refused as out of memory.
    if (w->failed || n > UINT32_MAX / 2 || !vy_vec_reserve(&w->out, (uint32_t)n)) {
        w->failed = true;
        return;
    }
    if (n) memcpy(w->out.data + w->out.count, data, n);
    w->out.count += (uint32_t)n;
}

void vy_binary_put(writer *w, uint64_t v)
{
    uint8_t bytes[10];
    int n = 0;
    do {
        bytes[n] = (uint8_t)(v & 0x7F);
        v >>= 7;
        if (v) bytes[n] |= 0x80;
        n++;
    } while (v);
    put_bytes(w, bytes, (size_t)n);
}

static void put_signed(writer *w, int64_t v)
{
    vy_binary_put(w, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void vy_binary_put_string(writer *w, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    vy_binary_put(w, n);
    put_bytes(w, s, n);
}

// ------------------------------------------------------------------------------------------ names
static bool number_names(writer *w)
{
    const vy_module *m = w->m;
    w->name_number = vy_realloc(NULL, ((size_t)m->names.count + 1) * sizeof *w->name_number);
    if (!w->name_number) return false;
    memset(w->name_number, 0, ((size_t)m->names.count + 1) * sizeof *w->name_number);
    for (uint32_t i = 0; i < m->programs.count; i++) {
        const vy_program *p = m->programs.data[i];
        for (uint32_t id = 1; id < p->insts.count; id++) {
            uint32_t name = p->insts.data[id].name;
            if (!name || w->name_number[name]) continue;
            w->name_number[name] = ++w->names;
            if (!vy_vec_push(&w->name_order, name)) return false;
        }
    }
    vy_binary_put(w, w->names);
    for (uint32_t i = 0; i < w->names; i++)
        vy_binary_put_string(w, vy_string(&m->names, w->name_order.data[i]));
    return true;
}

// ----------------------------------------------------------------------------------- declarations
// Dimensions in use keep their order; number[old] is the new one, and on entry nonzero for those that
// something else uses.
static uint32_t number_dims(const vy_program *p, uint32_t *number)
{
    uint32_t n = 0;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        for (uint32_t k = 0; k < p->buffers.data[b].rank; k++)
            number[p->buffers.data[b].dims[k].id] = 1;
    for (uint32_t i = 0; i < p->overs.count; i++) number[p->overs.data[i].extent.id] = 1;
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
            put_signed(w, d->value);
        } else {
            vy_binary_put(w, number[d->a]);
            vy_binary_put(w, number[d->b]);
        }
    }
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
        vy_binary_put(w, f->workspace);
        vy_binary_put(w, f->init);
        if (f->init == VY_INIT_COPY) vy_binary_put_string(w, f->init_from);
        vy_binary_put(w, f->line);
    }
}

void vy_binary_put_declarations(writer *w, const vy_program *p, uint32_t *dims)
{
    vy_binary_put_string(w, p->name);
    vy_binary_put(w, p->line);
    for (int k = 0; k < 3; k++) vy_binary_put(w, p->workgroup[k]);
    vy_binary_put(w, p->has_workgroup | p->exact << 1);
    vy_binary_put(w, p->scalars.count);
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        vy_binary_put_string(w, p->scalars.data[i].name);
        vy_binary_put(w, p->scalars.data[i].type);
        vy_binary_put(w, p->scalars.data[i].line);
    }
    uint32_t count = number_dims(p, dims);
    put_dims(w, p, dims, count);
    put_buffers(w, p, dims);
    vy_binary_put(w, p->overs.count);
    for (uint32_t i = 0; i < p->overs.count; i++) {
        vy_binary_put_string(w, p->overs.data[i].name);
        vy_binary_put(w, dims[p->overs.data[i].extent.id]);
    }
}

// ------------------------------------------------------------------------------------------- code
static void put_leaf(writer *w, const vy_leaf *l)
{
    vy_binary_put(w, l->kind);
    vy_binary_put(w, l->type);
    if (l->kind == VY_LEAF_CONST) {
        vy_scalar v = l->value;
        if (vy_type_is_float((vy_type)l->type) && v.f != v.f) v.u = 0x7FF8000000000000u;
        vy_binary_put(w, v.u);
    } else {
        vy_binary_put(w, l->index);
        vy_binary_put(w, l->axis);
    }
}

static void put_leaves(writer *w, const vy_program *p, uint32_t *number)
{
    uint32_t n = 0;
    for (int round = 0; round < 2; round++) { // count, then write
        if (round) vy_binary_put(w, n);
        for (uint32_t i = 0; i < p->leaves.count; i++) number[i] = 0;
        n = 0;
        for (uint32_t id = 1; id < p->insts.count; id++)
            for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
                uint32_t v = vy_arg(p, id, k);
                if (!VY_IS_LEAF(v) || number[VY_LEAF_INDEX(v)]) continue;
                number[VY_LEAF_INDEX(v)] = ++n;
                if (round) put_leaf(w, &p->leaves.data[VY_LEAF_INDEX(v)]);
            }
    }
}

static void put_code(writer *w, const vy_program *p, const uint32_t *leaf_number)
{
    uint32_t line = 0;
    vy_binary_put(w, p->insts.count - 1);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        vy_binary_put(w, i->op);
        vy_binary_put(w, i->type);
        vy_binary_put(w, i->flags);
        put_signed(w, (int64_t)i->line - line);
        line = i->line;
        vy_binary_put(w, i->column);
        vy_binary_put(w, w->name_number[i->name]);
        vy_binary_put(w, i->aux);
        vy_binary_put(w, i->nargs);
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t v = vy_arg(p, id, k);
            vy_binary_put(w, VY_IS_LEAF(v) ? 2 * ((uint64_t)leaf_number[VY_LEAF_INDEX(v)] - 1) + 1
                                           : 2 * (uint64_t)(id - v));
        }
    }
}

static void put_program(writer *w, const vy_program *p)
{
    size_t dims = p->dims.count, leaves = p->leaves.count;
    uint32_t *numbers = vy_realloc(NULL, (dims + leaves) * sizeof *numbers);
    if (!numbers) {
        w->failed = true;
        return;
    }
    memset(numbers, 0, (dims + leaves) * sizeof *numbers);
    vy_binary_put_declarations(w, p, numbers);
    put_leaves(w, p, numbers + dims);
    put_code(w, p, numbers + dims);
    vy_free(numbers);
}

// ----------------------------------------------------------------------------------------- header
uint32_t vy_binary_table_id(void)
{
    // Numbers of operations and types are positions in tables: another table is another format.
    uint32_t h = 2166136261u;
    for (int op = 1; op < VY_OP_COUNT; op++)
        for (const char *s = vy_op_infos[op].id; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ VY_TYPE_COUNT;
}

void vy_binary_digest(const uint8_t *block, size_t size, uint8_t digest[32])
{
    uint8_t parts[32 + 16];
    vy_sha256(block + VY_BINARY_HEADER, size - VY_BINARY_HEADER, parts);
    memcpy(parts + 32, block + 8, 16);
    vy_sha256(parts, sizeof parts, digest);
}

static void put_fixed(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> 8 * i);
}

void *vy_binary_write(const vy_module *m, size_t *size)
{
    const uint64_t before = vy_memory_failures();
    writer w = {.m = m};
    uint8_t header[VY_BINARY_HEADER] = {0};
    put_bytes(&w, header, sizeof header);
    vy_binary_put(&w, m->order);
    vy_binary_put_string(&w, m->file);
    if (!number_names(&w)) w.failed = true;
    vy_binary_put(&w, m->programs.count);
    for (uint32_t i = 0; i < m->programs.count && !w.failed; i++)
        put_program(&w, m->programs.data[i]);
    vy_binary_put(&w, m->pipelines.count);
    for (uint32_t i = 0; i < m->pipelines.count && !w.failed; i++)
        vy_binary_put_pipeline(&w, m->pipelines.data[i]);
    vy_free(w.name_number);
    vy_vec_free(&w.name_order);
    if (w.failed || vy_memory_failures() != before) {
        vy_vec_free(&w.out);
        return NULL;
    }
    uint8_t *block = w.out.data;
    memcpy(block, vy_binary_magic, 8);
    put_fixed(block + 8, VY_BINARY_VERSION, 4);
    put_fixed(block + 12, vy_binary_table_id(), 4);
    put_fixed(block + 16, w.out.count - VY_BINARY_HEADER, 8);
    vy_binary_digest(block, w.out.count, block + VY_BINARY_DIGEST);
    *size = w.out.count;
    return block;
}

bool vy_binary_is(const void *data, size_t size)
{
    return size >= 8 && memcmp(data, vy_binary_magic, 8) == 0;
}
