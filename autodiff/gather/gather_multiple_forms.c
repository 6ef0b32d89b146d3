// SPDX-License-Identifier: MIT
// gather_multiple_forms.c: what instructions are, of the forms that gather_multiples.c rewrites.
#include "autodiff/gather/gather_multiples.h"

enum { MOST_TIMES = 16 };

// --------------------------------------------------------------------------------------- operands
const vy_leaf *gather_leaf_of(const vy_program *p, uint32_t id)
{
    id = gather_plain(p, id);
    return VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
}

static bool product_of(const vy_program *p, uint32_t id, product *out)
{
    int64_t one;
    id = gather_plain(p, id);
    if (!VY_IS_LEAF(id) && p->insts.data[id].op == VY_OP_MAX &&
        vy_id_int(p, vy_arg(p, id, 1), &one) && one <= 1)
        id = vy_arg(p, id, 0); // itself, of what is at least 1
    const vy_leaf *l = gather_leaf_of(p, id);
    id = gather_plain(p, id);
    if (!l)
        return p->insts.data[id].op == VY_OP_MUL && product_of(p, vy_arg(p, id, 0), out) &&
               product_of(p, vy_arg(p, id, 1), out);
    if (l->kind != VY_LEAF_SCALAR || !vy_is_narrow((vy_type)l->type) || out->count == MOST_FACTORS)
        return false;
    out->scalar[out->count++] = l->index;
    return true;
}

bool gather_is_divisor(const vy_program *p, uint32_t id, product *out)
{
    *out = (product){0};
    return product_of(p, id, out);
}

static uint8_t kind_of(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    int64_t c;
    product d;
    id = gather_plain(p, id);
    if (!VY_IS_LEAF(id)) {
        if (m->kind[id] == OTHER && gather_is_divisor(p, id, &d)) return NATURAL;
        return m->kind[id] == SAME ? kind_of(m, vy_arg(p, id, 2)) : m->kind[id];
    }
    if (vy_id_int(p, id, &c)) return c >= 0 && c <= INT32_MAX ? NATURAL : OTHER;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_SCALAR && vy_is_narrow((vy_type)l->type) ? NATURAL : OTHER;
}

// The instruction of which `id` is the value, if that is a multiple and a rest; 0: it is not.
uint32_t gather_multiple_of(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    for (id = gather_plain(p, id); !VY_IS_LEAF(id) && m->kind[id] == SAME;)
        id = gather_plain(p, vy_arg(p, id, 2));
    const uint8_t kind = VY_IS_LEAF(id) ? OTHER : m->kind[id];
    return kind == MULTIPLE || kind == NEAR || kind == LEFT ? id : 0;
}

// ------------------------------------------------------------------------------------------- forms
// i * 4, i << 2: by what; 0: it is none.
int64_t gather_scale_of(const vy_program *p, uint32_t id)
{
    int64_t c;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (op != VY_OP_MUL && op != VY_OP_SHL) return 0;
    const vy_leaf *l = gather_leaf_of(p, vy_arg(p, id, 0));
    if (!l || l->kind != VY_LEAF_OVER || !vy_id_int(p, vy_arg(p, id, 1), &c) || c < 0 ||
        c > MOST_TIMES)
        return 0;
    if (op == VY_OP_SHL) c = c > 4 ? 0 : INT64_C(1) << c;
    return c;
}

// Is it a quotient by `times`, or the remainder, as operator or as shift or mask?
static bool is_divided(const vy_program *p, uint32_t id, int64_t times, bool *rest)
{
    int64_t c;
    const vy_op op = (vy_op)p->insts.data[id].op;
    *rest = op == VY_OP_REM || op == VY_OP_AND;
    if ((op != VY_OP_DIV && op != VY_OP_SHR && !*rest) || !vy_id_int(p, vy_arg(p, id, 1), &c))
        return false;
    if (op == VY_OP_SHR) return c >= 0 && c <= 4 && INT64_C(1) << c == times;
    return c == times - (op == VY_OP_AND);
}

// i · w.
static bool is_row(const vy_program *p, uint32_t x, scaled *out)
{
    if (VY_IS_LEAF(x) || p->insts.data[x].op != VY_OP_MUL) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const vy_leaf *i = gather_leaf_of(p, vy_arg(p, x, k)),
                      *w = gather_leaf_of(p, vy_arg(p, x, 1 - k));
        if (!i || !w || i->kind != VY_LEAF_OVER || w->kind != VY_LEAF_SCALAR ||
            !vy_is_narrow((vy_type)w->type))
            continue;
        out->scalar = w->index;
        out->over = i->index;
        return true;
    }
    return false;
}

// The counter of a loop within 0..w, w being that scalar; 0: it is none.
static uint32_t counter_below(const vy_program *p, uint32_t id, uint32_t scalar)
{
    int64_t from;
    id = gather_plain(p, id);
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_LOOP) return 0;
    const uint32_t to = vy_arg(p, id, 1);
    const vy_leaf *end = VY_IS_LEAF(to) ? &p->leaves.data[VY_LEAF_INDEX(to)] : NULL;
    const bool below = end && end->kind == VY_LEAF_SCALAR && end->index == scalar;
    return below && vy_id_int(p, vy_arg(p, id, 0), &from) && from >= 0 ? id : 0;
}

bool gather_is_scaled(const vy_program *p, uint32_t id, int64_t times, scaled *out)
{
    *out = (scaled){0};
    if (!is_divided(p, id, times, &out->rest)) return false;
    const uint32_t x = gather_plain(p, vy_arg(p, id, 0));
    if (VY_IS_LEAF(x) || p->insts.data[x].op != VY_OP_ADD) return is_row(p, x, out);
    for (uint32_t k = 0; k < 2 && !out->counter; k++)
        if (is_row(p, gather_plain(p, vy_arg(p, x, k)), out))
            out->counter = counter_below(p, vy_arg(p, x, 1 - k), out->scalar);
    return out->counter != 0;
}

// Is it the number of an iteration of a loop over 0..times?
static bool is_counter(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    int64_t from, to;
    id = gather_plain(p, id);
    return !VY_IS_LEAF(id) && p->insts.data[id].op == VY_OP_LOOP &&
           vy_id_int(p, vy_arg(p, id, 0), &from) && vy_id_int(p, vy_arg(p, id, 1), &to) &&
           from >= 0 && to <= m->times;
}

// (v ^ w) < 0 of a multiple and of what is not negative.
static bool is_sign(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    int64_t zero;
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_LT) return false;
    const uint32_t x = vy_arg(p, id, 0);
    if (!vy_id_int(p, vy_arg(p, id, 1), &zero) || zero || VY_IS_LEAF(x) ||
        p->insts.data[x].op != VY_OP_XOR)
        return false;
    return kind_of(m, vy_arg(p, x, 0)) && kind_of(m, vy_arg(p, x, 1)) &&
           (gather_multiple_of(m, vy_arg(p, x, 0)) || gather_multiple_of(m, vy_arg(p, x, 1)));
}

// Is it false, as a sign differs?
static bool is_never(const multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    if (VY_IS_LEAF(id)) return false;
    if (p->insts.data[id].op != VY_OP_AND) return m->kind[id] == NEVER;
    return is_never(m, vy_arg(p, id, 0)) || is_never(m, vy_arg(p, id, 1));
}

static void see_sum(multiples *m, uint32_t id)
{
    const vy_program *p = m->w.p;
    const uint32_t x = gather_multiple_of(m, vy_arg(p, id, 0));
    int64_t c;
    if (!x || m->kind[x] != MULTIPLE) return;
    if (!m->rest[x] && is_counter(m, vy_arg(p, id, 1))) m->kind[id] = NEAR;
    if (!vy_id_int(p, vy_arg(p, id, 1), &c)) return;
    if (c < 0 || m->rest[x] + c >= m->times) return;
    m->kind[id] = MULTIPLE;
    m->rest[id] = (uint8_t)(m->rest[x] + c);
}

static void see_quotient(multiples *m, uint32_t id, bool remainder)
{
    const vy_program *p = m->w.p;
    const uint32_t x = gather_multiple_of(m, vy_arg(p, id, 0));
    product d;
    if (!x || !gather_is_divisor(p, vy_arg(p, id, 1), &d)) return;
    if (remainder && m->kind[x] == NEAR) return;
    m->kind[id] = remainder ? LEFT : DIVIDED;
    m->rest[id] = m->rest[x];
}

static void see_scaled(multiples *m, uint32_t id)
{
    scaled r;
    if (!gather_is_scaled(m->w.p, id, m->times, &r)) return;
    m->kind[id] = SCALED;
    if (r.counter) m->kind[r.counter] = WHOLE;
}

// What instruction `id` is, if scalars are as they would be assumed to be.
void gather_see_multiple(multiples *m, uint32_t id)
{
    const vy_inst *i = &m->w.p->insts.data[id];
    if (is_sign(m, id)) m->kind[id] = NEVER;
    if (!vy_is_narrow((vy_type)i->type)) return;
    see_scaled(m, id);
    switch ((vy_op)i->op) {
    case VY_OP_MUL:
    case VY_OP_SHL: {
        const int64_t by = gather_scale_of(m->w.p, id);
        if (by == m->times) m->kind[id] = MULTIPLE;
        return;
    }
    case VY_OP_ADD: see_sum(m, id); return;
    case VY_OP_DIV: see_quotient(m, id, false); return;
    case VY_OP_REM: see_quotient(m, id, true); return;
    case VY_OP_SELECT:
        if (is_never(m, vy_arg(m->w.p, id, 0))) m->kind[id] = SAME;
        return;
    default: return;
    }
}
