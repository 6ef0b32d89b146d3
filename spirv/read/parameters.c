// SPDX-License-Identifier: MIT
// parameters.c: what a host provides becomes parameters of the program: what they are called, their
// classes.
#include "spirv/read/reading.h"

#include "ir/core/vector_buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *read_joined(reading *r, const char *a, const char *b)
{
    if (!*a) return b;
    const size_t n = strlen(a) + strlen(b) + 2;
    char *out = vy_arena_alloc(&r->building, n);
    if (!out) return read_no_memory(r), "";
    snprintf(out, n, "%s.%s", a, b);
    return out;
}

const char *read_component_name(reading *r, const char *name, uint32_t vector, uint32_t k)
{
    const size_t n = strlen(name);
    if (!vector || !n) return name;
    char *out = vy_arena_alloc(&r->building, n + 3);
    if (!out) return read_no_memory(r), "";
    snprintf(out, n + 3, "%s_%c", name, "xyzw"[k % vector]);
    return out;
}

uint32_t read_vector_size(const reading *r, uint32_t type)
{
    const read_type *t = read_type_of(r, type);
    return t->op == SpvOpTypeVector && t->count <= VY_MOST_COMPONENTS ? t->count : 0;
}

uint32_t read_elements(const read_field *f)
{
    uint32_t n = 1;
    for (uint32_t k = 0; k < f->rank; k++)
        if (__builtin_mul_overflow(n, f->dims[k], &n)) return UINT32_MAX;
    return n;
}

// Its dimensions in the program; a field without axes has one element.
const vy_dim *read_dims(reading *r, const read_field *f)
{
    vy_dim *dims = vy_arena_alloc(&r->building, (f->rank + 1) * sizeof *dims);
    if (!dims) return read_no_memory(r), NULL;
    dims[0] = vy_dim_const(r->b, 1);
    for (uint32_t k = 0; k < f->rank; k++)
        dims[k] = f->dims[k] ? vy_dim_const(r->b, f->dims[k]) : vy_dim_unknown(r->b);
    return dims;
}

uint32_t read_rank(const read_field *f) { return f->rank ? f->rank : 1; }

// ------------------------------------------------------------------------------------- names
// The name of a parameter: a member's where no other has it, else INSTANCE.MEMBER.
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The members of `type`, if it is a struct, to `list` unless it is NULL; how many.
static uint32_t list_members(const reading *r, uint32_t type, const char **list)
{
    const read_type *t = read_type_of(r, type);
    if (t->op != SpvOpTypeStruct) return 0;
    for (uint32_t k = 0; list && k < t->count; k++) list[k] = read_member_name(r, type, k);
    return t->count;
}

// The names of the members of all variables outside of functions, in order.
bool read_member_names(reading *r)
{
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t n = 0;
        for (uint32_t at = READ_HEADER; at < r->w.functions; at = read_next(&r->w, at)) {
            if (read_op(&r->w, at) != SpvOpVariable) continue;
            const uint32_t type = read_type_of(r, read_word(&r->w, at, 1))->element;
            n += list_members(r, type, round ? r->members + n : NULL);
        }
        if (round == 0) r->members = vy_arena_alloc(&r->building, (n + 1) * sizeof *r->members);
        if (!r->members) return read_no_memory(r);
        r->member_count = n;
    }
    qsort(r->members, r->member_count, sizeof *r->members, by_name);
    return true;
}

static bool is_unique(const reading *r, const char *name)
{
    const char **first = r->members, **end = first + r->member_count;
    const char **found = bsearch(&name, first, r->member_count, sizeof *first, by_name);
    return found && !(found > first && !strcmp(found[-1], name)) &&
           !(found + 1 < end && !strcmp(found[1], name));
}

// What the variable is called where the name of a member alone does not do; without names: b0_3, or
// `push` of push constants, which have no binding.
static const char *block_name(reading *r, const read_object *o)
{
    const char *name = read_name(r, o->variable);
    if (!*name) name = read_name(r, o->type);
    if (*name) return name;
    const uint32_t *set = read_decoration(r, o->variable, SpvDecorationDescriptorSet);
    const uint32_t *binding = read_decoration(r, o->variable, SpvDecorationBinding);
    if (!binding) return "push";
    char *made = vy_arena_alloc(&r->building, 32);
    if (!made) return read_no_memory(r), "";
    snprintf(made, 32, "b%u_%u", set ? *set : 0, *binding);
    return made;
}

// What follows the name that a compiler gave to the array of a structured buffer, the only member:
// Slang's and that of glslang for HLSL.  NULL: the path begins with a name of the source.
static const char *behind_made(const reading *r, const read_object *o, const char *path)
{
    static const char *const made[] = {"__member0", "@data"};
    if (read_type_of(r, o->type)->count != 1) return NULL;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const size_t n = strlen(made[i]);
        if (strncmp(path, made[i], n) != 0) continue;
        if (path[n] == '.') return path + n + 1;
        if (!path[n]) return path + n;
    }
    return NULL;
}

static const char *parameter_name(reading *r, const read_object *o, const char *path)
{
    const char *rest = behind_made(r, o, path);
    if (rest) return *rest ? read_joined(r, block_name(r, o), rest) : block_name(r, o);
    const size_t n = strcspn(path, ".");
    char *first = vy_arena_alloc(&r->building, n + 1);
    if (!first) return read_no_memory(r), "";
    memcpy(first, path, n);
    if (is_unique(r, first)) return path;
    const bool named = *read_member_name(r, o->type, 0) != 0;
    if (!named && o->field_count == 1) return block_name(r, o);
    return read_joined(r, block_name(r, o), path);
}

vy_buffer_class read_class_of(uint8_t use)
{
    if (!(use & READ_IS_WRITTEN)) return VY_IN;
    return use & READ_IS_READ ? VY_INOUT : VY_OUT;
}

// The flat buffer of several variables on one binding, called as the first of them.
static bool declare_alias(reading *r, read_object *o, read_field *f)
{
    const vy_dim open = vy_dim_unknown(r->b);
    read_alias *a = o->alias;
    if (!a->buffer.id)
        a->buffer = vy_param_buffer(r->b, parameter_name(r, o, f->name), read_class_of(a->use),
                                    a->type, 1, &open);
    f->buffer = a->buffer;
    read_place_buffer(r, o, f);
    return !vy_builder_failed(r->b);
}

static bool declare_buffers(reading *r, read_object *o)
{
    const uint8_t *uses = r->uses[o->variable];
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        if (!uses[k]) continue;
        if (o->alias) {
            if (!declare_alias(r, o, f)) return false;
            continue;
        }
        const vy_dim *dims = read_dims(r, f);
        if (!dims) return false;
        f->buffer = vy_param_buffer(r->b, parameter_name(r, o, f->name), read_class_of(uses[k]),
                                    f->type, read_rank(f), dims);
        vy_build_vector(r->b, f->buffer, f->vector);
        read_place_buffer(r, o, f);
    }
    return !vy_builder_failed(r->b);
}

// dir.0, dir.1, … of a vector.
static const char *element_name(reading *r, const read_object *o, const read_field *f, uint32_t k)
{
    const char *name = parameter_name(r, o, f->name);
    if (!f->rank) return name;
    char *made = vy_arena_alloc(&r->building, strlen(name) + 16);
    if (!made) return read_no_memory(r), "";
    snprintf(made, strlen(name) + 16, "%s.%u", name, k);
    return made;
}

// Notes a scalar that the program lacks.
static bool leave_unread(reading *r, const char *name)
{
    return vy_vec_push(&r->unread, name) || read_no_memory(r);
}

// The scalars of a field that something reads.
static bool declare_scalars(reading *r, read_object *o, const read_field *f)
{
    const uint8_t *uses = r->uses[o->variable] + o->field_count;
    bool any = false, ok = true;
    for (uint32_t i = 0; ok && i < read_elements(f); i++) {
        const char *name = element_name(r, o, f, i);
        any |= uses[f->first + i] != 0;
        if (!uses[f->first + i]) {
            ok = leave_unread(r, name);
            continue;
        }
        o->scalars[f->first + i] = vy_param_scalar(r->b, name, vy_type_loaded(f->type));
        read_place_scalar(r, o, f, i, o->scalars[f->first + i]);
    }
    return ok && (any || !f->rank || leave_unread(r, parameter_name(r, o, f->name)));
}

// Scalar parameters, of those that something reads; fields that are indexed at run time, or long
// ones, are buffers.
static bool declare_parameters(reading *r, read_object *o)
{
    uint8_t *uses = r->uses[o->variable];
    o->scalars = vy_arena_alloc(&r->building, READ_MOST_SCALARS * sizeof *o->scalars);
    if (!o->scalars) return read_no_memory(r);
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        const uint32_t n = read_elements(f);
        if (f->first >= READ_MOST_SCALARS || n > READ_MOST_SCALARS - f->first)
            uses[k] |= READ_IS_INDEXED;
        if (!(uses[k] & READ_IS_INDEXED) && !declare_scalars(r, o, f)) return false;
    }
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        const vy_dim *dims =
            uses[k] & READ_IS_INDEXED && uses[k] & READ_IS_READ ? read_dims(r, f) : NULL;
        if (!dims) continue;
        f->buffer = vy_param_buffer(r->b, parameter_name(r, o, f->name), VY_IN, f->type,
                                    read_rank(f), dims);
        vy_build_vector(r->b, f->buffer, f->vector);
        read_place_buffer(r, o, f);
    }
    return !vy_builder_failed(r->b);
}

bool read_declare(reading *r, read_object *o)
{
    return o->kind == READ_BUFFER ? declare_buffers(r, o) : declare_parameters(r, o);
}
