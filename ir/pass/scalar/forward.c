// SPDX-License-Identifier: MIT
// forward.c: replaces loads by values that are known to be in memory.
//
//   y[i] = v;  …  t = load y[i]            →   y[i] = v;  …  t = v
//   if c { a = load x[j] }  b = load x[j]      (the builder shares only if no loop is in between)
//
// The obvious way is wrong three times.  A store out of range does nothing and the load then gives
// zero, so a stored value is forwarded only where the index is proved to be in range (range.c); a
// value that was *loaded* needs no proof.  8- and 16-bit elements truncate what is stored.  And a
// loop's body may invalidate what was known before it: on entry to a loop, everything that its body
// may write is forgotten.
//
// The known elements are a short list (the oldest is evicted), saved and intersected around
// regions: after an IF, an element is known if it was known before and neither arm invalidated it.
// Near-linear.  Needs valid structure; keeps order and lines of everything else.
#include "ir/facts/memory.h"
#include "ir/facts/range.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MAX_KNOWN = 96 };

typedef struct known {
    uint32_t serial; // ascending in a list, so that lists are intersected by one merge
    uint32_t buffer, value;
    const uint32_t *index; // ids in the new program
} known;

typedef struct list {
    uint32_t count;
    known at[MAX_KNOWN];
} list;

typedef struct forward {
    vy_rewrite w;
    vy_writes writes;
    uint8_t *proved;
    list now;
    list **saved; // by depth: at the opening marker
    list **other; // by depth: at the end of the first arm
    uint32_t serial;
    bool changed;
} forward;

static bool same_index(uint32_t rank, const uint32_t *x, const uint32_t *y)
{
    return memcmp(x, y, rank * sizeof *x) == 0;
}

static uint32_t rank_of(const forward *f, uint32_t buffer)
{
    return f->w.p->buffers.data[buffer].rank;
}

static uint32_t find_held(const forward *f, uint32_t buffer, const uint32_t *index)
{
    for (uint32_t n = f->now.count; n-- > 0;) {
        const known *k = &f->now.at[n];
        if (k->buffer == buffer && same_index(rank_of(f, buffer), k->index, index)) return k->value;
    }
    return 0;
}

// Forgets what a write to this element may change; index NULL: any element.
static void forget(forward *f, uint32_t buffer, const uint32_t *index)
{
    const vy_program *p = vy_builder_program(f->w.b);
    uint32_t kept = 0, memory = vy_memory_of(p, buffer);
    for (uint32_t n = 0; n < f->now.count; n++) {
        known k = f->now.at[n];
        bool hit = vy_memory_of(p, k.buffer) == memory;
        if (hit && index && k.buffer == buffer)
            hit = vy_indices_meet(p, rank_of(f, buffer), k.index, index);
        if (!hit) f->now.at[kept++] = k;
    }
    f->now.count = kept;
}

static void forget_shared(forward *f)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < f->now.count; n++)
        if (vy_memory_private(f->w.p, f->now.at[n].buffer)) f->now.at[kept++] = f->now.at[n];
    f->now.count = kept;
}

// Forgets elements that code between the two instructions of the old program may change.
static void forget_between(forward *f, uint32_t from, uint32_t to)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < f->now.count; n++)
        if (!vy_written_between(&f->writes, f->now.at[n].buffer, from, to))
            f->now.at[kept++] = f->now.at[n];
    f->now.count = kept;
}

static void remember(forward *f, uint32_t buffer, const uint32_t *index, uint32_t value)
{
    size_t size = rank_of(f, buffer) * sizeof *index;
    uint32_t *copy = vy_arena_alloc(&f->w.arena, size);
    if (!copy || !value) return; // forgetting is always correct
    memcpy(copy, index, size);
    if (f->now.count == MAX_KNOWN) {
        memmove(&f->now.at[0], &f->now.at[1], (MAX_KNOWN - 1) * sizeof f->now.at[0]);
        f->now.count--;
    }
    f->now.at[f->now.count++] = (known){++f->serial, buffer, value, copy};
}

// Keeps what is also in `with`.
static void keep_common(list *l, const list *with)
{
    uint32_t kept = 0, m = 0;
    for (uint32_t n = 0; n < l->count; n++) {
        while (m < with->count && with->at[m].serial < l->at[n].serial) m++;
        if (m < with->count && with->at[m].serial == l->at[n].serial) l->at[kept++] = l->at[n];
    }
    l->count = kept;
}

static bool save(forward *f, list **slot)
{
    if (!*slot) *slot = vy_arena_alloc(&f->w.arena, sizeof **slot);
    if (!*slot) return false;
    (*slot)->count = f->now.count;
    memcpy((*slot)->at, f->now.at, f->now.count * sizeof f->now.at[0]);
    return true;
}

static bool marker(forward *f, uint32_t id, vy_op op)
{
    uint32_t depth = f->w.s.depth[id];
    bool ok = true;
    if (vy_is_loop(op)) {
        forget_between(f, id, f->w.s.partner[id]);
        ok = save(f, &f->saved[depth]);
    } else if (vy_op_opens(op)) {
        ok = save(f, &f->saved[depth]);
    } else if (op == VY_OP_ELSE) {
        ok = save(f, &f->other[depth]);
        f->now = *f->saved[depth];
    } else if (op == VY_OP_ENDIF) {
        keep_common(&f->now, f->other[depth]);
        keep_common(&f->now, f->saved[depth]);
    } else if (op == VY_OP_ENDLOOP) {
        f->now = *f->saved[depth]; // what the body may change was forgotten before it
    } else if (op == VY_OP_ENDCHECKPOINT) {
        keep_common(&f->now, f->saved[depth]);
    }
    return ok;
}

// May a preceding write of this invocation have been to the element that `load` reads?  After a
// barrier, writes of other invocations count as well; and in a loop, indices that differ now may
// have been equal in an earlier iteration.
static bool may_be_written(const forward *f, uint32_t load)
{
    enum { MAX_WRITES = 64 };
    const vy_program *p = f->w.p;
    uint32_t buffer = p->insts.data[load].aux, last = load;
    for (uint32_t up = f->w.s.parent[load]; up; up = f->w.s.parent[up])
        if (vy_is_loop((vy_op)p->insts.data[up].op)) last = f->w.s.partner[up];
    if (!vy_written_between(&f->writes, buffer, 0, last)) return false;
    if (last != load || vy_barrier_between(&f->writes, 0, load)) return true;
    uint32_t m = vy_memory_of(p, buffer), first = f->writes.start[m];
    for (uint32_t n = first; n < f->writes.start[m + 1] && f->writes.at[n] < load; n++) {
        uint32_t w = f->writes.at[n];
        if (n - first == MAX_WRITES || p->insts.data[w].aux != buffer) return true;
        if (p->insts.data[w].op == VY_OP_ZERO) continue;
        if (vy_indices_meet(p, p->buffers.data[buffer].rank, vy_args(p, load), vy_args(p, w)))
            return true;
    }
    return false;
}

static bool begins_clear(const vy_buf *b)
{
    return b->cls == VY_LOCAL || (b->cls == VY_OUT && b->init == VY_INIT_NONE && !b->workspace);
}

// A load from a local array or an `out` buffer, of an element that no preceding write can have
// reached, gives its initial zero.  (Programs must not contain such reads of outputs, but additions
// to gradients do, and passes that move loads before loops may create them.)
static bool still_clear(const forward *f, uint32_t load)
{
    return begins_clear(&f->w.p->buffers.data[f->w.p->insts.data[load].aux]) &&
           !may_be_written(f, load);
}

static void access_memory(forward *f, uint32_t id, vy_op op)
{
    const vy_inst *i = &f->w.p->insts.data[id];
    const vy_buf *buf = &f->w.p->buffers.data[i->aux];
    uint32_t index[VY_MAX_RANK];
    for (uint32_t k = 0; k < buf->rank && op != VY_OP_ZERO; k++)
        index[k] = vy_new_arg(&f->w, id, k);
    if (op == VY_OP_LOAD) {
        uint32_t value = find_held(f, i->aux, index);
        if (value) {
            f->changed = true;
            vy_rewrite_as(&f->w, id, value);
            return;
        }
        if (still_clear(f, id)) {
            f->changed = true;
            f->w.map[id] = vy_zero(f->w.b, (vy_type)i->type).id;
            return;
        }
        vy_rewrite_copy(&f->w, id);
        remember(f, i->aux, index, f->w.map[id]);
        return;
    }
    vy_rewrite_copy(&f->w, id);
    if (vy_builder_failed(f->w.b)) return;
    forget(f, i->aux, op == VY_OP_ZERO ? NULL : index);
    bool truncates = vy_type_loaded(buf->type) != buf->type;
    if (op == VY_OP_STORE && f->proved[id] && !truncates)
        remember(f, i->aux, index, vy_new_arg(&f->w, id, buf->rank));
}

static uint32_t instead(void *pass, uint32_t id)
{
    forward *f = pass;
    vy_op op = (vy_op)f->w.p->insts.data[id].op;
    if (vy_op_is_memory(op)) {
        access_memory(f, id, op);
        return id;
    }
    if (vy_is_marker(op)) f->w.oom |= !marker(f, id, op);
    if (op == VY_OP_BARRIER) forget_shared(f);
    return 0;
}

static bool prepare_forwarding(forward *f)
{
    const vy_program *p = f->w.p;
    f->proved = vy_rewrite_bytes(&f->w);
    const size_t depths = (size_t)f->w.s.deepest + 1;
    f->saved = vy_rewrite_table(&f->w, depths * sizeof *f->saved);
    f->other = vy_rewrite_table(&f->w, depths * sizeof *f->other);
    return !f->w.oom && vy_writes_make(&f->writes, p, VY_COUNT_WRITES, &f->w.arena) &&
           vy_prove_ranges(p, &f->w.s, &f->w.arena, f->proved);
}

// Is there a load of what begins as zero, or one after a load or store of the same buffer?  Without
// any, a rebuild would be made only to be dropped.  True also if memory is lacking.
static bool has_work(const vy_program *p)
{
    uint8_t *seen = vy_realloc(NULL, p->buffers.count + 1u); // by buffer
    bool any = !seen;
    if (seen) memset(seen, 0, p->buffers.count + 1u);
    for (uint32_t id = 1; id < p->insts.count && !any; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_LOAD && i->op != VY_OP_STORE) continue;
        any = i->op == VY_OP_LOAD && (seen[i->aux] || begins_clear(&p->buffers.data[i->aux]));
        seen[i->aux] = 1;
    }
    vy_free(seen);
    return any;
}

bool vy_pass_forward(vy_program *p, vy_pass_context *c)
{
    if (!has_work(p)) return true;
    forward f = {0};
    bool ok = vy_rewrite_begin(&f.w, p) && prepare_forwarding(&f);
    if (ok) vy_rewrite_run(&f.w, instead, &f);
    if (!f.changed) vy_rewrite_drop(&f.w);
    return vy_rewrite_end(&f.w, ok, &c->changed);
}
