// SPDX-License-Identifier: MIT
// eval_decode.c: program → execution form.
//
// Resolves branch targets, allocates a register for every value, selects the handler of each
// instruction.  CARRY and RESULT are not executed: the constructs move values into their registers.
//
// Registers are reused, or a program of a million instructions would need a million of them per
// lane.  The live range of a value extends from its definition to its last use; a use inside a
// nested construct counts as one at the end of that construct, so that no other value gets the
// register while some lanes wait outside the construct or run another iteration of it.  A loop's
// k-th CARRY and k-th RESULT share one register, which is written only for the lanes that make the
// move and is live from the opening marker on; likewise an IF's RESULTs.  Leaves have registers of
// their own that no instruction writes.
#include "ir/core/flow.h"
#include "ir/eval/eval.h"

typedef struct decoder {
    vy_machine *m;
    const vy_program *p;
    vy_structure s;
    uint32_t n;      // instructions
    uint32_t *same;  // id → the id whose register it shares (CARRY for a loop's RESULT)
    uint32_t *last;  // by such an id: position of the last use, 0: none
    uint32_t *dying; // position → first id whose last use is here, chained by `next_dying`
    uint32_t *next_dying;
    uint32_t *reg;      // by such an id
    uint32_t *position; // id → index in code
    uint32_t *stamp;    // by register: 1 + place among the destinations of the current move
    uint32_t *stack;    // openers, by depth
    vy_id_vec spare;    // free registers
    uint32_t operands;  // used entries of m->operands
} decoder;

static const vy_inst *inst_of(const decoder *d, uint32_t id) { return &d->p->insts.data[id]; }

// Values that leave the construct (operands moved at its markers) and where they start in the
// operands of marker `id`.
static uint32_t moves_from(const decoder *d, uint32_t id)
{
    return inst_of(d, id)->op == VY_OP_ENDLOOP ? vy_next_arg(d->p, d->s.partner[id])
                                               : vy_init_arg(d->p, id);
}

// ------------------------------------------------------------------------------------ live ranges
static void extend(decoder *d, uint32_t id, uint32_t position)
{
    id = d->same[id];
    if (position > d->last[id]) d->last[id] = position;
}

// Depth of the region in which the value is defined.
static uint32_t home_depth(const decoder *d, uint32_t id)
{
    const uint16_t op = inst_of(d, id)->op;
    return d->s.depth[id] + (op == VY_OP_LOOP); // the variable lives inside
}

static void use(decoder *d, uint32_t id, uint32_t user)
{
    if (VY_IS_LEAF(id)) {
        d->m->leaf_regs[VY_LEAF_INDEX(id)] = 0; // numbered below
        return;
    }
    const uint32_t depth = home_depth(d, id);
    extend(d, id, d->s.depth[user] > depth ? vy_closer(d->p, &d->s, d->stack[depth]) : user);
}

static void share_loop_results(decoder *d, uint32_t loop)
{
    const uint32_t end = vy_closer(d->p, &d->s, loop);
    const uint32_t n = vy_slot_count(d->p, &d->s, loop);
    for (uint32_t k = 0; k < n; k++) {
        d->same[vy_result(d->p, &d->s, loop, k)] = vy_carry(loop, k);
        extend(d, vy_carry(loop, k), end);
    }
    if (inst_of(d, loop)->op != VY_OP_LOOP) return;
    extend(d, loop, end);
    use(d, vy_arg(d->p, loop, 2), end);
}

static void find_live_ranges(decoder *d)
{
    for (uint32_t id = 1; id < d->n; id++) d->same[id] = id;
    for (uint32_t id = 1; id < d->n; id++) {
        const vy_inst *i = inst_of(d, id);
        if (vy_op_opens((vy_op)i->op)) d->stack[d->s.depth[id]] = id;
        if (i->op == VY_OP_CARRY) continue;
        if (i->op == VY_OP_RESULT) { // written from ELSE on, even if unused
            extend(d, id, vy_arg(d->p, id, 0));
            continue;
        }
        for (uint32_t k = 0; k < i->nargs; k++) use(d, vy_arg(d->p, id, k), id);
        if (vy_is_loop((vy_op)i->op)) share_loop_results(d, id);
    }
    for (uint32_t id = 1; id < d->n; id++) {
        if (d->same[id] != id) continue;
        const uint32_t at = d->last[id] ? d->last[id] : id;
        d->next_dying[id] = d->dying[at];
        d->dying[at] = id;
    }
}

// -------------------------------------------------------------------------------------- registers
static void decode_instruction(decoder *d, uint32_t id)
{
    d->reg[id] = d->spare.count ? d->spare.data[--d->spare.count] : d->m->reg_count++;
}

static uint32_t reg_of(const decoder *d, uint32_t id)
{
    return VY_IS_LEAF(id) ? d->m->leaf_regs[VY_LEAF_INDEX(id)] : d->reg[d->same[id]];
}

// The slots that are defined at the opener `id`: CARRYs of a loop, else RESULTs.
static uint32_t results_of(const decoder *d, uint32_t id, uint32_t *count)
{
    *count = vy_slot_count(d->p, &d->s, id);
    return vy_is_loop((vy_op)inst_of(d, id)->op) ? vy_carry(id, 0) : vy_result(d->p, &d->s, id, 0);
}

static void define(decoder *d, uint32_t id)
{
    const vy_inst *i = inst_of(d, id);
    if (i->type != VY_VOID) decode_instruction(d, id);
    if (!vy_op_opens((vy_op)i->op)) return;
    uint32_t count;
    const uint32_t first = results_of(d, id, &count);
    for (uint32_t k = 0; k < count; k++) decode_instruction(d, first + k);
    if (i->op == VY_OP_LOOP)
        decode_instruction(d, vy_closer(d->p, &d->s, id)); // counts iterations, dies at ENDLOOP
}

static bool has_register(const decoder *d, uint32_t id)
{
    const vy_inst *i = inst_of(d, id);
    if (i->op == VY_OP_ENDLOOP) return inst_of(d, d->s.partner[id])->op == VY_OP_LOOP;
    return i->type != VY_VOID;
}

static bool release(decoder *d, uint32_t at)
{
    for (uint32_t id = d->dying[at]; id; id = d->next_dying[id])
        if (has_register(d, id) && !vy_vec_push(&d->spare, d->reg[id])) return false;
    return true;
}

// ------------------------------------------------------------------------------------ instructions
static void decode_moves(decoder *d, vy_xinst *x, uint32_t id, uint32_t opener)
{
    vy_machine *m = d->m;
    uint32_t count;
    const uint32_t first = results_of(d, opener, &count);
    x->moves = x->args + moves_from(d, id);
    x->to = d->operands;
    x->nmoves = count;
    for (uint32_t k = 0; k < count; k++) m->operands[d->operands++] = reg_of(d, first + k);
    for (uint32_t k = 0; k < count; k++) d->stamp[m->operands[x->to + k]] = k + 1;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t place = d->stamp[m->operands[x->moves + k]];
        if (place && place != k + 1) x->clash = true;
    }
    for (uint32_t k = 0; k < count; k++) d->stamp[m->operands[x->to + k]] = 0;
    if (x->clash && count > m->max_moves) m->max_moves = count;
}

// Branch targets are instruction ids until the code is complete.
static void decode_control(decoder *d, vy_xinst *x, uint32_t id)
{
    const vy_inst *i = inst_of(d, id);
    const uint32_t opener = vy_opener(d->p, &d->s, id);
    const vy_inst *o = inst_of(d, opener);
    const uint32_t end = vy_closer(d->p, &d->s, opener);
    x->depth = d->s.depth[opener];
    if (x->depth >= d->m->max_depth) d->m->max_depth = x->depth + 1;
    x->target = end + 1;
    if (i->op == VY_OP_IF) x->target = d->s.partner[id] + 1;
    if (i->op == VY_OP_ENDLOOP) x->target = opener + 1;
    x->run = vy_eval_flow((vy_op)i->op, (vy_op)o->op);
    if (i->op != VY_OP_IF && i->op != VY_OP_TEST && i->op != VY_OP_CHECKPOINT)
        decode_moves(d, x, id, opener);
    x->flags = o->flags;
    if (o->op == VY_OP_LOOP) {
        x->dst = d->reg[opener];
        x->aux = d->reg[end];
        x->c = reg_of(d, vy_arg(d->p, opener, 2)); // step
        x->type = o->type;
    }
}

static void decode_inst(decoder *d, vy_xinst *x, uint32_t id)
{
    vy_machine *m = d->m;
    const vy_inst *i = inst_of(d, id);
    const vy_op op = (vy_op)i->op;
    const uint32_t *args = vy_args(d->p, id);
    *x = (vy_xinst){.args = i->args,
                    .inst = id,
                    .aux = i->aux,
                    .op = i->op,
                    .nargs = i->nargs,
                    .type = i->type,
                    .flags = i->flags};
    for (uint32_t k = 0; k < i->nargs; k++) m->operands[i->args + k] = reg_of(d, args[k]);
    if (i->nargs) {
        x->operand_type = (uint8_t)vy_id_type(d->p, args[i->nargs - 1]);
        x->a = m->operands[i->args];
    }
    if (i->nargs > 1) x->b = m->operands[i->args + 1];
    if (i->nargs > 2) x->c = m->operands[i->args + 2];
    if (i->type != VY_VOID) x->dst = d->reg[id];
    if (vy_op_infos[op].effect == VY_CTRL)
        decode_control(d, x, id);
    else if (vy_op_is_memory(op))
        x->run = vy_eval_memory(op);
    else if (op == VY_OP_BARRIER || vy_op_is_subgroup(op))
        x->run = vy_eval_subgroup(op);
    else
        x->run = vy_eval_pure(op, (vy_type)x->operand_type, (vy_type)x->type, m->options.f64);
    if (op == VY_OP_BARRIER || vy_op_is_subgroup(op)) m->cooperative = true;
    m->subgroups |= vy_op_is_subgroup(op);
}

static bool decode_all(decoder *d)
{
    vy_machine *m = d->m;
    for (uint32_t id = 1; id < d->n; id++) {
        const uint16_t op = inst_of(d, id)->op;
        d->position[id] = m->code_count;
        if (op != VY_OP_CARRY && op != VY_OP_RESULT) {
            define(d, id);
            decode_inst(d, &m->code[m->code_count++], id);
        }
        if (!release(d, id)) return false;
    }
    d->position[d->n] = m->code_count;
    for (uint32_t k = 0; k < m->code_count; k++) {
        vy_xinst *x = &m->code[k];
        if (vy_op_infos[x->op].effect == VY_CTRL) x->target = d->position[x->target];
    }
    return true;
}

static bool varies(const vy_leaf *leaf)
{
    return leaf->kind == VY_LEAF_OVER ||
           (leaf->kind == VY_LEAF_BUILTIN && leaf->index != VY_NUM_GROUPS &&
            leaf->index != VY_SUBGROUP_SIZE);
}

static void number_leaves(decoder *d)
{
    vy_machine *m = d->m;
    m->reg_count = 1; // register 0 is read by absent operands
    for (uint32_t k = 0; k < d->p->leaves.count; k++) {
        if (m->leaf_regs[k] == UINT32_MAX) continue;
        m->leaf_regs[k] = m->reg_count++;
        if (varies(&d->p->leaves.data[k])) m->varying[m->varying_count++] = k;
    }
}

static bool allocate(decoder *d)
{
    vy_machine *m = d->m;
    const uint32_t n = d->n, leaves = d->p->leaves.count;
    uint32_t **const by_id[] = {&d->same,       &d->last, &d->dying,
                                &d->next_dying, &d->reg,  &d->position};
    for (size_t k = 0; k < sizeof by_id / sizeof *by_id; k++)
        *by_id[k] = vy_eval_alloc(m, (uint64_t)n + 1, sizeof(uint32_t));
    // Besides its value, an instruction needs at most one register, an iteration count.
    d->stamp = vy_eval_alloc(m, 2 * (uint64_t)n + leaves + 1, sizeof *d->stamp);
    uint32_t deepest = 0;
    for (uint32_t id = 1; id < n; id++)
        if (d->s.depth[id] > deepest) deepest = d->s.depth[id];
    d->stack = vy_eval_alloc(m, (uint64_t)deepest + 1, sizeof *d->stack);
    m->code = vy_eval_alloc(m, n, sizeof *m->code);
    // Moves have as many destinations as the operands they move.
    m->operands = vy_eval_alloc(m, 2 * (uint64_t)d->p->args.count, sizeof *m->operands);
    m->leaf_regs = vy_eval_alloc(m, leaves, sizeof *m->leaf_regs);
    m->varying = vy_eval_alloc(m, leaves, sizeof *m->varying);
    d->operands = d->p->args.count;
    for (uint32_t k = 0; k < leaves && m->leaf_regs; k++) m->leaf_regs[k] = UINT32_MAX;
    return !m->failed;
}

bool vy_eval_decode(vy_machine *m)
{
    decoder d = {.m = m, .p = m->p, .n = m->p->insts.count};
    bool ok = vy_structure_make(m->p, &d.s);
    if (ok) ok = allocate(&d);
    if (ok) {
        find_live_ranges(&d);
        number_leaves(&d);
        ok = decode_all(&d);
    }
    if (!ok && !m->failed) vy_eval_fail(m, VY_E_MEMORY, 0, 0, "out of memory");
    for (uint32_t id = 1; id < m->p->buffers.count; id++)
        m->cooperative |= m->p->buffers.data[id].cls == VY_SHARED;
    uint32_t *const by_id[] = {d.same, d.last,     d.dying, d.next_dying,
                               d.reg,  d.position, d.stamp, d.stack};
    for (size_t k = 0; k < sizeof by_id / sizeof *by_id; k++) vy_free(by_id[k]);
    vy_vec_free(&d.spare);
    vy_structure_free(&d.s);
    return ok;
}
