// SPDX-License-Identifier: MIT
// tape.c: values that a reverse loop needs and cannot recompute are kept in memory.
//
// The taped values of one type in one loop share a workspace buffer of the result, with one element per
// value, iteration of the loops around them, and invocation:
//
//   @workspace tape9: inout f32[3, T1, T2, N]    3 values; T1, T2 trip counts, outermost first; over(i: N)
//
// so neighbours in a workgroup touch neighbouring words.  The trip counts must be known from the
// parameters, or be bounded by them (`for j in 0..i` inside `for i in 0..n` takes n); where they are
// not, grad refuses with the place of the loop.
#include "bound.h"
#include "reverse.h"

#include <stdio.h>
#include <string.h>

// The CHECKPOINT whose replay records `id`, or 0.
static uint32_t keeper_of(const reverse *r, uint32_t id) { return r->kept[id] - 1; }

// Dimensions of the tape of value `id`; false: no bound, *culprit is the loop.
static bool tape_shape(reverse *r, uint32_t id, vy_dim *dims, uint32_t *rank, uint32_t *culprit)
{
    uint32_t loops[VY_MAX_RANK], n = 0;
    vy_bounds bound = {.p = r->p, .b = r->b, .dims = r->dims, .hints = r->hints};
    for (uint32_t l = r->home[id]; l > keeper_of(r, id); l = r->home[l]) {
        if (n + r->p->overs.count >= VY_MAX_RANK) return false;
        loops[n++] = l;
    }
    *rank = 0;
    while (n-- > 0) {
        *culprit = loops[n];
        dims[*rank] = vy_trip_bound(&bound, loops[n]);
        // `for … break` and `while` count what ran, but a while has no bound at all.
        if (!dims[(*rank)++].id) return false;
    }
    *culprit = 0;
    if (r->p->overs.count == 0) return false;
    for (uint32_t k = 0; k < r->p->overs.count; k++)
        dims[(*rank)++] = r->dims[r->p->overs.data[k].extent.id];
    return true;
}

static void refuse(reverse *r, uint32_t id, uint32_t culprit)
{
    if (culprit)
        vy_reverse_fail(
            r, VY_E_GRAD_UNSUPPORTED, culprit,
            "bound the loop by parameters or buffer lengths (and `if … { break; }`), or "
            "make the values it carries linear",
            "the reverse of this loop must remember a value per iteration, and how often "
            "it runs depends on data");
    else
        vy_reverse_fail(r, VY_E_GRAD_UNSUPPORTED, id, "give the program an `over(…)` domain",
                        "the reverse must remember a value per invocation, and the number of "
                        "invocations of a program without `over` is not known from its parameters");
}

static vy_type kept_type(const reverse *r, uint32_t id)
{
    vy_type type = (vy_type)r->p->insts.data[id].type;
    return type == VY_BOOL ? VY_U32 : type;
}

static bool same_tape(const reverse *r, uint32_t x, uint32_t y)
{
    return r->kept[x] == r->kept[y] && r->home[x] == r->home[y] &&
           kept_type(r, x) == kept_type(r, y);
}

// The end of the values that may share a tape with `first`: those of its loop.
static uint32_t end_of_group(const reverse *r, uint32_t first)
{
    return r->home[first] ? r->s.partner[r->home[first]] : r->p->insts.count;
}

// Declares the tape that `first` and all later values like it share.
static bool declare_group(reverse *r, uint32_t first)
{
    vy_dim dims[VY_MAX_RANK + 1];
    uint32_t rank, culprit = 0, count = 0;
    for (uint32_t id = first; id < end_of_group(r, first); id++) count += same_tape(r, first, id);
    if (!tape_shape(r, first, dims + 1, &rank, &culprit) || rank >= VY_MAX_RANK) {
        refuse(r, first, culprit);
        return false;
    }
    char name[96];
    const char *hint = vy_string(&r->p->module->names, r->p->insts.data[first].name);
    if (count > 1) hint = "";
    snprintf(name, sizeof name, "tape%u%s%.60s", first, *hint ? "_" : "", hint);
    dims[0] = vy_dim_const(r->b, count);
    vy_buffer t = vy_param_buffer(r->b, name, VY_INOUT, kept_type(r, first), rank + (count > 1),
                                  dims + (count == 1));
    vy_buffer_workspace(r->b, t);
    uint32_t slot = 0;
    for (uint32_t id = first; id < end_of_group(r, first); id++) {
        if (!same_tape(r, first, id)) continue;
        r->tape[id] = t.id;
        r->tape_slot[id] = count > 1 ? ++slot : 0;
    }
    return true;
}

bool vy_tape_declare(reverse *r)
{
    memset(r->tape, 0, r->p->insts.count * sizeof *r->tape);
    for (uint32_t id = 1; id < r->p->insts.count; id++)
        if (r->kept[id] && !r->tape[id] && !declare_group(r, id)) return false;
    return !vy_builder_failed(r->b);
}

// The element of the current iteration and invocation.
static uint32_t tape_index(reverse *r, uint32_t id, uint32_t *index)
{
    const vy_program *p = r->p;
    uint32_t loops[VY_MAX_RANK], n = 0, rank = 0;
    if (r->tape_slot[id]) index[rank++] = vy_int(r->b, VY_U32, r->tape_slot[id] - 1).id;
    for (uint32_t l = r->home[id]; l > keeper_of(r, id); l = r->home[l]) loops[n++] = l;
    while (n-- > 0) {
        uint32_t l = loops[n], k = r->map[l], from = vy_primal(r, vy_arg(p, l, 0));
        uint32_t step = vy_primal(r, vy_arg(p, l, 2));
        vy_type type = (vy_type)p->insts.data[l].type;
        k = vy_emit(r->b, VY_OP_SUB, type, 0, 2, (uint32_t[]){k, from});
        index[rank++] = vy_emit(r->b, VY_OP_DIV, type, 0, 2, (uint32_t[]){k, step});
    }
    for (uint32_t k = 0; k < p->overs.count; k++)
        index[rank++] = vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0);
    return rank;
}

void vy_tape_record(reverse *r, uint32_t id)
{
    if (!r->kept[id] || keeper_of(r, id) != r->replaying) return;
    uint32_t args[VY_MAX_RANK + 2], rank = tape_index(r, id, args), value = r->map[id];
    if (r->p->insts.data[id].type == VY_BOOL) value = vy_cast(r->b, VY_U32, (vy_value){value}).id;
    args[rank] = value;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->tape[id], rank + 1, args);
}

uint32_t vy_tape_load(reverse *r, uint32_t id)
{
    uint32_t root = r->replaying;
    if (!r->kept[id] || !root || !vy_encloses(r, keeper_of(r, id), root)) return 0;
    uint32_t args[VY_MAX_RANK + 1], rank = tape_index(r, id, args);
    vy_type type = (vy_type)r->p->insts.data[id].type, kept = kept_type(r, id);
    uint32_t value = vy_emit(r->b, VY_OP_LOAD, kept, r->tape[id], rank, args);
    return type == VY_BOOL ? vy_cast(r->b, VY_BOOL, (vy_value){value}).id : value;
}
