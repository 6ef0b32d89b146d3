// SPDX-License-Identifier: MIT
// binary_write.c: module → bytes.  The same module always gives the same bytes: leaves and names
// are numbered by first use, in whatever order they were made, and unused ones are omitted.
#include "ir/binary/binary.h"
#include "ir/core/sha256.h"

#include <string.h>

typedef vy_binary_writer writer;

// ------------------------------------------------------------------------------------------ names
static bool number_names_of(writer *w, const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        uint32_t name = p->insts.data[id].name;
        if (!name || w->name_number[name]) continue;
        w->name_number[name] = ++w->names;
        if (!vy_vec_push(&w->name_order, name)) return false;
    }
    return true;
}

static bool number_names(writer *w)
{
    const vy_module *m = w->m;
    w->name_number = vy_realloc(NULL, ((size_t)m->names.count + 1) * sizeof *w->name_number);
    if (!w->name_number) return false;
    memset(w->name_number, 0, ((size_t)m->names.count + 1) * sizeof *w->name_number);
    for (uint32_t i = 0; i < m->functions.count; i++)
        if (!number_names_of(w, m->functions.data[i].code)) return false;
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (!number_names_of(w, m->programs.data[i])) return false;
    vy_binary_put(w, w->names);
    for (uint32_t i = 0; i < w->names; i++)
        vy_binary_put_string(w, vy_string(&m->names, w->name_order.data[i]));
    return true;
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
        vy_binary_put_signed(w, (int64_t)i->line - line);
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

static void put_function(writer *w, const vy_function *f)
{
    put_program(w, f->code);
    vy_binary_put(w, f->result_count);
    for (uint32_t k = 0; k < f->result_count; k++) vy_binary_put(w, f->results[k]);
    for (uint32_t k = 0; k < VY_RULES_OF; k++) vy_binary_put(w, f->rules[k]);
}

// ----------------------------------------------------------------------------------------- header

static void put_fixed(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> 8 * i);
}

void *vy_binary_write(const vy_module *m, size_t *size)
{
    const uint64_t before = vy_memory_failures();
    writer w = {.m = m};
    uint8_t header[VY_BINARY_HEADER] = {0};
    vy_binary_put_bytes(&w, header, sizeof header);
    vy_binary_put(&w, m->order);
    vy_binary_put_string(&w, m->file);
    if (!number_names(&w)) w.failed = true;
    vy_binary_put(&w, m->functions.count);
    for (uint32_t i = 0; i < m->functions.count && !w.failed; i++)
        put_function(&w, &m->functions.data[i]);
    vy_binary_put(&w, m->programs.count);
    for (uint32_t i = 0; i < m->programs.count && !w.failed; i++)
        put_program(&w, m->programs.data[i]);
    vy_binary_put(&w, m->pipelines.count);
    for (uint32_t i = 0; i < m->pipelines.count && !w.failed; i++)
        vy_binary_put_pipeline(&w, m->pipelines.data[i]);
    for (uint32_t i = 0; i < m->imports.count; i++) {
        vy_binary_put_string(&w, m->imports.data[i].file);
        vy_binary_put(&w, m->imports.data[i].before);
    }
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
