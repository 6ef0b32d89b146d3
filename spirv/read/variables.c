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
#include <string.h>

enum { DEEPEST = 64 };

// ----------------------------------------------------------------------------------------- fields
typedef struct walk {
    reading *r;
    read_object *o;
    uint32_t dims[DEEPEST], strides[DEEPEST], rank, depth, scalars;
    uint32_t vector;                // of which the next scalar is a component: its size; else 0
    uint32_t offset, matrix_stride; // in bytes
    uint32_t start;                 // of the runtime array
    bool row_major, in_matrix;
    const char *path; // the name so far
} walk;

static bool add_field(walk *w, vy_type type)
{
    read_field *f = &w->o->fields[w->o->field_count++];
    uint32_t *dims = vy_arena_alloc(&w->r->building, (2 * w->rank + 1) * sizeof *dims);
    if (!dims) return read_no_memory(w->r);
    *f = (read_field){.type = type, .rank = w->rank, .dims = dims, .name = w->path};
    f->vector = w->vector;
    f->first = w->scalars;
    f->offset = w->offset;
    f->within = w->rank && w->dims[0] == 0 ? w->offset - w->start : 0;
    f->strides = memcpy(dims + w->rank, w->strides, w->rank * sizeof *dims);
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

static uint32_t member_layout(const walk *w, uint32_t type, uint32_t member, SpvDecoration d)
{
    const uint32_t *word = read_member_decoration(w->r, type, member, d);
    return word ? *word : 0;
}

static bool add_members(walk *w, uint32_t type)
{
    const char *before = w->path;
    const uint32_t start = w->offset;
    bool ok = true;
    for (uint32_t k = 0; ok && k < read_type_of(w->r, type)->count; k++) {
        w->path = read_joined(w->r, before, member_name(w, type, k));
        w->offset = start + member_layout(w, type, k, SpvDecorationOffset);
        w->matrix_stride = member_layout(w, type, k, SpvDecorationMatrixStride);
        w->row_major = read_member_decoration(w->r, type, k, SpvDecorationRowMajor) != NULL;
        w->vector = 0;
        ok = add_fields(w, read_word_of(&w->r->w, type, 2 + k));
    }
    w->path = before;
    w->offset = start;
    return ok;
}

// Bytes from one element to the next, where the variable is a block.
static uint32_t stride_of(const walk *w, uint32_t type, const read_type *t)
{
    const uint32_t *word = read_decoration(w->r, type, SpvDecorationArrayStride);
    const uint32_t size = vy_type_size(t->scalar);
    switch (t->op) {
    case SpvOpTypeVector: return w->in_matrix && w->row_major ? w->matrix_stride : size;
    case SpvOpTypeMatrix: return w->row_major ? size : w->matrix_stride;
    default: return word ? *word : 0;
    }
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
    if (t->op == SpvOpTypePointer)
        return read_refuse(w->r, "bind what it points to as a storage buffer",
                           "a pointer to memory (a buffer reference)");
    if (!is_struct && t->op != SpvOpTypeVector && t->op != SpvOpTypeMatrix &&
        t->op != SpvOpTypeArray && t->op != SpvOpTypeRuntimeArray)
        return read_refuse(w->r, "use buffers of numbers, vectors, matrices and structs",
                           read_op_name(t->op));
    w->depth++;
    if (!is_struct) {
        if (w->rank == 0) w->start = w->offset;
        w->strides[w->rank] = stride_of(w, type, t);
        w->dims[w->rank++] = t->count;
    }
    w->in_matrix = t->op == SpvOpTypeMatrix;
    w->vector = read_vector_size(w->r, type);
    const bool ok = is_struct ? add_members(w, type) : add_fields(w, t->element);
    w->rank -= !is_struct;
    w->depth--;
    return ok;
}

// Room for what is noted of a variable, of n fields and scalars.
bool read_make_uses(reading *r, uint32_t id, uint32_t n)
{
    if (!r->uses[id]) r->uses[id] = vy_arena_alloc(&r->arena, n + 1);
    if (!r->now[id]) r->now[id] = vy_arena_alloc(&r->building, n + 1);
    return (r->uses[id] && r->now[id]) || read_no_memory(r);
}

read_object *read_make_object(reading *r, uint32_t id, read_kind kind, const char *path)
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
    if (!read_make_uses(r, id, o->field_count + READ_MOST_SCALARS)) return NULL;
    read_pointer *p = vy_arena_alloc(&r->building, sizeof *p);
    if (!p) return read_no_memory(r), NULL;
    *p = (read_pointer){.object = o, .type = o->type};
    r->objects[id] = o;
    r->pointers[id] = p;
    return o;
}

// ------------------------------------------------------------------------------- other variables
// Several variables of a module may have one name, or none.
static vy_buffer declare_shared(reading *r, const read_field *f, vy_type type, const vy_dim *dims)
{
    const vy_program *p = vy_builder_program(r->b);
    char text[320];
    const char *name = f->name;
    if (!*name)
        name = vy_free_name(p, "shared", "array", text);
    else if (vy_program_find_buffer(p, name).id || vy_program_find_scalar(p, name) != UINT32_MAX)
        name = vy_free_name(p, "shared", name, text);
    return vy_shared_array(r->b, name, type, read_rank(f), dims);
}

static bool declare_arrays(reading *r, read_object *o, bool shared)
{
    for (uint32_t k = 0; k < o->field_count; k++) {
        read_field *f = &o->fields[k];
        const vy_dim *dims = read_dims(r, f);
        if (!dims) return false;
        // What the program has no arrays of is in arrays of words.
        const vy_type loaded = vy_type_loaded(f->type), type = loaded == VY_BOOL ? VY_U32 : loaded;
        f->buffer = shared ? declare_shared(r, f, type, dims)
                           : vy_local_array(r->b, f->name, type, read_rank(f), dims);
        vy_build_vector(r->b, f->buffer, f->vector);
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
        for (uint32_t i = 0; i < read_elements(f); i++) {
            const vy_value zero = vy_zero(r->b, vy_type_loaded(f->type));
            o->vars[f->first + i] =
                vy_var_new(r->b, read_component_name(r, f->name, f->vector, i), zero);
        }
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
    read_object *o = read_make_object(r, id, READ_VARIABLE, *name ? name : "v");
    if (!o) return false;
    if (any_indexed(r, o) ? !declare_arrays(r, o, false) : !declare_variables(r, o)) return false;
    const uint32_t initial = read_word_of(&r->w, id, 4);
    return !initial || read_store_to(r, r->pointers[id], initial);
}

// A variable outside of functions that is no parameter.
static bool global(reading *r, uint32_t id)
{
    const SpvStorageClass storage = (SpvStorageClass)read_word_of(&r->w, id, 3);
    const uint32_t *builtin = read_decoration(r, id, SpvDecorationBuiltIn);
    read_object *o;
    switch (storage) {
    case SpvStorageClassInput:
        o = read_make_object(r, id, READ_BUILTIN, "");
        if (o && builtin) o->builtin = (SpvBuiltIn)*builtin;
        return o && (builtin || read_refuse(r, "", "an input that is no built-in variable"));
    case SpvStorageClassPrivate:
        return (vy_vec_push(&r->privates, id) || read_no_memory(r)) && read_variable(r, id);
    case SpvStorageClassWorkgroup:
        o = read_make_object(r, id, READ_SHARED, read_name(r, id));
        return o && declare_arrays(r, o, true);
    default: return true; // images and the like: refused where they are used
    }
}

// Push constants, uniform blocks, storage buffers and images are; *kind: which.  Arrays of blocks
// are refused where they are used.
static bool is_parameter(const reading *r, uint32_t at, read_kind *kind)
{
    const SpvStorageClass storage = (SpvStorageClass)read_word(&r->w, at, 3);
    const uint32_t type = read_type_of(r, read_word(&r->w, at, 1))->element;
    const bool block = read_decoration(r, type, SpvDecorationBufferBlock) != NULL;
    *kind = block || storage == SpvStorageClassStorageBuffer ? READ_BUFFER : READ_PARAMETER;
    if (storage == SpvStorageClassPushConstant) return true;
    if (storage == SpvStorageClassUniformConstant) {
        *kind = READ_IMAGE;
        return read_is_image(r, type);
    }
    return (storage == SpvStorageClassUniform || storage == SpvStorageClassStorageBuffer) &&
           read_type_of(r, type)->op == SpvOpTypeStruct;
}

// The next variable outside of functions from word `at` on; 0: there is none.
static uint32_t next_variable(const reading *r, uint32_t at)
{
    while (at < r->w.functions && read_op(&r->w, at) != SpvOpVariable) at = read_next(&r->w, at);
    return at < r->w.functions ? at : 0;
}

static bool is_image(const read_object *o)
{
    return o->kind == READ_IMAGE || o->kind == READ_SAMPLER;
}

static bool declare_variable(reading *r, uint32_t n, read_object **list)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < 2 * n; k++) { // images last: their names give way
        read_object *o = list[k % n];
        if (is_image(o) != (k >= n)) continue;
        r->at = read_definition(&r->w, o->variable);
        ok = is_image(o) ? read_declare_images(r, o) : read_declare(r, o);
    }
    return ok;
}

static bool parameters(reading *r)
{
    uint32_t n = 0, at;
    read_kind kind;
    for (at = READ_HEADER; (at = next_variable(r, at)); at = read_next(&r->w, at)) n++;
    read_object **list = vy_arena_alloc(&r->building, (n + 1) * sizeof *list);
    if (!list) return read_no_memory(r);
    n = 0;
    for (at = READ_HEADER; (at = next_variable(r, at)); at = read_next(&r->w, at)) {
        if (!is_parameter(r, at, &kind)) continue;
        r->at = at;
        const uint32_t id = read_word(&r->w, at, 2);
        if (kind == READ_IMAGE ? !read_image_object(r, id, &list[n])
                               : !(list[n] = read_make_object(r, id, kind, "")))
            return false;
        n++;
    }
    bool ok = read_guess(r) && read_aliases(r, n, list);
    return ok && declare_variable(r, n, list);
}

// Parameters come first, as in text: passes remove arrays behind them, and those keep their places.
bool read_globals(reading *r)
{
    read_kind kind;
    if (!read_member_names(r) || !parameters(r)) return false;
    for (uint32_t at = READ_HEADER; (at = next_variable(r, at)); at = read_next(&r->w, at)) {
        if (is_parameter(r, at, &kind)) continue;
        r->at = at;
        if (!global(r, read_word(&r->w, at, 2))) return false;
    }
    return true;
}
