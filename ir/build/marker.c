// SPDX-License-Identifier: MIT
// marker.c: structure markers and regions, and copies of instructions from another program.
//
// The markers are exactly those drawn at the head of ir.h.  Closing one ends a region, and with it
// the visibility of its values.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/core/flow.h"

#include <assert.h>
#include <string.h>

// -------------------------------------------------------------------------------------- structure
bool vy_open_region(vy_builder *b, uint32_t opener)
{
    build_region r = {.serial = b->open.count, .opener = opener};
    return vy_vec_push(&b->open, 1) && vy_vec_push(&b->regions, r);
}

static uint32_t marker(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t n,
                       const uint32_t *args)
{
    if (b->failed) return 0;
    return vy_append(b,
                     (vy_inst){.op = (uint16_t)op, .type = (uint8_t)type, .nargs = n, .aux = aux},
                     args, 0);
}

static void enter(vy_builder *b, uint32_t opener)
{
    if (b->failed) return;
    if (b->regions.count > VY_MAX_NESTING)
        vy_build_fail(b, VY_E_LIMIT, "constructs are nested more than %u deep", VY_MAX_NESTING);
    else if (!vy_open_region(b, opener))
        vy_build_oom(b);
}

static build_region *innermost(vy_builder *b) { return &b->regions.data[b->regions.count - 1]; }

// Closes the innermost region; the marker emitted next is outside.
static void leave(vy_builder *b)
{
    b->open.data[innermost(b)->serial] = 0;
    b->regions.count--;
}

// Replaces the innermost region by that of the second arm, which has the same opener.
static void enter_else(vy_builder *b, uint32_t middle)
{
    build_region *r = innermost(b);
    b->open.data[r->serial] = 0;
    r->serial = b->open.count;
    r->middle = middle;
    if (!vy_vec_push(&b->open, 1)) vy_build_oom(b);
}

// ELSE is appended between the arms, but belongs to the parent's region, as all markers do.
static uint32_t outer_marker(vy_builder *b, vy_op op, uint32_t n, const uint32_t *args)
{
    uint32_t id = marker(b, op, VY_VOID, 0, n, args);
    if (id) b->notes.data[id].region = b->regions.data[b->regions.count - 2].serial;
    return id;
}

void vy_begin_if(vy_builder *b, uint32_t cond)
{
    uint32_t id = marker(b, VY_OP_IF, VY_VOID, 0, 1, &cond);
    if (id) enter(b, id);
}

void vy_begin_else(vy_builder *b, uint32_t n, const uint32_t *then_yields)
{
    uint32_t id = b->failed ? 0 : outer_marker(b, VY_OP_ELSE, n, then_yields);
    if (id) enter_else(b, id);
}

void vy_else_yields(vy_builder *b, uint32_t n, const uint32_t *ids)
{
    if (b->failed) return;
    vy_program *p = b->p;
    if (!vy_vec_reserve(&p->args, n)) {
        vy_build_oom(b);
        return;
    }
    vy_inst *inst = &p->insts.data[innermost(b)->middle];
    inst->args = p->args.count;
    inst->nargs = n;
    if (n) memcpy(p->args.data + p->args.count, ids, n * sizeof *ids);
    p->args.count += n;
}

static void emit_results(vy_builder *b, uint32_t end, uint32_t n, const uint32_t *values,
                         uint32_t *results)
{
    for (uint32_t k = 0; k < n && !b->failed; k++)
        results[k] = marker(b, VY_OP_RESULT, vy_id_type(b->p, values[k]), k, 1, &end);
}

// The value of a construct that yields x or y by cond, if it needs no RESULT; else 0.
static uint32_t trivial_yield(vy_builder *b, uint32_t opener, uint32_t cond, uint32_t x, uint32_t y)
{
    bool outside = VY_IS_LEAF(x) || x < opener;
    if (x == y && outside) return x;
    const vy_scalar *cx = vy_id_const(b->p, x), *cy = vy_id_const(b->p, y);
    if (vy_id_type(b->p, x) == VY_BOOL && cx && cx->u && ((cy && !cy->u) || y == cond)) return cond;
    return 0;
}

void vy_end_if(vy_builder *b, uint32_t n, const uint32_t *else_yields, uint32_t *results)
{
    if (b->failed) return;
    vy_program *p = b->p;
    build_region r = *innermost(b);
    uint32_t cond = vy_arg(p, r.opener, 0), kept = 0;
    bool empty = r.middle == r.opener + 1 && p->insts.count == r.middle + 1;
    vy_id_vec *yields = &b->scratch[0], *back = &b->scratch[1], *thens = &b->scratch[2];
    yields->count = back->count = thens->count = 0;
    if (!vy_vec_reserve(yields, n) || !vy_vec_reserve(back, n) || !vy_vec_reserve(thens, n)) {
        vy_build_oom(b);
        return;
    }
    uint32_t *then_yields = p->args.data + p->insts.data[r.middle].args;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t x = then_yields[k], y = else_yields[k];
        results[k] = trivial_yield(b, r.opener, cond, x, y);
        if (results[k]) continue;
        then_yields[kept] = thens->data[kept] = x;
        yields->data[kept] = y;
        back->data[kept++] = k;
    }
    leave(b);
    if (empty) { // nothing to branch over: selects suffice
        p->insts.count = b->notes.count = r.opener;
        for (uint32_t k = 0; k < kept && !b->failed; k++) {
            uint32_t args[3] = {cond, thens->data[k], yields->data[k]};
            results[back->data[k]] = vy_emit(b, VY_OP_SELECT, vy_id_type(p, args[1]), 0, 3, args);
        }
        return;
    }
    p->insts.data[r.middle].nargs = kept;
    uint32_t end = marker(b, VY_OP_ENDIF, VY_VOID, 0, kept, yields->data);
    for (uint32_t k = 0; k < kept && !b->failed; k++)
        results[back->data[k]] =
            marker(b, VY_OP_RESULT, vy_id_type(p, yields->data[k]), k, 1, &end);
}

bool vy_begin_if_unsure(vy_builder *b, uint32_t cond)
{
    if (vy_builder_failed(b)) return false;
    const vy_scalar *k = vy_id_const(b->p, cond);
    if (k && k->u) return false;
    vy_begin_if(b, cond);
    return true;
}

void vy_end_plain_if(vy_builder *b)
{
    vy_begin_else(b, 0, NULL);
    vy_end_if(b, 0, NULL, NULL);
}

static void emit_carries(vy_builder *b, uint32_t opener, uint32_t n, const uint32_t *inits,
                         uint32_t *carries)
{
    if (b->failed) return;
    b->epoch = ++b->clock; // the body may write memory later in the text
    enter(b, opener);
    for (uint32_t k = 0; k < n && !b->failed; k++)
        carries[k] = marker(b, VY_OP_CARRY, vy_id_type(b->p, inits[k]), k, 1, &opener);
}

uint32_t vy_begin_loop(vy_builder *b, vy_type type, uint8_t flags, uint32_t from, uint32_t to,
                       uint32_t step, uint32_t n, const uint32_t *inits, uint32_t *carries)
{
    if (b->failed) return 0;
    vy_id_vec *args = &b->scratch[0];
    args->count = 0;
    if (!vy_vec_reserve(args, n + 3)) {
        vy_build_oom(b);
        return 0;
    }
    args->data[0] = from, args->data[1] = to, args->data[2] = step;
    if (n) memcpy(args->data + 3, inits, n * sizeof *inits);
    uint32_t id = marker(b, VY_OP_LOOP, type, 0, n + 3, args->data);
    if (!id) return 0;
    b->p->insts.data[id].flags = flags & VY_FLAG_REVERSE;
    emit_carries(b, id, n, inits, carries);
    return id;
}

void vy_begin_while(vy_builder *b, uint8_t flags, uint32_t n, const uint32_t *inits,
                    uint32_t *carries)
{
    (void)flags;
    uint32_t id = marker(b, VY_OP_WHILE, VY_VOID, 0, n, inits);
    if (id) emit_carries(b, id, n, inits, carries);
}

void vy_loop_test(vy_builder *b, uint32_t cond)
{
    uint32_t id = marker(b, VY_OP_TEST, VY_VOID, 0, 1, &cond);
    if (id) innermost(b)->middle = id;
}

void vy_end_loop(vy_builder *b, uint32_t keep, uint32_t n, const uint32_t *nexts, uint32_t *results)
{
    if (b->failed) return;
    vy_id_vec *args = &b->scratch[0];
    args->count = 0;
    if (!vy_vec_reserve(args, n + 1)) {
        vy_build_oom(b);
        return;
    }
    if (keep) args->data[args->count++] = keep;
    if (n) memcpy(args->data + args->count, nexts, n * sizeof *nexts);
    args->count += n;
    uint32_t opener = innermost(b)->opener;
    if (keep) b->p->insts.data[opener].flags |= VY_FLAG_EXIT;
    leave(b);
    uint32_t end = marker(b, VY_OP_ENDLOOP, VY_VOID, 0, args->count, args->data);
    b->epoch = ++b->clock;
    if (end) emit_results(b, end, n, nexts, results);
}

void vy_begin_checkpoint(vy_builder *b)
{
    uint32_t id = marker(b, VY_OP_CHECKPOINT, VY_VOID, 0, 0, NULL);
    if (id) enter(b, id);
}

void vy_end_checkpoint(vy_builder *b, uint32_t n, const uint32_t *yields, uint32_t *results)
{
    if (b->failed) return;
    leave(b);
    uint32_t end = marker(b, VY_OP_ENDCHECKPOINT, VY_VOID, 0, n, yields);
    if (end) emit_results(b, end, n, yields, results);
}

// ---------------------------------------------------------------------------------------- copying
static void copy_marker(vy_builder *b, vy_op op, const vy_inst *old, uint32_t n,
                        const uint32_t *args, uint32_t *made)
{
    if (op == VY_OP_ELSE) {
        vy_begin_else(b, n, args);
        *made = b->p->insts.count - 1;
        return;
    }
    if (vy_op_closes(op)) leave(b);
    *made = marker(b, op, (vy_type)old->type, old->aux, n, args);
    if (!*made) return;
    b->p->insts.data[*made].flags = old->flags;
    if (vy_is_loop(op) || op == VY_OP_ENDLOOP) b->epoch = ++b->clock;
    if (vy_op_opens(op)) enter(b, *made);
    if (op == VY_OP_TEST) innermost(b)->middle = *made;
}

void vy_copy_with(vy_builder *b, const vy_program *old, uint32_t id, const uint32_t *args,
                  uint32_t *map)
{
    vy_copy_to(b, old, id, old->insts.data[id].aux, args, map);
}

void vy_copy_to(vy_builder *b, const vy_program *old, uint32_t id, uint32_t aux,
                const uint32_t *args, uint32_t *map)
{
    const vy_inst *inst = &old->insts.data[id];
    vy_op op = (vy_op)inst->op;
    if (b->failed) return;
    b->line = inst->line;
    b->column = inst->column;
    if (vy_op_infos[op].effect == VY_CTRL) {
        copy_marker(b, op, inst, inst->nargs, args, &map[id]);
    } else {
        uint32_t before = b->p->insts.count;
        map[id] = vy_emit(b, op, (vy_type)inst->type, aux, inst->nargs, args);
        if (b->p->insts.count > before) {
            if (!map[id]) map[id] = b->p->insts.count - 1; // VOID operations
            if (map[id] == b->p->insts.count - 1) b->p->insts.data[map[id]].flags = inst->flags;
        }
    }
    if (!b->failed && inst->name && !VY_IS_LEAF(map[id]) && !b->p->insts.data[map[id]].name)
        b->p->insts.data[map[id]].name = inst->name;
}

void vy_copy_inst(vy_builder *b, const vy_program *old, uint32_t id, uint32_t *map)
{
    if (b->failed) return;
    const vy_inst *inst = &old->insts.data[id];
    uint32_t small[16], *args = small;
    if (inst->nargs > 16) {
        vy_id_vec *wide = &b->scratch[2];
        wide->count = 0;
        if (!vy_vec_reserve(wide, inst->nargs)) {
            vy_build_oom(b);
            return;
        }
        args = wide->data;
    }
    for (uint32_t k = 0; k < inst->nargs; k++) {
        args[k] = vy_map(map, vy_arg(old, id, k));
        assert(args[k] && "operand was not copied");
    }
    vy_copy_with(b, old, id, args, map);
}
