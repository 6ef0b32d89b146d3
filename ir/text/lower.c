// SPDX-License-Identifier: MIT
// lower.c: tree to builder: modules, programs, constants, dimensions.
#include "ir/text/front.h"
#include "ir/build/edit.h"
#include "ir/text/text.h"

#include <stdio.h>
#include <string.h>

void vy_lower_at(vy_lower *l, uint32_t line, uint32_t column)
{
    if (!l->fixed_place) vy_at(l->b, line, column);
}

bool vy_lower_stopped(vy_lower *l)
{
    if (++l->visited > VY_MAX_LOWERED && !l->f->failed)
        vy_front_error(l->f, VY_E_LIMIT, 0, 0, "call functions from loops instead",
                       "inlining functions makes more than %u expressions", VY_MAX_LOWERED);
    return l->f->failed || vy_builder_failed(l->b);
}

vy_buffer vy_lower_buffer(const vy_lower *l, const vy_decl *d)
{
    return (vy_buffer){l->frame[d->slot]};
}

// ------------------------------------------------------------------------------------- dimensions
static vy_dim dim_name(vy_lower *l, const vy_expr *e)
{
    const vy_decl *d = e->u.ref.decl;
    if (d->kind == DK_CONST) return vy_dim_const(l->b, d->value.i);
    vy_value v = {l->frame[d->slot]};
    if (d->kind == DK_NUMBER) return (vy_dim){v.id};
    if (!vy_builder_failed(l->b) && d->kind == DK_PARAM &&
        !vy_id_const(vy_builder_program(l->b), v.id)) {
        vy_front_error(l->f, VY_E_CONSTANT, e->line, e->column, "pass a constant, or use one here",
                       "`%s` is not constant in this call", d->name->text);
        return (vy_dim){0};
    }
    return vy_dim_value(l->b, v);
}

static vy_dim dim_call(vy_lower *l, const vy_expr *e)
{
    const vy_expr *a = e->u.ref.list;
    const char *name = e->u.ref.name->text;
    if (name[0] == 'i') {
        vy_dim x = vy_lower_dim(l, a);
        return vy_dim_binary(l->b, 'r', x, x);
    }
    if (name[0] == 'v') return vy_lower_element(l, e);
    if (name[0] != 'l') {
        vy_dim x = vy_lower_dim(l, a), y = vy_lower_dim(l, a->next);
        return vy_dim_binary(l->b, name[1] == 'i' ? '<' : '>', x, y);
    }
    if (vy_builder_failed(l->b)) return (vy_dim){0};
    vy_buffer buf = vy_lower_buffer(l, a->u.ref.decl);
    if (!buf.id) {
        vy_front_error(l->f, VY_E_NAME_UNKNOWN, a->line, a->column, "declare that buffer first",
                       "the length of `%s` is used before it is declared", a->u.ref.name->text);
        return (vy_dim){0};
    }
    uint32_t axis = a->next ? (uint32_t)a->next->u.value : 0;
    return vy_builder_program(l->b)->buffers.data[buf.id].dims[axis];
}

vy_dim vy_lower_dim(vy_lower *l, const vy_expr *e)
{
    static const char *const ops = "+-*/%"; // in the order of the tokens
    vy_dim x = {0};
    if (vy_lower_stopped(l)) return x;
    switch (e->kind) {
    case EX_INT:
        if (e->u.value > INT64_MAX)
            vy_front_error(l->f, VY_E_LITERAL_RANGE, e->line, e->column, NULL,
                           "this dimension is too large");
        return vy_dim_const(l->b, (int64_t)(e->u.value & INT64_MAX));
    case EX_NAME:
        if (!e->u.ref.name) return vy_dim_unknown(l->b);
        return dim_name(l, e);
    case EX_BUILTIN: return vy_dim_groups(l->b, e->count);
    case EX_UNARY:
        x = vy_lower_dim(l, e->u.sub.a);
        return vy_dim_binary(l->b, '-', vy_dim_const(l->b, 0), x);
    case EX_CHAIN:
        for (const vy_expr *o = e->u.list; o; o = o->next) {
            vy_dim y = vy_lower_dim(l, o);
            x = o == e->u.list ? y : vy_dim_binary(l->b, ops[o->link - TK_ADD], x, y);
        }
        return x;
    default: return dim_call(l, e);
    }
}

bool vy_dim_known(const vy_lower *l, vy_dim d, int64_t *value)
{
    if (!d.id || vy_builder_failed(l->b)) return false;
    const vy_dim_node *n = &vy_builder_program(l->b)->dims.data[d.id];
    *value = n->value;
    return n->op == VY_DIM_CONST;
}

bool vy_lower_dims(vy_lower *l, const vy_decl *d, vy_dim dims[VY_MAX_RANK])
{
    uint32_t n = 0;
    for (const vy_expr *e = d->dims; e; e = e->next) {
        int64_t value;
        dims[n] = vy_lower_dim(l, e);
        if (vy_lower_stopped(l)) return false;
        bool known = vy_dim_known(l, dims[n++], &value);
        if (d->kind == DK_BUFFER || (known && value > 0 && value <= INT32_MAX)) continue;
        vy_front_error(l->f, known ? VY_E_EXTENT : VY_E_CONSTANT, e->line, e->column,
                       known ? "give a size from 1 up" : NULL,
                       known ? "array `%s` has size %lld"
                             : "the size of array `%s` is not constant",
                       d->name->text, known ? (long long)value : 0);
        return false;
    }
    return true;
}

// -------------------------------------------------------------------------------------- constants
bool vy_lower_constant(vy_lower *l, vy_decl *d)
{
    if (d->state == 2) return true;
    if (d->state == 1 || ++l->constant_depth > VY_MAX_TREE_DEPTH / 2) {
        vy_front_error(l->f, d->state == 1 ? VY_E_CONSTANT : VY_E_LIMIT, d->line, d->column,
                       "break the circle",
                       d->state == 1 ? "constant `%s` depends on itself"
                                     : "constant `%s` depends on too long a row of constants",
                       d->name->text);
        return false;
    }
    d->state = 1;
    vy_value v = vy_lower_expr(l, d->dims);
    l->constant_depth--;
    if (vy_lower_stopped(l)) return false;
    const vy_scalar *k = vy_id_const(vy_builder_program(l->b), v.id);
    if (!k) {
        vy_front_error(l->f, VY_E_CONSTANT, d->line, d->column, NULL,
                       "the value of `%s` is not constant", d->name->text);
        return false;
    }
    d->value = *k;
    d->state = 2;
    return true;
}

// Their names stay with the module, for diagnostics.
static bool keep_constants(vy_front *f)
{
    vy_module *m = f->m;
    uint32_t n = 0;
    for (const vy_decl *d = f->consts; d; d = d->next) n++;
    m->constants = n ? vy_arena_alloc(&m->arena, n * sizeof *m->constants) : NULL;
    for (const vy_decl *d = m->constants ? f->consts : NULL; d; d = d->next) {
        const char *name = vy_arena_strdup(&m->arena, d->name->text, d->name->length);
        if (name) m->constants[m->constant_count++] = name;
    }
    if (m->constant_count < n) vy_fail_oom(m);
    return m->constant_count == n;
}

bool vy_program_has_constant(const vy_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->module->constant_count; i++)
        if (!strcmp(p->module->constants[i], name)) return true;
    return false;
}

static bool lower_constants(vy_front *f)
{
    if (!f->consts) return true;
    vy_lower l = {.f = f, .b = vy_program_begin(f->m, "constants"), .constant = true};
    if (!l.b) return false;
    for (vy_decl *d = f->consts; d && !f->failed; d = d->next) vy_lower_constant(&l, d);
    vy_program_abandon(l.b);
    return !f->failed && vy_module_ok(f->m);
}

// --------------------------------------------------------------------------------------- programs
static void lower_parameters(vy_lower *l, const vy_func *fn)
{
    vy_dim dims[VY_MAX_RANK];
    for (const vy_decl *d = fn->params; d && !vy_lower_stopped(l); d = d->next) {
        if (d->kind != DK_SCALAR) continue;
        vy_lower_at(l, d->line, d->column);
        l->frame[d->slot] = vy_param_scalar(l->b, d->name->text, (vy_type)d->type).id;
    }
    for (const vy_decl *d = fn->params; d && !vy_lower_stopped(l); d = d->next) {
        if (d->kind != DK_BUFFER) continue;
        vy_lower_at(l, d->line, d->column);
        if (!vy_lower_dims(l, d, dims)) return;
        vy_buffer b = vy_param_buffer(l->b, d->name->text, (vy_buffer_class)d->cls,
                                      (vy_type)d->type, d->rank, dims);
        l->frame[d->slot] = b.id;
        if (d->has_set || d->has_binding) {
            vy_buffer_info info = vy_program_buffer(vy_builder_program(l->b), b);
            vy_buffer_binding(l->b, b, d->has_set ? d->set : 0,
                              d->has_binding ? d->binding : info.binding);
        }
        if (d->workspace) vy_buffer_workspace(l->b, b);
        if (d->init)
            vy_buffer_init(l->b, b, (vy_init)d->init,
                           d->init == VY_INIT_COPY ? d->init_from->text : NULL);
    }
}

static void lower_workgroup(vy_lower *l, const vy_func *fn)
{
    uint32_t xyz[3] = {1, 1, 1}, n = 0;
    for (const vy_expr *e = fn->workgroup; e; e = e->next) {
        int64_t value = 0;
        vy_dim d = vy_lower_dim(l, e);
        if (vy_lower_stopped(l)) return;
        bool known = vy_dim_known(l, d, &value);
        if (!known || value < 1 || value > INT32_MAX) {
            vy_front_error(l->f, VY_E_GROUP_SIZE, e->line, e->column, NULL,
                           known ? "a workgroup size of %lld"
                                 : "a workgroup's size is not constant",
                           (long long)value);
            return;
        }
        xyz[n++] = (uint32_t)value;
    }
    if (n) vy_workgroup(l->b, xyz[0], xyz[1], xyz[2]);
}

void vy_lower_head(vy_lower *l, const vy_func *fn)
{
    vy_lower_at(l, fn->decl->line, fn->decl->column);
    vy_builder_program(l->b)->line = fn->decl->line;
    lower_parameters(l, fn);
    for (const vy_decl *d = fn->overs; d && !vy_lower_stopped(l); d = d->next) {
        vy_lower_at(l, d->line, d->column);
        vy_dim extent = vy_lower_dim(l, d->dims);
        if (!vy_lower_stopped(l)) l->frame[d->slot] = vy_over(l->b, d->name->text, extent).id;
    }
    lower_workgroup(l, fn);
}

static bool lower_program(vy_front *f, vy_func *fn, uint64_t *visited)
{
    vy_lower l = {.f = f, .func = fn, .visited = *visited};
    l.frame = vy_front_alloc(f, fn->slot_count * sizeof *l.frame + 1);
    if (f->failed) return false;
    l.b = vy_program_begin(f->m, fn->decl->name->text);
    if (!l.b) return false;
    if (fn->exact) vy_exact(l.b);
    vy_lower_head(&l, fn);
    if (!vy_lower_stopped(&l)) vy_lower_body(&l, fn);
    *visited = l.visited;
    if (f->failed || vy_builder_failed(l.b)) {
        vy_program_abandon(l.b);
        return false;
    }
    fn->program = vy_module_program_count(f->m);
    return vy_program_end(l.b) != NULL;
}

bool vy_lower_module(vy_front *f)
{
    uint64_t visited = 0;
    if (!lower_constants(f)) return false;
    for (vy_func *fn = f->funcs; fn; fn = fn->next)
        if (fn->is_program && !lower_program(f, fn, &visited)) return false;
    for (vy_func *fn = f->pipes; fn; fn = fn->next)
        if (!vy_lower_pipeline(f, fn)) return false;
    return true;
}

// ------------------------------------------------------------------------------------ entry points
static bool keep_source(vy_module *m, const char *text, size_t size, const char *file)
{
    if (!file) file = "";
    m->file = vy_arena_strdup(&m->arena, file, strlen(file));
    if (m->file && size > VY_MAX_SOURCE) {
        vy_fail(m, VY_E_LIMIT, 0, 0, NULL, "a text of %zu bytes: the limit is %u", size,
                VY_MAX_SOURCE);
        return false;
    }
    m->source = m->file ? vy_arena_strdup(&m->arena, text, size) : NULL;
    if (!m->source) {
        if (!m->file) m->file = "";
        vy_fail_oom(m);
        return false;
    }
    m->source_size = size;
    return true;
}

vy_module *vy_parse(const char *text, size_t size, const char *file)
{
    return vy_parse_with(text, size, file, NULL, 0);
}

vy_module *vy_parse_with(const char *text, size_t size, const char *file, const vy_define *defines,
                         uint32_t count)
{
    const uint64_t before = vy_memory_failures();
    vy_module *m = vy_module_new();
    if (!m || !keep_source(m, text, size, file)) return m;
    vy_front f;
    vy_front_init(&f, m, m->source, size);
    if (vy_parse_text(&f) && vy_define_constants(&f, defines, count) && vy_sema(&f) &&
        keep_constants(&f) && vy_lower_module(&f))
        vy_module_check(m);
    vy_front_free(&f);
    vy_module_memory(m, before);
    return m;
}

static bool inline_call(vy_front *f, vy_builder *b, const char *name, uint32_t nargs,
                        const vy_value *args, uint32_t n, vy_value *results)
{
    vy_func *fn = f->funcs;
    while (fn && (fn->is_program || strcmp(fn->decl->name->text, name) != 0)) fn = fn->next;
    if (!fn || fn->param_count != nargs || fn->result_count != n) {
        vy_front_error(
            f, VY_E_API, 0, 0, NULL,
            "vy_inline_source: there is no function `%s` with %u parameters and %u results", name,
            nargs, n);
        return false;
    }
    // A call of it, with its arguments bound to variables of a frame of our own.
    vy_lower l = {.f = f, .b = b, .fixed_place = true};
    l.frame = vy_front_alloc(f, nargs * sizeof *l.frame + 1);
    vy_decl *decls = vy_front_alloc(f, nargs * sizeof *decls + 1);
    vy_expr *exprs = vy_front_alloc(f, (nargs + 1) * sizeof *exprs);
    if (f->failed) return false;
    uint32_t i = 0;
    for (const vy_decl *p = fn->params; p; p = p->next, i++) {
        if (p->kind == DK_BUFFER || vy_value_type(b, args[i]) != p->type) {
            vy_front_error(f, VY_E_API, 0, 0, NULL, "vy_inline_source: argument %u of `%s`", i,
                           name);
            return false;
        }
        l.frame[i] = args[i].id;
        decls[i] = (vy_decl){.kind = DK_PARAM, .type = p->type, .slot = i};
        exprs[i] = (vy_expr){.kind = EX_NAME, .type = p->type};
        exprs[i].u.ref.decl = &decls[i];
        exprs[i].next = i + 1 < nargs ? &exprs[i + 1] : NULL;
    }
    exprs[nargs] = (vy_expr){.kind = EX_CALL, .count = nargs};
    exprs[nargs].u.ref.decl = fn->decl;
    exprs[nargs].u.ref.list = nargs ? exprs : NULL;
    return vy_lower_call(&l, &exprs[nargs], n, results);
}

bool vy_inline_source(vy_builder *b, const char *source, size_t size, const char *name,
                      uint32_t nargs, const vy_value *args, uint32_t n, vy_value *results)
{
    if (vy_builder_failed(b)) return false;
    vy_front f;
    vy_front_init(&f, vy_builder_module(b), source, size);
    bool ok = vy_parse_text(&f) && vy_sema(&f) && lower_constants(&f) &&
              inline_call(&f, b, name, nargs, args, n, results);
    vy_front_free(&f);
    return ok && !vy_builder_failed(b);
}
