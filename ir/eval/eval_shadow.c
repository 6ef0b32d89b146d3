// SPDX-License-Identifier: MIT
// eval_shadow.c: records which invocations accessed each element, for the reports.
//
// Two accesses of different invocations race unless both read, both are atomic, both are of a store
// that is proved to be redundant (ir/check/redundant.h) and of one value, or both belong to one
// workgroup with a barrier between them.  For each element and class of access, four numbers
// suffice to decide whether *any* earlier access races with a new one: the last invocation,
// another one of the same workgroup and epoch, one of another workgroup, and the epoch.  Accesses
// before the last barrier are forgotten within their workgroup, since everything later there is
// ordered after them.  One record per element ("last writer") would miss pairs that a third access
// separates.
#include "ir/check/check.h"
#include "ir/check/redundant.h"
#include "ir/eval/eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool tracks_races(const vy_bound *b) { return b->cls != VY_LOCAL && b->cls != VY_IN; }

// A derivative may count on the zeros of an `out` buffer (ir/check/check_rules.c), and on those of
// a workspace unless it was proved not to.
static bool tracks_first_writes(const vy_machine *m, uint32_t id)
{
    const vy_bound *b = &m->bounds[id];
    const bool starts = m->p->order || m->p->buffers.data[id].init != VY_INIT_NONE;
    if (m->p->buffers.data[id].stored_first &&
        (b->cls == VY_OUT || m->p->buffers.data[id].workspace))
        return true;
    return (b->cls == VY_OUT && !starts) || b->cls == VY_SHARED;
}

// Finds loads that only begin a sum in an `out` buffer: they may read its initial zero
// (sum_loads.c).
static bool find_sums(vy_machine *m)
{
    vy_structure s;
    m->sums = vy_eval_alloc(m, m->p->insts.count, sizeof *m->sums);
    if (!m->sums) return false;
    const bool made = vy_structure_make(m->p, &s);
    const bool ok = made && vy_find_sum_loads(m->p, &s, m->sums);
    if (made) vy_structure_free(&s);
    if (!ok) vy_eval_fail(m, VY_E_MEMORY, 0, 0, "out of memory");
    return ok;
}

// Finds stores that are no races among each other.
static bool find_redundant(vy_machine *m)
{
    vy_structure s;
    m->redundant = vy_eval_alloc(m, m->p->insts.count, sizeof *m->redundant);
    if (!m->redundant) return false;
    const bool made = vy_structure_make(m->p, &s);
    const bool ok = made && vy_find_redundant(m->p, &s, m->redundant);
    if (made) vy_structure_free(&s);
    if (!ok) vy_eval_fail(m, VY_E_MEMORY, 0, 0, "out of memory");
    return ok;
}

bool vy_shadow_make(vy_machine *m)
{
    if (!m->report) return true;
    if (m->options.report_uninitialised && !find_sums(m)) return false;
    if (m->options.report_races && !find_redundant(m)) return false;
    const bool numbered = m->options.report_races || m->options.report_uninitialised;
    const uint64_t lanes = (uint64_t)m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    if (numbered && m->group_count > (UINT32_MAX - 1) / lanes) {
        vy_eval_fail(m, VY_E_EVAL_LAUNCH, m->p->line, 0, "too many invocations for reports");
        return false;
    }
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (m->options.report_races && tracks_races(b) &&
            !(b->touches = vy_eval_alloc(m, b->count, VY_TOUCH_CLASSES * sizeof *b->touches)))
            return false;
        if (m->options.report_uninitialised && tracks_first_writes(m, id) &&
            !(b->written = vy_eval_alloc(m, b->count, sizeof *b->written)))
            return false;
    }
    return true;
}

// --------------------------------------------------------------------------------------- reporting
static uint32_t lanes_per_group(const vy_machine *m)
{
    return m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
}

static uint32_t number_of(const vy_machine *m, uint32_t lane)
{
    return (uint32_t)(m->group * lanes_per_group(m)) + m->linear[lane] + 1;
}

// "x[3, 4]" from the linear index of the element.
static void name_element(const vy_machine *m, const vy_xinst *x, uint64_t place, char *out,
                         size_t size)
{
    const vy_bound *b = &m->bounds[x->aux];
    uint64_t index[VY_MAX_RANK] = {0};
    size_t n = (size_t)snprintf(out, size, "%.60s[", m->p->buffers.data[x->aux].name);
    for (uint32_t k = b->rank < VY_MAX_RANK ? b->rank : VY_MAX_RANK; k-- > 0;) {
        index[k] = place % b->dims[k];
        place /= b->dims[k];
    }
    for (uint32_t k = 0; k < b->rank && k < VY_MAX_RANK && n + 24 < size; k++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRIu64, k ? ", " : "", index[k]);
    snprintf(out + n, size - n, "]");
}

// A wrong program's first finding; one of an access out of range, which has a meaning, gives way.
static vy_diag *first_wrong(vy_eval_report *report)
{
    if (report->races + report->uninitialised == 1) report->first = (vy_diag){0};
    return &report->first;
}

static void report_race(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t place,
                        vy_touch_class cls, vy_touch_class other_cls, uint32_t other)
{
    static const char *const verbs[] = {"reads", "writes", "updates"};
    if (m->report->races++) return;
    const vy_inst *i = &m->p->insts.data[x->inst];
    char name[128], who[96], whom[96];
    name_element(m, x, place, name, sizeof name);
    vy_eval_who(m, number_of(m, lane), who, sizeof who);
    vy_eval_who(m, other, whom, sizeof whom);
    vy_diag_set(first_wrong(m->report), VY_E_EVAL_RACE, i->line, i->column, NULL,
                "data race on %s: invocation (%s) %s it, which invocation (%s) %s", name, who,
                verbs[cls], whom, verbs[other_cls]);
}

static void report_unwritten(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t place)
{
    if (m->report->uninitialised++) return;
    const vy_inst *i = &m->p->insts.data[x->inst];
    char name[128], who[96];
    name_element(m, x, place, name, sizeof name);
    vy_eval_who(m, number_of(m, lane), who, sizeof who);
    vy_diag_set(first_wrong(m->report), VY_E_EVAL_UNINIT, i->line, i->column, NULL,
                "invocation (%s) reads %s, which was never written", who, name);
}

void vy_shadow_out_of_range(vy_machine *m, const vy_xinst *x, uint32_t lane)
{
    if (!m->options.report_out_of_range || m->report->out_of_range++) return;
    const vy_inst *i = &m->p->insts.data[x->inst];
    const vy_bound *b = &m->bounds[x->aux];
    uint32_t axis = 0;
    while (axis + 1 < b->rank && vy_reg(m, m->operands[x->args + axis])[lane].u < b->dims[axis])
        axis++;
    const uint32_t index = vy_arg(m->p, x->inst, axis);
    const vy_scalar v = vy_reg(m, m->operands[x->args + axis])[lane];
    char who[96];
    vy_eval_who(m, number_of(m, lane), who, sizeof who);
    vy_diag_set(&m->report->first_out_of_range, VY_E_EVAL_RANGE, i->line, i->column, NULL,
                vy_type_is_signed(vy_id_type(m->p, index)) || v.i >= 0
                    ? "invocation (%s): index %" PRId64
                      " of %s, axis %u, is out of range, the extent is %" PRIu64
                    : "invocation (%s): index %" PRIu64
                      " of %s, axis %u, is out of range, the extent is %" PRIu64,
                who, v.i, m->p->buffers.data[x->aux].name, axis, b->dims[axis]);
    // It has a defined meaning, unlike the other findings, which take precedence.
    if (!m->report->races && !m->report->uninitialised)
        m->report->first = m->report->first_out_of_range;
}

// ------------------------------------------------------------------------------------------- races
// An earlier access recorded in t that races with one of `me`, or 0.
static uint32_t rival(const vy_machine *m, const vy_touch *t, uint32_t me, bool shared)
{
    if (!t->last) return 0;
    const uint32_t lanes = lanes_per_group(m);
    const bool same_group = (t->last - 1) / lanes == (me - 1) / lanes;
    if (!same_group) return shared ? 0 : t->last; // each workgroup has its own shared array
    if (t->epoch == m->epoch && t->last != me) return t->last;
    if (t->epoch == m->epoch && t->beside) return t->beside;
    return shared ? 0 : t->before;
}

static void record(const vy_machine *m, vy_touch *t, uint32_t me)
{
    const uint32_t lanes = lanes_per_group(m);
    if (t->last == me && t->epoch == m->epoch) return;
    const bool same_group = t->last && (t->last - 1) / lanes == (me - 1) / lanes;
    if (t->last && !same_group) t->before = t->last;
    t->beside = same_group && t->epoch == m->epoch ? t->last : 0;
    t->last = me;
    t->epoch = m->epoch;
}

// Do two invocations differ in these axes of the launch alone?
static bool differ_in(const vy_machine *m, uint32_t x, uint32_t y, uint8_t axes)
{
    const uint32_t lanes = lanes_per_group(m);
    uint64_t of_x[3], of_y[3];
    vy_eval_group_position(m, (x - 1) / lanes, of_x);
    vy_eval_group_position(m, (y - 1) / lanes, of_y);
    const uint32_t *lid_x = &m->lids[3 * (size_t)((x - 1) % lanes)],
                   *lid_y = &m->lids[3 * (size_t)((y - 1) % lanes)];
    for (uint32_t k = 0; k < 3; k++)
        if ((lid_x[k] != lid_y[k] && !(axes >> k & 1)) ||
            (of_x[k] != of_y[k] && !(axes >> (VY_GROUP_AXES + k) & 1)))
            return false;
    return true;
}

// Do the stores of the two invocations repeat each other?  The element has what one has stored.
static bool repeats(const vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t place,
                    uint32_t other)
{
    const vy_bound *b = &m->bounds[x->aux];
    const uint8_t axes = m->redundant[x->inst].same;
    unsigned char value[8];
    if (!axes || !differ_in(m, number_of(m, lane), other, axes)) return false;
    vy_scalar_write(b->type, vy_reg(m, m->operands[x->args + b->rank])[lane], value);
    return !memcmp(value, b->data + place * b->size, b->size);
}

static void check_race(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t place,
                       vy_touch_class cls)
{
    const vy_bound *b = &m->bounds[x->aux];
    vy_touch *t = &b->touches[place * VY_TOUCH_CLASSES];
    const uint32_t me = number_of(m, lane);
    for (int other = 0; other < VY_TOUCH_CLASSES; other++) {
        if (other == (int)cls && cls != VY_TOUCH_WRITE) continue;
        const uint32_t r = rival(m, &t[other], me, b->cls == VY_SHARED);
        if (!r || (other == VY_TOUCH_WRITE && repeats(m, x, lane, place, r))) continue;
        report_race(m, x, lane, place, cls, (vy_touch_class)other, r);
        break;
    }
    record(m, &t[cls], me);
}

// An atomic on an `out` buffer starts from the zero it was cleared to; a shared array starts
// undefined.
static void check_written(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t place,
                          vy_touch_class cls)
{
    const vy_bound *b = &m->bounds[x->aux];
    const uint32_t now = (uint32_t)m->group + 1;
    const bool shared = b->cls == VY_SHARED;
    const bool fresh = shared ? b->written[place] != now : b->written[place] == 0;
    const bool sum = !shared && cls == VY_TOUCH_READ && m->sums[x->inst];
    if (fresh && !sum && (cls == VY_TOUCH_READ || (cls == VY_TOUCH_ATOMIC && shared)))
        report_unwritten(m, x, lane, place);
    if (cls != VY_TOUCH_READ) b->written[place] = now;
}

void vy_shadow_access(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t place,
                      vy_touch_class cls)
{
    const vy_bound *b = &m->bounds[x->aux];
    if (b->written) check_written(m, x, lane, place, cls);
    if (b->touches) check_race(m, x, lane, place, cls);
}
