// SPDX-License-Identifier: MIT
// check_rules.c: what the language forbids although it is well-formed code.
//
//   x[i] = 1;           x is `in`
//   y = out_buf[i];     nothing was stored to out_buf before, whatever happens
//   for k in 0..n step 0 { … }
//
// Reading an `out` buffer is an error only where no store to it can have run before.  Looking for a
// store earlier in the text is not enough: in a loop, a later one runs before the next iteration.
// So a load is refused if the first store is neither before it nor inside the outermost loop around
// it, unless the load only starts a sum (sum_loads.c), which relies on `out` buffers being zero at
// first.  What this accepts wrongly, the interpreter reports.  Derived programs are exempt: they
// read gradients that nothing was added to yet, which are zero.
#include "ir/check/check.h"

static bool refuse(vy_program *p, uint32_t id, vy_code code, const char *fix, const char *what)
{
    const vy_inst *i = &p->insts.data[id];
    vy_fail(p->module, code, i->line, i->column, fix, what, p->buffers.data[i->aux].name);
    return false;
}

static bool atomic_fits(vy_op op, vy_type t)
{
    if (vy_type_is_float(t))
        return op != VY_OP_ATOMIC_AND && op != VY_OP_ATOMIC_OR && op != VY_OP_ATOMIC_XOR;
    return t >= VY_I32 && t <= VY_U64;
}

static bool check_memory(vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_buf *b = &p->buffers.data[i->aux];
    vy_op op = (vy_op)i->op;
    if (vy_op_infos[op].effect == VY_WRITE && b->cls == VY_IN)
        return refuse(p, id, VY_E_STORE_IN, NULL,
                      "`%s` is an `in` parameter and cannot be written");
    if (!vy_op_is_atomic(op)) return true;
    if (b->cls == VY_LOCAL)
        return refuse(p, id, VY_E_ATOMIC_USE,
                      "use plain loads and stores: no other invocation sees it",
                      "`%s` is a local array, which has no atomics");
    if (!atomic_fits(op, b->type))
        return refuse(p, id, VY_E_ATOMIC_USE, NULL,
                      "the elements of `%s` have no atomic of this kind");
    return true;
}

static bool check_step(vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_scalar *step = vy_id_const(p, vy_arg(p, id, 2));
    bool bad = step && (vy_type_is_signed((vy_type)i->type) ? step->i <= 0 : step->u == 0);
    if (!bad) return true;
    vy_fail(p->module, VY_E_STEP, i->line, i->column, NULL, "the step of this loop is %lld",
            (long long)step->i);
    return false;
}

// Views of one binding share its memory.
static uint32_t memory_of(const vy_program *p, uint32_t buffer)
{
    uint32_t of = p->buffers.data[buffer].view_of;
    return of ? of : buffer;
}

// first_store[b]: the first write to memory b, or 0.
static bool check_reads(vy_program *p, const vy_structure *s, const uint32_t *first_store,
                        const uint8_t *sum)
{
    uint32_t loop_end = 0; // end of the outermost loop around the current instruction
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        vy_op op = (vy_op)i->op;
        if (vy_is_loop(op) && id > loop_end) loop_end = s->partner[id];
        if (op != VY_OP_LOAD) continue;
        const vy_buf *b = &p->buffers.data[i->aux];
        uint32_t store = first_store[memory_of(p, i->aux)];
        if (b->cls != VY_OUT || b->init != VY_INIT_NONE) continue;
        if (sum[id] || (store && (store < id || store < loop_end))) continue;
        return refuse(
            p, id, VY_E_READ_OUT, NULL,
            "`%s` is an `out` parameter and is read here before anything is stored to it");
    }
    return true;
}

bool vy_check_rules(vy_program *p, const vy_structure *s)
{
    uint32_t *first_store = vy_realloc(NULL, p->buffers.count * sizeof *first_store);
    uint8_t *sum = vy_realloc(NULL, p->insts.count);
    if (!first_store || !sum || !vy_find_sum_loads(p, s, sum)) {
        vy_free(first_store);
        vy_free(sum);
        vy_fail_oom(p->module);
        return false;
    }
    for (uint32_t b = 0; b < p->buffers.count; b++) first_store[b] = 0;
    bool ok = true, derived = p->order > 0;
    for (uint32_t id = 1; id < p->insts.count && ok; id++) {
        const vy_inst *i = &p->insts.data[id];
        vy_op op = (vy_op)i->op;
        if (op == VY_OP_LOOP) ok = check_step(p, id);
        if (!vy_op_is_memory(op)) continue;
        ok = check_memory(p, id);
        uint32_t *first = &first_store[memory_of(p, i->aux)];
        if (op != VY_OP_LOAD && !*first) *first = id;
    }
    ok = ok && (derived ||
                (check_reads(p, s, first_store, sum) && vy_check_races(p, s, sum, first_store)));
    vy_free(sum);
    vy_free(first_store);
    return ok;
}
