// SPDX-License-Identifier: MIT
// shared_replay.c: shared arrays in replays.
//
//   for t in 0..T {                          a replay of the body repeats the stores to As and the
//       As[lid.y, lid.x] = a[i, 16*t+…];     barriers: the loads of an iteration see the stores
//       barrier();                           of that iteration.  Taping each loaded value
//       for k in 0..16 { s += As[…, k]… }    would need a tape as long as the whole computation.
//       barrier();
//   }
//
// That is correct if the load cannot see anything that an earlier iteration (or code elsewhere) has
// stored.  The obvious way is to prove that the stores cover the array, but lanes outside the
// domain store nothing, and a tile has margins.  It is sufficient, and easier to prove, that *every
// invocation that has ever stored an element stores it again*, in this iteration and before the
// load: for each write w′ to the array in the whole program there is a store w in the iteration,
// reached by all invocations, with the same index.  "The same" requires indices and conditions that
// consist of values that never change in an invocation: parameters, its numbers, elements of `in`
// buffers, values computed at top level, and the variables of loops around the store that always
// run the same iterations.  (An element that was never stored is undefined, and no load may see
// it.)
//
// The innermost loop or checkpoint for which this holds is the load's *stage*; 0: none.  A replay
// of `root`
//   - that is the stage, or encloses it, performs the stores, the barriers and the load in their
//     order;
//   - inside the stage finds the array as the replay of the stage left it, so no write may come
//     later there;
//   - without a stage finds it as the forward sweep left it, likewise.
// Other loads are taped (poison, replay.c).
//
// The stores of a replay go to a *twin* of the array, one for each root, so that dead-code removal
// shows for each whether it is loaded from.  If it is not, its barriers are omitted, too, by
// building again.  In the end all twins become the array itself: what the forward sweep left in it
// is loaded only by replays of code after its last write, and those come before replays of anything
// that stores.
#include "ir/facts/memory.h"
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/check/uniform.h"
#include "ir/core/flow.h"

enum {
    MOST_WRITES = 64, // of one array: all are compared with each other
    MOST_DEPTH = 12,  // of index expressions
    MOST_LOOPS = 8,   // around a store, inside its stage
};

typedef struct stager {
    reverse *r;
    const vy_program *p;
    const vy_writes *writes;
    const uint32_t *differs; // by opener: control flow into it may differ between invocations
} stager;

// ----------------------------------------------------------------------------- the same, each time
// The loops around the current store, and the loops around the earlier write that match them.
typedef struct pairing {
    uint32_t count;
    uint32_t mine[MOST_LOOPS], theirs[MOST_LOOPS];
} pairing;

static bool same(const stager *s, pairing *m, uint32_t x, uint32_t y, uint32_t depth);

static bool same_args(const stager *s, pairing *m, uint32_t x, uint32_t y, uint32_t n,
                      uint32_t depth)
{
    for (uint32_t k = 0; k < n; k++)
        if (!same(s, m, vy_arg(s->p, x, k), vy_arg(s->p, y, k), depth + 1)) return false;
    return true;
}

// Does the variable of loop x, around the store, take all the values that that of y takes?
static bool same_variable(const stager *s, pairing *m, uint32_t x, uint32_t y, uint32_t depth)
{
    for (uint32_t k = 0; k < m->count; k++) {
        if (m->mine[k] != x) continue;
        if (m->theirs[k]) return m->theirs[k] == y;
        m->theirs[k] = y;
        return same_args(s, m, x, y, 3, depth);
    }
    return false;
}

// Does x, at the store, have the value that y had at the earlier write?
static bool same(const stager *s, pairing *m, uint32_t x, uint32_t y, uint32_t depth)
{
    if (VY_IS_LEAF(x) || VY_IS_LEAF(y)) return x == y;
    const vy_inst *a = &s->p->insts.data[x], *b = &s->p->insts.data[y];
    if (depth == MOST_DEPTH || a->op != b->op || a->type != b->type) return false;
    if (a->op == VY_OP_LOOP) return same_variable(s, m, x, y, depth);
    if (x == y && !s->r->facts.home[x]) return true; // computed once in each invocation
    bool pure = vy_op_infos[a->op].effect == VY_PURE ||
                (a->op == VY_OP_LOAD && s->p->buffers.data[a->aux].cls == VY_IN);
    return pure && a->aux == b->aux && a->nargs == b->nargs &&
           same_args(s, m, x, y, a->nargs, depth);
}

// Does some `if` around the write `w` have the same condition?
static bool same_condition(const stager *s, pairing *m, uint32_t opener, uint32_t store, uint32_t w)
{
    const vy_program *p = s->p;
    for (uint32_t up = s->r->facts.s.parent[w]; up; up = s->r->facts.s.parent[up]) {
        if (p->insts.data[up].op != VY_OP_IF) continue;
        if (vy_in_then(&s->r->facts.s, opener, store) != vy_in_then(&s->r->facts.s, up, w))
            continue;
        pairing before = *m;
        if (same(s, m, vy_arg(p, opener, 0), vy_arg(p, up, 0), 0)) return true;
        *m = before;
    }
    return false;
}

// A loop whose variable occurs in no index must have the bounds of a loop around the write, or
// provably run at least once.
static bool loops_run(const stager *s, pairing *m, uint32_t w)
{
    for (uint32_t k = 0; k < m->count; k++) {
        if (m->theirs[k] || vy_loop_surely_runs(s->p, m->mine[k])) continue;
        uint32_t up = s->r->facts.s.parent[w];
        for (; up; up = s->r->facts.s.parent[up]) {
            if (s->p->insts.data[up].op != VY_OP_LOOP) continue;
            pairing before = *m;
            if (same_variable(s, m, m->mine[k], up, 0)) break;
            *m = before;
        }
        if (!up) return false;
    }
    return true;
}

// All invocations reach `common`, the parent that `store` shares with the load.  Does each of them
// write again there what it has written by `w`?
static bool repeats(const stager *s, uint32_t store, uint32_t common, uint32_t w)
{
    const vy_program *p = s->p;
    pairing m = {0};
    for (uint32_t up = s->r->facts.s.parent[store]; up != common; up = s->r->facts.s.parent[up]) {
        const vy_inst *o = &p->insts.data[up];
        if (o->op == VY_OP_IF || o->op == VY_OP_CHECKPOINT) continue;
        if (o->op != VY_OP_LOOP || vy_exits(p, up) || m.count == MOST_LOOPS) return false;
        m.mine[m.count++] = up;
    }
    if (p->insts.data[store].op == VY_OP_ZERO) return loops_run(s, &m, w);
    if (p->insts.data[w].op == VY_OP_ZERO) return false;
    uint32_t rank = p->buffers.data[p->insts.data[store].aux].rank;
    if (!same_args(s, &m, store, w, rank, 0)) return false;
    for (uint32_t up = s->r->facts.s.parent[store]; up != common; up = s->r->facts.s.parent[up])
        if (p->insts.data[up].op == VY_OP_IF && !same_condition(s, &m, up, store, w)) return false;
    return loops_run(s, &m, w);
}

// --------------------------------------------------------------------------------- stages of loads
// The innermost construct around both; UINT32_MAX if they are in different arms of it.
static uint32_t common_parent(const stager *s, uint32_t x, uint32_t y)
{
    uint32_t a = s->r->facts.s.parent[x], b = s->r->facts.s.parent[y];
    while (a != b)
        if (a > b)
            a = s->r->facts.s.parent[a];
        else
            b = s->r->facts.s.parent[b];
    if (!a || s->p->insts.data[a].op != VY_OP_IF) return a;
    return vy_in_then(&s->r->facts.s, a, x) == vy_in_then(&s->r->facts.s, a, y) ? a : UINT32_MAX;
}

// Do all invocations of the workgroup reach the construct's body?
static bool reached_by_all(const stager *s, uint32_t opener)
{
    for (; opener; opener = s->r->facts.s.parent[opener])
        if (s->differs[opener]) return false;
    return true;
}

// Is every write to the array, anywhere in the program, repeated in `region` before the load?
static bool is_stage(const stager *s, uint32_t load, uint32_t region, const uint32_t *writes,
                     uint32_t n)
{
    for (uint32_t w = 0; w < n; w++) {
        bool found = false;
        for (uint32_t k = 0; k < n && writes[k] < load && !found; k++) {
            vy_op op = (vy_op)s->p->insts.data[writes[k]].op;
            if (writes[k] < region || (op != VY_OP_STORE && op != VY_OP_ZERO)) continue;
            uint32_t common = common_parent(s, writes[k], load);
            found = common != UINT32_MAX && reached_by_all(s, common) &&
                    repeats(s, writes[k], common, writes[w]);
        }
        if (!found) return false;
    }
    return true;
}

static uint32_t find_stage(const stager *s, uint32_t load)
{
    uint32_t m = vy_memory_of(s->p, s->p->insts.data[load].aux);
    const uint32_t *writes = s->writes->at + s->writes->start[m];
    uint32_t n = s->writes->start[m + 1] - s->writes->start[m];
    if (n > MOST_WRITES) return 0;
    for (uint32_t k = 0; k < n; k++) // replays perform no atomics
        if (vy_op_is_atomic((vy_op)s->p->insts.data[writes[k]].op)) return 0;
    for (uint32_t up = s->r->facts.scope[load]; up; up = s->r->facts.scope[up])
        if (is_stage(s, load, up, writes, n)) return up;
    return 0;
}

// --------------------------------------------------------------------------------------- the table
// The array of the result that replays of the stage's root store to.
static uint32_t twin_of(const reverse *r, const reverse_stage *s)
{
    return r->build.stage_twin[s - r->plan.stages.data];
}

static reverse_stage *stage_at(const reverse *r, uint32_t buffer, uint32_t root)
{
    for (uint32_t k = r->plan.staged_at[root]; k; k = r->plan.stages.data[k - 1].next)
        if (r->plan.stages.data[k - 1].buffer == buffer) return &r->plan.stages.data[k - 1];
    return NULL;
}

// Replays of the load's stage, and of every scope around it, store to the array: adds their
// entries.
static bool enter(reverse *r, uint32_t load)
{
    uint32_t buffer = r->p->insts.data[load].aux;
    for (uint32_t root = r->plan.stage[load]; root; root = r->facts.scope[root]) {
        if (stage_at(r, buffer, root)) continue;
        reverse_stage s = {.buffer = buffer, .root = root, .next = r->plan.staged_at[root]};
        if (!vy_vec_push(&r->plan.stages, s)) return false;
        r->plan.staged_at[root] = r->plan.stages.count;
    }
    return true;
}

static bool has_shared(const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_SHARED) return true;
    return false;
}

bool vy_restage(reverse *r)
{
    if (!has_shared(r->p)) return true;
    stager s = {.r = r, .p = r->p, .writes = &r->plan.writes};
    bool ok = vy_writes_make(&r->plan.writes, r->p, VY_COUNT_WRITES, &r->plan.arena);
    ok = ok && (s.differs = vy_differences(r->p, &r->facts.s, NULL, &r->plan.arena)) != NULL;
    for (uint32_t id = 1; ok && id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        if (i->op != VY_OP_LOAD || r->p->buffers.data[i->aux].cls != VY_SHARED) continue;
        r->plan.stage[id] = find_stage(&s, id);
        ok = enter(r, id);
    }
    if (ok) return true;
    vy_fail_oom(r->out);
    r->failed = true;
    return false;
}

// -------------------------------------------------------------------------------------- in replays
// Is the array written in `around` (0: the program) at `from` or later?
static bool written_later(const reverse *r, uint32_t buffer, uint32_t from, uint32_t around)
{
    uint32_t m = vy_memory_of(r->p, buffer), n = vy_first_after(&r->plan.writes, m, from);
    uint32_t end = around ? r->facts.s.partner[around] : UINT32_MAX;
    return n < r->plan.writes.start[m + 1] && r->plan.writes.at[n] < end;
}

// Does a replay of `root` find what the load saw?  Then it is in the twin *in, or (NULL) in the
// array as the forward sweep left it.
static bool finds(const reverse *r, uint32_t load, uint32_t root, reverse_stage **in)
{
    uint32_t buffer = r->p->insts.data[load].aux, stage = r->plan.stage[load];
    *in = stage ? stage_at(r, buffer, stage) : NULL;
    if (stage && (stage == root || vy_encloses(&r->facts, root, stage))) {
        *in = stage_at(r, buffer, root);
        return true;
    }
    uint32_t outermost = root;
    while (r->facts.scope[outermost] != stage) outermost = r->facts.scope[outermost];
    return !written_later(r, buffer, outermost, stage);
}

bool vy_restage_finds(const reverse *r, uint32_t load, uint32_t root)
{
    reverse_stage *in;
    return finds(r, load, root, &in);
}

uint32_t vy_restage_load(reverse *r, uint32_t load)
{
    reverse_stage *in;
    if (!finds(r, load, r->build.replaying, &in)) return 0;
    return in ? twin_of(r, in) : r->build.buffers[r->p->insts.data[load].aux].copy;
}

uint32_t vy_restage_store(const reverse *r, uint32_t id)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    const reverse_stage *s = stage_at(r, r->p->insts.data[id].aux, r->build.replaying);
    return s && !s->unread && (op == VY_OP_STORE || op == VY_OP_ZERO) ? twin_of(r, s) : 0;
}

bool vy_restages(const reverse *r, uint32_t root, uint32_t buffer)
{
    for (uint32_t k = r->plan.staged_at[root]; k; k = r->plan.stages.data[k - 1].next)
        if (!r->plan.stages.data[k - 1].unread &&
            (!buffer || r->plan.stages.data[k - 1].buffer == buffer))
            return true;
    return false;
}

void vy_restage_declare(reverse *r, uint32_t (*declare)(reverse *r, uint32_t like))
{
    for (uint32_t k = 0; k < r->plan.stages.count && !r->failed; k++)
        r->build.stage_twin[k] = declare(r, r->plan.stages.data[k].buffer);
}

// -------------------------------------------------------------------------------------- the result
bool vy_restage_settle(reverse *r, const vy_program *p)
{
    bool changed = false;
    for (uint32_t k = 0; k < r->plan.stages.count; k++) r->plan.stages.data[k].loaded = false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_LOAD &&
            p->buffers.data[p->insts.data[id].aux].cls == VY_SHARED)
            for (uint32_t k = 0; k < r->plan.stages.count; k++)
                r->plan.stages.data[k].loaded |= r->build.stage_twin[k] == p->insts.data[id].aux;
    for (uint32_t k = 0; k < r->plan.stages.count; k++) {
        reverse_stage *s = &r->plan.stages.data[k];
        bool unread = !s->loaded && !s->settled;
        changed |= unread != s->unread;
        s->settled |= s->unread && s->loaded; // never again
        s->unread = unread;
    }
    return changed;
}

void vy_restage_merge(const reverse *r, vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count && r->plan.stages.count; id++) {
        vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || p->buffers.data[i->aux].cls != VY_SHARED) continue;
        for (uint32_t k = 0; k < r->plan.stages.count; k++)
            if (r->build.stage_twin[k] == i->aux) {
                i->aux = r->build.buffers[r->plan.stages.data[k].buffer].copy;
                break;
            }
    }
}
