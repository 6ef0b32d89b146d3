// SPDX-License-Identifier: MIT
// values.c: what the ids of a module stand for in the program that is being built.
#include "spirv/read/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 400 }; // constants of constants

vy_value *read_room(reading *r, uint32_t type)
{
    const uint32_t n = read_type_of(r, type)->scalars;
    if (n > READ_MOST_OF_VALUE) {
        read_fail(r, VY_E_SHADER_LIMIT, "access its elements", "a value has more than %u scalars",
                  READ_MOST_OF_VALUE);
        return NULL;
    }
    vy_value *v = vy_arena_alloc(&r->building, (n + 1) * sizeof *v);
    if (!v) read_no_memory(r);
    return v;
}

uint32_t read_scalar_count(reading *r, uint32_t id)
{
    return read_type_of(r, read_type_id(r, id))->scalars;
}

// ---------------------------------------------------------------------------------- not known yet
vy_value read_any(reading *r, vy_type type)
{
    vy_value k = vy_builtin_value(r->b, VY_LINDEX, 0);
    if (type == VY_BOOL) return vy_ne(r->b, k, vy_int(r->b, VY_U32, 0));
    return vy_cast(r->b, vy_type_loaded(type), k);
}

static vy_value note_outlives(reading *r, uint32_t id, vy_type type)
{
    r->noted |= !(r->facts[id] & READ_OUTLIVES);
    r->facts[id] |= READ_OUTLIVES;
    r->outlived[id] |= READ_OUTLIVES;
    return read_any(r, type);
}

// The type of scalar k of a value: structs have several.
static vy_type scalar_type(const reading *r, uint32_t type, uint32_t k)
{
    const read_type *t = read_type_of(r, type);
    while (t->op == SpvOpTypeStruct || t->op == SpvOpTypeArray) {
        uint32_t member = 0;
        if (t->op == SpvOpTypeArray) {
            type = t->element;
            k %= read_type_of(r, type)->scalars ? read_type_of(r, type)->scalars : 1;
        } else {
            for (;; member++) {
                const uint32_t of = read_word_of(&r->w, type, 2 + member);
                const uint32_t n = read_type_of(r, of)->scalars;
                if (k < n || member + 1 >= t->count) break;
                k -= n;
            }
            type = read_word_of(&r->w, type, 2 + member);
        }
        t = read_type_of(r, type);
    }
    return t->scalar;
}

vy_type read_scalar_type(const reading *r, uint32_t type, uint32_t k)
{
    return scalar_type(r, type, k);
}

// -------------------------------------------------------------------------------------- constants
enum { BY_NAME = 1, BY_NUMBER };

// Constant `id` of that SpecId may be the one that option k names.  False: it is another one.
static bool see_constant(reading *r, uint32_t k, uint32_t id, uint32_t number, uint8_t *found)
{
    const char *given = r->options->specs[k].name, *name = read_name(r, id);
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    const uint8_t how = !strcmp(given, text) ? BY_NUMBER : *name && !strcmp(given, name);
    if (how == BY_NAME && found[k] == BY_NAME && r->spec_number[k] != number)
        return read_fail(r, VY_E_SHADER_REQUEST, "give its SpecId in place of the name",
                         "two specialisation constants are called %s: %u and %u", name,
                         r->spec_number[k], number);
    if (how > found[k]) {
        found[k] = how;
        r->spec_number[k] = number;
    }
    return true;
}

bool read_find_constants(reading *r)
{
    const uint32_t count = r->options ? r->options->spec_count : 0;
    uint8_t *found = vy_arena_alloc(&r->building, count + 1);
    r->spec_number = vy_arena_alloc(&r->arena, (count + 1) * sizeof *r->spec_number);
    if (!found || !r->spec_number) return read_no_memory(r);
    r->at = 0; // of no instruction
    for (uint32_t id = 1; id < r->w.bound && count; id++) {
        const uint32_t *number =
            r->note_at[id] ? read_decoration(r, id, SpvDecorationSpecId) : NULL;
        for (uint32_t k = 0; k < count && number; k++)
            if (!see_constant(r, k, id, *number, found)) return false;
    }
    for (uint32_t k = 0; k < count; k++)
        if (!found[k])
            return read_fail(r, VY_E_SHADER_REQUEST,
                             "name one of its constants, or give its SpecId",
                             "it has no specialisation constant %s", r->options->specs[k].name);
    return true;
}

// Hosts give values by number, which several constants may share: that of `local_size_x_id = 0`,
// which has no name, and the one that the shader computes with.
const char *read_specified(const reading *r, uint32_t id)
{
    const uint32_t *number = read_decoration(r, id, SpvDecorationSpecId);
    for (uint32_t k = 0; number && r->options && k < r->options->spec_count; k++) {
        if (r->spec_number[k] == *number) return r->options->specs[k].value;
    }
    return NULL;
}

static vy_scalar literal(const reading *r, vy_type type)
{
    const uint32_t low = read_word(&r->w, r->at, 3), high = read_word(&r->w, r->at, 4);
    const uint64_t bits = low | (uint64_t)high << 32;
    return vy_scalar_read(type, &bits); // narrow literals are in the low bits of a word
}

// A number as the option spells it.
static bool spelled(reading *r, uint32_t id, vy_type type, const char *text, vy_scalar *out)
{
    char *end;
    if (type == VY_BOOL) {
        const bool yes = !strcmp(text, "true") || !strcmp(text, "1");
        out->u = yes;
        if (yes || !strcmp(text, "false") || !strcmp(text, "0")) return true;
    } else if (vy_type_is_float(type)) {
        out->f = vy_round_to(type, strtod(text, &end));
        if (*text && !*end) return true;
    } else {
        out->i =
            vy_type_is_signed(type) ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
        const vy_scalar wrapped = vy_wrap(vy_type_loaded(type), *out);
        if (*text && !*end && wrapped.i == out->i) return true;
    }
    return read_fail(r, VY_E_SHADER_REQUEST, "give a number of its type",
                     "constant %s: `%s` is no %s", read_name(r, id), text, vy_type_name(type));
}

static bool scalar_constant(reading *r, uint32_t id, SpvOp op, vy_type type, vy_value *v)
{
    const bool is_spec =
        op == SpvOpSpecConstant || op == SpvOpSpecConstantTrue || op == SpvOpSpecConstantFalse;
    const char *text = is_spec ? read_specified(r, id) : NULL;
    vy_scalar s = {0};
    if (type == VY_BOOL)
        s.u = op == SpvOpConstantTrue || op == SpvOpSpecConstantTrue;
    else if (op == SpvOpConstant || op == SpvOpSpecConstant)
        s = literal(r, type);
    if (text && !spelled(r, id, type, text, &s)) return false;
    *v = vy_const(r->b, vy_type_loaded(type), s);
    return true;
}

static bool composite_constant(reading *r, uint32_t id, vy_value *v)
{
    const uint32_t at = read_definition(&r->w, id), n = read_scalar_count(r, id);
    uint32_t k = 0;
    for (uint32_t i = 3; i < read_length(&r->w, at); i++) {
        const uint32_t part = read_word(&r->w, at, i), m = read_scalar_count(r, part);
        for (uint32_t j = 0; j < m && k < n; j++) v[k++] = read_scalar(r, part, j);
    }
    return k == n || read_fail(r, VY_E_SHADER_WORDS, "", "a constant lacks parts");
}

// What the constant at r->at is.
static bool make_constant(reading *r, uint32_t id)
{
    const uint32_t type = read_type_id(r, id);
    const SpvOp op = read_op(&r->w, r->at);
    vy_value *v = read_room(r, type);
    const uint32_t n = read_type_of(r, type)->scalars;
    bool ok = v != NULL;
    switch (ok ? op : SpvOpNop) {
    case SpvOpConstantTrue:
    case SpvOpConstantFalse:
    case SpvOpConstant:
    case SpvOpSpecConstantTrue:
    case SpvOpSpecConstantFalse:
    case SpvOpSpecConstant:
        ok = scalar_constant(r, id, op, read_type_of(r, type)->scalar, v);
        break;
    case SpvOpConstantComposite:
    case SpvOpSpecConstantComposite: ok = composite_constant(r, id, v); break;
    case SpvOpConstantNull:
    case SpvOpUndef:
        for (uint32_t k = 0; k < n; k++)
            v[k] = vy_zero(r->b, vy_type_loaded(scalar_type(r, type, k)));
        break;
    case SpvOpSpecConstantOp:
        ok = read_operation(r, (SpvOp)read_word(&r->w, r->at, 3), type,
                            read_length(&r->w, r->at) - 4, &r->w.words[r->at + 4], v);
        break;
    case SpvOpNop: break;
    default: ok = read_fail(r, VY_E_SHADER_WORDS, "", "%s is no value", read_op_name(op));
    }
    return ok && read_define(r, id, n, v);
}

// Defines a constant where it is first used: it is then the same value everywhere.  One that
// consists of itself is the deepest.
static bool define_constant(reading *r, uint32_t id)
{
    const uint32_t before = r->at;
    r->at = read_definition(&r->w, id);
    if (r->constants == DEEPEST)
        return read_fail(r, VY_E_SHADER_LIMIT, "", "constants consist of others, more than %d deep",
                         DEEPEST);
    r->constants++;
    const bool ok = make_constant(r, id);
    r->constants--;
    r->at = before;
    return ok;
}

bool read_constant_u32(reading *r, uint32_t id, uint32_t *out)
{
    vy_value v = read_scalar(r, id, 0);
    if (vy_builder_failed(r->b)) return false;
    const vy_scalar *s = vy_id_const(vy_builder_program(r->b), v.id);
    if (!s || !vy_type_is_integer(vy_value_type(r->b, v)))
        return read_fail(r, VY_E_SHADER_WORDS, "", "a constant integer is expected");
    *out = (uint32_t)s->u;
    return true;
}

// ----------------------------------------------------------------------------------------- values
bool read_define(reading *r, uint32_t id, uint32_t n, const vy_value *v)
{
    if (n != read_scalar_count(r, id))
        return read_fail(r, VY_E_SHADER_WORDS, "", "its result is of another type");
    if (!vy_vec_reserve(&r->values, n)) return read_no_memory(r);
    r->value_at[id] = r->values.count + 1;
    for (uint32_t k = 0; k < n; k++) r->values.data[r->values.count++] = v[k];
    for (uint32_t k = 0; k < n && r->kept[id]; k++) vy_set(r->b, r->kept[id][k], v[k]);
    return !vy_builder_failed(r->b);
}

static bool is_constant(SpvOp op)
{
    return (op >= SpvOpConstantTrue && op <= SpvOpSpecConstantOp) || op == SpvOpUndef;
}

vy_value read_scalar(reading *r, uint32_t id, uint32_t k)
{
    const vy_value none = {0};
    if (vy_builder_failed(r->b)) return none;
    const SpvOp op = read_op_of(&r->w, id);
    if (id < r->w.bound && !r->value_at[id] && is_constant(op) && !define_constant(r, id))
        return none;
    if (id >= r->w.bound || k >= read_scalar_count(r, id)) {
        read_fail(r, VY_E_SHADER_WORDS, "", "an operand is no value, or has too few parts");
        return none;
    }
    const bool early = !r->value_at[id] && r->guess && op != SpvOpPhi; // kept by the guess alone
    // Of a block that is not built either, or the module is not valid: no invocation sees it.
    if (!r->value_at[id] && !r->kept[id] && r->unreached)
        return vy_zero(r->b, scalar_type(r, read_type_id(r, id), k));
    if ((!r->value_at[id] && !r->kept[id]) || early) {
        read_fail(r, VY_E_SHADER_WORDS, "", "a value is used before it is computed");
        return none;
    }
    if (r->value_at[id]) {
        const vy_value v = r->values.data[r->value_at[id] - 1 + k];
        if (vy_value_type(r->b, v) != VY_VOID) return v;
        // What does not fold, like a division by zero, is computed in each construct.
        if (is_constant(op))
            return define_constant(r, id) ? r->values.data[r->value_at[id] - 1 + k] : none;
    }
    if (r->kept[id]) {
        r->outlived[id] |= r->facts[id];
        return vy_get(r->b, r->kept[id][k]);
    }
    return note_outlives(r, id, scalar_type(r, read_type_id(r, id), k));
}

// ------------------------------------------------------------------------------------------ types
vy_value read_as(reading *r, vy_type type, vy_value v)
{
    const vy_type from = vy_value_type(r->b, v);
    if (from == type || from == VY_VOID) return v;
    if (vy_type_size(from) == vy_type_size(type) && vy_type_size(type) >= 4)
        return vy_bitcast(r->b, type, v);
    return vy_cast(r->b, type, v);
}

// i8, u8, i16 and u16 are computed with as i32 and u32, and wrap after each operation.
vy_value read_narrow(reading *r, vy_type type, vy_value v)
{
    const uint32_t size = vy_type_size(type);
    const vy_type wide = vy_type_loaded(type);
    if (!vy_type_is_integer(type) || wide == type) return v;
    const vy_value bits = vy_int(r->b, wide, 32 - 8 * (int64_t)size);
    return vy_shr(r->b, vy_shl(r->b, read_as(r, wide, v), bits), bits);
}
