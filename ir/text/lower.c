// SPDX-License-Identifier: MIT
// lower.c: tree to builder: modules and programs.
#include "ir/text/lower.h"
#include "ir/build/edit.h"
#include "ir/text/text.h"

#include <string.h>

// --------------------------------------------------------------------------------------- programs

static bool lower_program(vy_front *f, vy_func *fn, uint64_t *visited)
{
    vy_lower l = {.f = f, .func = fn, .visited = *visited};
    l.frame = vy_front_alloc(f, fn->slot_count * sizeof *l.frame + 1);
    if (f->failed) return false;
    l.b = vy_program_begin(f->m, fn->decl->name->text);
    if (!l.b) return false;
    vy_builder_program(l.b)->order = fn->order;
    if (fn->exact) vy_exact(l.b);
    vy_builder_program(l.b)->exact_sums = fn->exact_sums;
    if (fn->shader) vy_shader(l.b);
    if (fn->rules[VY_VJP].name) vy_program_vjp(l.b, fn->rules[VY_VJP].func->same->decl->name->text);
    if (fn->rules[VY_JVP].name) vy_program_jvp(l.b, fn->rules[VY_JVP].func->same->decl->name->text);
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

// Pipelines that are dispatched were lowered first; in the module they are as in the text, each
// behind what was made to be differentiated in its place (ir/build/pipe_stand_in.c).
static bool text_order(vy_front *f)
{
    vy_pipeline_vec *pipes = &f->m->pipelines;
    vy_pipeline **sorted = vy_front_alloc(f, pipes->count * sizeof *sorted + 1);
    uint32_t n = 0;
    if (f->failed) return false;
    for (const vy_func *fn = f->pipes; fn; fn = fn->next) {
        if (fn->same != fn) continue;
        if (fn->has_stand_in) sorted[n++] = pipes->data[fn->program - 1];
        sorted[n++] = pipes->data[fn->program];
    }
    if (n) memcpy(pipes->data, sorted, n * sizeof *sorted);
    return true;
}

bool vy_lower_module(vy_front *f)
{
    uint64_t visited = 0;
    if (!vy_lower_constants(f) || !vy_lower_functions(f)) return false;
    for (vy_func *fn = f->funcs; fn; fn = fn->next)
        if (fn->is_program && fn->same == fn && !lower_program(f, fn, &visited)) return false;
    for (vy_func *fn = f->first; fn; fn = fn->lowered_next)
        if (fn->same == fn && !vy_lower_pipeline(f, fn)) return false;
    return text_order(f);
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
    return vy_parse_from(text, size, file,
                         &(vy_parse_options){.defines = defines, .define_count = count});
}

vy_module *vy_parse_from(const char *text, size_t size, const char *file,
                         const vy_parse_options *options)
{
    vy_parse_options o;
    const uint64_t before = vy_memory_failures();
    vy_module *m = vy_module_new();
    if (!m || !keep_source(m, text, size, file) ||
        !vy_take_options(&o, sizeof o, sizeof o, options, "vy_parse_options", &m->diag))
        return m;
    vy_front f;
    vy_front_init(&f, m, m->source, size);
    f.options = &o;
    if (vy_import_begin(&f, m->file) && vy_parse_text(&f) &&
        vy_define_constants(&f, f.options->defines, f.options->define_count) && vy_sema(&f) &&
        vy_keep_constants(&f) && vy_lower_module(&f))
        vy_module_check(m);
    m->order = f.order; // of a text that holds nothing else
    vy_front_free(&f);
    vy_module_memory(m, before);
    return m;
}

static bool takes(vy_builder *b, const vy_func *fn, uint32_t n, const vy_value *args)
{
    uint32_t i = 0;
    for (const vy_decl *p = fn->params; p; p = p->next, i++)
        if (i == n || vy_value_type(b, args[i]) != p->type) return false;
    return i == n;
}

// Of several of that name the one that takes these; else the first.
static vy_func *find_function(vy_front *f, vy_builder *b, const char *name, uint32_t n,
                              const vy_value *args)
{
    vy_func *fn = f->funcs;
    while (fn && (fn->is_program || strcmp(fn->decl->name->text, name) != 0)) fn = fn->next;
    for (const vy_decl *d = fn ? fn->decl : NULL; d; d = d->overload)
        if (takes(b, d->func, n, args)) return d->func;
    return fn;
}

static bool inline_call(vy_front *f, vy_builder *b, const char *name, uint32_t nargs,
                        const vy_value *args, uint32_t n, vy_value *results)
{
    vy_func *fn = find_function(f, b, name, nargs, args);
    if (!fn || fn->param_count != nargs || vy_result_scalars(f, fn) != n) {
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
    vy_ast_expr *exprs = vy_front_alloc(f, (nargs + 1) * sizeof *exprs);
    if (f->failed) return false;
    uint32_t i = 0;
    for (const vy_decl *p = fn->params; p; p = p->next, i++) {
        if (p->kind != DK_PARAM || vy_value_type(b, args[i]) != p->type) {
            vy_front_error(f, VY_E_API, 0, 0, NULL, "vy_inline_source: argument %u of `%s`", i,
                           name);
            return false;
        }
        l.frame[i] = args[i].id;
        decls[i] = (vy_decl){.kind = DK_PARAM, .type = p->type, .slot = i};
        exprs[i] = (vy_ast_expr){.kind = EX_NAME, .type = p->type};
        exprs[i].u.ref.decl = &decls[i];
        exprs[i].next = i + 1 < nargs ? &exprs[i + 1] : NULL;
    }
    exprs[nargs] = (vy_ast_expr){.kind = EX_CALL, .count = nargs};
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
    bool ok = vy_parse_text(&f) && vy_sema(&f) && vy_lower_constants(&f) &&
              vy_lower_functions(&f) && inline_call(&f, b, name, nargs, args, n, results);
    vy_front_free(&f);
    return ok && !vy_builder_failed(b);
}
