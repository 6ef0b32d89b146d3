// SPDX-License-Identifier: MIT
// build.c: the builder.  Folds, canonicalises and shares while building, so that passes and
// differentiation may write naive code.
//
// Sharing: a hash table from (operation, type, aux, operands) to the instruction that computes it.
// An entry serves only while the region it stands in is still open; one from a closed region is
// replaced.  Loads carry the version of the memory they read: every write to a buffer gives it a new
// version, and loops and barriers make all written memory new, because a loop's body may write it
// later in the text.
#include "build.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vy_build_fail(vy_builder *b, vy_code code, const char *format, ...)
{
    char text[sizeof b->m->diag.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vy_fail(b->m, code, b->line, b->column, NULL, "%s", text);
    b->failed = true;
}

void vy_build_oom(vy_builder *b)
{
    vy_fail_oom(b->m);
    b->failed = true;
}

bool vy_builder_failed(const vy_builder *b) { return b->failed || !vy_module_ok(b->m); }
vy_program *vy_builder_program(vy_builder *b) { return b->p; }
vy_module *vy_builder_module(vy_builder *b) { return b->m; }

void vy_at(vy_builder *b, uint32_t line, uint32_t column)
{
    b->line = line;
    b->column = column;
}

// ------------------------------------------------------------------------------------- begin, end
static void builder_free(vy_builder *b)
{
    vy_control_free(b);
    vy_free(b->table);
    vy_free(b->leaf_table);
    vy_vec_free(&b->notes);
    vy_vec_free(&b->regions);
    vy_vec_free(&b->open);
    vy_vec_free(&b->versions);
    for (int i = 0; i < 3; i++) vy_vec_free(&b->scratch[i]);
    vy_free(b);
}

static bool open_region(vy_builder *b, uint32_t opener)
{
    build_region r = {.serial = b->open.count, .opener = opener};
    return vy_vec_push(&b->open, 1) && vy_vec_push(&b->regions, r);
}

static vy_builder *builder_new(vy_module *m)
{
    vy_builder *b = vy_realloc(NULL, sizeof *b);
    vy_program *p = b ? vy_realloc(NULL, sizeof *p) : NULL;
    if (!p) {
        vy_free(b);
        vy_fail_oom(m);
        return NULL;
    }
    *b = (vy_builder){.m = m, .p = p};
    *p = (vy_program){.module = m};
    bool ok = vy_vec_push(&p->insts, (vy_inst){0}) && vy_vec_push(&p->dims, (vy_dim_node){0}) &&
              vy_vec_push(&p->buffers, (vy_buf){0}) && vy_vec_push(&b->versions, 0u) &&
              vy_vec_push(&b->notes, (build_note){0}) && open_region(b, 0) && vy_control_begin(b);
    if (!ok) {
        vy_fail_oom(m);
        vy_program_abandon(b);
        return NULL;
    }
    return b;
}

vy_builder *vy_program_begin(vy_module *m, const char *name)
{
    if (!vy_module_ok(m)) return NULL;
    vy_builder *b = builder_new(m);
    if (!b) return NULL;
    b->p->name = vy_arena_strdup(&m->arena, name, strlen(name));
    if (!b->p->name) {
        vy_fail_oom(m);
        vy_program_abandon(b);
        return NULL;
    }
    return b;
}

static bool copy_vec(void *data, uint32_t *count, uint32_t *capacity, const void *from,
                     uint32_t n, size_t size)
{
    void *old, *fresh;
    memcpy(&old, data, sizeof old);
    if (n > *capacity) {
        fresh = vy_realloc(old, n * size);
        if (!fresh) return false;
        memcpy(data, &fresh, sizeof fresh);
        old = fresh;
        *capacity = n;
    }
    if (n) memcpy(old, from, n * size);
    *count = n;
    return true;
}
#define COPY_VEC(to, from)                                                                        \
    copy_vec(&(to)->data, &(to)->count, &(to)->capacity, (from)->data, (from)->count,             \
             sizeof *(to)->data)

static bool leaf_insert(vy_builder *b, uint32_t index);

vy_builder *vy_rebuild_begin(const vy_program *old)
{
    vy_module *m = old->module;
    if (!vy_module_ok(m)) return NULL;
    vy_builder *b = builder_new(m);
    if (!b) return NULL;
    b->rebuild = true;
    vy_program *p = b->p;
    p->name = old->name;
    p->line = old->line;
    memcpy(p->workgroup, old->workgroup, sizeof p->workgroup);
    p->has_workgroup = old->has_workgroup;
    p->fast_math = old->fast_math;
    bool ok = COPY_VEC(&p->leaves, &old->leaves) && COPY_VEC(&p->dims, &old->dims) &&
              COPY_VEC(&p->buffers, &old->buffers) && COPY_VEC(&p->scalars, &old->scalars) &&
              COPY_VEC(&p->overs, &old->overs);
    for (uint32_t i = 1; ok && i < old->buffers.count; i++) ok = vy_vec_push(&b->versions, 0u);
    // builder_new has already made a leaf of its own (`live` is true); start the table anew.
    if (b->leaf_table_size) memset(b->leaf_table, 0, b->leaf_table_size * sizeof *b->leaf_table);
    for (uint32_t i = 0; ok && i < old->leaves.count; i++) ok = leaf_insert(b, i);
    if (ok) b->vars.data[0].value = vy_bool(b, true).id;
    ok = ok && !b->failed;
    // Code rarely grows in a pass: one allocation does.
    ok = ok && vy_vec_reserve(&p->insts, old->insts.count) &&
         vy_vec_reserve(&p->args, old->args.count) && vy_vec_reserve(&b->notes, old->insts.count);
    if (!ok) {
        vy_fail_oom(m);
        vy_program_abandon(b);
        return NULL;
    }
    return b;
}

vy_program *vy_rebuild_end(vy_builder *b)
{
    vy_program *p = b->p;
    if (vy_builder_failed(b)) {
        vy_program_free(p);
        p = NULL;
    } else {
        assert(b->regions.count == 1 && "unbalanced structure");
    }
    builder_free(b);
    return p;
}

void vy_program_free(vy_program *p)
{
    if (!p) return;
    vy_vec_free(&p->insts);
    vy_vec_free(&p->args);
    vy_vec_free(&p->leaves);
    vy_vec_free(&p->dims);
    vy_vec_free(&p->buffers);
    vy_vec_free(&p->scalars);
    vy_vec_free(&p->overs);
    vy_free(p);
}

void vy_program_replace(vy_program *old, vy_program *fresh)
{
    vy_program tmp = *old;
    *old = *fresh;
    *fresh = tmp;
    vy_program_free(fresh);
}

// Names and dimension lists live in a module's arena: the copy gets its own.
static bool clone_texts(vy_program *p, const vy_program *old, vy_module *m)
{
    vy_arena *a = &m->arena;
#define KEEP(field) ((field) = vy_arena_strdup(a, (field), strlen(field)))
    if (!KEEP(p->name)) return false;
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (!KEEP(p->scalars.data[i].name)) return false;
    for (uint32_t i = 0; i < p->overs.count; i++)
        if (!KEEP(p->overs.data[i].name)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        const vy_dim *dims = b->dims;
        b->dims = vy_arena_alloc(a, b->rank * sizeof *b->dims);
        if (!b->dims || !KEEP(b->name) || (b->init_from && !KEEP(b->init_from))) return false;
        memcpy(b->dims, dims, b->rank * sizeof *dims);
    }
    for (uint32_t i = 1; i < p->insts.count; i++) {
        vy_inst *inst = &p->insts.data[i];
        if (!inst->name) continue;
        const char *name = vy_string(&old->module->names, inst->name);
        if (!(inst->name = vy_intern(&m->names, name, strlen(name)))) return false;
    }
#undef KEEP
    return true;
}

vy_program *vy_program_clone(const vy_program *old, vy_module *m)
{
    vy_program *p = vy_realloc(NULL, sizeof *p);
    if (p) *p = (vy_program){0};
    bool ok = p && COPY_VEC(&p->insts, &old->insts) && COPY_VEC(&p->args, &old->args) &&
              COPY_VEC(&p->leaves, &old->leaves) && COPY_VEC(&p->dims, &old->dims) &&
              COPY_VEC(&p->buffers, &old->buffers) && COPY_VEC(&p->scalars, &old->scalars) &&
              COPY_VEC(&p->overs, &old->overs);
    if (ok) {
        p->name = old->name;
        p->line = old->line;
        p->has_workgroup = old->has_workgroup;
        p->fast_math = old->fast_math;
        p->module = m;
        memcpy(p->workgroup, old->workgroup, sizeof p->workgroup);
        ok = clone_texts(p, old, m);
    }
    if (ok) return p;
    vy_program_free(p);
    vy_fail_oom(m);
    return NULL;
}

void vy_program_abandon(vy_builder *b)
{
    if (!b) return;
    vy_program_free(b->p);
    builder_free(b);
}

static void default_workgroup(vy_program *p)
{
    static const uint32_t by_rank[4][3] = {{64, 1, 1}, {64, 1, 1}, {8, 8, 1}, {4, 4, 4}};
    uint32_t rank = p->overs.count < 3 ? p->overs.count : 3;
    if (!p->has_workgroup) memcpy(p->workgroup, by_rank[rank], sizeof p->workgroup);
}

vy_program *vy_program_end(vy_builder *b)
{
    if (!b) return NULL;
    vy_module *m = b->m;
    vy_control_end(b);
    default_workgroup(b->p);
    vy_program *p = vy_rebuild_end(b);
    if (!p) return NULL;
    vy_pass_context c = {0};
    if (!vy_pass_cleanup(p, &c) || !vy_check_program(p)) {
        vy_program_free(p);
        return NULL;
    }
    if (!vy_vec_push(&m->programs, p)) {
        vy_program_free(p);
        vy_fail_oom(m);
        return NULL;
    }
    return p;
}

// ----------------------------------------------------------------------------------------- leaves
static uint32_t leaf_hash(const vy_leaf *l)
{
    uint64_t h = (uint64_t)l->kind * 0x9E3779B97F4A7C15u;
    h = (h ^ l->type) * 0x9E3779B97F4A7C15u;
    h = (h ^ l->index ^ ((uint64_t)l->axis << 32)) * 0x9E3779B97F4A7C15u;
    h = (h ^ l->value.u) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static bool leaf_same(const vy_leaf *a, const vy_leaf *b)
{
    return a->kind == b->kind && a->type == b->type && a->index == b->index &&
           a->axis == b->axis && a->value.u == b->value.u;
}

static bool leaf_insert(vy_builder *b, uint32_t index)
{
    const vy_leaf *leaves = b->p->leaves.data;
    if ((index + 1) * 2 > b->leaf_table_size) {
        uint32_t size = b->leaf_table_size ? b->leaf_table_size * 2 : 64;
        uint32_t *t = vy_realloc(NULL, (size_t)size * sizeof *t);
        if (!t) return false;
        memset(t, 0, (size_t)size * sizeof *t);
        vy_free(b->leaf_table);
        b->leaf_table = t;
        b->leaf_table_size = size;
        for (uint32_t i = 0; i < index; i++) leaf_insert(b, i); // fits: no further growth
    }
    uint32_t mask = b->leaf_table_size - 1, slot = leaf_hash(&leaves[index]) & mask;
    while (b->leaf_table[slot]) slot = (slot + 1) & mask;
    b->leaf_table[slot] = index + 1;
    return true;
}

static uint32_t leaf_get(vy_builder *b, vy_leaf l)
{
    if (b->failed) return 0;
    if (b->leaf_table_size) {
        uint32_t mask = b->leaf_table_size - 1, slot = leaf_hash(&l) & mask;
        for (; b->leaf_table[slot]; slot = (slot + 1) & mask) {
            uint32_t index = b->leaf_table[slot] - 1;
            if (leaf_same(&b->p->leaves.data[index], &l)) return index | VY_LEAF_BIT;
        }
    }
    if (!vy_vec_push(&b->p->leaves, l) || !leaf_insert(b, b->p->leaves.count - 1)) {
        vy_build_oom(b);
        return 0;
    }
    return (b->p->leaves.count - 1) | VY_LEAF_BIT;
}

uint32_t vy_leaf_const(vy_builder *b, vy_type type, vy_scalar value)
{
    // All NaNs are one, so that equal programs have equal leaves.
    if (vy_type_is_float(type) && value.f != value.f) value.u = 0x7FF8000000000000u;
    return leaf_get(b, (vy_leaf){.kind = VY_LEAF_CONST, .type = (uint8_t)type, .value = value});
}

uint32_t vy_leaf_other(vy_builder *b, vy_leaf_kind kind, vy_type type, uint32_t index,
                       uint32_t axis)
{
    return leaf_get(b, (vy_leaf){.kind = (uint8_t)kind, .type = (uint8_t)type, .index = index,
                                 .axis = axis});
}

uint32_t vy_extent_leaf(vy_builder *b, uint32_t buffer, uint32_t axis)
{
    const vy_buf *buf = &b->p->buffers.data[buffer];
    const vy_dim_node *d = &b->p->dims.data[buf->dims[axis].id];
    if (d->op == VY_DIM_CONST && d->value >= 0 && d->value <= UINT32_MAX)
        return vy_leaf_const(b, VY_U32, (vy_scalar){.u = (uint64_t)d->value});
    if (d->op == VY_DIM_SCALAR && b->p->scalars.data[d->value].type == VY_U32)
        return vy_leaf_other(b, VY_LEAF_SCALAR, VY_U32, (uint32_t)d->value, 0);
    return vy_leaf_other(b, VY_LEAF_LEN, VY_U32, buffer, axis);
}

// ---------------------------------------------------------------------------------------- sharing
bool vy_visible(const vy_builder *b, uint32_t id)
{
    if (VY_IS_LEAF(id)) return VY_LEAF_INDEX(id) < b->p->leaves.count;
    return id && id < b->p->insts.count && b->open.data[b->notes.data[id].region];
}

static uint32_t inst_hash(const vy_inst *i, const uint32_t *args, uint32_t version)
{
    uint64_t h = ((uint64_t)i->op << 40 | (uint64_t)i->type << 32 | i->aux) * 0x9E3779B97F4A7C15u;
    h = (h ^ (h >> 29) ^ version) * 0xBF58476D1CE4E5B9u;
    for (uint32_t k = 0; k < i->nargs; k++) h = (h ^ (h >> 32) ^ args[k]) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static bool table_grow(vy_builder *b)
{
    uint32_t size = b->table_size ? b->table_size * 2 : 128;
    uint32_t *t = vy_realloc(NULL, (size_t)size * sizeof *t);
    if (!t) return false;
    memset(t, 0, (size_t)size * sizeof *t);
    uint32_t used = 0;
    for (uint32_t i = 0; i < b->table_size; i++) {
        uint32_t id = b->table[i];
        if (!id || !vy_visible(b, id)) continue; // entries of closed regions are dropped
        const vy_inst *inst = &b->p->insts.data[id];
        uint32_t slot = inst_hash(inst, vy_args(b->p, id), b->notes.data[id].version) & (size - 1);
        while (t[slot]) slot = (slot + 1) & (size - 1);
        t[slot] = id;
        used++;
    }
    vy_free(b->table);
    b->table = t;
    b->table_size = size;
    b->table_used = used;
    return true;
}

// The slot of an equal visible instruction, or the slot where a new one belongs.
static uint32_t *table_find(vy_builder *b, const vy_inst *want, const uint32_t *args,
                            uint32_t version)
{
    const vy_program *p = b->p;
    uint32_t mask = b->table_size - 1, slot = inst_hash(want, args, version) & mask;
    for (; b->table[slot]; slot = (slot + 1) & mask) {
        uint32_t id = b->table[slot];
        const vy_inst *have = &p->insts.data[id];
        if (have->op == want->op && have->type == want->type && have->aux == want->aux &&
            have->nargs == want->nargs && b->notes.data[id].version == version &&
            (want->nargs == 0 || memcmp(vy_args(p, id), args, want->nargs * sizeof *args) == 0))
            return &b->table[slot];
    }
    return &b->table[slot];
}

// --------------------------------------------------------------------------------------- emission
// Appends an instruction as it is.
static uint32_t append(vy_builder *b, vy_inst inst, const uint32_t *args, uint32_t version)
{
    vy_program *p = b->p;
    if (p->insts.count >= VY_MAX_INSTRUCTIONS) {
        vy_build_fail(b, VY_E_LIMIT, "the program has more than %u instructions",
                      VY_MAX_INSTRUCTIONS);
        return 0;
    }
    inst.args = p->args.count;
    inst.line = b->line;
    inst.column = b->column > UINT16_MAX ? UINT16_MAX : (uint16_t)b->column;
    build_note note = {.region = b->regions.data[b->regions.count - 1].serial, .version = version};
    if (!vy_vec_reserve(&p->args, inst.nargs) || !vy_vec_reserve(&p->insts, 1) ||
        !vy_vec_reserve(&b->notes, 1)) {
        vy_build_oom(b);
        return 0;
    }
    if (inst.nargs) memcpy(p->args.data + p->args.count, args, inst.nargs * sizeof *args);
    p->args.count += inst.nargs;
    p->insts.data[p->insts.count++] = inst;
    b->notes.data[b->notes.count++] = note;
    return p->insts.count - 1;
}

static bool commutes(vy_op op)
{
    return op == VY_OP_ADD || op == VY_OP_MUL || op == VY_OP_AND || op == VY_OP_OR ||
           op == VY_OP_XOR || op == VY_OP_EQ || op == VY_OP_NE || op == VY_OP_FMA;
}

// Operand order of commuting operations: constants last, other leaves before them, instructions in
// order first.  (min and max do not commute: ties, NaN.)
static uint32_t rank_of(const vy_program *p, uint32_t id)
{
    return !VY_IS_LEAF(id) ? 0 : vy_id_const(p, id) ? 2 : 1;
}

// Must `b` stand before `a`?  Leaves are ordered by what they are, not by when they were first used,
// so that equal programs have equal operands.
static bool out_of_order(const vy_program *p, uint32_t a, uint32_t b)
{
    uint32_t ra = rank_of(p, a), rb = rank_of(p, b);
    if (ra != rb || ra == 0) return ra > rb || (ra == rb && a > b);
    const vy_leaf *x = &p->leaves.data[VY_LEAF_INDEX(a)], *y = &p->leaves.data[VY_LEAF_INDEX(b)];
    if (x->kind != y->kind) return x->kind > y->kind;
    if (x->index != y->index) return x->index > y->index;
    if (x->axis != y->axis) return x->axis > y->axis;
    return x->value.u > y->value.u;
}

static uint32_t memory_version(const vy_builder *b, uint32_t buffer)
{
    if (b->p->buffers.data[buffer].cls == VY_IN) return 0;
    uint32_t v = b->versions.data[buffer];
    return v > b->epoch ? v : b->epoch;
}

static void note_write(vy_builder *b, vy_op op, uint32_t aux)
{
    if (op == VY_OP_BARRIER) b->epoch = ++b->clock;
    else if (vy_op_infos[op].effect == VY_WRITE) b->versions.data[aux] = ++b->clock;
}

uint32_t vy_emit(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t nargs,
                 const uint32_t *args)
{
    if (b->failed) return 0;
    vy_effect effect = vy_op_infos[op].effect;
    assert(effect != VY_CTRL);
    uint32_t swapped[3];
    if (nargs >= 2 && commutes(op)) {
        if (out_of_order(b->p, args[0], args[1])) {
            swapped[0] = args[1], swapped[1] = args[0];
            if (nargs == 3) swapped[2] = args[2];
            args = swapped;
        }
    }
    vy_inst inst = {.op = (uint16_t)op, .type = (uint8_t)type, .nargs = nargs, .aux = aux};
    if (effect == VY_PURE) {
        uint32_t folded = vy_fold(b, op, type, aux, nargs, args);
        if (folded || b->failed) return folded;
    }
    if (effect == VY_WRITE || effect == VY_CONV) {
        uint32_t id = append(b, inst, args, 0);
        note_write(b, op, aux);
        return type == VY_VOID ? 0 : id;
    }
    uint32_t version = effect == VY_READ ? memory_version(b, aux) : 0;
    if (b->table_used * 2 >= b->table_size && !table_grow(b)) {
        vy_build_oom(b);
        return 0;
    }
    uint32_t *slot = table_find(b, &inst, args, version);
    if (*slot && vy_visible(b, *slot)) return *slot;
    bool fresh = *slot == 0;
    uint32_t id = append(b, inst, args, version);
    if (!id) return 0;
    *slot = id;
    b->table_used += fresh;
    return id;
}

void vy_emit_flags(vy_builder *b, uint32_t id, uint8_t flags)
{
    uint32_t last = b->p->insts.count - 1;
    if (b->failed || (id && id != last)) return; // shared with an earlier one
    b->p->insts.data[last].flags |= flags;
}

void vy_name(vy_builder *b, vy_value v, const char *name)
{
    if (b->failed || !v.id || VY_IS_LEAF(v.id) || !name || !*name) return;
    vy_inst *inst = &b->p->insts.data[v.id];
    if (inst->name) return; // the first name stays
    inst->name = vy_intern(&b->m->names, name, strlen(name));
    if (!inst->name) vy_build_oom(b);
}

// -------------------------------------------------------------------------------------- structure
static uint32_t marker(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t n,
                       const uint32_t *args)
{
    if (b->failed) return 0;
    return append(b, (vy_inst){.op = (uint16_t)op, .type = (uint8_t)type, .nargs = n, .aux = aux},
                  args, 0);
}

static void enter(vy_builder *b, uint32_t opener)
{
    if (b->failed) return;
    if (b->regions.count > VY_MAX_NESTING)
        vy_build_fail(b, VY_E_LIMIT, "constructs are nested more than %u deep", VY_MAX_NESTING);
    else if (!open_region(b, opener)) vy_build_oom(b);
}

static build_region *innermost(vy_builder *b) { return &b->regions.data[b->regions.count - 1]; }

// Closes the innermost region; the marker emitted next stands outside.
static void leave(vy_builder *b)
{
    b->open.data[innermost(b)->serial] = 0;
    b->regions.count--;
}

// Else-arm: a new region with the same opener.
static void turn(vy_builder *b, uint32_t middle)
{
    build_region *r = innermost(b);
    b->open.data[r->serial] = 0;
    r->serial = b->open.count;
    r->middle = middle;
    if (!vy_vec_push(&b->open, 1)) vy_build_oom(b);
}

// Markers stand in their parent's region: ELSE is appended between the arms.
static uint32_t outer_marker(vy_builder *b, vy_op op, uint32_t n, const uint32_t *args)
{
    uint32_t id = marker(b, op, VY_VOID, 0, n, args);
    if (id) b->notes.data[id].region = b->regions.data[b->regions.count - 2].serial;
    return id;
}

void vy_begin_if(vy_builder *b, uint32_t cond)
{
    uint32_t id = marker(b, VY_OP_IF, VY_VOID, 0, 1, &cond);
    if (id) enter(b, id);
}

void vy_begin_else(vy_builder *b, uint32_t n, const uint32_t *then_yields)
{
    uint32_t id = b->failed ? 0 : outer_marker(b, VY_OP_ELSE, n, then_yields);
    if (id) turn(b, id);
}

void vy_else_yields(vy_builder *b, uint32_t n, const uint32_t *ids)
{
    if (b->failed) return;
    vy_program *p = b->p;
    if (!vy_vec_reserve(&p->args, n)) {
        vy_build_oom(b);
        return;
    }
    vy_inst *inst = &p->insts.data[innermost(b)->middle];
    inst->args = p->args.count;
    inst->nargs = n;
    if (n) memcpy(p->args.data + p->args.count, ids, n * sizeof *ids);
    p->args.count += n;
}

static void emit_results(vy_builder *b, uint32_t end, uint32_t n, const uint32_t *values,
                         uint32_t *results)
{
    for (uint32_t k = 0; k < n && !b->failed; k++)
        results[k] = marker(b, VY_OP_RESULT, vy_id_type(b->p, values[k]), k, 1, &end);
}

// The value of a construct that yields x or y by cond, if it needs no RESULT; else 0.
static uint32_t trivial_yield(vy_builder *b, uint32_t opener, uint32_t cond, uint32_t x, uint32_t y)
{
    bool outside = VY_IS_LEAF(x) || x < opener;
    if (x == y && outside) return x;
    const vy_scalar *cx = vy_id_const(b->p, x), *cy = vy_id_const(b->p, y);
    if (vy_id_type(b->p, x) == VY_BOOL && cx && cx->u && ((cy && !cy->u) || y == cond)) return cond;
    return 0;
}

void vy_end_if(vy_builder *b, uint32_t n, const uint32_t *else_yields, uint32_t *results)
{
    if (b->failed) return;
    vy_program *p = b->p;
    build_region r = *innermost(b);
    uint32_t cond = vy_arg(p, r.opener, 0), kept = 0;
    bool empty = r.middle == r.opener + 1 && p->insts.count == r.middle + 1;
    vy_id_vec *yields = &b->scratch[0], *back = &b->scratch[1], *thens = &b->scratch[2];
    yields->count = back->count = thens->count = 0;
    if (!vy_vec_reserve(yields, n) || !vy_vec_reserve(back, n) || !vy_vec_reserve(thens, n)) {
        vy_build_oom(b);
        return;
    }
    uint32_t *then_yields = p->args.data + p->insts.data[r.middle].args;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t x = then_yields[k], y = else_yields[k];
        results[k] = trivial_yield(b, r.opener, cond, x, y);
        if (results[k]) continue;
        then_yields[kept] = thens->data[kept] = x;
        yields->data[kept] = y;
        back->data[kept++] = k;
    }
    leave(b);
    if (empty) { // nothing to branch over: selects do
        p->insts.count = b->notes.count = r.opener;
        for (uint32_t k = 0; k < kept && !b->failed; k++) {
            uint32_t args[3] = {cond, thens->data[k], yields->data[k]};
            results[back->data[k]] =
                vy_emit(b, VY_OP_SELECT, vy_id_type(p, args[1]), 0, 3, args);
        }
        return;
    }
    p->insts.data[r.middle].nargs = kept;
    uint32_t end = marker(b, VY_OP_ENDIF, VY_VOID, 0, kept, yields->data);
    for (uint32_t k = 0; k < kept && !b->failed; k++)
        results[back->data[k]] =
            marker(b, VY_OP_RESULT, vy_id_type(p, yields->data[k]), k, 1, &end);
}

static void emit_carries(vy_builder *b, uint32_t opener, uint32_t n, const uint32_t *inits,
                         uint32_t *carries)
{
    if (b->failed) return;
    b->epoch = ++b->clock; // the body may write memory later in the text
    enter(b, opener);
    for (uint32_t k = 0; k < n && !b->failed; k++)
        carries[k] = marker(b, VY_OP_CARRY, vy_id_type(b->p, inits[k]), k, 1, &opener);
}

uint32_t vy_begin_loop(vy_builder *b, vy_type type, uint8_t flags, uint32_t from, uint32_t to,
                       uint32_t step, uint32_t n, const uint32_t *inits, uint32_t *carries)
{
    if (b->failed) return 0;
    vy_id_vec *args = &b->scratch[0];
    args->count = 0;
    if (!vy_vec_reserve(args, n + 3)) {
        vy_build_oom(b);
        return 0;
    }
    args->data[0] = from, args->data[1] = to, args->data[2] = step;
    if (n) memcpy(args->data + 3, inits, n * sizeof *inits);
    uint32_t id = marker(b, VY_OP_LOOP, type, 0, n + 3, args->data);
    if (!id) return 0;
    b->p->insts.data[id].flags = flags & VY_FLAG_REVERSE;
    emit_carries(b, id, n, inits, carries);
    return id;
}

void vy_begin_while(vy_builder *b, uint8_t flags, uint32_t n, const uint32_t *inits,
                    uint32_t *carries)
{
    (void)flags;
    uint32_t id = marker(b, VY_OP_WHILE, VY_VOID, 0, n, inits);
    if (id) emit_carries(b, id, n, inits, carries);
}

void vy_loop_test(vy_builder *b, uint32_t cond)
{
    uint32_t id = marker(b, VY_OP_TEST, VY_VOID, 0, 1, &cond);
    if (id) innermost(b)->middle = id;
}

void vy_end_loop(vy_builder *b, uint32_t keep, uint32_t n, const uint32_t *nexts,
                 uint32_t *results)
{
    if (b->failed) return;
    vy_id_vec *args = &b->scratch[0];
    args->count = 0;
    if (!vy_vec_reserve(args, n + 1)) {
        vy_build_oom(b);
        return;
    }
    if (keep) args->data[args->count++] = keep;
    if (n) memcpy(args->data + args->count, nexts, n * sizeof *nexts);
    args->count += n;
    uint32_t opener = innermost(b)->opener;
    if (keep) b->p->insts.data[opener].flags |= VY_FLAG_EXIT;
    leave(b);
    uint32_t end = marker(b, VY_OP_ENDLOOP, VY_VOID, 0, args->count, args->data);
    b->epoch = ++b->clock;
    if (end) emit_results(b, end, n, nexts, results);
}

void vy_begin_checkpoint(vy_builder *b)
{
    uint32_t id = marker(b, VY_OP_CHECKPOINT, VY_VOID, 0, 0, NULL);
    if (id) enter(b, id);
}

void vy_end_checkpoint(vy_builder *b, uint32_t n, const uint32_t *yields, uint32_t *results)
{
    if (b->failed) return;
    leave(b);
    uint32_t end = marker(b, VY_OP_ENDCHECKPOINT, VY_VOID, 0, n, yields);
    if (end) emit_results(b, end, n, yields, results);
}

// ---------------------------------------------------------------------------------------- copying
static void copy_marker(vy_builder *b, vy_op op, const vy_inst *old, uint32_t n,
                        const uint32_t *args, uint32_t *made)
{
    if (op == VY_OP_ELSE) {
        vy_begin_else(b, n, args);
        *made = b->p->insts.count - 1;
        return;
    }
    if (vy_op_closes(op)) leave(b);
    *made = marker(b, op, (vy_type)old->type, old->aux, n, args);
    if (!*made) return;
    b->p->insts.data[*made].flags = old->flags;
    if (op == VY_OP_LOOP || op == VY_OP_WHILE || op == VY_OP_ENDLOOP) b->epoch = ++b->clock;
    if (vy_op_opens(op)) enter(b, *made);
    if (op == VY_OP_TEST) innermost(b)->middle = *made;
}

void vy_copy_inst(vy_builder *b, const vy_program *old, uint32_t id, uint32_t *map)
{
    if (b->failed) return;
    const vy_inst *inst = &old->insts.data[id];
    uint32_t small[16], *args = small;
    if (inst->nargs > 16) {
        vy_id_vec *wide = &b->scratch[2];
        wide->count = 0;
        if (!vy_vec_reserve(wide, inst->nargs)) {
            vy_build_oom(b);
            return;
        }
        args = wide->data;
    }
    for (uint32_t k = 0; k < inst->nargs; k++) {
        args[k] = vy_map(map, vy_arg(old, id, k));
        assert(args[k] && "operand was not copied");
    }
    b->line = inst->line;
    b->column = inst->column;
    vy_op op = (vy_op)inst->op;
    if (vy_op_infos[op].effect == VY_CTRL) {
        copy_marker(b, op, inst, inst->nargs, args, &map[id]);
    } else {
        uint32_t before = b->p->insts.count;
        map[id] = vy_emit(b, op, (vy_type)inst->type, inst->aux, inst->nargs, args);
        if (b->p->insts.count > before) {
            if (!map[id]) map[id] = b->p->insts.count - 1; // VOID operations
            if (map[id] == b->p->insts.count - 1)
                b->p->insts.data[map[id]].flags = inst->flags;
        }
    }
    if (!b->failed && inst->name && !VY_IS_LEAF(map[id]) && !b->p->insts.data[map[id]].name)
        b->p->insts.data[map[id]].name = inst->name;
}
