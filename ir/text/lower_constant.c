// SPDX-License-Identifier: MIT
// lower_constant.c: constants of a module, each evaluated once.
#include "ir/text/lower.h"
#include "ir/build/edit.h"

#include <string.h>

// False: stopped, or one of them is not constant.
static bool take_scalars(vy_lower *l, vy_decl *d)
{
    const uint32_t n = vy_scalars(l->f, d->type);
    const vy_room_mark mark = vy_room_here(l);
    vy_value *v = vy_room_take(l, n);
    vy_lower_value(l, d->dims, v);
    d->values = n == 1 ? &d->value : vy_front_alloc(l->f, n * sizeof *d->values);
    bool known = !vy_lower_stopped(l);
    for (uint32_t k = 0; k < n && known; k++) {
        const vy_scalar *c = vy_id_const(vy_builder_program(l->b), v[k].id);
        known = c != NULL;
        if (known) d->values[k] = *c;
    }
    if (known) d->value = d->values[0];
    vy_room_back(l, mark);
    return known;
}

bool vy_lower_constant(vy_lower *l, vy_decl *d)
{
    if (d->state == 2) return true;
    if (d->state == 1 || ++l->constant_depth > VY_MAX_TREE_DEPTH / 2) {
        vy_front_error(l->f, d->state == 1 ? VY_E_CONSTANT : VY_E_LIMIT, d->line, d->column,
                       "break the cycle",
                       d->state == 1 ? "constant `%s` depends on itself"
                                     : "constant `%s` depends on too long a chain of constants",
                       d->name->text);
        return false;
    }
    d->state = 1;
    const bool known = take_scalars(l, d);
    l->constant_depth--;
    if (!known && !vy_lower_stopped(l))
        vy_front_error(l->f, VY_E_CONSTANT, d->line, d->column, NULL,
                       "the value of `%s` is not constant", d->name->text);
    d->state = known ? 2 : 1;
    return known;
}

bool vy_lower_count(vy_front *f, const vy_ast_expr *e, vy_type type, uint64_t *n)
{
    // The tree of a constant is not changed by its lowering.
    vy_decl d = {.kind = DK_CONST, .dims = (vy_ast_expr *)e, .type = (vy_text_type)type};
    d.line = e->line, d.column = e->column;
    d.name = vy_front_name(f, "size", 4);
    vy_lower k = {.f = f, .b = vy_program_begin(f->m, "constant"), .constant = true};
    if (!k.b) return false;
    const bool known = vy_lower_constant(&k, &d);
    vy_program_abandon(k.b);
    *n = d.value.u;
    return known;
}

bool vy_keep_constants(vy_front *f)
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

bool vy_lower_constants(vy_front *f)
{
    if (!f->consts) return true;
    vy_lower l = {.f = f, .b = vy_program_begin(f->m, "constants"), .constant = true};
    if (!l.b) return false;
    for (vy_decl *d = f->consts; d && !f->failed; d = d->next) vy_lower_constant(&l, d);
    vy_program_abandon(l.b);
    return !f->failed && vy_module_ok(f->m);
}

bool vy_lower_given(vy_lower *l, const vy_ast_expr *e, vy_name_rec *name, vy_type type,
                    vy_pipe_scalar *out)
{
    if (e->kind == EX_NAME && e->u.ref.decl && e->u.ref.decl->kind == DK_SCALAR) {
        out->kind = VY_PIPE_PARAM;
        vy_value v = {l->frame[e->u.ref.decl->slot]};
        out->scalar = vy_builder_program(l->b)->leaves.data[VY_LEAF_INDEX(v.id)].index;
    } else {
        // The tree of a constant is not changed by its lowering.
        vy_decl d = {.kind = DK_CONST,
                     .name = name,
                     .dims = (vy_ast_expr *)e,
                     .type = (uint8_t)type};
        d.line = e->line, d.column = e->column;
        vy_lower k = {.f = l->f, .b = vy_program_begin(l->f->m, "constant"), .constant = true};
        if (!k.b) return false;
        bool known = vy_lower_constant(&k, &d);
        vy_program_abandon(k.b);
        if (!known) return false;
        out->kind = VY_PIPE_CONST;
        out->value = d.value;
    }
    return !vy_lower_stopped(l);
}
