// SPDX-License-Identifier: MIT
// live_mark.c: marks what is live, for cleanup and dce.  live_rebuild.c rebuilds without the rest.
//
// One backward scan is the usual dead-code pass of an array IR, but here it would never remove a
// carried value: `x = x + 1` in a loop uses itself from one iteration to the next.  So marking
// starts from the roots and follows operands; init and next of a carried value become live only
// when a live use outside that cycle needs it.
//
//   LOOP [0, n, 1, zero, zero]                 LOOP [0, n, 1, zero]
//     CARRY 0   CARRY 1                          CARRY 0
//     a = add c0 x; b = add c1 y          →      a = add c0 x
//   ENDLOOP [a, b]                             ENDLOOP [a]
//   RESULT 0   RESULT 1 (unused)               RESULT 0
//
// Needs valid structure.  Keeps lines, names and the order of what stays.
#include "ir/build/live.h"

bool vy_sweep_begin(vy_sweep *w, vy_program *p)
{
    bool ok = vy_rewrite_begin(&w->w, p);
    w->live = vy_rewrite_bytes(&w->w);
    w->same = vy_rewrite_ids(&w->w);
    if (!ok || w->w.oom) return false;
    for (uint32_t id = 0; id < p->insts.count; id++) w->same[id] = id;
    return true;
}

// ---------------------------------------------------------------------------------------- marking
typedef struct marker {
    vy_sweep *w;
    vy_arena arena;  // of what follows: a rebuild, which takes the most memory, does not need it
    uint32_t *stack; // every instruction is pushed at most once
    uint32_t count;
    uint32_t *life;   // by access: the lifetime of memory that it is to; NULL: all writes are roots
    uint8_t *read;    // by lifetime: an access to it is live
    uint32_t *writes; // by instruction: the write to the same lifetime before it
    uint32_t *last;   // by lifetime: its last write
    uint32_t *extent; // by key of an extent: the first ZERO that decides it (VY_MADE_EXTENT)
    int64_t keys;     // those below it have an entry
    uint8_t *shaped;  // by buffer: its extents are live
} marker;

static void *table(marker *m, size_t size) // zeroed; NULL sets oom of the rewrite
{
    void *t = vy_arena_alloc(&m->arena, size);
    m->w->w.oom |= !t;
    return t;
}

static uint32_t *ids(marker *m) { return table(m, m->w->w.p->insts.count * sizeof(uint32_t)); }

static void need(marker *m, uint32_t id)
{
    id = vy_same(m->w, id);
    if (VY_IS_LEAF(id) || id == 0 || m->w->live[id]) return;
    m->w->live[id] = 1;
    m->stack[m->count++] = id;
}

static void need_args(marker *m, uint32_t id, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k < to; k++) need(m, vy_arg(m->w->w.p, id, k));
}

// An opening marker is live: so is what decides whether and how often its inside runs.
static void need_control(marker *m, uint32_t id)
{
    const vy_program *p = m->w->w.p;
    const vy_structure *s = &m->w->w.s;
    need_args(m, id, 0, vy_control_args(p, s, id));
    if (s->test[id]) need(m, s->test[id]);
    if (vy_exits(p, id)) need(m, vy_keep(p, s, id));
}

// Slot k of a construct is live.
static void need_slot(marker *m, uint32_t opener, uint32_t k)
{
    const vy_program *p = m->w->w.p;
    const vy_structure *s = &m->w->w.s;
    uint32_t sources[3], n = vy_slot_sources(p, s, vy_result(p, s, opener, k), sources);
    need(m, opener);
    if (vy_is_loop((vy_op)p->insts.data[opener].op)) need(m, vy_carry(opener, k));
    for (uint32_t j = 0; j < n; j++) need(m, sources[j]);
}

// An access is live: so is every write to the same memory.
static void need_writes(marker *m, uint32_t life)
{
    if (m->read[life]) return;
    m->read[life] = 1;
    for (uint32_t id = m->last[life]; id; id = m->writes[id]) need(m, id);
}

// What decides the extents with keys of a dimension is live.
static void need_keys(marker *m, uint32_t dim)
{
    const vy_dim_node *d = &m->w->w.p->dims.data[dim];
    if (d->op >= VY_DIM_ADD) {
        need_keys(m, d->a);
        if (d->b != d->a) need_keys(m, d->b);
    } else if (d->op == VY_DIM_STEP && d->value < m->keys) {
        need(m, m->extent[d->value]);
    }
}

static void need_extents(marker *m, uint32_t buffer)
{
    const vy_buf *b = &m->w->w.p->buffers.data[buffer];
    if (!m->keys || m->shaped[buffer]) return;
    m->shaped[buffer] = 1;
    for (uint32_t k = 0; k < b->rank; k++) need_keys(m, b->dims[k].id);
}

static void visit(marker *m, uint32_t id)
{
    const vy_program *p = m->w->w.p;
    const vy_inst *inst = &p->insts.data[id];
    vy_op op = (vy_op)inst->op;
    if (m->w->w.s.parent[id]) need(m, m->w->w.s.parent[id]);
    if (vy_op_opens(op))
        need_control(m, id);
    else if (vy_is_slot(op))
        need_slot(m, vy_opener(p, &m->w->w.s, id), inst->aux);
    else
        need_args(m, id, 0, inst->nargs);
    for (uint32_t k = id + 1; op == VY_OP_APPLY && k < p->insts.count; k++) {
        if (p->insts.data[k].op != VY_OP_PICK) break;
        need(m, k); // a call has all its results
    }
    if (!vy_op_is_memory(op)) return;
    if (m->life) need_writes(m, m->life[id]);
    need_extents(m, inst->aux);
}

// Memory that is not visible outside the dispatch: writes to it are live only if an access is.
static bool is_private(const vy_program *p, uint32_t buffer)
{
    const vy_buf *b = &p->buffers.data[buffer];
    return b->cls == VY_LOCAL || b->cls == VY_SHARED || b->workspace;
}

// The lifetimes of a local array begin with its ZEROs, if each ends with the construct around that
// ZERO, or with the next ZERO directly in it, and there is no ZERO within one: then what is stored
// in one is not loaded in another.  A lifetime has the number of its ZERO, other memory that of the
// buffer.
typedef struct lifetime {
    uint32_t zero, end; // 0: none yet
    bool nested;        // no access so far was outside of them
} lifetime;

static bool is_local(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return vy_op_is_memory((vy_op)i->op) && p->buffers.data[i->aux].cls == VY_LOCAL;
}

static void step_lifetime(const vy_sweep *w, uint32_t id, lifetime *l)
{
    const uint32_t up = w->w.s.parent[id];
    const bool clears = w->w.p->insts.data[id].op == VY_OP_ZERO;
    if (l->zero && id < l->end && !(clears && up == w->w.s.parent[l->zero])) return;
    if (!clears) {
        l->nested = false;
        return;
    }
    l->zero = id;
    l->end = up ? vy_closer(w->w.p, &w->w.s, up) : UINT32_MAX;
}

static bool has_locals(const vy_program *p)
{
    for (uint32_t i = 0; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_LOCAL) return true;
    return false;
}

// Finds which accesses to each local array are all within lifetimes.
static void find_nested(const marker *m, lifetime *now, uint8_t *nested)
{
    const vy_program *p = m->w->w.p;
    if (!has_locals(p)) return;
    for (uint32_t i = 0; i < p->buffers.count; i++) now[i].nested = true;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (is_local(p, id)) step_lifetime(m->w, id, &now[p->insts.data[id].aux]);
    for (uint32_t i = 0; i < p->buffers.count; i++) {
        nested[i] = now[i].nested;
        now[i] = (lifetime){0};
    }
}

static void find_lifetimes(marker *m)
{
    const vy_program *p = m->w->w.p;
    lifetime *now = table(m, p->buffers.count * sizeof *now);
    uint8_t *nested = now ? table(m, p->buffers.count) : NULL;
    if (nested) find_nested(m, now, nested);
    for (uint32_t id = 1; nested && id < p->insts.count; id++) {
        const uint32_t b = p->insts.data[id].aux;
        if (!vy_op_is_memory((vy_op)p->insts.data[id].op)) continue;
        m->life[id] = b;
        if (!is_local(p, id) || !nested[b]) continue;
        step_lifetime(m->w, id, &now[b]);
        m->life[id] = p->buffers.count + now[b].zero;
    }
}

// The key of the extent that a ZERO of a host program decides, or -1.
static int64_t key_of(const vy_program *p, uint32_t id)
{
    const vy_buf *b = &p->buffers.data[p->insts.data[id].aux];
    if (p->insts.data[id].op != VY_OP_ZERO || b->made != VY_MADE_EXTENT) return -1;
    const vy_dim_node *d = &p->dims.data[b->dims[0].id];
    return d->op == VY_DIM_STEP ? d->value : -1;
}

static void find_extents(marker *m)
{
    const vy_program *p = m->w->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const int64_t key = key_of(p, id);
        if (key >= m->keys) m->keys = key + 1;
    }
    if (!m->keys) return;
    m->extent = table(m, (size_t)m->keys * sizeof *m->extent);
    m->shaped = table(m, p->buffers.count);
    for (uint32_t id = p->insts.count; m->extent && id-- > 1;) // the first one precedes all uses
        if (key_of(p, id) >= 0) m->extent[key_of(p, id)] = id;
}

static bool has_private(const vy_program *p)
{
    for (uint32_t i = 0; i < p->buffers.count; i++)
        if (is_private(p, i)) return true;
    return false;
}

static bool find_writes(marker *m)
{
    vy_sweep *w = m->w;
    const vy_program *p = w->w.p;
    const size_t lives = (size_t)p->buffers.count + p->insts.count;
    m->writes = ids(m);
    m->life = ids(m);
    m->last = table(m, lives * sizeof *m->last);
    m->read = table(m, lives);
    if (w->w.oom) return false;
    find_lifetimes(m);
    if (w->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (vy_op_infos[p->insts.data[id].op].effect != VY_WRITE) continue;
        m->writes[id] = m->last[m->life[id]];
        m->last[m->life[id]] = id;
    }
    return true;
}

static bool marker_begin(marker *m, vy_sweep *w, bool keep_all)
{
    *m = (marker){.w = w};
    m->stack = ids(m);
    if (m->stack && w->w.p->host) find_extents(m);
    return !w->w.oom && (keep_all || !has_private(w->w.p) || find_writes(m));
}

static void mark_from_roots(marker *m, bool keep_all)
{
    const vy_program *p = m->w->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        bool write = vy_op_infos[op].effect == VY_WRITE;
        bool root = (write && !is_private(p, p->insts.data[id].aux)) || op == VY_OP_BARRIER;
        if (!root && !(keep_all && !vy_is_marker(op))) continue;
        if (!m->w->live[id]) {
            m->w->live[id] = 1;
            m->stack[m->count++] = id;
        }
        while (m->count) visit(m, m->stack[--m->count]);
    }
}

bool vy_sweep_mark(vy_sweep *w, bool keep_all)
{
    marker m;
    const bool ok = marker_begin(&m, w, keep_all);
    if (ok) mark_from_roots(&m, keep_all);
    vy_arena_free(&m.arena);
    return ok;
}
