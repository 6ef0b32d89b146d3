// SPDX-License-Identifier: MIT
// min_cut.c: minimum cut by maximum flow: Dinic, "Algorithm for solution of a problem of maximum
// flow in networks with power estimation" (1970).  The current path is a list, not the C stack.
#include "autodiff/storage/min_cut.h"

uint32_t vy_cut_node(vy_cut *c)
{
    uint32_t id = c->first.count;
    if (!vy_vec_push(&c->first, 0u) || !vy_vec_push(&c->at, 0u) || !vy_vec_push(&c->level, 0u)) {
        c->oom = true;
        return 0;
    }
    return id;
}

static void add_arc(vy_cut *c, uint32_t from, uint32_t to, int32_t room)
{
    vy_cut_edge e = {to, c->first.data[from], room};
    if (!vy_vec_push(&c->edges, e))
        c->oom = true;
    else
        c->first.data[from] = c->edges.count;
}

void vy_cut_add(vy_cut *c, uint32_t from, uint32_t to, int32_t capacity)
{
    if (c->oom) return;
    add_arc(c, from, to, capacity);
    if (!c->oom) add_arc(c, to, from, 0);
}

// Distances from the source along edges with residual capacity; true if the sink is reached.
static bool levels(vy_cut *c)
{
    for (uint32_t i = 0; i < c->level.count; i++) c->level.data[i] = 0;
    c->path.count = 0;
    c->level.data[0] = 1;
    if (!vy_vec_push(&c->path, 0u)) c->oom = true;
    for (uint32_t i = 0; i < c->path.count && !c->oom; i++) {
        uint32_t from = c->path.data[i];
        for (uint32_t e = c->first.data[from]; e; e = c->edges.data[e - 1].next) {
            const vy_cut_edge *edge = &c->edges.data[e - 1];
            if (edge->room <= 0 || c->level.data[edge->to]) continue;
            c->level.data[edge->to] = c->level.data[from] + 1;
            if (!vy_vec_push(&c->path, edge->to)) c->oom = true;
        }
    }
    return c->level.data[1] != 0;
}

// Pushes flow along the path found, and truncates the path at its first saturated edge.
static void augment(vy_cut *c)
{
    int32_t least = VY_CUT_NEVER;
    uint32_t keep = 0;
    for (uint32_t i = 0; i < c->path.count; i++)
        if (c->edges.data[c->path.data[i]].room < least)
            least = c->edges.data[c->path.data[i]].room;
    for (uint32_t i = c->path.count; i-- > 0;) {
        uint32_t e = c->path.data[i];
        c->edges.data[e].room -= least;
        if (c->edges.data[e ^ 1].room < VY_CUT_NEVER) c->edges.data[e ^ 1].room += least;
        if (c->edges.data[e].room <= 0) keep = i;
    }
    c->path.count = keep;
}

// Finds a blocking flow of the level graph: advances along `at`, retreats from dead ends.
static void block(vy_cut *c)
{
    for (uint32_t i = 0; i < c->at.count; i++) c->at.data[i] = c->first.data[i];
    c->path.count = 0;
    while (!c->oom) {
        uint32_t node = c->path.count ? c->edges.data[c->path.data[c->path.count - 1]].to : 0;
        if (node == 1) {
            augment(c);
            continue;
        }
        uint32_t e = c->at.data[node];
        for (; e; e = c->edges.data[e - 1].next) {
            const vy_cut_edge *edge = &c->edges.data[e - 1];
            if (edge->room > 0 && c->level.data[edge->to] == c->level.data[node] + 1) break;
        }
        c->at.data[node] = e;
        if (e) {
            if (!vy_vec_push(&c->path, e - 1)) c->oom = true;
        } else if (c->path.count) {
            c->level.data[node] = 0; // dead end
            c->path.count--;
        } else {
            return;
        }
    }
}

// Marks the nodes from which the sink can be reached, backwards from there.
static void find_used(vy_cut *c)
{
    for (uint32_t i = 0; i < c->at.count; i++) c->at.data[i] = i == 1;
    c->path.count = 0;
    if (!vy_vec_push(&c->path, 1u)) c->oom = true;
    for (uint32_t i = 0; i < c->path.count && !c->oom; i++)
        for (uint32_t e = c->first.data[c->path.data[i]]; e; e = c->edges.data[e - 1].next) {
            const uint32_t from = c->edges.data[e - 1].to;
            if (e % 2 || c->at.data[from]) continue; // e - 1 is no reverse edge
            c->at.data[from] = 1;
            if (!vy_vec_push(&c->path, from)) c->oom = true;
        }
}

bool vy_cut_run(vy_cut *c)
{
    while (!c->oom && levels(c)) block(c);
    if (!c->oom) find_used(c);
    return !c->oom;
}

void vy_cut_clear(vy_cut *c)
{
    c->edges.count = c->first.count = c->at.count = c->level.count = c->path.count = 0;
    vy_cut_node(c);
    vy_cut_node(c);
}

void vy_cut_free(vy_cut *c)
{
    vy_vec_free(&c->edges);
    vy_vec_free(&c->first);
    vy_vec_free(&c->at);
    vy_vec_free(&c->level);
    vy_vec_free(&c->path);
}
