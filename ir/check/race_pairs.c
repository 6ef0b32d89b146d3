// SPDX-License-Identifier: MIT
// race_pairs.c: pairs of invocations that surely store to one element.
//
//   over(i: N)      y[i / 2] = …           0 and 1 do
//   over(i: N)      y[wid.x] = …           0 and 1 do: they are in one workgroup
//   workgroup(32)   t[lid.y] = …           all lanes do
//
// The pairs differ in one domain variable (without a domain, in one axis of lid), whose values are
// among the first four; the other variables are 0.  For such a pair each value is known in both
// invocations, or surely the same in both (made of parameters, `in` buffers, what workgroups have
// in common, iterations of loops that both run), or neither.  Of stores only those count that both
// reach or neither: the two conflict if the store is reached at all.
//
// Conflicts are rare, and indices and conditions are made of little: only what those depend on is
// computed at first, and everything if there is a conflict, to know whether the values differ.
#include "ir/check/race.h"

#include <string.h>

typedef struct side {
    vy_scalar v[2];
    bool known, same, differs; // differs: not the same, and made of what differs between the two
} side;

typedef struct pair {
    const vy_races *r;
    uint32_t shape[3], axes, first, second, var;
    side *at;        // by id
    uint8_t *needed; // by id: it is computed; elsewhere nothing is known
} pair;

static side one(uint64_t a, uint64_t b)
{
    return (side){.v = {{.u = a}, {.u = b}}, .known = true, .same = a == b, .differs = a != b};
}

static const side same = {.same = true}, not_known = {0};

// The positions of the pair along an axis of the launch; false: they depend on extents.
static bool place(const pair *m, uint32_t axis, uint32_t *a, uint32_t *b)
{
    const uint32_t n = m->r->p->overs.count;
    const bool folded = n > 3 && axis == 2, own = n ? n - 1 - m->var == axis : m->var == axis;
    *a = own ? m->first : 0, *b = own ? m->second : 0;
    return !folded || n - 1 - m->var < 2;
}

static side lid(const pair *m, uint32_t axis)
{
    uint32_t a, b;
    if (!place(m, axis, &a, &b)) return not_known;
    return one(a % m->shape[axis], b % m->shape[axis]);
}

static side of_builtin(const pair *m, const vy_leaf *l)
{
    uint32_t a, b;
    const bool domain = m->r->p->overs.count > 0, axis = l->axis < 3 && place(m, l->axis, &a, &b);
    switch ((vy_builtin)l->index) {
    case VY_LID: return axis ? lid(m, l->axis) : not_known;
    case VY_LINDEX: {
        const side x = lid(m, 0), y = lid(m, 1), z = lid(m, 2);
        uint64_t v[2];
        for (uint32_t k = 0; k < 2; k++)
            v[k] = x.v[k].u + m->shape[0] * (y.v[k].u + m->shape[1] * z.v[k].u);
        return x.known && y.known && z.known ? one(v[0], v[1]) : not_known;
    }
    case VY_WID:
        if (!domain) return same; // both are in one workgroup
        return axis ? one(a / m->shape[l->axis], b / m->shape[l->axis]) : not_known;
    case VY_GID:
        if (axis && domain) return one(a, b);
        return axis && a == b ? same : (side){.differs = true};
    case VY_NUM_GROUPS:
    case VY_SUBGROUP_SIZE: return same;
    case VY_LANE: break;
    }
    return (side){.differs = true};
}

static side get(const pair *m, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return m->at[id];
    const vy_leaf *l = &m->r->p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_CONST)
        return (side){.v = {l->value, l->value}, .known = true, .same = true};
    if (l->kind == VY_LEAF_OVER) return l->index == m->var ? one(m->first, m->second) : one(0, 0);
    return l->kind == VY_LEAF_BUILTIN ? of_builtin(m, l) : same;
}

static side arg(const pair *m, uint32_t id, uint32_t k) { return get(m, vy_arg(m->r->p, id, k)); }

// What holds for n operands together.
static side of_args(const pair *m, uint32_t id, uint32_t n)
{
    side x = same;
    for (uint32_t k = 0; k < n; k++) {
        const side a = arg(m, id, k);
        x.same &= a.same;
        x.differs |= a.differs;
    }
    return x;
}

// Does operand k alone determine `x && y`, `x || y` or a select, in both?  Then the value is *x.
static bool decides(const pair *m, uint32_t id, uint32_t k, side *x)
{
    const vy_inst *i = &m->r->p->insts.data[id];
    const side c = arg(m, id, k);
    if (!c.known || !c.same) return false;
    if (i->op == VY_OP_SELECT && k == 0) {
        *x = arg(m, id, c.v[0].u ? 1 : 2);
        return true;
    }
    const bool either = i->op == VY_OP_OR;
    *x = c;
    return i->type == VY_BOOL && (either || i->op == VY_OP_AND) && (c.v[0].u != 0) == either;
}

static side compute(const pair *m, uint32_t id)
{
    const vy_inst *i = &m->r->p->insts.data[id];
    side x;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (decides(m, id, k, &x)) return x;
    x = of_args(m, id, i->nargs);
    bool known = i->nargs > 0 && i->nargs <= 3;
    vy_scalar args[2][3];
    for (uint32_t k = 0; k < i->nargs && known; k++) {
        const side a = arg(m, id, k);
        known = a.known;
        args[0][k] = a.v[0], args[1][k] = a.v[1];
    }
    if (!known) return x;
    const vy_type result = (vy_type)i->type,
                  type = vy_id_type(m->r->p, vy_arg(m->r->p, id, i->op == VY_OP_SELECT));
    for (uint32_t k = 0; k < 2 && known; k++)
        known = vy_scalar_eval((vy_op)i->op, type, result, args[k], i->aux, false, &x.v[k]);
    x.known = known;
    if (known) x.same = vy_scalar_same(result, x.v[0], x.v[1]);
    x.differs &= !x.same; // the values are the same, whatever they are made of
    return x;
}

// Is one of the conditions the negation of the other?
static bool are_opposite(const vy_program *p, uint32_t x, uint32_t y)
{
    if (VY_IS_LEAF(x) || VY_IS_LEAF(y)) return false;
    const vy_op a = (vy_op)p->insts.data[x].op, b = (vy_op)p->insts.data[y].op;
    if (a == VY_OP_NOT || b == VY_OP_NOT)
        return (a == VY_OP_NOT && vy_arg(p, x, 0) == y) || (b == VY_OP_NOT && vy_arg(p, y, 0) == x);
    // Of integers, of which none is a NaN.
    if (a != VY_OP_LT && a != VY_OP_LE) return false;
    return b == (a == VY_OP_LT ? VY_OP_LE : VY_OP_LT) && vy_arg(p, x, 0) == vy_arg(p, y, 1) &&
           vy_arg(p, x, 1) == vy_arg(p, y, 0) && vy_type_is_integer(vy_id_type(p, vy_arg(p, x, 0)));
}

// A value at the end of an arm that is entered where `condition` is `taken`: the condition itself,
// or its negation, is known there.
static side of_arm(const pair *m, uint32_t id, uint32_t condition, bool taken)
{
    if (id == condition) return one(taken, taken);
    return are_opposite(m->r->p, id, condition) ? one(!taken, !taken) : get(m, id);
}

// The result of an IF; those of loops are not followed.
static side result_of(const pair *m, uint32_t id)
{
    const vy_program *p = m->r->p;
    uint32_t then, other, opener = vy_choice(p, m->r->s, id, &then, &other);
    if (!opener) return not_known;
    const uint32_t condition = vy_arg(p, opener, 0);
    const side c = get(m, condition), x = of_arm(m, then, condition, true),
               y = of_arm(m, other, condition, false);
    const vy_type type = (vy_type)p->insts.data[id].type;
    if (x.known && y.known && vy_scalar_same(type, x.v[0], y.v[0]) &&
        vy_scalar_same(type, x.v[1], y.v[1]))
        return x; // in whatever arms they are
    if (!c.same) return not_known;
    if (c.known) return c.v[0].u ? x : y;
    return (side){.same = x.same && y.same, .differs = x.differs || y.differs};
}

static side value(const pair *m, uint32_t id)
{
    const vy_program *p = m->r->p;
    const vy_inst *i = &p->insts.data[id];
    if (vy_op_infos[i->op].effect == VY_PURE) return compute(m, id);
    if (i->op == VY_OP_LOAD && p->buffers.data[i->aux].cls == VY_IN)
        return of_args(m, id, i->nargs);
    if (i->op == VY_OP_LOOP) return of_args(m, id, vy_value_args(p, id));
    return i->op == VY_OP_RESULT ? result_of(m, id) : not_known;
}

// The next `if` around *inside, or 0; then: whether it is in the first arm.
static uint32_t next_if(const vy_races *r, uint32_t *inside, bool *then)
{
    uint32_t up = r->s->parent[*inside];
    for (; up && r->p->insts.data[up].op != VY_OP_IF; up = r->s->parent[up]) *inside = up;
    *then = up && vy_in_then(r->s, up, *inside);
    *inside = up;
    return up;
}

// Is the store unreachable because it is in the first arm of one `if` and the second arm of another
// on the same condition?  Quadratic in the depth of constructs, which is limited (docs/language.md
// 14).
static bool contradicted(const vy_races *r, uint32_t store)
{
    bool then, outer_then;
    uint32_t inner, outer;
    for (uint32_t at = store; (inner = next_if(r, &at, &then));)
        for (uint32_t up = inner; (outer = next_if(r, &up, &outer_then));)
            if (vy_arg(r->p, inner, 0) == vy_arg(r->p, outer, 0) && then != outer_then) return true;
    return false;
}

// Do both reach the store, or neither?
static bool reached(const pair *m, uint32_t store)
{
    const vy_races *r = m->r;
    uint32_t inside = store;
    for (uint32_t up = r->s->parent[store]; up; inside = up, up = r->s->parent[up]) {
        const vy_inst *i = &r->p->insts.data[up];
        if (i->op == VY_OP_CHECKPOINT) continue;
        if (i->op == VY_OP_LOOP && !vy_exits(m->r->p, up) && m->at[up].same) continue;
        const side c = i->op == VY_OP_IF ? arg(m, up, 0) : not_known;
        if (!c.same || (c.known && (c.v[0].u != 0) != vy_in_then(r->s, up, inside))) return false;
    }
    return true;
}

static bool conflicts(const pair *m, uint32_t store)
{
    const vy_buf *b = &m->r->p->buffers.data[m->r->p->insts.data[store].aux];
    const uint32_t n = m->r->p->overs.count, axis = n ? n - 1 - m->var : m->var;
    if (b->cls == VY_SHARED && (axis > 2 || (n > 3 && axis == 2) || m->second >= m->shape[axis]))
        return false; // they are in two workgroups, each of which has its own array
    return of_args(m, store, b->rank).same && reached(m, store) && !contradicted(m->r, store);
}

// ----------------------------------------------------------------------------- what is computed
static void need(pair *m, uint32_t id)
{
    if (!VY_IS_LEAF(id)) m->needed[id] = 1;
}

static void need_args(pair *m, uint32_t id, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) need(m, vy_arg(m->r->p, id, k));
}

// What `conflicts` looks at.
static void need_store(pair *m, uint32_t store)
{
    const vy_races *r = m->r;
    need_args(m, store, r->p->buffers.data[r->p->insts.data[store].aux].rank);
    for (uint32_t up = r->s->parent[store]; up; up = r->s->parent[up])
        if (r->p->insts.data[up].op == VY_OP_IF)
            need_args(m, up, 1);
        else
            need(m, up);
}

// What `value` looks at.
static void need_operands(pair *m, uint32_t id)
{
    const vy_program *p = m->r->p;
    uint32_t then, other, opener = vy_choice(p, m->r->s, id, &then, &other);
    if (opener) {
        need_args(m, opener, 1);
        need(m, then);
        need(m, other);
    } else if (!vy_is_slot((vy_op)p->insts.data[id].op)) {
        need_args(m, id, vy_value_args(p, id));
    }
}

// Operands come before their users, so one run backwards finds all.
static void find_needed(pair *m, const uint8_t *wanted)
{
    const uint32_t n = m->r->p->insts.count;
    memset(m->needed, 0, n);
    for (uint32_t id = n; id-- > 1;) {
        if (wanted[id]) need_store(m, id);
        if (m->needed[id]) need_operands(m, id);
    }
}

// ---------------------------------------------------------------------------------------- pairs
static bool try_pair(pair *m, const uint8_t *wanted, vy_conflict *by)
{
    const vy_program *p = m->r->p;
    bool any = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (m->needed[id]) m->at[id] = value(m, id);
        if (!wanted[id] || by[id].store || !conflicts(m, id)) continue;
        const uint32_t rank = p->buffers.data[p->insts.data[id].aux].rank;
        by[id] = (vy_conflict){id, m->var, m->first, m->second, arg(m, id, rank).differs};
        any = true;
    }
    return any;
}

// How many of the first four values the domain variable, or the axis of the workgroup, may have.
static uint32_t values_of(const pair *m)
{
    const vy_program *p = m->r->p;
    if (!p->overs.count) return m->shape[m->var] < 4 ? m->shape[m->var] : 4;
    const vy_dim_node *d = &p->dims.data[p->overs.data[m->var].extent.id];
    return d->op == VY_DIM_CONST && d->value < 4 ? (uint32_t)(d->value < 0 ? 0 : d->value) : 4;
}

static bool try_pairs(pair *m, const uint8_t *wanted, vy_conflict *by)
{
    static const uint32_t pairs[][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {2, 3}, {1, 3}};
    const uint32_t overs = m->r->p->overs.count, vars = overs ? overs : 3;
    bool any = false;
    for (m->var = 0; m->var < vars; m->var++)
        for (uint32_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            m->first = pairs[k][0], m->second = pairs[k][1];
            if (m->second < values_of(m)) any |= try_pair(m, wanted, by);
        }
    return any;
}

bool vy_race_conflicts(const vy_races *r, const uint8_t *wanted, vy_conflict *by)
{
    const uint32_t n = r->p->insts.count;
    pair m = {.r = r, .at = vy_realloc(NULL, n * sizeof *m.at), .needed = vy_realloc(NULL, n)};
    const bool ok = m.at && m.needed;
    if (ok) {
        memset(m.at, 0, n * sizeof *m.at);
        vy_program_workgroup(r->p, m.shape);
        find_needed(&m, wanted);
        if (try_pairs(&m, wanted, by)) {
            memset(m.needed, 1, n);
            memset(by, 0, n * sizeof *by);
            try_pairs(&m, wanted, by);
        }
    }
    vy_free(m.at);
    vy_free(m.needed);
    return ok;
}
