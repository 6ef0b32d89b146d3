// SPDX-License-Identifier: MIT
// min_cut.h: minimum cut of a small directed graph.
#ifndef VYRE_CUT_H
#define VYRE_CUT_H

#include "ir/core/ir.h"

#define VY_CUT_NEVER (1 << 28) // capacity of an edge that may not be cut

typedef struct vy_cut_edge {
    uint32_t to, next; // next edge of the same node + 1
    int32_t room;      // residual capacity; edge k ^ 1 is the reverse edge
} vy_cut_edge;
VY_VEC_TYPE(vy_cut_edge_vec, vy_cut_edge);

// Node 0 is the source, node 1 the sink.
typedef struct vy_cut {
    vy_cut_edge_vec edges;
    vy_id_vec first; // by node: first edge + 1
    vy_id_vec at;    // by node: edge to try next + 1; after vy_cut_run 1 if the sink can be reached
    vy_id_vec level; // by node: distance from the source + 1; after vy_cut_run 0 on the sink's side
    vy_id_vec path;
    bool oom;
} vy_cut;

uint32_t vy_cut_node(vy_cut *c);
void vy_cut_add(vy_cut *c, uint32_t from, uint32_t to, int32_t capacity);
// Finds a cut of least capacity (Dinic's algorithm).  False: out of memory.
bool vy_cut_run(vy_cut *c);
// After that: is the node on the source's side?
static inline bool vy_cut_at_source(const vy_cut *c, uint32_t node) { return c->level.data[node]; }
// Does a path lead from it to the sink, whatever was cut?
static inline bool vy_cut_is_used(const vy_cut *c, uint32_t node) { return c->at.data[node]; }
void vy_cut_clear(vy_cut *c); // for the next graph
void vy_cut_free(vy_cut *c);

#endif
