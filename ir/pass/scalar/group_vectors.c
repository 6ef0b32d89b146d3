// SPDX-License-Identifier: MIT
// group_vectors.c: puts the components of vectors next to each other.
//
//   a = load p[i, 0]         a = load p[i, 0]
//   b = a * s                d = load p[i, 1]        let v1 = p[i];
//   store y[i, 0], b    →    b = a * s          is   y[i] = v1 * s;
//   d = load p[i, 1]         e = d * s
//   e = d * s                store y[i, 0], b
//   store y[i, 1], e         store y[i, 1], e
//
// A derivative visits the components of a vector one by one, the last first; only where one
// operation on all of them stands together can it be printed as one on the vector
// (ir/text/print_vector.c).  Which operations those are ir/facts/components.h says.
//
// Within a stretch without control flow the instructions are a graph, whose nodes are single ones
// and groups: edges lead from operands to users, and along accesses to one memory of which one
// writes.  It is emitted in an order that respects them, and otherwise the old one, a group where
// its last component was.  Groups that depend on each other both ways are not kept together.  Each
// instruction computes what it computed before.  Programs without buffers of vectors, and without
// names of components, stay as they are.
#include "ir/pass/pass.h"

#include "ir/facts/components.h"
#include "ir/facts/memory.h"

typedef struct edge {
    uint32_t to, next; // in edges
} edge;
VY_VEC_TYPE(edge_vec, edge);

typedef struct grouping {
    vy_rewrite w;
    vy_components c;
    uint32_t *first;   // by instruction: the first edge from it
    uint32_t *waits;   // on how many
    uint32_t *missing; // by group: members that wait
    uint32_t *write;   // by memory: the last write; those of one group, with no other in between,
    uint32_t *older;   // are one write: and the one before it
    uint32_t *read;    // by memory: the last load, and by load: the one before it
    uint32_t *before;
    edge_vec edges;
    vy_id_vec heap;  // what can be emitted: the place, by which it is ordered; see node_at
    vy_id_vec order; // of the stretch
    uint32_t from, to;
} grouping;

static const vy_inst *inst(const grouping *g, uint32_t id) { return &g->w.p->insts.data[id]; }

// The group that `id` is kept in; 0: none.
static uint32_t kept(const grouping *g, uint32_t id)
{
    const uint32_t group = g->c.group[id];
    return group && g->c.groups.data[group].vector ? group : 0;
}

// ------------------------------------------------------------------------------------------- edges
static bool connect(grouping *g, uint32_t from, uint32_t to)
{
    if (kept(g, from) && kept(g, from) == kept(g, to)) return true;
    if (!vy_vec_push(&g->edges, ((edge){to, g->first[from]}))) return false;
    g->first[from] = g->edges.count - 1;
    g->waits[to]++;
    return true;
}

// A write by a group is one by each of its members: if it is given up, they are on their own.
static bool connect_write(grouping *g, uint32_t write, uint32_t id)
{
    if (write < g->from) return true;
    if (!kept(g, write)) return connect(g, write, id);
    const vy_group *group = &g->c.groups.data[kept(g, write)];
    bool ok = true;
    for (uint32_t k = 0; ok && k < group->size; k++)
        ok = group->member[k] >= id || connect(g, group->member[k], id);
    return ok;
}

static bool connect_memory(grouping *g, uint32_t id)
{
    const vy_inst *i = inst(g, id);
    if (!vy_op_is_memory((vy_op)i->op)) return true;
    const uint32_t m = vy_memory_of(g->w.p, i->aux);
    if (vy_op_infos[i->op].effect != VY_WRITE) {
        g->before[id] = g->read[m];
        g->read[m] = id;
        return connect_write(g, g->write[m], id);
    }
    const bool same = kept(g, id) && g->write[m] >= g->from && kept(g, g->write[m]) == kept(g, id);
    const uint32_t since = same ? g->older[m] : g->write[m];
    bool ok = connect_write(g, since, id);
    for (uint32_t r = g->read[m]; ok && r >= g->from && r > since; r = g->before[r])
        ok = connect(g, r, id);
    g->older[m] = since;
    g->write[m] = id;
    return ok;
}

static bool connect_all(grouping *g)
{
    g->edges.count = 1; // [0] ends a list
    for (uint32_t id = g->from; id < g->to; id++) {
        for (uint32_t k = 0; k < inst(g, id)->nargs; k++) {
            const uint32_t a = vy_arg(g->w.p, id, k);
            if (!VY_IS_LEAF(a) && a >= g->from && !connect(g, a, id)) return false;
        }
        if (!connect_memory(g, id)) return false;
    }
    return true;
}

// -------------------------------------------------------------------------------------------- heap
static bool push(grouping *g, uint32_t place)
{
    vy_id_vec *h = &g->heap;
    if (!vy_vec_push(h, place)) return false;
    uint32_t k = h->count - 1;
    for (; k && h->data[(k - 1) / 2] > place; k = (k - 1) / 2) h->data[k] = h->data[(k - 1) / 2];
    h->data[k] = place;
    return true;
}

static uint32_t pop(grouping *g)
{
    vy_id_vec *h = &g->heap;
    const uint32_t least = h->data[0], last = h->data[--h->count];
    uint32_t k = 0;
    for (uint32_t child; (child = 2 * k + 1) < h->count; k = child) {
        if (child + 1 < h->count && h->data[child + 1] < h->data[child]) child++;
        if (h->data[child] >= last) break;
        h->data[k] = h->data[child];
    }
    if (h->count) h->data[k] = last;
    return least;
}

// ------------------------------------------------------------------------------------------- order
// Where a group is: at its last component, or where loads begin.
static uint32_t place_of(const grouping *g, const vy_group *group)
{
    uint32_t place = group->member[0];
    const bool load = inst(g, place)->op == VY_OP_LOAD;
    for (uint32_t k = 1; k < group->size; k++)
        if ((group->member[k] < place) == load) place = group->member[k];
    return place;
}

// Nothing that `id` waits for is left.
static bool ready(grouping *g, uint32_t id)
{
    const uint32_t group = kept(g, id);
    if (!group) return push(g, id);
    return --g->missing[group] > 0 || push(g, place_of(g, &g->c.groups.data[group]));
}

static bool emit_one(grouping *g, uint32_t id)
{
    bool ok = vy_vec_push(&g->order, id);
    for (uint32_t e = g->first[id]; ok && e; e = g->edges.data[e].next)
        if (--g->waits[g->edges.data[e].to] == 0) ok = ready(g, g->edges.data[e].to);
    return ok;
}

static bool emit_at(grouping *g, uint32_t place)
{
    const vy_group *group = kept(g, place) ? &g->c.groups.data[kept(g, place)] : NULL;
    bool ok = group || emit_one(g, place);
    for (uint32_t k = 0; ok && group && k < group->size; k++) ok = emit_one(g, group->member[k]);
    return ok;
}

// What is left waits in a circle: the first group that is not emitted is given up, as far as it is.
static bool give_up_group(grouping *g, uint32_t *from)
{
    for (; *from < g->to; ++*from) {
        const uint32_t number = kept(g, *from);
        if (!number || g->missing[number] == 0) continue;
        vy_group *group = &g->c.groups.data[number];
        group->vector = false;
        bool ok = true;
        for (uint32_t k = 0; ok && k < group->size; k++)
            ok = g->waits[group->member[k]] || push(g, group->member[k]);
        return ok;
    }
    return false;
}

static bool sort(grouping *g)
{
    uint32_t from = g->from;
    bool ok = true;
    g->order.count = g->heap.count = 0;
    for (uint32_t id = g->from; ok && id < g->to; id++)
        if (kept(g, id)) g->missing[kept(g, id)] = g->c.groups.data[kept(g, id)].size;
    for (uint32_t id = g->from; ok && id < g->to; id++)
        if (!g->waits[id]) ok = ready(g, id);
    while (ok && g->order.count < g->to - g->from)
        ok = g->heap.count ? emit_at(g, pop(g)) : give_up_group(g, &from);
    return ok;
}

// --------------------------------------------------------------------------------------- stretches
// The end of the stretch that begins at `id`, if groups in it are apart; else 0.
static uint32_t end_of_apart(const grouping *g, uint32_t id)
{
    uint32_t end = id;
    bool apart = false;
    for (; end < g->w.p->insts.count && g->c.stretch[end] == id; end++) {
        const uint32_t group = kept(g, end);
        if (group) apart |= g->c.groups.data[group].member[0] + g->c.component[end] != end;
    }
    return apart ? end : 0;
}

static uint32_t instead(void *pass, uint32_t id)
{
    grouping *g = pass;
    g->from = id;
    g->to = g->c.stretch[id] == id ? end_of_apart(g, id) : 0;
    if (!g->to) return 0;
    if (!connect_all(g) || !sort(g)) {
        g->w.oom = true;
        return id;
    }
    for (uint32_t k = 0; k < g->order.count && !vy_rewrite_stopped(&g->w); k++)
        vy_rewrite_copy(&g->w, g->order.data[k]);
    return g->to - 1;
}

static bool anything_apart(const grouping *g)
{
    for (uint32_t id = 1; id < g->w.p->insts.count; id++)
        if (g->c.stretch[id] == id && end_of_apart(g, id)) return true;
    return false;
}

static bool prepare(grouping *g)
{
    const size_t memories = g->w.p->buffers.count;
    if (!vy_components_find(&g->c, g->w.p, &g->w.s, &g->w.arena)) return false;
    g->first = vy_rewrite_ids(&g->w);
    g->waits = vy_rewrite_ids(&g->w);
    g->before = vy_rewrite_ids(&g->w);
    g->missing = vy_rewrite_table(&g->w, g->c.groups.count * sizeof *g->missing);
    g->write = vy_rewrite_table(&g->w, memories * sizeof *g->write);
    g->older = vy_rewrite_table(&g->w, memories * sizeof *g->older);
    g->read = vy_rewrite_table(&g->w, memories * sizeof *g->read);
    return !g->w.oom && vy_vec_push(&g->edges, (edge){0});
}

bool vy_pass_group_vectors(vy_program *p, vy_pass_context *c)
{
    grouping g = {0};
    vy_settle_vectors(p);
    if (!vy_has_vectors(p)) return true;
    const bool ok = vy_rewrite_begin(&g.w, p) && prepare(&g);
    if (ok && anything_apart(&g)) vy_rewrite_run(&g.w, instead, &g);
    vy_components_free(&g.c);
    vy_vec_free(&g.edges);
    vy_vec_free(&g.heap);
    vy_vec_free(&g.order);
    return vy_rewrite_end(&g.w, ok, &c->changed);
}
