// SPDX-License-Identifier: MIT
// types.c: what is declared before the first function: names, decorations, types.
#include "spirv/read/reading.h"

enum { MOST_SCALARS = 1 << 16 }; // of one value

// ------------------------------------------------------------------------------------------- notes
static bool add_note(reading *r, uint32_t id, uint32_t at)
{
    if (id == 0 || id >= r->w.bound) return true;
    const read_note n = {at, r->note_at[id]};
    if (!vy_vec_push(&r->notes, n)) return read_no_memory(r);
    r->note_at[id] = r->notes.count;
    return true;
}

bool read_take_notes(reading *r)
{
    const read_words *w = &r->w;
    r->note_at = vy_arena_alloc(&r->arena, (w->bound + 1) * sizeof *r->note_at);
    if (!r->note_at) return false;
    for (uint32_t at = READ_HEADER; at < w->functions; at = read_next(w, at)) {
        const SpvOp op = read_op(w, at);
        const bool of_id = op == SpvOpName || op == SpvOpMemberName || op == SpvOpDecorate ||
                           op == SpvOpMemberDecorate || op == SpvOpExecutionMode;
        if (of_id && !add_note(r, read_word(w, at, 1), at)) return false;
    }
    return true;
}

const uint32_t *read_decoration(const reading *r, uint32_t id, SpvDecoration d)
{
    if (id >= r->w.bound) return NULL;
    for (uint32_t k = r->note_at[id]; k; k = r->notes.data[k - 1].next) {
        const uint32_t at = r->notes.data[k - 1].at;
        if (read_op(&r->w, at) != SpvOpDecorate || read_word(&r->w, at, 2) != (uint32_t)d) continue;
        return read_length(&r->w, at) > 3 ? &r->w.words[at + 3] : &r->w.words[at + 2];
    }
    return NULL;
}

const uint32_t *read_member_decoration(const reading *r, uint32_t id, uint32_t member,
                                       SpvDecoration d)
{
    if (id >= r->w.bound) return NULL;
    for (uint32_t k = r->note_at[id]; k; k = r->notes.data[k - 1].next) {
        const uint32_t at = r->notes.data[k - 1].at;
        if (read_op(&r->w, at) != SpvOpMemberDecorate || read_word(&r->w, at, 2) != member ||
            read_word(&r->w, at, 3) != (uint32_t)d)
            continue;
        return read_length(&r->w, at) > 4 ? &r->w.words[at + 4] : &r->w.words[at + 3];
    }
    return NULL;
}

const char *read_name(const reading *r, uint32_t id)
{
    if (id >= r->w.bound) return "";
    for (uint32_t k = r->note_at[id]; k; k = r->notes.data[k - 1].next)
        if (read_op(&r->w, r->notes.data[k - 1].at) == SpvOpName)
            return read_string(&r->w, r->notes.data[k - 1].at, 2);
    return "";
}

const char *read_member_name(const reading *r, uint32_t id, uint32_t member)
{
    if (id >= r->w.bound) return "";
    for (uint32_t k = r->note_at[id]; k; k = r->notes.data[k - 1].next) {
        const uint32_t at = r->notes.data[k - 1].at;
        if (read_op(&r->w, at) == SpvOpMemberName && read_word(&r->w, at, 2) == member)
            return read_string(&r->w, at, 3);
    }
    return "";
}

// ------------------------------------------------------------------------------------------- types
// Of ids beyond the bound.
const read_type read_no_type;

static vy_type integer(uint32_t bits, bool is_signed)
{
    switch (bits) {
    case 8: return is_signed ? VY_I8 : VY_U8;
    case 16: return is_signed ? VY_I16 : VY_U16;
    case 32: return is_signed ? VY_I32 : VY_U32;
    case 64: return is_signed ? VY_I64 : VY_U64;
    default: return VY_VOID;
    }
}

static vy_type floating(uint32_t bits)
{
    return bits == 16 ? VY_F16 : bits == 32 ? VY_F32 : bits == 64 ? VY_F64 : VY_VOID;
}

static void scalar(read_type *t, vy_type type)
{
    t->scalar = type;
    t->scalars = t->fields = type != VY_VOID;
}

// A type consists of types before it: of itself, or of later ones, pointers alone may be.
static bool is_defined(reading *r, const read_type *part)
{
    return part->op != SpvOpNop ||
           read_fail(r, VY_E_SHADER_WORDS, "", "it consists of a type that is not defined");
}

// Of a vector, matrix or array; count 0: a runtime array, which has no values.
static bool several(reading *r, read_type *t, uint32_t element, uint32_t count)
{
    const read_type *e = read_type_of(r, element);
    t->element = element;
    t->count = count;
    t->scalar = e->scalar;
    t->fields = e->fields;
    uint32_t n;
    if (__builtin_mul_overflow(e->scalars, count, &n)) n = UINT32_MAX;
    t->scalars = n;
    return is_defined(r, e);
}

static bool structure(reading *r, read_type *t)
{
    t->count = read_length(&r->w, r->at) - 2;
    bool values = true;
    for (uint32_t k = 0; k < t->count; k++) {
        const read_type *e = read_type_of(r, read_word(&r->w, r->at, 2 + k));
        if (!is_defined(r, e)) return false;
        values &= e->scalars != 0;
        if (__builtin_add_overflow(t->scalars, e->scalars, &t->scalars) ||
            __builtin_add_overflow(t->fields, e->fields, &t->fields) || t->fields > MOST_SCALARS)
            return read_fail(r, VY_E_SHADER_LIMIT, "", "a struct has more than %u members",
                             MOST_SCALARS);
    }
    if (!values) t->scalars = 0;
    return true;
}

// What a type has beside its operation.
static bool describe(reading *r, SpvOp op, read_type *t)
{
    const uint32_t a = read_word(&r->w, r->at, 2), b = read_word(&r->w, r->at, 3);
    switch (op) {
    case SpvOpTypeBool: scalar(t, VY_BOOL); return true;
    case SpvOpTypeInt: scalar(t, integer(a, b != 0)); return true;
    case SpvOpTypeFloat: scalar(t, floating(a)); return true;
    case SpvOpTypeVector:
    case SpvOpTypeMatrix: return several(r, t, a, b);
    case SpvOpTypeArray: {
        uint32_t n = 0;
        return read_constant_u32(r, b, &n) && several(r, t, a, n);
    }
    case SpvOpTypeRuntimeArray: return several(r, t, a, 0);
    case SpvOpTypeStruct: return structure(r, t);
    case SpvOpTypePointer:
        t->storage = (SpvStorageClass)a;
        t->element = b;
        return true;
    default: return true; // an error where something of it is used
    }
}

static bool define(reading *r, SpvOp op, uint32_t id)
{
    read_type t = {0}; // not defined before all of it is
    if (!describe(r, op, &t)) return false;
    t.op = op;
    r->types[id] = t;
    return true;
}

// A pointer that structs before its type have as a member: to memory, of which nothing is read.
static void announce(reading *r, uint32_t id)
{
    if (id >= r->w.bound || r->types[id].op != SpvOpNop) return;
    r->types[id] = (read_type){.op = SpvOpTypePointer};
    r->types[id].storage = (SpvStorageClass)read_word(&r->w, r->at, 2);
}

bool read_declarations(reading *r)
{
    if (!read_find_constants(r)) return false;
    for (r->at = READ_HEADER; r->at < r->w.functions; r->at = read_next(&r->w, r->at)) {
        const SpvOp op = read_op(&r->w, r->at);
        bool result, type;
        if (op == SpvOpTypeForwardPointer) announce(r, read_word(&r->w, r->at, 1));
        read_has_result(op, &result, &type);
        if (result && !type && op >= SpvOpTypeVoid && op <= SpvOpTypePipe &&
            !define(r, op, read_word(&r->w, r->at, 1)))
            return false;
    }
    return true;
}
