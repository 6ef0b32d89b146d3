// SPDX-License-Identifier: MIT
// unroll.c: writes out short loops with constant bounds.
//
//   LOOP [0, 3, 1, zero]               a = add zero (load x[0])
//     CARRY 0                          b = add a (load x[1])
//     s = add c0 (load x[k])     →     r = add b (load x[2])
//   ENDLOOP [s]  RESULT 0
//
// Worth it for what it uncovers: constant indices turn local arrays into values and let loads be
// shared.  Looking at one loop at a time would unroll a nest into thousands of instructions; so sizes
// are computed inside out with inner loops as they will be, and a loop is written out only if the
// result stays within the budget (more at -O3).  A loop that runs once is always written out.
//
// Loops that may leave early stay.  Needs valid structure; lines and names are those of the body.
#include "pass.h"

typedef struct unroll {
    const vy_program *old;
    vy_builder *b;
    vy_structure s;
    vy_arena arena;
    uint64_t *trips; // by LOOP: iterations to write out, or 0
    uint32_t *map;
    uint64_t max_trips, max_size;
    bool any;
} unroll;

enum { WHOLE_LIMIT = 8 }; // the program may grow by this factor

// Number of iterations if the bounds are constant, else 0.
static uint64_t trip_count(const vy_program *p, uint32_t loop)
{
    const vy_scalar *from = vy_id_const(p, vy_arg(p, loop, 0));
    const vy_scalar *to = vy_id_const(p, vy_arg(p, loop, 1));
    const vy_scalar *step = vy_id_const(p, vy_arg(p, loop, 2));
    vy_type t = vy_id_type(p, loop);
    if (!from || !to || !step || vy_loop_never(t, from, to)) return 0;
    if (vy_type_is_signed(t) ? step->i <= 0 : step->u == 0) return 0;
    // The difference fits 64 bits without a sign, and so does the last value.
    return (to->u - from->u - 1) / step->u + 1;
}

static bool choose(unroll *u)
{
    const vy_program *p = u->old;
    uint64_t *size = vy_arena_alloc(&u->arena, (VY_MAX_NESTING + 2) * sizeof *size);
    uint64_t total = 0, limit = (uint64_t)p->insts.count * WHOLE_LIMIT + 4096;
    if (!size) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t depth = u->s.depth[id];
        if (vy_op_opens((vy_op)i->op))
            size[depth + 1] = 0;
        else if (!vy_is_marker((vy_op)i->op))
            size[depth]++;
        if (!vy_op_closes((vy_op)i->op)) continue;
        uint32_t loop = u->s.partner[id];
        uint64_t body = size[depth + 1] + 1;
        bool counted = p->insts.data[loop].op == VY_OP_LOOP && !vy_next_arg(p, loop);
        uint64_t n = counted ? trip_count(p, loop) : 0;
        bool fits = n <= u->max_trips && n * body <= u->max_size && total + n * body <= limit;
        if (n && (n == 1 || fits)) {
            u->trips[loop] = n;
            u->any = true;
            body *= n;
            total += body;
        }
        size[depth] += body;
    }
    return true;
}

static void copy(unroll *u, uint32_t from, uint32_t to);

static void write_out(unroll *u, uint32_t loop)
{
    const vy_program *p = u->old;
    const vy_inst *i = &p->insts.data[loop];
    vy_type t = (vy_type)i->type;
    uint32_t end = u->s.partner[loop], n = i->nargs - 3;
    uint64_t from = vy_id_const(p, vy_arg(p, loop, 0))->u,
             step = vy_id_const(p, vy_arg(p, loop, 2))->u;
    uint32_t *values = vy_realloc(NULL, (n + 1) * sizeof *values);
    if (!values) {
        vy_fail_oom(p->module);
        return;
    }
    for (uint32_t k = 0; k < n; k++) values[k] = vy_map(u->map, vy_arg(p, loop, 3 + k));
    for (uint64_t trip = 0; trip < u->trips[loop] && !vy_builder_failed(u->b); trip++) {
        uint64_t step_no = i->flags & VY_FLAG_REVERSE ? u->trips[loop] - 1 - trip : trip;
        vy_scalar k = vy_wrap(t, (vy_scalar){.u = from + step_no * step});
        u->map[loop] = vy_leaf_const(u->b, t, k);
        for (uint32_t c = 0; c < n; c++) u->map[loop + 1 + c] = values[c];
        copy(u, loop + 1 + n, end);
        if (vy_builder_failed(u->b)) break;
        for (uint32_t c = 0; c < n; c++) values[c] = vy_map(u->map, vy_arg(p, end, c));
    }
    for (uint32_t c = 0; c < n; c++) {
        u->map[end + 1 + c] = values[c];
        vy_pass_name(u->b, p, end + 1 + c, values[c]);
    }
    vy_free(values);
}

// Copies from ≤ id < to.  Recursion is as deep as the loops written out nest.
static void copy(unroll *u, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to && !vy_builder_failed(u->b); id++) {
        if (!u->trips[id]) {
            vy_copy_inst(u->b, u->old, id, u->map);
            continue;
        }
        write_out(u, id);
        id = u->s.partner[id] + u->old->insts.data[id].nargs - 3; // behind its RESULTs
    }
}

bool vy_pass_unroll(vy_program *p, vy_pass_context *c)
{
    int level = c->options ? c->options->level : 2;
    unroll u = {.old = p, .max_trips = level >= 3 ? 32 : 8, .max_size = level >= 3 ? 1024 : 128};
    u.trips = vy_arena_alloc(&u.arena, p->insts.count * sizeof *u.trips);
    u.map = vy_arena_alloc(&u.arena, p->insts.count * sizeof *u.map);
    bool ok = u.trips && u.map && vy_structure_make(p, &u.s) && choose(&u);
    if (!ok) vy_fail_oom(p->module);
    if (ok && u.any) {
        c->changed = true;
        ok = (u.b = vy_rebuild_begin(p)) != NULL;
        if (ok) {
            copy(&u, 1, p->insts.count);
            ok = vy_pass_finish(u.b, p); // false if memory ran out on the way
        }
    }
    vy_structure_free(&u.s);
    vy_arena_free(&u.arena);
    return ok;
}
