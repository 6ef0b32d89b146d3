// SPDX-License-Identifier: MIT
// sema.c: resolves names in a module: constants, functions, programs; detects recursion.
//
// Every function is analysed once, called or not; inlining it then only walks the annotated tree.
#include "ir/text/lower.h"
#include "ir/text/overload.h"

#include <stdio.h>

// ------------------------------------------------------------------------- functions and programs
static void sema_function(vy_front *f, vy_func *fn)
{
    f->func = fn;
    f->scope = NULL;
    f->loop = NULL;
    vy_sema_parameters(f, fn);
    if (!f->failed) vy_sema_body(f, fn);
    if (f->failed && fn->generic) vy_blame_instance(f, fn);
    vy_scope_close(f, NULL);
    f->func = NULL;
}

static void sema_bodies(vy_front *f, vy_func *list, void (*sema)(vy_front *f, vy_func *fn))
{
    vy_again_begin(f);
    for (vy_func *fn = list; fn && !f->failed; fn = fn->next) {
        vy_again_pass(f, fn);
        sema(f, fn);
    }
}

// --------------------------------------------------------------------------------------- recursion
// Names the functions or pipelines of the cycle that `fn` closes.
static void report_recursion(vy_front *f, const vy_func *from, const vy_func *fn,
                             const vy_callee *call)
{
    char path[160];
    const vy_func *list[4];
    int n = 0;
    for (const vy_func *p = from; p && p != fn && n < 4; p = p->path) list[n++] = p;
    size_t used = (size_t)snprintf(path, sizeof path, "%.30s", fn->decl->name->text);
    while (n-- > 0)
        used += (size_t)snprintf(path + used, sizeof path - used, " → %.24s",
                                 list[n]->decl->name->text);
    const bool pipeline = fn->decl->kind == DK_PIPELINE;
    vy_front_error(f, VY_E_RECURSION, call->line, call->column,
                   pipeline ? "repeat its steps with `repeat`" : NULL,
                   pipeline ? "pipeline `%s` dispatches itself: %s → %.30s"
                            : "function `%s` calls itself: %s → %.30s",
                   fn->decl->name->text, path, fn->decl->name->text);
}

// All that `fn` calls was done before it, which is the order in which pipelines are lowered.
static void done(vy_front *f, vy_func *fn)
{
    fn->color = 2;
    if (fn->decl->kind != DK_PIPELINE) return;
    if (f->last)
        f->last->lowered_next = fn;
    else
        f->first = fn;
    f->last = fn;
}

static void find_recursion(vy_front *f, vy_func *root)
{
    root->color = 1;
    root->walk = root->callees;
    for (vy_func *top = root; top && !f->failed;) {
        vy_callee *c = top->walk;
        if (!c) {
            done(f, top);
            top = top->path;
            continue;
        }
        top->walk = c->next;
        if (c->func->color == 1) report_recursion(f, top, c->func, c);
        if (c->func->color != 0) continue;
        c->func->color = 1;
        c->func->walk = c->func->callees;
        c->func->path = top;
        top = c->func;
    }
}

// Those made of several numbers come after the sizes of arrays, which those that are one may be.
static void sema_constants(vy_front *f, bool made)
{
    f->in_const = true;
    f->in_numbers = !made;
    for (vy_decl *d = f->consts; d && !f->failed; d = d->next) {
        if (vy_is_made(d->type) != made) continue;
        if (vy_stored_only(d->type))
            vy_front_error(f, VY_E_TYPE_WRONG, d->line, d->column, NULL,
                           "constant `%s` cannot be a %s", d->name->text,
                           vy_type_name((vy_type)d->type));
        vy_check_as(f, d->dims, d->type, "the constant");
        if (f->failed && d->given) vy_define_refused(f, d);
    }
    f->in_const = f->in_numbers = false;
}

bool vy_sema(vy_front *f)
{
    for (vy_decl *d = f->consts; d && !f->failed; d = d->next) vy_declare_global(f, d);
    for (vy_decl *d = f->structs; d && !f->failed; d = d->next) vy_declare_global(f, d);
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next) vy_declare_global(f, fn->decl);
    for (vy_func *fn = f->pipes; fn && !f->failed; fn = fn->next) vy_declare_global(f, fn->decl);
    f->make_instance = vy_make_instance;
    sema_constants(f, false);
    if (!f->failed) vy_sema_made(f);
    if (!f->failed) sema_constants(f, true);
    if (!f->failed) vy_lower_constants(f); // lengths of rows are such
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next)
        if (fn->decl->overload && fn->decl->name->global == fn->decl)
            vy_sema_overloads(f, fn->decl);
    sema_bodies(f, f->funcs, sema_function);
    sema_bodies(f, f->pipes, vy_sema_pipeline);
    if (!f->failed) vy_sema_rules(f);
    for (vy_func *fn = f->funcs; fn && !f->failed; fn = fn->next)
        if (fn->color == 0) find_recursion(f, fn);
    for (vy_func *fn = f->pipes; fn && !f->failed; fn = fn->next) {
        vy_func *other = fn->rules[VY_DERIVE_AS].func; // before what dispatches fn
        if (other && other->color == 0) find_recursion(f, other);
    }
    for (vy_func *fn = f->pipes; fn && !f->failed; fn = fn->next)
        if (fn->color == 0) find_recursion(f, fn);
    return !f->failed && vy_again_name(f);
}
