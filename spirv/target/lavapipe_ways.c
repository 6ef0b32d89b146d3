// SPDX-License-Identifier: MIT
// lavapipe_ways.c: indices whose operands llvmpipe would visit for ever (the quirk many_ways).
//
//   h = h ^ (h >> 15);  h = h * C;  h = h ^ (h >> 13);    twelve times, on a scalar, then x[h % N]
//
// llvmpipe checks whether each index is the same in all lanes by visiting its operands recursively,
// without remembering which it has visited (nir_src_is_dynamically_uniform of Mesa 22.3): once for
// each path ("way") through the expression, 4¹² here, and practically for ever with a few more
// rounds.  It stops at the first operand that is not uniform.  So an index with many such paths
// gets one that no optimiser can see through: a 0 computed from the lane's own number.
//
// Paths are counted through constants, scalars and values computed from them, also via local
// arrays; a load from a buffer, or a value carried by a loop of many iterations, ends a path.
// Functions are bodies of the library, in which an argument occurs many times.
#include "spirv/target/target.h"

#include "ir/core/flow.h"

#include <string.h>

#define MANY (UINT64_C(1) << 16)
enum { IN_FUNCTION = 200, IN_SEQUENCE = 4, MAX_UNROLLED = 128 };

typedef struct ways {
    const vy_program *p;
    vy_structure s;
    // By instruction: paths up to the first operand that differs between lanes; at most MANY.
    uint64_t *count;
    bool *same; // computed from constants and scalars alone
    // By buffer: paths through its elements, if it is a local array (drivers turn these to values).
    uint64_t *held;
    bool again; // in the second pass
} ways;

static uint64_t limited(uint64_t n) { return n < MANY ? n : MANY; }

static bool is_same(const ways *w, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return w->same[id];
    const vy_leaf_kind kind = (vy_leaf_kind)w->p->leaves.data[VY_LEAF_INDEX(id)].kind;
    return kind == VY_LEAF_CONST || kind == VY_LEAF_SCALAR || kind == VY_LEAF_LEN;
}

static uint64_t count_of(const ways *w, uint32_t id) { return VY_IS_LEAF(id) ? 1 : w->count[id]; }

static void add_operand(ways *w, uint32_t id, uint32_t operand, uint64_t times)
{
    if (!w->same[id]) return;
    w->count[id] = limited(w->count[id] + times * count_of(w, operand));
    w->same[id] = is_same(w, operand);
}

static void of_operation(ways *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    w->count[id] = 1;
    w->same[id] = vy_op_infos[op].effect == VY_PURE;
    const uint64_t times = vy_op_is_function(op)                                    ? IN_FUNCTION
                           : op == VY_OP_DIV || op == VY_OP_REM || op == VY_OP_CAST ? IN_SEQUENCE
                                                                                    : 1;
    for (uint32_t k = 0; k < i->nargs; k++) add_operand(w, id, vy_arg(w->p, id, k), times);
}

// A store in a loop may add paths in each iteration: a count that has grown since the first pass is
// unbounded.
static void of_local(ways *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    const uint32_t b = i->aux, rank = w->p->buffers.data[b].rank;
    w->count[id] = limited(1 + w->held[b]);
    w->same[id] = i->op == VY_OP_LOAD;
    if (i->op != VY_OP_STORE) return;
    const uint32_t value = vy_arg(w->p, id, rank);
    const uint64_t n = is_same(w, value) ? count_of(w, value) : 1;
    if (n > w->held[b]) w->held[b] = w->again ? MANY : n;
}

// Iterations of a loop that a driver may unroll; 0: it does not.
static uint64_t iterations_of(const ways *w, uint32_t loop)
{
    uint64_t n;
    if (vy_exits(w->p, loop) || !vy_constant_trips(w->p, loop, &n)) return 0;
    return n <= MAX_UNROLLED ? n : 0;
}

// Paths after n iterations in each of which the carried value occurs `each` times.
static uint64_t after_iterations(uint64_t first, uint64_t each, uint64_t n)
{
    while (n-- && first < MANY) first = limited(first * each);
    return first;
}

static void of_result(ways *w, uint32_t id)
{
    const uint32_t opener = vy_opener(w->p, &w->s, id);
    const vy_op op = (vy_op)w->p->insts.data[opener].op;
    uint32_t from[3], sources = vy_slot_sources(w->p, &w->s, id, from);
    w->count[id] = 1;
    w->same[id] = true;
    if (vy_is_loop(op)) {
        const uint64_t n = iterations_of(w, opener);
        w->same[id] = n && is_same(w, from[1]) && is_same(w, from[0]);
        if (w->same[id])
            w->count[id] = after_iterations(count_of(w, from[0]), count_of(w, from[1]), n);
        return;
    }
    if (op == VY_OP_IF) add_operand(w, id, vy_arg(w->p, opener, 0), 1);
    for (uint32_t k = 0; k < sources; k++) add_operand(w, id, from[k], 1);
}

// In the first pass a carried value is one path; in the second it has the paths of its result.
static void of_carry(ways *w, uint32_t id)
{
    const uint32_t loop = vy_arg(w->p, id, 0), k = w->p->insts.data[id].aux;
    const uint32_t result = vy_result(w->p, &w->s, loop, k);
    const bool unrolled = iterations_of(w, loop) != 0;
    w->same[id] = unrolled && is_same(w, vy_slot_init(w->p, loop, k));
    w->count[id] = w->again && w->same[id] ? w->count[result] : 1;
}

static bool is_local(const ways *w, const vy_inst *i)
{
    return vy_op_is_memory((vy_op)i->op) && w->p->buffers.data[i->aux].cls == VY_LOCAL;
}

static void pass(ways *w)
{
    for (uint32_t id = 1; id < w->p->insts.count; id++) {
        const vy_op op = (vy_op)w->p->insts.data[id].op;
        if (op == VY_OP_CARRY)
            of_carry(w, id);
        else if (op == VY_OP_RESULT)
            of_result(w, id);
        else if (op == VY_OP_LOOP)
            w->count[id] = 1, w->same[id] = iterations_of(w, id) != 0;
        else if (is_local(w, &w->p->insts.data[id]))
            of_local(w, id);
        else
            of_operation(w, id);
    }
}

bool *vy_lavapipe_ways(const vy_program *p)
{
    const uint32_t n = p->insts.count;
    ways w = {.p = p};
    w.count = vy_realloc(NULL, n * sizeof *w.count);
    w.same = vy_realloc(NULL, n * sizeof *w.same);
    bool *many = vy_realloc(NULL, n * sizeof *many);
    w.held = vy_realloc(NULL, p->buffers.count * sizeof *w.held);
    const bool ok = w.count && w.same && w.held && many && vy_structure_make(p, &w.s);
    if (ok) {
        w.count[0] = 1, w.same[0] = false;
        memset(w.held, 0, p->buffers.count * sizeof *w.held);
        pass(&w);
        w.again = true;
        pass(&w);
        for (uint32_t id = 0; id < n; id++) many[id] = w.count[id] >= MANY;
    } else {
        vy_free(many);
        many = NULL;
    }
    vy_structure_free(&w.s);
    vy_free(w.count);
    vy_free(w.same);
    vy_free(w.held);
    return many;
}

static bool has_many(vy_fn *f, uint32_t i)
{
    const uint32_t rank = f->p->buffers.data[f->p->insts.data[i].aux].rank;
    for (uint32_t k = 0; k < rank; k++) {
        const uint32_t id = vy_arg(f->p, i, k);
        if (VY_IS_LEAF(id)) continue;
        if (!f->target.many) f->target.many = vy_lavapipe_ways(f->p);
        if (!f->target.many) f->m->oom = true;
        if (f->target.many && f->target.many[id]) return true;
    }
    return false;
}

// An equal address that the driver neither takes for uniform nor looks into.
uint32_t vy_lavapipe_address(vy_fn *f, uint32_t i, uint32_t address)
{
    if (!has_many(f, i)) return address;
    const uint32_t bits = vy_spv_u32(f->m, 31);
    const uint32_t zero = vy_u32_op(f, SpvOpShiftRightLogical, vy_lindex(f), bits);
    return vy_u32_op(f, SpvOpIAdd, zero, address);
}
