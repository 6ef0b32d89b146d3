// SPDX-License-Identifier: MIT
// instruction.c: one instruction of a block, by what it is.
#include "spirv/read/reading.h"

#include <string.h>

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

// type, result, set, number of the instruction, operands
static bool extended(reading *r)
{
    const uint32_t at = read_definition(&r->w, word(r, 3)), n = read_length(&r->w, r->at);
    const char *set = at ? read_string(&r->w, at, 2) : "";
    if (!strncmp(set, "NonSemantic.", 12) || !strcmp(set, "OpenCL.DebugInfo.100")) return true;
    if (strcmp(set, "GLSL.std.450"))
        return read_refuse(r, "use the functions of GLSL", "a function of another set");
    vy_value *v = read_room(r, word(r, 1));
    return v && read_extended(r, word(r, 4), word(r, 1), n - 5, &r->w.words[r->at + 5], v) &&
           read_define(r, word(r, 2), read_type_of(r, word(r, 1))->scalars, v);
}

static bool undefined(reading *r) // zero: as good as any
{
    const uint32_t type = word(r, 1), n = read_type_of(r, type)->scalars;
    vy_value *v = read_room(r, type);
    for (uint32_t k = 0; v && k < n; k++)
        v[k] = vy_zero(r->b, vy_type_loaded(read_scalar_type(r, type, k)));
    return v && read_define(r, word(r, 2), n, v);
}

static bool is_pointer(const reading *r, uint32_t type)
{
    return read_type_of(r, type)->op == SpvOpTypePointer || read_is_image(r, type);
}

// Makes a pointer of a number: a buffer reference.
static bool is_address(SpvOp op) { return op == SpvOpConvertUToPtr || op == SpvOpBitcast; }

// type, result, operands
static bool operation(reading *r, SpvOp op)
{
    const uint32_t type = word(r, 1), n = read_length(&r->w, r->at);
    if (op == SpvOpCopyObject && is_pointer(r, type)) {
        r->pointers[word(r, 2)] = read_pointer_of(r, word(r, 3));
        return r->pointers[word(r, 2)] != NULL;
    }
    if (op == SpvOpConvertPtrToU || (is_address(op) && is_pointer(r, type)))
        return read_refuse(r, "bind what it points to as a storage buffer",
                           "a pointer to memory (a buffer reference)");
    if (!read_result(&r->w, r->at) || !read_type_of(r, type)->scalars)
        return read_refuse(r, "leave it out, or give a variant without it", read_op_name(op));
    vy_value *v = read_room(r, type);
    return v && read_operation(r, op, type, n - 3, &r->w.words[r->at + 3], v) &&
           read_define(r, word(r, 2), read_type_of(r, type)->scalars, v);
}

// type, result, pointer, …
static bool atomic_load(reading *r)
{
    const read_pointer *p = read_pointer_of(r, word(r, 3));
    vy_value *v = p ? read_room(r, p->type) : NULL;
    return v && read_load_from(r, p, v) &&
           read_define(r, word(r, 2), read_type_of(r, p->type)->scalars, v);
}

static bool atomic_store(reading *r)
{
    const read_pointer *p = read_pointer_of(r, word(r, 1));
    return p && read_store_to(r, p, word(r, 4));
}

bool read_instruction(reading *r)
{
    const SpvOp op = read_op(&r->w, r->at);
    bool mine;
    switch (op) {
    case SpvOpLine:
        r->line = word(r, 1) == r->source ? word(r, 2) : 0;
        r->column = r->line ? word(r, 3) : 0;
        vy_at(r->b, r->line, r->column);
        return true;
    case SpvOpNop:
    case SpvOpNoLine: return true;
    case SpvOpVariable: return read_variable(r, word(r, 2));
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: return read_access_chain(r);
    case SpvOpLoad: return read_load(r);
    case SpvOpStore: return read_store(r);
    case SpvOpCopyMemory: return read_copy(r);
    case SpvOpAtomicLoad: return atomic_load(r);
    case SpvOpAtomicStore: return atomic_store(r);
    case SpvOpArrayLength: return read_array_length(r);
    case SpvOpFunctionCall: return read_call(r);
    case SpvOpExtInst: return extended(r);
    case SpvOpUndef: return undefined(r);
    default: break;
    }
    if (!read_sample(r, op, &mine)) return false;
    if (mine) return true;
    if (!read_image(r, op, &mine)) return false;
    if (mine) return true;
    if (!read_sync(r, &mine)) return false;
    return mine || operation(r, op);
}
