// SPDX-License-Identifier: MIT
// variables.c: mutable variables on top of SSA, and the frames of open constructs.
//
// A builder variable is just its current value.  On entering a construct nothing is copied; the
// first assignment inside logs the old value, so closing a construct takes time proportional to the
// assignments in it.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <string.h>

build_frame *vy_frame_top(vy_builder *b) { return &b->frames.data[b->frames.count - 1]; }
static bool has_region(build_frame_kind k)
{
    return k != FRAME_FUNCTION && k != FRAME_SCOPE && k != FRAME_BLOCK;
}

bool vy_frame_push(vy_builder *b, build_frame_kind kind)
{
    build_frame f = {.kind = kind, .undo_start = b->undo.count, .var_start = b->vars.count};
    bool root = b->frames.count == 0;
    if (has_region(kind) || root) {
        f.serial = ++b->frame_serial;
    } else { // assignments belong to the enclosing construct
        f.serial = vy_frame_top(b)->serial;
        f.undo_start = vy_frame_top(b)->undo_start;
    }
    if (vy_vec_push(&b->frames, f)) return true;
    vy_build_oom(b);
    return false;
}

// ------------------------------------------------------------------------------------- variables

uint32_t vy_variable_new(vy_builder *b, vy_type type, uint32_t name, uint32_t value)
{
    build_variable v = {.value = value,
                        .name = name,
                        .type = type,
                        .logged = vy_frame_top(b)->serial};
    if (!vy_vec_push(&b->vars, v)) {
        vy_build_oom(b);
        return 0;
    }
    return b->vars.count; // index + 1
}

vy_var vy_var_new(vy_builder *b, const char *name, vy_value initial)
{
    if (vy_builder_failed(b)) return (vy_var){0};
    if (!vy_visible(b, initial.id)) {
        vy_build_fail(b, VY_E_API, "vy_var_new: the initial value is not available here");
        return (vy_var){0};
    }
    uint32_t offset =
        name && vy_name_printable(name) ? vy_intern(&b->m->names, name, strlen(name)) : 0;
    if (offset) vy_name(b, initial, name);
    return (vy_var){vy_variable_new(b, vy_id_type(b->p, initial.id), offset, initial.id)};
}

bool vy_variable_valid(vy_builder *b, vy_var v, const char *function)
{
    if (vy_builder_failed(b)) return false;
    if (v.id && v.id <= b->vars.count) return true;
    vy_build_fail(b, VY_E_API, "%s: the variable is not declared here", function);
    return false;
}

vy_value vy_get(vy_builder *b, vy_var v)
{
    if (!vy_variable_valid(b, v, "vy_get")) return (vy_value){0};
    return (vy_value){b->vars.data[v.id - 1].value};
}

void vy_variable_assign(vy_builder *b, uint32_t var, uint32_t value)
{
    build_variable *v = &b->vars.data[var];
    build_frame *f = vy_frame_top(b);
    if (v->logged != f->serial) {
        build_undo u = {var, v->value, v->logged};
        if (!vy_vec_push(&b->undo, u)) {
            vy_build_oom(b);
            return;
        }
        v->logged = f->serial;
    }
    v->value = value;
}

void vy_set(vy_builder *b, vy_var v, vy_value value)
{
    if (!vy_variable_valid(b, v, "vy_set")) return;
    build_variable *var = &b->vars.data[v.id - 1];
    if (!vy_visible(b, value.id) || vy_id_type(b->p, value.id) != var->type) {
        vy_build_fail(b, VY_E_API, "vy_set: the value is of another type or not available here");
        return;
    }
    if (var->name) vy_name(b, value, vy_string(&b->m->names, var->name));
    vy_variable_assign(b, v.id - 1, value.id);
}

// Undoes the assignments logged since `start`: the variables get their values from before.
void vy_variables_rewind(vy_builder *b, uint32_t start)
{
    while (b->undo.count > start) {
        build_undo u = b->undo.data[--b->undo.count];
        if (u.var >= b->vars.count) continue; // declared inside, out of scope
        b->vars.data[u.var].value = u.value;
        b->vars.data[u.var].logged = u.logged;
    }
}

void vy_variable_name(vy_builder *b, uint32_t var, uint32_t value)
{
    if (b->vars.data[var].name)
        vy_name(b, (vy_value){value}, vy_string(&b->m->names, b->vars.data[var].name));
}
