// SPDX-License-Identifier: MIT
// api_memory.c: the building functions of vyre.h that access buffers: loads, stores, atomics,
// lengths, and the barrier.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <string.h>

static const vy_value none = {0};

static bool buffer_ok(vy_builder *b, const char *what, vy_buffer buf)
{
    if (vy_builder_failed(b)) return false;
    if (buf.id && buf.id < b->p->buffers.count) return true;
    vy_build_fail(b, VY_E_API, "%s: no such buffer", what);
    return false;
}

vy_value vy_len(vy_builder *b, vy_buffer buf, uint32_t axis)
{
    if (!buffer_ok(b, "len", buf)) return none;
    if (axis < b->p->buffers.data[buf.id].rank) return (vy_value){vy_extent_leaf(b, buf.id, axis)};
    vy_build_fail(b, VY_E_API, "len: buffer `%s` has no axis %u", b->p->buffers.data[buf.id].name,
                  axis);
    return none;
}

// Emits a memory operation: indices, then values that must have the buffer's (loaded) type.
static uint32_t memory_op(vy_builder *b, vy_op op, vy_type result, vy_buffer buf,
                          const vy_value *index, uint32_t nvalues, const vy_value *values)
{
    const char *what = vy_op_infos[op].text;
    if (!buffer_ok(b, what, buf)) return 0;
    const vy_buf *info = &b->p->buffers.data[buf.id];
    uint32_t rank = info->rank, args[VY_MAX_RANK + 2];
    if (!vy_usable(b, what, rank, index) || !vy_usable(b, what, nvalues, values)) return 0;
    for (uint32_t i = 0; i < rank; i++) {
        args[i] = index[i].id;
        if (vy_rule_type(VY_RULE_I, vy_id_type(b->p, args[i]))) continue;
        vy_build_fail(b, VY_E_API, "%s: index %u of `%s` is not an integer", what, i, info->name);
        return 0;
    }
    for (uint32_t i = 0; i < nvalues; i++) {
        args[rank + i] = values[i].id;
        if (vy_id_type(b->p, values[i].id) == vy_type_loaded(info->type)) continue;
        vy_build_fail(b, VY_E_API, "%s: `%s` holds %s, not %s", what, info->name,
                      vy_type_name(info->type), vy_type_name(vy_id_type(b->p, values[i].id)));
        return 0;
    }
    return vy_emit(b, op, result, buf.id, rank + nvalues, args);
}

vy_value vy_load(vy_builder *b, vy_buffer buf, const vy_value *index)
{
    if (!buffer_ok(b, "load", buf)) return none;
    vy_type t = vy_type_loaded(b->p->buffers.data[buf.id].type);
    return (vy_value){memory_op(b, VY_OP_LOAD, t, buf, index, 0, NULL)};
}

void vy_store(vy_builder *b, vy_buffer buf, const vy_value *index, vy_value value)
{
    memory_op(b, VY_OP_STORE, VY_VOID, buf, index, 1, &value);
}

vy_value vy_atomic(vy_builder *b, const char *op, vy_buffer buf, const vy_value *index,
                   vy_value value)
{
    static const struct {
        const char *name;
        vy_op op;
    } names[] = {{"add", VY_OP_ATOMIC_ADD}, {"sub", VY_OP_ATOMIC_ADD},
                 {"min", VY_OP_ATOMIC_MIN}, {"max", VY_OP_ATOMIC_MAX},
                 {"and", VY_OP_ATOMIC_AND}, {"or", VY_OP_ATOMIC_OR},
                 {"xor", VY_OP_ATOMIC_XOR}, {"exchange", VY_OP_ATOMIC_EXCHANGE}};
    if (!buffer_ok(b, "atomic", buf)) return none;
    vy_type t = b->p->buffers.data[buf.id].type;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, op) != 0) continue;
        // x − v is x + (−v), for wrapping integers and for floats
        if (i == 1) value = vy_neg(b, value);
        return (vy_value){memory_op(b, names[i].op, t, buf, index, 1, &value)};
    }
    vy_build_fail(b, VY_E_API, "there is no atomic `%s`", op);
    return none;
}

vy_value vy_atomic_cas(vy_builder *b, vy_buffer buf, const vy_value *index, vy_value expected,
                       vy_value value)
{
    if (!buffer_ok(b, "atomic_cas", buf)) return none;
    vy_value values[2] = {expected, value};
    return (vy_value){
        memory_op(b, VY_OP_ATOMIC_CAS, b->p->buffers.data[buf.id].type, buf, index, 2, values)};
}

void vy_barrier(vy_builder *b)
{
    if (!vy_builder_failed(b)) vy_emit(b, VY_OP_BARRIER, VY_VOID, 0, 0, NULL);
}
