// SPDX-License-Identifier: MIT
// tape.c: values that a reverse loop needs and cannot recompute are kept in memory.
//
// The taped values of one type in one loop share a workspace buffer of the result, with one element per
// value, iteration of the loops around them, and invocation:
//
//   @workspace tape9: inout f32[3, T1, T2, N]    3 values; T1, T2 trip counts, outermost first; over(i: N)
//
// so neighbours in a workgroup touch neighbouring words.  The trip counts follow from the parameters, or
// are bounded by them (`for j in 0..i` inside `for i in 0..n` takes n).  Where the data decide, the
// innermost such loop is counted through (counter.h): 32 invocations in a row share a block of rows,
//
//   tape9: inout f32[rows1, T3, 3, 32]           rows1 = Σ over blocks of the largest count in the block
//
// and `base`, where the block's rows begin, comes from programs that run before (pipeline.c).
#include "counter.h"
#include "reverse.h"

#include <stdio.h>
#include <string.h>

// The CHECKPOINT whose replay records `id`, or 0.
static uint32_t keeper_of(const reverse *r, uint32_t id) { return r->kept[id] - 1; }

// ----------------------------------------------------------------------------------------- counters
// The counter of the innermost loop around `id`, inside what records it, that has no bound; or NULL.
static vy_counter *counter_of(const reverse *r, uint32_t id)
{
    for (uint32_t l = r->home[id]; l > keeper_of(r, id); l = r->home[l]) {
        uint32_t k = r->counter[l];
        if (!k) continue;
        for (; r->counters.data[k - 1].context != keeper_of(r, id); k++) continue;
        return &r->counters.data[k - 1]; // each loop has one for every context around it
    }
    return NULL;
}

static vy_dim invocations(reverse *r)
{
    vy_dim n = vy_dim_const(r->b, 1), zero = vy_dim_const(r->b, 0);
    for (uint32_t k = 0; k < r->p->overs.count; k++) {
        vy_dim e = r->dims[r->p->overs.data[k].extent.id];
        const vy_dim_node *d = &vy_builder_program(r->b)->dims.data[e.id];
        bool natural =
            (d->op == VY_DIM_SCALAR && !vy_type_is_signed(r->p->scalars.data[d->value].type)) ||
            (d->op == VY_DIM_CONST && d->value >= 0);
        if (!natural) e = vy_dim_binary(r->b, '>', e, zero);
        n = k ? vy_dim_binary(r->b, '*', n, e) : e;
    }
    return n;
}

vy_dim vy_tape_blocks(reverse *r)
{
    vy_dim n = vy_dim_binary(r->b, '+', invocations(r), vy_dim_const(r->b, VY_TAPE_LANES - 1));
    return vy_dim_binary(r->b, '/', n, vy_dim_const(r->b, VY_TAPE_LANES));
}

vy_value vy_tape_invocation(reverse *r)
{
    vy_value n = {0};
    for (uint32_t k = 0; k < r->p->overs.count; k++) {
        vy_value i = {vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0)};
        vy_dim d = vy_builder_program(r->b)->overs.data[k].extent;
        n = k ? vy_add(r->b, vy_mul(r->b, n, vy_dim_number(r->b, d)), i) : i;
    }
    return n;
}

// A name that no parameter has: NAME, with a number if it is not 0.
static const char *free_name(reverse *r, const char *name, uint32_t number, char text[32])
{
    const vy_program *p = vy_builder_program(r->b);
    for (uint32_t tries = 0;; tries++) {
        char digits[16] = "";
        if (number) snprintf(digits, sizeof digits, "%u", number);
        snprintf(text, 32, tries ? "%.9s%s_%u" : "%.9s%s", name, digits, tries);
        bool taken = vy_program_find_buffer(p, text).id != 0;
        for (uint32_t k = 0; k < p->scalars.count; k++)
            taken |= strcmp(p->scalars.data[k].name, text) == 0;
        if (!taken || vy_builder_failed(r->b)) return text;
    }
}

// Numbers the counters in use; declares `base`, and a number of rows for each.
static void declare_counters(reverse *r)
{
    uint32_t used = 0;
    char text[32];
    for (uint32_t k = 0; k < r->counters.count; k++) r->counters.data[k].row = 0;
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        vy_counter *c = r->kept[id] ? counter_of(r, id) : NULL;
        if (c && !c->row) c->row = ++used;
    }
    r->counters_used = used;
    if (!used) return;
    vy_builder_program(r->b)->exact = true; // its loops run as often as the counting program's
    vy_dim dims[2] = {vy_dim_const(r->b, used), vy_tape_blocks(r)};
    r->base = vy_param_buffer(r->b, free_name(r, "base", 0, text), VY_IN, VY_U32, 2, dims).id;
    if (!r->base) return;
    r->base_name = vy_builder_program(r->b)->buffers.data[r->base].name;
    vy_buffer_workspace(r->b, (vy_buffer){r->base});
    vy_value i = vy_tape_invocation(r), lanes = vy_int(r->b, VY_U32, VY_TAPE_LANES);
    vy_value block = vy_div(r->b, i, lanes);
    r->lane = vy_rem(r->b, i, lanes).id;
    for (uint32_t k = 0; k < r->counters.count; k++) {
        vy_counter *c = &r->counters.data[k];
        if (!c->row) continue;
        vy_value n = vy_param_scalar(r->b, free_name(r, "rows", c->row, text), VY_U32);
        c->rows = vy_dim_value(r->b, n);
        if (!c->rows.id) return;
        const vy_program *p = vy_builder_program(r->b);
        c->rows_name = p->scalars.data[p->scalars.count - 1].name;
        c->base = vy_load(r->b, (vy_buffer){r->base},
                          (vy_value[]){vy_int(r->b, VY_U32, c->row - 1), block})
                      .id;
    }
}

// -------------------------------------------------------------------------------------------- shapes
// Dimensions of the tape of `count` values like `id`.
static bool tape_shape(reverse *r, uint32_t id, uint32_t count, vy_dim *dims, uint32_t *rank)
{
    uint32_t loops[VY_MAX_RANK], n = 0;
    const vy_counter *c = counter_of(r, id);
    vy_bounds bound = {.p = r->p, .b = r->b, .dims = r->dims, .hints = r->hints};
    const uint32_t around = c ? c->loop : keeper_of(r, id), fixed = c ? 3 : 1 + r->p->overs.count;
    for (uint32_t l = r->home[id]; l > around; l = r->home[l]) {
        if (n + fixed >= VY_MAX_RANK) return false;
        loops[n++] = l;
    }
    *rank = 0;
    if (c) dims[(*rank)++] = c->rows;
    if (!c && count > 1) dims[(*rank)++] = vy_dim_const(r->b, count);
    while (n-- > 0) dims[(*rank)++] = vy_trip_bound(&bound, loops[n]);
    if (c && count > 1) dims[(*rank)++] = vy_dim_const(r->b, count);
    if (c) dims[(*rank)++] = vy_dim_const(r->b, VY_TAPE_LANES);
    for (uint32_t k = 0; k < r->p->overs.count && !c; k++)
        dims[(*rank)++] = r->dims[r->p->overs.data[k].extent.id];
    return r->p->overs.count > 0;
}

static void refuse(reverse *r, uint32_t id)
{
    if (r->p->overs.count)
        vy_reverse_fail(r, VY_E_LIMIT, id, "use fewer domain variables, or fewer nested loops",
                        "the reverse must remember a value in more than %u dimensions",
                        VY_MAX_RANK);
    else
        vy_reverse_fail(r, VY_E_GRAD_UNSUPPORTED, id, "give the program an `over(…)` domain",
                        "the reverse must remember a value per invocation, and the number of "
                        "invocations of a program without `over` is not known from its parameters");
}

static vy_type kept_type(const reverse *r, uint32_t id)
{
    vy_type type = (vy_type)r->p->insts.data[id].type;
    return type == VY_BOOL || type == VY_VOID ? VY_U32 : type; // an ENDLOOP: how often it ran
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
    uint32_t rank, count = 0;
    for (uint32_t id = first; id < end_of_group(r, first); id++) count += same_tape(r, first, id);
    if (!tape_shape(r, first, count, dims, &rank)) {
        refuse(r, first);
        return false;
    }
    char name[96];
    const char *hint = vy_string(&r->p->module->names, r->p->insts.data[first].name);
    if (count > 1) hint = "";
    snprintf(name, sizeof name, "tape%u%s%.60s", first, *hint ? "_" : "", hint);
    vy_buffer t = vy_param_buffer(r->b, name, VY_INOUT, kept_type(r, first), rank, dims);
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
    if (r->probing) return true;
    if (r->p->overs.count) declare_counters(r);
    for (uint32_t id = 1; id < r->p->insts.count; id++)
        if (r->kept[id] && !r->tape[id] && !declare_group(r, id)) return false;
    return !vy_builder_failed(r->b);
}

// The number of the current iteration of a counted loop, from 0.  Unsigned: to − from may be beyond
// the greatest signed number.
static uint32_t iteration_of(reverse *r, uint32_t loop)
{
    vy_type type = (vy_type)r->p->insts.data[loop].type;
    vy_type u = vy_type_size(type) == 8 ? VY_U64 : VY_U32;
    vy_value k = vy_cast(r->b, u, (vy_value){r->map[loop]});
    vy_value from = vy_cast(r->b, u, (vy_value){vy_primal(r, vy_arg(r->p, loop, 0))});
    vy_value step = vy_cast(r->b, u, (vy_value){vy_primal(r, vy_arg(r->p, loop, 2))});
    return vy_div(r->b, vy_sub(r->b, k, from), step).id;
}

// The element of the current iteration and invocation.
static uint32_t tape_index(reverse *r, uint32_t id, uint32_t *index)
{
    const vy_counter *c = counter_of(r, id);
    const uint32_t around = c ? c->loop : keeper_of(r, id);
    uint32_t loops[VY_MAX_RANK], n = 0, rank = 0;
    uint32_t slot = r->tape_slot[id] ? vy_int(r->b, VY_U32, r->tape_slot[id] - 1).id : 0;
    for (uint32_t l = r->home[id]; l > around; l = r->home[l]) loops[n++] = l;
    if (c) index[rank++] = vy_add(r->b, (vy_value){c->base}, (vy_value){r->map[c->at]}).id;
    if (slot && !c) index[rank++] = slot;
    while (n-- > 0) index[rank++] = iteration_of(r, loops[n]);
    if (slot && c) index[rank++] = slot;
    if (c) index[rank++] = r->lane;
    for (uint32_t k = 0; k < r->p->overs.count && !c; k++)
        index[rank++] = vy_leaf_other(r->b, VY_LEAF_OVER, VY_U32, k, 0);
    return rank;
}

void vy_tape_record(reverse *r, uint32_t id)
{
    if (!r->kept[id] || keeper_of(r, id) != r->replaying || r->counting || r->probing) return;
    // The condition that ends a loop belongs to no iteration: its values wait for the TEST.
    if (r->untested && r->home[id] == r->untested) return;
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

bool vy_tape_used(reverse *r, const vy_program *p, uint8_t *used)
{
    // Of each buffer: where its values begin in `values`, in the order of their slots.
    uint32_t n = r->p->insts.count, buffers = p->buffers.count;
    uint32_t *first = vy_realloc(NULL, (buffers + 1 + n) * sizeof *first), *values;
    if (!first) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    values = first + buffers + 1;
    memset(first, 0, (buffers + 1) * sizeof *first);
    for (uint32_t id = 1; id < n; id++)
        if (r->kept[id]) first[r->tape[id] + 1]++;
    for (uint32_t b = 0; b < buffers; b++) first[b + 1] += first[b];
    for (uint32_t id = 1; id < n; id++)
        if (r->kept[id])
            values[first[r->tape[id]] + (r->tape_slot[id] ? r->tape_slot[id] - 1 : 0)] = id;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t count = i->op == VY_OP_LOAD ? first[i->aux + 1] - first[i->aux] : 0, slot = 0;
        if (count > 1) {
            bool counted = counter_of(r, values[first[i->aux]]) != NULL;
            slot = (uint32_t)vy_id_const(p, vy_arg(p, id, counted ? i->nargs - 2 : 0))->u;
        }
        if (count) used[values[first[i->aux] + slot]] = 1;
    }
    vy_free(first);
    return true;
}
