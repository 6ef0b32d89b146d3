// SPDX-License-Identifier: MIT
// unroll.c: fully unrolls short loops with constant bounds.
//
//   LOOP [0, 3, 1, zero]               a = add zero (load x[0])
//     CARRY 0                          b = add a (load x[1])
//     s = add c0 (load x[k])     →     r = add b (load x[2])
//   ENDLOOP [s]  RESULT 0
//
// The gain is in what it uncovers: constant indices turn local arrays into values and let loads be
// shared.  Considering one loop at a time would unroll a nest into thousands of instructions; so
// sizes are computed from the inside out, with inner loops as they will be, and a loop is unrolled
// only if the result stays within the budget (larger at -O3).  A loop that runs once is always
// unrolled.
//
// Loops over rows (vy_pass_registers) exceed that budget.  They are unrolled where that turns local
// arrays that a loop works on into values, all of them or none; and then so are the loops that load
// the same row in every iteration of the loop around them:
//
//   for j in 0..n {                                   g0 = g[0]; g1 = g[1]; …
//     for c in 0..64 { t[c] += e(j) * g[c]; }   →     for j in 0..n {
//   }                                                   t0 += e(j) * g0; t1 += e(j) * g1; …
//                                                     }
//
// A device keeps values in registers, but elements of an array in memory.  This is done for
// programs that a device runs, and at -O3: in text to be read it would leave hundreds of lines.
//
// Loops that may be left early stay.  Needs valid structure; lines and names are those of the body.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"
#include "ir/pass/scalar/rows.h"

typedef struct unroll {
    vy_rewrite w;
    uint64_t *trips; // by LOOP: trip count if it is to be unrolled, or 0
    uint64_t max_trips, max_size;
    bool any;
} unroll;

enum { MAX_GROWTH = 8 }; // the program may grow by this factor

// The trip count if the bounds are constant, else 0.
static uint64_t trip_count(const vy_program *p, uint32_t loop)
{
    uint64_t n;
    return vy_constant_trips(p, loop, &n) ? n : 0;
}

static bool choose_loops(unroll *u)
{
    const vy_program *p = u->w.p;
    uint64_t *size = vy_arena_alloc(&u->w.arena, ((size_t)u->w.s.deepest + 2) * sizeof *size);
    uint64_t total = 0, limit = (uint64_t)p->insts.count * MAX_GROWTH + 4096;
    if (!size) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t depth = u->w.s.depth[id];
        if (vy_op_opens((vy_op)i->op))
            size[depth + 1] = 0;
        else if (!vy_is_marker((vy_op)i->op))
            size[depth]++;
        if (!vy_op_closes((vy_op)i->op)) continue;
        uint32_t loop = u->w.s.partner[id];
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

static uint32_t instead(void *pass, uint32_t id);

static void unroll_loop(unroll *u, uint32_t loop)
{
    const vy_program *p = u->w.p;
    const vy_inst *i = &p->insts.data[loop];
    vy_type t = (vy_type)i->type;
    uint32_t end = u->w.s.partner[loop], n = vy_slot_count(p, &u->w.s, loop);
    uint64_t from = vy_id_const(p, vy_arg(p, loop, 0))->u,
             step = vy_id_const(p, vy_arg(p, loop, 2))->u;
    uint32_t *values = vy_realloc(NULL, (n + 1) * sizeof *values);
    if (!values) {
        u->w.oom = true;
        return;
    }
    for (uint32_t k = 0; k < n; k++) values[k] = vy_new_arg(&u->w, loop, vy_init_arg(p, loop) + k);
    for (uint64_t trip = 0; trip < u->trips[loop] && !vy_rewrite_stopped(&u->w); trip++) {
        uint64_t step_no = i->flags & VY_FLAG_REVERSE ? u->trips[loop] - 1 - trip : trip;
        vy_scalar k = vy_wrap(t, (vy_scalar){.u = from + step_no * step});
        u->w.map[loop] = vy_leaf_const(u->w.b, t, k);
        for (uint32_t c = 0; c < n; c++) u->w.map[loop + 1 + c] = values[c];
        vy_rewrite_range(&u->w, loop + 1 + n, end, instead, u);
        if (vy_rewrite_stopped(&u->w)) break;
        for (uint32_t c = 0; c < n; c++) values[c] = vy_new_arg(&u->w, end, c);
    }
    if (!vy_rewrite_stopped(&u->w)) vy_rewrite_slots(&u->w, end, n, values);
    vy_free(values);
}

// Recursion is as deep as unrolled loops nest.
static uint32_t instead(void *pass, uint32_t id)
{
    unroll *u = pass;
    if (!u->trips[id]) return 0;
    unroll_loop(u, id);
    return vy_last_result(u->w.p, &u->w.s, id);
}

// --------------------------------------------------------------------------------- loops over rows
enum { MAX_ROW_CODE = 8192, MAX_ROW_VALUES = 1024 };

typedef struct row_choice {
    uint64_t *trips;  // by LOOP: trip count, if it can be unrolled
    uint64_t *values; // by buffer: elements, if they can become values
    bool *nested;     // by buffer: the counter of a loop in a loop indexes it
    bool *chosen;     // by LOOP
} row_choice;

static uint32_t loop_around(const unroll *u, uint32_t id)
{
    return vy_loop_around(u->w.p, &u->w.s, id);
}

static void find_candidates(const unroll *u, row_choice *c)
{
    vy_row_trips(u->w.p, &u->w.s, c->trips);
    for (uint32_t b = 1; b < u->w.p->buffers.count; b++) c->values[b] = vy_row_elements(u->w.p, b);
}

// Arrays indexed by anything but constants and counters cannot become values.
static void find_arrays(const unroll *u, row_choice *c)
{
    const vy_program *p = u->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !c->values[i->aux] || i->op == VY_OP_ZERO) continue;
        for (uint32_t k = 0; k < p->buffers.data[i->aux].rank; k++) {
            uint32_t index = vy_arg(p, id, k);
            bool counter = !VY_IS_LEAF(index) && c->trips[index];
            if (counter) c->nested[i->aux] |= loop_around(u, index) != 0;
            if (!counter && !vy_id_const(p, index)) c->values[i->aux] = 0;
        }
        if (i->op != VY_OP_LOAD && i->op != VY_OP_STORE) c->values[i->aux] = 0;
    }
}

// Does `id` load the same elements in every iteration of the loop around `loop`?
static bool reloads_row(const unroll *u, uint32_t id, uint32_t loop)
{
    const vy_inst *i = &u->w.p->insts.data[id];
    uint32_t around = loop_around(u, loop);
    if (i->op != VY_OP_LOAD || u->w.p->buffers.data[i->aux].cls == VY_LOCAL || !around)
        return false;
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint32_t index = vy_arg(u->w.p, id, k);
        if (index != loop && !VY_IS_LEAF(index) && index >= around) return false;
    }
    return true;
}

static void choose_counters(const unroll *u, row_choice *c, bool arrays)
{
    const vy_program *p = u->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || i->op == VY_OP_ZERO) continue;
        bool array = c->values[i->aux] && c->nested[i->aux];
        for (uint32_t k = 0; k < p->buffers.data[i->aux].rank; k++) {
            uint32_t index = vy_arg(p, id, k);
            if (VY_IS_LEAF(index) || !c->trips[index]) continue;
            c->chosen[index] |= arrays ? array : reloads_row(u, id, index);
        }
    }
}

static bool choose_rows(unroll *u)
{
    const vy_program *p = u->w.p;
    size_t n = p->insts.count, buffers = p->buffers.count;
    row_choice c = {.trips = vy_arena_alloc(&u->w.arena, n * sizeof *c.trips),
                    .values = vy_arena_alloc(&u->w.arena, buffers * sizeof *c.values),
                    .nested = vy_arena_alloc(&u->w.arena, buffers * sizeof *c.nested),
                    .chosen = vy_arena_alloc(&u->w.arena, n * sizeof *c.chosen)};
    if (!c.trips || !c.values || !c.nested || !c.chosen) return false;
    find_candidates(u, &c);
    find_arrays(u, &c);
    uint64_t code = 0, values = 0;
    for (uint32_t b = 1; b < buffers; b++) values += c.nested[b] ? c.values[b] : 0;
    if (!values || values > MAX_ROW_VALUES) return true;
    choose_counters(u, &c, true);
    choose_counters(u, &c, false);
    for (uint32_t id = 1; id < n; id++)
        if (c.chosen[id]) code += c.trips[id] * (u->w.s.partner[id] - id);
    if (code > MAX_ROW_CODE) return true;
    for (uint32_t id = 1; id < n; id++)
        if (c.chosen[id]) u->trips[id] = c.trips[id], u->any = true;
    return true;
}

// -------------------------------------------------------------------------------------- the passes
static bool run(unroll *u, vy_program *p, vy_pass_context *c, bool (*choice)(unroll *u))
{
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    bool ok = vy_rewrite_begin(&u->w, p);
    ok = ok && (u->trips = vy_rewrite_table(&u->w, p->insts.count * sizeof *u->trips)) && choice(u);
    if (ok && u->any) vy_rewrite_run(&u->w, instead, u);
    return vy_rewrite_end(&u->w, ok, &c->changed);
}

bool vy_pass_unroll(vy_program *p, vy_pass_context *c)
{
    int level = c->options ? c->options->level : 2;
    unroll u = {.max_trips = level >= 3 ? 32 : 8, .max_size = level >= 3 ? 1024 : 128};
    return run(&u, p, c, choose_loops);
}

bool vy_pass_registers(vy_program *p, vy_pass_context *c)
{
    if (!c->options || (!c->options->registers && c->options->level < 3)) return true;
    bool ok;
    vy_program *copied = vy_copy_rows(p, &ok);
    if (!ok) return false;
    if (copied) {
        unroll u = {0};
        ok = run(&u, copied, c, choose_rows);
        if (ok && u.any) return vy_program_replace(p, copied), true;
        vy_program_free(copied);
        if (!ok) return false;
    }
    unroll u = {0};
    return run(&u, p, c, choose_rows);
}
