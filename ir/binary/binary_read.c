// SPDX-License-Identifier: MIT
// binary_read.c: bytes → module, trusting nothing.
//
// The digest detects damage, not malice: anybody can compute one.  So nothing is trusted
// (binary_get.c), and once the tables are complete, the checker verifies what they refer to
// (vy_module_check) before anything else uses them.
#include "ir/binary/binary.h"

#include <string.h>

typedef vy_binary_reader reader;

// ------------------------------------------------------------------------------------------ tables
static void read_names(reader *r)
{
    uint32_t n = vy_binary_get_count(r, 1);
    r->names = vy_arena_alloc(&r->m->arena, ((size_t)n + 1) * sizeof *r->names);
    if (!r->names) {
        r->no_memory = true;
        return;
    }
    r->name_count = n;
    for (uint32_t i = 1; i <= n && vy_binary_ok(r); i++) {
        const char *s = vy_binary_get_name(r);
        if (vy_binary_ok(r))
            vy_binary_keep(r, (r->names[i] = vy_intern(&r->m->names, s, strlen(s))) != 0);
    }
}

// -------------------------------------------------------------------------------------------- code
static void read_leaves(reader *r, vy_program *p)
{
    uint32_t n = vy_binary_get_count(r, 3);
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) {
        vy_leaf l = {.kind = (uint8_t)vy_binary_get_max(r, VY_LEAF_LEN)};
        l.type = (uint8_t)vy_binary_get_max(r, VY_TYPE_COUNT - 1);
        if (l.kind == VY_LEAF_CONST) {
            l.value.u = vy_binary_get(r);
        } else {
            l.index = vy_binary_get_u32(r);
            l.axis = vy_binary_get_u32(r);
        }
        vy_binary_keep(r, vy_vec_push(&p->leaves, l));
    }
}

// Of each scalar there is a leaf, used or not, as the builder makes it: what is differentiated by a
// scalar that nothing uses finds it there (autodiff/reverse/request.c).  Those that nothing uses
// are not written.
static void add_scalar_leaves(reader *r, vy_program *p)
{
    const uint32_t n = p->scalars.count;
    bool *have = vy_arena_alloc(&r->m->arena, ((size_t)n + 1) * sizeof *have);
    vy_binary_keep(r, have != NULL);
    if (!have) return;
    memset(have, 0, ((size_t)n + 1) * sizeof *have);
    for (uint32_t i = 0; i < p->leaves.count; i++) {
        const vy_leaf *l = &p->leaves.data[i];
        if (l->kind == VY_LEAF_SCALAR && l->index < n) have[l->index] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        const vy_leaf l = {.kind = VY_LEAF_SCALAR,
                           .type = (uint8_t)p->scalars.data[i].type,
                           .index = i};
        if (!have[i]) vy_binary_keep(r, vy_vec_push(&p->leaves, l));
    }
}

static uint32_t read_operand(reader *r, const vy_program *p, uint32_t id)
{
    uint64_t v = vy_binary_get(r);
    if (v & 1) {
        if (v / 2 >= p->leaves.count) vy_binary_bad(r, "an operand names no leaf");
        return (uint32_t)(v / 2) | VY_LEAF_BIT;
    }
    if (v == 0 || v / 2 >= id) vy_binary_bad(r, "an operand does not come before its use");
    return id - (uint32_t)(v / 2);
}

static void read_code(reader *r, vy_program *p)
{
    uint32_t n = vy_binary_get_count(r, 8);
    int64_t line = 0;
    for (uint32_t id = 1; id <= n && vy_binary_ok(r); id++) {
        vy_inst i = {.op = (uint16_t)vy_binary_get_max(r, VY_OP_COUNT - 1)};
        i.type = (uint8_t)vy_binary_get_max(r, VY_TYPE_COUNT - 1);
        i.flags = (uint8_t)vy_binary_get_max(r, UINT8_MAX);
        int64_t delta = vy_binary_get_signed(r);
        if (delta > UINT32_MAX || delta < -(int64_t)UINT32_MAX)
            vy_binary_bad(r, "a line is out of range");
        else
            line += delta;
        if (line < 0 || line > UINT32_MAX) vy_binary_bad(r, "a line is out of range");
        i.line = (uint32_t)line;
        i.column = (uint16_t)vy_binary_get_max(r, UINT16_MAX);
        uint64_t name = vy_binary_get_max(r, r->name_count);
        i.name = vy_binary_ok(r) ? r->names[name] : 0;
        i.aux = vy_binary_get_u32(r);
        i.nargs = vy_binary_get_count(r, 1);
        i.args = p->args.count;
        for (uint32_t k = 0; k < i.nargs && vy_binary_ok(r); k++)
            vy_binary_keep(r, vy_vec_push(&p->args, read_operand(r, p, id)));
        vy_binary_keep(r, vy_vec_push(&p->insts, i));
    }
}

// Bytes of the smallest program: a name of one letter, line, workgroup ×3, flags; counts of
// scalars, dimensions, buffers, overs, leaves and instructions.
enum { LEAST_PROGRAM = 2 + 1 + 3 + 1 + 6 };

// NULL: an error.
static vy_program *get_program(reader *r)
{
    vy_program *p = vy_binary_get_declarations(r);
    if (!p) return NULL;
    read_leaves(r, p);
    if (vy_binary_ok(r)) read_code(r, p);
    if (vy_binary_ok(r)) add_scalar_leaves(r, p);
    if (vy_binary_ok(r)) return p;
    vy_program_free(p);
    return NULL;
}

static void read_program(reader *r)
{
    vy_program *p = get_program(r);
    if (!p || vy_vec_push(&r->m->programs, p)) return;
    r->no_memory = true;
    vy_program_free(p);
}

static void read_function(reader *r)
{
    vy_function f = {.code = get_program(r)};
    if (!f.code) return;
    f.code->function = true;
    f.result_count = (uint32_t)vy_binary_get_max(r, VY_MAX_RANK);
    for (uint32_t k = 0; k < f.result_count && k < VY_MAX_RANK; k++)
        f.results[k] = (uint8_t)vy_binary_get_max(r, VY_TYPE_COUNT - 1);
    for (uint32_t k = 0; k < VY_RULES_OF; k++) f.rules[k] = vy_binary_get_u32(r);
    if (vy_binary_ok(r) && vy_vec_push(&r->m->functions, f)) return;
    if (vy_binary_ok(r)) r->no_memory = true;
    vy_program_free(f.code);
}

static void read_import(reader *r)
{
    const vy_source_vec *have = &r->m->imports;
    const uint32_t least = have->count ? have->data[have->count - 1].before : 0;
    const vy_source s = {.file = vy_binary_get_string(r), .before = vy_binary_get_u32(r)};
    if (vy_binary_ok(r) && s.before <= least) vy_binary_bad(r, "imported files are out of order");
    if (s.file) vy_binary_keep(r, vy_vec_push(&r->m->imports, s));
}

static void read_payload(reader *r)
{
    r->m->order = vy_binary_get_u32(r);
    const char *file = vy_binary_get_string(r);
    if (file) r->m->file = file;
    if (vy_binary_ok(r)) read_names(r);
    uint32_t n = vy_binary_ok(r) ? vy_binary_get_count(r, LEAST_PROGRAM) : 0;
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) read_function(r);
    n = vy_binary_ok(r) ? vy_binary_get_count(r, LEAST_PROGRAM) : 0;
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) read_program(r);
    n = vy_binary_ok(r) ? vy_binary_get_count(r, 9) : 0;
    for (uint32_t i = 0; i < n && vy_binary_ok(r); i++) vy_binary_get_pipeline(r);
    while (vy_binary_ok(r) && r->at != r->end) read_import(r);
}

// ------------------------------------------------------------------------------------------ header
static uint64_t fixed(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | at[i];
    return v;
}

static bool check_header(vy_module *m, const uint8_t *data, size_t size)
{
    if (!vy_binary_is(data, size)) {
        vy_fail(m, VY_E_BINARY_MAGIC, 0, 0, NULL, "this is not the binary form of a module");
        return false;
    }
    if (size < VY_BINARY_HEADER) {
        vy_fail(m, VY_E_BINARY_DIGEST, 0, 0, NULL, "the binary form is cut short");
        return false;
    }
    if (fixed(data + 8, 4) != VY_BINARY_VERSION || fixed(data + 12, 4) != vy_binary_table_id()) {
        vy_fail(
            m, VY_E_BINARY_VERSION, 0, 0, NULL,
            "the binary form is of version %u (table %08x); this library reads version %u (%08x)",
            (unsigned)fixed(data + 8, 4), (unsigned)fixed(data + 12, 4), VY_BINARY_VERSION,
            vy_binary_table_id());
        return false;
    }
    uint8_t digest[32];
    bool whole = fixed(data + 16, 8) == size - VY_BINARY_HEADER;
    if (whole) vy_binary_digest(data, size, digest);
    if (!whole || memcmp(digest, data + VY_BINARY_DIGEST, sizeof digest) != 0) {
        vy_fail(m, VY_E_BINARY_DIGEST, 0, 0, NULL,
                whole ? "the digest of the binary form does not match its contents"
                      : "the binary form is cut short or something follows its end");
        return false;
    }
    return true;
}

static void drop_programs(vy_module *m)
{
    while (m->functions.count) vy_program_free(m->functions.data[--m->functions.count].code);
    while (m->programs.count) vy_program_free(m->programs.data[--m->programs.count]);
    while (m->pipelines.count) vy_pipeline_free(m->pipelines.data[--m->pipelines.count]);
}

// What would be a bug of the library in a program of its own is a malformed file here.
static void blame_file(vy_module *m)
{
    const vy_diag found = m->diag;
    m->diag = (vy_diag){0};
    vy_fail(m, VY_E_BINARY_CONTENT, found.line, found.column, NULL, "%s", found.text);
}

vy_module *vy_binary_read(const void *data, size_t size)
{
    const uint64_t before = vy_memory_failures();
    vy_module *m = vy_module_new();
    if (!m || !check_header(m, data, size)) return m;
    reader r = {.at = (const uint8_t *)data + VY_BINARY_HEADER,
                .end = (const uint8_t *)data + size,
                .m = m};
    read_payload(&r);
    if (r.no_memory) // what was read after that is meaningless
        vy_fail_oom(m);
    else if (r.wrong)
        vy_fail(m, VY_E_BINARY_CONTENT, 0, 0, NULL, "the binary form is malformed: %s", r.wrong);
    else if (!vy_module_check(m) && vy_diag_is(&m->diag, VY_E_INTERNAL))
        blame_file(m);
    // No part of a refused file is returned.
    if (!vy_module_memory(m, before)) drop_programs(m);
    return m;
}
