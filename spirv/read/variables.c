// SPDX-License-Identifier: MIT
// variables.c: the variables of a module: which fields they have, and what these become.
//
//   struct P { vec4 pos; float w[3]; };  buffer B { uint n; P p[]; };
//
//   field 0   B.n       u32[1]
//   field 1   B.p.pos   f32[?, 4]      an axis for the array, one for the vector
//   field 2   B.p.w     f32[?, 3]
//
// So padding is nowhere, whatever the layout of a block is, and all its parts have names.
#include "spirv/read/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, MOST_PARAMETERS = 256 };

// ----------------------------------------------------------------------------------------- fields
typedef struct walk {
    reading *r;
    read_object *o;
    uint32_t dims[DEEPEST], rank, depth, scalars;
    const char *path; // the name so far
} walk;

static const char *joined(reading *r, const char *a, const char *b)
{
    if (!*a) return b;
    const size_t n = strlen(a) + strlen(b) + 2;
    char *out = vy_arena_alloc(&r->building, n);
    if (!out) return read_no_memory(r), "";
    snprintf(out, n, "%s.%s", a, b);
    return out;
}

static bool add_field(walk *w, vy_type type)
{
    read_field *f = &w->o->fields[w->o->field_count++];
    uint32_t *dims = vy_arena_alloc(&w->r->building, (w->rank + 1) * sizeof *dims);
    if (!dims) return read_no_memory(w->r);
    *f = (read_field){.type = type, .rank = w->rank, .dims = dims, .name = w->path};
    f->first = w->scalars;
    uint32_t n = 1;
    for (uint32_t k = 0; k < w->rank; k++) {
        dims[k] = w->dims[k];
        if (__builtin_mul_overflow(n, dims[k], &n)) n = UINT32_MAX;
    }
    if (__builtin_add_overflow(w->scalars, n, &w->scalars)) w->scalars = UINT32_MAX;
    return true;
}

static bool add_fields(walk *w, uint32_t type);

static const char *member_name(walk *w, uint32_t type, uint32_t member)
{
    const char *name = read_member_name(w->r, type, member);
    if (*name) return name;
    char *made = vy_arena_alloc(&w->r->building, 16);
    if (!made) return read_no_memory(w->r), "";
    snprintf(made, 16, "m%u", member);
    return made;
}

static bool add_members(walk *w, uint32_t type)
{
    const char *before = w->path;
    bool ok = true;
    for (uint32_t k = 0; ok && k < read_type_of(w->r, type)->count; k++) {
        w->path = joined(w->r, before, member_name(w, type, k));
        ok = add_fields(w, read_word_of(&w->r->w, type, 2 + k));
    }
    w->path = before;
    return ok;
}

static bool add_fields(walk *w, uint32_t type)
{
    const read_type *t = read_type_of(w->r, type);
    if (w->depth == DEEPEST)
        return read_fail(w->r, VY_E_SHADER_LIMIT, "", "a type is nested more than %u deep",
                         DEEPEST);
    if (t->op == SpvOpTypeBool || t->op == SpvOpTypeInt || t->op == SpvOpTypeFloat)
        return t->scalar != VY_VOID
                   ? add_field(w, t->scalar)
                   : read_refuse(w->r, "use 8 to 64 bits", "a number of its width");
    const bool is_struct = t->op == SpvOpTypeStruct;
    if (!is_struct && t->op != SpvOpTypeVector && t->op != SpvOpTypeMatrix &&
        t->op != SpvOpTypeArray && t->op != SpvOpTypeRuntimeArray)
        return read_refuse(w->r, "use buffers of numbers, vectors, matrices and structs",
                           read_op_name(t->op));
    w->depth++;
    if (!is_struct) w->dims[w->rank++] = t->count;
    const bool ok = is_struct ? add_members(w, type) : add_fields(w, t->element);
    w->rank -= !is_struct;
    w->depth--;
    return ok;
}

// An object for the variable, with its fields; NULL: failed.
static read_object *make_object(reading *r, uint32_t id, read_kind kind, const char *path)
{
    const read_type *pointer = read_type_of(r, read_type_id(r, id));
    read_object *o = vy_arena_alloc(&r->building, sizeof *o);
    if (!o) return read_no_memory(r), NULL;
    *o = (read_object){.kind = kind, .variable = id, .type = pointer->element};
    const read_type *t = read_type_of(r, o->type);
    o->fields = vy_arena_alloc(&r->building, (t->fields + 1) * sizeof *o->fields);
    if (!o->fields) return read_no_memory(r), NULL;
    walk w = {.r = r, .o = o, .path = path};
    if (!add_fields(&w, o->type)) return NULL;
    if (!r->uses[id]) r->uses[id] = vy_arena_alloc(&r->arena, o->field_count + 1 + MOST_PARAMETERS);
    if (!r->uses[id]) return read_no_memory(r), NULL;
    read_pointer *p = vy_arena_alloc(&r->building, sizeof *p);
    if (!p) return read_no_memory(r), NULL;
    *p = (read_pointer){.object = o, .type = o->type};
    r->objects[id] = o;
    r->pointers[id] = p;
    return o;
}

static uint32_t elements(const read_field *f)
{
    uint32_t n = 1;
    for (uint32_t k = 0; k < f->rank; k++)
        if (__builtin_mul_overflow(n, f->dims[k], &n)) return UINT32_MAX;
    return n;
}

// Its dimensions in the program; a field without axes has one element.
static const vy_dim *dims_of(reading *r, const read_field *f)
{
    vy_dim *dims = vy_arena_alloc(&r->building, (f->rank + 1) * sizeof *dims);
    if (!dims) return read_no_memory(r), NULL;
    dims[0] = vy_dim_const(r->b, 1);
    for (uint32_t k = 0; k < f->rank; k++)
        dims[k] = f->dims[k] ? vy_dim_const(r->b, f->dims[k]) : vy_dim_unknown(r->b);
    return dims;
}

static uint32_t rank_of(const read_field *f) { return f->rank ? f->rank : 1; }

// ------------------------------------------------------------------------------------ parameters
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
static bool find_members(reading *r)
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

// What the variable is called where the name of a member alone does not do: b0_3 without names.
static const char *block_name(reading *r, const read_object *o)
{
    const char *name = read_name(r, o->variable);
    if (!*name) name = read_name(r, o->type);
    if (*name) return name;
    const uint32_t *set = read_decoration(r, o->variable, SpvDecorationDescriptorSet);
    const uint32_t *binding = read_decoration(r, o->variable, SpvDecorationBinding);
    char *made = vy_arena_alloc(&r->building, 32);
    if (!made) return read_no_memory(r), "";
    snprintf(made, 32, "b%u_%u", set ? *set : 0, binding ? *binding : 0);
    return made;
}

static const char *parameter_name(reading *r, const read_object *o, const char *path)
{
    const size_t n = strcspn(path, ".");
    char *first = vy_arena_alloc(&r->building, n + 1);
    if (!first) return read_no_memory(r), "";
    memcpy(first, path, n);
    if (is_unique(r, first)) return path;
    const bool named = *read_member_name(r, o->type, 0) != 0;
    if (!named && o->field_count == 1) return block_name(r, o);
    return joined(r, block_name(r, o), path);
}

static vy_buffer_class class_of(uint8_t use)
{
    if (!(use & READ_IS_WRITTEN)) return VY_IN;
    return use & READ_IS_READ ? VY_INOUT : VY_OUT;
}

static bool declare_buffers(reading *r, read_object *o)
{
    const uint8_t *uses = r->uses[o->variable];
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        if (!uses[k]) continue;
        const vy_dim *dims = dims_of(r, f);
        if (!dims) return false;
        f->buffer = vy_param_buffer(r->b, parameter_name(r, o, f->name), class_of(uses[k]), f->type,
                                    rank_of(f), dims);
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

// Scalar parameters, of those that something reads; fields that are indexed at run time, or long
// ones, are buffers.
static bool declare_parameters(reading *r, read_object *o)
{
    uint8_t *uses = r->uses[o->variable];
    o->scalars = vy_arena_alloc(&r->building, MOST_PARAMETERS * sizeof *o->scalars);
    if (!o->scalars) return read_no_memory(r);
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        const uint32_t n = elements(f);
        if (f->first >= MOST_PARAMETERS || n > MOST_PARAMETERS - f->first)
            uses[k] |= READ_IS_INDEXED;
        if (uses[k] & READ_IS_INDEXED) continue;
        for (uint32_t i = 0; i < n; i++)
            if (uses[o->field_count + f->first + i])
                o->scalars[f->first + i] =
                    vy_param_scalar(r->b, element_name(r, o, f, i), vy_type_loaded(f->type));
    }
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        const vy_dim *dims =
            uses[k] & READ_IS_INDEXED && uses[k] & READ_IS_READ ? dims_of(r, f) : NULL;
        if (dims)
            f->buffer = vy_param_buffer(r->b, parameter_name(r, o, f->name), VY_IN, f->type,
                                        rank_of(f), dims);
    }
    return !vy_builder_failed(r->b);
}

// ------------------------------------------------------------------------------- other variables
static bool declare_arrays(reading *r, read_object *o, bool shared)
{
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        const vy_dim *dims = dims_of(r, f);
        if (!dims) return false;
        const vy_type type = f->type == VY_BOOL ? VY_U32 : f->type;
        f->buffer = shared ? vy_shared_array(r->b, f->name, type, rank_of(f), dims)
                           : vy_local_array(r->b, f->name, type, rank_of(f), dims);
    }
    return !vy_builder_failed(r->b);
}

static bool declare_variables(reading *r, read_object *o)
{
    const uint32_t n = read_type_of(r, o->type)->scalars;
    if (n > 1 << 16)
        return read_fail(r, VY_E_SHADER_LIMIT, "", "a variable of an invocation is too large");
    o->vars = vy_arena_alloc(&r->building, (n + 1) * sizeof *o->vars);
    if (!o->vars) return read_no_memory(r);
    for (uint32_t k = 0; k < o->field_count; k++) {
        const read_field *f = &o->fields[k];
        for (uint32_t i = 0; i < elements(f); i++)
            o->vars[f->first + i] =
                vy_var_new(r->b, f->name, vy_zero(r->b, vy_type_loaded(f->type)));
    }
    return !vy_builder_failed(r->b);
}

static bool any_indexed(const reading *r, const read_object *o)
{
    for (uint32_t k = 0; k < o->field_count; k++)
        if (r->uses[o->variable][k] & READ_IS_INDEXED) return true;
    return false;
}

bool read_variable(reading *r, uint32_t id)
{
    const char *name = read_name(r, id);
    read_object *o = make_object(r, id, READ_VARIABLE, *name ? name : "v");
    if (!o) return false;
    if (any_indexed(r, o) ? !declare_arrays(r, o, false) : !declare_variables(r, o)) return false;
    const uint32_t initial = read_word_of(&r->w, id, 4);
    return !initial || read_store_to(r, r->pointers[id], initial);
}

// A variable outside of functions.
static bool global(reading *r, uint32_t id)
{
    const SpvStorageClass storage = (SpvStorageClass)read_word_of(&r->w, id, 3);
    const uint32_t *builtin = read_decoration(r, id, SpvDecorationBuiltIn);
    const uint32_t type = read_type_of(r, read_type_id(r, id))->element;
    const bool block = read_decoration(r, type, SpvDecorationBufferBlock) != NULL;
    read_object *o;
    switch (storage) {
    case SpvStorageClassInput:
        o = make_object(r, id, READ_BUILTIN, "");
        if (o && builtin) o->builtin = (SpvBuiltIn)*builtin;
        return o && (builtin || read_refuse(r, "", "an input that is no built-in variable"));
    case SpvStorageClassPrivate: return read_variable(r, id);
    case SpvStorageClassWorkgroup:
        o = make_object(r, id, READ_SHARED, *read_name(r, id) ? read_name(r, id) : "shared");
        return o && declare_arrays(r, o, true);
    case SpvStorageClassPushConstant:
        o = make_object(r, id, READ_PARAMETER, "");
        return o && declare_parameters(r, o);
    case SpvStorageClassUniform:
    case SpvStorageClassStorageBuffer:
        if (read_type_of(r, type)->op != SpvOpTypeStruct) return true; // refused where it is used
        o = make_object(r, id,
                        block || storage == SpvStorageClassStorageBuffer ? READ_BUFFER
                                                                         : READ_PARAMETER,
                        "");
        return o && (o->kind == READ_BUFFER ? declare_buffers(r, o) : declare_parameters(r, o));
    default: return true; // images and the like: refused where they are used
    }
}

static bool is_parameter(const reading *r, uint32_t at)
{
    const SpvStorageClass storage = (SpvStorageClass)read_word(&r->w, at, 3);
    return storage == SpvStorageClassPushConstant || storage == SpvStorageClassUniform ||
           storage == SpvStorageClassStorageBuffer;
}

// Parameters come first, as in text: passes remove arrays behind them, and those keep their places.
bool read_globals(reading *r)
{
    if (!find_members(r)) return false;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t at = READ_HEADER; at < r->w.functions; at = read_next(&r->w, at)) {
            if (read_op(&r->w, at) != SpvOpVariable || is_parameter(r, at) != (round == 0))
                continue;
            r->at = at;
            if (!global(r, read_word(&r->w, at, 2))) return false;
        }
    return true;
}
