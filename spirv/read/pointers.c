// SPDX-License-Identifier: MIT
// pointers.c: what pointers stand for.
//
// A pointer is a variable, a field and indices along its axes; it is followed while reading and is
// nothing in the program.
#include "spirv/read/reading.h"

// Indices that a construct has computed are found out anew behind it: values that outlive it.
static read_pointer *revived(reading *r, read_pointer *p)
{
    for (uint32_t k = 0; k < p->rank && !r->guessing; k++) {
        read_index *x = &p->index[k];
        if (!x->known && x->id && vy_value_type(r->b, x->value) == VY_VOID)
            x->value = read_scalar(r, x->id, 0);
    }
    return p;
}

read_pointer *read_pointer_of(reading *r, uint32_t id)
{
    if (id < r->w.bound && r->pointers[id]) return revived(r, r->pointers[id]);
    const SpvOp op = read_op_of(&r->w, id);
    if (op == SpvOpPhi || op == SpvOpSelect)
        read_refuse(r, "access the buffers in each arm", "a pointer that is chosen when it runs");
    else if (op == SpvOpVariable)
        read_refuse(r, "use storage buffers, uniform blocks and push constants of numbers",
                    "a variable of this kind (an array of blocks, a ray tracing structure)");
    else
        read_fail(r, VY_E_SHADER_WORDS, "", "an operand is no pointer");
    return NULL;
}

static read_index index_of(reading *r, uint32_t id)
{
    if (r->guessing)
        return (read_index){.known = read_op_of(&r->w, id) == SpvOpConstant,
                            .number = read_word_of(&r->w, id, 3)};
    const vy_value v = read_scalar(r, id, 0);
    const vy_scalar *s =
        vy_builder_failed(r->b) ? NULL : vy_id_const(vy_builder_program(r->b), v.id);
    if (s && (s->i < 0 || s->i > UINT32_MAX)) s = NULL; // out of range, which is known when it runs
    return (read_index){.known = s != NULL, .number = s ? (uint32_t)s->u : 0, .value = v, .id = id};
}

// Steps into member or element `id` of what the pointer points to.
static bool step(reading *r, read_pointer *p, read_index *axes, uint32_t id)
{
    const read_type *t = read_type_of(r, p->type);
    const read_index k = index_of(r, id);
    if (vy_builder_failed(r->b)) return false;
    if (t->op != SpvOpTypeStruct) {
        if (!t->element || p->rank == READ_MOST_AXES)
            return read_fail(r, VY_E_SHADER_WORDS, "", "an index into what has no elements");
        axes[p->rank++] = k;
        p->type = t->element;
        return true;
    }
    if (!k.known || k.number >= t->count)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a member that the struct has not");
    for (uint32_t i = 0; i < k.number; i++)
        p->field += read_type_of(r, read_word_of(&r->w, p->type, 2 + i))->fields;
    p->type = read_word_of(&r->w, p->type, 2 + k.number);
    return true;
}

bool read_access_chain(reading *r)
{
    const uint32_t at = r->at, id = read_word(&r->w, at, 2);
    const read_pointer *base = read_pointer_of(r, read_word(&r->w, at, 3));
    if (!base) return false;
    read_pointer *p = vy_arena_alloc(&r->building, sizeof *p);
    const uint32_t most = base->rank + read_length(&r->w, at);
    read_index *axes = vy_arena_alloc(&r->building, most * sizeof *axes);
    if (!p || !axes) return read_no_memory(r);
    *p = *base;
    for (uint32_t k = 0; k < base->rank; k++) axes[k] = base->index[k];
    p->index = axes;
    for (uint32_t i = 4; i < read_length(&r->w, at); i++)
        if (!step(r, p, axes, read_word(&r->w, at, i))) return false;
    r->pointers[id] = p;
    return true;
}
