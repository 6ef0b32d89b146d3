// SPDX-License-Identifier: MIT
// strip_mine.c: several iterations per turn, for drivers that count turns.
//
//   for k in a..b step s { body }   →   for t in 0..n/8 { body(a + (8t)s); … body(a + (8t+7)s) }
//                                       for t in n/8*8..n { body(a + t s) }      n = ⌈(b − a)/s⌉
//
// lavapipe ends every loop of an invocation, without a word, once its loops have taken 65,535 turns
// together.  Fewer turns are the only remedy that a shader has.  (They also cost less there: a turn
// spills what the loop carries.)  The number of iterations is computed without a sign in the loop's own
// width, where b − a of a non-empty loop cannot overflow.
//
// Only innermost counted loops without early exit, barrier or subgroup operation, and only small
// bodies.  Runs only if options->chunk > 1: written SPIR-V is for other drivers too.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

enum { LARGEST_BODY = 96 };

typedef struct chunk {
    const vy_program *old;
    vy_builder *b;
    vy_structure s;
    uint32_t factor;
    uint32_t *map;
} chunk;

static bool suits(const chunk *c, uint32_t loop)
{
    const vy_program *p = c->old;
    if (vy_exits(p, loop)) return false;
    if (c->s.partner[loop] - loop > LARGEST_BODY) return false;
    for (uint32_t id = loop + 1; id < c->s.partner[loop]; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_is_loop(op) || vy_op_infos[op].effect == VY_CONV) return false;
    }
    return true;
}

static vy_value mapped(const chunk *c, uint32_t id) { return (vy_value){vy_map(c->map, id)}; }

// Iterations of the loop, as an unsigned value of its width; 0 if it is empty.
static vy_value count_iterations(chunk *c, uint32_t loop, vy_type u)
{
    vy_builder *b = c->b;
    vy_value from = mapped(c, vy_arg(c->old, loop, 0)), to = mapped(c, vy_arg(c->old, loop, 1));
    vy_value step = vy_cast(b, u, mapped(c, vy_arg(c->old, loop, 2))), one = vy_int(b, u, 1);
    vy_value span = vy_sub(b, vy_cast(b, u, to), vy_cast(b, u, from));
    vy_value n = vy_add(b, vy_div(b, vy_sub(b, span, one), step), one);
    return vy_select(b, vy_lt(b, from, to), n, vy_zero(b, u));
}

// The body once, for iteration number t of n.
static void iteration(chunk *c, uint32_t loop, vy_type u, vy_value t, vy_value n)
{
    const vy_program *p = c->old;
    const vy_inst *i = &p->insts.data[loop];
    uint32_t end = c->s.partner[loop], slots = i->nargs - 3;
    vy_builder *b = c->b;
    if (i->flags & VY_FLAG_REVERSE) t = vy_sub(b, vy_sub(b, n, vy_int(b, u, 1)), t);
    vy_value step = vy_cast(b, u, mapped(c, vy_arg(p, loop, 2)));
    vy_value from = vy_cast(b, u, mapped(c, vy_arg(p, loop, 0)));
    vy_value k = vy_cast(b, (vy_type)i->type, vy_add(b, from, vy_mul(b, t, step)));
    c->map[loop] = k.id;
    vy_pass_name(b, p, loop, k.id);
    for (uint32_t id = loop + 1 + slots; id < end && !vy_builder_failed(b); id++)
        vy_copy_inst(b, p, id, c->map);
}

static bool provably_empty(const chunk *c, vy_value from, vy_value to)
{
    const vy_program *p = vy_builder_program(c->b);
    const vy_scalar *low = vy_id_const(p, from.id), *high = vy_id_const(p, to.id);
    return low && high && low->u >= high->u;
}

// One loop over iterations from..to (`factor` at a time); values[] are carried through.
static void emit_loop(chunk *c, uint32_t loop, vy_type u, vy_value from, vy_value to, vy_value n,
                      uint32_t factor, uint32_t *values)
{
    const vy_program *p = c->old;
    uint32_t slots = p->insts.data[loop].nargs - 3, end = c->s.partner[loop];
    if (provably_empty(c, from, to)) return;
    uint32_t *carries = vy_realloc(NULL, (slots * 2 + 1) * sizeof *carries);
    if (!carries) {
        vy_fail_oom(p->module);
        return;
    }
    uint32_t *nexts = carries + slots, one = vy_int(c->b, u, 1).id;
    vy_value t = {vy_begin_loop(c->b, u, 0, from.id, to.id, one, slots, values, carries)};
    for (uint32_t s = 0; s < slots; s++) c->map[loop + 1 + s] = carries[s];
    vy_value first = vy_mul(c->b, t, vy_int(c->b, u, factor));
    for (uint32_t turn = 0; turn < factor && !vy_builder_failed(c->b); turn++) {
        iteration(c, loop, u, vy_add(c->b, first, vy_int(c->b, u, turn)), n);
        for (uint32_t s = 0; s < slots; s++) nexts[s] = vy_map(c->map, vy_arg(p, end, s));
        for (uint32_t s = 0; s < slots; s++) c->map[loop + 1 + s] = nexts[s];
    }
    vy_end_loop(c->b, 0, slots, nexts, values);
    vy_free(carries);
}

static void split(chunk *c, uint32_t loop)
{
    const vy_program *p = c->old;
    const vy_inst *i = &p->insts.data[loop];
    uint32_t slots = i->nargs - 3, end = c->s.partner[loop];
    vy_type u = vy_type_size((vy_type)i->type) == 8 ? VY_U64 : VY_U32;
    uint32_t *values = vy_realloc(NULL, (slots + 1) * sizeof *values);
    if (!values) {
        vy_fail_oom(p->module);
        return;
    }
    vy_pass_at(c->b, p, loop);
    for (uint32_t s = 0; s < slots; s++) values[s] = vy_map(c->map, vy_arg(p, loop, 3 + s));
    vy_value n = count_iterations(c, loop, u), factor = vy_int(c->b, u, c->factor);
    vy_value turns = vy_div(c->b, n, factor);
    emit_loop(c, loop, u, vy_zero(c->b, u), turns, n, c->factor, values);
    emit_loop(c, loop, u, vy_mul(c->b, turns, factor), n, n, 1, values);
    for (uint32_t s = 0; s < slots; s++) {
        c->map[end + 1 + s] = values[s];
        vy_pass_name(c->b, p, end + 1 + s, values[s]);
    }
    vy_free(values);
}

bool vy_pass_chunk(vy_program *p, vy_pass_context *context)
{
    chunk c = {.old = p, .factor = context->options ? context->options->chunk : 0};
    if (!vy_is_chunked(p, context->options)) return true;
    c.map = vy_realloc(NULL, p->insts.count * sizeof *c.map);
    bool ok = c.map && vy_structure_make(p, &c.s);
    if (!ok) vy_fail_oom(p->module);
    ok = ok && (c.b = vy_rebuild_begin(p)) != NULL;
    for (uint32_t id = 1; ok && id < p->insts.count && !vy_builder_failed(c.b); id++) {
        if (p->insts.data[id].op != VY_OP_LOOP || !suits(&c, id)) {
            vy_copy_inst(c.b, p, id, c.map);
            continue;
        }
        split(&c, id);
        context->changed = true;
        id = c.s.partner[id] + p->insts.data[id].nargs - 3; // behind its RESULTs
    }
    ok = ok && vy_pass_finish(c.b, p);
    vy_structure_free(&c.s);
    vy_free(c.map);
    return ok;
}
