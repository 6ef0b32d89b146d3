// SPDX-License-Identifier: MIT
// rebuild.c: how builders and programs begin, end and are copied.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/build/function.h"

#include <assert.h>
#include <string.h>

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
    *p = (vy_program){.module = m, .order = m->order};
    bool ok = vy_vec_push(&p->insts, (vy_inst){0}) && vy_vec_push(&p->dims, (vy_dim_node){0}) &&
              vy_vec_push(&p->buffers, (vy_buf){0}) && vy_vec_push(&b->versions, 0u) &&
              vy_vec_push(&b->notes, (build_note){0}) && vy_open_region(b, 0) &&
              vy_control_begin(b);
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

static bool copy_vec(void *data, uint32_t *count, uint32_t *capacity, const void *from, uint32_t n,
                     size_t size)
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
#define COPY_VEC(to, from)                                                                         \
    copy_vec(&(to)->data, &(to)->count, &(to)->capacity, (from)->data, (from)->count,              \
             sizeof *(to)->data)

// What a program says of itself beside its code and parameters.
static void copy_head(vy_program *p, const vy_program *old)
{
    p->name = old->name;
    p->stem = old->stem;
    memcpy(p->rules, old->rules, sizeof p->rules);
    p->line = old->line;
    p->order = old->order;
    memcpy(p->workgroup, old->workgroup, sizeof p->workgroup);
    p->has_workgroup = old->has_workgroup;
    p->fast_math = old->fast_math;
    p->exact = old->exact;
    p->shader = old->shader;
    p->gathers = old->gathers;
    p->exact_sums = old->exact_sums;
    p->function = old->function;
}

vy_builder *vy_rebuild_begin(const vy_program *old)
{
    vy_module *m = old->module;
    if (!vy_module_ok(m)) return NULL;
    vy_builder *b = builder_new(m);
    if (!b) return NULL;
    b->rebuild = true;
    vy_program *p = b->p;
    copy_head(p, old);
    p->host = old->host;
    bool ok = COPY_VEC(&p->leaves, &old->leaves) && COPY_VEC(&p->dims, &old->dims) &&
              COPY_VEC(&p->buffers, &old->buffers) && COPY_VEC(&p->scalars, &old->scalars) &&
              COPY_VEC(&p->overs, &old->overs) && COPY_VEC(&p->assumes, &old->assumes) &&
              COPY_VEC(&p->calls, &old->calls);
    for (uint32_t i = 1; ok && i < old->buffers.count; i++) {
        b->parameters += vy_is_global(old->buffers.data[i].cls);
        ok = vy_vec_push(&b->versions, 0u);
    }
    // builder_new has already made a leaf (`live` is true); clear the table.
    if (b->leaf_table_size) memset(b->leaf_table, 0, b->leaf_table_size * sizeof *b->leaf_table);
    for (uint32_t i = 0; ok && i < old->leaves.count; i++) ok = vy_leaf_insert(b, i);
    if (ok) b->vars.data[0].value = vy_bool(b, true).id;
    ok = ok && !b->failed;
    // Code rarely grows in a pass: usually one allocation suffices.
    ok = ok && vy_vec_reserve(&p->insts, old->insts.count) &&
         vy_vec_reserve(&p->args, old->args.count) && vy_vec_reserve(&b->notes, old->insts.count);
    if (!ok) {
        vy_fail_oom(m);
        vy_program_abandon(b);
        return NULL;
    }
    return b;
}

bool vy_build_expect(vy_builder *b, uint32_t instructions)
{
    vy_program *p = b->p;
    return vy_vec_reserve(&p->insts, instructions) && vy_vec_reserve(&p->args, 2 * instructions) &&
           vy_vec_reserve(&b->notes, instructions);
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
    if (!KEEP(p->name) || (p->stem && !KEEP(p->stem))) return false;
    for (uint32_t k = 0; k < VY_NAMES_OF; k++)
        if (p->rules[k] && !KEEP(p->rules[k])) return false;
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (!KEEP(p->scalars.data[i].name)) return false;
    for (uint32_t i = 0; i < p->overs.count; i++)
        if (!KEEP(p->overs.data[i].name)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        const vy_dim *dims = b->dims;
        b->dims = vy_arena_alloc(a, b->rank * sizeof *b->dims);
        if (!b->dims || !KEEP(b->name) || (b->init_from && !KEEP(b->init_from)) ||
            (b->role.of && !KEEP(b->role.of)) || (b->role.root && !KEEP(b->role.root)))
            return false;
        memcpy(b->dims, dims, b->rank * sizeof *dims);
        if (b->layout.strides && !vy_layout_own(m, b)) return false;
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

// In another module links mean other parameters.
static void new_links(vy_program *p)
{
    for (uint32_t i = 0; i < p->scalars.count; i++) p->scalars.data[i].link = ++p->module->links;
    for (uint32_t i = 1; i < p->buffers.count; i++) p->buffers.data[i].link = ++p->module->links;
}

vy_program *vy_program_clone(const vy_program *old, vy_module *m)
{
    vy_program *p = vy_realloc(NULL, sizeof *p);
    if (p) *p = (vy_program){0};
    bool ok = p && COPY_VEC(&p->insts, &old->insts) && COPY_VEC(&p->args, &old->args) &&
              COPY_VEC(&p->leaves, &old->leaves) && COPY_VEC(&p->dims, &old->dims) &&
              COPY_VEC(&p->buffers, &old->buffers) && COPY_VEC(&p->scalars, &old->scalars) &&
              COPY_VEC(&p->overs, &old->overs) && COPY_VEC(&p->assumes, &old->assumes);
    if (ok) {
        copy_head(p, old);
        p->signature = old->signature;
        p->module = m;
        ok = clone_texts(p, old, m);
        if (m != old->module) new_links(p);
        ok = ok && vy_functions_follow(old, m, vy_program_clone, p);
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

void vy_default_workgroup(vy_program *p)
{
    static const uint32_t by_rank[4][3] = {{64, 1, 1}, {64, 1, 1}, {8, 8, 1}, {4, 4, 4}};
    uint32_t rank = p->overs.count < 3 ? p->overs.count : 3;
    if (!p->has_workgroup) memcpy(p->workgroup, by_rank[rank], sizeof p->workgroup);
}

void vy_pass_at(vy_builder *b, const vy_program *old, uint32_t id)
{
    vy_at(b, old->insts.data[id].line, old->insts.data[id].column);
}

void vy_pass_name(vy_builder *b, const vy_program *old, uint32_t id, uint32_t fresh)
{
    if (vy_builder_failed(b) || !fresh || VY_IS_LEAF(fresh)) return;
    vy_inst *inst = &vy_builder_program(b)->insts.data[fresh];
    if (!inst->name) inst->name = old->insts.data[id].name;
}

bool vy_pass_finish(vy_builder *b, vy_program *p)
{
    vy_program *fresh = vy_rebuild_end(b);
    if (!fresh) return false;
    vy_program_replace(p, fresh);
    return true;
}
