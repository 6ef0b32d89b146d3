// SPDX-License-Identifier: MIT
// early_sums_find.c: see early_sums.h.  Needs valid structure.
#include "ir/facts/memory.h"
#include "ir/facts/price.h"
#include "ir/pass/scalar/sum_order.h"
#include "ir/pass/sums/early_sums.h"

enum { FAR = 128, MAX_LOOPS = 8, MAX_STEPS = 48, MAX_SUMS = 6 };

typedef struct finding {
    vy_rewrite *w;
    vy_early_sums *e;
    vy_sum_order order;
    const uint32_t *uses;
    uint32_t *read; // by buffer: the loop whose reads were marked last, if it reads it
    uint32_t steps; // of the search
    bool stays;     // the loop is needed without its sums, too
    bool shares;    // a buffer was found that the earlier loop reads
} finding;

// Marks the buffers that the loop reads, outside of other constructs.
static void mark_reads(const finding *x, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < x->w->s.partner[loop]; id++) {
        const vy_inst *i = &x->w->p->insts.data[id];
        if (i->op == VY_OP_LOAD && x->w->s.parent[id] == loop) x->read[i->aux] = loop;
    }
}

static bool is_input(const vy_program *p, uint32_t buffer)
{
    return p->buffers.data[buffer].cls == VY_IN &&
           p->buffers.data[vy_memory_of(p, buffer)].cls == VY_IN;
}

// May the earlier loop compute what the instruction does?  If the other one stays, that is done
// twice.
static bool may_move(const finding *x, const vy_inst *i)
{
    if (i->op == VY_OP_LOAD) return is_input(x->w->p, i->aux);
    return x->stays ? vy_is_cheap((vy_op)i->op) : vy_op_infos[i->op].effect == VY_PURE;
}

// Can the loop `at` compute what `loop` computes as `id`?  Recursion is at most MAX_STEPS deep.
static bool available(finding *x, uint32_t loop, uint32_t at, uint32_t id)
{
    const vy_program *p = x->w->p;
    if (VY_IS_LEAF(id) || id < at || id == loop) return true;
    const vy_inst *i = &p->insts.data[id];
    if (id < loop || ++x->steps > MAX_STEPS || !may_move(x, i)) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!available(x, loop, at, vy_arg(p, id, k))) return false;
    if (i->op == VY_OP_LOAD) x->shares |= x->read[i->aux] == at;
    return true;
}

static bool is_invariant(uint32_t loop, uint32_t id) { return VY_IS_LEAF(id) || id < loop; }

int vy_early_operand(const vy_program *p, uint32_t loop, uint32_t id)
{
    switch (p->insts.data[id].op) {
    case VY_OP_NEG: return 0;
    case VY_OP_ADD: return vy_arg(p, id, 0) == vy_arg(p, id, 1) ? 0 : -1;
    case VY_OP_MUL:
        if (is_invariant(loop, vy_arg(p, id, 0))) return 1;
        return is_invariant(loop, vy_arg(p, id, 1)) ? 0 : -1;
    case VY_OP_DIV: return is_invariant(loop, vy_arg(p, id, 1)) ? 0 : -1;
    case VY_OP_SELECT:
        if (!is_invariant(loop, vy_arg(p, id, 0))) return -1;
        if (vy_is_zero_float(p, vy_arg(p, id, 2))) return 1;
        return vy_is_zero_float(p, vy_arg(p, id, 1)) ? 2 : -1;
    default: return -1;
    }
}

// Takes factors from the term until the earlier loop can compute the rest.
static bool find_factor(finding *x, uint32_t at, vy_early_sum *m)
{
    m->factor = m->term;
    for (uint32_t depth = 0; depth < VY_MOST_FACTORS; depth++) {
        const uint32_t steps = x->steps;
        if (available(x, m->loop, at, m->factor)) return true;
        x->steps = steps;
        if (is_invariant(m->loop, m->factor)) return false;
        const int operand = vy_early_operand(x->w->p, m->loop, m->factor);
        if (operand < 0) return false;
        m->factor = vy_arg(x->w->p, m->factor, (uint32_t)operand);
        m->scaled = true;
    }
    return false;
}

// Is the slot a sum of a gradient, with one term?
static bool find_sum(finding *x, uint32_t loop, uint32_t slot, vy_early_sum *m)
{
    const vy_program *p = x->w->p;
    const uint32_t result = vy_result(p, &x->w->s, loop, slot), carry = vy_carry(loop, slot);
    const uint32_t next = vy_slot_next(p, &x->w->s, loop, slot);
    const vy_inst *i = &p->insts.data[VY_IS_LEAF(next) ? 0 : next];
    const vy_type type = (vy_type)p->insts.data[result].type;
    if ((type != VY_F32 && type != VY_F64) || x->uses[carry] != 1) return false;
    if ((i->op != VY_OP_ADD && i->op != VY_OP_SUB) || x->uses[next] != 1) return false;
    const uint32_t side = vy_arg(p, next, 0) == carry ? 1 : 0;
    if (vy_arg(p, next, 1 - side) != carry) return false;
    *m = (vy_early_sum){.loop = loop, .slot = slot, .term = vy_arg(p, next, side)};
    m->minus = i->op == VY_OP_SUB;
    return !(m->minus && side == 0) && vy_is_adjoint(&x->order, result, &x->w->arena, &x->w->oom);
}

static bool is_counted(const finding *x, uint32_t id)
{
    return x->w->p->insts.data[id].op == VY_OP_LOOP && !vy_exits(x->w->p, id);
}

static bool same_range(const finding *x, uint32_t a, uint32_t b)
{
    const vy_program *p = x->w->p;
    if (!is_counted(x, a) || !is_counted(x, b)) return false;
    bool same = p->insts.data[a].type == p->insts.data[b].type;
    for (uint32_t k = 0; k < 3; k++) same &= vy_arg(p, a, k) == vy_arg(p, b, k);
    return same;
}

// Does the loop do anything but carry values, and add to gradients (*adds)?
static bool acts(const finding *x, uint32_t loop, bool *adds)
{
    const vy_program *p = x->w->p;
    *adds = false;
    for (uint32_t id = loop + 1; id < x->w->s.partner[loop]; id++) {
        const vy_inst *i = &p->insts.data[id];
        const vy_effect effect = vy_op_infos[i->op].effect;
        if (effect != VY_WRITE && effect != VY_CONV) continue;
        if (i->op != VY_OP_ATOMIC_ADD || !vy_is_gradient(p->buffers.data[i->aux].role.kind))
            return true;
        *adds = true;
    }
    return false;
}

// Will `fuse_loops` try the loop with the one after it, which reads the same memory?
static bool is_followed(const finding *x, uint32_t loop)
{
    const vy_program *p = x->w->p;
    const uint32_t first = vy_last_result(p, &x->w->s, loop) + 1;
    for (uint32_t id = first; id < p->insts.count && id < first + FAR; id++) {
        if (same_range(x, loop, id)) {
            mark_reads(x, id);
            for (uint32_t k = loop + 1; k < x->w->s.partner[loop]; k++)
                if (p->insts.data[k].op == VY_OP_LOAD && x->read[p->insts.data[k].aux] == id)
                    return true;
            return false;
        }
        const vy_effect effect = vy_op_infos[p->insts.data[id].op].effect;
        if (effect != VY_PURE && effect != VY_READ) return false;
    }
    return false;
}

// The instruction before a construct or value of the same block; 0: there is none.
static uint32_t before(const finding *x, uint32_t id)
{
    const vy_op op = (vy_op)x->w->p->insts.data[--id].op;
    if (op == VY_OP_CARRY || !id) return 0;
    if (op == VY_OP_RESULT || !vy_is_marker(op)) return id;
    const uint32_t opener = vy_opener(x->w->p, &x->w->s, id);
    return vy_closer(x->w->p, &x->w->s, opener) == id ? opener : 0;
}

// Can `at` make all sums of the loop?  Then they are the last of x->e->sums.
static bool takes_all(finding *x, uint32_t loop, uint32_t at)
{
    const uint32_t n = vy_slot_count(x->w->p, &x->w->s, loop), old = x->e->sums.count;
    x->steps = 0;
    x->shares = false;
    mark_reads(x, at);
    uint32_t there = 0;
    for (uint32_t k = x->e->to[at]; k; k = x->e->sums.data[k - 1].next) there++;
    bool ok = there + n <= MAX_SUMS;
    for (uint32_t k = 0; ok && k < n; k++) {
        vy_early_sum m;
        ok = find_sum(x, loop, k, &m) && find_factor(x, at, &m);
        if (ok && !vy_vec_push(&x->e->sums, m)) x->w->oom = true;
    }
    if (ok && x->shares && !x->w->oom) return true;
    x->e->sums.count = old;
    return false;
}

static void give(finding *x, uint32_t loop, uint32_t at, uint32_t first)
{
    x->e->from[loop] = first + 1;
    for (uint32_t k = first; k < x->e->sums.count; k++) {
        x->e->sums.data[k].next = x->e->to[at];
        x->e->to[at] = k + 1;
    }
}

// The first loop of the block that can make the sums.
static void find_earlier(finding *x, uint32_t loop)
{
    vy_early_sum m;
    uint32_t found[MAX_LOOPS], n = 0, id = loop;
    const uint32_t slots = vy_slot_count(x->w->p, &x->w->s, loop);
    for (uint32_t k = 0; k < slots; k++)
        if (!find_sum(x, loop, k, &m)) return;
    if (!slots || acts(x, loop, &x->stays) || (x->stays && !is_followed(x, loop))) return;
    for (uint32_t n_seen = 0; n < MAX_LOOPS && n_seen < FAR && (id = before(x, id)); n_seen++)
        if (same_range(x, id, loop) && !x->e->from[id]) found[n++] = id;
    while (n-- && !x->w->oom) {
        const uint32_t first = x->e->sums.count;
        if (!takes_all(x, loop, found[n])) continue;
        give(x, loop, found[n], first);
        return;
    }
}

bool vy_find_early_sums(vy_rewrite *w, vy_early_sums *e)
{
    finding x = {.w = w, .e = e, .order = {.p = w->p, .s = &w->s}};
    x.uses = vy_rewrite_uses(w);
    x.read = vy_rewrite_table(w, w->p->buffers.count * sizeof *x.read);
    e->to = vy_rewrite_ids(w);
    e->from = vy_rewrite_ids(w);
    if (!x.uses || !x.read || !e->to || !e->from) return false;
    for (uint32_t id = 1; !w->oom && id < w->p->insts.count; id++)
        if (is_counted(&x, id)) find_earlier(&x, id);
    return !w->oom;
}
