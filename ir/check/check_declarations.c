// SPDX-License-Identifier: MIT
// check_declarations.c: what is declared: parameters, arrays, domain, workgroup, and names of
// programs.
//
// Declarations are checked before code, because code refers to them.  Programs can come from a
// file, so name tables and dimensions are not trusted either.  Duplicates are found by sorting: a
// file may declare a million parameters.
#include "ir/check/check.h"
#include "ir/core/dims.h"
#include "ir/core/pipe.h"

#include <stdlib.h>
#include <string.h>

static bool fail_table(const vy_program *p, const char *what)
{
    vy_fail(p->module, VY_E_INTERNAL, p->line, 0, NULL, "`%s`: %s", p->name ? p->name : "?", what);
    return false;
}

// ----------------------------------------------------------------------------------------- tables

static bool good_leaf(const vy_program *p, const vy_leaf *l)
{
    vy_type t = (vy_type)l->type;
    if (l->kind == VY_LEAF_POISON) return true; // check_code.c refuses its use
    if (!vy_type_computes(t) && !(l->kind == VY_LEAF_SCALAR && t < VY_TYPE_COUNT)) return false;
    switch ((vy_leaf_kind)l->kind) {
    case VY_LEAF_POISON: break;
    case VY_LEAF_CONST:
        if (vy_type_is_float(t))
            return l->value.f != l->value.f || vy_round_to(t, l->value.f) == l->value.f;
        return vy_wrap(t, l->value).u == l->value.u;
    case VY_LEAF_SCALAR: return l->index < p->scalars.count && p->scalars.data[l->index].type == t;
    case VY_LEAF_OVER: return l->index < p->overs.count && t == VY_U32;
    case VY_LEAF_BUILTIN:
        return l->index <= VY_SUBGROUP_SIZE && l->axis < (l->index <= VY_NUM_GROUPS ? 3u : 1u) &&
               t == VY_U32;
    case VY_LEAF_LEN:
        return l->index && l->index < p->buffers.count &&
               l->axis < p->buffers.data[l->index].rank && t == VY_U32;
    }
    return false;
}

static bool good_buffer(const vy_program *p, const vy_buf *b)
{
    if (!b->name || (unsigned)b->cls > VY_LOCAL || (unsigned)b->type >= VY_TYPE_COUNT ||
        b->type == VY_VOID || b->rank == 0 || b->rank > VY_MAX_RANK ||
        (unsigned)b->init > VY_INIT_KEEP ||
        (b->init == VY_INIT_KEEP && !vy_is_gradient(b->role.kind)) ||
        (b->init == VY_INIT_COPY) != (b->init_from != NULL) || b->view_of >= p->buffers.count)
        return false;
    for (uint32_t k = 0; k < b->rank; k++)
        if (!b->dims[k].id || b->dims[k].id >= p->dims.count) return false;
    return true;
}

bool vy_check_tables(const vy_program *p)
{
    if (!p->name) return fail_table(p, "it has no name");
    for (uint32_t i = 0; i < p->scalars.count; i++)
        if (!p->scalars.data[i].name || (unsigned)p->scalars.data[i].type >= VY_TYPE_COUNT)
            return fail_table(p, "a scalar is malformed");
    if (!vy_check_dim_table(p)) return fail_table(p, "a dimension is malformed");
    if (p->buffers.count == 0) return fail_table(p, "the buffers are malformed");
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (!good_buffer(p, &p->buffers.data[i])) return fail_table(p, "a buffer is malformed");
    for (uint32_t i = 0; i < p->overs.count; i++) {
        const vy_over_var *o = &p->overs.data[i];
        if (!o->name || !o->extent.id || o->extent.id >= p->dims.count)
            return fail_table(p, "the domain is malformed");
    }
    for (uint32_t i = 0; i < p->assumes.count; i++) {
        const vy_assumption *a = &p->assumes.data[i];
        if (!a->least.id || a->least.id >= p->dims.count || !a->most.id ||
            a->most.id >= p->dims.count)
            return fail_table(p, "what it assumes is malformed");
    }
    for (uint32_t i = 0; i < p->leaves.count; i++)
        if (!good_leaf(p, &p->leaves.data[i])) return fail_table(p, "a leaf is malformed");
    return true;
}

// ------------------------------------------------------------------------------------ declarations

static bool check_scalars(vy_program *p)
{
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        const vy_scalar_param *s = &p->scalars.data[i];
        if (vy_type_computes(s->type)) continue;
        vy_fail(p->module, VY_E_STORAGE_TYPE, s->line, vy_check_column(p->module, s->line, s->name),
                NULL, "scalar `%s` cannot be of type %s", s->name, vy_type_name(s->type));
        return false;
    }
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        if (d->op != VY_DIM_SCALAR) continue;
        const vy_scalar_param *s = &p->scalars.data[d->value];
        if (vy_type_is_integer(s->type)) continue;
        vy_fail(p->module, VY_E_DIM_SCALAR, s->line, vy_check_column(p->module, s->line, s->name),
                NULL, "a dimension uses `%s`, which is of type %s", s->name, vy_type_name(s->type));
        return false;
    }
    return true;
}

// Shared and local arrays: constant positive extents; *total grows by the size in bytes.
static bool check_array(vy_program *p, const vy_buf *b, uint64_t *total, uint64_t limit)
{
    if (!vy_type_computes(b->type)) {
        vy_fail(p->module, VY_E_STORAGE_TYPE, b->line, vy_check_column(p->module, b->line, b->name),
                NULL, "array `%s` cannot be of type %s", b->name, vy_type_name(b->type));
        return false;
    }
    uint64_t bytes = vy_type_size(b->type);
    for (uint32_t k = 0; k < b->rank; k++) {
        const vy_dim_node *d = &p->dims.data[b->dims[k].id];
        if (d->op != VY_DIM_CONST || d->value <= 0) {
            vy_fail(p->module, VY_E_ARRAY_EXTENT, b->line,
                    vy_check_column(p->module, b->line, b->name), NULL,
                    "extent %u of array `%s` is not a positive constant", k, b->name);
            return false;
        }
        // Saturates before the product could overflow: both factors stay far below 2^64.
        bytes =
            (uint64_t)d->value > limit || bytes > limit ? limit + 1 : bytes * (uint64_t)d->value;
    }
    *total += bytes;
    if (*total <= limit) return true;
    vy_fail(p->module, VY_E_LIMIT, b->line, vy_check_column(p->module, b->line, b->name),
            "make the arrays smaller or use a buffer",
            "with `%s` the %s arrays take more than %u bytes", b->name,
            b->cls == VY_SHARED ? "shared" : "local", (unsigned)limit);
    return false;
}

static bool check_arrays(vy_program *p)
{
    uint64_t shared = 0, local = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->cls == VY_SHARED && !check_array(p, b, &shared, VY_MAX_SHARED_BYTES)) return false;
        if (b->cls == VY_LOCAL && !check_array(p, b, &local, VY_MAX_LOCAL_BYTES)) return false;
    }
    return true;
}

static bool check_workgroup(vy_program *p)
{
    const uint32_t *w = p->workgroup;
    uint64_t product = 1;
    for (int k = 0; k < 3; k++) product = w[k] > VY_MAX_WORKGROUP ? 1 << 20 : product * w[k];
    if (product >= 1 && product <= VY_MAX_WORKGROUP) return true;
    vy_fail(p->module, VY_E_WORKGROUP_SIZE, p->line, vy_check_column(p->module, p->line, p->name),
            NULL, "`%s`: a workgroup of %u × %u × %u invocations", p->name, w[0], w[1], w[2]);
    return false;
}

// -------------------------------------------------------------------------------------- duplicates

typedef struct entry {
    const char *name;
    uint64_t key;
    uint32_t line, buffer;
} entry;

static int by_name(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static bool printable(vy_program *p, const char *name)
{
    if (vy_name_printable(name)) return true;
    vy_fail(p->module, VY_E_API, 0, 0, "use letters, digits and `_`",
            "a name in program `%s` cannot be written as text: it is empty, or has a back quote, a "
            "control character or bytes that are not UTF-8",
            vy_name_printable(p->name) ? p->name : "?");
    return false;
}

static bool check_printable(vy_program *p)
{
    bool ok = printable(p, p->name);
    for (uint32_t i = 1; ok && i < p->buffers.count; i++)
        ok = printable(p, p->buffers.data[i].name);
    for (uint32_t i = 0; ok && i < p->scalars.count; i++)
        ok = printable(p, p->scalars.data[i].name);
    for (uint32_t i = 0; ok && i < p->overs.count; i++) ok = printable(p, p->overs.data[i].name);
    return ok;
}

static bool check_names(vy_program *p, entry *list)
{
    uint32_t n = 0;
    if (!check_printable(p)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        // Local arrays may share a name: sibling scopes, functions used twice.
        if (b->cls != VY_LOCAL) list[n++] = (entry){.name = b->name, .line = b->line};
    }
    for (uint32_t i = 0; i < p->scalars.count; i++)
        list[n++] = (entry){.name = p->scalars.data[i].name, .line = p->scalars.data[i].line};
    for (uint32_t i = 0; i < p->overs.count; i++)
        list[n++] = (entry){.name = p->overs.data[i].name, .line = p->line};
    qsort(list, n, sizeof *list, by_name);
    for (uint32_t i = 1; i < n; i++) {
        if (strcmp(list[i - 1].name, list[i].name) != 0) continue;
        vy_fail(p->module, VY_E_DUPLICATE_NAME, list[i].line,
                vy_check_column(p->module, list[i].line, list[i].name), NULL,
                "`%s` is declared twice", list[i].name);
        return false;
    }
    return true;
}

// May buffer i of the list have its binding together with all before it that have it?
static bool share(vy_program *p, const entry *list, uint32_t i)
{
    enum { MOST_MEMBERS = 4096 };
    if (i >= MOST_MEMBERS && list[i - MOST_MEMBERS].key == list[i].key) return false;
    for (uint32_t k = i; k-- > 0 && list[k].key == list[i].key;)
        if (!vy_layouts_fit(p, &p->buffers.data[list[k].buffer], &p->buffers.data[list[i].buffer]))
            return false;
    return true;
}

static bool check_bindings(vy_program *p, entry *list)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_is_global(b->cls) || b->view_of || (p->signature && b->workspace)) continue;
        if (p->shader && !b->layout.given) continue; // numbered when it is compiled
        list[n++] = (entry){b->name, (uint64_t)b->set << 32 | b->binding, b->line, i};
    }
    qsort(list, n, sizeof *list, by_key);
    for (uint32_t i = 1; i < n; i++) {
        if (list[i - 1].key != list[i].key || share(p, list, i)) continue;
        vy_fail(p->module, VY_E_BINDING_CLASH, list[i].line,
                vy_check_column(p->module, list[i].line, list[i].name), NULL,
                "`%s` and `%s` both use set %u, binding %u", list[i - 1].name, list[i].name,
                (unsigned)(list[i].key >> 32), (unsigned)list[i].key);
        return false;
    }
    return true;
}

// The number of elements, if it is a number; else UINT64_MAX.
static uint64_t element_count(const vy_program *p, const vy_buf *b)
{
    uint64_t all = 1;
    for (uint32_t k = 0; k < b->rank; k++) {
        const vy_dim_node *d = &p->dims.data[b->dims[k].id];
        if (d->op != VY_DIM_CONST || __builtin_mul_overflow(all, (uint64_t)d->value, &all))
            return UINT64_MAX;
    }
    return all;
}

// Do they certainly have another number of elements?
static bool has_other_count(const vy_program *p, const vy_dim_facts *f, const vy_buf *x,
                            const vy_buf *y)
{
    const uint64_t m = element_count(p, x), n = element_count(p, y);
    if (m != UINT64_MAX && n != UINT64_MAX) return m != n;
    return x->rank == 1 && y->rank == 1 && vy_other_dim(f, x->dims[0], y->dims[0]);
}

static bool check_start_count(vy_program *p, const vy_dim_facts *f, const vy_buf *b,
                              const vy_buf *from)
{
    if (!has_other_count(p, f, b, from)) return true;
    vy_fail(p->module, VY_E_EXTENT, b->line, vy_check_column(p->module, b->line, b->name),
            "let both have the same number of elements",
            "`%s` cannot begin as a copy of `%s`, which has another number of elements", b->name,
            b->init_from);
    return false;
}

static bool has_starts(const vy_program *p)
{
    bool any = false;
    for (uint32_t i = 1; i < p->buffers.count; i++) any |= p->buffers.data[i].init == VY_INIT_COPY;
    return any && !p->signature;
}

// What begins as a copy of a parameter has its type and rank.  (Their sizes are compared when they
// are known.)
static bool check_starts(vy_program *p, vy_arena *arena)
{
    vy_dim_facts facts;
    if (!has_starts(p)) return true;
    if (!vy_dim_facts_make(&facts, p, arena)) {
        vy_fail_oom(p->module);
        return false;
    }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->init != VY_INIT_COPY) continue;
        const vy_buf *from = &p->buffers.data[vy_program_find_buffer(p, b->init_from).id];
        const bool fits =
            from->name && vy_is_global(from->cls) && from->type == b->type && from->rank == b->rank;
        if (fits && !check_start_count(p, &facts, b, from)) return false;
        if (fits) continue;
        vy_fail(p->module, VY_E_NAME_KIND, b->line, vy_check_column(p->module, b->line, b->name),
                "name a parameter of the same type and rank", "`%s` cannot begin as a copy of `%s`",
                b->name, b->init_from);
        return false;
    }
    return true;
}

bool vy_check_declarations(vy_program *p)
{
    if (!vy_check_tables(p)) return false;
    if (!check_scalars(p) || !check_arrays(p) || !check_workgroup(p)) return false;
    size_t n = (size_t)p->buffers.count + p->scalars.count + p->overs.count;
    vy_arena arena = {0};
    entry *list = vy_arena_alloc(&arena, n * sizeof *list);
    bool ok = list && vy_check_dims(p, &arena) && check_names(p, list) && vy_check_layouts(p) &&
              check_bindings(p, list) && check_starts(p, &arena);
    if (!list) vy_fail_oom(p->module);
    vy_arena_free(&arena);
    return ok;
}

bool vy_check_program_names(vy_module *m)
{
    uint32_t n = 0;
    entry *list =
        vy_realloc(NULL, ((size_t)m->programs.count + m->pipelines.count + 1) * sizeof *list);
    if (!list) {
        vy_fail_oom(m);
        return false;
    }
    for (uint32_t i = 0; i < m->programs.count; i++)
        list[n++] = (entry){.name = m->programs.data[i]->name, .line = m->programs.data[i]->line};
    for (uint32_t i = 0; i < m->pipelines.count; i++)
        list[n++] = (entry){.name = m->pipelines.data[i]->name, .line = m->pipelines.data[i]->line};
    qsort(list, n, sizeof *list, by_name);
    bool ok = true;
    for (uint32_t i = 1; i < n && ok; i++) {
        if (strcmp(list[i - 1].name, list[i].name) != 0) continue;
        vy_fail(m, VY_E_DUPLICATE_NAME, list[i].line,
                vy_check_column(m, list[i].line, list[i].name), NULL,
                "two programs or pipelines are named `%s`", list[i].name);
        ok = false;
    }
    vy_free(list);
    return ok;
}
