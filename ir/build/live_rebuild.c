// SPDX-License-Identifier: MIT
// live_rebuild.c: rebuilds a program without what live_mark.c did not mark.
//
// Slots of constructs are removed one by one, and the operands of four markers have to agree on
// which stay.  What becomes of a construct is decided at its opening marker:
//
//   HOW_COPY   it stays             HOW_THEN, HOW_ELSE   its condition is constant
//   HOW_NEVER  a loop does not run  HOW_ONCE   a while that leaves after one iteration
//
// A condition is tested after its operands were rebuilt, so chains of constant IFs are removed in
// one walk.  Where only values have no use, they are taken out of the program as it is: the largest
// programs are those of a million values, and a rebuild has both in memory.
#include "ir/build/live.h"

typedef enum how { HOW_COPY, HOW_THEN, HOW_ELSE, HOW_NEVER, HOW_ONCE } how;

typedef struct builder {
    vy_sweep *w;
    uint8_t *how;  // by opening marker
    uint32_t *ids; // two arrays of `room`
    uint32_t room;
} builder;

static uint32_t mapped(const builder *r, uint32_t id)
{
    return vy_new(&r->w->w, vy_same(r->w, id));
}

static bool slot_kept(const vy_sweep *w, uint32_t opener, uint32_t closer, uint32_t k)
{
    bool loop = vy_is_loop((vy_op)w->w.p->insts.data[opener].op);
    return w->live[loop ? opener + 1 + k : closer + 1 + k];
}

// Mapped operands from..from+n of `id` that belong to kept slots.
static uint32_t collect(const builder *r, uint32_t opener, uint32_t id, uint32_t from, uint32_t n,
                        uint32_t *out)
{
    uint32_t kept = 0, closer = vy_closer(r->w->w.p, &r->w->w.s, opener);
    for (uint32_t k = 0; k < n; k++)
        if (slot_kept(r->w, opener, closer, k))
            out[kept++] = mapped(r, vy_arg(r->w->w.p, id, from + k));
    return kept;
}

// Maps the slots base+1+k that are kept to their new values.
static void spread(const builder *r, uint32_t opener, uint32_t base, uint32_t n,
                   const uint32_t *values)
{
    uint32_t kept = 0, closer = vy_closer(r->w->w.p, &r->w->w.s, opener);
    for (uint32_t k = 0; k < n; k++) {
        if (!slot_kept(r->w, opener, closer, k)) continue;
        vy_rewrite_as(&r->w->w, base + 1 + k, values[kept++]);
    }
}

static bool const_bool(const vy_program *p, uint32_t id, bool value)
{
    const vy_scalar *k = id ? vy_id_const(p, id) : NULL;
    return k && (k->u != 0) == value;
}

// What becomes of a loop.  Depends on its own operands only, so it may be called before the rebuild
// too.
static how loop_how(const vy_sweep *w, uint32_t id)
{
    const vy_program *p = w->w.p;
    bool leaves = const_bool(p, vy_keep(p, &w->w.s, id), false);
    if (p->insts.data[id].op == VY_OP_LOOP) {
        const vy_scalar *from = vy_id_const(p, vy_same(w, vy_arg(p, id, 0)));
        const vy_scalar *to = vy_id_const(p, vy_same(w, vy_arg(p, id, 1)));
        return vy_loop_never(vy_id_type(p, id), from, to) ? HOW_NEVER : HOW_COPY;
    }
    uint32_t cond = vy_same(w, vy_arg(p, w->w.s.test[id], 0));
    if (const_bool(p, cond, false)) return HOW_NEVER;
    return const_bool(p, cond, true) && leaves ? HOW_ONCE : HOW_COPY;
}

// Each of the following returns the id after which copying continues.
static uint32_t open_if(builder *r, uint32_t id)
{
    uint32_t cond = mapped(r, vy_arg(r->w->w.p, id, 0)), middle = r->w->w.s.partner[id];
    vy_program *fresh = vy_builder_program(r->w->w.b);
    if (const_bool(fresh, cond, true)) {
        r->how[id] = HOW_THEN;
    } else if (const_bool(fresh, cond, false)) {
        r->how[id] = HOW_ELSE;
        return middle;
    } else {
        vy_begin_if(r->w->w.b, cond);
    }
    return id;
}

static uint32_t else_if(builder *r, uint32_t id, uint32_t opener)
{
    uint32_t closer = r->w->w.s.partner[id], n = r->w->w.p->insts.data[id].nargs;
    if (r->how[opener] == HOW_THEN) { // the other arm is skipped, its ENDIF as well
        collect(r, opener, id, 0, n, r->ids);
        spread(r, opener, closer, n, r->ids);
        return closer;
    }
    uint32_t kept = collect(r, opener, id, 0, n, r->ids);
    vy_begin_else(r->w->w.b, kept, r->ids);
    return id;
}

static void close_if(builder *r, uint32_t id, uint32_t opener)
{
    uint32_t n = r->w->w.p->insts.data[id].nargs, *results = r->ids + r->room;
    uint32_t kept = collect(r, opener, id, 0, n, r->ids);
    if (r->how[opener] == HOW_ELSE) {
        spread(r, opener, id, n, r->ids);
        return;
    }
    vy_end_if(r->w->w.b, kept, r->ids, results);
    spread(r, opener, id, n, results);
}

static uint32_t open_loop(builder *r, uint32_t id)
{
    const vy_program *old = r->w->w.p;
    const vy_inst *inst = &old->insts.data[id];
    uint32_t n = vy_slot_count(old, &r->w->w.s, id), *carries = r->ids + r->room;
    uint32_t kept = collect(r, id, id, vy_init_arg(old, id), n, r->ids);
    r->how[id] = (uint8_t)loop_how(r->w, id);
    if (r->how[id] != HOW_COPY) {
        spread(r, id, id, n, r->ids);
        if (inst->op == VY_OP_WHILE) return id;
        uint32_t end = r->w->w.s.partner[id];
        spread(r, id, end, n, r->ids);
        return end;
    }
    if (inst->op == VY_OP_LOOP) {
        uint32_t from = mapped(r, vy_arg(old, id, 0)), to = mapped(r, vy_arg(old, id, 1));
        vy_rewrite_as(&r->w->w, id,
                      vy_begin_loop(r->w->w.b, (vy_type)inst->type, inst->flags, from, to,
                                    mapped(r, vy_arg(old, id, 2)), kept, r->ids, carries));
    } else {
        vy_begin_while(r->w->w.b, 0, kept, r->ids, carries);
    }
    spread(r, id, id, n, carries);
    return id;
}

static uint32_t test_loop(builder *r, uint32_t id)
{
    uint32_t loop = r->w->w.s.partner[id], end = r->w->w.s.partner[loop];
    if (r->how[loop] == HOW_COPY) vy_loop_test(r->w->w.b, mapped(r, vy_arg(r->w->w.p, id, 0)));
    if (r->how[loop] != HOW_NEVER) return id;
    // The condition was computed once; the results are the carries, which are the inits.
    uint32_t n = vy_slot_count(r->w->w.p, &r->w->w.s, loop);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < n; k++)
        if (slot_kept(r->w, loop, end, k)) r->ids[kept++] = r->w->w.map[loop + 1 + k];
    spread(r, loop, end, n, r->ids);
    return end;
}

static void close_loop(builder *r, uint32_t id, uint32_t opener)
{
    const vy_program *old = r->w->w.p;
    uint32_t n = vy_slot_count(old, &r->w->w.s, opener), *results = r->ids + r->room;
    uint32_t kept = collect(r, opener, id, vy_next_arg(old, opener), n, r->ids);
    if (r->how[opener] == HOW_ONCE) {
        spread(r, opener, id, n, r->ids);
        return;
    }
    uint32_t keep = vy_keep(old, &r->w->w.s, opener);
    if (keep) keep = mapped(r, keep);
    if (const_bool(vy_builder_program(r->w->w.b), keep, true)) keep = 0;
    vy_end_loop(r->w->w.b, keep, kept, r->ids, results);
    spread(r, opener, id, n, results);
}

static void close_checkpoint(builder *r, uint32_t id, uint32_t opener)
{
    uint32_t n = r->w->w.p->insts.data[id].nargs, *results = r->ids + r->room;
    uint32_t kept = collect(r, opener, id, 0, n, r->ids);
    vy_end_checkpoint(r->w->w.b, kept, r->ids, results);
    spread(r, opener, id, n, results);
}

static uint32_t without_dead(void *pass, uint32_t id)
{
    builder *r = pass;
    vy_sweep *w = r->w;
    vy_op op = (vy_op)w->w.p->insts.data[id].op;
    bool belongs = op == VY_OP_ELSE || vy_op_closes(op);
    uint32_t opener = belongs ? vy_opener(w->w.p, &w->w.s, id) : id;
    if (w->same[id] != id) r->w->w.map[id] = mapped(r, id);
    if (!w->live[opener] || op == VY_OP_CARRY || op == VY_OP_RESULT) return id;
    vy_rewrite_at(&w->w, id);
    switch (op) {
    case VY_OP_IF: return open_if(r, id);
    case VY_OP_ELSE: return else_if(r, id, opener);
    case VY_OP_ENDIF: close_if(r, id, opener); return id;
    case VY_OP_LOOP:
    case VY_OP_WHILE: return open_loop(r, id);
    case VY_OP_TEST: return test_loop(r, id);
    case VY_OP_ENDLOOP: close_loop(r, id, opener); return id;
    case VY_OP_CHECKPOINT: vy_begin_checkpoint(r->w->w.b); return id;
    case VY_OP_ENDCHECKPOINT: close_checkpoint(r, id, opener); return id;
    default: vy_rewrite_copy(&w->w, id); return id;
    }
}

// Would vy_end_if not build this IF as it is: is it empty, or one of its results its condition?
static bool if_folds(const vy_sweep *w, uint32_t id)
{
    const vy_program *p = w->w.p;
    uint32_t middle = w->w.s.partner[id], end = vy_closer(p, &w->w.s, id);
    uint32_t cond = vy_same(w, vy_arg(p, id, 0)), n = vy_slot_count(p, &w->w.s, id);
    if (vy_id_const(p, cond) || (middle == id + 1 && end == middle + 1)) return true;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t x = vy_same(w, vy_slot_then(p, &w->w.s, id, k));
        uint32_t y = vy_same(w, vy_slot_yield(p, &w->w.s, id, k));
        if (vy_id_type(p, x) == VY_BOOL && const_bool(p, x, true) &&
            (y == cond || const_bool(p, y, false)))
            return true;
    }
    return false;
}

// Is there anything to do about this marker?
static bool marker_folds(const vy_sweep *w, uint32_t id)
{
    const vy_program *p = w->w.p;
    vy_op op = (vy_op)p->insts.data[id].op;
    if (op == VY_OP_ELSE || vy_op_closes(op)) return false; // as their opener
    if (op == VY_OP_RESULT) { // a loop's slot stays for its CARRY, even if the RESULT is dead
        uint32_t opener = vy_opener(p, &w->w.s, id);
        return !w->live[id] && !vy_is_loop((vy_op)p->insts.data[opener].op);
    }
    if (!w->live[id]) return true;
    if (op == VY_OP_IF) return if_folds(w, id);
    if (!vy_is_loop(op)) return false;
    return loop_how(w, id) != HOW_COPY || const_bool(p, vy_keep(p, &w->w.s, id), true);
}

// What there is to do.
typedef struct work {
    bool any;
    bool rebuild;    // more than values without use that are taken out
    uint32_t widest; // construct
} work;

static work find_work(const vy_sweep *w)
{
    const vy_program *p = w->w.p;
    work k = {0};
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *inst = &p->insts.data[id];
        const bool marker = vy_is_marker((vy_op)inst->op);
        if (inst->nargs > k.widest) k.widest = inst->nargs;
        if (marker ? !marker_folds(w, id) : w->live[id]) continue;
        k.any = true;
        k.rebuild |= marker || vy_op_infos[inst->op].effect == VY_WRITE;
    }
    for (uint32_t id = 1; k.any && !k.rebuild && id < p->insts.count; id++) {
        const vy_inst *before = &p->insts.data[id - 1];
        k.rebuild = w->same[id] != id || p->insts.data[id].args < before->args + before->nargs;
    }
    return k;
}

// Takes out values without use, where nothing else changes: a rebuild would make the same, as what
// was not equal before is not equal now, but with a second program beside the first.
static void take_out(vy_sweep *w)
{
    vy_program *p = w->w.p;
    uint32_t *map = w->w.map, count = 1, args = p->insts.data[0].args + p->insts.data[0].nargs;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_inst inst = p->insts.data[id];
        if (!vy_is_marker((vy_op)inst.op) && !w->live[id]) continue;
        for (uint32_t k = 0; k < inst.nargs; k++)
            p->args.data[args + k] = vy_map(map, p->args.data[inst.args + k]);
        inst.args = args;
        args += inst.nargs;
        map[id] = count;
        p->insts.data[count++] = inst;
    }
    p->insts.count = count;
    p->args.count = args;
    vy_vec_fit(&p->insts);
    vy_vec_fit(&p->args);
    p->clean = false;
    vy_structure_free(&w->w.s);
}

bool vy_sweep_end(vy_sweep *w, bool ok, bool *changed)
{
    builder r = {.w = w};
    const work k = ok ? find_work(w) : (work){0};
    if (k.any && !k.rebuild) {
        take_out(w);
        *changed = true;
    } else if (k.any) {
        r.room = k.widest + 1;
        r.how = vy_rewrite_bytes(&w->w);
        r.ids = vy_rewrite_table(&w->w, 2 * (size_t)r.room * sizeof *r.ids);
        if (!w->w.oom) vy_rewrite_run(&w->w, without_dead, &r);
    }
    return vy_rewrite_end(&w->w, ok, changed);
}
