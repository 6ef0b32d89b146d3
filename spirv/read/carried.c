// SPDX-License-Identifier: MIT
// carried.c: the variables that the body of a loop may assign.
//
// A loop carries what its body assigns.  Without a hint it carries all variables there are, and all
// but a few are dropped behind it: quadratic in a shader of many loops.  What is found here may be
// too much, which costs time; too little is an error of the builder, so it is never a wrong value.
#include "spirv/read/reading.h"

#include <stdlib.h>

typedef struct carried {
    reading *r;
    vy_id_vec todo, vars; // blocks to look at; what is found
    bool calls;           // the body has calls, which may assign what is private to the invocation
    bool returns;         // … ends the function
    uint32_t leaves;      // … leaves this block, the outermost of those around the loop; 0: none
} carried;

static bool add(carried *c, uint32_t n, const vy_var *vars)
{
    for (uint32_t k = 0; k < n; k++)
        if (!vy_vec_push(&c->vars, vars[k].id)) return read_no_memory(c->r);
    return true;
}

static bool add_value(carried *c, uint32_t id)
{
    const vy_var *kept = id < c->r->w.bound ? c->r->kept[id] : NULL;
    return !kept || add(c, read_scalar_count(c->r, id), kept);
}

static bool add_object(carried *c, const read_object *o)
{
    if (!o || o->kind != READ_VARIABLE || !o->vars) return true;
    return add(c, read_type_of(c->r, o->type)->scalars, o->vars);
}

// The variable that a pointer leads into.
static bool add_pointer(carried *c, uint32_t id)
{
    const read_words *w = &c->r->w;
    for (uint32_t steps = 0; steps < w->bound; steps++) {
        const SpvOp op = read_op_of(w, id);
        if (op != SpvOpAccessChain && op != SpvOpInBoundsAccessChain && op != SpvOpCopyObject)
            break;
        id = read_word_of(w, id, 3);
    }
    const read_pointer *p = id < w->bound ? c->r->pointers[id] : NULL;
    return !p || add_object(c, p->object);
}

static bool is_pointer(const carried *c, uint32_t id)
{
    return read_type_of(c->r, read_type_id(c->r, id))->op == SpvOpTypePointer;
}

// Operands from number `first` on, through which a call may store; so may Modf and Frexp.
static bool add_pointers(carried *c, uint32_t at, uint32_t first)
{
    for (uint32_t i = first; i < read_length(&c->r->w, at); i++) {
        const uint32_t argument = read_word(&c->r->w, at, i);
        if (is_pointer(c, argument) && !add_pointer(c, argument)) return false;
    }
    return true;
}

static bool add_result(carried *c, uint32_t value) // of the function that is inlined
{
    const vy_var *results = c->r->frame->results;
    return !results || add(c, read_scalar_count(c->r, value), results);
}

// A branch out of the loop into the end of a construct around it clears the flags of what it leaves
// (ir/build/control.c).  One out of the loop alone clears none that the loop would have to carry.
static bool add_exit(carried *c, const read_exit *e)
{
    if (!e->is_loop && (!c->leaves || e->block < c->leaves)) c->leaves = e->block;
    return !e->falls.id || add(c, 1, &e->falls);
}

static bool add_exit_to(carried *c, uint32_t label)
{
    const read_exit *e = read_exit_to(c->r, label);
    return !e || add_exit(c, e);
}

// A branch to a block sets its OpPhi; it is of the body if it leaves no construct.
static bool go_to(carried *c, uint32_t label)
{
    reading *r = c->r;
    const uint32_t start = read_definition(&r->w, label);
    if (read_op_of(&r->w, label) != SpvOpLabel || start >= r->frame->end ||
        start < read_definition(&r->w, r->frame->id))
        return true; // which is an error when it is built
    uint32_t at = read_next(&r->w, start);
    for (; at < r->w.count; at = read_next(&r->w, at)) {
        const SpvOp op = read_op(&r->w, at);
        if (op != SpvOpPhi && op != SpvOpLine && op != SpvOpNoLine) break;
        if (op == SpvOpPhi && !add_value(c, read_word(&r->w, at, 2))) return false;
    }
    if (r->seen[label] == r->seen_now) return true;
    if (read_exit_to(r, label)) return add_exit_to(c, label);
    r->seen[label] = r->seen_now;
    return vy_vec_push(&c->todo, label) || read_no_memory(r);
}

static bool see(carried *c, uint32_t at, SpvOp op)
{
    const read_words *w = &c->r->w;
    switch (op) {
    case SpvOpStore:
    case SpvOpCopyMemory:
    case SpvOpAtomicStore: return add_pointer(c, read_word(w, at, 1));
    case SpvOpExtInst: return add_pointers(c, at, 5) && add_value(c, read_word(w, at, 2));
    case SpvOpFunctionCall:
        c->calls |= !read_library_of(c->r, read_word(w, at, 3));
        return add_pointers(c, at, 4) && add_value(c, read_word(w, at, 2));
    case SpvOpReturn: c->returns = true; return true;
    case SpvOpReturnValue: c->returns = true; return add_result(c, read_word(w, at, 1));
    case SpvOpSelectionMerge: return add_exit_to(c, read_word(w, at, 1)); // it may end there too
    default: break;
    }
    return add_value(c, read_result(w, at)); // 0 is kept by no variable
}

// To where the block branches; the condition and numbers of cases are no blocks.
static bool go_on(carried *c, uint32_t at, SpvOp op)
{
    const read_words *w = &c->r->w;
    const uint32_t n = read_length(w, at), selector = read_word(w, at, 1);
    bool ok = true;
    if (op == SpvOpBranch || op == SpvOpBranchConditional || op == SpvOpLoopMerge)
        return go_to(c, read_word(w, at, 1)) && go_to(c, read_word(w, at, 2)) &&
               (op != SpvOpBranchConditional || go_to(c, read_word(w, at, 3)));
    if (op != SpvOpSwitch) return true;
    const vy_type type = read_scalar_type(c->r, read_type_id(c->r, selector), 0);
    const uint32_t step = vy_type_size(type) == 8 ? 3 : 2;
    for (uint32_t i = 2; ok && i < n; i += step) ok = go_to(c, read_word(w, at, i));
    return ok;
}

static bool see_block(carried *c, uint32_t label)
{
    const read_words *w = &c->r->w;
    bool ok = true;
    for (uint32_t at = read_next(w, read_definition(w, label)); ok && at < w->count;
         at = read_next(w, at)) {
        const SpvOp op = read_op(w, at);
        ok = see(c, at, op);
        ok = ok && go_on(c, at, op);
        if (read_ends_block(op)) break;
    }
    return ok;
}

// What functions that the body calls may assign.
static bool add_privates(carried *c)
{
    const reading *r = c->r;
    for (uint32_t k = 0; c->calls && k < r->privates.count; k++)
        if (!add_object(c, r->objects[r->privates.data[k]])) return false;
    return true;
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool is_sorted(const vy_id_vec *ids)
{
    for (uint32_t k = 1; k < ids->count; k++)
        if (ids->data[k - 1] > ids->data[k]) return false;
    return true;
}

// Most loops assign few: that takes no qsort, which allocates.
static void sort(vy_id_vec *ids)
{
    enum { FEW = 32 };
    for (uint32_t k = 1; k < ids->count && ids->count <= FEW; k++)
        for (uint32_t i = k; i > 0 && ids->data[i - 1] > ids->data[i]; i--) {
            const uint32_t greater = ids->data[i - 1];
            ids->data[i - 1] = ids->data[i];
            ids->data[i] = greater;
        }
    if (!is_sorted(ids)) qsort(ids->data, ids->count, sizeof *ids->data, by_id);
}

static bool make_hint(carried *c, vy_loop_hint *hint)
{
    const uint32_t n = c->vars.count;
    vy_var *vars = vy_arena_alloc(&c->r->building, (n + 1) * sizeof *vars);
    if (!vars) return read_no_memory(c->r);
    sort(&c->vars);
    for (uint32_t k = 0; k < n; k++) vars[k] = (vy_var){c->vars.data[k]};
    *hint = (vy_loop_hint){.vars = vars, .count = n};
    hint->returns = c->returns;
    hint->leaves = c->leaves;
    return true;
}

bool read_carried(reading *r, uint32_t header, vy_loop_hint *hint)
{
    carried c = {.r = r};
    r->seen_now++;
    bool ok = go_to(&c, header);
    while (ok && c.todo.count) ok = see_block(&c, c.todo.data[--c.todo.count]);
    ok = ok && add_privates(&c) && make_hint(&c, hint);
    vy_vec_free(&c.todo);
    vy_vec_free(&c.vars);
    return ok;
}
